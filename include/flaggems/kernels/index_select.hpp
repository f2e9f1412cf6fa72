// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernels/pointwise.hpp>

namespace flaggems::kernels {

/// What is looked up: `in` without the dimension that the indices are about, which has `size`
/// elements `step` apart; and the indices.
template <class T, class J>
struct lookup {
  global_ptr<const T> data;
  global_ptr<const J> index;
  i64 strides[max_rank], index_strides[max_rank];
  i64 size, step;
};

/// out = in at the indices, element by element. T is any type of the elements' size: bits are
/// copied. An index outside the dimension reads nothing and gives zero.
template <class T, class J>
struct index_select {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, target<T> out, lookup<T, J> in) {
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
        if (k >= 0 && k < in.size) {
          const global_ptr<const T> row = from + k * in.step;
          block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
            store(to, to_step, lane, load<T>(row, from_step, lane));
          });
        } else {
          block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA { to[i * to_step] = T(0); });
        }
      } else {
        block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
          const i64 k = static_cast<i64>(index[i * index_step]);
          to[i * to_step] =
              k >= 0 && k < in.size ? from[i * from_step + k * in.step] : static_cast<T>(0);
        });
      }
    });
  }
};

}  // namespace flaggems::kernels
