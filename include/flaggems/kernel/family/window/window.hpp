// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows: each element of an output folds the elements of a source at its taps along up to three
// dimensions, one after another and by one thread, so that sums do not depend on a race. The one
// walk serves pools, upsampling, columns of images, and the gradients of these and of padding.
#pragma once

#include <flaggems/kernel/family/window/weights.hpp>
#include <flaggems/kernel/lang/lanes.hpp>

namespace flaggems::kernels {

/// The dimensions with taps; two more, in front of them, an output and its source have in common.
inline constexpr int window_axes = 3;
inline constexpr int window_rank = window_axes + 2;

/// Where a walk is.
struct window_places {
  i64 lead[2];          // the plane
  i64 o[window_axes];   // the output's coordinates
  i64 at[window_axes];  // the tap's places
  FLAGGEMS_INLINE i64 offset_of(const i64 (&places)[window_axes],
                                const i64 (&strides)[window_rank]) const {
    i64 sum = lead[0] * strides[0] + lead[1] * strides[1];
    for (int d = 0; d < window_axes; ++d) sum += places[d] * strides[2 + d];
    return sum;
  }
  /// The row-major index of places in a plane.
  FLAGGEMS_INLINE static i64 index_of(const i64 (&places)[window_axes],
                                      const i64 (&size)[window_axes]) {
    return (places[0] * size[1] + places[1]) * size[2] + places[2];
  }
};

/// What a walk writes.
template <class T>
struct window_out {
  global_ptr<T> data;
  i64 strides[window_rank];
  template <class V>
  FLAGGEMS_INLINE void put(const window_places& p, V x) const {
    data[p.offset_of(p.o, strides)] = number_cast<T>(x);
  }
};

// Folds: the state of a walk, what an element adds to it, and what is written at its end.
/// The sum of what is read, of type From.
template <class T, class From = T>
struct window_sum {
  using C = compute_type<T>;
  window_out<T> out;
  FLAGGEMS_INLINE C begin() const { return C(0); }
  FLAGGEMS_INLINE C joined(C sum, From x, const window_places&) const {
    return sum + number_cast<C>(x);
  }
  FLAGGEMS_INLINE C weighed(C sum, From x, C weight) const {
    return sum + weight * number_cast<C>(x);
  }
  FLAGGEMS_INLINE void end(C sum, const window_places& p) const { out.put(p, sum); }
};
/// The sum, and a number of the channel.
template <class T, class From = T>
struct window_biased_sum {
  using C = compute_type<T>;
  window_out<T> out;
  global_ptr<const T> bias;
  i64 step;  // from a channel's to the next
  FLAGGEMS_INLINE C begin() const { return C(0); }
  FLAGGEMS_INLINE C joined(C sum, From x, const window_places&) const {
    return sum + number_cast<C>(x);
  }
  FLAGGEMS_INLINE void end(C sum, const window_places& p) const {
    out.put(p, sum + number_cast<C>(bias[p.lead[1] * step]));
  }
};
/// The one element that is read.
template <class T>
struct window_value {
  window_out<T> out;
  FLAGGEMS_INLINE T begin() const { return T(0); }
  FLAGGEMS_INLINE T joined(T, T x, const window_places&) const { return x; }
  FLAGGEMS_INLINE void end(T x, const window_places& p) const { out.put(p, x); }
};

/// How many elements a mean over a window is divided by.
struct window_area {
  i64 size[window_axes], extent[window_axes], stride[window_axes], padding[window_axes];
  i64 divisor;  // 0: by the elements of the window
  bool with_padding;
  FLAGGEMS_INLINE i64 of(const i64 (&o)[window_axes]) const {
    if (divisor != 0) return divisor;
    i64 area = 1;
    for (int d = 0; d < window_axes; ++d) {
      i64 begin = o[d] * stride[d] - padding[d], end = begin + extent[d];
      const i64 last = size[d] + (with_padding ? padding[d] : 0);
      if (end > last) end = last;
      if (!with_padding && begin < 0) begin = 0;
      area *= end - begin;
    }
    return area;
  }
};
/// The same of windows that cut dimensions into parts.
struct adaptive_area {
  adaptive_taps at[window_axes];
  FLAGGEMS_INLINE i64 of(const i64 (&o)[window_axes]) const {
    i64 area = 1;
    for (int d = 0; d < window_axes; ++d) area *= at[d].run(o[d]).count;
    return area;
  }
};
/// The mean over a window.
template <class T, class Area = window_area>
struct window_mean {
  using C = compute_type<T>;
  window_out<T> out;
  Area area;
  FLAGGEMS_INLINE C begin() const { return C(0); }
  FLAGGEMS_INLINE C joined(C sum, T x, const window_places&) const {
    return sum + number_cast<C>(x);
  }
  FLAGGEMS_INLINE void end(C sum, const window_places& p) const {
    out.put(p, sum / static_cast<C>(area.of(p.o)));
  }
};
/// Its gradient: of each window that an element is in, the gradient's share.
template <class T, class Area = window_area>
struct window_mean_backward {
  using C = compute_type<T>;
  window_out<T> out;
  Area area;
  FLAGGEMS_INLINE C begin() const { return C(0); }
  FLAGGEMS_INLINE C joined(C sum, T x, const window_places& p) const {
    return sum + number_cast<C>(x) / static_cast<C>(area.of(p.at));
  }
  FLAGGEMS_INLINE void end(C sum, const window_places& p) const { out.put(p, sum); }
};

/// A window's greatest element, the first among equals, or the last NaN; and its index in its
/// plane, whose sizes are `size`. -inf and -1 where all elements of the window are padding.
template <class T>
struct window_greatest {
  using C = compute_type<T>;
  struct state {
    C greatest;
    i64 index;
  };
  window_out<T> out;
  window_out<i64> indices;
  i64 size[window_axes];
  FLAGGEMS_INLINE state begin() const { return {lowest<C>(), -1}; }
  FLAGGEMS_INLINE state joined(state best, T element, const window_places& p) const {
    const C x = number_cast<C>(element);
    if (best.index >= 0 && !(x > best.greatest) && x == x) return best;
    return {x, p.index_of(p.at, size)};
  }
  FLAGGEMS_INLINE void end(state best, const window_places& p) const {
    out.put(p, best.greatest);
    indices.put(p, best.index);
  }
};
/// Its gradient: that of the windows whose index names the element; `size` is the output's.
template <class T>
struct window_greatest_backward {
  using C = compute_type<T>;
  window_out<T> out;
  global_ptr<const i64> index;
  i64 strides[window_rank];  // of the index
  i64 size[window_axes];
  FLAGGEMS_INLINE C begin() const { return C(0); }
  FLAGGEMS_INLINE C joined(C sum, T x, const window_places& p) const {
    const bool is_own = index[p.offset_of(p.at, strides)] == p.index_of(p.o, size);
    return is_own ? sum + number_cast<C>(x) : sum;
  }
  FLAGGEMS_INLINE void end(C sum, const window_places& p) const { out.put(p, sum); }
};

/// What taps without weights have in their place.
struct no_weight {
  FLAGGEMS_INLINE no_weight operator*(no_weight) const { return {}; }
};

/// A walk over a source of T.
template <class T, class Taps>
struct window_walk {
  Taps taps[window_axes];
  global_ptr<const T> data;
  i64 sizes[window_rank];        // of the output
  i64 strides[window_rank];      // of the source
  i64 tap_strides[window_axes];  // from a tap to the next, where each has elements of its own

