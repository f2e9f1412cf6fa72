// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Logarithms and pow. x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) =
// f - f^2/2 + s (f^2/2 + R(s^2)), s = f / (2 + f), as in Sun's fdlibm. Where more than a working
// precision is needed, products are taken of halves of significands, hence exact with and without
// FMA.
#pragma once

#include <flaggems/kernel/math/exp.hpp>

namespace flaggems::kernels {

/// The bits of sqrt(1/2).
template <class V>
FLAGGEMS_INLINE constexpr typename float_format<element_of<V>>::bits root_bits() {
  using T = element_of<V>;
  return bit_cast<typename float_format<T>::bits>(T(0.70710678118654752440f));
}
/// The bits of a positive normal x = 2^k (1 + f), moved so that the exponent is k's.
template <class V>
FLAGGEMS_INLINE bits_of<V> exponent_first(FLAGGEMS_VALUE(V) x) {
  return bit_cast<bits_of<V>>(x) + bits_of<V>(one_bits<V>() - root_bits<V>());
}
/// k + bias of them, less `bias`.
template <class V>
FLAGGEMS_INLINE V exponent_of(FLAGGEMS_VALUE(bits_of<V>) moved, FLAGGEMS_VALUE(V) bias) {
  using T = element_of<V>;
  using bits = typename float_format<T>::bits;
  constexpr int mantissa = float_format<T>::mantissa;
  constexpr T shift = power_of_two<V>(mantissa);
  return bit_cast<V>(bits_of<V>((moved >> mantissa) | bits_of<V>(bit_cast<bits>(shift)))) - bias;
}
/// f of them.
template <class V>
FLAGGEMS_INLINE V fraction_of(FLAGGEMS_VALUE(bits_of<V>) moved) {
  using T = element_of<V>;
  using bits = typename float_format<T>::bits;
  using U = bits_of<V>;
  const U rest(static_cast<bits>((bits(1) << float_format<T>::mantissa) - 1));
  return bit_cast<V>(U((moved & rest) + U(root_bits<V>()))) - V(T(1));
}
/// A positive x as 2^k (1 + f), where it is a normal number: returns f and sets k.
template <class V>
FLAGGEMS_INLINE V split_normal(FLAGGEMS_VALUE(V) x, identity<V>& k) {
  using T = element_of<V>;
  using format = float_format<T>;
  const bits_of<V> moved = exponent_first<V>(x);
  k = exponent_of<V>(moved, V(power_of_two<V>(format::mantissa) + T(format::bias)));
  return fraction_of<V>(moved);
}
/// The same where it is finite.
template <class V>
FLAGGEMS_INLINE V split_binary(FLAGGEMS_VALUE(V) x, identity<V>& k) {
  using T = element_of<V>;
  using format = float_format<T>;
  constexpr int raise = format::mantissa + 2;
  constexpr T bias = power_of_two<V>(format::mantissa) + T(format::bias);
  const mask_of<V> tiny = x < V(power_of_two<V>(1 - format::bias));
  const bits_of<V> moved = exponent_first<V>(select(tiny, V(x * V(power_of_two<V>(raise))), x));
  k = exponent_of<V>(moved, select(tiny, V(bias + T(raise)), V(bias)));
  return fraction_of<V>(moved);
}
/// x + c = 2^k (1 + f) for a c of 0 or 1 and a positive normal sum: returns f, without the sum's
/// rounding error, and sets k.
template <class V>
FLAGGEMS_INLINE V split_sum(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) c, identity<V>& k) {
  using T = element_of<V>;
  using format = float_format<T>;
  using bits = typename format::bits;
  using U = bits_of<V>;
  const U moved = exponent_first<V>(V(x + c));
  k = exponent_of<V>(moved, V(power_of_two<V>(format::mantissa) + T(format::bias)));
  // 2^-k, by way of 2^(2 - k), which is a normal number for the greatest k, too.
  const U exponent = moved & U(~((bits(1) << format::mantissa) - 1));
  const U most(static_cast<bits>(bits(2 * format::bias + 2) << format::mantissa));
  const V scale = V(T(0.25f)) * bit_cast<V>(U(most - exponent));
  return fma(x, scale, fma(c, scale, V(T(-1))));
}

/// s (f^2 / 2 + R): log(1 + f) = f - (f^2 / 2 - log_tail).
template <class V>
FLAGGEMS_INLINE V log_tail(FLAGGEMS_VALUE(V) f, FLAGGEMS_VALUE(V) half_square) {
  const V s = near_quotient(f, V(V(element_of<V>(2)) + f));
  const V z = s * s;
  V r;
  if constexpr (is_f32_value<V>)
    r = horner(z, 6.666666564e-01f, 4.000033623e-01f, 2.853723789e-01f, 2.358357590e-01f);
  else
    r = horner(z, 0.666666666666673489, 0.399999999994110977, 0.285714287432617413,
               0.222221984760997954, 0.181835697323771379, 0.153139034794335512,
               0.147975049657313696);
  return s * fma(z, r, half_square);
}

