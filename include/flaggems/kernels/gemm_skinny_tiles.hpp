// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of up to 16 rows on chips with instructions for small matrices: elements of 16
// bits go from memory to those as they lie.
#pragma once

#include <flaggems/kernels/gemm_skinny.hpp>

namespace flaggems::kernels {

/// As gemm_skinny, of T by T (bf16 or f16). 32 neighbouring threads are a team, which has
/// 16 * Blocks lines of `b` and 8 * Wide rows, and takes 256 bytes of each line in a step;
/// space.depth teams share the lines. Stages - 1 steps of a team are under way, across tiles, too,
/// so there are as many blocks as run at once.
template <class T, class Out, class Bias, int Wide, int Blocks, int Stages>
struct gemm_skinny_tiles {
  static constexpr int max_threads = 256, min_blocks = 1;
  static constexpr int lines = 16 * Blocks, rows = 8 * Wide, count = lines * rows;
  static constexpr int chunk = 128, packs = chunk / 8, stage = lines * packs;
  static constexpr int most_scratch = max_threads / 32 * (count * 4 + Stages * stage * 16);
  using words = pack<u32, 4>;
  static constexpr bool fetches_ahead = true;

  template <class Block>
  FLAGGEMS_INLINE static void fetch_ahead(Block& block, const gemm_space& space, const gemm_arg<T>&,
                                          const gemm_arg<T>& b, const gemm_out<Out, f32>&,
                                          const Bias&) {
    const int teams = block.threads() / 32, team = block.thread() / 32, lane = block.thread() % 32;
    const int sharing = min_of(static_cast<int>(space.depth), teams);
    const skinny_place at = skinny_place::of(space, block.index());
    static_for<Stages * Blocks>([&](auto i) FLAGGEMS_LAMBDA {  // 128 bytes each
      const i64 j = at.j + team / sharing * lines + i % Blocks * 16 + lane / 2;
      const i64 q = (i / Blocks * sharing + team % sharing) * chunk + lane % 2 * (chunk / 2);
      if (j < space.n && q < space.k)
        prefetch(global_ptr<const T>(b.at(at.batch) + j * b.line + q));
    });
  }

  /// Brings a team's steps, one after another.
  template <class Block>
  struct queue {
    using array = typename Block::template scratch_type<words>;
    const Block& block;
    const gemm_space& space;
    const gemm_arg<T>& b;
    array stages;
    int sharing, team, lane, steps;
    i64 tile, lines_left = 0;
    int step = 0, slot = 0;
    global_ptr<const T> from;

