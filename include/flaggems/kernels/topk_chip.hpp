// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The k first of a row on a chip, for a k that is not large. Every thread finds the least keys of a
// few groups of elements; the k-th of those is a bound that k elements do not exceed, and few more
// do not. A second reading collects them in block-local memory, where they are sorted. A row with
// more ties than that memory holds goes through `select_least`.
#pragma once

#include <flaggems/kernels/row_packs.hpp>
#include <flaggems/kernels/topk.hpp>

namespace flaggems::kernels {

/// Elements that a block collects, and the largest k; a quarter of that finds a bound.
inline constexpr i64 chip_collected = 2048, chip_most_first = 1024;
/// Groups of a thread.
inline constexpr int chip_groups = 4;

/// Calls f(key, i, u) for the elements of a row whose turn this thread is; u < chip_groups says
/// whose group it is.
template <class T, class Block, class F>
FLAGGEMS_INLINE void for_each_key(const Block& block, const row_in<T>& x, i64 n, bool largest,
                                  const F& f) {
  using row_type = arg_row<T, T>;
  using packs = row_packs<row_type>;
  constexpr int width = packs::most;
  const row_type row{x.data, x.stride, 0};
  const int head = packs::template head<width>(row);
  const i64 begin = head >= 0 && head < width ? min_of<i64>(head, n) : n;
  const i64 end = begin + (n - begin) / width * width;
  const i64 stride = static_cast<i64>(block.threads()) * width;
  for (i64 i = begin + static_cast<i64>(block.thread()) * width; i < end;
       i += chip_groups * stride) {
    pack<T, width> of[chip_groups];
    static_for<chip_groups>([&](auto u) FLAGGEMS_LAMBDA {
      const i64 at = i + u * stride;
      of[u] = load_pack<width, T>(row.data + (at < end ? at : i));
    });
    static_for<chip_groups>([&](auto u) FLAGGEMS_LAMBDA {
      const i64 at = i + u * stride;
      if (at < end)
        static_for<width>([&](auto k) FLAGGEMS_LAMBDA {
          f(order_key(of[u].at[k], largest), at + k, static_cast<int>(u));
        });
    });
  }
  for (i64 k = block.thread(); k < n - (end - begin); k += block.threads()) {
    const i64 i = k < begin ? k : k + (end - begin);
    f(order_key(x.template read<T>(i), largest), i, 0);
  }
}

/// The k-th least of what the threads' groups have, or a key between it and the next one.
template <class U, class Block>
FLAGGEMS_INLINE U bound_of_groups(const Block& block, i64 k, const U (&least)[chip_groups]) {
  U bound = 0;
  for (int bit = static_cast<int>(sizeof(U)) * 8 - 1; bit >= 0; --bit) {
    const U next = static_cast<U>(bound | static_cast<U>(U(1) << bit));
    i32 mine = 0;
    static_for<chip_groups>([&](auto u) FLAGGEMS_LAMBDA { mine += least[u] < next ? 1 : 0; });
    const i32 below = block.fold(mine, 0, plus{});
    if (below == k) return static_cast<U>(next - 1);
    if (below < k) bound = next;
  }
  return bound;
}

/// Sorts `count` keys in block-local memory, equal ones by their places; `capacity`, a power of
/// two, is at least count.
template <class Block, class Keys, class Places>
FLAGGEMS_INLINE void sort_collected(const Block& block, i64 count, const Keys& keys,
                                    const Places& places) {
  using U = typename Keys::value_type;
  i64 size = 2;
  while (size < count) size *= 2;
  block.for_each(size - count, [&](i64 i) FLAGGEMS_LAMBDA {
    keys.write(count + i, static_cast<U>(~U(0)));
    places.write(count + i, highest<i32>());
  });
  block.sync();
  for (i64 run = 2; run <= size; run *= 2) {
    for (i64 step = run / 2; step > 0; step /= 2) {
      block.for_each(size / 2, [&](i64 i) FLAGGEMS_LAMBDA {
        const i64 low = 2 * i - (i & (step - 1)), high = low + step;
        const U a = keys.read(low), b = keys.read(high);
        const i32 at_a = places.read(low), at_b = places.read(high);
        const bool ordered = a < b || (a == b && at_a < at_b);
        if (ordered != ((low & run) == 0)) {
          keys.write(low, b);
          keys.write(high, a);
          places.write(low, at_b);
          places.write(high, at_a);
        }
      });
      block.sync();
    }
  }
}

/// The k largest (or least) of each row, sorted, and where they came from: k up to chip_most_first,
/// rows of less than 2^31 elements.
template <class T>
struct topk_chip {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 k, row_arg<T> in,
                                  row_target<T> values, row_target<i64> indices, i32 largest) {
    using U = bits_type<T>;
    const auto keys = block.template scratch<U>(chip_collected);
    const auto places = block.template scratch<i32>(chip_collected);
    const auto counters = block.template scratch<i64>(264);
    const bool descending = largest != 0;
    const i64 n = space.length;
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = in.at(c);
      const auto collect = [&](i64 i, i64 place) FLAGGEMS_LAMBDA {
        keys.write(place, order_key(x.template read<T>(i), descending));
        places.write(place, static_cast<i32>(i));
      };
      i64 count = n;
      if (n <= chip_collected) {
        block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA { collect(i, i); });
      } else {
        U bound = static_cast<U>(~U(0));
        if (k <= chip_most_first / 4) {
          U least[chip_groups];
          static_for<chip_groups>([&](auto u) FLAGGEMS_LAMBDA { least[u] = bound; });
          for_each_key<T>(block, x, n, descending, [&](U key, i64, int u) FLAGGEMS_LAMBDA {
            least[u] = min_of(least[u], key);
          });
          bound = bound_of_groups(block, k, least);
          block.single([&]() FLAGGEMS_LAMBDA { counters.write(0, 0); });
          block.sync();
          for_each_key<T>(block, x, n, descending, [&](U key, i64 i, int) FLAGGEMS_LAMBDA {
            if (key > bound) return;
            const i64 place = block.template atomic_add<i64>(counters, 0, 1);
            if (place >= chip_collected) return;
            keys.write(place, key);
            places.write(place, static_cast<i32>(i));
          });
          block.sync();
          count = counters.read(0);
          block.sync();
        }
        if (count > chip_collected) {
          const auto key_at = [&](i64 i) FLAGGEMS_LAMBDA {
            return order_key(x.template read<T>(i), descending);
          };
          select_least<U>(block, n, k, key_at, counters, collect);
          count = k;
        }
      }
      sort_collected(block, count, keys, places);
      // The elements themselves, before the row is overwritten, which may be where it came from.
      block.for_each(k, [&](i64 i) FLAGGEMS_LAMBDA {
        keys.write(i, to_bits(x.template read<T>(places.read(i))));
      });
      block.sync();
      const auto to = values.at(c);
      const auto at = indices.at(c);
      block.for_each(k, [&](i64 i) FLAGGEMS_LAMBDA {
        to.write(i, from_bits<T>(keys.read(i)));
        at.write(i, static_cast<i64>(places.read(i)));
      });
      block.sync();  // the next row collects there
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/topk_chip.hpp");
