// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the gradients of attention by warp groups (warp_group_gradients.hpp) are cut into: tiles,
// and units of work, of one length or of sequences, with and without windows.
#pragma once

#include <flaggems/kernel/family/attention/backward.hpp>
#include <flaggems/kernel/family/attention/simt/sequence_warp_units.hpp>

namespace flaggems::kernels {

/// A block's tile of a pass: Consumers warp groups of 64 rows each, which pass over Others at a
/// time, of which Stages are in block-local memory; heads of up to Size elements.
template <attention_side Side, int Size, int Others, int Consumers, int Stages>
struct attention_gradient_tile {
  static constexpr attention_side side = Side;
  static constexpr int d = Size, n = Others, m = 64 * Consumers, consumers = Consumers;
  static constexpr int stages = Stages, threads = 128 * (Consumers + 1);
  static constexpr int box = 64, boxes = ceil_div(Size, box);
  static constexpr u32 row_bytes = boxes * m * 128, other_bytes = boxes * n * 128;
  // What each query has: its logarithm and its sum, with room for those before that sequences load
  // (attention_gradient_by_warp_groups::sums).
  static constexpr u32 sums_bytes =
      Side == attention_side::keys ? round_up(2 * (n + 4) * 4, 128) : 0;
  static constexpr int scratch =
      static_cast<int>(2 * row_bytes + Stages * (2 * other_bytes + sums_bytes) + 16 * (Stages + 1));
  static constexpr int few_registers = Consumers == 3 ? 32 : Size > 64 ? 24 : 40;
  static constexpr int many_registers = Consumers == 3 ? 160 : Size > 64 ? 240 : 232;
  static_assert(Size % 64 == 0 && Others % 16 == 0 && (Consumers == 2 || Consumers == 3));
};

/// The problem of a pass. Batches are those of the rows' heads; rows of the batches, and others.
struct attention_gradient_bounds;
struct attention_gradient_space {
  using bounds_type = attention_gradient_bounds;
  /// Whether others of another sequence may be behind a tile's own.
  static constexpr bool has_sequences = false;
  /// Whether a position does not see all keys before its own (windowed_gradients).
  static constexpr bool has_windows = false;
  i32 queries, keys, head_size, value_size;
  i32 diagonal;  // position i sees the keys j <= i + diagonal
  i32 group;     // heads of the queries that share keys
  f32 scale;
  divider heads;                   // of the operands' inner batches
  divider sharers;                 // heads of the rows in a batch of the operands
  divider at_once, tiles_at_once;  // as of prefill_space
  u32 row_tiles, batches, tiles, turns;
  divider padded;  // queries, as the sums have room for
  u32 sums;        // of all queries
  bool is_grad_aligned, is_grad_value_aligned;
};
/// The same of sequences: queries and keys are those of all, row_tiles those of a plan.
struct sequence_gradient_bounds;
struct sequence_gradient_space : attention_gradient_space {
  using bounds_type = sequence_gradient_bounds;
  static constexpr bool has_sequences = true;
  i32 right;  // as in sequence_space
  global_ptr<const sequence_tile_plan> plan;
};
/// A problem with windows: of the keys before its own, a position sees `left`. Of one length, the
/// keys before the first position's own are taken from it.
template <class Space>
struct windowed_gradients : Space {
  static constexpr bool has_windows = true;
  i32 left;
};

/// What the rows of a unit are of.
struct attention_gradient_bounds {
  i32 queries, keys, diagonal;
  bool exists;
  // Where queries and keys begin among the rows of the operands.
  static constexpr i32 query_at = 0, key_at = 0;
  template <class Space>
  FLAGGEMS_INLINE attention_gradient_bounds(const Space& space, const attention_turn& turn, bool)
      : queries(space.queries), keys(space.keys), diagonal(space.diagonal), exists(turn.exists) {}
  FLAGGEMS_INLINE i32 shift() const { return 0; }
  /// The first row of a tile of so many: the last queries see most, the first keys are seen most.
  template <class Space>
  FLAGGEMS_INLINE i32 first_row(const Space& space, u32 rank, bool of_queries, i32 rows) const {
    return static_cast<i32>(of_queries ? space.row_tiles - 1 - rank : rank) * rows;
  }
};
struct sequence_gradient_bounds {
  i32 query_at, queries, key_at, keys, first, diagonal;
  bool exists;
  template <class Space>
  FLAGGEMS_INLINE sequence_gradient_bounds(const Space& space, const attention_turn& turn,
                                           bool of_queries)
      : sequence_gradient_bounds(space.plan[turn.rank], space.right, turn.exists, of_queries) {}
  FLAGGEMS_INLINE i32 shift() const { return keys - queries; }
  template <class Space>
  FLAGGEMS_INLINE i32 first_row(const Space&, u32, bool, i32) const {
    return first;
  }

