// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The variance of numbers by their differences from an estimate of their mean.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// Of numbers whose differences from the estimate are `rest` in the mean, their squares `spread`;
/// infinite where that is.
template <class C>
FLAGGEMS_INLINE C variance_of(C rest, C spread) {
  return spread <= highest<C>() ? max_of(C(0), C(spread - rest * rest)) : spread;
}
/// Whether numbers are (all but) equal: an estimate that is their rounded sum is off by more than
/// they differ, and what rounding left of that would be the variance.
template <class C>
FLAGGEMS_INLINE bool are_flat(C rest, C variance) {
  return rest * rest > C(1 << 18) * variance;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/variance.hpp");
