// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Taps with weights: what an element of a resampled output is a sum of along one dimension, by a
// line or a cubic through the elements beside its place, and what an element of the source gave.
#pragma once

#include <flaggems/kernel/family/window/taps.hpp>

namespace flaggems::kernels {

/// The run of a coordinate whose place is `part` behind element `first`.
template <class C>
struct interpolated_run {
  i64 count, first;
  C part;
};

/// A cubic's weights at distance d, below 1 and from 1 to 2, with the slope `a` at 1.
template <class C>
FLAGGEMS_INLINE C cubic_inside(C d, C a) {
  return ((a + C(2)) * d - (a + C(3))) * d * d + C(1);
}
template <class C>
FLAGGEMS_INLINE C cubic_outside(C d, C a) {
  return (((d - C(5)) * d + C(8)) * d - C(4)) * a;
}

/// The slopes of these by d.
template <class C>
FLAGGEMS_INLINE C cubic_inside_slope(C d, C a) {
  return (C(3) * (a + C(2)) * d - C(2) * (a + C(3))) * d;
}
template <class C>
FLAGGEMS_INLINE C cubic_outside_slope(C d, C a) {
  return ((C(3) * d - C(10)) * d + C(8)) * a;
}

/// The two elements beside a place, or the four about it; those beyond an edge are its element. The
/// first and last elements lie on those of the output if `from_corners`, else edges do.
template <class C, bool Cubic>
struct interpolated_taps {
  i64 size;
  C scale;
  bool from_corners;
  FLAGGEMS_INLINE interpolated_run<C> run(i64 o) const {
    if (size == 1) return {1, 0, C(0)};
    C at =
        from_corners ? scale * static_cast<C>(o) : scale * (static_cast<C>(o) + C(0.5f)) - C(0.5f);
    if (!Cubic && at < C(0)) at = C(0);
    // (Compared first: a large number is no i64.)
    i64 first = at < static_cast<C>(size) ? static_cast<i64>(at) : size;
    if (static_cast<C>(first) > at) --first;
    if (!Cubic) first = lesser_of(first, size - 1);
    const C part = at - static_cast<C>(first);
    return {Cubic ? 4 : 2, first, part < C(1) ? part : C(1)};
  }
  FLAGGEMS_INLINE i64 place(const interpolated_run<C>& from, i64, i64 k) const {
    const i64 p = from.first + k - (Cubic && from.count != 1 ? 1 : 0);
    return p < 0 ? 0 : lesser_of(p, size - 1);
  }
  FLAGGEMS_INLINE C weight(const interpolated_run<C>& from, i64, i64 k) const {
    if (from.count == 1) return C(1);
    if constexpr (Cubic) {
      const C slope = C(-0.75f);
      const C behind = C(1) - from.part;
      return k == 0   ? cubic_outside(from.part + C(1), slope)
             : k == 1 ? cubic_inside(from.part, slope)
             : k == 2 ? cubic_inside(behind, slope)
                      : cubic_outside(behind + C(1), slope);
    } else {
      return k == 0 ? C(1) - from.part : from.part;
    }
  }
};

/// The run of a coordinate whose place is `center`, and 1 by the sum of its filter's values.
template <class C>
struct smoothed_run {
  i64 count, first;
  C center, share;
};
/// All elements under a filter about a place, which is as wide as the scale if that shrinks.
template <class C, bool Cubic>
struct smoothed_taps {
  i64 size;
  C scale;
  FLAGGEMS_INLINE smoothed_run<C> run(i64 o) const {
    const C center = scale * (static_cast<C>(o) + C(0.5f));
    const C reach = (Cubic ? C(2) : C(1)) * (scale > C(1) ? scale : C(1));
    const i64 first = inside(center - reach + C(0.5f)), end = inside(center + reach + C(0.5f));
    smoothed_run<C> r{end - first, first, center, C(0)};
    C total = C(0);
    for (i64 k = 0; k < r.count; ++k) total += filter(r, k);
    r.share = total != C(0) ? C(1) / total : C(1);
    return r;
  }
  FLAGGEMS_INLINE i64 place(const smoothed_run<C>& from, i64, i64 k) const {
    return from.first + k;
  }
  FLAGGEMS_INLINE C weight(const smoothed_run<C>& from, i64, i64 k) const {
    return filter(from, k) * from.share;
  }

 private:
  /// A place as an integer in [0, size]. (Compared first: a large number is no i64.)
  FLAGGEMS_INLINE i64 inside(C at) const {
    if (!(at >= C(1))) return 0;
    return at < static_cast<C>(size) ? static_cast<i64>(at) : size;
  }
  FLAGGEMS_INLINE C filter(const smoothed_run<C>& from, i64 k) const {
    const C away = static_cast<C>(from.first + k) - from.center + C(0.5f);
    C d = scale > C(1) ? away / scale : away;
    if (d < C(0)) d = -d;
    if constexpr (Cubic) {
      const C slope = C(-0.5f);
      return d < C(1) ? cubic_inside(d, slope) : d < C(2) ? cubic_outside(d, slope) : C(0);
    } else {
      return d < C(1) ? C(1) - d : C(0);
    }
  }
};

/// The `results` outputs that an element of the source is a part of, a run, as places never fall;
/// and by what weights.
template <class C, class Taps>
struct weighted_gradient_taps {
  i64 results;
  Taps taps;
  FLAGGEMS_INLINE tap_run run(i64 o) const {
    const i64 first = first_of(o, true);
    return {first_of(o, false) - first, first};
  }
  FLAGGEMS_INLINE i64 place(const tap_run& from, i64, i64 k) const { return from.first + k; }
  FLAGGEMS_INLINE C weight(const tap_run& from, i64 o, i64 k) const {
    const i64 result = from.first + k;
    const auto own = taps.run(result);
    C sum = C(0);
    for (i64 j = 0; j < own.count; ++j)
      if (taps.place(own, result, j) == o) sum += taps.weight(own, result, j);
    return sum;
  }

 private:
  /// The first output whose last place is as far as o, or whose first one is beyond it.
  FLAGGEMS_INLINE i64 first_of(i64 o, bool by_last) const {
    i64 low = 0, high = results;
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      const auto own = taps.run(middle);
      const i64 at = taps.place(own, middle, by_last ? own.count - 1 : 0);
      if (by_last ? at < o : at <= o)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// Whether taps have weights.
template <class Taps>
inline constexpr bool has_weights = false;
template <class C, bool Cubic>
inline constexpr bool has_weights<interpolated_taps<C, Cubic>> = true;
template <class C, bool Cubic>
inline constexpr bool has_weights<smoothed_taps<C, Cubic>> = true;
template <class C, class Taps>
inline constexpr bool has_weights<weighted_gradient_taps<C, Taps>> = true;

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/window/weights.hpp");
