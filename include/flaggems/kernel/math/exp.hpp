// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// exp and its relatives, up to the activations. exp(x) = 2^n e^r with n = round(x / ln 2): the
// Cody-Waite product n * ln2_high is exact, so the result does not depend on FMA. The power is
// applied such that overflow and results below the normal range round correctly.
#pragma once

#include <flaggems/kernel/math/basic.hpp>

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

/// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2 (minimax for e^r - 1), given r^2 too.
template <class V>
FLAGGEMS_INLINE V exp_tail(FLAGGEMS_VALUE(V) r, FLAGGEMS_VALUE(V) z) {
  // Not by Horner's scheme: processors wait for the chain of e^x, not for its instructions.
  if constexpr (is_f32_value<V>)
    return fma(z, V(fma(z, V(1.388248656e-03f), horner(r, 4.166720604e-02f, 8.366713264e-03f))),
               horner(r, 4.999999812e-01f, 1.666654219e-01f));
  else
    return horner(r, 0.5, 0.166666666666666768, 0.0416666666666665043, 0.00833333333332141891,
                  0.00138888888889640242, 0.000198412698867488309, 0.0000248015871703830154,
                  2.75572435024662007e-6, 2.75574035443449268e-7, 2.51093092204849484e-8,
                  2.08753383192069837e-9);
}

// Several results leave a function through references: g++ 12 copies a returned struct of vectors
// through memory in pieces of eight bytes, which costs more than the function.

/// Added to a number of moderate size it leaves, in the sum's low bits, the nearest integer plus
/// `Offset`. Where that is the exponent's bias, shifted to the exponent's place they are the power.
template <class V, int Offset>
FLAGGEMS_INLINE constexpr element_of<V> exponent_shift() {
  return rounding_shift<V>() + element_of<V>(Offset);
}
template <class V>
inline constexpr int exponent_bias = float_format<element_of<V>>::bias;

/// x = n ln 2 + r: returns r and sets n + exponent_shift<V, Offset>().
template <int Offset, class V>
FLAGGEMS_INLINE V reduce_ln2(FLAGGEMS_VALUE(V) x, identity<V>& shifted) {
  using constants = ln2_constants<element_of<V>>;
  const V shift(exponent_shift<V, Offset>());
  shifted = fma(x, V(constants::inverse), shift);
  const V n = shifted - shift;
  return fma(n, V(-constants::low), fma(n, V(-constants::high), x));
}
/// 2^(n + Offset - bias), given n + exponent_shift<V, Offset>(), where that is a normal number; 0
/// where it is the power before them.
template <class V>
FLAGGEMS_INLINE V power_from(FLAGGEMS_VALUE(V) shifted) {
  return bit_cast<V>(bit_cast<bits_of<V>>(shifted) << float_format<element_of<V>>::mantissa);
}
/// e^r - 1 for |r| <= ln 2 / 2.
template <class V>
FLAGGEMS_INLINE V expm1_of_remainder(FLAGGEMS_VALUE(V) r) {
  const V z = r * r;
  return fma(z, exp_tail(r, z), r);
}
/// Whether a SIMT device has an instruction for 2^x of type V; its error is 1.5 ulp.
template <class V>
inline constexpr bool has_exp2_at_once =
    FLAGGEMS_LANGUAGE_CUDA&& FLAGGEMS_DEVICE_CODE&& is_same<V, f32>;
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
FLAGGEMS_INLINE f32 exp2_at_once(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
#else
template <class V>
FLAGGEMS_HD V exp2_at_once(FLAGGEMS_VALUE(V) x);
#endif

/// e^r for |r| <= ln 2 / 2.
template <class V>
FLAGGEMS_INLINE V exp_of_remainder(FLAGGEMS_VALUE(V) r) {
  if constexpr (has_exp2_at_once<V>)
    return exp2_at_once(V(r * V(ln2_constants<V>::inverse)));
  else
    return V(element_of<V>(1)) + expm1_of_remainder(r);
}
/// power e^r + x.
template <class V>
FLAGGEMS_INLINE V add_scaled_exp(FLAGGEMS_VALUE(V) power, FLAGGEMS_VALUE(V) r,
                                 FLAGGEMS_VALUE(V) x) {
  if constexpr (has_exp2_at_once<V>)
    return fma(power, exp_of_remainder(r), x);
  else
    return fma(power, expm1_of_remainder(r), V(power + x));
}
/// power e^r.
template <class V, bool AtOnce = has_exp2_at_once<V>>
FLAGGEMS_INLINE V scaled_exp(FLAGGEMS_VALUE(V) power, FLAGGEMS_VALUE(V) r) {
  if constexpr (AtOnce)
    return power * exp_of_remainder(r);
  else
    return fma(power, expm1_of_remainder(r), power);
}
/// e^r 2^n, given n + exponent_shift<V, 2 bias>(); |n| <= 250 in f32, 2040 in f64.
template <class V, bool AtOnce = has_exp2_at_once<V>>
FLAGGEMS_INLINE V exp_of_reduced(FLAGGEMS_VALUE(V) r, FLAGGEMS_VALUE(V) shifted) {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  using U = bits_of<V>;
  if constexpr (scales_at_once<V>) {
    const V n = shifted - V(exponent_shift<V, 2 * exponent_bias<V>>());
    return scale_lanes(exp_of_remainder(r), n);
  } else {
    // Two factors, both normal numbers, whose exponents are halves of n.
    const U k = bit_cast<U>(shifted);
    const U upper = (k << (format::mantissa - 1)) & U(~bits(0) >> 1 & ~bits(0) << format::mantissa);
    const V first = bit_cast<V>(upper);
    const V second = bit_cast<V>(U((k << format::mantissa) - upper));
    return scaled_exp<V, AtOnce>(first, r) * second;
  }
}

/// e^x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr T low = is_f32_value<V> ? T(-105) : T(-746);
  constexpr T high = is_f32_value<V> ? T(89.5f) : T(710);
  V shifted;
  const V r = reduce_ln2<2 * exponent_bias<V>>(keep_within(x, low, high), shifted);
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
  const V r = reduce_ln2<exponent_bias<V>>(V(greater_of(V(low), x)), shifted);
  const V power = power_from(shifted);
  return scaled_exp(power, r);
}

