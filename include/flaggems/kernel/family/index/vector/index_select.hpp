// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Gathers of rows and elements on the host.
#pragma once

#include <flaggems/kernel/family/copy/vector/rows.hpp>
#include <flaggems/kernel/family/index/index_select.hpp>

namespace flaggems::kernels {

/// Rows in random order, whose first lines are prefetched: hardware cannot predict them.
template <class T, class J, class Isa>
FLAGGEMS_HOST_INLINE void select_rows(const host_block<Isa>& block, i64 rows, i64 n, bool streamed,
                                      const strided_rows<T>& to, const selected_rows<T, J>& given) {
  constexpr i64 ahead = 16;
  const selected_rows<T, J> from = given;  // a copy, which stores cannot alias
  T* const first = to.data;
  const i64 stride = to.stride, lines = min_of(n * static_cast<i64>(sizeof(T)), i64{256});
  block.for_each_tile(rows, [=, &block](i64 row) FLAGGEMS_LAMBDA {
    if (row + ahead < rows) {
      const auto* const next = reinterpret_cast<const unsigned char*>(from.row(row + ahead));
      for (i64 i = 0; i < lines; i += 64) __builtin_prefetch(next + i);
    }
    copy_row<T>(block, first + row * stride, from.row(row), n, streamed);
  });
}

/// Sets *wrong to 1 if an index is outside [0, size). An i64 is compared as two words, the upper
/// one with 0, as g++ keeps vectors wider than registers in memory.
template <class J>
struct find_outside {
  static constexpr i64 tile = 8192;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, const J* index, i64 size, i32* wrong) {
    static_assert(words == 1 || words == 2);
    block.for_each_share(ceil_div(n, tile), [&](i64 first, i64 last) FLAGGEMS_LAMBDA {
      const i64 begin = first * tile, end = min_of(n, last * tile);
      const bool found = words == 2 && size > i64{max_word} + 1
                             ? is_long_outside(index + begin, end - begin, size - 1)
                             : is_outside(block, index + begin, end - begin, size - 1);
      if (found) __atomic_store_n(wrong, 1, __ATOMIC_RELAXED);
    });
  }

 private:
  static constexpr int words = static_cast<int>(sizeof(J) / sizeof(i32));
  static constexpr i32 max_word = highest<i32>();

  struct bits_of_either {
    template <class V>
    FLAGGEMS_HOST_INLINE V operator()(const V& a, const V& b) const {
      return a | b;
    }
  };
  template <class Block>
  FLAGGEMS_HOST_INLINE static bool is_outside(const Block& block, const J* index, i64 n, i64 most) {
    i32 limits[16];  // lanes of any level
    for (int k = 0; k < 16; ++k)
      limits[k] = k % words == 0 ? static_cast<i32>(min_of(most, i64{max_word})) : 0;
    const auto* const from = reinterpret_cast<const i32*>(index);
    // The sign is set of a word below 0, or above the limit.
    const i32 all =
        block.reduce(n * words, i32(0), bits_of_either(), [=, &limits](auto lane) FLAGGEMS_LAMBDA {
          const auto k = load<i32>(from, lane);
          lane.begin = 0;
          const auto limit = load<i32>(limits, lane);
          return k | (limit - k);
        });
    return all < 0;
  }
  /// The same where `most` has more than a word.
  FLAGGEMS_NOINLINE static bool is_long_outside(const J* index, i64 n, i64 most) {
    bool found = false;
    for (i64 i = 0; i < n; ++i) found |= static_cast<i64>(index[i]) < 0 || i64(index[i]) > most;
    return found;
  }
};

/// to[i] = at(i), with four independent loads.
template <class T, class At>
FLAGGEMS_HOST_INLINE void gather_elements(T* to, i64 n, const At& at) {
  i64 i = 0;
  for (; i + 4 <= n; i += 4) {
    T x[4];
    static_for<4>([&](auto k) FLAGGEMS_LAMBDA { x[k] = at(i + k); });
    static_for<4>([&](auto k) FLAGGEMS_LAMBDA { to[i + k] = x[k]; });
  }
  for (; i < n; ++i) to[i] = at(i);
}
template <class T, class J, class Isa>
FLAGGEMS_HOST_INLINE void gather_row(const host_block<Isa>&, T* to, const T* from, i64 step,
                                     const J* index, i64 n) {
  if (step == 1)
    gather_elements(to, n, [=](i64 i) FLAGGEMS_LAMBDA { return from[index[i]]; });
  else
    gather_elements(to, n,
                    [=](i64 i) FLAGGEMS_LAMBDA { return from[static_cast<i64>(index[i]) * step]; });
}

}  // namespace flaggems::kernels
