// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of up to 16 rows on SIMT devices with mma instructions, to which 16-bit elements
// go directly from memory.
#pragma once

#include <flaggems/kernel/family/gemm/simt/skinny.hpp>

namespace flaggems::kernels {

/// As gemm_skinny, of T by T (bf16 or f16), with lines of `b` less than 2^31 elements apart. A warp
/// (32 threads) has 16 * Blocks lines of `b` and 8 * Wide rows, and takes 256 bytes of each line
/// per step. The kernel is persistent, as its pipeline of Stages - 1 steps spans tiles.
template <class T, class Out, class Bias, int Wide, int Blocks, int Stages, int Threads>
struct gemm_skinny_tiles {
  static constexpr int max_threads = Threads, min_blocks = 1;
  static constexpr int lines = 16 * Blocks, rows = 8 * Wide, count = lines * rows;
  static constexpr int chunk = 128, vectors = chunk / 8, stage = lines * vectors;
  static constexpr int most_scratch = max_threads / 32 * (count * 4 + Stages * stage * 16);
  using words = vec<u32, 4>;
  static constexpr bool awaits_earlier = true;

  /// The pipeline of a subwarp's steps.
  template <class Block>
  struct queue {
    using array = typename Block::template scratch_type<words>;
    const Block& block;
    const skinny_space& space;
    const skinny_arg<T>& b;
    const skinny_subwarp<32>& mine;
    array stages;  // from the thread's first vector on
    int steps;
    u32 tile;
    int step = 0, slot = 0, lines_left = 0, left = 0;
    global_ptr<const T> from = nullptr;

