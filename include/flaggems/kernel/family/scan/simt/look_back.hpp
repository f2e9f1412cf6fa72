// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A scan of long rows that reads them once: a block keeps a tile in registers, publishes what its
// elements are joined, and looks back at what the tiles before published (D. Merrill, M. Garland,
// Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016). Theirs takes whatever a tile
// before has published last; here a row's states are joined in one order whatever comes first, so
// that equal inputs give equal bits.
#pragma once

#include <flaggems/kernel/family/scan/simt/tile.hpp>
#include <flaggems/kernel/lang/published.hpp>

namespace flaggems::kernels {

/// A state that blocks tell each other, as words of its 32 bits each and a flag that they are
/// there. They come zeroed.
template <class State>
struct published_state {
  static constexpr int words = ceil_div(static_cast<int>(sizeof(State)), 4);
  static_assert(sizeof(State) % 4 == 0);
  struct parts {
    u32 at[words];
  };

  FLAGGEMS_INLINE static void put(global_ptr<u64> p, const State& s) {
    const parts all = bit_cast<parts>(s);
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < words; ++k) publish(p + k, u64{1} << 32 | all.at[k]);
  }
  /// Waits until another block has put it.
  FLAGGEMS_INLINE static State await(global_ptr<const u64> p) {
    parts all;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < words; ++k) {
      u64 word = published(p + k);
      while (word == 0) word = published(p + k);
      all.at[k] = static_cast<u32>(word);
    }
    return bit_cast<State>(all);
  }
};

/// The states that a row's tiles publish, for blocks of `threads`. Tiles are in groups of one less;
/// a group has a slot for what is joined before it, and one for each of its tiles.
struct scan_slots {
  i64 threads, tiles;
  FLAGGEMS_INLINE i64 count() const { return ceil_div(tiles, threads - 1) * threads; }
};

/// Sets words to 0.
struct clear_words {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, i64 chunk, global_ptr<u64> words) {
    block.for_each_tile(ceil_div(n, chunk), [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 first = tile * chunk;
      block.for_each(min_of(chunk, n - first),
                     [&](i64 i) FLAGGEMS_LAMBDA { words[first + i] = 0; });
    });
  }
};

/// out = the scan of `in`, of long rows cut into `space.chunks` tiles, each of a block's threads.
/// `words`: zeros; a counter of blocks that have begun, then `scan_slots::count` states a row. A
/// tile is the next of those that blocks take, so whom a block waits for has begun before it.
template <class Op, class T, class O>
struct scan_once {
  static constexpr int max_threads = 256, min_blocks = 3, exact_threads = max_threads;
  using state = typename Op::state;
  using all_words = published_state<state>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const scan_space& space, const arg<T, T>& in,
                                  const target<O>& out, const target<i64>& places,
                                  global_ptr<u64> words) {
    using row_type = scan_row_data<Op, T, O>;
    const scan_slots slots{block.threads(), space.chunks};
    const auto ticket = block.template scratch<i64>(1);
    const int warp = block.thread() / Block::warp_size;
    block.for_each_tile(space.rows.tiles * space.chunks, [&](i64) FLAGGEMS_LAMBDA {
      block.single([&]() FLAGGEMS_LAMBDA {
        ticket.write(0, take_ticket(reinterpret_cast<global_ptr<u32>>(words)));
      });
      block.sync();
      const i64 taken = ticket.read(0), t = taken / space.chunks, k = taken - t * space.chunks;
      const i64 first = k * space.chunk, n = min_of(space.chunk, space.length - first);
      const row_type row = scan_row<Op>(space, t, first, in, out, places);
      scan_tile<Op, row_type> tile(0, n);
      tile.template read<Block>(block, row, warp);
      const state total = row.widen(tile.template join_block<Block>(block), 0);
      const state before = look_back<Block>(block, words + 1 + t * slots.count() * all_words::words,
                                            k, space.chunks, total);
      tile.template write<Block>(block, row, warp, before);
    });
  }

 private:
  /// Publishes tile k's state, and joins those of the tiles before it: thread j has slot j of the
  /// tile's group.
  template <class Block>
  FLAGGEMS_INLINE static state look_back(const Block& block, global_ptr<u64> states, i64 k,
                                         i64 tiles, const state& total) {
    const i64 threads = block.threads(), group = k / (threads - 1), i = k - group * (threads - 1);
    const global_ptr<u64> own = states + group * threads * all_words::words;
    const bool is_first = block.thread() == 0, is_read_on = k + 1 < tiles;
    if (is_first && is_read_on) all_words::put(own + (i + 1) * all_words::words, total);
    state mine = Op::identity();
    if (block.thread() <= i && (!is_first || group > 0))
      mine = all_words::await(own + block.thread() * all_words::words);
    state before;
    static_cast<void>(block.template exclusive_scan_block<state>(
        mine, Op::identity(),
        [](const state& a, const state& b) FLAGGEMS_LAMBDA { return Op::join(a, b); }, before));
    if (is_first && is_read_on && i == threads - 2)
      all_words::put(own + threads * all_words::words, Op::join(before, total));
    return before;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/scan/simt/look_back.hpp");
