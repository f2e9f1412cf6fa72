// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The machine of languages that have CUDA's names.
#pragma once

#include <flaggems/kernel/block/simt/machine.hpp>

namespace flaggems::kernels {

#if FLAGGEMS_LANGUAGE_DIALECT

/// A thread under a vendor's language with CUDA's names: no header of the vendor is needed, as its
/// runtime compiler declares them.
struct dialect_machine : block_memory {
  static constexpr int warp_size = FLAGGEMS_DIALECT_LANES;
  using lanes = conditional<(warp_size > 32), unsigned long long, unsigned>;
  static constexpr lanes all_lanes = ~lanes(0);

  FLAGGEMS_INLINE dialect_machine(unsigned char* exchange, unsigned char* scratch)
      : block_memory{exchange, scratch} {}

  FLAGGEMS_INLINE int thread() const { return static_cast<int>(threadIdx.x); }
  FLAGGEMS_INLINE int threads() const { return static_cast<int>(blockDim.x); }
  FLAGGEMS_INLINE i64 block() const { return static_cast<i64>(blockIdx.x); }
  FLAGGEMS_INLINE i64 blocks() const { return static_cast<i64>(gridDim.x); }
  FLAGGEMS_INLINE void sync(int) const { __syncthreads(); }
  FLAGGEMS_INLINE u32 shuffle_xor(u32 x, int mask, int = 0) const {
    return __shfl_xor_sync(all_lanes, x, mask);
  }
  FLAGGEMS_INLINE u32 shuffle_up(u32 x, int delta, int = 0) const {
    return __shfl_up_sync(all_lanes, x, static_cast<unsigned>(delta));
  }
  FLAGGEMS_INLINE u32 shuffle_from(u32 x, int lane, int = 0) const {
    return __shfl_sync(all_lanes, x, lane);
  }
  FLAGGEMS_INLINE u64 ballot_match(u32 x, int = 0) const {
    const auto set = static_cast<lanes>(__ballot_sync(all_lanes, x != 0));
    return static_cast<u64>(x != 0 ? set : static_cast<lanes>(~set));
  }
  template <class T>
  FLAGGEMS_INLINE T atomic_add(array_type<T> s, i64 i, identity<T> x, int = 0) const {
    if constexpr (is_integer<T> && sizeof(T) == 8) {
      using word = unsigned long long;
      return static_cast<T>(atomicAdd(reinterpret_cast<word*>(s.data + i), static_cast<word>(x)));
    } else {
      return atomicAdd(s.data + i, x);
    }
  }
};

#endif

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/dialect.hpp");
