// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Transfers between vectors and scalars that g++ 12 would expand lane by lane.
#pragma once

#include <flaggems/kernel/lang/vector/lanes.hpp>

namespace flaggems::kernels {

/// Four numbers: a vector at every level.
using quad = simd<f32, isa_baseline>;

/// Broadcasts lane `Lane` of x by one instruction; g++ 12 would insert it lane by lane.
template <class Isa, int Lane>
FLAGGEMS_HOST_INLINE simd<f32, Isa> spread(const quad& x) {
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (Isa::bytes > 16) {
    simd<f32, Isa> r;
    const quad first(__builtin_shufflevector(x.v, x.v, Lane, Lane, Lane, Lane));
    asm("vbroadcastss %1, %0" : "=v"(r.v) : "v"(Lane == 0 ? x.v : first.v));
    return r;
  }
#endif
  return simd<f32, Isa>(x.v[Lane]);
}

/// *p in every lane of a register. From memory in one instruction: g++ 12 would build it lane by
/// lane.
template <class V, class C>
FLAGGEMS_HOST_INLINE void broadcast_from(V& to, const C* p) {
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (sizeof(V) > 16 && sizeof(C) == 4) {
    asm("vbroadcastss %1, %0" : "=v"(to) : "m"(*p));
    return;
  } else if constexpr (sizeof(V) > 16) {
    asm("vbroadcastsd %1, %0" : "=v"(to) : "m"(*p));
    return;
  }
#endif
  to = *p - V{};
}

/// Broadcasts *p by one instruction from memory; g++ 12 would build it lane by lane.
template <class C, class Isa>
FLAGGEMS_HOST_INLINE simd<C, Isa> spread_from(const C* p) {
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (is_same<C, f32> && Isa::bytes > 16) {
    simd<C, Isa> r;
    asm("vbroadcastss %1, %0" : "=v"(r.v) : "m"(*p));
    return r;
  }
#endif
  return simd<C, Isa>(*p);
}

/// The sum of a vector's quarters: four partial sums.
template <class C, class Isa>
FLAGGEMS_HOST_INLINE simd<C, isa_baseline> fold_to_four(const simd<C, Isa>& x) {
  simd<C, isa_baseline> part[Isa::lanes / 4];
  __builtin_memcpy(static_cast<void*>(part), &x.v, sizeof(x.v));
  for (int step = Isa::lanes / 8; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) part[i] += part[i + step];
  return part[0];
}
template <class Isa>
FLAGGEMS_HOST_INLINE quad fold_to_quad(const simd<f32, Isa>& x) {
  return fold_to_four(x);
}
FLAGGEMS_HOST_INLINE f32 total_of(const quad& x) {
  const quad pairs(x.v + __builtin_shufflevector(x.v, x.v, 2, 3, 0, 1));
  return pairs.v[0] + pairs.v[1];
}
/// The sum of all lanes.
template <class C, class Isa>
FLAGGEMS_HOST_INLINE C total_of(const simd<C, Isa>& x) {
  if constexpr (is_same<C, f32> && Isa::lanes != 4)
    return total_of(fold_to_quad(x));
  else
    return fold_lanes<C>(x, plus{});
}

}  // namespace flaggems::kernels
