// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions for f32, f64 and vectors of them. The greatest errors, measured over every
// f32, are in bench/results/math_accuracy-*.json (tools/math_accuracy.cpp).
#pragma once

#include <flaggems/kernel/math/basic.hpp>
#include <flaggems/kernel/math/complex.hpp>
#include <flaggems/kernel/math/erf.hpp>
#include <flaggems/kernel/math/exp.hpp>
#include <flaggems/kernel/math/log.hpp>
#include <flaggems/kernel/math/trig.hpp>

namespace flaggems::kernels {

/// 1 / sqrt(x).
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V rsqrt(FLAGGEMS_VALUE(V) x) {
  return V(element_of<V>(1)) / sqrt(x);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/math.hpp");
