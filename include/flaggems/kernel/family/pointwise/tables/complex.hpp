// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers of real ones: the table of ops/complex.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

namespace flaggems::kernels {

/// The number at a distance from zero, in a direction.
template <class V>
FLAGGEMS_INLINE complex<V> at_angle(FLAGGEMS_VALUE(V) distance, FLAGGEMS_VALUE(V) angle) {
  return {V(distance * cos(angle)), V(distance * sin(angle))};
}

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_COMPLEX_TABLE(PAIR)        \
  PAIR(polar,      parts, at_angle(a, b))   \
  PAIR(complex_of, parts, complex<V>(a, b))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_COMPLEX_TABLE(FLAGGEMS_BINARY_FUNCTOR)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/complex.hpp");
