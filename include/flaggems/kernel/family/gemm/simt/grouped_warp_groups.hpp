// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Grouped products by warp groups: the main loop of warp_groups.hpp with boxes of the group's
// matrix, and of the rows where these lie behind each other; else its loading warp group copies the
// lines that rows are of, wherever these lie.
#pragma once

#include <flaggems/kernel/family/gemm/grouped.hpp>
#include <flaggems/kernel/family/gemm/simt/results.hpp>
#include <flaggems/kernel/family/gemm/simt/warp_groups.hpp>

namespace flaggems::kernels {

/// As warp_group_space: rows are places of a grouped_space. Tiles are in the order of rows, all
/// columns of some rows one after the other.
template <bool Gathers>
struct grouped_warp_space {
  static constexpr bool groups = true, gathers = Gathers, shares_a = true;
  grouped_space all;
  i32 n, steps, tiles;
  bool b_across;
  bool stores_vectors;              // rows of results are vectors of 8 bytes
  i32 a_batched;                    // of boxes of a, as in warp_group_space
  u32 vectors;                      // of 16 bytes, in a line of a that is copied
  global_ptr<const vec<u32, 4>> a;  // and what they are apart:
  i64 a_group, a_line;
  static constexpr i32 b_batched = 1;
  bool reads_contiguous;  // scales of columns lie behind each other
  static constexpr bool stores_boxes = false, admits = false;

  using search = grouped_rows::search;
  struct place {
    i32 result, batch, step;  // result: the group; batch: the same, 0 if there is no such one
    i32 i, j, end;
    FLAGGEMS_INLINE bool exists() const { return i < end; }
    FLAGGEMS_INLINE bool multiplies() const { return i < end && batch == result; }
  };
  FLAGGEMS_INLINE place locate(search& from, i32 tile, i32 rows, i32 columns) const {
    const u32 across = static_cast<u32>(all.column_tiles), row = static_cast<u32>(tile) / across;
    const grouped_tile at = all.rows.find(from, i64{row}, rows, all.k);
    place r;
    r.result = static_cast<i32>(at.group);
    r.batch = at.group >= 0 && at.group < all.groups ? r.result : 0;
    if (r.batch != r.result) r.result = -1;
    r.step = 0;
    r.i = static_cast<i32>(at.begin);
    r.j = static_cast<i32>(static_cast<u32>(tile) - row * across) * columns;
    r.end = static_cast<i32>(at.end);
    return r;
  }
  struct steps_of_b {
    i32 line, step;
    FLAGGEMS_INLINE steps_of_b(const grouped_warp_space&, const place& at)
        : line(at.j), step(at.step) {}
    FLAGGEMS_INLINE void next(const grouped_warp_space&) { ++step; }
  };
  FLAGGEMS_INLINE i32 row_end(const place& at) const { return at.end; }
  FLAGGEMS_INLINE i32 row(i32 i) const {
    return static_cast<i32>(all.placed.result(i, all.placed.row(i)));
  }
  FLAGGEMS_INLINE i32 line(const place& at, i32 i) const {
    if (i >= at.end) return -1;
    if constexpr (!Gathers) return i;
    const i64 of = all.placed.row(i);
    return of < 0 ? -1 : static_cast<i32>(all.placed.line(i, of));
  }
  FLAGGEMS_INLINE global_ptr<const vec<u32, 4>> vector_of(const place& at, i32 line,
                                                          u32 term) const {
    return a + (at.batch * a_group + max_of(line, 0) * a_line + (line < 0 ? 0 : term));
  }
};

/// What columns have in results: one scale at most, scales of f32 (one a column and group), or any
/// scales and a bias, whose code is repeated for each sum.
enum class column_numbers { none, scales, any };

/// What is made of a tile's sums, in the place of an epilogue: that of grouped_results.
template <class Out, column_numbers Columns>
struct grouped_finish {
  static constexpr bool has_scales = Columns == column_numbers::scales;
  const grouped_space& space;
  const coded_lines &a, &b;
  const grouped_out<Out>& out;

  /// Of two rows of a tile.
  struct rows {
    const grouped_finish& all;
    i64 group, first;
    global_ptr<const f32> columns;
    f32 by[2], weights[2];
    template <class C, class Lane>
    FLAGGEMS_INLINE f32 add(i64 i, Lane lane, C sum) const {
      // (Of no group the sums are those of an earlier tile.)
      f32 x = sum_as_f32(sum) * (i == first ? by[0] : by[1]);
      if constexpr (has_scales) x = x * load<f32>(columns, all.b.scales.line, lane);
      if constexpr (Columns == column_numbers::any) {
        if (group < 0) return 0.0F;
        x = x * all.b.factor(group, lane.begin);
        if (all.out.bias.data != nullptr) x = x + all.out.bias.at(group, lane.begin, 0);
        x = x * (i == first ? weights[0] : weights[1]);
      }
      return group < 0 ? 0.0F : x;
    }
  };
  struct tile {
    const grouped_finish& all;
    i64 group;
    FLAGGEMS_INLINE rows of_rows(i32 upper, i32 lower) const {
      rows r{all, group, upper, nullptr, {0, 0}, {1, 1}};
      if constexpr (has_scales)
        r.columns = reinterpret_cast<global_ptr<const f32>>(all.b.scales.data) +
                    (group < 0 ? i64{0} : group * all.b.scales.group);
      FLAGGEMS_SIMT_UNROLL
      for (int h = 0; h < 2; ++h) {
        const i32 place = h == 0 ? upper : lower;
        const i64 row = all.space.placed.row(place);
        if (row < 0 || group < 0) continue;
        r.by[h] = all.a.factor(group, all.space.placed.line(place, row));
        if (all.out.weights != nullptr) r.weights[h] = all.out.weights[row];
        if constexpr (Columns != column_numbers::any) r.by[h] *= r.weights[h];
        if constexpr (Columns == column_numbers::none) r.by[h] *= all.b.factor(group, 0);
      }
      return r;
    }
  };
  FLAGGEMS_INLINE tile at(const coordinates& batch, i64) const { return {*this, batch.at[0]}; }
  FLAGGEMS_INLINE tile at(const ranked_coordinates<1>& batch, i64) const {
    return {*this, batch.at[0]};
  }
};

/// As gemm_grouped, of T by T, of which there are maps, of the first one unless it Gathers; rows
/// are grouped, not terms. Sums as gemm_warp_groups has them.
template <class T, class Out, class Tile, class Sums, column_numbers Columns, bool Gathers>
struct gemm_grouped_warp_groups : warp_group_kernel<Tile::threads, Tile::scratch> {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const grouped_warp_space<Gathers>& space,
                                  const tensor_map& a_boxes, const tensor_map& b_boxes,
                                  const coded_lines& a, const coded_lines& b,
                                  const grouped_out<Out>& out, const Sums& how) {
    if constexpr (warp_group_unit<typename Block::machine_type>::exists) {
      using C = mma_sum<T>;
      using last = grouped_finish<Out, Columns>;
      const last finish{space.all, a, b, out};
      const gemm_out<Out, C> to{out.data, out.row, out.column, {out.group}, C(1)};
      warp_group_product<Block, T, Out, last, Tile, Sums, grouped_warp_space<Gathers>>(
          block, space, a_boxes, b_boxes, b_boxes, to, finish, how)
          .run();
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/grouped_warp_groups.hpp");
