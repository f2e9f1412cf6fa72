// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Scans of rows by the threads of a block, and of short rows by a warp each.
#pragma once

#include <flaggems/kernel/family/scan/simt/tile.hpp>

namespace flaggems::kernels {

/// Scans a row by all threads, tile by tile; gives the last state.
template <class Op, class Block, class Row>
FLAGGEMS_INLINE typename Op::state share_row(Op, const Block& block, const Row& row, i64 n,
                                             typename Op::state carry, bool writes) {
  using tile_type = scan_tile<Op, Row>;
  const int warp = block.thread() / Block::warp_size;
  const i64 step = i64{tile_type::share} * block.threads();
  for (i64 start = 0; start < n; start += step) {
    tile_type tile(start, n);
    tile.template read<Block>(block, row, warp);
    const auto total = tile.template join_block<Block>(block);
    if (writes) tile.template write<Block>(block, row, warp, carry);
    carry = Op::join(carry, row.widen(total, start));
  }
  return carry;
}

/// out = the scan of `in`, of rows that a block has each.
template <class Op, class T, class O>
struct scan_block_rows {
  static constexpr int max_threads = 256, min_blocks = 3;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const scan_space& space, const arg<T, T>& in,
                                  const target<O>& out, const target<i64>& places) {
    block.for_each_tile(space.rows.tiles, [&](i64 t) FLAGGEMS_LAMBDA {
      share_row<Op, Block>(Op(), block, scan_row<Op>(space, t, 0, in, out, places), space.length,
                           Op::identity(), true);
    });
  }
};

/// out = the scan of `in`, of short rows: each warp of a block has one. No barriers.
template <class Op, class T, class O>
struct scan_rows {
  static constexpr int max_threads = 256;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const scan_space& space, const arg<T, T>& in,
                                  const target<O>& out, const target<i64>& places) {
    const int warps = block.threads() / Block::warp_size;
    block.for_each_tile(ceil_div(space.rows.tiles, i64{warps}), [&](i64 group) FLAGGEMS_LAMBDA {
      const i64 mine = group * warps + block.thread() / Block::warp_size;
      // Warps without a row have another's elements and write none: where shuffles are barriers,
      // all have to take part.
      const i64 t = min_of(mine, space.rows.tiles - 1), n = space.length;
      const auto row = scan_row<Op>(space, t, 0, in, out, places);
      auto carry = Op::identity();
      using tile_type = scan_tile<Op, scan_row_data<Op, T, O>>;
      for (i64 start = 0; start < n; start += i64{tile_type::share} * Block::warp_size) {
        tile_type tile(start, n);
        tile.template read<Block>(block, row, 0);
        const auto total = tile.template join_warp<Block>(block);
        if (mine == t) tile.template write<Block>(block, row, 0, carry);
        carry = Op::join(carry, row.widen(total, start));
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/scan/simt/scan.hpp");
