// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// exp and its relatives, up to the activations. exp(x) = 2^n e^r with n = round(x / ln 2): the
// Cody-Waite product n * ln2_high is exact, so the result does not depend on FMA. The power is
// applied as two factors, so that overflow and results below the normal range round correctly.
#pragma once

#include <flaggems/kernels/math_basic.hpp>

namespace flaggems::kernels {

/// Constants of the reduction by multiples of ln 2.
template <class T>
struct ln2_constants;
template <>
struct ln2_constants<f32> {
  static constexpr f32 inverse = 1.44269504f;
  static constexpr f32 high = 0.693145752f;  // 15 bits
  static constexpr f32 low = 1.42860677e-6f;
};
template <>
struct ln2_constants<f64> {
  static constexpr f64 inverse = 1.4426950408889634;
  static constexpr f64 high = 6.93147180369123816490e-01;  // 33 bits
  static constexpr f64 low = 1.90821492927058770002e-10;
};

/// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2 (minimax for e^r - 1).
template <class V>
FLAGGEMS_INLINE V exp_tail(const V& r) {
  if constexpr (is_f32_value<V>)
    return horner(r, 4.999999812e-01f, 1.666654219e-01f, 4.166720604e-02f, 8.366713264e-03f,
                  1.388248656e-03f);
  else
    return horner(r, 0.5, 0.166666666666666768, 0.0416666666666665043, 0.00833333333332141891,
                  0.00138888888889640242, 0.000198412698867488309, 0.0000248015871703830154,
                  2.75572435024662007e-6, 2.75574035443449268e-7, 2.51093092204849484e-8,
                  2.08753383192069837e-9);
}

/// A number as `value * first * second`; the factors are powers of two, `value * first` is exact.
template <class V>
struct scaled {
  V value;
  V first;
  V second;
  FLAGGEMS_INLINE V part() const { return value * first; }
  FLAGGEMS_INLINE V whole() const { return part() * second; }
};

/// 2^n as two factors, given n + rounding_shift. |n| <= 254 in f32, 2046 in f64.
template <class V>
FLAGGEMS_INLINE scaled<V> scale_by(const V& value, const V& shifted) {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  using U = bits_of<V>;
  const U one(one_bits<V>());
  const U n = bit_cast<U>(shifted);
  const U half_n = (n << (format::mantissa - 1)) & U(~bits(0) << format::mantissa);
  return {value, bit_cast<V>(U(half_n + one)),
          bit_cast<V>(U((n << format::mantissa) - half_n + one))};
}
/// value * 2^n, given n + rounding_shift, where 2^n is a normal number.
template <class V>
FLAGGEMS_INLINE V scale_normal(const V& value, const V& shifted) {
  using U = bits_of<V>;
  return value * bit_cast<V>(U((bit_cast<U>(shifted) << float_format<element_of<V>>::mantissa) +
                               U(one_bits<V>())));
}

/// n + rounding_shift and the remainder x - n ln 2.
template <class V>
struct ln2_reduction {
  V shifted;
  V r;
};
template <class V>
FLAGGEMS_INLINE ln2_reduction<V> reduce_ln2(const V& x) {
  using T = element_of<V>;
  using constants = ln2_constants<T>;
  const V shift(rounding_shift<V>());
  const V shifted = fma(x, V(constants::inverse), shift);
  const V n = shifted - shift;
  const V r = fma(n, V(-constants::low), fma(n, V(-constants::high), x));
  return {shifted, r};
}
template <class V>
FLAGGEMS_INLINE V exp_of_remainder(const V& r) {
  return V(element_of<V>(1)) + fma(V(r * r), exp_tail(r), r);
}

/// exp(x) in parts, for |x| <= 170 in f32, 1400 in f64.
template <class V>
FLAGGEMS_INLINE scaled<V> exp_scaled(const V& x) {
  const auto reduced = reduce_ln2(x);
  return scale_by(exp_of_remainder(reduced.r), reduced.shifted);
}
/// exp(x + low) for a small `low`.
template <class V>
FLAGGEMS_INLINE scaled<V> exp_scaled(const V& x, const V& low) {
  const auto reduced = reduce_ln2(x);
  return scale_by(exp_of_remainder(V(reduced.r + low)), reduced.shifted);
}
/// exp(x) where neither x nor the result leaves the normal range.
template <class V>
FLAGGEMS_INLINE V exp_normal(const V& x) {
  const auto reduced = reduce_ln2(x);
  return scale_normal(exp_of_remainder(reduced.r), reduced.shifted);
}

/// e^x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp(const V& x) {
  using T = element_of<V>;
  if constexpr (is_f32_value<V>)
    return exp_scaled(keep_within(x, T(-105), T(89.5f))).whole();
  else
    return exp_scaled(keep_within(x, T(-746), T(710))).whole();
}

