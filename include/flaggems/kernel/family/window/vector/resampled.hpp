// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Walks by weighted taps on the host. A line of the source is resampled along the row once for all
// rows of the output that it is a part of; these are sums of such lines, by vectors. Where channels
// are neighbours, vectors are of them.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/window/window.hpp>

namespace flaggems::kernels {

/// The taps of neighbouring coordinates along one dimension: number k of coordinate first + i is at
/// [k][i].
template <class Taps, class C>
struct neighbour_taps {
  static constexpr i64 neighbours = 128, most = 8;
  i64 first = -1;
  bool is_known;   // whether none has more than `most` taps
  bool are_pairs;  // whether all have two
  i64 count[neighbours], place[most][neighbours];
  C w[most][neighbours];

  /// Finds those of coordinate o, of `size`, and beside it; places are multiples of `step`. Whether
  /// they are others than before.
  FLAGGEMS_HOST_INLINE bool find(const Taps& taps, i64 o, i64 size, i64 step) {
    if (first >= 0 && o >= first && o < first + neighbours) return false;
    first = o - o % neighbours;
    is_known = are_pairs = true;
    for (i64 i = 0; i < min_of(neighbours, size - first) && is_known; ++i) {
      const auto run = taps.run(first + i);
      count[i] = run.count;
      are_pairs = are_pairs && run.count == 2;
      is_known = run.count <= most;
      for (i64 k = 0; k < min_of(run.count, most); ++k) {
        place[k][i] = taps.place(run, first + i, k) * step;
        w[k][i] = taps.weight(run, first + i, k);
      }
    }
    return true;
  }
};

/// Resamples rows of an output, in parts of some columns.
template <class Isa, class T, class Taps>
class resampling {
  using C = compute_type<T>;
  using V = typename simd_type<C, Isa>::type;
  using taps_type = neighbour_taps<Taps, C>;

 public:
  static constexpr i64 columns = taps_type::neighbours;

  /// By vectors of channels if `by_channels`: they are neighbours on both sides.
  FLAGGEMS_HOST_INLINE resampling(const window_walk<T, Taps>& walk, const window_sum<T>& fold,
                                  bool by_channels)
      : walk_(walk), fold_(fold), channels_(by_channels ? walk.sizes[1] : 1) {}

  /// The part of row p from column p.o[2] on, a multiple of `columns`; of all channels where
  /// vectors are of them.
  FLAGGEMS_HOST_INLINE void write(const host_block<Isa>& block, window_places p) {
    const i64 count = min_of(columns, walk_.sizes[4] - p.o[2]);
    if (along_.find(walk_.taps[2], p.o[2], walk_.sizes[4], walk_.strides[4]))
      for (i64& offset : held_) offset = nothing;
    if (!along_.is_known || !find_lines(p)) return fold_each(p, count);
    if (channels_ > 1)
      write_pixels(block, p, count);
    else
      write_row(block, p, count);
  }

 private:
  static constexpr i64 most = taps_type::most, most_deep = 4, lines = most_deep * most;
  static constexpr i64 nothing = static_cast<i64>(u64(1) << 63);  // an offset that no line has

