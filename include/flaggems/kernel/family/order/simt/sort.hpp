// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sorts rows that fit in a block on a SIMT device: read once and written once. Few keys are in
// registers, several rows per block, sorted by a bitonic network. More are sorted by a stable radix
// sort in shared memory, 4 bits per pass: each thread takes consecutive keys and counts their
// digits in a column of its own; a scan over all columns gives the destinations.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/kernel/family/order/sort.hpp>

namespace flaggems::kernels {

/// A key and its index in the row, less than 2^16.
template <class U>
struct alignas(2 * static_cast<int>(sizeof(U))) sort_item {
  U key, at;

  FLAGGEMS_INLINE static sort_item of(U key, u32 at) { return {key, static_cast<U>(at)}; }
  FLAGGEMS_INLINE u32 digit(int shift) const { return static_cast<u32>(key >> shift) & 15U; }
  FLAGGEMS_INLINE i32 place() const { return static_cast<i32>(at); }
  FLAGGEMS_INLINE bool is_before(const sort_item& b) const {
    if constexpr (sizeof(U) == 4)
      return (static_cast<u64>(key) << 32 | at) < (static_cast<u64>(b.key) << 32 | b.at);
    else
      return key < b.key || (key == b.key && at < b.at);
  }
};
/// Keys of up to 16 bits share a word with it.
struct short_sort_item {
  u32 word;

  FLAGGEMS_INLINE static short_sort_item of(u32 key, u32 at) { return {key << 16 | at}; }
  FLAGGEMS_INLINE u32 digit(int shift) const { return word >> (16 + shift) & 15U; }
  FLAGGEMS_INLINE i32 place() const { return static_cast<i32>(word & 0xffffU); }
  FLAGGEMS_INLINE bool is_before(const short_sort_item& b) const { return word < b.word; }
};
template <class U>
using sort_item_of = conditional<(sizeof(U) <= 2), short_sort_item, sort_item<U>>;

/// Rows of up to `most` keys are sorted in registers by thread groups of a block of `threads`.
struct short_sort {
  static constexpr int keys = 4;  // per thread
  static constexpr i64 most = 32 * keys;
  static constexpr int threads = 256;
};

/// Short rows sorted, as by `sort`, each by 2^shift consecutive threads.
template <class T>
struct sort_short {
  static constexpr int max_threads = short_sort::threads;
  using U = bits_type<T>;
  using item = sort_item_of<U>;
  static constexpr int keys = short_sort::keys;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const row_arg<T>& in,
                                  const row_target<T>& values, const row_target<i64>& indices,
                                  i32 shift, i32 descending) {
    const i32 n = static_cast<i32>(space.length), rows_per_block = block.threads() >> shift;
    const i32 lane = block.thread() & ((1 << shift) - 1), first = lane * keys;
    block.for_each_tile(ceil_div<i64>(space.rows, rows_per_block), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 row = tile * rows_per_block + (block.thread() >> shift);
      const i32 count = row < space.rows ? n : 0;
      i64 from, at, to;
      locate_row(space, space.rank, row < space.rows ? row : 0, in.strides, indices.strides, from,
                 at);
      const row_in<T> x{in.data + from, in.strides[space.rank]};
      const row_out<i64> places{indices.data + at, indices.strides[space.rank]};
      item own[keys];
      // Items after the row's end have the greatest key and sort last.
      const auto take = [&](int r, T element) FLAGGEMS_LAMBDA {
        const U key =
            first + r < count ? order_key(element, descending != 0) : static_cast<U>(~U(0));
        own[r] = item::of(key, static_cast<u32>(first + r));
      };
      if (x.stride == 1 && first + keys <= count) {
        const auto some =
            fetch_window<false, keys>(x.data, first, n, true, T{}).template values<T>();
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < keys; ++r) take(r, some.at[r]);
      } else {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < keys; ++r) {  // (clang's OpenCL has no ?: of classes)
          T element{};
          if (first + r < count) element = x.template read<T>(first + r);
          take(r, element);
        }
      }
      sort_group(block, own, lane, 1 << shift);
      if (values.data != nullptr) {  // all are read before any is written, possibly in place
        locate_row(space, space.rank, row < space.rows ? row : 0, in.strides, values.strides, from,
                   to);
        T sorted[keys];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < keys; ++r)
          if (first + r < count) sorted[r] = x.template read<T>(own[r].place());
        block.sync();
        const row_out<T> row_of_values{values.data + to, values.strides[space.rank]};
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < keys; ++r)
          if (first + r < count) row_of_values.write(first + r, sorted[r]);
      }
      if (places.stride == 1 && first + keys <= count) {
        window_values<i64, keys> all;
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < keys; ++r) all.at[r] = own[r].place();
        store_window<false>(places.data, first, true, all);
      } else {
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < keys; ++r)
          if (first + r < count) places.write(first + r, own[r].place());
      }
    });
  }

 private:
  FLAGGEMS_INLINE static void order(item& a, item& b) {
    const item low = b.is_before(a) ? b : a, high = b.is_before(a) ? a : b;
    a = low;
    b = high;
  }
  /// Compares each item with that of the thread `mask` away, whose items are `Reversed`, and keeps
  /// the lesser if this is the `lower` thread.
  template <bool Reversed, class Block>
  FLAGGEMS_INLINE static void exchange(const Block& block, item (&own)[keys], int mask,
                                       bool lower) {
    item other[keys];
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < keys; ++r) other[r] = block.shuffle_xor(own[r], mask);
    FLAGGEMS_SIMT_UNROLL
    for (int r = 0; r < keys; ++r) {
      const item one = other[Reversed ? keys - 1 - r : r];
      if (one.is_before(own[r]) == lower) own[r] = one;
    }
  }
  /// A bitonic network over the items of a thread group. Items are distinct, so it is stable.
  template <class Block>
  FLAGGEMS_INLINE static void sort_group(const Block& block, item (&own)[keys], i32 lane,
                                         i32 size) {
    order(own[0], own[1]);
    order(own[2], own[3]);
    order(own[0], own[3]);
    order(own[1], own[2]);
    order(own[0], own[1]);
    order(own[2], own[3]);
    FLAGGEMS_SIMT_NO_UNROLL
    for (i32 run = 1; run < size; run *= 2) {  // merges sorted runs of so many threads
      exchange<true>(block, own, 2 * run - 1, (lane & run) == 0);
      FLAGGEMS_SIMT_NO_UNROLL
      for (i32 step = run / 2; step > 0; step /= 2)
        exchange<false>(block, own, step, (lane & step) == 0);
      order(own[0], own[2]);
      order(own[1], own[3]);
      order(own[0], own[1]);
      order(own[2], own[3]);
    }
  }
};

