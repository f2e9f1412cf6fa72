// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Joins elements where each has an index of its own: line by line in block-local memory.
#pragma once

#include <flaggems/kernel/block/simt/block.hpp>
#include <flaggems/kernel/family/index/scatter.hpp>

namespace flaggems::kernels {

/// Lines of `size` elements of an output and of `count` of a source and its index, whose elements
/// are neighbours; the output's and the source's are `step` and `source_step` apart. Indices have
/// `bits` bits.
struct line_space {
  int rank;
  i64 lines, sizes[max_rank], strides[max_rank], source[max_rank], index[max_rank];
  i64 size, count, step, source_step;
  int bits;
};

/// Joins the elements k of a line of the source with elements index[k] of the output's line, in
/// their order: a block, of one warp, has a line in block-local memory. Indices out of range write
/// nothing.
template <class T, class J>
struct join_lines {
  using C = joined_type<T>;
  // Loads of a thread in flight: of the source, and of a line that begins.
  static constexpr int ahead = 4, at_once = 8;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const line_space& space, global_ptr<T> out,
                                  global_ptr<const T> source, global_ptr<const J> index,
                                  joining how) {
    const auto sums = block.template scratch<C>(space.size);
    const int lane = block.thread(), lanes = block.threads();
    const bool adds = how == joining::sum;  // most often: without the choice of `joined`
    block.for_each_tile(space.lines, [&](i64 line) FLAGGEMS_LAMBDA {
      global_ptr<T> to = out;
      global_ptr<const T> from = source;
      global_ptr<const J> at = index;
      for (int d = space.rank - 1; d >= 0; --d) {
        const i64 next = line / space.sizes[d], k = line - next * space.sizes[d];
        to += k * space.strides[d];
        from += k * space.source[d];
        at += k * space.index[d];
        line = next;
      }
      for (i64 i = lane; i < space.size; i += at_once * lanes) {
        T some[at_once] = {};
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < at_once; ++u)
          if (i + u * lanes < space.size) some[u] = to[(i + u * lanes) * space.step];
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < at_once; ++u)
          if (i + u * lanes < space.size) sums.write(i + u * lanes, number_cast<C>(some[u]));
      }
      block.sync();
      // Converted only where they are used, so that loads are waited for late.
      J next_index[ahead];
      T next[ahead] = {};
      const i64 count = space.count, step = ahead * lanes;
      const auto fetch = [&](i64 first) FLAGGEMS_LAMBDA {
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < ahead; ++u) {
          const i64 k = first + u * lanes;
          next_index[u] = J(-1);
          if (k >= count) continue;
          next_index[u] = at[k];
          next[u] = from[k * space.source_step];
        }
      };
      fetch(lane);
      for (i64 first = 0; first < count; first += step) {
        i32 place[ahead];
        C more[ahead];
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < ahead; ++u) {
          const i64 i = static_cast<i64>(next_index[u]);
          place[u] = i >= 0 && i < space.size ? static_cast<i32>(i) : -1;
          more[u] = number_cast<C>(next[u]);
        }
        fetch(first + step + lane);
        int before[ahead];
        const bool meet = count_equal(block, place, space.bits, before);
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < ahead; ++u)
          for (int turn = 0, turns = 1; turn < turns; ++turn) {
            if (place[u] >= 0 && before[u] == turn) {
              const C x = sums.read(place[u]);
              sums.write(place[u], adds ? plus{}(x, more[u]) : joined<C>(how, x, more[u]));
            }
            block.sync();
            if (meet && is_any(block, before[u] > turn)) ++turns;
          }
      }
      for (i64 i = lane; i < space.size; i += lanes)
        to[i * space.step] = number_cast<T>(sums.read(i));
      block.sync();
    });
  }

 private:
  template <class Block>
  FLAGGEMS_INLINE static bool is_any(const Block& block, bool x) {
    constexpr u64 all = ~u64{0} >> (64 - Block::warp_size);
    const u64 alike = block.lanes_alike(x ? 1U : 0U);  // asked by all
    return x || alike != all;
  }
  /// Of each place that is not negative, the lanes before this one that have an equal one; whether
  /// any place of the warp is another lane's as well. All steps at once, as votes take long.
  template <class Block>
  FLAGGEMS_INLINE static bool count_equal(const Block& block, const i32 (&place)[ahead], int bits,
                                          int (&before)[ahead]) {
    using lanes = conditional<(Block::warp_size > 32), u64, u32>;
    lanes same[ahead];
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < ahead; ++u)
      same[u] = static_cast<lanes>(block.lanes_alike(place[u] >= 0 ? 1U : 0U));
    for (int b = 0; b < bits; ++b) {
      FLAGGEMS_SIMT_UNROLL
      for (int u = 0; u < ahead; ++u)
        same[u] &= static_cast<lanes>(block.lanes_alike(static_cast<u32>(place[u]) >> b & 1U));
    }
    const lanes below = static_cast<lanes>((lanes(1) << block.thread()) - 1);
    int all = 0;
    FLAGGEMS_SIMT_UNROLL
    for (int u = 0; u < ahead; ++u) {
      before[u] = place[u] >= 0 ? count_bits(static_cast<lanes>(same[u] & below)) : 0;
      all |= before[u];
    }
    return is_any(block, all > 0);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/simt/joined_lines.hpp");
