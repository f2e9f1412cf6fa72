// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies rows of several operands into the rows of one output in a single launch: concatenation.
#pragma once

#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

namespace flaggems::kernels {

/// The bytes from row to row of an operand, and of the output.
struct joined_rows {
  global_ptr<const u8> data;
  i64 step;
  u32 begin;  // units before this operand's in a row of the output
};
/// Operands whose rows make up the rows of the output.
struct joined_space {
  static constexpr int most_operands = 16;
  i64 to_row;
  u32 rows, each;  // rows per thread (coarsening): a thread computes its address once
  divider columns;
  u32 steps;
  int count;
  joined_rows operands[most_operands];
};

/// Copies in units of `Bytes`, which divide all rows.
template <int Bytes>
struct join_rows {
  using unit = conditional<Bytes == 16, vec<u32, 4>, uint_of_size<min_of(Bytes, 8)>>;
  static constexpr int in_flight = Bytes == 16 ? 1 : 8;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const joined_space& space, global_ptr<u8> out) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 grid = static_cast<u32>(block.count()) * threads;
    for (u32 i = static_cast<u32>(block.index()) * threads + static_cast<u32>(block.thread());
         i < space.steps; i += grid) {
      const u32 group = space.columns.quotient(i), column = i - group * space.columns.divisor;
      const u32 row = group * space.each, rows = min_of(space.each, space.rows - row);
      int k = 0;
      while (k + 1 < space.count && column >= space.operands[k + 1].begin) ++k;
      const i64 step = space.operands[k].step, to_row = space.to_row;
      const u32 begin = space.operands[k].begin;
      global_ptr<const u8> p =
          space.operands[k].data + row * step + static_cast<i64>(column - begin) * Bytes;
      global_ptr<u8> to = out + row * to_row + static_cast<i64>(column) * Bytes;
      unit taken[in_flight];
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < in_flight; ++u, p += step)
        if (u < rows) taken[u] = *reinterpret_cast<global_ptr<const unit>>(p);
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < in_flight; ++u, to += to_row)
        if (u < rows) *reinterpret_cast<global_ptr<unit>>(to) = taken[u];
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/simt/rows.hpp");
