// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding to integers, fractions and signs: the table of ops/rounding.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>
#include <flaggems/kernel/math/remainder.hpp>

namespace flaggems::kernels {

// Integers are rounded already.
#define FLAGGEMS_ROUNDING(name, function)       \
  template <class V>                            \
  FLAGGEMS_INLINE V name(FLAGGEMS_VALUE(V) a) { \
    if constexpr (is_math_value<V>)             \
      return function(a);                       \
    else                                        \
      return a;                                 \
  }
FLAGGEMS_ROUNDING(rounded_up, ceil)
FLAGGEMS_ROUNDING(rounded_down, floor)
FLAGGEMS_ROUNDING(rounded_to_even, round)
FLAGGEMS_ROUNDING(without_fraction, trunc)
#undef FLAGGEMS_ROUNDING

/// 1, -1 or 0; 0 for NaN, as in PyTorch.
template <class V>
FLAGGEMS_INLINE V sign_of(FLAGGEMS_VALUE(V) a) {
  using T = element_of<V>;
  const V zero(T(0)), above = select(mask_of<V>(a > zero), V(T(1)), zero);
  if constexpr (is_unsigned_integer<T>)
    return above;
  else
    return select(mask_of<V>(a < zero), V(T(-1)), above);
}
/// Whether the sign bit is set, of -0 and NaN too.
template <class V>
FLAGGEMS_INLINE mask_of<V> has_sign_bit(FLAGGEMS_VALUE(V) a) {
  using T = element_of<V>;
  if constexpr (is_math_value<V>)
    return copysign(V(T(1)), a) < V(T(0));
  else if constexpr (is_signed_integer<T>)
    return a < V(T(0));
  else
    return mask_of<V>(false);
}

/// a as m 2^e with 1/2 <= |m| < 1: m. Zeros, infinities and NaN are their own mantissas.
struct mantissa_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    using T = element_of<V>;
    using format = float_format<T>;
    using bits = typename format::bits;
    using U = bits_of<V>;
    V raised, exponent;
    const V normal = as_normal(V(abs(a)), raised, exponent);
    const U fraction =
        bit_cast<U>(normal) & U(static_cast<bits>((bits(1) << format::mantissa) - 1));
    const V m = bit_cast<V>(U(fraction | U(bit_cast<bits>(T(0.5f)))));
    const mask_of<V> plain = (a == V(T(0))) | !isfinite(a);
    return select(plain, a, copysign(m, a));
  }
};
/// And e, 0 for those.
struct exponent_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    using T = element_of<V>;
    V raised, exponent;
    as_normal(V(abs(a)), raised, exponent);
    const mask_of<V> plain = (a == V(T(0))) | !isfinite(a);
    return select(plain, V(T(0)), V(exponent + V(T(1))));
  }
};

/// The number of T after a in the direction of b; b if they are equal. Operands are numbers of T,
/// as f32 where T is small.
template <class T>
struct nextafter_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    using C = element_of<V>;
    using U = bits_of<V>;
    using bits = element_of<U>;
    const V zero(C(0));
    const mask_of<V> outward = (a < b) == (a > zero);
    V r;
    if constexpr (is_small_float<T>) {
      using format = typename T::format;
      const U own = encode_bits<format, V>(bit_cast<U>(a));
      r = bit_cast<V>(decode_bits<format, V>(U(select(outward, U(own + U(1u)), U(own - U(1u))))));
    } else {
      const U own = bit_cast<U>(a);
      r = bit_cast<V>(U(select(outward, U(own + U(bits(1))), U(own - U(bits(1))))));
    }
    r = select(mask_of<V>(a == zero), copysign(V(least()), b), r);
    r = select(mask_of<V>(a == b), b, r);
    return select(mask_of<V>((a != a) | (b != b)), V(a + b), r);
  }

 private:
  /// The least positive number.
  FLAGGEMS_INLINE static auto least() {
    if constexpr (is_small_float<T>)
      return static_cast<f32>(T::from_bits(1));
    else
      return bit_cast<T>(typename float_format<T>::bits(1));
  }
};

/// a rounded to the nearest multiple of 1 / power, or of power if `to_left`; ties to even.
template <class C>
struct round_decimals_fn {
  C power;
  bool to_left;
  template <class To>
  FLAGGEMS_HD round_decimals_fn<To> in() const {
    return {number_cast<To>(power), to_left};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    const V p(power);
    return to_left ? V(round(V(a / p)) * p) : V(round(V(a * p)) / p);
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_ROUNDING_TABLE(UNARY, BINARY)            \
  UNARY(ceil,     arithmetic, rounded_up(a))              \
  UNARY(floor,    arithmetic, rounded_down(a))            \
  UNARY(round,    arithmetic, rounded_to_even(a))         \
  UNARY(trunc,    arithmetic, without_fraction(a))        \
  UNARY(frac,     floating,   V(a - trunc(a)))            \
  UNARY(sign,     numeric,    sign_of(a))                 \
  UNARY(signbit,  to_bool,    has_sign_bit(a))            \
  BINARY(copysign, to_float,  copysign(a, b))

#define FLAGGEMS_ROUNDING_ALIASES(ALSO) \
  ALSO(fix, trunc)                      \
  ALSO(sgn, sign)
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR)
FLAGGEMS_KEEPS_PRECISION(ceil)
FLAGGEMS_KEEPS_PRECISION(floor)
FLAGGEMS_KEEPS_PRECISION(round)
FLAGGEMS_KEEPS_PRECISION(trunc)
FLAGGEMS_KEEPS_PRECISION(frac)
FLAGGEMS_KEEPS_PRECISION(sign)
FLAGGEMS_KEEPS_PRECISION(copysign)

template <>
struct word_form<copysign_fn> {
  static constexpr bool exists = true;
  template <class U>
  FLAGGEMS_INLINE U operator()(FLAGGEMS_VALUE(U) sign, FLAGGEMS_VALUE(U) a,
                               FLAGGEMS_VALUE(U) b) const {
    return (a & ~sign) | (b & sign);
  }
};
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/rounding.hpp");