  FLAGGEMS_HOST_INLINE void fold_each(const window_places& p, i64 count) const {
    const i64(&s)[window_rank] = walk_.sizes;
    for (i64 c = p.lead[1]; c < p.lead[1] + channels_; ++c)
      for (i64 i = 0; i < count; ++i)
        walk_.fold((((p.lead[0] * s[1] + c) * s[2] + p.o[0]) * s[3] + p.o[1]) * s[4] + p.o[2] + i,
                   fold_);
  }
  /// The lines of the source that row p is a sum of; false if there are too many.
  FLAGGEMS_HOST_INLINE bool find_lines(const window_places& p) {
    deep_.find(walk_.taps[0], p.o[0], walk_.sizes[2], 1);
    down_.find(walk_.taps[1], p.o[1], walk_.sizes[3], 1);
    if (!deep_.is_known || !down_.is_known) return false;
    const i64 i = p.o[0] - deep_.first, j = p.o[1] - down_.first;
    if (deep_.count[i] > most_deep) return false;
    const i64 plane = p.lead[0] * walk_.strides[0] + p.lead[1] * walk_.strides[1];
    n_ = 0;
    for (i64 a = 0; a < deep_.count[i]; ++a)
      for (i64 b = 0; b < down_.count[j]; ++b) {
        const i64 at0 = deep_.place[a][i], at1 = down_.place[b][j];
        offset_[n_] = plane + at0 * walk_.strides[2] + at1 * walk_.strides[3];
        // The places of a run are neighbours, so their lines do not push each other out.
        slot_[n_] = at0 % most_deep * most + at1 % most;
        w_[n_++] = deep_.w[a][i] * down_.w[b][j];
      }
    return true;
  }
  FLAGGEMS_HOST_INLINE void hold_line(i64 slot, i64 offset, i64 count) {
    if (held_[slot] == offset) return;
    held_[slot] = offset;
    const T* const from = walk_.data + offset;
    C* const to = line_[slot];
    if (along_.are_pairs) {
      for (i64 i = 0; i < count; ++i)
        to[i] = along_.w[0][i] * number_cast<C>(from[along_.place[0][i]]) +
                along_.w[1][i] * number_cast<C>(from[along_.place[1][i]]);
      return;
    }
    for (i64 i = 0; i < count; ++i) {
      C sum = C(0);
      for (i64 k = 0; k < along_.count[i]; ++k)
        sum += along_.w[k][i] * number_cast<C>(from[along_.place[k][i]]);
      to[i] = sum;
    }
  }
  FLAGGEMS_HOST_INLINE void write_row(const host_block<Isa>& block, const window_places& p,
                                      i64 count) {
    for (i64 l = 0; l < n_; ++l) hold_line(slot_[l], offset_[l], count);
    T* const to = fold_.out.data + p.offset_of(p.o, fold_.out.strides);
    const i64 step = fold_.out.strides[4];
    block.for_each_lane(count, [&](auto lane) FLAGGEMS_LAMBDA {
      V sum(C(0));
      for (i64 l = 0; l < n_; ++l)
        sum = fma(V(w_[l]), load<C>(static_cast<const C*>(line_[slot_[l]]), lane), sum);
      if (step == 1)
        store(to, lane, sum);
      else
        store(to, step, lane, sum);
    });
  }
  FLAGGEMS_HOST_INLINE void write_pixels(const host_block<Isa>& block, window_places p, i64 count) {
    i64 offset[lines * most];
    C w[lines * most];
    for (i64 i = 0; i < count; ++i, ++p.o[2]) {
      i64 n = 0;
      for (i64 l = 0; l < n_; ++l)
        for (i64 k = 0; k < along_.count[i]; ++k, ++n) {
          offset[n] = offset_[l] + along_.place[k][i];
          w[n] = w_[l] * along_.w[k][i];
        }
      T* const to = fold_.out.data + p.offset_of(p.o, fold_.out.strides);
      block.for_each_lane(channels_, [&](auto lane) FLAGGEMS_LAMBDA {
        V sum(C(0));
        for (i64 m = 0; m < n; ++m) sum = fma(V(w[m]), load<C>(walk_.data + offset[m], lane), sum);
        store(to, lane, sum);
      });
    }
  }

  window_walk<T, Taps> walk_;
  window_sum<T> fold_;
  i64 channels_;
  taps_type deep_, down_, along_;
  i64 n_, offset_[lines], slot_[lines];  // of the row that is written
  C w_[lines];
  i64 held_[lines];  // the offset of what each line was made of
  C line_[lines][columns];
};

template <class Isa, class T, class Taps>
requires(has_weights<Taps>) FLAGGEMS_HOST_INLINE
    void walk_windows(const host_block<Isa>& block, i64, const window_walk<T, Taps>& walk,
                      const window_sum<T>& fold) {
  window_walk<T, Taps> grid = walk;  // of the rows that are written one by one
  const bool by_channels =
      walk.strides[1] == 1 && fold.out.strides[1] == 1 && walk.sizes[1] >= Isa::lanes;
  if (by_channels) grid.sizes[1] = 1;
  resampling<Isa, T, Taps> to(walk, fold, by_channels);
  const i64 parts = ceil_div(grid.sizes[4], to.columns),
            rows = grid.sizes[0] * grid.sizes[1] * grid.sizes[2] * grid.sizes[3];
  block.for_each_share(parts * rows, [&](i64 begin, i64 end) FLAGGEMS_LAMBDA {
    i64 part = begin / rows, row = begin - part * rows;
    window_places p = grid.row_at(row);
    for (i64 tile = begin; tile < end; ++tile) {
      p.o[2] = part * to.columns;
      to.write(block, p);
      if (++row == rows) row = 0, ++part;
      // Rows of a plane without divisions.
      if (row == 0 || ++p.o[1] == grid.sizes[3]) p = grid.row_at(row);
    }
  });
}

}  // namespace flaggems::kernels
