// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Taps: what an element of an output reads along one dimension of its source. Coordinate o has a
// run of taps; tap k of it is a place of the source, or -1 where there is none.
#pragma once

#include <flaggems/kernel/lang/value.hpp>

namespace flaggems::kernels {

/// The taps of a coordinate: how many, and where the first one is, for those that count from there.
struct tap_run {
  i64 count, first;
};

/// Place p where p * divisor = o * stride + k * step + shift: a window's elements (divisor 1), or
/// the windows that an element is in (stride 1).
struct linear_taps {
  i64 size, taps, stride, divisor, step, shift;
  FLAGGEMS_INLINE tap_run run(i64 o) const { return {taps, o * stride + shift}; }
  FLAGGEMS_INLINE i64 place(const tap_run& from, i64, i64 k) const {
    const i64 at = from.first + k * step;
    if (at < 0) return -1;
    const i64 p = divisor == 1 ? at : at / divisor;
    return p < size && (divisor == 1 || p * divisor == at) ? p : -1;
  }
};

/// Where an element went that was padded with its mirror image: itself, and up to two images.
/// `inner` elements were padded, `before` of them added in front.
struct mirror_taps {
  i64 size, inner, before;
  FLAGGEMS_INLINE tap_run run(i64 o) const { return {3, before + o}; }
  FLAGGEMS_INLINE i64 place(const tap_run& from, i64 o, i64 k) const {
    const i64 last = inner - 1;
    if ((k == 1 && o == 0) || (k == 2 && o == last)) return -1;
    const i64 p = k == 0 ? from.first : k == 1 ? before - o : before + 2 * last - o;
    return p >= 0 && p < size ? p : -1;
  }
};
/// The same of an edge that was repeated: an element at the edge went to all places beyond it.
struct edge_taps {
  i64 size, inner, before;
  FLAGGEMS_INLINE tap_run run(i64 o) const {
    const i64 own = before + o;
    const i64 first = o == 0 && own > 0 ? 0 : own;
    const i64 last = o + 1 == inner && own < size ? size - 1 : own;
    return {last - first + 1, first};
  }
  FLAGGEMS_INLINE i64 place(const tap_run& from, i64, i64 k) const {
    const i64 p = from.first + k;
    return p >= 0 && p < size ? p : -1;
  }
};

/// The nearest of a source's elements under a scale, counted from the middle of elements if
/// `half_pixel`; C: f32 or f64.
template <class C>
struct nearest_taps {
  i64 size;
  C scale;
  bool half_pixel;
  FLAGGEMS_INLINE tap_run run(i64) const { return {1, 0}; }
  FLAGGEMS_INLINE i64 place(const tap_run&, i64 o, i64) const {
    const C at = (static_cast<C>(o) + (half_pixel ? C(0.5f) : C(0))) * scale;
    // (Compared first: a large number is no i64.)
    return at < static_cast<C>(size) ? lesser_of(static_cast<i64>(at), size - 1) : size - 1;
  }
};
/// The elements of a source whose nearest one a coordinate is: a run, as places never fall.
template <class C>
struct nearest_of_taps {
  i64 size;
  nearest_taps<C> nearest;
  FLAGGEMS_INLINE tap_run run(i64 o) const {
    const i64 first = first_of(o);
    return {first_of(o + 1) - first, first};
  }
  FLAGGEMS_INLINE i64 place(const tap_run& from, i64, i64 k) const { return from.first + k; }

 private:
  /// The first element that is as far as coordinate o.
  FLAGGEMS_INLINE i64 first_of(i64 o) const {
    i64 low = 0, high = size;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (nearest.place({1, 0}, middle, 0) < o)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// The windows that cut `size` elements into `result` parts, as equal as they can be; they may
/// overlap. With the numbers exchanged: the windows that an element is in.
struct adaptive_taps {
  i64 size, result;
  FLAGGEMS_INLINE tap_run run(i64 o) const {
    const i64 first = o * size / result;
    return {((o + 1) * size + result - 1) / result - first, first};
  }
  FLAGGEMS_INLINE i64 place(const tap_run& from, i64, i64 k) const { return from.first + k; }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/window/taps.hpp");
