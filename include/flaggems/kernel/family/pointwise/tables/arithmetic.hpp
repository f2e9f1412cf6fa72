// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic beyond the basic table: remainders, divisors, magnitudes, interpolation; the table of
// ops/arithmetic.hpp.
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

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_ARITHMETIC_TABLE(UNARY, BINARY, PAIR1, TERNARY)     \
  UNARY(conj_physical, numeric,    V(a))                             \
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
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/arithmetic.hpp");