/// 2^x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V exp2(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr T low = is_f32_value<V> ? T(-151) : T(-1076);
  constexpr T high = is_f32_value<V> ? T(129) : T(1025);
  const V kept = keep_within(x, low, high);
  const V shift(exponent_shift<V, 2 * exponent_bias<V>>());
  const V shifted = kept + shift;
  const V r = (kept - (shifted - shift)) * V(T(0.693147180559945309417));
  return exp_of_reduced(r, shifted);
}

/// The same with an error of 2 ulp, and 0 where it is below the normal range: by a SIMT device's
/// instruction.
FLAGGEMS_INLINE f32 near_exp2(f32 x) {
  if constexpr (has_exp2_at_once<f32>)
    return exp2_at_once(x);
  else
    return exp2(x);
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
  const V z = r * r;
  const V tail = fma(z, exp_tail(r, z), r_error);
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
  const V a = abs(x), one(T(1));
  constexpr T limit = is_f32_value<V> ? T(10) : T(20);
  const V kept = lesser_of(V(limit), a);
  V shifted;
  if constexpr (fuses_at_once<V>) {
    // h / (1 + h) for h = (e^2a - 1) / 2, which is accurate near zero as well; there 1 less that,
    // times h, has a smaller error.
    const V r = reduce_ln2<exponent_bias<V> - 1>(V(kept + kept), shifted);
    const V power = power_from(shifted);
    const V h = fma(power, expm1_of_remainder(r), V(power - V(T(0.5f))));
    const V quotient = h / (h + one);
    return copysign(select(mask_of<V>(h < V(T(0.5f))), fma(V(-quotient), h, h), quotient), x);
  }
  const V r = reduce_ln2<exponent_bias<V>>(V(kept + kept), shifted);
  const V power = power_from(shifted);
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
  // 1 + e^2a = (1 + 2^n) + 2^n (e^r - 1), rounded once.
  const V sum = add_scaled_exp(power, r, one);
  const V result = one - near_quotient(V(T(2)), sum);
  return copysign(select(mask_of<V>(a < V(T(0.625f))), near_zero, result), x);
}

