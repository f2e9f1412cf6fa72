// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What attention by warp groups (warp_groups.hpp) is cut into: tiles, and units of work.
#pragma once

#include <flaggems/kernel/block/simt/tensor_map.hpp>
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

/// A prefill problem whose batches are those of the operands and, of heads that share keys, those
/// that are no rows of one tile.
struct attention_warp_space : prefill_space {
  divider sharers;  // heads of a batch of the operands, which are batches here
  u32 turns;        // how often `at_once` batches begin
  bool admits;      // the next launch, early

  /// The unit of work that a block takes in its `round`th turn: blocks pass over units to and fro,
  /// so that with units of falling lengths each has as much to do.
  FLAGGEMS_INLINE static u32 unit_of(u32 round, u32 block, u32 blocks) {
    return round * blocks + (round % 2 == 0 ? block : blocks - 1 - block);
  }
};

/// A tile of rows of a head, and the tiles of keys that it sees.
struct attention_unit {
  decode_place place;
  i32 head = 0, first = 0, last = 0;
  i32 count = 0, whole = 0;  // tiles of keys, and those of them that each row sees all keys of
  bool exists = false;

  FLAGGEMS_INLINE attention_unit(const attention_warp_space& space, u32 index, int rows, int keys)
      : place(space, 0) {
    const u32 turn = space.tiles_at_once.quotient(index);
    const u32 rest = index - turn * space.tiles_at_once.divisor;
    const u32 before = space.at_once.quotient(rest);
    const u32 batch = turn * space.at_once.divisor + rest - before * space.at_once.divisor;
    exists = batch < space.batches;
    const u32 of_operands = space.sharers.quotient(batch);
    place = decode_place(space, of_operands);
    head = static_cast<i32>(batch - of_operands * space.sharers.divisor);
    // The last rows see most. From turn to turn lengths fall and rise, and fall in the last one.
    const bool rises = (space.turns - 1 - turn) % 2 != 0;
    first = static_cast<i32>(rises ? before : space.row_tiles - 1 - before) * rows;
    last = min_of(first + rows, space.rows) - 1;
    count = max_of(ceil_div(prefill_query(space, last).seen(space), keys), 1);
    whole = prefill_query(space, first).seen(space) / keys;
  }
  FLAGGEMS_INLINE prefill_query query(const attention_warp_space& space, i32 row) const {
    prefill_query q(space, min_of(row, last));
    q.head += head;
    return q;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/attention/simt/warp_group_units.hpp");
