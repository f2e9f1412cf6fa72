// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// What mathematics has single instructions for: sums rounded once, exponents and significands,
// square roots.
#pragma once

#include <flaggems/kernel/lang/vector/simd.hpp>

namespace flaggems::kernels {

#if FLAGGEMS_GCC_X86_ASM
template <class Isa>
inline constexpr bool scales_at_once<simd<f32, Isa>> = Isa::bytes == 64;
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> scale_lanes(const simd<f32, Isa>& x, const simd<f32, Isa>& n) {
  simd<f32, Isa> r;
  with_level<Isa>(
      [](auto& to, const auto& a, const auto& b) FLAGGEMS_LAMBDA {
        asm("vscalefps %2, %1, %0" : "=v"(to) : "v"(a), "v"(b));
      },
      r.v, x.v, n.v);
  return r;
}
template <class Isa>
inline constexpr bool splits_at_once<simd<f32, Isa>> = Isa::bytes == 64;
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> exponent_lanes(const simd<f32, Isa>& x) {
  simd<f32, Isa> r;
  with_level<Isa>(
      [](auto& to, const auto& a) FLAGGEMS_LAMBDA {
        asm("vgetexpps %1, %0" : "=v"(to) : "v"(a));
      },
      r.v, x.v);
  return r;
}
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> significand_lanes(const simd<f32, Isa>& x) {
  simd<f32, Isa> r;
  with_level<Isa>(
      [](auto& to, const auto& a) FLAGGEMS_LAMBDA {
        asm("vgetmantps $15, %1, %0" : "=v"(to) : "v"(a));
      },
      r.v, x.v);
  return r;
}
template <class Isa>
inline constexpr bool fuses_at_once<simd<f32, Isa>> = Isa::bytes >= 32;
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> fused(const simd<f32, Isa>& a, const simd<f32, Isa>& b,
                                          const simd<f32, Isa>& c) {
  typename simd<f32, Isa>::vector r = c.v, x = a.v, y = b.v;  // else g++ 12 stores a and b
  with_level<Isa>(
      [](auto& to, const auto& p, const auto& q) FLAGGEMS_LAMBDA {
        asm("vfmadd231ps %2, %1, %0" : "+v"(to) : "v"(p), "v"(q));
      },
      r, x, y);
  return simd<f32, Isa>(r);
}
/// c - a * b, rounded once.
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> fused_rest(const simd<f32, Isa>& c, const simd<f32, Isa>& a,
                                               const simd<f32, Isa>& b) {
  typename simd<f32, Isa>::vector r = c.v, x = a.v, y = b.v;
  with_level<Isa>(
      [](auto& to, const auto& p, const auto& q) FLAGGEMS_LAMBDA {
        asm("vfnmadd231ps %2, %1, %0" : "+v"(to) : "v"(p), "v"(q));
      },
      r, x, y);
  return simd<f32, Isa>(r);
}
template <class Isa>
inline constexpr bool tests_at_once<simd<f32, Isa>> = Isa::bytes == 64;
template <class Isa>
FLAGGEMS_HOST_INLINE bool is_any_above(const simd<f32, Isa>& x, const simd<f32, Isa>& limit) {
  u32 lanes;
  with_level<Isa>(
      [](u32& bits, const auto& a, const auto& b) FLAGGEMS_LAMBDA {
        u16 k;
        asm("vcmpltps %2, %3, %1\n\tkmovw %1, %0" : "=r"(bits), "=&Yk"(k) : "v"(a), "v"(b));
      },
      lanes, x.v, limit.v);
  return lanes != 0;
}

/// Whether all lanes of AVX-512 are in [2^-100, infinity).
template <class Isa>
FLAGGEMS_HOST_INLINE bool are_moderate(const simd<f32, Isa>& x) {
  using U = simd<u32, Isa>;
  constexpr u32 low = 27u << 23, end = 255u << 23;
  const U above = bit_cast<U>(x) - U(low), most(end - low);
  u32 beyond;
  with_level<Isa>(
      [](u32& bits, const auto& a, const auto& b) FLAGGEMS_LAMBDA {
        u16 k;
        asm("vpcmpnltud %3, %2, %1\n\tkmovw %1, %0" : "=r"(bits), "=&Yk"(k) : "v"(a), "v"(b));
      },
      beyond, above.v, most.v);
  return beyond == 0;
}
/// The square root of such numbers, correctly rounded, by Newton's steps from an inverse with 14
/// bits: 11 instructions in less time than one, which takes 12 cycles.
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> root_by_steps(const simd<f32, Isa>& x) {
  using V = simd<f32, Isa>;
  V inverse;
  with_level<Isa>(
      [](auto& to, const auto& a) FLAGGEMS_LAMBDA {
        asm("vrsqrt14ps %1, %0" : "=v"(to) : "v"(a));
      },
      inverse.v, x.v);
  const V half(0.5f), first = x * inverse, half_inverse = half * inverse;
  const V rest = fused_rest(half, first, half_inverse);
  const V root = fused(first, rest, first), scale = fused(half_inverse, rest, half_inverse);
  return fused(fused_rest(x, root, root), scale, root);
}
#endif

/// Correctly rounded square root.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE simd<T, Isa> sqrt(const simd<T, Isa>& x) {
  static_assert(is_same<T, f32> || is_same<T, f64>);
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (is_same<T, f32> && Isa::bytes == 64)
    if (are_moderate(x)) return root_by_steps(x);
#endif
  return each_part<T>(x, [](auto& to, const auto& from) FLAGGEMS_LAMBDA {
#if FLAGGEMS_ARCH_X86
    if constexpr ((is_same<Isa, isa_baseline> || FLAGGEMS_MODEL_ISA) && is_same<T, f32>)
      asm("sqrtps %1, %0" : "=x"(to) : "x"(from));
    else if constexpr (is_same<Isa, isa_baseline> || FLAGGEMS_MODEL_ISA)
      asm("sqrtpd %1, %0" : "=x"(to) : "x"(from));
    else if constexpr (is_same<T, f32>)
      asm("vsqrtps %1, %0" : "=v"(to) : "v"(from));
    else
      asm("vsqrtpd %1, %0" : "=v"(to) : "v"(from));
#elif FLAGGEMS_ARCH_ARM64
    if constexpr (is_same<T, f32>)
      asm("fsqrt %0.4s, %1.4s" : "=w"(to) : "w"(from));
    else
      asm("fsqrt %0.2d, %1.2d" : "=w"(to) : "w"(from));
#else
    for (unsigned i = 0; i < sizeof(to) / sizeof(T); ++i)
      to[i] = static_cast<T>(__builtin_sqrt(static_cast<f64>(from[i])));
#endif
  });
}

}  // namespace flaggems::kernels