/// Keys per thread, the most threads of a block that its registers allow, and the longest row.
template <class U>
struct block_sort {
  static constexpr int keys = sizeof(U) == 8 ? 8 : 16;
  static constexpr int most_threads = sizeof(U) == 8 ? 768 : 1024;
  static constexpr i64 most = i64{most_threads} * keys;
  /// A column of counts: two digits per word, plus a word of padding against bank conflicts.
  static constexpr int words = 9;

  /// The slot of item i: padded, so that threads' first items are in different banks.
  FLAGGEMS_INLINE static constexpr i32 slot(i32 i) {
    return i + static_cast<i32>(static_cast<u32>(i) / keys);
  }
  /// Bytes for items and counts.
  FLAGGEMS_INLINE static constexpr int scratch(int threads) {
    return slot(threads * keys) * static_cast<int>(sizeof(sort_item_of<U>)) + words * threads * 4;
  }
};

struct bits_of_both {
  template <class U>
  FLAGGEMS_INLINE U operator()(U a, U b) const {
    return static_cast<U>(a | b);
  }
};

/// What a sort gives.
enum class sorted_parts { order, values_and_order };

/// Rows sorted, as by `sort`, of no more than block_sort::keys elements a thread of the block.
template <class T, sorted_parts Parts>
struct simt_sort {
  using U = bits_type<T>;
  using item = sort_item_of<U>;
  using plan = block_sort<U>;
  static constexpr int keys = plan::keys;
  static constexpr int max_threads = plan::most_threads, min_blocks = 1;
  static constexpr int most_scratch = plan::scratch(max_threads);

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, const row_arg<T>& in,
                                  const row_target<T>& values, const row_target<i64>& indices,
                                  i32 descending) {
    const i32 n = static_cast<i32>(space.length), threads = block.threads();
    const auto items = block.template scratch<item>(plan::slot(threads * keys));
    const auto counts = block.template scratch<u32>(plan::words * threads);
    block.for_each_tile(space.rows, [&](i64 row) FLAGGEMS_LAMBDA {
      // (Rows longer than a thread group cannot number 2^32: their results exceed memory.)
      i64 from, at, to;
      locate_row<u32>(space, space.rank, static_cast<u32>(row), in.strides, indices.strides, from,
                      at);
      const row_in<T> x{in.data + from, in.strides[space.rank]};
      const U first = order_key(x.template read<T>(0), descending != 0);
      U own[keys], differing = 0;  // the bits in which keys differ from the row's first one
      for_own(block, n, x.data, x.stride, [&](int k, i32, bool there, auto p) FLAGGEMS_LAMBDA {
        own[k] = there ? order_key(number_cast<T>(*p), descending != 0) : static_cast<U>(~U(0));
        if (there) differing = static_cast<U>(differing | (own[k] ^ first));
      });
      // Items after the row's end have the greatest key and sort last.
      for_own(block, n, x.data, 0, [&](int k, i32 i, bool, auto) FLAGGEMS_LAMBDA {
        items.write(plan::slot(i), item::of(own[k], static_cast<u32>(i)));
      });
      differing = block.template reduce_block<U>(differing, U(0), bits_of_both{});
      block.sync();
      for (int shift = 0; shift < static_cast<int>(sizeof(U)) * 8; shift += 4)
        if ((differing >> shift & 15U) != 0) sort_by_next(block, shift, items, counts);

      if constexpr (Parts == sorted_parts::order) {
        for_own(block, n, indices.data + at, indices.strides[space.rank],
                [&](int, i32 i, bool there, auto p) FLAGGEMS_LAMBDA {
                  const i32 place = items.read(plan::slot(i)).place();
                  if (there) *p = place;
                });
        block.sync();
      } else {
        u32 places[keys / 2] = {};  // two per word
        for_own(block, n, indices.data + at, indices.strides[space.rank],
                [&](int k, i32 i, bool there, auto p) FLAGGEMS_LAMBDA {
                  const i32 place = items.read(plan::slot(i)).place();
                  if (there) *p = place;
                  places[k / 2] |= static_cast<u32>(place) << (k % 2 * 16);
                  FLAGGEMS_FORGET(places[k / 2]);
                });
        block.sync();
        // Permutes the elements themselves, as keys do not distinguish zeros and NaNs, through the
        // items' memory: all are read before any is written, possibly in place.
        locate_row<u32>(space, space.rank, static_cast<u32>(row), in.strides, values.strides, from,
                        to);
        const auto elements = items.template as<U>();
        for_own(block, n, x.data, x.stride, [&](int, i32 i, bool there, auto p) FLAGGEMS_LAMBDA {
          if (there) elements.write(i, to_bits(number_cast<T>(*p)));
        });
        block.sync();
        for_own(block, n, values.data + to, values.strides[space.rank],
                [&](int k, i32, bool there, auto p) FLAGGEMS_LAMBDA {
                  if (there)
                    *p = from_bits<T>(
                        elements.read(static_cast<i32>(places[k / 2] >> (k % 2 * 16) & 0xffffU)));
                });
        block.sync();
      }
    });
  }

 private:
  /// Calls f(k, i, exists, p) for this thread's coalesced share of the row; p is element i, if it
  /// exists.
  template <class Block, class P, class F>
  FLAGGEMS_INLINE static void for_own(const Block& block, i32 n, P row, i64 stride, const F& f) {
    const i32 threads = block.threads();
    i32 i = block.thread();
    FLAGGEMS_FORGET(i);  // recomputed at each use instead of kept in registers
    P p = row + i * stride;
    const i64 step = threads * stride;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < keys; ++k, i += threads, p += step) f(k, i, i < n, p);
  }

  /// Sorts the items by the digit at `shift`. Begins and ends synchronised.
  template <class Block, class Items, class Counts>
  FLAGGEMS_INLINE static void sort_by_next(const Block& block, int shift, const Items& items,
                                           const Counts& counts) {
    const i32 threads = block.threads(), thread = block.thread();
    const auto halves = counts.template as<u16>();
    const auto half_of = [&](u32 digit) FLAGGEMS_LAMBDA {
      return 2 * (static_cast<i32>(digit & 7U) * threads + thread) + static_cast<i32>(digit >> 3);
    };
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < plan::words; ++w) counts.write(w * threads + thread, 0);
    item own[keys];
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < keys; ++k) own[k] = items.read(thread * (keys + 1) + k);
    u32 before[2] = {};  // per key, how many of this thread's keys with its digit precede it
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < keys; ++k) {
      const i32 at = half_of(own[k].digit(shift));
      const u32 count = halves.read(at);
      halves.write(at, static_cast<u16>(count + 1));
      before[k / 8] |= count << (k % 8 * 4);
      FLAGGEMS_FORGET(before[k / 8]);  // computed now, so that the counts can be released
    }
    block.sync();
    // Words are ordered by digit, then thread; the digits of their upper halves follow those of the
    // lower ones. A thread sums some consecutive words.
    u32 mine = 0;
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < plan::words; ++w) mine += counts.read(thread * plan::words + w);
    u32 start = 0;
    const u32 all = block.template exclusive_scan<u32>(
        threads, 0, [&](i64) FLAGGEMS_LAMBDA { return mine; },
        [&](i64, u32 sum) FLAGGEMS_LAMBDA { start = sum; });
    start += all << 16;
    FLAGGEMS_SIMT_UNROLL
    for (int w = 0; w < plan::words; ++w) {
      const u32 count = counts.read(thread * plan::words + w);
      counts.write(thread * plan::words + w, start);
      start += count;
    }
    block.sync();
    FLAGGEMS_FORGET(shift);  // digits are extracted again, to save registers
    u32 ranks[keys / 2];
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < keys; ++k) {
      const u32 first = halves.read(half_of(own[k].digit(shift)));
      const u32 rank = first + (before[k / 8] >> (k % 8 * 4) & 15U);
      ranks[k / 2] = k % 2 == 0 ? rank : ranks[k / 2] | rank << 16;
      FLAGGEMS_FORGET(ranks[k / 2]);
    }
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < keys; ++k)
      items.write(plan::slot(static_cast<i32>(ranks[k / 2] >> (k % 2 * 16) & 0xffffU)), own[k]);
    block.sync();
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/simt/sort.hpp");
