// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of groups of rows, each with a matrix of its own: which rows a group has is read from
// memory by the kernel, so that nothing waits for it.
#pragma once

#include <flaggems/kernel/family/gemm/coded.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>

namespace flaggems::kernels {

/// A tile of one group's product: places [begin, end) of rows, and the terms. Without rows if
/// begin >= end.
struct grouped_tile {
  i64 group, begin, end, first_term, last_term;
};

/// How rows are grouped.
enum class grouping : i32 {
  rows_to_ends,    // group g has the places up to ends[g], from those of the group before on
  rows_in_blocks,  // `block` places have the group ends[block]; those behind *count have none
  terms_to_ends    // each group has all rows, and the terms up to ends[g]; all terms without ends
};

struct grouped_rows {
  grouping by;
  global_ptr<const i32> ends, count;
  i64 groups, places, block;

  /// Rows that tiles of so many rows have, at most.
  FLAGGEMS_INLINE i64 tiles(i64 rows) const {
    if (by == grouping::rows_in_blocks) return ceil_div(places, block) * ceil_div(block, rows);
    if (by == grouping::terms_to_ends) return groups * ceil_div(places, rows);
    return places / rows + min_of(groups, places);
  }
  FLAGGEMS_INLINE grouped_tile find(i64 tile, i64 rows, i64 terms) const {
    search from;
    return find(from, tile, rows, terms);
  }
  /// Where the search for the next tile begins, which is not before the last one.
  struct search {
    i64 group = 0, first = 0, tiles = 0;  // of all groups before
  };
  FLAGGEMS_INLINE grouped_tile find(search& from, i64 tile, i64 rows, i64 terms) const {
    grouped_tile t{-1, 0, 0, 0, terms};
    if (by == grouping::rows_in_blocks) {
      const i64 of_block = ceil_div(block, rows), b = tile / of_block;
      t.begin = b * block + (tile - b * of_block) * rows;
      t.end = min_of(min_of(t.begin + rows, (b + 1) * block), places);
      if (count != nullptr && t.begin >= *count) t.end = t.begin;
      if (t.begin < t.end) t.group = ends[b];
    } else if (by == grouping::terms_to_ends) {
      const i64 of_group = ceil_div(places, rows), g = tile / of_group;
      t.group = g;
      t.begin = (tile - g * of_group) * rows;
      t.end = min_of(t.begin + rows, places);
      if (ends == nullptr) return t;
      t.first_term = g == 0 ? 0 : clamped(ends[g - 1], 0, terms);
      t.last_term = clamped(ends[g], t.first_term, terms);
    } else {
      for (; from.group < groups; ++from.group) {
        const i64 last = clamped(ends[from.group], from.first, places);
        const i64 some = ceil_div(last - from.first, rows);
        if (tile < from.tiles + some) {
          t.group = from.group;
          t.begin = from.first + (tile - from.tiles) * rows;
          t.end = min_of(t.begin + rows, last);
          return t;
        }
        from.tiles += some;
        from.first = last;
      }
    }
    return t;
  }

 private:
  FLAGGEMS_INLINE static i64 clamped(i64 x, i64 low, i64 high) {
    return max_of(low, min_of(x, high));
  }
};

/// Rows by their places: row ids[place], or the place itself; ids outside [0, count) are none. Row
/// r is of line r / share of the first operand, or of line `place` if it reads places, and so it is
/// row r of the result, or row `place` if it writes places.
struct placed_rows {
  global_ptr<const i32> ids;
  i64 count, share;
  bool reads_places = false, writes_places = false;
  FLAGGEMS_INLINE i64 row(i64 place) const {
    const i64 r = ids == nullptr ? place : i64{ids[place]};
    return r < count ? r : -1;
  }
  FLAGGEMS_INLINE i64 line(i64 place, i64 row) const {
    if (row < 0) return 0;
    return reads_places ? place : i64{static_cast<u32>(row) / static_cast<u32>(share)};
  }
  /// The row of the result; below 0: none.
  FLAGGEMS_INLINE i64 result(i64 place, i64 row) const {
    return writes_places && row >= 0 ? place : row;
  }
};

/// One grouped product; groups outside [0, groups) have zeros for results.
struct grouped_space {
  grouped_rows rows;
  placed_rows placed;
  i64 groups, n, k;
  i64 row_tiles, column_tiles;
};

/// out[row, j] = (sum * scales of lines + bias[group, j]) * weight[row].
template <class Out>
struct grouped_out {
  global_ptr<Out> data;
  i64 group, row, column;
  coded_numbers bias;
  global_ptr<const f32> weights;
};

/// What is made of the sums of one tile.
template <class Out>
struct grouped_results {
  const grouped_space& space;
  const coded_lines &a, &b;
  const grouped_out<Out>& out;
  const grouped_tile& tile;

