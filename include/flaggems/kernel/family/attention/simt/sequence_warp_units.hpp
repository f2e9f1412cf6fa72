// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Sequences of several lengths for attention by warp groups (warp_groups.hpp): a small launch plans
// the tiles, those of the most keys first, so that blocks that take them in turns end together.
#pragma once

#include <flaggems/kernel/family/attention/simt/sequences_mma.hpp>
#include <flaggems/kernel/family/attention/simt/warp_group_units.hpp>

namespace flaggems::kernels {

/// A tile of rows of a sequence: whose positions begin at row `query_at`, and its keys at `key_at`.
struct alignas(16) sequence_tile_plan {
  i32 query_at, queries, key_at, keys;
  i32 first, sequence;  // the tile's first position; no tile if there are no queries
  i32 unused[2];
};

/// Finds the tiles of all sequences, of so many positions each, and orders them by the keys that
/// they see. The rest of the `count` tiles get no queries and no keys. OfKeys: tiles of keys, by
/// the queries that see them: the same, counted from the last ones back.
template <bool OfKeys>
struct sequence_tile_planning {
  static constexpr int max_threads = 128;

  /// The rows and others of a sequence: row i sees the others j <= i + diagonal.
  struct sides {
    i64 rows, others, diagonal;
    FLAGGEMS_INLINE sides(const sequence_bounds& s, i64 right)
        : rows(OfKeys ? s.keys : s.queries),
          others(OfKeys ? s.queries : s.keys),
          diagonal(!OfKeys     ? s.diagonal(right)
                   : right < 0 ? s.queries
                               : right) {}
    /// The tiles that see more than `seen` others.
    FLAGGEMS_INLINE i64 tiles_beyond(i64 positions, i64 seen) const {
      const i64 tiles = ceil_div(rows, positions);
      if (seen < 0) return tiles;
      if (others <= seen) return 0;
      const i64 before = seen - diagonal;  // rows that see no more
      if (before >= rows) return 0;
      return tiles - max_of(before, i64(0)) / positions;
    }
  };

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const sequence_space& space, i32 positions,
                                  i32 count, global_ptr<sequence_tile_plan> plan) {
    block.for_each_tile(ceil_div(i64{count}, i64{max_threads}), [&](i64 some) FLAGGEMS_LAMBDA {
      const i64 i = some * max_threads + block.thread();
      if (i >= count) return;
      const auto of = [&](i64 s) FLAGGEMS_LAMBDA { return sides(space.bounds(s), space.right); };
      i64 before = 0, own = 0, tiles = 0;
      for (; own < space.count; ++own, before += tiles) {
        tiles = ceil_div(of(own).rows, i64{positions});
        if (i < before + tiles) break;
      }
      if (own == space.count) {
        plan[i] = {};
        return;
      }
      const sequence_bounds s = space.bounds(own);
      const sides here(s, space.right);
      const i64 tile = i - before, end = min_of((tile + 1) * positions, here.rows);
      const i64 seen = max_of(i64(0), min_of(here.others, end + here.diagonal));
      // Tiles that see as much are in the order of sequences, the last ones of each first.
      i64 rank = tiles - 1 - tile;
      for (i64 other = 0; other < space.count; ++other)
        if (other != own) rank += of(other).tiles_beyond(positions, other < own ? seen - 1 : seen);
      if (rank >= count) return;  // of starts that do not increase
      plan[rank] = {static_cast<i32>(s.begin),
                    static_cast<i32>(s.queries),
                    static_cast<i32>(s.key),
                    static_cast<i32>(s.keys),
                    static_cast<i32>((OfKeys ? tiles - 1 - tile : tile) * positions),
                    static_cast<i32>(own),
                    {}};
    });
  }
};
using sequence_planning = sequence_tile_planning<false>;

struct sequence_warp_unit;
/// A problem of sequences: its batches are heads of keys and, of heads that share keys, those that
/// are no rows of one tile; `row_tiles` are those of the plan.
struct sequence_warp_space : attention_warp_space {
  using unit_type = sequence_warp_unit;
  static constexpr bool has_sequences = true;
  i32 right;  // as in sequence_space
  global_ptr<const sequence_tile_plan> plan;
};

/// As attention_unit, of a sequence.
struct sequence_warp_unit {
  sequence_decode_place place;
  i32 query_at, key_at, keys, diagonal;
  i32 head, first, last, count, whole;
  bool exists;
  FLAGGEMS_INLINE i32 outer() const { return 0; }
  FLAGGEMS_INLINE i32 key_index(i32 key) const { return key; }

  FLAGGEMS_INLINE sequence_warp_unit(const sequence_warp_space& space, u32 index, int, int tile)
      : sequence_warp_unit(space, attention_turn(space, index), tile) {}
  FLAGGEMS_INLINE prefill_query query(const sequence_warp_space& space, i32 row) const {
    prefill_query q(space, min_of(row, last));
    q.head += head;
    return q;
  }
  FLAGGEMS_INLINE i32 seen(const sequence_warp_space& space, i32 row) const {
    return query(space, row).seen(*this);
  }
  FLAGGEMS_INLINE i32 keys_of(const sequence_warp_space&) const { return keys; }
  FLAGGEMS_INLINE i32 shift() const { return static_cast<i32>(place.shift); }

 private:
  FLAGGEMS_INLINE sequence_warp_unit(const sequence_warp_space& space, const attention_turn& turn,
                                     int tile)
      : sequence_warp_unit(space, turn, space.plan[turn.rank], tile) {}
  FLAGGEMS_INLINE sequence_warp_unit(const sequence_warp_space& space, const attention_turn& turn,
                                     const sequence_tile_plan& plan, int tile)
      : place(plan.query_at, space.sharers.quotient(turn.batch), plan.sequence,
              plan.keys - plan.queries),
        query_at(plan.query_at),
        key_at(plan.key_at),
        keys(plan.keys),
        exists(turn.exists && plan.queries > 0) {
    const i32 group = static_cast<i32>(space.group.divisor);
    diagonal = space.right < 0 ? keys : static_cast<i32>(place.shift) + space.right;
    head = static_cast<i32>(turn.batch - static_cast<u32>(place.key_head) * space.sharers.divisor);
    first = plan.first * group;
    last = group * min_of(plan.first + space.rows, plan.queries) - 1;
    count = max_of(ceil_div(seen(space, last), tile), 1);
    whole = seen(space, first) / tile;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/sequence_warp_units.hpp");
