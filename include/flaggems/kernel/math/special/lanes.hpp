// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions of numbers, for vectors lane by lane: what has many branches and is long, so that a
// vector would take all branches of all lanes.
#pragma once

#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// F::at(x, options...) of each lane.
template <class F, class V, class... Options, if_math<V> = 0>
FLAGGEMS_INLINE V lane_by_lane(FLAGGEMS_VALUE(V) x, Options... options) {
  if constexpr (is_simd<V>) {
    V r;
    for (int i = 0; i < V::lanes; ++i) r.v[i] = F::at(x[i], options...);
    return r;
  } else {
    return F::at(x, options...);
  }
}
/// F::at(x, y) of each pair of lanes.
template <class F, class V, if_math<V> = 0>
FLAGGEMS_INLINE V lane_pairs(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) y) {
  if constexpr (is_simd<V>) {
    V r;
    for (int i = 0; i < V::lanes; ++i) r.v[i] = F::at(x[i], y[i]);
    return r;
  } else {
    return F::at(x, y);
  }
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/special/lanes.hpp");
