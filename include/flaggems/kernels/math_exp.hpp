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
FLAGGEMS_INLINE V exp_tail(FLAGGEMS_VALUE(V) r) {
  if constexpr (is_f32_value<V>)
    return horner(r, 4.999999812e-01f, 1.666654219e-01f, 4.166720604e-02f, 8.366713264e-03f,
                  1.388248656e-03f);
  else
    return horner(r, 0.5, 0.166666666666666768, 0.0416666666666665043, 0.00833333333332141891,
                  0.00138888888889640242, 0.000198412698867488309, 0.0000248015871703830154,
                  2.75572435024662007e-6, 2.75574035443449268e-7, 2.51093092204849484e-8,
                  2.08753383192069837e-9);
}

// Several results leave a function through references: g++ 12 copies a returned struct of vectors
// through memory in pieces of eight bytes, which costs more than the function.

/// 2^n as two factors, both normal numbers, given n + rounding_shift; |n| <= 250 in f32, 2040 in
/// f64. With `Inverse`, second is first / 2^n.
template <bool Inverse = false, class V>
FLAGGEMS_INLINE void split_power_of_two(FLAGGEMS_VALUE(V) shifted, identity<V>& first,
                                        identity<V>& second) {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  using U = bits_of<V>;
  const U one(one_bits<V>());
  const U n = bit_cast<U>(shifted);
  const U upper = (n << (format::mantissa - 1)) & U(~bits(0) << format::mantissa);  // n / 2
  const U lower = (n << format::mantissa) - upper;
  first = bit_cast<V>(U(upper + one));
  second = bit_cast<V>(U(Inverse ? one - lower : one + lower));
}
/// 2^n, given n + rounding_shift, where that is a normal number.
template <class V>
FLAGGEMS_INLINE V power_from(FLAGGEMS_VALUE(V) shifted) {
  using U = bits_of<V>;
  return bit_cast<V>(
      U((bit_cast<U>(shifted) << float_format<element_of<V>>::mantissa) + U(one_bits<V>())));
}

/// x = n ln 2 + r: returns r and sets n + rounding_shift.
template <class V>
FLAGGEMS_INLINE V reduce_ln2(FLAGGEMS_VALUE(V) x, identity<V>& shifted) {
  using constants = ln2_constants<element_of<V>>;
  const V shift(rounding_shift<V>());
  shifted = fma(x, V(constants::inverse), shift);
  const V n = shifted - shift;
  return fma(n, V(-constants::low), fma(n, V(-constants::high), x));
}
/// e^r - 1 for |r| <= ln 2 / 2.
template <class V>
FLAGGEMS_INLINE V expm1_of_remainder(FLAGGEMS_VALUE(V) r) {
  return fma(V(r * r), exp_tail(r), r);
}
/// e^r 2^n, given n + rounding_shift.
template <class V>
FLAGGEMS_INLINE V exp_of_reduced(FLAGGEMS_VALUE(V) r, FLAGGEMS_VALUE(V) shifted) {
  V first, second;
  split_power_of_two(shifted, first, second);
  return (V(element_of<V>(1)) + expm1_of_remainder(r)) * first * second;
}

/// e^x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr T low = is_f32_value<V> ? T(-105) : T(-746);
  constexpr T high = is_f32_value<V> ? T(89.5f) : T(710);
  V shifted;
  const V r = reduce_ln2(keep_within(x, low, high), shifted);
  return exp_of_reduced(r, shifted);
}

/// e^x for x <= 0 or NaN; what would be below the normal range is 0. Two thirds of the instructions
/// of `exp`.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp_not_positive(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  // The exponent that gives a power of 0, and rounds to itself.
  constexpr T low = is_f32_value<V> ? T(-88.0296919f) : T(-709.0895657128241);
  V shifted;
  const V r = reduce_ln2(V(greater_of(V(low), x)), shifted);
  const V power = power_from(shifted);
  return fma(power, expm1_of_remainder(r), power);
}

/// 2^x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp2(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr T low = is_f32_value<V> ? T(-151) : T(-1076);
  constexpr T high = is_f32_value<V> ? T(129) : T(1025);
  const V kept = keep_within(x, low, high);
  const V shift(rounding_shift<V>());
  const V shifted = kept + shift;
  const V r = (kept - (shifted - shift)) * V(T(0.693147180559945309417));
  return exp_of_reduced(r, shifted);
}

/// e^x - 1, accurate near zero.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V expm1(FLAGGEMS_VALUE(V) x) {
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
  const V half_scale = bit_cast<V>(U((bit_cast<U>(shifted) << format::mantissa) + U(one_bits<V>()) -
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
FLAGGEMS_INLINE V tanh(FLAGGEMS_VALUE(V) x) {
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
  V shifted;
  const V r = reduce_ln2(V(kept + kept), shifted);
  const V power = power_from(shifted);
  const V one(T(1));
  // 1 + e^2a = (1 + 2^n) + 2^n (e^r - 1), rounded once.
  const V sum = fma(power, expm1_of_remainder(r), V(power + one));
  const V result = one - V(T(2)) / sum;
  return copysign(select(mask_of<V>(a < V(T(0.625f))), near_zero, result), x);
}

/// 1 / (1 + e^-w) = scale / denominator: returns the denominator and sets the scale, a power of two
/// such that neither leaves the normal range where the quotient does.
template <class V>
FLAGGEMS_INLINE V logistic_denominator(FLAGGEMS_VALUE(V) minus_w, identity<V>& scale) {
  V shifted, power;
  const V r = reduce_ln2(minus_w, shifted);
  split_power_of_two<true>(shifted, power, scale);
  // scale (1 + 2^n e^r) = (scale + power) + power (e^r - 1); the sum of the two powers may need
  // 25 bits.
  const V sum = scale + power;
  const V sum_error = scale - (sum - power);
  return sum + fma(power, expm1_of_remainder(r), sum_error);
}

/// 1 / (1 + e^-x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V sigmoid(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr T limit = is_f32_value<V> ? T(105) : T(746);
  V scale;
  const V denominator = logistic_denominator(keep_within(V(-x), -limit, limit), scale);
  return scale / denominator;
}

/// x / (1 + e^-w) for a w with the sign of x. The power of two is applied last, so that results
/// below the normal range round once. x = -inf gives NaN, as -inf * 0 does in PyTorch.
template <class V>
FLAGGEMS_INLINE V times_logistic(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) w) {
  using T = element_of<V>;
  constexpr T limit = is_f32_value<V> ? T(140) : T(800);
  V scale;
  const V denominator = logistic_denominator(keep_within(V(-w), -limit, limit), scale);
  const V factor = select(mask_of<V>(w < V(-limit)), V(T(0)), scale);
  return x / denominator * factor;
}

/// x sigmoid(x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V silu(FLAGGEMS_VALUE(V) x) {
  return times_logistic(x, x);
}

/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). For x < -1 the result vanishes like a power
/// of e, and its relative error grows to 3 x^2 ulp.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V gelu_tanh(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  // tanh(u) = 2 sigmoid(2 u) - 1, which does not cancel for x < 0.
  const V w = x * fma(V(x * x), V(T(0.07135481627260025)), V(T(1.5957691216057308)));
  return times_logistic(x, w);
}

}  // namespace flaggems::kernels
