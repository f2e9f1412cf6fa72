// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bitwise copies of contiguous rows.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>

namespace flaggems::kernels {

/// to[i] = from[i] for i < n; by non-temporal stores if `streamed`. The host has its own form
/// (family/copy/vector/rows.hpp).
template <class T, class Block>
FLAGGEMS_INLINE void copy_row(const Block& block, global_ptr<T> to, global_ptr<const T> from, i64 n,
                              bool) {
  block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA { store(to, lane, load<T>(from, lane)); });
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/rows.hpp");
