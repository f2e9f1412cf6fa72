// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding to integers, fractions and signs: the table of ops/rounding.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

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
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/rounding.hpp");
