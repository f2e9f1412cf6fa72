// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The variance of numbers by their differences from an estimate of their mean.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// Of numbers whose differences from the estimate are `rest` in the mean, their squares `spread`;
/// infinite where that is.
template <class V>
FLAGGEMS_INLINE V variance_of(FLAGGEMS_VALUE(V) rest, FLAGGEMS_VALUE(V) spread) {
  using C = element_of<V>;
  return select(mask_of<V>(spread < V(highest<C>())), greater_of(V(spread - rest * rest), V(C(0))),
                spread);
}
/// Whether numbers are (all but) equal: an estimate that is their rounded sum is off by more than
/// they differ, and what rounding left of that would be the variance.
template <class V>
FLAGGEMS_INLINE mask_of<V> are_flat(FLAGGEMS_VALUE(V) rest, FLAGGEMS_VALUE(V) variance) {
  return V(rest * rest) > V(V(element_of<V>(1 << 18)) * variance);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/variance.hpp");
