// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sorting on a chip, where rows fit block-local memory: read once and written once. Few keys are
// ordered by counting those in front of each, several rows a block. More take a stable radix sort,
// 4 bits a pass: a thread takes some neighbouring keys into registers, counts their digits in a
// column of its own, and a scan of all columns says where they go. Not timed on a GPU yet.
#pragma once

#include <flaggems/kernels/rows_chip.hpp>
#include <flaggems/kernels/sort.hpp>

namespace flaggems::kernels {

/// A key and its place, less than 2^16, in the row.
template <class U>
struct alignas(2 * static_cast<int>(sizeof(U))) sort_item {
  U key, at;

  FLAGGEMS_INLINE static sort_item of(U key, u32 at) { return {key, static_cast<U>(at)}; }
  FLAGGEMS_INLINE u32 digit(int shift) const { return static_cast<u32>(key >> shift) & 15U; }
  FLAGGEMS_INLINE i32 place() const { return static_cast<i32>(at); }
  FLAGGEMS_INLINE bool is_before(const sort_item& b) const {
    return key < b.key || (key == b.key && at < b.at);
  }
};
/// Of up to 16 bits they share a word.
struct short_sort_item {
  u32 word;

  FLAGGEMS_INLINE static short_sort_item of(u32 key, u32 at) { return {key << 16 | at}; }
  FLAGGEMS_INLINE u32 digit(int shift) const { return word >> (16 + shift) & 15U; }
  FLAGGEMS_INLINE i32 place() const { return static_cast<i32>(word & 0xffffU); }
  FLAGGEMS_INLINE bool is_before(const short_sort_item& b) const { return word < b.word; }
};
template <class U>
using sort_item_of = conditional<(sizeof(U) <= 2), short_sort_item, sort_item<U>>;

/// Rows of up to `most` keys are sorted by blocks of `threads`.
struct short_sort {
  static constexpr i64 most = 128;
  static constexpr int threads = 256;
};

/// Short rows sorted, as by `sort`.
template <class T>
struct sort_short {
  static constexpr int max_threads = short_sort::threads;
  using U = bits_type<T>;
  using item = sort_item_of<U>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const row_arg<T>& in,
                                  const row_target<T>& values, const row_target<i64>& indices,
                                  i32 descending) {
    const auto items = block.template scratch<item>(max_threads);
    const auto sorted = block.template scratch<U>(max_threads);
    const auto places = block.template scratch<i32>(max_threads);
    const i32 n = static_cast<i32>(space.length), together = block.threads() / n;
    const i32 thread = block.thread(), own_row = thread / n, i = thread - own_row * n;
    const i32 first = own_row * n;
    const i64 stride = in.strides[space.rank];
    block.for_each_tile(ceil_div<i64>(space.rows, together), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 row = tile * together + own_row;
      const bool active = own_row < together && row < space.rows;
      U bits = 0;
      item own{};
      i64 from = 0, to = 0, at = 0;
      if (active) {
        locate_row(space, space.rank, row, in.strides, indices.strides, from, at);
        locate_row(space, space.rank, row, in.strides, values.strides, from, to);
        const T x = in.data[from + i * stride];
        bits = to_bits(x);
        own = item::of(order_key(x, descending != 0), static_cast<u32>(i));
        items.write(thread, own);
      }
      block.sync();
      if (active) {
        i32 rank = 0;
        for (i32 k = 0; k < n; ++k) rank += items.read(first + k).is_before(own) ? 1 : 0;
        sorted.write(first + rank, bits);
        places.write(first + rank, i);
      }
      block.sync();
      if (active) {
        if (values.data != nullptr)
          values.data[to + i * values.strides[space.rank]] = from_bits<T>(sorted.read(thread));
        indices.data[at + i * indices.strides[space.rank]] = places.read(thread);
      }
    });
  }
};

/// A thread's keys, the most threads of a block that its registers allow, and the longest row.
template <class U>
struct block_sort {
  static constexpr int keys = sizeof(U) == 8 ? 8 : 16;
  static constexpr int most_threads = sizeof(U) == 8 ? 768 : 1024;
  static constexpr i64 most = i64{most_threads} * keys;
  /// A column of counts: two digits in a word, and a word that keeps columns in different banks.
  static constexpr int words = 9;

  /// Where item i lies: as many threads read their first items, they are in different banks.
  FLAGGEMS_INLINE static i32 slot(i32 i) {
    return i + static_cast<i32>(static_cast<u32>(i) / keys);
  }
};

struct bits_of_both {
  template <class U>
  FLAGGEMS_INLINE U operator()(U a, U b) const {
    return static_cast<U>(a | b);
  }
};

