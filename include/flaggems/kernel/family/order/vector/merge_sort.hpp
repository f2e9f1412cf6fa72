// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Sorts a row with all threads of the host: they sort parts, then merge pairs of parts, round by
// round. Each thread finds its share of a round's result by a binary search along the merge path
// (Green, McColl, Bader 2012), so that work is balanced.
#pragma once

#include <flaggems/kernel/family/order/sort.hpp>

namespace flaggems::kernels {

/// Sorts parts of `share` elements of a row, each at its position in data.keys.
template <class T>
struct sort_parts {
  static constexpr bool has_parts = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 row, row_arg<T> in,
                                  sort_buffers<bits_type<T>> data, i64 share, i32 descending) {
    const auto counters = block.template scratch<i64>(sort_counters);
    const auto x = in.at(space.locate(row));
    block.for_each_tile(ceil_div(space.length, share), [&](i64 part) FLAGGEMS_LAMBDA {
      const i64 begin = part * share, n = min_of(share, space.length - begin);
      const sort_buffers<bits_type<T>> own{data.keys + begin, data.spare_keys + begin,
                                           data.indices + begin, data.spare_indices + begin};
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
        own.keys[i] = order_key(x.template read<T>(begin + i), descending != 0);
        own.indices[i] = begin + i;
      });
      const auto sorted = sort_keys(block, n, own, counters);
      if (sorted.keys != own.keys) {
        block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
          own.keys[i] = sorted.keys[i];
          own.indices[i] = sorted.indices[i];
        });
      }
      block.sync();  // the next part reuses the counters
    });
  }
};

/// Merges sorted parts of `width` elements in pairs, to the spare buffers, `piece` at a time.
template <class U>
struct merge_parts {
  static constexpr bool is_scalar = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, sort_buffers<U> data, i64 width, i64 piece) {
    block.for_each_tile(ceil_div(n, piece), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 stop = min_of(n, (tile + 1) * piece);
      for (i64 to = tile * piece; to < stop;) {
        const i64 first = to / (2 * width) * (2 * width);
        const i64 middle = min_of(n, first + width), last = min_of(n, middle + width);
        const i64 next = min_of(stop, last);
        merge(data, first, middle, last, to, next);
        to = next;
      }
    });
  }

 private:
  /// Writes elements [to, stop) of the merged [first, middle) and [middle, last).
  FLAGGEMS_INLINE static void merge(const sort_buffers<U>& data, i64 first, i64 middle, i64 last,
                                    i64 to, i64 stop) {
    // How many of the first part are among the first to - first elements.
    const i64 front = to - first;
    i64 low = max_of(i64(0), front - (last - middle));
    for (i64 high = min_of(front, middle - first); low < high;) {
      const i64 m = low + (high - low) / 2;
      if (data.keys[first + m] <= data.keys[middle + front - 1 - m])
        low = m + 1;
      else
        high = m;
    }
    i64 a = first + low, b = middle + front - low;
    for (; to < stop && a < middle && b < last; ++to) {
      const U left = data.keys[a], right = data.keys[b];
      const bool second = right < left;
      data.spare_keys[to] = second ? right : left;
      data.spare_indices[to] = data.indices[second ? b : a];
      b += second ? 1 : 0;
      a += second ? 0 : 1;
    }
    if (a == middle) a = b;
    for (; to < stop; ++to, ++a) {
      data.spare_keys[to] = data.keys[a];
      data.spare_indices[to] = data.indices[a];
    }
  }
};

/// Gathers the bits of a row's elements in sorted order to the spare keys, before the row is
/// overwritten, which may be in place.
template <class T>
struct gather_sorted {
  static constexpr bool is_scalar = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 row, row_arg<T> in,
                                  sort_buffers<bits_type<T>> data, i64 piece) {
    const auto x = in.at(space.locate(row));
    block.for_each_tile(ceil_div(space.length, piece), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 begin = tile * piece;
      block.for_each(min_of(piece, space.length - begin), [&](i64 i) FLAGGEMS_LAMBDA {
        data.spare_keys[begin + i] = to_bits(x.template read<T>(data.indices[begin + i]));
      });
    });
  }
};
/// Writes a sorted row's elements, if requested, and indices.
template <class T>
struct write_row {
  static constexpr bool is_scalar = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 row, row_target<T> values,
                                  row_target<i64> indices, sort_buffers<bits_type<T>> data,
                                  i64 piece) {
    const coordinates c = space.locate(row);
    const auto to = values.at(c);
    const auto places = indices.at(c);
    block.for_each_tile(ceil_div(space.length, piece), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 begin = tile * piece;
      block.for_each(min_of(piece, space.length - begin), [&](i64 k) FLAGGEMS_LAMBDA {
        const i64 i = begin + k;
        if (to.data != nullptr) to.write(i, from_bits<T>(data.spare_keys[i]));
        places.write(i, data.indices[i]);
      });
    });
  }
};

}  // namespace flaggems::kernels