    /// Moves to the first step of a tile.
    FLAGGEMS_INLINE void begin() {
      const skinny_place at = skinny_place::of(space, tile);
      const int j = at.j + mine.group * lines + mine.lane / vectors;
      const int q = mine.part * chunk + mine.lane % vectors * 8;
      from = settled<const T>(b.at(at.batch) + j * b.line + q);
      lines_left = space.n - j;
      left = space.k - q;
    }
    FLAGGEMS_INLINE void fetch() {
      if (tile < space.tiles) {
        constexpr int lines_per_copy = 32 / vectors;
        const int existing = left > 0 ? lines_left : 0, line = static_cast<int>(b.line);
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < lines; i += lines_per_copy)
          block.template copy_async<words>(
              stages, slot * stage + i * vectors,
              reinterpret_cast<global_ptr<const words>>(from + i64(line) * i), i < existing);
        from += mine.sharing * chunk;
        left -= mine.sharing * chunk;
        slot = slot == Stages - 1 ? 0 : slot + 1;
        if (++step == steps) {
          step = 0;
          tile += static_cast<u32>(block.count());
          if (tile < space.tiles) begin();
        }
      }
      block.commit_copies();
    }
  };
  /// The index of a line's vector in a stage, permuted so that eight threads that read vectors of
  /// two lines have no bank conflicts.
  FLAGGEMS_INLINE static int place(int line, int at_vector) {
    return line * vectors + (at_vector ^ line % 2 * 4);
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const skinny_space& space, const skinny_arg<T>& a,
                                  const skinny_arg<T>& b, const skinny_out<Out, f32>& out,
                                  const Bias& bias) {
    const skinny_subwarp<32> mine(block, space);
    const int g = mine.lane / 4, t = mine.lane % 4, k = space.k;
    const int steps = ceil_div(k, mine.sharing * chunk);
    const int subwarps = block.threads() / 32;
    const auto partial = block.template scratch<f32>(subwarps * count);
    const auto stages = block.template scratch<words>(subwarps * Stages * stage)
                            .from(mine.subwarp * Stages * stage);
    queue<Block> coming{block,
                        space,
                        b,
                        mine,
                        stages.from(place(mine.lane / vectors, mine.lane % vectors)),
                        steps,
                        static_cast<u32>(block.index())};
    coming.begin();
    // The rows of a step are prefetched one step early, across tiles too.
    global_ptr<const T> row[Wide];
    words next[Wide][4];
    const auto find_rows = [&](const skinny_place& at) FLAGGEMS_LAMBDA {
      // Rows past the end repeat the last one: computed, not stored.
      FLAGGEMS_SIMT_UNROLL
      for (int w = 0; w < Wide; ++w)
        row[w] = settled<const T>(a.at(at.batch) + min_of(at.i + w * 8 + g, space.m - 1) * a.line +
                                  t * 8);
    };
    const auto fetch_rows = [&](int step) FLAGGEMS_LAMBDA {
      const int from = (step * mine.sharing + mine.part) * chunk;
      FLAGGEMS_SIMT_UNROLL
      for (int w = 0; w < Wide; ++w) {
        FLAGGEMS_SIMT_UNROLL
        for (int d = 0; d < 4; ++d) {
          next[w][d] = words{};
          if (from + d * 32 + t * 8 < k) next[w][d] = load_words<T>(row[w] + from + d * 32);
        }
      }
    };
    u32 tile = static_cast<u32>(block.index());
    const u32 blocks = static_cast<u32>(block.count());
    const skinny_place first = skinny_place::of(space, tile);
    find_rows(first);
    block.await_earlier([&]() FLAGGEMS_LAMBDA {                  // weights, which no launch writes
      static_for<Stages * Blocks>([&](auto i) FLAGGEMS_LAMBDA {  // 128 bytes each
        const int j = first.j + mine.group * lines + i % Blocks * 16 + mine.lane / 2;
        const int q =
            ((i / Blocks << mine.shift) + mine.part) * chunk + mine.lane % 2 * (chunk / 2);
        if (j < space.n && q < k) prefetch(global_ptr<const T>(b.at(first.batch) + j * b.line + q));
      });
    });
    fetch_rows(0);
    for (int s = 1; s < Stages; ++s) coming.fetch();
    int slot = 0;
    for (; tile < space.tiles; tile += blocks) {
      f32 sums[Blocks][Wide][4] = {};
      for (int step = 0; step < steps; ++step) {
        words x[Wide][4];
        FLAGGEMS_SIMT_UNROLL
        for (int i = 0; i < Wide * 4; ++i) x[i / 4][i % 4] = next[i / 4][i % 4];
        const bool ends = step + 1 == steps && tile + blocks < space.tiles;
        if (ends) find_rows(skinny_place::of(space, tile + blocks));
        fetch_rows(ends ? 0 : step + 1);
        block.template wait_copies<Stages - 2>();
        coming.fetch();  // into the previous step's stage, which the warp has finished reading
        FLAGGEMS_SIMT_UNROLL
        for (int d = 0; d < 4; ++d) {
          FLAGGEMS_SIMT_UNROLL
          for (int l = 0; l < Blocks; ++l) {
            const int low_at = slot * stage + place(l * 16 + g, t + 4 * d);
            const words low = stages.read(low_at), high = stages.read(low_at + 8 * vectors);
            FLAGGEMS_SIMT_UNROLL
            for (int s = 0; s < 2; ++s) {
              const u32 left_words[4] = {low.at[2 * s], high.at[2 * s], low.at[2 * s + 1],
                                         high.at[2 * s + 1]};
              FLAGGEMS_SIMT_UNROLL
              for (int w = 0; w < Wide; ++w) {
                const u32 right_words[2] = {x[w][d].at[2 * s], x[w][d].at[2 * s + 1]};
                block.template multiply_tiles<T>(sums[l][w], left_words, right_words);
              }
            }
          }
        }
        slot = slot == Stages - 1 ? 0 : slot + 1;
      }

      block.sync();  // the previous sums may still be read
      FLAGGEMS_SIMT_UNROLL
      for (int l = 0; l < Blocks; ++l) {
        FLAGGEMS_SIMT_UNROLL
        for (int w = 0; w < Wide; ++w) {
          FLAGGEMS_SIMT_UNROLL
          for (int e = 0; e < 4; ++e) {
            const int j = l * 16 + e / 2 * 8 + g, i = w * 8 + 2 * t + e % 2;
            partial.write(mine.subwarp * count + i * lines + j, sums[l][w][e]);
          }
        }
      }
      block.sync();
      const skinny_place at = skinny_place::of(space, tile);
      const auto to = out.at(at.batch) + at.i * out.row;
      const auto finish = bias.at(at.batch, at.i);
      // The subwarps of a group combine their sums.
      const auto found = partial.from((mine.group << mine.shift) * count);
      for (int e = mine.part * 32 + mine.lane; e < count; e += mine.sharing * 32) {
        const int i = e / lines;
        const lane_scalar j{at.j + mine.group * lines + e % lines};
        if (at.i + i >= space.m || j.begin >= space.n) continue;
        f32 sum = found.read(e);
        FLAGGEMS_SIMT_UNROLL
        for (int s = 1; s < most_sharing; ++s)
          if (s < mine.sharing) sum += found.read(s * count + e);
        store(to + i * out.row, out.column, j,
              finish.template add<f32>(i, j, f32(out.alpha * sum)));
      }
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/skinny_mma.hpp");
