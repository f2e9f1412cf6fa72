// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Several elements that a thread of a chip moves by one instruction.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// Count consecutive elements, aligned to all of them: chips move up to 16 bytes at once.
template <class T, int Count>
struct alignas(static_cast<int>(sizeof(T)) * Count) pack {
  static_assert(sizeof(T) * Count <= 16, "flaggems: a pack has at most 16 bytes");
  T at[Count];
};

/// The elements of 16 bytes.
template <class T>
inline constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

/// Whether p begins a pack of Count elements.
template <int Count, class T>
FLAGGEMS_INLINE bool begins_pack(global_ptr<T> p) {
  return reinterpret_cast<u64>(p) % (sizeof(T) * Count) == 0;
}

/// The elements p[0 .. Count); p begins a pack.
template <int Count, class T>
FLAGGEMS_INLINE pack<T, Count> load_pack(global_ptr<const T> p) {
  return *reinterpret_cast<global_ptr<const pack<T, Count>>>(p);
}
/// The 16 bytes at p, which begins a pack, as words. (As a pack of elements of 16 bits they would
/// be taken apart, and put together again.)
template <class T>
FLAGGEMS_INLINE pack<u32, 4> load_words(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  return *reinterpret_cast<const pack<u32, 4>*>(p);
#else
  return bit_cast<pack<u32, 4>>(load_pack<pack_size<T>>(p));
#endif
}
/// The same of what is read once: it takes no room in the nearest cache.
template <class T>
FLAGGEMS_INLINE pack<u32, 4> load_words_once(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  pack<u32, 4> w;
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
               : "l"(__cvta_generic_to_global(p)));
  return w;
#else
  return load_words<T>(p);
#endif
}
/// The same of what nobody writes while the kernel runs: compilers may move it before stores.
template <class T>
FLAGGEMS_INLINE pack<u32, 4> load_words_constant(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  pack<u32, 4> w;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w.at[0]), "=r"(w.at[1]), "=r"(w.at[2]), "=r"(w.at[3])
               : "l"(__cvta_generic_to_global(p)));
  return w;
#else
  return load_words<T>(p);
#endif
}
/// ... as elements.
template <int Count, class T>
FLAGGEMS_INLINE pack<T, Count> load_pack_once(global_ptr<const T> p) {
  if constexpr (Count == pack_size<T>)
    return bit_cast<pack<T, Count>>(load_words_once<T>(p));
  else
    return load_pack<Count>(p);
}
/// p, which compilers do not take apart again: an element's address is then one addition, where it
/// was a sum of all that p was made of, for each element.
template <class T>
FLAGGEMS_INLINE global_ptr<T> settled(global_ptr<T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  auto address = __cvta_generic_to_global(p);  // of which they know that it is no shared memory
  asm volatile("" : "+l"(address));
  return static_cast<T*>(__cvta_global_to_generic(address));
#else
  return p;
#endif
}
/// Asks for what stands at p, which is needed soon, without reading it.
template <class T>
FLAGGEMS_INLINE void prefetch(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(p)));
#else
  static_cast<void>(p);
#endif
}
template <int Count, class T>
FLAGGEMS_INLINE void store_pack(global_ptr<T> p, const pack<T, Count>& x) {
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
  *reinterpret_cast<global_ptr<pack<T, Count>>>(p) = x;
}

/// Stores a pack of 16 bytes if `wanted`, without a branch, which would keep what follows behind
/// it.
template <int Count, class T>
FLAGGEMS_INLINE void store_pack_if(bool wanted, global_ptr<T> p, const pack<T, Count>& x) {
  static_assert(sizeof(x) == 16);
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  const auto w = bit_cast<pack<u32, 4>>(x);
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
      "@p st.global.v4.b32 [%0], {%1, %2, %3, %4};\n\t}" ::"l"(__cvta_generic_to_global(p)),
      "r"(w.at[0]), "r"(w.at[1]), "r"(w.at[2]), "r"(w.at[3]), "r"(static_cast<u32>(wanted))
      : "memory");
#else
  if (wanted) store_pack<Count>(p, x);
#endif
}

/// The elements of a pack as they are kept: smaller ones together in words, since compilers choose
/// between packs, or move them, member by member.
template <class T, int Count>
using kept_pack =
    conditional<sizeof(T) < 4 && sizeof(T) * Count % 4 == 0,
                pack<u32, max_of(static_cast<int>(sizeof(T)) * Count / 4, 1)>, pack<T, Count>>;

/// A pack at p, which begins one; `Once` as load_words_once has it.
template <int Count, class T, bool Once = false>
FLAGGEMS_INLINE kept_pack<T, Count> load_kept(global_ptr<const T> p) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (Once && sizeof(kept_pack<T, Count>) == 16)
    return bit_cast<kept_pack<T, Count>>(load_words_once<T>(p));
  else
    return *reinterpret_cast<const kept_pack<T, Count>*>(p);
