// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What attention by warp groups (warp_groups.hpp) is cut into: tiles, and units of work.
#pragma once

#include <flaggems/kernel/block/simt/tensor_map.hpp>
#include <flaggems/kernel/family/attention/rules.hpp>
#include <flaggems/kernel/family/attention/simt/prefill_mma.hpp>

namespace flaggems::kernels {

/// A block's tile: Consumers warp groups of 64 rows each, and Keys keys a step, of which Stages are
/// in block-local memory; heads of up to Size elements. Streams: the first scores of a unit are
/// computed with the last sums of the one before, which takes a second place for queries.
template <int Size, int Keys, int Consumers, int Stages, bool Streams>
struct attention_warp_tile {
  static constexpr int d = Size, n = Keys, m = 64 * Consumers, consumers = Consumers;
  static constexpr int stages = Stages, threads = 128 * (Consumers + 1);
  static constexpr bool streams = Streams;
  static constexpr int queries = Streams ? 2 : 1;  // places for them
  // Boxes of 64 elements a line: 128 bytes, what the copy engine swizzles.
  static constexpr int box = 64, line = 128, boxes = ceil_div(Size, box);
  static constexpr u32 q_bytes = boxes * m * 128, kv_bytes = boxes * Keys * 128;
  /// Bytes of block-local memory where a mask has elements of so many bytes.
  static constexpr u32 scratch(int element) {
    return queries * q_bytes + stages * (2 * kv_bytes + static_cast<u32>(m * n * element)) +
           16 * (2 * Stages + queries);
  }
  // What the loading warp group gives, the others take.
  static constexpr int few_registers = Consumers == 2 ? 40 : 32;
  static constexpr int many_registers = Consumers == 2 ? 232 : 160;
  static_assert(Size % 32 == 0 && Keys % 16 == 0 && (Consumers == 2 || Consumers == 3));
};

/// A mask of M whose boxes come with those of the keys. Of the operand's dimensions, those that the
/// mask broadcasts over have size 1 there, and 0 here.
template <class M>
struct attention_mask_boxes {
  tensor_map map;
  i32 outer, inner, head, position;
};
/// The elements of a mask of attention_warp_groups: of none, 0 bytes.
template <class Mask>
struct mask_element {
  static constexpr int bytes = 0;
};
template <class M>
struct mask_element<attention_mask_boxes<M>> {
  using type = M;
  static constexpr int bytes = sizeof(M);
};

/// The rule soft_cap, where weights are rounded to 16 bits: with an error of limit * 2^-22.
struct capped_scores {
  f32 limit, inverse;  // `inverse`: 2 / limit, as powers of two
  FLAGGEMS_INLINE explicit capped_scores(const soft_cap& cap)
      : limit(cap.limit), inverse(2.0F / cap.limit * ln2_constants<f32>::inverse) {}
  template <class Place, class Query>
  FLAGGEMS_INLINE const capped_scores& row(const Place&, const Query&) const {
    return *this;
  }
  template <class C, class Lane>
  FLAGGEMS_INLINE f32 apply(Lane, f32 score) const {
    const f32 power = softmax_power_of_two(score * inverse);
    return fma(near_quotient(1.0F, power + 1.0F), -2.0F * limit, limit);
  }
};

/// A prefill problem whose batches are those of the operands and, of heads that share keys, those
/// that are no rows of one tile.
struct attention_unit;
struct attention_warp_space : prefill_space {
  using unit_type = attention_unit;
  /// Whether a tile of keys may have those of another sequence behind.
  static constexpr bool has_sequences = false;
  /// Whether keys are hidden from a row's begin, too (windowed_space).
  static constexpr bool has_windows = false;
  divider sharers;  // heads of a batch of the operands, which are batches here
  u32 turns;        // how often `at_once` batches begin
  bool admits;      // the next launch, early

  /// The unit of work that a block takes in its `round`th turn: blocks pass over units to and fro,
  /// so that with units of falling lengths each has as much to do.
  FLAGGEMS_INLINE static u32 unit_of(u32 round, u32 block, u32 blocks) {
    return round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
  }
};

/// What a unit is of: a batch, and a tile of its rows, of which those of rank 0 see most. Of
/// `at_once` batches the units of one rank are neighbours; from turn to turn lengths fall and rise,
/// and fall in the last one.
struct attention_turn {
  u32 batch, rank;
  bool exists;
  template <class Space>
  FLAGGEMS_INLINE attention_turn(const Space& space, u32 index) {
    const u32 turn = space.tiles_at_once.quotient(index);
    const u32 rest = index - turn * space.tiles_at_once.divisor;
    const u32 before = space.at_once.quotient(rest);
    batch = turn * space.at_once.divisor + rest - before * space.at_once.divisor;
    exists = batch < space.batches;
    const bool rises = (space.turns - 1 - turn) % 2 != 0;
    rank = rises ? space.row_tiles - 1 - before : before;
  }
};

/// A tile of rows of a head, and the tiles of keys that it sees.
struct attention_unit {
  decode_place place;
  i32 head = 0, first = 0, last = 0;
  i32 count = 0, whole = 0;  // tiles of keys, and those of them that each row sees all keys of
  bool exists = false;
  // The first position and key among the rows of the operands, and the place among their batches.
  static constexpr i32 query_at = 0, key_at = 0;
  FLAGGEMS_INLINE i32 outer() const { return static_cast<i32>(place.outer); }
  /// The index among all keys of one of the unit's.
  FLAGGEMS_INLINE i32 key_index(i32 key) const { return key; }

