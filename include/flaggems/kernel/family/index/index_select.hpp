// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/copy/rows.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// The operands of a lookup: `in` without the indexed dimension, which has `size` elements `step`
/// apart, and the indices.
template <class T, class J>
struct lookup {
  global_ptr<const T> data;
  global_ptr<const J> index;
  i64 strides[max_rank], index_strides[max_rank];
  i64 size, step;
};

/// Whether a launch's indices were validated, which needs a host that reads them. Specialised by
/// the host's blocks (ops/index_select.hpp).
template <class Block>
inline constexpr bool has_checked_indices = false;

/// Where rows are written, and what is gathered: row `index[i * index_stride]` of a table, at
/// i * stride.
template <class T>
struct strided_rows {
  global_ptr<T> data;
  i64 stride;
};
template <class T, class J>
struct selected_rows {
  global_ptr<const T> data;
  i64 stride, step;
  global_ptr<const J> index;
  i64 index_stride;

  FLAGGEMS_INLINE global_ptr<const T> row(i64 i) const {
    return data + i * stride + static_cast<i64>(index[i * index_stride]) * step;
  }
};

/// Copies contiguous rows at validated indices. The host has its own forms of this and the next one
/// (vector/index_select.hpp).
template <class T, class J, class Block>
FLAGGEMS_INLINE void select_rows(Block& block, i64 rows, i64 n, bool streamed,
                                 const strided_rows<T>& to, const selected_rows<T, J>& from) {
  block.for_each_tile(rows, [&](i64 row) FLAGGEMS_LAMBDA {
    copy_row<T>(block, to.data + row * to.stride, from.row(row), n, streamed);
  });
}
/// to[i] = from[index[i] * step].
template <class T, class J, class Block>
FLAGGEMS_INLINE void gather_row(Block& block, global_ptr<T> to, global_ptr<const T> from, i64 step,
                                global_ptr<const J> index, i64 n) {
  block.for_each(n,
                 [&](i64 i) FLAGGEMS_LAMBDA { to[i] = from[static_cast<i64>(index[i]) * step]; });
}

/// out = in at the indices, element by element, bitwise: T is any type of that size. An index out
/// of range gives zero.
template <class T, class J>
struct index_select {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, target<T> out, lookup<T, J> in) {
    const bool whole_rows = space.outer_rank == 1 && space.chunks == 1 &&
                            in.index_strides[1] == 0 && in.strides[1] == 1 && out.strides[1] == 1;
    if (has_checked_indices<Block> && whole_rows) {
      const selected_rows<T, J> from{in.data, in.strides[0], in.step, in.index,
                                     in.index_strides[0]};
      select_rows<T, J>(block, space.tiles, space.inner, space.streamed,
                        strided_rows<T>{out.data, out.strides[0]}, from);
      end_stream(block, space.streamed);
      return;
    }
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(tile);
      const i64 n = space.length(c);
      const global_ptr<T> to = out.data + c.offset(out.strides);
      const global_ptr<const T> from = in.data + c.offset(in.strides);
      const global_ptr<const J> index = in.index + c.offset(in.index_strides);
      const i64 to_step = out.strides[c.rank], from_step = in.strides[c.rank];
      const i64 index_step = in.index_strides[c.rank];
      if (index_step == 0) {  // one index for the whole tile
        const i64 k = static_cast<i64>(index[0]);
        if (k < 0 || k >= in.size) {
          block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA { to[i * to_step] = T(0); });
        } else if (to_step == 1 && from_step == 1) {
          copy_row<T>(block, to, from + k * in.step, n, space.streamed);
        } else {
          const global_ptr<const T> row = from + k * in.step;
          block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
            store(to, to_step, lane, load<T>(row, from_step, lane));
          });
        }
      } else if (has_checked_indices<Block> && to_step == 1 && index_step == 1 && from_step == 0) {
        gather_row<T, J>(block, to, from, in.step, index, n);
      } else {
        block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
          const i64 k = static_cast<i64>(index[i * index_step]);
          to[i * to_step] =
              k >= 0 && k < in.size ? from[i * from_step + k * in.step] : static_cast<T>(0);
        });
      }
    });
    end_stream(block, space.streamed);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/index_select.hpp");
