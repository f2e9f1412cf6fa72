// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Trigonometric and hyperbolic functions beside sin, cos and tanh, and angles: the table of
// ops/trigonometric.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>
#include <flaggems/kernel/math/arc.hpp>
#include <flaggems/kernel/math/hyperbolic.hpp>

namespace flaggems::kernels {

/// The angle of a real number as a complex one: pi for a < 0, else 0; NaN stays NaN.
template <class V>
FLAGGEMS_INLINE V angle_of(FLAGGEMS_VALUE(V) a) {
  using T = element_of<V>;
  const V zero(T(0));
  const V r = select(mask_of<V>(a < zero), V(T(3.14159265358979323846)), zero);
  return select(mask_of<V>(a != a), a, r);
}
template <class V>
FLAGGEMS_INLINE V angle_of(FLAGGEMS_VALUE(complex<V>) z) {
  return atan2(z.im, z.re);
}

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_TRIGONOMETRIC_TABLE(UNARY, PREDICATE, BINARY) \
  UNARY(tan,       to_float, tan(a))                   \
  UNARY(asin,      to_float, asin(a))                  \
  UNARY(acos,      to_float, acos(a))                  \
  UNARY(atan,      to_float, atan(a))                  \
  UNARY(sinh,      to_float, sinh(a))                  \
  UNARY(cosh,      to_float, cosh(a))                  \
  UNARY(asinh,     to_float, asinh(a))                 \
  UNARY(acosh,     to_float, acosh(a))                 \
  UNARY(atanh,     to_float, atanh(a))                 \
  UNARY(sinc,      to_float, sinc(a))                  \
  PREDICATE(angle, to_float, angle_of(a))              \
  BINARY(atan2,    to_float, atan2(a, b))

#define FLAGGEMS_TRIGONOMETRIC_ALIASES(ALSO) \
  ALSO(arcsin,       asin)                   \
  ALSO(arccos,       acos)                   \
  ALSO(arctan,       atan)                   \
  ALSO(arcsinh,      asinh)                  \
  ALSO(arccosh,      acosh)                  \
  ALSO(arctanh,      atanh)                  \
  ALSO(special_sinc, sinc)                   \
  ALSO(arctan2,      atan2)
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_TRIGONOMETRIC_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_UNARY_FUNCTOR,
                             FLAGGEMS_BINARY_FUNCTOR)
FLAGGEMS_UNARY_NARROW(tan)
FLAGGEMS_UNARY_NARROW(asin)
FLAGGEMS_UNARY_NARROW(acos)
FLAGGEMS_UNARY_NARROW(atan)
FLAGGEMS_UNARY_NARROW(sinh)
FLAGGEMS_UNARY_NARROW(cosh)
FLAGGEMS_UNARY_NARROW(asinh)
FLAGGEMS_UNARY_NARROW(acosh)
FLAGGEMS_UNARY_NARROW(atanh)
FLAGGEMS_UNARY_NARROW(sinc)
FLAGGEMS_BINARY_NARROW(atan2)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/trigonometric.hpp");
