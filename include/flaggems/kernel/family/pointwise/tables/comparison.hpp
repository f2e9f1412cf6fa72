// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What numbers are and whether they are close: the table of ops/comparison.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

namespace flaggems::kernels {

/// `name` of floating-point values; of integers `otherwise`.
#define FLAGGEMS_CLASS(name, otherwise, ...)             \
  template <class V>                                     \
  FLAGGEMS_INLINE mask_of<V> name(FLAGGEMS_VALUE(V) a) { \
    if constexpr (is_math_value<V>)                      \
      return __VA_ARGS__;                                \
    else                                                 \
      return mask_of<V>(otherwise);                      \
  }
FLAGGEMS_CLASS(is_not_a_number, false, a != a)
FLAGGEMS_CLASS(is_infinite, false, isinf(a))
FLAGGEMS_CLASS(is_finite, true, isfinite(a))
FLAGGEMS_CLASS(is_positive_infinity, false, a == V(infinity_of<V>()))
FLAGGEMS_CLASS(is_negative_infinity, false, a == V(-infinity_of<V>()))
#undef FLAGGEMS_CLASS

/// Whether |a - b| <= atol + rtol |b|, or a == b, or both are NaN if that counts. Integers are
/// equal as they are, and close as f32, unless both tolerances are 0.
template <class C>
struct isclose_fn {
  C rtol, atol;
  bool equal_nan;
  template <class To>
  FLAGGEMS_HD auto in() const {
    using number = conditional<is_integer<To>, f32, To>;
    return isclose_fn<number>{number_cast<number>(rtol), number_cast<number>(atol), equal_nan};
  }
  template <class V>
  FLAGGEMS_INLINE mask_of<V> operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    if constexpr (is_math_value<V>) {
      return of_numbers<V>(a, b);
    } else {
      const mask_of<V> equal = a == b;
      if (rtol == C(0) && atol == C(0)) return equal;
      return equal | of_numbers<rebind<V, f32>>(convert<f32>(a), convert<f32>(b));
    }
  }

 private:
  template <class V>
  FLAGGEMS_INLINE mask_of<V> of_numbers(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    const V distance = abs(V(a - b)), allowed = V(atol) + abs(V(V(rtol) * b));
    const mask_of<V> close = (a == b) | (isfinite(distance) & (distance <= allowed));
    return equal_nan ? mask_of<V>(close | ((a != a) & (b != b))) : close;
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_COMPARISON_TABLE(PREDICATE)              \
  PREDICATE(isnan,    to_bool, is_not_a_number(a))        \
  PREDICATE(isinf,    to_bool, is_infinite(a))            \
  PREDICATE(isfinite, to_bool, is_finite(a))              \
  PREDICATE(isposinf, to_bool, is_positive_infinity(a))   \
  PREDICATE(isneginf, to_bool, is_negative_infinity(a))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_COMPARISON_TABLE(FLAGGEMS_UNARY_FUNCTOR)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/comparison.hpp");
