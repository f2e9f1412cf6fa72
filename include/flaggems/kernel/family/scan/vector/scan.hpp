// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Scans on the host: a worker walks along a row, or along neighbouring rows at once, so that it
// reads memory in order.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/scan/scan.hpp>

namespace flaggems::kernels {

/// The most rows that a worker walks along at once.
inline constexpr i64 scan_columns = 64;

template <class Op, class Isa, class Row>
FLAGGEMS_HOST_INLINE typename Op::state share_row(Op, const host_block<Isa>&, const Row& row, i64 n,
                                                  typename Op::state carry, bool writes) {
  return walk_row<Op>(row, n, carry, writes);
}
template <class Op, class Isa, class Rows, class Begin, class End>
FLAGGEMS_HOST_INLINE void walk_columns(Op, const host_block<Isa>&, i64 columns, i64 n, bool writes,
                                       const Rows& rows, const Begin& begin, const End& end) {
  typename Op::state states[scan_columns];
  for (i64 j = 0; j < columns; ++j) states[j] = begin(j);
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < columns; ++j) {
      const auto row = rows(j);
      states[j] = Op::join(states[j], row.read(i));
      if (writes) row.write(i, states[j]);
    }
  for (i64 j = 0; j < columns; ++j) end(j, states[j]);
}

}  // namespace flaggems::kernels
