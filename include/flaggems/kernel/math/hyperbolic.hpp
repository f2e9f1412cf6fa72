// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Hyperbolic sine and cosine, and the inverse hyperbolic functions: by e^x / 2 and log1p, and by
// polynomials near zero.
#pragma once

#include <flaggems/kernel/math/log.hpp>

namespace flaggems::kernels {

/// e^a / 2 for a >= 0, without overflow before the result's.
template <class V>
FLAGGEMS_INLINE V half_exp(FLAGGEMS_VALUE(V) a) {
  using T = element_of<V>;
  V shifted;
  const V kept = lesser_of(V(is_f32_value<V> ? T(90.5f) : T(711)), a);
  const V r = reduce_ln2<2 * exponent_bias<V>>(kept, shifted);
  return exp_of_reduced(r, V(shifted - V(T(1))));
}

/// Hyperbolic sine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V sinh(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V a = abs(x), z = a * a;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, 0.1666666665f, 0.008333339676f, 0.0001983810197f, 2.806280258e-6f);
  else
    tail = horner(z, 0.166666666666666667, 0.00833333333333333337, 0.000198412698412697732,
                  2.75573192240403386e-6, 2.50521083640580408e-8, 1.60590483963505616e-10,
                  7.64662536165665766e-13, 2.84452641698952856e-15);
  const V near_zero = fma(V(a * z), tail, a);
  const V e = half_exp(a);
  const V distant = e - V(T(0.25f)) / e;
  return copysign(select(mask_of<V>(a < V(T(1))), near_zero, distant), x);
}
/// Hyperbolic cosine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V cosh(FLAGGEMS_VALUE(V) x) {
  const V e = half_exp(abs(x));
  return e + V(element_of<V>(0.25f)) / e;
}

/// From here on x + sqrt(x^2 +- 1) is 2 x.
template <class V>
inline constexpr element_of<V> far_root = is_f32_value<V> ? element_of<V>(8192)
                                                          : element_of<V>(268435456);

/// log(x + c), where c is 1, or log(2 x) where x is far.
template <class V>
FLAGGEMS_INLINE V log_of_root(FLAGGEMS_VALUE(mask_of<V>) is_far, FLAGGEMS_VALUE(V) x) {
  const V one(element_of<V>(1)), c = select(is_far, V(element_of<V>(0)), one);
  V k;
  const V f = split_sum(x, c, k);
  const V y = log_of_split<V>(f, V(k + (one - c)));
  return select(mask_of<V>(x < V(infinity_of<V>())), y, x);
}

/// Inverse hyperbolic sine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V asinh(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V a = abs(x), one(T(1)), z = a * a;
  const mask_of<V> is_far = a > V(far_root<V>);
  const V t = a + near_quotient(z, V(one + near_root(V(z + one))));
  return copysign(log_of_root<V>(is_far, select(is_far, a, t)), x);
}
/// Inverse hyperbolic cosine, with an error of 2.5 ulp; NaN for x < 1.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V acosh(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V one(T(1)), t = x - one;
  const mask_of<V> is_far = x > V(far_root<V>);
  const V sum = t + moderate_root(V(t * V(t + V(T(2)))));
  const V r = log_of_root<V>(is_far, select(is_far, x, sum));
  return select(mask_of<V>(x < one), V(nan_of<V>()), r);
}
/// atanh with fused sums. (1 + a) / (1 - a) = 2^k (1 + s) / (1 - s), so that atanh(a) is k ln 2 / 2
/// + atanh(s), for s = a below 1/2, and |s| < 0.18 elsewhere.
FLAGGEMS_INLINE f32 atanh_fused(f32 x) {
  const f32 a = abs(x), above = 1.0f + a, below = 1.0f - a;
  const bool is_small = a < 0.5f;
  const u32 moved = exponent_first<f32>(above * near_quotient(1.0f, below));
  const f32 k = exponent_of<f32>(moved, 0x1p23f + 127.0f);
  const f32 power = bit_cast<f32>(moved & 0xff800000u);
  const f32 turned = near_quotient(fused(-power, below, above), fused(power, below, above));
  const f32 s = is_small ? a : turned, z = s * s;
  const f32 tail = fused_horner(z, 0.33333298846f, 0.20002587573f, 0.14221488665f, 0.11833949703f,
                                0.050985811818f, 0.17719619132f);
  const f32 y = fused(is_small ? 0.0f : k, 0.346573591f, fused(s * z, tail, s));
  const f32 limit = a == 1.0f ? infinity_of<f32>() : nan_of<f32>();
  return copysign(a < 1.0f ? y : limit, x);
}
/// Inverse hyperbolic tangent; NaN for |x| > 1.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V atanh(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  if constexpr (has_exp2_at_once<V>) return atanh_fused(x);
  const V a = abs(x), twice = a + a, one(T(1)), rest = one - a;
  const mask_of<V> is_small = a < V(T(0.5f));
  const V quotient = near_quotient(select(is_small, V(twice * a), twice), rest);
  V k;
  const V f = split_sum<V>(select(is_small, V(twice + quotient), quotient), one, k);
  const V y = V(T(0.5f)) * log_of_split<V>(f, k);
  const V limit = select(mask_of<V>(a == one), V(infinity_of<V>()), V(nan_of<V>()));
  return copysign(select(mask_of<V>(a < one), y, limit), x);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/hyperbolic.hpp");