/// `y` where 0 < x < inf; the limits of a logarithm elsewhere.
template <class V>
FLAGGEMS_INLINE V log_limits(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) y) {
  const V infinity(infinity_of<V>());
  const V zero(element_of<V>(0));
  const V upper = select(mask_of<V>(x < infinity), y, x);  // +inf and NaN
  const V lower = select(mask_of<V>(x == zero), V(-infinity), V(nan_of<V>()));
  return select(mask_of<V>(x <= zero), lower, upper);
}

/// x = 2^k (1 + f), where 1 + f is in [3/4, 3/2), by two instructions: returns f and sets k. f is
/// NaN for x < 0; k is infinite for 0 and infinity, where f is 0.
template <class V>
FLAGGEMS_INLINE V split_by_lanes(FLAGGEMS_VALUE(V) x, identity<V>& k) {
  const V significand = significand_lanes(x);
  k = exponent_lanes(x) - exponent_lanes(significand);
  return significand - V(element_of<V>(1));
}
/// (log(1 + f) - f) / f^2 for such f.
template <class V>
FLAGGEMS_INLINE V log_bend(FLAGGEMS_VALUE(V) f) {
  return horner(f, -0.5f, 0.333334506f, -0.250001043f, 0.199908197f, -0.166469991f, 0.144783214f,
                -0.131638736f, 0.104688786f, -0.0451120548f);
}

/// log(2^k (1 + f)) for sqrt(1/2) <= 1 + f < sqrt(2), with fused sums: a polynomial, by which SIMT
/// devices need no quotient.
FLAGGEMS_INLINE f32 log_of_split_fused(f32 f, f32 k) {
  const f32 tail = fused_horner(f, -0.49999988345f, 0.33333325694f, -0.25001583021f, 0.20001973777f,
                                -0.16609081381f, 0.14181826758f, -0.13242997438f, 0.12904433131f,
                                -0.076217623215f);
  return fused(k, 0.693147182f, fused(f * f, tail, f));
}
/// The same of any type.
template <class V>
FLAGGEMS_INLINE V log_of_split(FLAGGEMS_VALUE(V) f, FLAGGEMS_VALUE(V) k) {
  using T = element_of<V>;
  if constexpr (has_exp2_at_once<V>) return log_of_split_fused(f, k);
  using constants = ln2_constants<T>;
  const V half_square = V(T(0.5f)) * f * f;
  const V low = fma(k, V(constants::low), log_tail(f, half_square));
  return fma(k, V(constants::high), V(f - (half_square - low)));
}
/// Natural logarithm.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V log(FLAGGEMS_VALUE(V) x) {
  V k;
  if constexpr (splits_at_once<V>) {
    const V f = split_by_lanes<V>(x, k);
    return fma(k, V(0.693147182f), fma(V(f * f), log_bend(f), f));
  }
  const V f = split_binary(x, k);
  return log_limits(x, log_of_split<V>(f, k));
}
/// The same of a positive normal number.
template <class V>
FLAGGEMS_INLINE V log_of_positive(FLAGGEMS_VALUE(V) x) {
  if constexpr (splits_at_once<V>) return log(x);
  V k;
  const V f = split_normal(x, k);
  return log_of_split<V>(f, k);
}

/// log(1 + x), accurate near zero.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V log1p(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V one(T(1));
  V k;
  const V f = split_sum(x, one, k);
  const V y = log_limits(V(x + one), log_of_split<V>(f, k));
  const V tiny(power_of_two<V>(-float_format<T>::mantissa - 2));
  return select(mask_of<V>(abs(x) < tiny), x, y);  // -0, too
}
/// The same for 0 <= x <= 1 or NaN.
template <class V>
FLAGGEMS_INLINE V log1p_of_fraction(FLAGGEMS_VALUE(V) x) {
  if constexpr (is_f32_value<V>) {
    // As log_tail, with a wider range.
    const V half_square = V(0.5f) * x * x, s = near_quotient(x, V(V(2.0f) + x)), z = s * s;
    const V r = horner(z, 6.666641313e-01f, 4.002169906e-01f, 2.799914106e-01f, 2.802445890e-01f);
    return x - (half_square - s * fma(z, r, half_square));
  } else {
    return log1p(x);
  }
}