  FLAGGEMS_INLINE bool is_zero() const { return tile.group < 0 || tile.group >= space.groups; }
  FLAGGEMS_INLINE i64 terms() const { return is_zero() ? 0 : tile.last_term - tile.first_term; }
  /// The line of the first operand that row i of the tile is of; -1 if there is none.
  FLAGGEMS_INLINE i64 line(i64 i) const {
    if (is_zero() || i >= tile.end - tile.begin) return -1;
    const i64 row = space.placed.row(tile.begin + i);
    return row < 0 ? -1 : space.placed.line(tile.begin + i, row);
  }
  /// Of row i of the tile, columns [j, j + count).
  FLAGGEMS_INLINE void store(i64 i, i64 j, const f32* sums, int count) const {
    const i64 place = tile.begin + i, row = space.placed.row(place);
    if (row < 0) return;
    const bool zero = is_zero();
    const i64 group = zero ? 0 : tile.group;
    const f32 by = zero ? 0.0F : a.factor(group, space.placed.line(place, row));
    const f32 weight = out.weights == nullptr ? 1.0F : out.weights[row];
    const global_ptr<Out> to =
        out.data + group * out.group + space.placed.result(place, row) * out.row;
    FLAGGEMS_SIMT_NO_UNROLL
    for (int e = 0; e < count && j + e < space.n; ++e) {
      f32 x = 0;
      if (!zero) {
        x = sums[e] * by * b.factor(group, j + e);
        if (out.bias.data != nullptr) x = x + out.bias.at(group, j + e, 0);
        x = x * weight;
      }
      to[(j + e) * out.column] = number_cast<Out>(x);
    }
  }
};

/// The product in tiles of Rows x Columns results, Depth terms at a time: boxes of both operands
/// and the sums are in block-local memory, as f32.
template <class Out, int Rows, int Columns, int Depth>
struct gemm_grouped {
  static constexpr int lines = 8;            // rows of sums in registers
  static constexpr int pitch = Columns + 1;  // of a term's elements: writes have no conflicts
  static constexpr int box_a = Depth * Rows, box_b = Depth * pitch;
  static constexpr int runs = Depth / coded_lines::run;
  static_assert(Rows % lines == 0 && Depth % coded_lines::run == 0);

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, grouped_space space, coded_lines a, coded_lines b,
                                  grouped_out<Out> out) {
    const auto panel_a = block.template scratch<f32>(box_a);
    const auto panel_b = block.template scratch<f32>(box_b);
    const auto sums = block.template scratch<f32>(Rows * pitch);
    block.for_each_tile(space.row_tiles * space.column_tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const i64 column = index / space.row_tiles;
      const grouped_tile tile = space.rows.find(index - column * space.row_tiles, Rows, space.k);
      const int rows = static_cast<int>(tile.end - tile.begin);
      if (rows <= 0) return;
      const i64 j = column * Columns;
      const int columns = static_cast<int>(min_of(i64{Columns}, space.n - j));
      const grouped_results<Out> results{space, a, b, out, tile};
      const i64 terms = results.terms();
      i64 start = 0;
      do {
        const int n = static_cast<int>(min_of(i64{Depth}, terms - start));
        const i64 first = tile.first_term + start;
        block.sync();  // the boxes may still be read
        block.for_each(i64{rows} * runs, [&](i64 e) FLAGGEMS_LAMBDA {
          const int i = static_cast<int>(e) / runs, q = static_cast<int>(e) % runs;
          const i64 line = max_of(results.line(i), i64{0});
          put(panel_a, i, Rows, q, n, a, tile.group, line, first);
        });
        block.for_each(i64{columns} * runs, [&](i64 e) FLAGGEMS_LAMBDA {
          const int i = static_cast<int>(e) / runs, q = static_cast<int>(e) % runs;
          put(panel_b, i, pitch, q, n, b, tile.group, j + i, first);
        });
        block.sync();
        for (int g = 0; g < rows; g += lines) {
          const auto sum = sums.from(g * pitch);
          block.for_each_lane(i64{columns}, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), f32>;
            V acc[lines];
            static_for<lines>([&](auto r) FLAGGEMS_LAMBDA {
              acc[r] = start == 0 ? V(0.0F) : load<f32>(sum.from(r * pitch), lane);
            });
            for (int q = 0; q < n; ++q) {
              const V y = load<f32>(panel_b.from(q * pitch), lane);
              static_for<lines>([&](auto r) FLAGGEMS_LAMBDA {
                // Behind the last row it is repeated: computed, not stored.
                acc[r] =
                    multiply_add<V>(V(panel_a.read(q * Rows + min_of(g + r, rows - 1))), y, acc[r]);
              });
            }
            static_for<lines>([&](auto r)
                                  FLAGGEMS_LAMBDA { store(sum.from(r * pitch), lane, acc[r]); });
          });
        }
        start += Depth;
      } while (start < terms);
      block.sync();  // another thread's sums
      block.for_each(i64{rows} * columns, [&](i64 e) FLAGGEMS_LAMBDA {
        const int i = static_cast<int>(e) / columns, c = static_cast<int>(e) - i * columns;
        const f32 sum = sums.read(i * pitch + c);
        results.store(i, j + c, &sum, 1);
      });
    });
  }

 private:
  /// Writes a run of terms of line i of a box.
  template <class Panel>
  FLAGGEMS_INLINE static void put(const Panel& panel, int i, int pitch_of, int q, int n,
                                  const coded_lines& x, i64 group, i64 line, i64 first) {
    constexpr int run = coded_lines::run;
    const int left = min_of(n - q * run, run);
    if (left <= 0) return;
    f32 values[run];
    x.read(group, line, first + q * run, left, values);
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < run; ++e) panel.write((q * run + e) * pitch_of + i, values[e]);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/grouped.hpp");
