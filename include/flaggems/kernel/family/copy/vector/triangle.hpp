// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Triangles of matrices on the host: of each row one part is copied, the other is zero.
#pragma once

#include <flaggems/kernel/family/copy/vector/rows.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// The rows of matrices, tiled. `row` has strides over the tiles that give a row's index.
struct triangle_space {
  tiling rows;
  i64 columns, to_step, from_step;
  i64 row[max_rank];
  i64 diagonal;
  bool lower;
};

/// out = in where column - row >= diagonal, or <= it for the lower triangle; zero elsewhere. Words
/// of a size alone. `out` may be `in`.
template <class W>
struct triangle {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const triangle_space& space, const target<W>& out,
                                  const arg<W, W>& in) {
    const bool streamed = space.rows.streamed;
    const i64 columns = space.columns, to_step = space.to_step, from_step = space.from_step;
    block.for_each_tile(space.rows.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const coordinates c = space.rows.locate(tile);
      W* to = out.data + c.offset(out.strides);
      const W* from = in.data + c.offset(in.strides);
      i64 first = c.offset(space.row) + space.diagonal + (space.lower ? 1 : 0);
      for (i64 r = space.rows.length(c); r > 0; --r) {
        const i64 cut = max_of(i64(0), min_of(first, columns));
        if (space.lower) {
          copy(block, to, to_step, from, from_step, cut, streamed);
          clear(to + cut * to_step, to_step, columns - cut);
        } else {
          clear(to, to_step, cut);
          copy(block, to + cut * to_step, to_step, from + cut * from_step, from_step, columns - cut,
               streamed);
        }
        to += out.strides[c.rank];
        from += in.strides[c.rank];
        first += space.row[c.rank];
      }
    });
    end_stream(block, streamed);
  }

 private:
  FLAGGEMS_HOST_INLINE static void clear(W* to, i64 step, i64 n) {
    if (step == 1) {
      __builtin_memset(static_cast<void*>(to), 0, static_cast<u64>(n) * sizeof(W));
    } else {
      for (i64 i = 0; i < n; ++i) to[i * step] = W(0);
    }
  }
  template <class Block>
  FLAGGEMS_HOST_INLINE static void copy(Block& block, W* to, i64 to_step, const W* from,
                                        i64 from_step, i64 n, bool streamed) {
    if (to == from) return;
    if (to_step == 1 && from_step == 1) return copy_row<W>(block, to, from, n, streamed);
    for (i64 i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
};

}  // namespace flaggems::kernels