/// Constants of a logarithm with base b: 1 / ln b and ln 2 / ln b, each high + low.
struct base_two {
  static constexpr bool has_whole_step = true;
  template <class V>
  FLAGGEMS_INLINE static V inverse_high() {
    if constexpr (is_f32_value<V>)
      return V(1.4423828125f);
    else
      return V(1.4426950216293334961);
  }
  template <class V>
  FLAGGEMS_INLINE static V inverse_low() {
    if constexpr (is_f32_value<V>)
      return V(0.00031222838896340735992f);
    else
      return V(1.9259629911266174681e-8);
  }
  template <class V>
  FLAGGEMS_INLINE static V step_high() {
    return V(element_of<V>(1));
  }
  template <class V>
  FLAGGEMS_INLINE static V step_low() {
    return V(element_of<V>(0));
  }
};
struct base_ten {
  static constexpr bool has_whole_step = false;
  template <class V>
  FLAGGEMS_INLINE static V inverse_high() {
    if constexpr (is_f32_value<V>)
      return V(0.4342041015625f);
    else
      return V(0.43429447710514068604);
  }
  template <class V>
  FLAGGEMS_INLINE static V inverse_low() {
    if constexpr (is_f32_value<V>)
      return V(0.000090380340751827651129f);
    else
      return V(4.7981111416159726689e-9);
  }
  template <class V>
  FLAGGEMS_INLINE static V step_high() {
    if constexpr (is_f32_value<V>)
      return V(0.301025390625f);
    else
      return V(0.30102999508380889893);
  }
  template <class V>
  FLAGGEMS_INLINE static V step_low() {
    if constexpr (is_f32_value<V>)
      return V(4.6050389811952137389e-6f);
    else
      return V(5.8017229628795764472e-10);
  }
};

template <class Base, class V>
FLAGGEMS_INLINE V log_in_base(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  V k;
  if constexpr (splits_at_once<V>) {
    const V f = split_by_lanes<V>(x, k), rest = V(f * f) * log_bend(f);
    const V high = Base::template inverse_high<V>();
    V low = V(f + rest) * Base::template inverse_low<V>();
    // (Not by a step of 0, as k may be infinite.)
    if constexpr (!Base::has_whole_step) low = fma(k, Base::template step_low<V>(), low);
    return fma(k, Base::template step_high<V>(), fma(f, high, fma(rest, high, low)));
  }
  const V f = split_binary(x, k);
  const V half_square = V(T(0.5f)) * f * f;
  const V high = upper_half(V(f - half_square));
  const V low = ((f - high) - half_square) + log_tail(f, half_square);
  const V inverse_high = Base::template inverse_high<V>();
  const V inverse_low = Base::template inverse_low<V>();
  // high * inverse_high and k * step_high are exact.
  const V product = high * inverse_high;
  const V step = k * Base::template step_high<V>();
  const V sum = step + product;
  const V sum_error = product - (sum - step);
  const V rest = fma(low, inverse_high, V((low + high) * inverse_low)) +
                 fma(k, Base::template step_low<V>(), sum_error);
  return log_limits(x, V(sum + rest));
}

/// Logarithm with base 2.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V log2(FLAGGEMS_VALUE(V) x) {
  return log_in_base<base_two>(x);
}
/// The same of a number that is not below the normal range, with an error of 2^-22 of the result or
/// of 1: by a SIMT device's instruction.
FLAGGEMS_INLINE f32 near_log2(f32 x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  f32 r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return log2(x);
#endif
}
/// Logarithm with base 10.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V log10(FLAGGEMS_VALUE(V) x) {
  return log_in_base<base_ten>(x);
}

/// log(1 + e^x), as max(x, 0) + log1p(e^-|x|).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V softplus(FLAGGEMS_VALUE(V) x) {
  return maximum(x, V(element_of<V>(0))) + log1p_of_fraction<V>(exp(V(-abs(x))));
}