/// Rows sorted, as by `sort`, of no more than block_sort::keys elements a thread of the block.
template <class T>
struct sort_chip {
  using U = bits_type<T>;
  using item = sort_item_of<U>;
  using plan = block_sort<U>;
  static constexpr int keys = plan::keys;
  static constexpr int max_threads = plan::most_threads, min_blocks = 1;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const row_arg<T>& in,
                                  const row_target<T>& values, const row_target<i64>& indices,
                                  i32 descending) {
    const i32 n = static_cast<i32>(space.length), threads = block.threads();
    const auto items = block.template scratch<item>(plan::slot(threads * keys));
    const auto counts = block.template scratch<u32>(plan::words * threads);
    block.for_each_tile(space.rows, [&](i64 row) FLAGGEMS_LAMBDA {
      i64 from, at, to;
      locate_row(space, space.rank, row, in.strides, indices.strides, from, at);
      const row_in<T> x{in.data + from, in.strides[space.rank]};
      const U first = order_key(x.template read<T>(0), descending != 0);
      U own[keys], differing = 0;  // the bits in which keys differ from the row's first one
      for_own(block, n, x.data, x.stride, [&](int k, i32, const auto p) FLAGGEMS_LAMBDA {
        own[k] =
            p == nullptr ? static_cast<U>(~U(0)) : order_key(number_cast<T>(*p), descending != 0);
        if (p != nullptr) differing = static_cast<U>(differing | (own[k] ^ first));
      });
      // Items behind the row's, of the greatest key, stay there.
      for_own(block, n, x.data, 0, [&](int k, i32 i, const auto) FLAGGEMS_LAMBDA {
        items.write(plan::slot(i), item::of(own[k], static_cast<u32>(i)));
      });
      differing = block.template fold<U>(differing, U(0), bits_of_both{});
      block.sync();
      for (int shift = 0; shift < static_cast<int>(sizeof(U)) * 8; shift += 4)
        if ((differing >> shift & 15U) != 0) sort_by_next(block, shift, items, counts);

      i32 places[keys];
      for_own(block, n, indices.data + at, indices.strides[space.rank],
              [&](int k, i32 i, const auto p) FLAGGEMS_LAMBDA {
                places[k] = items.read(plan::slot(i)).place();
                if (p != nullptr) *p = places[k];
              });
      block.sync();
      if (values.data == nullptr) return;
      // The elements themselves, as keys do not tell zeros and NaNs apart, to where items were: all
      // are read before any is written, which may be where it came from.
      locate_row(space, space.rank, row, in.strides, values.strides, from, to);
      const auto elements = items.template as<U>();
      for_own(block, n, in.data + from, in.strides[space.rank],
              [&](int, i32 i, const auto p) FLAGGEMS_LAMBDA {
                if (p != nullptr) elements.write(i, to_bits(number_cast<T>(*p)));
              });
      block.sync();
      for_own(block, n, values.data + to, values.strides[space.rank],
              [&](int k, i32, const auto p) FLAGGEMS_LAMBDA {
                if (p != nullptr) *p = from_bits<T>(elements.read(places[k]));
              });
      block.sync();
    });
  }

 private:
  /// Calls f(k, i, p) for the places that are this thread's where all read beside each other; p is
  /// element i of the row, or null behind its end.
  template <class Block, class P, class F>
  FLAGGEMS_INLINE static void for_own(const Block& block, i32 n, P row, i64 stride, const F& f) {
    const i32 threads = block.threads();
    i32 i = block.thread();
    FLAGGEMS_FORGET(i);  // what is computed from it is not kept from one use to the next
    P p = row + i * stride;
    const i64 step = threads * stride;
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < keys; ++k, i += threads, p += step) f(k, i, i < n ? p : nullptr);
  }

  /// Sorts the items by the digit at `shift`. The caller has synchronised; so has this.
  template <class Block, class Items, class Counts>
  FLAGGEMS_INLINE static void sort_by_next(const Block& block, int shift, const Items& items,
                                           const Counts& counts) {
    const i32 threads = block.threads(), thread = block.thread();
    const auto halves = counts.template as<u16>();
    const auto half_of = [&](u32 digit) FLAGGEMS_LAMBDA {
      return 2 * (static_cast<i32>(digit & 7U) * threads + thread) + static_cast<i32>(digit >> 3);
    };
    FLAGGEMS_CHIP_UNROLL
    for (int w = 0; w < plan::words; ++w) {
      halves.write(2 * (w * threads + thread), 0);
      halves.write(2 * (w * threads + thread) + 1, 0);
    }
    item own[keys];
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < keys; ++k) own[k] = items.read(thread * (keys + 1) + k);
    u32 before[2] = {};  // of each key, how many of this thread's with its digit are in front of it
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < keys; ++k) {
      const i32 at = half_of(own[k].digit(shift));
      const u32 count = halves.read(at);
      halves.write(at, static_cast<u16>(count + 1));
      before[k / 8] |= count << (k % 8 * 4);
      FLAGGEMS_FORGET(before[k / 8]);  // now: the counts are not kept
    }
    block.sync();
    // Words are ordered by digit, then thread; the digits of their upper halves follow those of the
    // lower ones. A thread adds up some words beside each other.
    u32 mine = 0;
    FLAGGEMS_CHIP_UNROLL
    for (int w = 0; w < plan::words; ++w) mine += counts.read(thread * plan::words + w);
    u32 start = 0;
    const u32 all = block.template exclusive_scan<u32>(
        threads, 0, [&](i64) FLAGGEMS_LAMBDA { return mine; },
        [&](i64, u32 sum) FLAGGEMS_LAMBDA { start = sum; });
    start += all << 16;
    FLAGGEMS_CHIP_UNROLL
    for (int w = 0; w < plan::words; ++w) {
      const u32 count = counts.read(thread * plan::words + w);
      counts.write(thread * plan::words + w, start);
      start += count;
    }
    block.sync();
    FLAGGEMS_FORGET(shift);  // digits are taken again: kept, they would need more registers
    u32 ranks[keys / 2];
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < keys; ++k) {
      const u32 first = halves.read(half_of(own[k].digit(shift)));
      const u32 rank = first + (before[k / 8] >> (k % 8 * 4) & 15U);
      ranks[k / 2] = k % 2 == 0 ? rank : ranks[k / 2] | rank << 16;
      FLAGGEMS_FORGET(ranks[k / 2]);
    }
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < keys; ++k)
      items.write(plan::slot(static_cast<i32>(ranks[k / 2] >> (k % 2 * 16) & 0xffffU)), own[k]);
    block.sync();
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/sort_chip.hpp");