#else
  return bit_cast<kept_pack<T, Count>>(load_pack<Count>(p));
#endif
}
/// N elements as 32-bit words: apart, those of 16 bits would take a register each. (Fewer bytes
/// than a word has stay elements.)
template <class T, int Width>
using packed =
    conditional<(sizeof(T) * Width >= 4),
                pack<u32, static_cast<int>(sizeof(T)) * Width / 4 + (sizeof(T) * Width < 4)>,
                pack<T, Width>>;

/// The elements p[0 .. N) in words; p begins a pack.
template <int Width, class T>
FLAGGEMS_INLINE packed<T, Width> load_packed(global_ptr<const T> p) {
#if FLAGGEMS_DEVICE_CODE
  return *reinterpret_cast<global_ptr<const packed<T, Width>>>(p);
#else  // to the host's compiler, a u32 is no part of a tensor of T
  return bit_cast<packed<T, Width>>(load_pack<Width>(p));
#endif
}
/// The N elements from p on, where p - off begins a pack, by two accesses, `apart`, and shifts by
/// bytes.
template <int Width, class T>
FLAGGEMS_INLINE packed<T, Width> load_across(global_ptr<const T> p, int off, int apart = Width) {
  constexpr int count = static_cast<int>(sizeof(T)) * Width / 4;
  const int bytes = off * static_cast<int>(sizeof(T));
  u32 w[2 * count + 1] = {};
  FLAGGEMS_CHIP_UNROLL
  for (int side = 0; side < 2; ++side) {
    const auto some = load_packed<Width>(p + (side * apart - off));
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < count; ++k) w[side * count + k] = some.at[k];
  }
  FLAGGEMS_CHIP_UNROLL
  for (int step = 2; step > 0; step /= 2) {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k + step < 2 * count; ++k)
      if ((bytes & (4 * step)) != 0) w[k] = w[k + step];
  }
  packed<T, Width> r;
  FLAGGEMS_CHIP_UNROLL
  for (int k = 0; k < count; ++k)
    r.at[k] = static_cast<u32>((static_cast<u64>(w[k + 1]) << 32 | w[k]) >> (bytes % 4 * 8));
  return r;
}
/// The Count elements from p on, wherever that is, of whose packs all can be read. There is no
/// branch, so that several of them are under way: a pack that begins at p is read twice.
template <int Count, class T>
FLAGGEMS_INLINE kept_pack<T, Count> load_kept_across(global_ptr<const T> p) {
  if constexpr (sizeof(T) * Count < 4) {
    pack<T, Count> r;
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = p[k];
    return bit_cast<kept_pack<T, Count>>(r);
  } else {
    const int off = static_cast<int>(reinterpret_cast<u64>(p) / sizeof(T) % Count);
    return bit_cast<kept_pack<T, Count>>(load_across<Count>(p, off, off == 0 ? 0 : Count));
  }
}
/// A pack of one element.
template <int Count, class T>
FLAGGEMS_INLINE kept_pack<T, Count> kept_same(T x) {
  kept_pack<T, Count> r;
  if constexpr (is_same<kept_pack<T, Count>, pack<T, Count>>) {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = x;
  } else {
    u32 word = bit_cast<uint_of_size<sizeof(T)>>(x);
    for (int bits = 8 * static_cast<int>(sizeof(T)); bits < 32; bits *= 2) word |= word << bits;
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < static_cast<int>(sizeof(r) / 4); ++k) r.at[k] = word;
  }
  return r;
}

/// The elements of a pack as C, which the caller names: OpenCL would deduce an address space.
template <class C, class T, int Count>
FLAGGEMS_INLINE void unpack(const pack<T, Count>& x, identity<C>* to) {
  if constexpr (is_same<T, bf16> && is_same<C, f32> && Count % 2 == 0) {
    struct words {
      u32 at[Count / 2];
    };
    const words w = bit_cast<words>(x);  // two at a time: a shift, and a mask
    FLAGGEMS_CHIP_UNROLL
    for (int i = 0; i < Count / 2; ++i) {
      to[2 * i] = bit_cast<f32>(w.at[i] << 16);
      to[2 * i + 1] = bit_cast<f32>(w.at[i] & 0xffff0000u);
    }
  } else {
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Count; ++k) to[k] = number_cast<C>(x.at[k]);
  }
}

/// Count consecutive elements as C, by the largest packs there are; p begins one.
template <int Count, class C, class T>
FLAGGEMS_INLINE void load_packs(global_ptr<const T> p, identity<C> (&to)[Count]) {
  constexpr int size = min_of(Count, pack_size<T>);
  static_for<Count / size>(
      [&](auto g) FLAGGEMS_LAMBDA { unpack<C>(load_pack<size>(p + g * size), to + g * size); });
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/vector_access.hpp");
