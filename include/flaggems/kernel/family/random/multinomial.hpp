// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sampling from rows of weights. Weights become integers whose sum fits in 63 bits, so that prefix
// sums are exact and samples do not depend on a device's order of additions.
#pragma once

#include <flaggems/kernel/family/order/topk.hpp>
#include <flaggems/kernel/family/random/philox.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// Weights relative to the row's largest, as integers below 2^bits; positive ones are at least 1.
template <class C>
struct integer_weights {
  using U = bits_type<C>;
  static constexpr int mantissa = is_same<C, f32> ? 23 : 52;
  int shift, bits;

  /// For `length` weights with maximum max > 0.
  FLAGGEMS_INLINE integer_weights(C max, i64 length) : shift(0), bits(63) {
    for (i64 n = length; n > 0; n >>= 1) --bits;
    shift = bits - (mantissa + 1) - exponent(to_bits(max));
  }
  /// 0 unless positive and finite.
  FLAGGEMS_INLINE u64 operator()(C x) const {
    const U b = to_bits(x);
    if (b == 0 || b >= infinity_bits<C>()) return 0;
    const u64 fraction = b & ((U(1) << mantissa) - 1U);
    const u64 significand = b >> mantissa == 0 ? fraction : fraction | (u64(1) << mantissa);
    const int by = shift + exponent(b);
    const u64 w = by >= 0 ? significand << by : by > -64 ? significand >> -by : 0;
    return w > 0 ? w : 1;
  }

 private:
  FLAGGEMS_INLINE static int exponent(U b) {
    return max_of(static_cast<int>(b >> mantissa), 1);  // subnormal numbers have the exponent of 1
  }
};

/// The largest positive finite number of a row; 0 if there is none.
template <class C, class Block, class T>
FLAGGEMS_INLINE C largest_weight(Block& block, i64 n, const row_in<T>& p) {
  return block.reduce(n, C(0), maximum_of{}, [&](auto lane) FLAGGEMS_LAMBDA {
    using V = lane_value<decltype(lane), C>;
    const V v = p.template load<C>(lane);
    return select((v > V(C(0))) & (v < V(from_bits<C>(infinity_bits<C>()))), v, V(C(0)));
  });
}

/// A launch's parameters: `count` samples per row, `spacing` numbers of the generator per row.
struct multinomial_options {
  philox_generator generator;
  i64 count, spacing;
};

/// With replacement: inverts the cumulative distribution by binary search. `sums` has space.length
/// elements for each of `slots` rows. -1 for a row without a positive weight.
template <class T>
struct multinomial_with_replacement {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, multinomial_options options,
                                  row_arg<T> probs, row_target<i64> out, global_ptr<u64> sums,
                                  i64 slots) {
    using C = compute_type<T>;
    const i64 n = space.length;
    for_each_row_in_slots(block, space.rows, slots, [&](i64 row, i64 slot) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(row);
      const auto p = probs.at(c);
      const auto to = out.at(c);
      const global_ptr<u64> before = sums + slot * n;
      const C max = largest_weight<C>(block, n, p);
      if (!(max > C(0))) {
        block.for_each(options.count, [&](i64 k) FLAGGEMS_LAMBDA { to.write(k, i64(-1)); });
        return;
      }
      const integer_weights<C> weight(max, n);
      const u64 total = block.template exclusive_scan<u64>(
          n, 0, [&](i64 i) FLAGGEMS_LAMBDA { return weight(p.template read<C>(i)); },
          [&](i64 i, u64 sum) FLAGGEMS_LAMBDA { before[i] = sum; });
      block.sync();
      block.for_each(options.count, [&](i64 k) FLAGGEMS_LAMBDA {
        const u64 place = static_cast<u64>(row * options.spacing + k);
        const u64 target = uniform_below(random_bits(options.generator, place), total);
        // The last i with before[i] <= target: the next sum is larger, so its weight is not 0.
        i64 low = 0;
        for (i64 high = n; high - low > 1;) {
          const i64 middle = low + (high - low) / 2;
          (before[middle] <= target ? low : high) = middle;
        }
        to.write(k, low);
      });
    });
  }
};

/// Without replacement: the categories with the least exponentially distributed times divided by
/// weights (Efraimidis, Spirakis 2006), in that order. -1 once no category with a positive weight
/// is left. `keys` has space.length elements for each slot of `work`.
template <class T>
struct multinomial_without_replacement {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, multinomial_options options,
                                  row_arg<T> probs, row_target<i64> out, global_ptr<u64> keys,
                                  sort_workspace<u64> work) {
    using C = compute_type<T>;
    const i64 n = space.length;
    const auto counters = block.template scratch<i64>(sort_counters);
    for_each_row_in_slots(block, space.rows, work.slots, [&](i64 row, i64 slot) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(row);
      const auto p = probs.at(c);
      const auto to = out.at(c);
      const auto data = work.at(slot);
      const global_ptr<u64> times = keys + slot * n;
      const u64 never = infinity_bits<f64>();
      const C max = largest_weight<C>(block, n, p);
      const integer_weights<C> weight(max > C(0) ? max : C(1), n);
      // Two categories at a time, as a generator's block has two numbers.
      block.for_each(ceil_div(n, i64(2)), [&](i64 pair) FLAGGEMS_LAMBDA {
        const u64 place = static_cast<u64>(row * (options.spacing / 2) + pair);
        const random_pair random = random_bits_of_pair(options.generator, place);
        for (i64 i = 2 * pair; i < min_of(n, 2 * pair + 2); ++i) {
          const u64 w = weight(p.template read<C>(i));
          const u64 time = exponential_bits(random.bits[i % 2]);
          const f64 ratio = static_cast<f64>(static_cast<i64>(time)) /
                            static_cast<f64>(static_cast<i64>(w == 0 ? 1 : w));
          // positive, so their bits are ordered as the numbers
          times[i] = w == 0 ? never : to_bits(ratio);
        }
      });
      block.sync();
      const auto key_at = [&](i64 i) FLAGGEMS_LAMBDA { return times[i]; };
      select_least(block, n, options.count, key_at, data, counters);
      const auto sorted = sort_keys(block, options.count, data, counters);
      block.for_each(options.count, [&](i64 k) FLAGGEMS_LAMBDA {
        to.write(k, sorted.keys[k] == never ? i64(-1) : sorted.indices[k]);
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/random/multinomial.hpp");