/// log2 of a positive finite x with about 1.5 times the working precision: returns the upper part,
/// the lower half of its significand clear, and sets the lower part.
template <class V>
FLAGGEMS_INLINE V log2_extended(FLAGGEMS_VALUE(V) x, identity<V>& rest) {
  using T = element_of<V>;
  const V one(T(1));
  V k;
  const V f = split_binary(x, k);
  // s = f / (2 + f) = s_high + s_low
  const V inverse = one / (V(T(2)) + f);
  const V s = f * inverse;
  const V s_high = upper_half(s);
  const V divisor_high = upper_half(V(V(T(2)) + f));
  const V divisor_low = f - (divisor_high - V(T(2)));
  const V s_low = ((f - s_high * divisor_high) - s_high * divisor_low) * inverse;
  // ln(1 + f) = 2/3 s (3 + s^2 + s^4 L(s^2))
  const V z = s * s;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, 5.999999725e-01f, 4.285781240e-01f, 3.327742634e-01f, 2.920345532e-01f);
  else
    tail = horner(z, 0.60000000000003407, 0.428571428551378447, 0.333333337820283961,
                  0.27272676355873063, 0.230801452810416628, 0.198850036616144011,
                  0.19796621413267448);
  const V r = fma(V(z * z), tail, V(s_low * (s_high + s)));
  const V z_high = s_high * s_high;
  const V three(T(3));
  const V t_high = upper_half(V(three + (z_high + r)));
  const V t_low = r - ((t_high - three) - z_high);
  const V u = s_high * t_high;
  const V v = fma(s_low, t_high, V(t_low * s));
  const V p_high = upper_half(V(u + v));
  const V p_low = v - (p_high - u);
  V c_high, c_low, c;  // 2 / (3 ln 2)
  if constexpr (is_f32_value<V>) {
    c_high = V(0.961669921875f);
    c_low = V(0.00012677205097560490662f);
    c = V(0.961796693925975605f);
  } else {
    c_high = V(0.96179668605327606201);
    c_low = V(7.872699542894897704e-9);
    c = V(0.961796693925975605);
  }
  const V l_high = c_high * p_high;
  const V l_low = fma(c_low, p_high, V(p_low * c));
  const V high = upper_half(V((l_high + l_low) + k));
  rest = l_low - ((high - k) - l_high);
  return high;
}

/// x^y for x > 0 finite; the sign and the special cases are the caller's.
template <class V>
FLAGGEMS_INLINE V pow_positive(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) y) {
  using T = element_of<V>;
  // From here on the power overflows or vanishes for every x but 1.
  constexpr T y_limit = is_f32_value<V> ? T(4294967296.f) : T(18446744073709551616.f);
  constexpr T z_limit = is_f32_value<V> ? T(160) : T(1100);
  V l_low;
  const V l_high = log2_extended(x, l_low);
  const V kept = keep_within(y, -y_limit, y_limit);
  const V y_high = upper_half(kept);
  const V low = fma(V(kept - y_high), l_high, V(kept * l_low));
  const V high = y_high * l_high;
  const V z = high + low;
  const V inside = keep_within(z, -z_limit, z_limit);
  const V shift(exponent_shift<V, 2 * exponent_bias<V>>());
  const V shifted = inside + shift;
  const V n = shifted - shift;
  const V fraction = select(mask_of<V>(abs(z) < V(z_limit)), V((high - n) + low), V(inside - n));
  // Not by a device's instruction: an ulp above the largest number is infinity.
  return exp_of_reduced<V, false>(V(fraction * V(T(0.693147180559945309417))), shifted);
}

/// x to the power of y. Floating point: as C's pow. Integers: wraps; a negative exponent gives
/// 1 / x^-y rounded toward zero, and 0 for x = 0, as torch.pow.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V pow(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) y) {
  using T = element_of<V>;
  static_assert(is_math_value<V> || is_integer_value<V>);
  if constexpr (is_integer_value<V>) {
    using U = rebind<V, uint_of_size<sizeof(T)>>;
    const U one(1u);
    const V zero(T(0));
    U result = one;
    U base = bit_cast<U>(x);
    U exponent = bit_cast<U>(y);
    for (int bit = 0; bit < static_cast<int>(sizeof(T)) * 8 - is_signed_integer<T>; ++bit) {
      result = select(mask_of<V>((exponent & one) == one), wrapping_mul(result, base), result);
      base = wrapping_mul(base, base);
      exponent = exponent >> 1;
    }
    const V power = bit_cast<V>(result);
    if constexpr (is_signed_integer<T>) {
      const V odd_power = select(mask_of<V>((y & V(T(1))) == V(T(1))), x, V(T(1)));
      const mask_of<V> unit = (x == V(T(1))) | (x == V(T(-1)));
      return select(mask_of<V>(y < zero), select(unit, odd_power, zero), power);
    } else {
      return power;
    }
  } else {
    using mask = mask_of<V>;
    const V zero(T(0));
    const V one(T(1));
    const V infinity(infinity_of<V>());
    const V a = abs(x);
    const V half_y = y * V(T(0.5f));
    const mask integer = trunc(y) == y;
    const mask odd_half = trunc(half_y) != half_y;
    const mask finite_y = abs(y) < infinity;
    const mask odd = integer & odd_half & finite_y;
    const mask at_limit = (a == zero) | (a == infinity);
    V r = pow_positive(V(select(at_limit, one, a)), y);
    r = select(at_limit, select(mask((a == zero) == (y > zero)), zero, infinity), r);
    r = select(mask((x < zero) & !integer & (a < infinity)), V(nan_of<V>()), r);
    r = select(odd, copysign(r, x), r);
    r = select(mask((x != x) | (y != y)), V(x + y), r);
    return select(mask((y == zero) | (x == one)), one, r);
  }
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/log.hpp");
