// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Walks over windows on the host: along rows of the output, some neighbours at a time. Their taps
// along the row are found once for all rows, those across it once for all neighbours. Weighted taps
// have a form of their own (resampled.hpp).
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/window/window.hpp>

namespace flaggems::kernels {

/// The taps of some neighbours along the last dimension, where each has no more than `most`.
template <class Taps>
struct row_taps {
  static constexpr i64 neighbours = 64, most = 8;
  i64 count[neighbours], place[neighbours][most], offset[neighbours][most];

  /// Those from coordinate `first` on; false if one has more.
  FLAGGEMS_HOST_INLINE bool find(const Taps& taps, i64 first, i64 n, i64 stride, i64 tap_stride) {
    for (i64 i = 0; i < n; ++i) {
      const auto run = taps.run(first + i);
      if (run.count > most) return false;
      count[i] = run.count;
      for (i64 k = 0; k < run.count; ++k) {
        place[i][k] = taps.place(run, first + i, k);
        offset[i][k] = place[i][k] * stride + k * tap_stride;
      }
    }
    return true;
  }
};

/// A line of the source that a row of the output reads.
struct line_tap {
  static constexpr i64 most = 16;
  i64 at[2], offset;
};

template <class Isa, class T, class Taps, class Fold>
FLAGGEMS_HOST_INLINE void walk_windows(const host_block<Isa>& block, i64 n,
                                       const window_walk<T, Taps>& given, const Fold& fold) {
  using columns = row_taps<Taps>;
  const window_walk<T, Taps> walk = given;  // a copy, which stores cannot alias
  const i64 length = walk.sizes[4], rows = n / length;
  columns along;
  i64 found = -1;  // the first of the neighbours whose taps are known
  bool is_short = false;
  block.for_each_tile(ceil_div(length, columns::neighbours) * rows, [&](i64 tile) FLAGGEMS_LAMBDA {
    const i64 part = tile / rows, row = tile - part * rows;
    const i64 first = part * columns::neighbours;
    const i64 count = min_of(columns::neighbours, length - first);
    if (found != first) {
      is_short = along.find(walk.taps[2], first, count, walk.strides[4], walk.tap_strides[2]);
      found = first;
    }
    if (!is_short) {
      for (i64 i = 0; i < count; ++i) walk.fold(row * length + first + i, fold);
      return;
    }
    window_places p = walk.row_at(row);
    const i64 plane = p.lead[0] * walk.strides[0] + p.lead[1] * walk.strides[1];
    const auto r0 = walk.taps[0].run(p.o[0]);
    const auto r1 = walk.taps[1].run(p.o[1]);
    if (r0.count * r1.count > line_tap::most) {
      for (i64 i = 0; i < count; ++i) walk.fold(row * length + first + i, fold);
      return;
    }
    line_tap lines[line_tap::most];
    i64 n_lines = 0;
    for (i64 a = 0; a < r0.count; ++a) {
      if ((p.at[0] = walk.taps[0].place(r0, p.o[0], a)) < 0) continue;
      const i64 at0 = plane + p.at[0] * walk.strides[2] + a * walk.tap_strides[0];
      for (i64 b = 0; b < r1.count; ++b) {
        if ((p.at[1] = walk.taps[1].place(r1, p.o[1], b)) < 0) continue;
        lines[n_lines++] = {{p.at[0], p.at[1]},
                            at0 + p.at[1] * walk.strides[3] + b * walk.tap_strides[1]};
      }
    }
    for (i64 i = 0; i < count; ++i) {
      p.o[2] = first + i;
      auto state = fold.begin();
      for (i64 l = 0; l < n_lines; ++l) {
        p.at[0] = lines[l].at[0], p.at[1] = lines[l].at[1];
        for (i64 c = 0; c < along.count[i]; ++c) {
          if ((p.at[2] = along.place[i][c]) < 0) continue;
          state = fold.joined(state, walk.data[lines[l].offset + along.offset[i][c]], p);
        }
      }
      fold.end(state, p);
    }
  });
}

}  // namespace flaggems::kernels
