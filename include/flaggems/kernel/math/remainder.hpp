// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Remainders and the greatest common divisor. Remainders are exact: a long division whose digits
// have so few bits that their products with the halves of the divisor are exact.
#pragma once

#include <flaggems/kernel/math/exp.hpp>

namespace flaggems::kernels {

/// A positive finite x as a normal number, 2^raised x: returns that and sets `raised`, which is 0
/// in the normal range, and the exponent of x.
template <class V>
FLAGGEMS_INLINE V as_normal(FLAGGEMS_VALUE(V) x, identity<V>& raised, identity<V>& exponent) {
  using T = element_of<V>;
  using format = float_format<T>;
  using U = bits_of<V>;
  constexpr int raise = format::mantissa + 1;
  const mask_of<V> is_tiny = x < V(power_of_two<V>(1 - format::bias));
  const V normal = select(is_tiny, V(x * V(power_of_two<V>(raise))), x);
  raised = select(is_tiny, V(T(raise)), V(T(0)));
  const V shift(power_of_two<V>(format::mantissa));
  exponent = (bit_cast<V>(U((bit_cast<U>(normal) >> format::mantissa) | bit_cast<U>(shift))) -
              V(shift + V(T(format::bias)))) -
             raised;
  return normal;
}

/// a - trunc(a / b) b, without a rounding error, with the sign of a. Floating point: NaN for an
/// infinite a or b = 0. Integers: a for b = 0, as a quotient of 0 would give.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V fmod(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  if constexpr (is_integer_value<V>) {
    const V zero(T(0)), one(T(1));
    const mask_of<V> by_zero = b == zero;
    mask_of<V> trivial = by_zero;
    if constexpr (is_signed_integer<T>) trivial = by_zero | (b == V(T(-1)));  // traps for the least
    const V rest = V(a % select(trivial, one, b));
    return select(by_zero, a, rest);
  } else {
    using format = float_format<T>;
    constexpr int digit = (format::mantissa + 1) / 2 - 1;  // bits of a digit
    const V zero(T(0)), one(T(1)), infinity(infinity_of<V>());
    const V dividend = abs(a), divisor = abs(b);
    const mask_of<V> regular =
        (dividend < infinity) & (divisor < infinity) & (divisor > zero) & (dividend >= divisor);
    V r = select(regular, dividend, zero);
    const V m = select(regular, divisor, one);
    {
      // A quotient of few bits is the only digit: its nearest integer, so that an error of the
      // quotient matters only where the rest is near 0.
      const V shift(rounding_shift<V>());
      const V q = (near_quotient(r, m) + shift) - shift;
      const V high = upper_half(m), low = m - high;
      const V nearest = (r - q * high) - q * low;
      const V rest = select(mask_of<V>(nearest < zero), V(nearest + m), nearest);
      const mask_of<V> few_bits = r < m * V(power_of_two<V>(digit));
      const mask_of<V> large = r >= V(power_of_two<V>(format::bias));
      const mask_of<V> tiny = m < V(power_of_two<V>(1 - format::bias));
      r = select(mask_of<V>(few_bits & !large & !tiny), rest, r);
    }
    if (any_lane(mask_of<V>(r >= m))) {
      V lifted, base, ignored, exponent;
      const V normal = as_normal(m, lifted, base);
      do {
        // t = m 2^k, so that r / t has at most `digit` + 1 bits.
        as_normal(r, ignored, exponent);
        const V k = maximum(V(exponent - base - V(T(digit))), zero);
        const V shift(exponent_shift<V, exponent_bias<V>>());
        const V n = k - lifted;
        const V first = V(n * V(T(0.5f))) + shift;
        const V second = V(n - (first - shift)) + shift;
        const V t = V(normal * power_from(first)) * power_from(second);
        const V q = trunc(V(r / t));
        const V high = upper_half(t), low = t - high;
        r = (r - q * high) - q * low;
        // The quotient may have been rounded up to an integer.
        r = select(mask_of<V>(r < zero), V(r + t), r);
      } while (any_lane(mask_of<V>(r >= m)));
    }
    r = copysign(select(regular, r, dividend), a);
    const mask_of<V> none = !((dividend < infinity) & (divisor > zero));  // NaN, too
    return select(mask_of<V>(none | (b != b)), V(nan_of<V>()), r);
  }
}

/// a - floor(a / b) b, with the sign of b, as Python's %; otherwise as fmod.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V remainder(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  const V zero(T(0));
  const V r = fmod(a, b);
  if constexpr (is_unsigned_integer<T>) {
    return r;
  } else {
    const mask_of<V> other_sign = (r != zero) & (b != zero) & ((r < zero) != (b < zero));
    return select(other_sign, V(r + b), r);
  }
}

/// The greatest common divisor of integers, not negative; 0 of two zeros.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V gcd(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  using U = rebind<V, uint_of_size<sizeof(T)>>;  // where the least number has a magnitude
  const U zero(element_of<U>(0));
  U x = convert<element_of<U>>(abs(a)), y = convert<element_of<U>>(abs(b));
  while (any_lane(mask_of<V>(y != zero))) {
    const mask_of<V> ends = y == zero;
    const U rest = U(x % select(ends, U(element_of<U>(1)), y));
    x = select(ends, x, y);
    y = select(ends, zero, rest);
  }
  return convert<T>(x);
}
/// The least common multiple of integers, modulo 2^n, not negative; 0 if one is 0.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V lcm(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  const V zero(T(0));
  const V g = gcd(a, b);
  const V whole = V(a / select(mask_of<V>(g == zero), V(T(1)), g));
  return abs(wrapping_mul(whole, b));
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/remainder.hpp");
