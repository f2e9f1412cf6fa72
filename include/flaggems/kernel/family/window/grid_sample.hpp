// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Samples of a source at places that a grid gives for each element of the output, in up to three
// dimensions.
#pragma once

#include <flaggems/kernel/family/window/window.hpp>
#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// A source's elements about one coordinate of a place: by a line or a cubic between them, or the
/// nearest one.
template <class C>
struct sampled_axis {
  i64 size;
  bool from_corners;

  /// A coordinate of the grid, in [-1, 1], counted in elements.
  FLAGGEMS_INLINE C place_of(C x) const {
    const C n = static_cast<C>(size);
    return from_corners ? (x + C(1)) * C(0.5f) * (n - C(1)) : ((x + C(1)) * n - C(1)) * C(0.5f);
  }
  /// The place in the source that stands for one: at its edge, or mirrored there.
  FLAGGEMS_INLINE C at_edge(C at) const {
    const C last = static_cast<C>(size - 1);
    return at > C(0) ? (at < last ? at : last) : C(0);
  }
  FLAGGEMS_INLINE C mirrored(C at) const {
    const C low = from_corners ? C(0) : C(-0.5f);
    const C span = static_cast<C>(from_corners ? size - 1 : size);
    if (!(span > C(0))) return C(0);
    const C away = at > low ? at - low : low - at;
    const C turns = floor(away / span);
    const C rest = away - turns * span;
    const C pairs = floor(turns * C(0.5f));
    return at_edge(turns - C(2) * pairs > C(0) ? span - rest + low : rest + low);
  }
  /// The slopes of these by `at`.
  FLAGGEMS_INLINE C slope_at_edge(C at) const {
    return at > C(0) && at < static_cast<C>(size - 1) ? C(1) : C(0);
  }
  FLAGGEMS_INLINE C slope_mirrored(C at) const {
    const C low = from_corners ? C(0) : C(-0.5f);
    const C span = static_cast<C>(from_corners ? size - 1 : size);
    if (!(span > C(0))) return C(0);
    const C away = at > low ? at - low : low - at;
    const C turns = floor(away / span);
    const bool is_odd = turns - C(2) * floor(turns * C(0.5f)) > C(0);
    const C rest = away - turns * span;
    const C sign = (at > low) == is_odd ? C(-1) : C(1);
    return sign * slope_at_edge(is_odd ? span - rest + low : rest + low);
  }
  /// The element at a whole place, -1 where there is none.
  FLAGGEMS_INLINE i64 element(C at) const {
    return at >= C(0) && at < static_cast<C>(size) ? static_cast<i64>(at) : -1;
  }
};

/// What is sampled, and how: `mode` 0 by lines, 1 the nearest, 2 by cubics; `padding` 0 for zeros
/// outside, 1 for the edge, 2 for mirror images.
template <class T>
struct grid_request {
  using C = compute_type<T>;
  global_ptr<const T> source;
  global_ptr<const T> grid;
  i64 sizes[window_rank];         // of the output
  i64 strides[window_rank];       // of the source
  i64 grid_strides[window_rank];  // by n, coordinate, and the output's dimensions
  sampled_axis<C> axes[window_axes];
  int dims, mode, padding;

  FLAGGEMS_INLINE C slope_padded(const sampled_axis<C>& axis, C at) const {
    return padding == 0 ? C(1) : padding == 1 ? axis.slope_at_edge(at) : axis.slope_mirrored(at);
  }
  FLAGGEMS_INLINE C padded(const sampled_axis<C>& axis, C at) const {
    return padding == 0 ? at : padding == 1 ? axis.at_edge(at) : axis.mirrored(at);
  }
};

