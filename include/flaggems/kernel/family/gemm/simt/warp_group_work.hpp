// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The work of products by warp groups: their tiles, the boxes of operands, and how steps are
// summed.
#pragma once

#include <flaggems/kernel/block/simt/warp_group.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>

namespace flaggems::kernels {

/// A block's tile of Rows x Columns results, of which Consumers warp groups have Rows / Consumers
/// rows each or, if PingPong, a tile each in turn: one multiplies while the other stores. Cluster
/// blocks have tiles below each other.
template <int Rows, int Columns, int Stages, int Cluster, bool PingPong>
struct warp_group_tile {
  static constexpr int m = Rows, n = Columns, stages = Stages, cluster = Cluster;
  static constexpr int line_bytes = 128;  // of a step: what the copy engine swizzles
  static constexpr bool ping_pong = PingPong;
  static constexpr int consumers = 2, threads = 128 * (consumers + 1);
  static constexpr int rows = PingPong ? Rows : Rows / consumers;  // of a warp group
  static constexpr int parts = rows / 64;                          // wgmma has 64 rows
  static constexpr u32 a_bytes = Rows * line_bytes;
  static constexpr u32 b_bytes = (Columns + 63) / 64 * 64 * line_bytes;
  static constexpr u32 stage_bytes = a_bytes + b_bytes;
  // Results leave by slabs of 16 rows of a warp, which has two.
  static constexpr int slab = Columns % 64 == 0 ? 64 : Columns % 32 == 0 ? 32 : 16;
  static constexpr int slab_rows = 16;
  static constexpr u32 slab_bytes = slab_rows * slab * 2,
                       slabs_bytes = consumers * 4 * 2 * slab_bytes;
  static constexpr u32 scratch = stages * stage_bytes + slabs_bytes + 16 * stages;
  static_assert(rows % 64 == 0 && Columns % 16 == 0 && Columns <= 256);
};

/// Tiles of a cluster's rows, of all batches. With split-K, a part of the sums is one more batch of
/// results.
struct warp_group_space {
  i32 m, n;
  i32 steps;    // along the sum, of a part
  i32 batches;  // of the operands
  i32 row_tiles, column_tiles, tiles;
  i32 group;                 // row tiles that pass over all columns together, to stay in L2
  i32 a_batched, b_batched;  // 0: an operand is the same for all batches; 1
  bool a_across, b_across;   // as enum major says
  bool stores_boxes;         // results by the copy engine
  bool reads_contiguous;  // what is added to the results has no strides along their columns but 1
  bool admits;            // the next launch, early
  // Lines of b are in pieces of so many steps, each so many lines further on.
  i32 turn_steps = 1 << 30, turn_lines = 0;

  // What other kinds of work may do: `groups`, rows are of groups, and places say whether they
  // exist and multiply; `gathers`, a warp group copies lines of a, which lie anywhere, instead of
  // boxes; `shares_a`, clusters do; `steps_of_b`, where its boxes lie; `search`, what remains from
  // one tile to the next.
  static constexpr bool groups = false, gathers = false, shares_a = false;
  struct search {};
  struct place {
    i32 result, batch, step;  // of results and operands; along the sum, the first one
    i32 i, j;
  };
  FLAGGEMS_INLINE place locate(search&, i32 tile, i32 rows, i32 columns) const {
    const u32 of_result = static_cast<u32>(row_tiles) * static_cast<u32>(column_tiles);
    const u32 result = static_cast<u32>(tile) / of_result;
    const u32 part = result / static_cast<u32>(batches);
    const tile_in_order in(static_cast<u32>(tile) - result * of_result, static_cast<u32>(group),
                           static_cast<u32>(row_tiles), static_cast<u32>(column_tiles));
    place at;
    at.result = static_cast<i32>(result);
    at.batch = at.result - static_cast<i32>(part) * batches;
    at.step = static_cast<i32>(part) * steps;
    at.i = static_cast<i32>(in.row) * rows;
    at.j = static_cast<i32>(in.column) * columns;
    return at;
  }
  /// The line of the next box of b, and its step in that line.
  struct steps_of_b {
    i32 line, step, left;
    FLAGGEMS_INLINE steps_of_b(const warp_group_space& space, const place& at) {
      const i32 turns = at.step / space.turn_steps;
      line = at.j + turns * space.turn_lines;
      step = at.step - turns * space.turn_steps;
      left = space.turn_steps - step;
    }
    FLAGGEMS_INLINE void next(const warp_group_space& space) {
      ++step;
      if (--left > 0) return;
      line += space.turn_lines;
      step = 0;
      left = space.turn_steps;
    }
  };
  /// Where rows end.
  FLAGGEMS_INLINE i32 row_end(const place&) const { return m; }
  /// The line of a that row i is of, and the row of the result; below 0: none.
  FLAGGEMS_INLINE i32 line(const place&, i32 i) const { return i; }
  FLAGGEMS_INLINE i32 row(i32 i) const { return i; }
};

/// The boxes of a tile of `Lines` rows (or columns) of an operand and 128 bytes along the sum. Each
/// of `Sharers` blocks of a cluster loads some of the boxes for all by multicast: rows, or terms
/// where rows are contiguous (of 16 bits, so 64 of both).
template <major Major, int Lines, int Sharers>
struct operand_boxes {
  static constexpr bool is_across = Major == major::across;
  static constexpr int count = is_across ? ceil_div(Lines, 64) : 1;
  static constexpr int rows = (is_across ? 64 : Lines) / Sharers;  // of a box
  static constexpr u32 bytes = count * rows * Sharers * 128;       // by all
  /// How far a descriptor moves for the next 32 bytes of terms, in 16 bytes.
  static constexpr u64 step = is_across ? 16 * 128 / 16 : 32 / 16;
  static_assert(rows % 8 == 0 && rows <= 256);