 private:
  FLAGGEMS_INLINE sequence_gradient_bounds(const sequence_tile_plan& plan, i32 right, bool is_unit,
                                           bool of_queries)
      : query_at(plan.query_at),
        queries(plan.queries),
        key_at(plan.key_at),
        keys(plan.keys),
        first(plan.first),
        diagonal(right < 0 ? plan.keys : plan.keys - plan.queries + right),
        exists(is_unit && (of_queries ? plan.queries : plan.keys) > 0) {}
};

/// A tile of rows, and the tiles of others that they see, of each head of those.
template <class Tile, class Space>
struct attention_gradient_unit {
  static constexpr bool of_queries = Tile::side == attention_side::queries;
  using bounds_type = typename Space::bounds_type;
  bounds_type bounds;
  decode_place place;
  i32 batch, head, first;
  i32 left;        // of windows: position i sees the keys from i - left
  i32 begin, end;  // tiles of others
  /// Tiles that hide no other from any row, of a problem with windows; else only those that the
  /// diagonal crosses hide some: of queries they end the tiles, of keys they begin them.
  i32 whole_begin, whole_end;

  FLAGGEMS_INLINE attention_gradient_unit(const Space& space, u32 index)
      : attention_gradient_unit(space, attention_turn(space, index)) {}
  FLAGGEMS_INLINE bool exists() const { return bounds.exists; }
  FLAGGEMS_INLINE i32 rows() const { return of_queries ? bounds.queries : bounds.keys; }
  FLAGGEMS_INLINE i32 others() const { return of_queries ? bounds.keys : bounds.queries; }
  FLAGGEMS_INLINE i32 row_at() const { return of_queries ? bounds.query_at : bounds.key_at; }
  FLAGGEMS_INLINE i32 other_at() const { return of_queries ? bounds.key_at : bounds.query_at; }
  /// Of a row's others the end, where it is a query, else the begin, by the diagonal; ...
  FLAGGEMS_INLINE i32 bound(i32 row) const {
    return of_queries ? max_of(0, min_of(bounds.keys, row + bounds.diagonal + 1))
                      : max_of(0, row - bounds.diagonal);
  }
  /// ... and the other one, by the window.
  FLAGGEMS_INLINE i32 window_bound(i32 row) const {
    return of_queries ? max_of(0, row - left) : max_of(0, min_of(bounds.queries, row + left + 1));
  }
  FLAGGEMS_INLINE bool hides(i32 tile) const {
    if constexpr (Space::has_windows) return tile < whole_begin || tile >= whole_end;
    return of_queries ? tile >= whole_end : tile < whole_begin;
  }

 private:
  FLAGGEMS_INLINE attention_gradient_unit(const Space& space, const attention_turn& turn)
      : bounds(space, turn, of_queries), place(space, 0), left(0) {
    const u32 of_operands = space.sharers.quotient(turn.batch);
    place = decode_place(space, of_operands);
    batch = static_cast<i32>(of_operands);
    head = static_cast<i32>(turn.batch - of_operands * space.sharers.divisor);
    first = bounds.first_row(space, turn.rank, of_queries, Tile::m);
    const i32 last = min_of(first + Tile::m, rows()) - 1;
    if constexpr (Space::has_windows) left = space.left - bounds.shift();
    if constexpr (of_queries) {
      begin = Space::has_windows ? window_bound(first) / Tile::n : 0;
      end = ceil_div(bound(last), Tile::n);
      whole_begin = Space::has_windows ? ceil_div(window_bound(last), Tile::n) : 0;
      whole_end = bound(first) / Tile::n;
    } else {
      begin = bound(first) / Tile::n;
      end = ceil_div(Space::has_windows ? window_bound(last) : bounds.queries, Tile::n);
      whole_begin = ceil_div(bound(last), Tile::n);
      whole_end = Space::has_windows ? window_bound(first) / Tile::n : end;
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/gradient_units.hpp");