/// The elements about a place along an axis, and their weights.
template <class C>
struct grid_taps {
  int count;
  i64 at[4];
  C weight[4];
  /// One element, the first. (By assignments: SPIR-V has no constant arrays of a function.)
  FLAGGEMS_INLINE static grid_taps one() {
    grid_taps r;
    r.count = 1;
    for (int k = 0; k < 4; ++k) r.at[k] = 0, r.weight[k] = k == 0 ? C(1) : C(0);
    return r;
  }
};
template <class T, class C = compute_type<T>>
FLAGGEMS_INLINE grid_taps<C> taps_of(const grid_request<T>& ask, int axis, C x) {
  const sampled_axis<C>& own = ask.axes[axis];
  const C place = own.place_of(x);
  grid_taps<C> r = grid_taps<C>::one();
  if (ask.mode == 1) {
    r.at[0] = own.element(round(ask.padded(own, place)));
  } else if (ask.mode == 0) {
    const C at = ask.padded(own, place), first = floor(at);
    r.count = 2;
    r.at[0] = own.element(first), r.at[1] = own.element(first + C(1));
    r.weight[1] = at - first, r.weight[0] = C(1) - r.weight[1];
  } else {
    const C first = floor(place), part = place - first, behind = C(1) - part;
    const C slope = C(-0.75f);
    r.count = 4;
    for (int k = 0; k < 4; ++k)
      r.at[k] = own.element(ask.padded(own, first + static_cast<C>(k - 1)));
    r.weight[0] = cubic_outside(part + C(1), slope);
    r.weight[1] = cubic_inside(part, slope);
    r.weight[2] = cubic_inside(behind, slope);
    r.weight[3] = cubic_outside(behind + C(1), slope);
  }
  return r;
}
/// The slopes of the weights by the grid's coordinate.
template <class C>
struct grid_slopes {
  C by[4];
};
template <class T, class C = compute_type<T>>
FLAGGEMS_INLINE grid_slopes<C> slopes_of(const grid_request<T>& ask, int axis, C x) {
  const sampled_axis<C>& own = ask.axes[axis];
  const C place = own.place_of(x);
  const C scale = static_cast<C>(own.from_corners ? own.size - 1 : own.size) * C(0.5f);
  grid_slopes<C> r;
  for (int k = 0; k < 4; ++k) r.by[k] = C(0);
  if (ask.mode == 0) {
    r.by[1] = scale * ask.slope_padded(own, place);
    r.by[0] = -r.by[1];
  } else if (ask.mode == 2) {
    const C part = place - floor(place), behind = C(1) - part, a = C(-0.75f);
    r.by[0] = scale * cubic_outside_slope(part + C(1), a);
    r.by[1] = scale * cubic_inside_slope(part, a);
    r.by[2] = -scale * cubic_inside_slope(behind, a);
    r.by[3] = -scale * cubic_outside_slope(behind + C(1), a);
  }
  return r;
}

/// Samples for all elements of an output, `tile` of them in a tile.
template <class T>
struct grid_samples {
  static constexpr i64 tile = 256;
  using C = compute_type<T>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, grid_request<T> ask, window_out<T> out) {
    block.for_each_tile(ceil_div(n, tile), [&](i64 k) FLAGGEMS_LAMBDA {
      const i64 first = k * tile;
      block.for_each(min_of(tile, n - first),
                     [&](i64 i) FLAGGEMS_LAMBDA { sample(first + i, ask, out); });
    });
  }

 private:
  FLAGGEMS_INLINE static void sample(i64 index, const grid_request<T>& ask,
                                     const window_out<T>& out) {
    window_places p;
    for (int d = window_axes - 1; d >= 0; --d) {
      p.o[d] = index % ask.sizes[2 + d];
      index /= ask.sizes[2 + d];
    }
    p.lead[1] = index % ask.sizes[1];
    p.lead[0] = index / ask.sizes[1];
    i64 at = p.lead[0] * ask.grid_strides[0];
    for (int d = 0; d < window_axes; ++d) at += p.o[d] * ask.grid_strides[2 + d];
    grid_taps<C> by[window_axes];
    for (int d = 0; d < window_axes; ++d) {
      const int given = window_axes - 1 - d;  // the last dimension's coordinate is the first
      by[d] = grid_taps<C>::one();
      if (given < ask.dims)
        by[d] = taps_of(ask, d, number_cast<C>(ask.grid[at + given * ask.grid_strides[1]]));
    }
    const i64 plane = p.lead[0] * ask.strides[0] + p.lead[1] * ask.strides[1];
    C sum = C(0);
    FLAGGEMS_SIMT_NO_UNROLL
    for (int a = 0; a < by[0].count; ++a) {
      if (by[0].at[a] < 0) continue;
      FLAGGEMS_SIMT_NO_UNROLL
      for (int b = 0; b < by[1].count; ++b) {
        if (by[1].at[b] < 0) continue;
        FLAGGEMS_SIMT_NO_UNROLL
        for (int c = 0; c < by[2].count; ++c) {
          if (by[2].at[c] < 0) continue;
          const T x = ask.source[plane + by[0].at[a] * ask.strides[2] +
                                 by[1].at[b] * ask.strides[3] + by[2].at[c] * ask.strides[4]];
          sum += by[0].weight[a] * by[1].weight[b] * by[2].weight[c] * number_cast<C>(x);
        }
      }
    }
    out.put(p, sum);
  }
};