  template <class Unit>
  FLAGGEMS_INLINE static void load(const Unit& unit, const tensor_map& map, u32 to, i32 line, i32 k,
                                   i32 batch, u32 bar, u32 share) {
    const i32 first = static_cast<i32>(share) * rows;
    FLAGGEMS_SIMT_UNROLL
    for (int s = 0; s < count; ++s) {
      const box_corner<3> at = {
          {is_across ? line + s * 64 : k, (is_across ? k : line) + first, batch}};
      const u32 here = to + static_cast<u32>(s * 64 + first) * 128;
      if constexpr (Sharers > 1)
        unit.load_box(here, map, at, bar, static_cast<u16>((1U << Sharers) - 1));
      else
        unit.load_box(here, map, at, bar);
    }
  }
};

// How a tile's steps are summed: `by_step`, each by itself, and then added up; `scales`, after
// multiplication by what the step has for its rows and columns.

/// The unit sums all steps.
struct sums_of_unit {
  static constexpr bool by_step = false;
};
/// Steps are added up in f32: units sum 8-bit floats with 14 bits of a number.
struct sums_in_f32 {
  static constexpr bool by_step = true;
  static constexpr bool scales = false;
};
/// And each step has a scale a row of a, and one for 128 lines of b.
struct sums_of_blocks {
  static constexpr bool by_step = true;
  static constexpr bool scales = true;
  static constexpr int lines = 128;
  global_ptr<const f32> a, b;
  i64 a_row, a_step, b_row, b_step, a_batch = 0, b_batch = 0;
};

/// What a step's sums are multiplied by: nothing.
struct no_factors {
  template <class C>
  FLAGGEMS_INLINE C add(int, int, C sum, C all) const {
    return all + sum;
  }
};
/// The scales of a thread's rows, times the one of the tile's columns.
template <int Parts>
struct block_factors {
  f32 at[Parts][2];
  FLAGGEMS_INLINE f32 add(int p, int e, f32 sum, f32 all) const {
    return fma(sum, at[p][e / 2 % 2], all);
  }
};
/// The lines of a whose scales a thread's rows have, looked up once a tile where lines are
/// anywhere.
template <class Space, class Sums, int Parts>
struct rows_of_scales {
  i32 first, last, lines[Space::groups ? 2 * Parts : 1];
  FLAGGEMS_INLINE rows_of_scales(const Space& space, const typename Space::place& to, u32 thread)
      : first(to.i + static_cast<i32>(thread / 32 * 16 + thread % 32 / 4)),
        last(space.row_end(to) - 1),
        lines{} {
    if constexpr (Space::groups && Sums::scales) {
      FLAGGEMS_SIMT_UNROLL
      for (int e = 0; e < 2 * Parts; ++e)
        lines[e] = max_of(space.line(to, min_of(first + e / 2 * 64 + e % 2 * 8, last)), 0);
    }
  }
  FLAGGEMS_INLINE i32 operator()(int p, int h) const {
    if constexpr (Space::groups)
      return lines[2 * p + h];
    else
      return min_of(first + p * 64 + h * 8, last);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/warp_group_work.hpp");
