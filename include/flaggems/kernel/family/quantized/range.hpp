// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranges of numbers that are rounded to the steps of integers: how well one fits a row, the best
// one, and the scale and the zero of a range.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/kernel/family/quantized/scale.hpp>
#include <flaggems/kernel/family/reduce/reduce.hpp>

namespace flaggems::kernels {

/// The distance of a row to itself rounded to `most` steps from `low` to `high`; the least number
/// and the scale are kept as f16.
template <class Block, class T>
FLAGGEMS_INLINE f32 rounding_loss(Block& block, i64 n, const row_in<T>& x, f32 low, f32 high,
                                  f32 most) {
  const f32 least = number_cast<f32>(number_cast<f16>(low)), range = high - least;
  const f32 scale = range == 0 ? 1 : number_cast<f32>(number_cast<f16>(range / most));
  const f32 inverse = scale == 0 ? 1 : 1 / scale;
  const f32 sum = block.reduce(n, f32(0), plus{}, [=](auto lane) FLAGGEMS_LAMBDA {
    using V = lane_value<decltype(lane), f32>;
    const V v = x.template load<f32>(lane);
    const V steps = round(V((v - V(least)) * V(inverse)));
    const V off = v - (maximum(V(f32(0)), V(minimum(steps, V(most)))) * V(scale) + V(least));
    return V(off * off);
  });
  return sqrt(sum);
}

/// The range of a row with the least such distance, found from the row's own by taking a step off
/// one end at a time: high, then low.
template <class T>
struct best_range {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, row_arg<T> from,
                                  global_ptr<f32> high, global_ptr<f32> low, i64 bins, f32 kept,
                                  f32 most) {
    const i64 n = space.length;
    block.for_each_tile(1, [&](i64) FLAGGEMS_LAMBDA {
      const row_in<T> x = from.at(space.locate(0));
      const auto value = [x](auto lane) FLAGGEMS_LAMBDA { return x.template load<f32>(lane); };
      f32 least = block.reduce(n, highest<f32>(), minimum_of{}, value);
      f32 greatest = block.reduce(n, lowest<f32>(), maximum_of{}, value);
      const f32 step = (greatest - least) / static_cast<f32>(bins), narrowest = kept * step;
      f32 first = least, last = greatest;
      f32 loss = rounding_loss(block, n, x, least, greatest, most), now = loss;
      for (i64 k = 0; k < bins && first + narrowest < last; ++k) {
        const f32 from_left = rounding_loss(block, n, x, first + step, last, most);
        const f32 from_right = rounding_loss(block, n, x, first, last - step, most);
        if (now < from_left && now < from_right && now < loss) {
          loss = now;
          least = first;
          greatest = last;
        }
        if (from_left < from_right) {
          first += step;
          now = from_left;
        } else {
          last -= step;
          now = from_right;
        }
      }
      block.single([&]() FLAGGEMS_LAMBDA {
        high[0] = greatest;
        low[0] = least;
      });
    });
  }
};

/// The integers [least, most] for a range of numbers, which is widened to have 0, and, where it is
/// `symmetric`, as much on either side.
struct integer_steps {
  f64 least, most;
  i32 symmetric;

  template <class V>
  FLAGGEMS_INLINE auto is_centred(FLAGGEMS_VALUE(V) low, FLAGGEMS_VALUE(V) high) const {
    const V none(0.0), on(static_cast<f64>(symmetric));
    return mask_of<V>(low < none) & mask_of<V>(high > none) & mask_of<V>(on > none);
  }
  template <class V>
  FLAGGEMS_INLINE void widen(V& low, V& high) const {
    const auto centred = is_centred<V>(low, high);
    const f64 above = static_cast<f64>(static_cast<i64>((most - least) / 2)), below = -(above + 1);
    const V by = maximum(V(abs(V(low / V(below)))), V(abs(V(high / V(above)))));
    low = minimum(V(select(centred, V(by * V(below)), low)), V(0.0));
    high = maximum(V(select(centred, V(by * V(above)), high)), V(0.0));
  }
  /// The distance of two integers as numbers; 0.1 where f32 does not hold it or its reciprocal.
  template <class V>
  FLAGGEMS_INLINE V scale(FLAGGEMS_VALUE(V) low, FLAGGEMS_VALUE(V) high) const {
    const V by = (high - low) / V(most - least);
    return select(mask_of<V>(by < V(2.9387358770557188e-39)), V(0.1), by);
  }
};
struct scale_of_range_fn : integer_steps {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) given_low, FLAGGEMS_VALUE(V) given_high) const {
    V low = given_low, high = given_high;
    widen(low, high);
    return scale<V>(low, high);
  }
};
/// The integer that stands for 0, by the end of the range that gives it with the smaller error.
struct zero_of_range_fn : integer_steps {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) given_low, FLAGGEMS_VALUE(V) given_high) const {
    V low = given_low, high = given_high;
    const auto centred = is_centred<V>(low, high);
    widen(low, high);
    const V by = scale<V>(low, high), below = low / by, above = high / by;
    const V first_error = V(abs(least)) + abs(below), last_error = V(abs(most)) + abs(above);
    const V by_end =
        select(mask_of<V>(first_error < last_error), V(V(least) - below), V(V(most) - above));
    const V zero = select(centred, V((least + most) / 2), by_end);
    return round(V(maximum(V(least), V(minimum(V(most), zero)))));
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/quantized/range.hpp");