// What vanishes like e^-x, down to the least subnormal number, is divided by 2^-lift e^x, which is
// a normal number, and brought back by its last multiplication, which rounds once.
template <class V>
inline constexpr int lift = is_f32_value<V> ? 40 : 64;
/// The logarithm of 2^(bias + 1 + lift), from half a unit of n before which on the power of two is
/// infinite.
template <class V>
inline constexpr element_of<V> lowered_limit = is_f32_value<V> ? element_of<V>(116.448730f)
                                                               : element_of<V>(754.14413244922058);

/// x = n ln 2 + r for -40 <= x < lowered_limit + ln 2 / 2: returns r and sets 2^(n - lift).
template <class V>
FLAGGEMS_INLINE V reduce_lowered(FLAGGEMS_VALUE(V) x, identity<V>& power) {
  V shifted;
  const V r = reduce_ln2<exponent_bias<V> - lift<V>>(x, shifted);
  power = power_from(shifted);
  return r;
}

/// 1 / (1 + e^-x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V sigmoid(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  // 1 up to here, and 0 from there on.
  constexpr T low = is_f32_value<V> ? T(-20) : T(-40);
  constexpr T high = lowered_limit<V> - T(0.5f);
  const V one(power_of_two<V>(-lift<V>));
  V power;
  const V r = reduce_lowered(keep_within(V(-x), low, high), power);
  if constexpr (has_exp2_at_once<V>) return near_quotient(one, add_scaled_exp(power, r, one));
  // The sum of the two powers may need 25 bits.
  const V sum = power + one;
  const V rest = one - (sum - power);
  const V denominator = sum + fma(power, expm1_of_remainder(r), rest);
  return near_quotient(one, denominator);
}

/// |x|, but a finite number for x = inf.
template <class V>
FLAGGEMS_INLINE V gate_magnitude(FLAGGEMS_VALUE(V) x) {
  return abs(lesser_of(V(power_of_two<V>(exponent_bias<V>)), x));
}
/// x g(x) for a gate g with g(x) + g(-x) = 1, given 2^lift |x| g(-|x|), with gate_magnitude for
/// |x|. x = -inf gives NaN, as -inf * 0 does in PyTorch.
template <class V>
FLAGGEMS_INLINE V gated(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) lifted) {
  // x - |x| g(-|x|) for x > 0, -0 - |x| g(-|x|) for x < 0. Of -0 and a zero x the latter is taken.
  return fma(lifted, V(-power_of_two<V>(-lift<V>)), greater_of(V(element_of<V>(-0.0f)), x));
}

/// x sigmoid(x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V silu(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V a = gate_magnitude(x);
  // An infinite power comes with a positive fraction.
  const mask_of<V> beyond = a > V(lowered_limit<V> - T(0.5f));
  V power;
  const V r = reduce_lowered(select(beyond, V(lowered_limit<V> + T(0.125f)), a), power);
  const V one(power_of_two<V>(-lift<V>));
  V denominator;
  if constexpr (has_exp2_at_once<V>)
    denominator = add_scaled_exp(power, r, one);
  else
    denominator = power + fma(power, expm1_of_remainder(r), one);
  return gated(x, near_quotient(a, denominator));
}

/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). For x < -1 the result vanishes like a power
/// of e, and its relative error grows to 3 x^2 ulp.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V gelu_tanh(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V a = gate_magnitude(x);
  // tanh(u) = 2 sigmoid(2 u) - 1, which does not cancel for x < 0.
  const V w = a * fma(V(a * a), V(T(0.07135481627260025)), V(T(1.5957691216057308)));
  V power;
  const V r = reduce_lowered(V(lesser_of(V(lowered_limit<V>), w)), power);
  return gated(x,
               near_quotient(a, V(fma(power, exp_of_remainder(r), V(power_of_two<V>(-lift<V>))))));
}

/// e^x for x <= 0 or NaN, where an error of 1e-7 of e^x (1 + |x|) is none.
template <class C>
FLAGGEMS_INLINE C softmax_power(FLAGGEMS_VALUE(C) x) {
  if constexpr (has_exp2_at_once<C>)
    return exp2_at_once(x * ln2_constants<C>::inverse);
  else
    return exp_not_positive(x);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/exp.hpp");