/// For each place of a grid, what samples there are made of: `taps` elements of the source's plane,
/// their weights, and the slopes of these by the grid's coordinates. Elements that are not there
/// are element 0 by 0.
template <class T>
struct grid_parts {
  static constexpr i64 tile = 256;
  using C = compute_type<T>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, grid_request<T> ask, i64 taps,
                                  global_ptr<i64> elements, global_ptr<C> weights) {
    block.for_each_tile(ceil_div(n, tile), [&](i64 k) FLAGGEMS_LAMBDA {
      const i64 first = k * tile;
      block.for_each(min_of(tile, n - first),
                     [&](i64 i) FLAGGEMS_LAMBDA { put(first + i, ask, taps, elements, weights); });
    });
  }

 private:
  FLAGGEMS_INLINE static void put(i64 index, const grid_request<T>& ask, i64 taps,
                                  global_ptr<i64> elements, global_ptr<C> weights) {
    const i64 places = ask.sizes[2] * ask.sizes[3] * ask.sizes[4];
    const i64 batch = index / places, place = index % places;
    i64 rest = place, at = batch * ask.grid_strides[0];
    for (int d = window_axes - 1; d >= 0; --d) {
      at += rest % ask.sizes[2 + d] * ask.grid_strides[2 + d];
      rest /= ask.sizes[2 + d];
    }
    grid_taps<C> by[window_axes];
    grid_slopes<C> slope[window_axes];
    for (int d = 0; d < window_axes; ++d) {
      const int given = window_axes - 1 - d;
      by[d] = grid_taps<C>::one();
      if (given >= ask.dims) continue;
      const C x = number_cast<C>(ask.grid[at + given * ask.grid_strides[1]]);
      by[d] = taps_of(ask, d, x);
      slope[d] = slopes_of(ask, d, x);
    }
    i64 k = 0;
    for (int a = 0; a < by[0].count; ++a)
      for (int b = 0; b < by[1].count; ++b)
        for (int c = 0; c < by[2].count; ++c, ++k) {
          const int tap[window_axes] = {a, b, c};
          i64 element = 0;
          bool is_there = true;
          for (int d = 0; d < window_axes; ++d) {
            const i64 own = by[d].at[tap[d]];
            is_there = is_there && own >= 0;
            element = element * ask.axes[d].size + own;
          }
          elements[(batch * taps + k) * places + place] = is_there ? element : 0;
          for (int j = 0; j <= ask.dims; ++j) {  // the weight, then a slope each
            C w = is_there ? C(1) : C(0);
            for (int d = 0; d < window_axes; ++d)
              w *= window_axes - d == j ? slope[d].by[tap[d]] : by[d].weight[tap[d]];
            weights[((batch * (ask.dims + 1) + j) * taps + k) * places + place] =
                is_there ? w : C(0);
          }
        }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/window/grid_sample.hpp");
