// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Stable sorting of rows by order-preserving integer keys. A block sorts a row: few elements by
// counting the predecessors of each, more by a radix sort from the least significant digit. Keys
// and indices are in a workspace in device memory, so a row may have any length.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/order/keys.hpp>

namespace flaggems::kernels {

/// Keys and their indices, double-buffered.
template <class U>
struct sort_buffers {
  global_ptr<U> keys, spare_keys;
  global_ptr<i64> indices, spare_indices;

  FLAGGEMS_INLINE sort_buffers swapped() const {
    return {spare_keys, keys, spare_indices, indices};
  }
};

/// Buffers for `capacity` elements in each of `slots` slots; a block works in one at a time.
template <class U>
struct sort_workspace {
  global_ptr<U> keys;       // [slots, 2, capacity]
  global_ptr<i64> indices;  // [slots, 2, capacity]
  i64 slots, capacity;

  FLAGGEMS_INLINE sort_buffers<U> at(i64 slot) const {
    const i64 first = 2 * slot * capacity;
    return {keys + first, keys + first + capacity, indices + first, indices + first + capacity};
  }
};

/// Calls f(row, slot) for every row of this block's slots.
template <class Block, class F>
FLAGGEMS_INLINE void for_each_row_in_slots(Block& block, i64 rows, i64 slots, const F& f) {
  block.for_each_tile(slots, [&](i64 slot) FLAGGEMS_LAMBDA {
    for (i64 row = slot; row < rows; row += slots) {
      f(row, slot);
      block.sync();  // the next row overwrites what this one read
    }
  });
}

/// The most threads of a block that count and move keys; each has its own counters, which makes the
/// sort stable.
inline constexpr i64 sort_threads = 256;
/// Elements of scratch, i64, for sorting: 16 digits for each thread of a SIMT device; the host's
/// single thread has 256.
inline constexpr i64 sort_counters = 16 * sort_threads;

/// At most so many keys are sorted by counting.
inline constexpr i64 most_ranked = 256;

/// Sorts few keys: counts the predecessors of each. The host has its own form
/// (family/order/vector/sort.hpp).
template <class Block, class U>
FLAGGEMS_INLINE sort_buffers<U> sort_by_rank(Block& block, i64 n, const sort_buffers<U>& data) {
  block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
    const U key = data.keys[i];
    i64 rank = 0;
    for (i64 k = 0; k < i; ++k) rank += data.keys[k] <= key ? 1 : 0;
    for (i64 k = i + 1; k < n; ++k) rank += data.keys[k] < key ? 1 : 0;
    data.spare_keys[rank] = key;
    data.spare_indices[rank] = data.indices[i];
  });
  block.sync();
  return data.swapped();
}

/// One pass of a radix sort, by the digit of `bits` bits at `shift`. Nothing moves if all keys have
/// the same digit.
template <class Block, class U, class Counters>
FLAGGEMS_INLINE sort_buffers<U> sort_by_digit(Block& block, i64 n, int shift, int bits,
                                              const sort_buffers<U>& data,
                                              const Counters& counters) {
  // Each thread has a part of the row; counters are ordered by digit, then part.
  const i64 parts = min_of<i64>(min_of<i64>(block.threads(), sort_threads), ceil_div(n, 16));
  const i64 share = ceil_div(n, parts), count = parts << bits;
  const U mask = static_cast<U>((1U << bits) - 1U);
  const auto counter_of = [&](U key, i64 part) FLAGGEMS_LAMBDA {
    return static_cast<i64>(static_cast<U>(key >> shift) & mask) * parts + part;
  };
  block.for_each(count, [&](i64 c) FLAGGEMS_LAMBDA { counters.write(c, 0); });
  block.sync();
  block.for_each(parts, [&](i64 part) FLAGGEMS_LAMBDA {
    const i64 end = min_of(n, (part + 1) * share);
    for (i64 i = part * share; i < end; ++i) {
      const i64 c = counter_of(data.keys[i], part);
      counters.write(c, counters.read(c) + 1);
    }
  });
  block.sync();
  block.template exclusive_scan<i64>(
      count, 0, [&](i64 c) FLAGGEMS_LAMBDA { return counters.read(c); },
      [&](i64 c, i64 before) FLAGGEMS_LAMBDA { counters.write(c, before); });
  block.sync();
  const i64 first = counter_of(data.keys[0], 0), next = first + parts;
  const bool same_digit = (next < count ? counters.read(next) : n) - counters.read(first) == n;
  block.sync();
  if (same_digit) return data;
  block.for_each(parts, [&](i64 part) FLAGGEMS_LAMBDA {
    const i64 end = min_of(n, (part + 1) * share);
    for (i64 i = part * share; i < end; ++i) {
      const U key = data.keys[i];
      const i64 c = counter_of(key, part), to = counters.read(c);
      counters.write(c, to + 1);
      data.spare_keys[to] = key;
      data.spare_indices[to] = data.indices[i];
    }
  });
  block.sync();
  return data.swapped();
}

/// All passes of a radix sort.
template <class Block, class U, class Counters>
FLAGGEMS_INLINE sort_buffers<U> sort_by_digits(Block& block, i64 n, sort_buffers<U> data,
                                               const Counters& counters) {
  const int bits = block.threads() == 1 ? 8 : 4;
  for (int shift = 0; shift < static_cast<int>(sizeof(U)) * 8; shift += bits)
    data = sort_by_digit(block, n, shift, bits, data, counters);
  return data;
}

/// Sorts n keys ascending, stably, their indices with them; returns where they are. Synchronises
/// before it reads and after it has written. The host has its own form here as well.
template <class Block, class U, class Counters>
FLAGGEMS_INLINE sort_buffers<U> sort_keys(Block& block, i64 n, const sort_buffers<U>& data,
                                          const Counters& counters) {
  block.sync();
  if (n <= most_ranked) return sort_by_rank(block, n, data);
  return sort_by_digits(block, n, data, counters);
}

/// Writes `count` indices, and the elements of x at them, possibly in place.
template <class Block, class T, class U>
FLAGGEMS_INLINE void write_sorted(Block& block, i64 count, const sort_buffers<U>& data,
                                  const row_in<T>& x, const row_out<T>& values,
                                  const row_out<i64>& indices) {
  if (values.data != nullptr) {
    block.for_each(count, [&](i64 i) FLAGGEMS_LAMBDA {
      data.spare_keys[i] = to_bits(x.template read<T>(data.indices[i]));
    });
    block.sync();
    block.for_each(
        count, [&](i64 i) FLAGGEMS_LAMBDA { values.write(i, from_bits<T>(data.spare_keys[i])); });
  }
  block.for_each(count, [&](i64 i) FLAGGEMS_LAMBDA { indices.write(i, data.indices[i]); });
}

/// Sorts each row: its elements to `values` (nowhere if data is null and strides 0), their indices
/// to `indices`.
template <class T>
struct sort {
  static constexpr bool has_parts = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, row_arg<T> in,
                                  row_target<T> values, row_target<i64> indices,
                                  sort_workspace<bits_type<T>> work, i32 descending) {
    const i64 n = space.length;
    const auto counters = block.template scratch<i64>(sort_counters);
    for_each_row_in_slots(block, space.rows, work.slots, [&](i64 row, i64 slot) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(row);
      const auto x = in.at(c);
      const auto data = work.at(slot);
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
        data.keys[i] = order_key(x.template read<T>(i), descending != 0);
        data.indices[i] = i;
      });
      write_sorted(block, n, sort_keys(block, n, data, counters), x, values.at(c), indices.at(c));
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/sort.hpp");
