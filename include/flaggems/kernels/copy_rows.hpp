// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies of contiguous rows, bit by bit.
#pragma once

#include <flaggems/kernels/pointwise.hpp>

namespace flaggems::kernels {

/// to[i] = from[i] for i < n, past the caches if `streamed`. The host has its own form
/// (copy_rows_host.hpp).
template <class T, class Block>
FLAGGEMS_INLINE void copy_row(const Block& block, global_ptr<T> to, global_ptr<const T> from, i64 n,
                              bool) {
  block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA { store(to, lane, load<T>(from, lane)); });
}

/// Rows of n elements, but for the last one, of `last`; strides from row to row.
template <class T>
struct copy_rows {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 rows, i64 n, i64 last, global_ptr<T> to,
                                  i64 to_stride, global_ptr<const T> from, i64 from_stride,
                                  bool streamed) {
    block.for_each_tile(rows, [&](i64 row) FLAGGEMS_LAMBDA {
      copy_row<T>(block, to + row * to_stride, from + row * from_stride, row + 1 == rows ? last : n,
                  streamed);
    });
    end_stream(block, streamed);
  }
};

}  // namespace flaggems::kernels
