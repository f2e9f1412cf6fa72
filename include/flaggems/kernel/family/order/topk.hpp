// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The k first of a row in sorted order, without sorting the row: a radix select finds the k-th key
// digit by digit from the top; the first k are collected in the order of their indices and sorted.
#pragma once

#include <flaggems/kernel/family/order/sort.hpp>

namespace flaggems::kernels {

/// Calls take(i, place) for the k least of n keys, key_at(i) in [0, n), ties by lowest index, with
/// places in [0, k) in the order of indices. 0 < k <= n. `counters` has at least 259 elements.
template <class U, class Block, class KeyAt, class Counters, class Take>
FLAGGEMS_INLINE void select_least(Block& block, i64 n, i64 k, const KeyAt& key_at,
                                  const Counters& counters, const Take& take) {
  constexpr int digit_bits = 8;
  constexpr i64 digits = 1 << digit_bits;
  // Keys whose bits under `mask` are less than `prefix` are taken; of the `tied` ones where they
  // are equal, `wanted`.
  U prefix = 0, mask = 0;
  i64 wanted = k, tied = n;
  FLAGGEMS_SIMT_NO_UNROLL
  for (int shift = static_cast<int>(sizeof(U)) * 8 - digit_bits; shift >= 0 && wanted < tied;
       shift -= digit_bits) {
    block.for_each(digits, [&](i64 d) FLAGGEMS_LAMBDA { counters.write(d, 0); });
    block.sync();
    block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
      const U key = key_at(i);
      if ((key & mask) == prefix)
        block.template atomic_add<i64>(counters, static_cast<i64>(key >> shift) & (digits - 1), 1);
    });
    block.sync();
    block.template exclusive_scan<i64>(
        digits, 0, [&](i64 d) FLAGGEMS_LAMBDA { return counters.read(d); },
        [&](i64 d, i64 before) FLAGGEMS_LAMBDA {
          const i64 count = counters.read(d);
          if (before < wanted && wanted <= before + count) {  // one digit only
            counters.write(digits, d);
            counters.write(digits + 1, before);
            counters.write(digits + 2, count);
          }
        });
    block.sync();
    prefix =
        static_cast<U>(prefix | static_cast<U>(static_cast<U>(counters.read(digits)) << shift));
    mask = static_cast<U>(mask | static_cast<U>(static_cast<U>(digits - 1) << shift));
    wanted -= counters.read(digits + 1);
    tied = counters.read(digits + 2);
  }
  // First the lesser ones, then as many of the tied ones as are wanted. If all are wanted, they
  // count as less: the common case needs one pass.
  const bool all_tied = wanted == tied;
  i64 taken = 0;
  FLAGGEMS_SIMT_NO_UNROLL
  for (int pass = 0; pass < (all_tied ? 1 : 2); ++pass) {
    const auto takes = [&](i64 i) FLAGGEMS_LAMBDA {
      const U top = static_cast<U>(key_at(i) & mask);
      return pass == 0 ? top < prefix || (all_tied && top == prefix) : top == prefix;
    };
    taken = block.template exclusive_scan<i64>(
        n, taken, [&](i64 i) FLAGGEMS_LAMBDA { return static_cast<i64>(takes(i) ? 1 : 0); },
        [&](i64 i, i64 place) FLAGGEMS_LAMBDA {
          if (place < k && takes(i)) take(i, place);
        });
  }
}

/// The same; the keys and their indices go to buffers, as `sort_keys` takes them.
template <class U, class Block, class KeyAt, class Counters>
FLAGGEMS_INLINE void select_least(Block& block, i64 n, i64 k, const KeyAt& key_at,
                                  const sort_buffers<U>& to, const Counters& counters) {
  select_least<U>(block, n, k, key_at, counters, [&](i64 i, i64 place) FLAGGEMS_LAMBDA {
    to.keys[place] = key_at(i);
    to.indices[place] = i;
  });
}

/// The keys of the k first elements of a row in sorted order, and where they came from. The host
/// has its own form (family/order/vector/topk.hpp).
template <class T, class Block, class Counters>
FLAGGEMS_INLINE sort_buffers<bits_type<T>> find_first(Block& block, i64 n, i64 k,
                                                      const row_in<T>& x, bool largest,
                                                      const sort_buffers<bits_type<T>>& data,
                                                      const Counters& counters) {
  const auto key_at = [&](i64 i)
                          FLAGGEMS_LAMBDA { return order_key(x.template read<T>(i), largest); };
  select_least(block, n, k, key_at, data, counters);
  return sort_keys(block, k, data, counters);
}

/// The k largest (or least) of each row, sorted, and where they came from.
template <class T>
struct topk {
  static constexpr bool has_parts = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 k, row_arg<T> in,
                                  row_target<T> values, row_target<i64> indices,
                                  sort_workspace<bits_type<T>> work, i32 largest) {
    const auto counters = block.template scratch<i64>(sort_counters);
    for_each_row_in_slots(block, space.rows, work.slots, [&](i64 row, i64 slot) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(row);
      const auto x = in.at(c);
      const auto first =
          find_first(block, space.length, k, x, largest != 0, work.at(slot), counters);
      write_sorted(block, k, first, x, values.at(c), indices.at(c));
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/topk.hpp");
