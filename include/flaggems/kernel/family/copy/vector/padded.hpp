// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Copies with what lies around the input, on the host: row by row of the output, once.
#pragma once

#include <flaggems/kernel/family/copy/vector/rows.hpp>

namespace flaggems::kernels {

/// One dimension of the output: of `wide` elements those from `low` on are the input's `size`. What
/// lies before and behind is element start + step * (index - low), or a value if start is -1 and
/// step 0.
struct padded_dimension {
  i64 wide, low, size, to, from;  // strides of both in elements
  i64 before_start, before_step, behind_start, behind_step;

  /// The input's element of the output's element i, or -1.
  FLAGGEMS_HOST_INLINE i64 place(i64 i) const {
    const i64 k = i - low;
    if (k < 0) return before_start + before_step * k;
    if (k >= size) return behind_start + behind_step * k;
    return k;
  }
};
/// The dimensions but the last, in which elements are neighbours on both sides, and that one.
struct padded_space {
  int rank;
  i64 rows;
  padded_dimension outer[max_rank], inner;
};

/// out = in and what lies around it; elements without a place have the value. Words of a size
/// alone.
template <class W>
struct padded_rows {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const padded_space& space, W* out, const W* in,
                                  W value) {
    block.for_each_share(space.rows, [&](i64 first, i64 last) FLAGGEMS_LAMBDA {
      // Sums over the dimensions up to each; the input's is below 0 where a place is missing.
      i64 at[max_rank], to[max_rank + 1] = {}, from[max_rank + 1] = {};
      for (i64 left = first, d = space.rank - 1; d >= 0; --d) {
        at[d] = left % space.outer[d].wide;
        left /= space.outer[d].wide;
      }
      const auto settle = [&](int changed) FLAGGEMS_LAMBDA {
        for (int d = changed; d < space.rank; ++d) {
          const padded_dimension& own = space.outer[d];
          const i64 k = own.place(at[d]);
          to[d + 1] = to[d] + at[d] * own.to;
          from[d + 1] = k < 0 || from[d] == absent ? absent : from[d] + k * own.from;
        }
      };
      settle(0);
      for (i64 row = first;;) {
        write(block, space.inner, out + to[space.rank], in, from[space.rank], value);
        if (++row == last) break;
        int d = space.rank - 1;
        while (++at[d] == space.outer[d].wide) at[d--] = 0;
        settle(d);
      }
    });
  }

 private:
  static constexpr i64 absent = highest<i64>();  // of a view's reach, which is shorter

  template <class Block>
  FLAGGEMS_HOST_INLINE static void write(Block& block, const padded_dimension& inner, W* to,
                                         const W* in, i64 from, W value) {
    if (from == absent) {
      return block.for_each_lane(inner.wide, [=](auto lane) FLAGGEMS_LAMBDA {
        store(to, lane, lane_value<decltype(lane), W>(value));
      });
    }
    const W* const row = in + from;
    const auto around = [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
      for (i64 i = begin; i < end; ++i) {
        const i64 k = inner.place(i);
        to[i] = k < 0 ? value : row[k];
      }
    };
    const i64 behind = min_of(inner.low + inner.size, inner.wide);  // the end, if it is rolled
    around(0, inner.low);
    copy_row<W>(block, to + inner.low, row, behind - inner.low, false);
    around(behind, inner.wide);
  }
};

}  // namespace flaggems::kernels