    FLAGGEMS_INLINE void fetch() {
      if (tile < space.tiles()) {
        const int first = lane / packs, at_pack = lane % packs, share = team % sharing;
        if (step == 0) {
          const skinny_place at = skinny_place::of(space, tile);
          const i64 j = at.j + team / sharing * lines + first;
          from = b.at(at.batch) + j * b.line + at_pack * 8 + share * chunk;
          lines_left = space.n - j;
        }
        const bool exists = (step * sharing + share) * chunk + at_pack * 8 < space.k;
        constexpr int abreast = 32 / packs;
        FLAGGEMS_CHIP_UNROLL
        for (int i = 0; i < lines / abreast; ++i) {
          const int line = i * abreast + first;
          block.template copy_ahead<words>(
              stages, slot * stage + place(line, at_pack),
              reinterpret_cast<global_ptr<const words>>(from + i * abreast * b.line),
              exists && i * abreast < lines_left);
        }
        from += sharing * chunk;
        slot = slot == Stages - 1 ? 0 : slot + 1;
        if (++step == steps) {
          step = 0;
          tile += block.count();
        }
      }
      block.close_copies();
    }
  };
  /// Where a stage has a pack of a line: so that eight threads that read packs of two lines find
  /// them in different banks.
  FLAGGEMS_INLINE static int place(int line, int at_pack) {
    return line * packs + (at_pack ^ line % 2 * 4);
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_arg<T> a, gemm_arg<T> b,
                                  gemm_out<Out, f32> out, Bias bias) {
    const int teams = block.threads() / 32, team = block.thread() / 32;
    const int lane = block.thread() % 32, g = lane / 4, t = lane % 4;
    const int sharing = min_of(static_cast<int>(space.depth), teams);
    const int abreast = teams / sharing, share = team % sharing;
    const int k = static_cast<int>(space.k), steps = ceil_div(k, sharing * chunk);
    const auto partial = block.template scratch<f32>(teams * count);
    const auto stages =
        block.template scratch<words>(teams * Stages * stage).from(team * Stages * stage);
    queue<Block> coming{block, space,         b, stages, sharing, team,  lane,
                        steps, block.index(), 0, 0,      0,       b.data};
    for (int s = 1; s < Stages; ++s) coming.fetch();
    int slot = 0;
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const skinny_place at = skinny_place::of(space, tile);
      // Rows beyond the last are the last one again: computed, not stored.
      global_ptr<const T> row[Wide];
      FLAGGEMS_CHIP_UNROLL
      for (int w = 0; w < Wide; ++w)
        row[w] = a.at(at.batch) + min_of(at.i + w * 8 + g, space.m - 1) * a.line + t * 8;
      f32 sums[Blocks][Wide][4] = {};
      words x[Wide][4], next[Wide][4];
      const auto fetch_rows = [&](words(&to)[Wide][4], int step) FLAGGEMS_LAMBDA {
        const int from = (step * sharing + share) * chunk;
        FLAGGEMS_CHIP_UNROLL
        for (int w = 0; w < Wide; ++w) {
          FLAGGEMS_CHIP_UNROLL
          for (int d = 0; d < 4; ++d) {
            to[w][d] = words{};
            if (from + d * 32 + t * 8 < k) to[w][d] = load_words<T>(row[w] + from + d * 32);
          }
        }
      };
      fetch_rows(next, 0);
      for (int step = 0; step < steps; ++step) {
        FLAGGEMS_CHIP_UNROLL
        for (int i = 0; i < Wide * 4; ++i) x[i / 4][i % 4] = next[i / 4][i % 4];
        fetch_rows(next, step + 1);
        block.template await_copies<Stages - 2>();
        coming.fetch();  // where the step before was, which all of the warp have done with
        FLAGGEMS_CHIP_UNROLL
        for (int d = 0; d < 4; ++d) {
          FLAGGEMS_CHIP_UNROLL
          for (int l = 0; l < Blocks; ++l) {
            const int low_at = slot * stage + place(l * 16 + g, t + 4 * d);
            const words low = stages.read(low_at), high = stages.read(low_at + 8 * packs);
            FLAGGEMS_CHIP_UNROLL
            for (int w = 0; w < Wide; ++w) {
              const words right = x[w][d];
              FLAGGEMS_CHIP_UNROLL
              for (int s = 0; s < 2; ++s) {
                const u32 left_words[4] = {low.at[2 * s], high.at[2 * s], low.at[2 * s + 1],
                                           high.at[2 * s + 1]};
                const u32 right_words[2] = {right.at[2 * s], right.at[2 * s + 1]};
                block.template multiply_tiles<T>(sums[l][w], left_words, right_words);
              }
            }
          }
        }
        slot = slot == Stages - 1 ? 0 : slot + 1;
      }

      block.sync();  // the sums before may still be read
      FLAGGEMS_CHIP_UNROLL
      for (int l = 0; l < Blocks; ++l) {
        FLAGGEMS_CHIP_UNROLL
        for (int w = 0; w < Wide; ++w) {
          FLAGGEMS_CHIP_UNROLL
          for (int e = 0; e < 4; ++e) {
            const int j = l * 16 + e / 2 * 8 + g, i = w * 8 + 2 * t + e % 2;
            partial.write(team * count + i * lines + j, sums[l][w][e]);
          }
        }
      }
      block.sync();
      const auto to = out.at(at.batch) + at.i * out.row;
      const auto finish = bias.at(at.batch, at.i);
      block.for_each(abreast * count, [&](i64 index) FLAGGEMS_LAMBDA {
        const int e = static_cast<int>(index);
        const int i = e / (abreast * lines), column = e % (abreast * lines);
        const lane_scalar j{at.j + column};
        if (at.i + i >= space.m || j.begin >= space.n) return;
        const int from = column / lines * sharing * count + i * lines + column % lines;
        f32 sum = partial.read(from);
        for (int s = 1; s < sharing; ++s) sum += partial.read(from + s * count);
        store(to + i * out.row, out.column, j,
              finish.template add<f32>(i, j, f32(out.alpha * sum)));
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/gemm_skinny_tiles.hpp");