  FLAGGEMS_INLINE attention_unit(const attention_warp_space& space, u32 index, int rows, int keys)
      : place(space, 0) {
    const attention_turn turn(space, index);
    const u32 batch = turn.batch;
    exists = turn.exists;
    const u32 of_operands = space.sharers.quotient(batch);
    place = decode_place(space, of_operands);
    head = static_cast<i32>(batch - of_operands * space.sharers.divisor);
    first = static_cast<i32>(space.row_tiles - 1 - turn.rank) * rows;  // the last rows see most
    last = min_of(first + rows, space.rows) - 1;
    count = max_of(ceil_div(prefill_query(space, last).seen(space), keys), 1);
    whole = prefill_query(space, first).seen(space) / keys;
  }
  FLAGGEMS_INLINE prefill_query query(const attention_warp_space& space, i32 row) const {
    prefill_query q(space, min_of(row, last));
    q.head += head;
    return q;
  }
  FLAGGEMS_INLINE i32 seen(const attention_warp_space& space, i32 row) const {
    return query(space, row).seen(space);
  }
  FLAGGEMS_INLINE i32 keys_of(const attention_warp_space& space) const { return space.keys; }
  /// Keys before the first position's own; of one length, in `left` of a windowed_space.
  FLAGGEMS_INLINE i32 shift() const { return 0; }
};

/// A unit whose rows see no keys before a window; its own keys begin at the first one that some row
/// sees.
template <class Unit>
struct windowed_unit : Unit {
  i32 key_at, keys, least;  // `least`: tiles that begin with keys that some row does not see
  template <class Space>
  FLAGGEMS_INLINE windowed_unit(const Space& space, u32 index, int rows, int tile)
      : Unit(space, index, rows, tile) {
    begin_ = begin(space, Unit::first);
    key_at = Unit::key_at + begin_;
    keys = Unit::keys_of(space) - begin_;
    Unit::count = max_of(ceil_div(seen(space, Unit::last), tile), 1);
    Unit::whole = max_of(seen(space, Unit::first), 0) / tile;
    least = ceil_div(begin(space, Unit::last) - begin_, tile);
  }
  template <class Space>
  FLAGGEMS_INLINE i32 seen(const Space& space, i32 row) const {
    return Unit::seen(space, row) - begin_;
  }
  FLAGGEMS_INLINE i32 key_index(i32 key) const { return begin_ + key; }
  /// The first key that a row sees, at most the end of all.
  template <class Space>
  FLAGGEMS_INLINE i32 from(const Space& space, i32 row) const {
    return begin(space, row) - begin_;
  }

 private:
  i32 begin_;
  template <class Space>
  FLAGGEMS_INLINE i32 begin(const Space& space, i32 row) const {
    const i32 own = Unit::query(space, row).position + Unit::shift();
    return max_of(0, min_of(own - space.left, Unit::keys_of(space)));
  }
};
/// A problem with windows: of the keys before its own, a position sees `left`.
template <class Space>
struct windowed_space : Space {
  using unit_type = windowed_unit<typename Space::unit_type>;
  static constexpr bool has_windows = true;
  i32 left;
};

/// Stores a row of a warp group's sums, which four lanes share: o[4 * j], o[4 * j + 1] are elements
/// 8 * j + 2 * lane and the next one. Where the result is aligned to vectors of 8 elements, of 2 of
/// those of 4 bytes, its lanes exchange pairs so that each has vectors.
template <int Size, class Block, class Out>
FLAGGEMS_INLINE void store_fragment_row(const Block& block, const f32* o, f32 factor,
                                        global_ptr<Out> to, i64 stride, i32 size, bool is_aligned,
                                        bool exists) {
  const i32 lane = block.thread() % 4;
  if constexpr (sizeof(Out) == 2) {
    if (is_aligned) {
      const auto exchange = [&](u32& a, u32& b, bool is_second, int mask) FLAGGEMS_LAMBDA {
        const u32 got = block.template shuffle_xor<u32>(is_second ? a : b, mask);
        if (is_second)
          a = got;
        else
          b = got;
      };
      FLAGGEMS_SIMT_UNROLL
      for (int j = 0; j < Size / 8; j += 4) {
        vec<u32, 4> x;
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < 4; ++i)
          x.at[i] = pack_halves<Out>(o[4 * (j + i)] * factor, o[4 * (j + i) + 1] * factor);
        exchange(x.at[0], x.at[1], lane % 2 != 0, 1);
        exchange(x.at[2], x.at[3], lane % 2 != 0, 1);
        exchange(x.at[0], x.at[2], lane / 2 != 0, 2);
        exchange(x.at[1], x.at[3], lane / 2 != 0, 2);
        const i32 e = 8 * (j + lane);
        if (exists && e < size) *reinterpret_cast<global_ptr<vec<u32, 4>>>(to + e) = x;
      }
      return;
    }
  }
  FLAGGEMS_SIMT_UNROLL
  for (int j = 0; j < Size / 8; ++j) {
    const i32 e = 8 * j + 2 * lane;
    const f32 low = o[4 * j] * factor, high = o[4 * j + 1] * factor;
    if (!exists || e >= size) continue;
    if (sizeof(Out) == 4 && is_aligned) {
      store_vec<2, Out>(to + e, {{static_cast<Out>(low), static_cast<Out>(high)}});
    } else {
      store(to, stride, lane_scalar{e}, low);
      if (e + 1 < size) store(to, stride, lane_scalar{e + 1}, high);
    }
  }
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/warp_group_units.hpp");