/// 2^x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp2(const V& x) {
  using T = element_of<V>;
  constexpr T low = is_f32_value<V> ? T(-151) : T(-1076);
  constexpr T high = is_f32_value<V> ? T(129) : T(1025);
  const V kept = keep_within(x, low, high);
  const V shift(rounding_shift<V>());
  const V shifted = kept + shift;
  const V r = (kept - (shifted - shift)) * V(T(0.693147180559945309417));
  return scale_by(exp_of_remainder(r), shifted).whole();
}

/// e^x - 1, accurate near zero.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V expm1(const V& x) {
  using T = element_of<V>;
  using constants = ln2_constants<T>;
  using format = float_format<T>;
  using U = bits_of<V>;
  constexpr T low = is_f32_value<V> ? T(-20) : T(-42);
  constexpr T high = is_f32_value<V> ? T(88.8f) : T(709.9);
  const V kept = keep_within(x, low, high);
  const V shift(rounding_shift<V>());
  const V shifted = fma(kept, V(constants::inverse), shift);
  const V n = shifted - shift;
  const V upper = fma(n, V(-constants::high), kept);
  const V lower = n * V(constants::low);
  const V r = upper - lower;
  const V r_error = (upper - r) - lower;
  const V tail = fma(V(r * r), exp_tail(r), r_error);
  // (2^n - 1) + 2^n (r + tail) with 2^n halved, because 2^128 is not a number; the sum of the two
  // greater terms keeps its rounding error.
  const V half_scale = bit_cast<V>(
      U((bit_cast<U>(shifted) << format::mantissa) + U(one_bits<V>()) -
        U(typename format::bits(1) << format::mantissa)));
  const V first = half_scale - V(T(0.5f));
  const V second = half_scale * r;
  const V sum = first + second;
  const V sum_error = second - (sum - first);
  const V y = (sum + fma(half_scale, tail, sum_error)) * V(T(2));
  return select(mask_of<V>(abs(x) < V(power_of_two<V>(-format::mantissa - 2))), x, y);
}

/// Hyperbolic tangent.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V tanh(const V& x) {
  using T = element_of<V>;
  const V a = abs(x);
  const V z = x * x;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, -3.333328393e-01f, 1.333149130e-01f, -5.374349900e-02f, 2.065058965e-02f,
                  -5.717047411e-03f);
  else
    tail = horner(z, -0.333333333333333325, 0.133333333333331639, -0.0539682539681327781,
                  0.021869488531783531, -0.00886323543674696259, 0.00359212675829895043,
                  -0.00145582250178144963, 0.000589950309265516885, -0.000238774658219460719,
                  0.0000957602157522858412, -0.0000366395511288536389, 0.0000118071154215052717,
                  -2.27671676335024608e-6);
  const V near_zero = fma(V(x * z), tail, x);
  constexpr T limit = is_f32_value<V> ? T(10) : T(20);
  const V kept = select(mask_of<V>(a > V(limit)), V(limit), a);
  const V e = exp_normal(V(kept + kept));
  const V one(T(1));
  const V far = one - V(T(2)) / (e + one);
  return copysign(select(mask_of<V>(a < V(T(0.625f))), near_zero, far), x);
}

/// 1 / (1 + e^-x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V sigmoid(const V& x) {
  using T = element_of<V>;
  constexpr T limit = is_f32_value<V> ? T(105) : T(746);
  const V a = abs(x);
  const V e = exp_scaled(V(-select(mask_of<V>(a > V(limit)), V(limit), a))).whole();
  const V one(T(1));
  return select(mask_of<V>(x < V(T(0))), e, one) / (one + e);
}

/// x / (1 + e^-w) for a w with the sign of x. The power of two is applied last, so that results
/// below the normal range round once. x = -inf gives NaN, as -inf * 0 does in PyTorch.
template <class V>
FLAGGEMS_INLINE V times_logistic(const V& x, const V& w) {
  using T = element_of<V>;
  constexpr T limit = is_f32_value<V> ? T(140) : T(800);
  const V zero(T(0));
  const V one(T(1));
  const V a = abs(w);
  const mask_of<V> beyond = a > V(limit);
  const auto e = exp_scaled(V(-select(beyond, V(limit), a)));
  const mask_of<V> negative = x < zero;
  const V part = e.part();
  const V factor = select(negative, select(beyond, zero, e.second), one);
  return x * select(negative, part, one) / (one + part * e.second) * factor;
}

/// x sigmoid(x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V silu(const V& x) {
  return times_logistic(x, x);
}

/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V gelu_tanh(const V& x) {
  using T = element_of<V>;
  // tanh(u) = 2 sigmoid(2 u) - 1, which does not cancel for x < 0.
  const V w = x * fma(V(x * x), V(T(0.07135481627260025)), V(T(1.5957691216057308)));
  return times_logistic(x, w);
}

}  // namespace flaggems::kernels
