// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic beyond the basic table: remainders, divisors, magnitudes, interpolation, and what
// takes more than a line: alpha, rounding modes, optional bounds. For ops/arithmetic.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>
#include <flaggems/kernel/math/remainder.hpp>

namespace flaggems::kernels {

/// The greater and the lesser, or the one that is not NaN.
template <class V>
FLAGGEMS_INLINE V maximum_of_numbers(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  return select(mask_of<V>(a != a), b, select(mask_of<V>(b != b), a, maximum(a, b)));
}
template <class V>
FLAGGEMS_INLINE V minimum_of_numbers(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  return select(mask_of<V>(a != a), b, select(mask_of<V>(b != b), a, minimum(a, b)));
}
/// 0 for a < 0 or NaN, b for a = 0, 1 for a > 0.
template <class V>
FLAGGEMS_INLINE V step_at_zero(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  const V zero(T(0));
  return select(mask_of<V>(a == zero), b, select(mask_of<V>(a > zero), V(T(1)), zero));
}
/// a + w (b - a), from the nearer end, so that w = 1 gives b.
template <class V>
FLAGGEMS_INLINE V interpolated(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b, FLAGGEMS_VALUE(V) w) {
  using T = element_of<V>;
  const V d = b - a;
  return select(mask_of<V>(abs(w) < V(T(0.5f))), V(a + w * d), V(b - d * (V(T(1)) - w)));
}

/// a + alpha * b
struct add_scaled_fn {
  template <class V>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b,
                                  FLAGGEMS_VALUE(V) alpha) const {
    return a + alpha * b;
  }
};
/// a - alpha * b
struct sub_scaled_fn {
  template <class V>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b,
                                  FLAGGEMS_VALUE(V) alpha) const {
    return a - alpha * b;
  }
};

/// a / b rounded toward zero, or down. Integers: a / 0 is 0, and least / -1 wraps, without a trap.
template <bool Floor>
struct div_rounded_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    using T = element_of<V>;
    if constexpr (is_floating<T>)
      return Floor ? floor_of(a, b) : trunc(V(a / b));
    else
      return integer(a, b);
  }

 private:
  template <class V>
  FLAGGEMS_INLINE static V integer(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
    using T = element_of<V>;
    const V zero(T(0)), one(T(1));
    const mask_of<V> by_zero = b == zero;
    mask_of<V> by_minus_one = by_zero;
    if constexpr (is_signed_integer<T>) by_minus_one = b == V(T(-1));
    const V divisor = select(mask_of<V>(by_zero | by_minus_one), one, b);
    V q = V(a / divisor);
    if constexpr (is_signed_integer<T>) {
      using U = rebind<V, uint_of_size<sizeof(T)>>;  // whose negation wraps
      q = select(by_minus_one, V(convert<T>(U(U(element_of<U>(0)) - convert<element_of<U>>(a)))),
                 q);
      if constexpr (Floor) {
        const V rest = V(a - q * divisor);
        const mask_of<V> below = (rest != zero) & ((rest < zero) != (b < zero));
        q = select(mask_of<V>(below & !by_minus_one), V(q - one), q);
      }
    }
    return select(by_zero, zero, q);
  }
  /// (a - rest) / b, the rest having the sign of b: all of a finite a under an infinite b, and none
  /// of an infinite a.
  template <class V>
  FLAGGEMS_INLINE static V floor_of(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
    using T = element_of<V>;
    const V zero(T(0)), infinity(infinity_of<V>()), size = abs(a);
    const mask_of<V> below =
        (abs(b) == infinity) & (size < infinity) & (size > zero) & ((a < zero) != (b < zero));
    const mask_of<V> none = (size == infinity) & (b != zero);
    const V q = select(below, V(T(-1)), finite_floor(a, b));
    return select(none, V(nan_of<V>()), q);
  }
  /// floor(a / b), where the quotient itself may have been rounded up to an integer.
  template <class V>
  FLAGGEMS_INLINE static V finite_floor(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
    using T = element_of<V>;
    if constexpr (is_same<T, f32>) {
      // Two f32 have a quotient that is an integer or differs from one by at least 2^-48 of itself.
      using W = rebind<V, f64>;
      return convert<f32>(W(floor(W(convert<f64>(a) / convert<f64>(b)))));
    } else {
      const V q = floor(V(a / b));
      // a - q b, by products of significand halves, which are exact with and without FMA.
      const V q_high = upper_half(q), b_high = upper_half(b);
      const V q_low = q - q_high, b_low = b - b_high;
      const V rest = ((a - q_high * b_high) - q_high * b_low - q_low * b_high) - q_low * b_low;
      const mask_of<V> above = (rest != V(T(0))) & ((rest < V(T(0))) != (b < V(T(0))));
      return select(mask_of<V>(above & isfinite(rest) & isfinite(b)), V(q - V(T(1))), q);
    }
  }
};

/// a clamped to bounds, each of which may be absent; a NaN operand gives NaN.
struct clamp_optional_fn {
  bool has_min, has_max;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) low,
                               FLAGGEMS_VALUE(V) high) const {
    V r = a;
    if (has_min) r = maximum(r, low);
    if (has_max) r = minimum(r, high);
    return r;
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_ARITHMETIC_TABLE(UNARY, BINARY, PAIR1, TERNARY)     \
  UNARY(conj_physical, numeric,    conjugate(a))                             \
  UNARY(deg2rad,       to_float,   V(a * V(element_of<V>(0.017453292519943295769)))) \
  UNARY(rad2deg,       to_float,   V(a * V(element_of<V>(57.295779513082320877)))) \
  BINARY(fmod,         arithmetic, fmod(a, b))                       \
  BINARY(remainder,    arithmetic, remainder(a, b))                  \
  BINARY(fmax,         numeric,    maximum_of_numbers(a, b))             \
  BINARY(fmin,         numeric,    minimum_of_numbers(a, b))              \
  BINARY(heaviside,    numeric,    step_at_zero(a, b))               \
  BINARY(gcd,          whole_number,      gcd(a, b))                        \
  BINARY(lcm,          whole_number,      lcm(a, b))                        \
  BINARY(hypot,        floating,   hypot(a, b))                      \
  BINARY(float_power,  to_f64,     pow(a, b))                        \
  PAIR1(masked_scale,  floating, scale, , V(a * V(b * V(scale))))       \
  TERNARY(lerp,        floating,   interpolated(a, b, c))

#define FLAGGEMS_ARITHMETIC_ALIASES(ALSO)         \
  ALSO(native_dropout_backward, masked_scale)     \
  ALSO(dropout_backward,        masked_scale)
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_ARITHMETIC_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR, FLAGGEMS_BINARY1_FUNCTOR,
                          FLAGGEMS_TERNARY_FUNCTOR)
FLAGGEMS_BINARY_ATTEMPT(fmod)
FLAGGEMS_BINARY_ATTEMPT(remainder)
FLAGGEMS_KEEPS_PRECISION(conj_physical)
template <>
struct word_form<conj_physical_fn> {
  static constexpr bool exists = true;
  template <class U>
  FLAGGEMS_INLINE U operator()(FLAGGEMS_VALUE(U), FLAGGEMS_VALUE(U) a) const {
    return a;
  }
};
FLAGGEMS_BINARY_NARROW(hypot)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/arithmetic.hpp");