  /// Folds for the output's element of row-major index `at`.
  template <class Fold>
  FLAGGEMS_INLINE void fold(i64 at, const Fold& f) const {
    const i64 column = split(at, sizes[4]);
    window_places p = row_at(at);
    p.o[2] = column;
    const i64 plane = p.lead[0] * strides[0] + p.lead[1] * strides[1];
    const auto r0 = taps[0].run(p.o[0]);
    const auto r1 = taps[1].run(p.o[1]);
    const auto r2 = taps[2].run(p.o[2]);
    auto state = f.begin();
    FLAGGEMS_SIMT_NO_UNROLL
    for (i64 a = 0; a < r0.count; ++a) {
      if ((p.at[0] = taps[0].place(r0, p.o[0], a)) < 0) continue;
      const i64 at0 = plane + p.at[0] * strides[2] + a * tap_strides[0];
      const auto w0 = weight_of(0, r0, p, a);
      FLAGGEMS_SIMT_NO_UNROLL
      for (i64 b = 0; b < r1.count; ++b) {
        if ((p.at[1] = taps[1].place(r1, p.o[1], b)) < 0) continue;
        const i64 at1 = at0 + p.at[1] * strides[3] + b * tap_strides[1];
        const auto w1 = w0 * weight_of(1, r1, p, b);
        FLAGGEMS_SIMT_NO_UNROLL
        for (i64 c = 0; c < r2.count; ++c) {
          if ((p.at[2] = taps[2].place(r2, p.o[2], c)) < 0) continue;
          const T x = data[at1 + p.at[2] * strides[4] + c * tap_strides[2]];
          if constexpr (has_weights<Taps>)
            state = f.weighed(state, x, w1 * weight_of(2, r2, p, c));
          else
            state = f.joined(state, x, p);
        }
      }
    }
    f.end(state, p);
  }

  /// The output's row of this index.
  FLAGGEMS_INLINE window_places row_at(i64 row) const {
    window_places p;
    for (int d = window_axes - 2; d >= 0; --d) p.o[d] = split(row, sizes[2 + d]);
    p.lead[1] = split(row, sizes[1]);
    p.lead[0] = row;
    return p;
  }
  template <class Run>
  FLAGGEMS_INLINE auto weight_of(int axis, const Run& from, const window_places& p, i64 k) const {
    if constexpr (has_weights<Taps>)
      return taps[axis].weight(from, p.o[axis], k);
    else
      return no_weight{};
  }

 private:
  /// rest % size; rest becomes rest / size. By 32 bits where they suffice.
  FLAGGEMS_INLINE static i64 split(i64& rest, i64 size) {
    const i64 narrow = i64(1) << 31;
    const i64 next = rest < narrow && size < narrow
                         ? static_cast<i64>(static_cast<u32>(rest) / static_cast<u32>(size))
                         : rest / size;
    const i64 at = rest - next * size;
    rest = next;
    return at;
  }
};

/// Elements of an output in a tile.
inline constexpr i64 window_tile = 256;

/// Folds for all n elements of an output. The host has its own form (vector/rows.hpp).
template <class T, class Taps, class Fold, class Block>
FLAGGEMS_INLINE void walk_windows(const Block& block, i64 n, const window_walk<T, Taps>& walk,
                                  const Fold& fold) {
  block.for_each_tile(ceil_div(n, window_tile), [&](i64 k) FLAGGEMS_LAMBDA {
    const i64 first = k * window_tile;
    block.for_each(min_of(window_tile, n - first),
                   [&](i64 i) FLAGGEMS_LAMBDA { walk.fold(first + i, fold); });
  });
}
template <class T, class Taps, class Fold>
struct windows {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, window_walk<T, Taps> walk, Fold fold) {
    walk_windows(block, n, walk, fold);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/window/window.hpp");
