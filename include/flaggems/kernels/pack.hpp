// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Several elements that a thread of a chip moves by one instruction.
#pragma once

#include <flaggems/kernels/prelude.hpp>

namespace flaggems::kernels {

/// N consecutive elements, aligned to all of them: chips move up to 16 bytes at once.
template <class T, int N>
struct alignas(static_cast<int>(sizeof(T)) * N) pack {
  static_assert(sizeof(T) * N <= 16, "flaggems: a pack has at most 16 bytes");
  T at[N];
};

/// The elements of 16 bytes.
template <class T>
inline constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

/// Whether p begins a pack of N elements.
template <int N, class T>
FLAGGEMS_INLINE bool begins_pack(global_ptr<T> p) {
  return reinterpret_cast<u64>(p) % (sizeof(T) * N) == 0;
}

/// The elements p[0 .. N); p begins a pack.
template <int N, class T>
FLAGGEMS_INLINE pack<T, N> load_pack(global_ptr<const T> p) {
  return *reinterpret_cast<global_ptr<const pack<T, N>>>(p);
}
template <int N, class T>
FLAGGEMS_INLINE void store_pack(global_ptr<T> p, const pack<T, N>& x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  // The compiler takes the elements of a pack apart, and then stores some of them alone.
  if constexpr (sizeof(x) == 16) {
    const auto w = bit_cast<pack<u32, 4>>(x);
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)),
                 "r"(w.at[0]), "r"(w.at[1]), "r"(w.at[2]), "r"(w.at[3])
                 : "memory");
    return;
  }
#endif
  *reinterpret_cast<global_ptr<pack<T, N>>>(p) = x;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/pack.hpp");
