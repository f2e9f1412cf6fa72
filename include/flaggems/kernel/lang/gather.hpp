// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gather and scatter: lanes whose element offsets are a function of their index, not a stride.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// The elements p[offset(i)] for the indices i of a lane, as values of type C.
template <class C, class T, class F>
FLAGGEMS_INLINE C load_at(global_ptr<const T> p, lane_scalar lane, const F& offset) {
  return number_cast<C>(p[offset(lane.begin)]);
}
/// p[offset(i)] = x for the indices i of a lane, converted to T.
template <class T, class V, class F>
FLAGGEMS_INLINE void store_at(global_ptr<T> p, lane_scalar lane, FLAGGEMS_VALUE(V) x,
                              const F& offset) {
  p[offset(lane.begin)] = number_cast<T>(x);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/gather.hpp");
