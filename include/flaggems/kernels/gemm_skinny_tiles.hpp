// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of up to 16 rows on chips with instructions for small matrices: elements of 16
// bits go from memory to those as they lie.
#pragma once

#include <flaggems/kernels/gemm_skinny.hpp>

namespace flaggems::kernels {

/// As gemm_skinny, of T by T (bf16 or f16). 32 neighbouring threads are a team, which has
/// 16 * Blocks lines of `b` and 8 * Wide rows; it reads Depth packs of each, so 32 * Depth elements
/// of a line, at once. space.depth teams share the lines.
template <class T, class Out, class Bias, int Wide, int Blocks, int Depth>
struct gemm_skinny_tiles {
  static constexpr int max_threads = 256, min_blocks = Wide == 1 ? 3 : 2;
  static constexpr bool stays_alone = Wide == 1;  // a fifth of 14336 to 4096's time
  static constexpr int lines = 16 * Blocks, rows = 8 * Wide, count = lines * rows;
  static constexpr int most_scratch = max_threads / 32 * count * 4;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_arg<T> a, gemm_arg<T> b,
                                  gemm_out<Out, f32> out, Bias bias) {
    struct words {
      u32 at[4];
    };
    const int teams = block.threads() / 32, team = block.thread() / 32;
    const int g = block.thread() % 32 / 4, t = block.thread() % 4;
    const int sharing = min_of(static_cast<int>(space.depth), teams);
    const int abreast = teams / sharing, share = team % sharing;
    const int k = static_cast<int>(space.k), step = sharing * 32 * Depth;
    const auto partial = block.template scratch<f32>(teams * count);
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const skinny_place at = skinny_place::of(space, tile);
      const auto from_a = a.at(at.batch) + t * 8;
      const auto from_b = b.at(at.batch) + t * 8;
      // Rows and lines beyond the last are the last one again: computed, not stored.
      global_ptr<const T> row[Wide];
      static_for<Wide>([&](auto w) FLAGGEMS_LAMBDA {
        row[w] = from_a + min_of(at.i + w * 8 + g, space.m - 1) * a.line;
      });
      const i64 end = min_of(at.j + space.tile_columns, space.n);
      for (i64 first = at.j; first < end; first += abreast * lines) {
        global_ptr<const T> line[2 * Blocks];
        static_for<2 * Blocks>([&](auto l) FLAGGEMS_LAMBDA {
          const i64 j = first + team / sharing * lines + l * 8 + g;
          line[l] = from_b + min_of(j, space.n - 1) * b.line;
        });
        f32 sums[Blocks][Wide][4];
        static_for<Blocks * Wide * 4>(
            [&](auto e) FLAGGEMS_LAMBDA { sums[e / (4 * Wide)][e / 4 % Wide][e % 4] = 0.0F; });
        const auto add = [&](int q, bool whole) FLAGGEMS_LAMBDA {
          pack<T, 8> x[Wide][Depth], y[2 * Blocks][Depth];
          static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
            const int from = q + d * 32;
            const bool exists = whole || from + t * 8 < k;
            static_for<2 * Blocks>([&](auto l) FLAGGEMS_LAMBDA {
              y[l][d] = pack<T, 8>{};
              if (exists) y[l][d] = load_pack<8>(line[l] + from);
            });
            static_for<Wide>([&](auto w) FLAGGEMS_LAMBDA {
              x[w][d] = pack<T, 8>{};
              if (exists) x[w][d] = load_pack<8>(row[w] + from);
            });
          });
          static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
            static_for<Blocks>([&](auto l) FLAGGEMS_LAMBDA {
              const words low = bit_cast<words>(y[2 * l][d]),
                          high = bit_cast<words>(y[2 * l + 1][d]);
              static_for<Wide>([&](auto w) FLAGGEMS_LAMBDA {
                const words right = bit_cast<words>(x[w][d]);
                static_for<2>([&](auto s) FLAGGEMS_LAMBDA {
                  const u32 left_words[4] = {low.at[2 * s], high.at[2 * s], low.at[2 * s + 1],
                                             high.at[2 * s + 1]};
                  const u32 right_words[2] = {right.at[2 * s], right.at[2 * s + 1]};
                  block.template multiply_tiles<T>(sums[l][w], left_words, right_words);
                });
              });
            });
          });
        };
        // All threads of a team, and of a block where instructions are barriers, go along.
        int start = 0;
        for (; start + step <= k; start += step) add(start + share * 32 * Depth, true);
        if (start < k) add(start + share * 32 * Depth, false);

        block.sync();  // the sums before may still be read
        static_for<Blocks>([&](auto l) FLAGGEMS_LAMBDA {
          static_for<Wide>([&](auto w) FLAGGEMS_LAMBDA {
            static_for<4>([&](auto e) FLAGGEMS_LAMBDA {
              const int j = l * 16 + e / 2 * 8 + g, i = w * 8 + 2 * t + e % 2;
              partial.write(team * count + i * lines + j, sums[l][w][e]);
            });
          });
        });
        block.sync();
        const auto to = out.at(at.batch) + at.i * out.row;
        const auto finish = bias.at(at.batch, at.i);
        block.for_each(abreast * count, [&](i64 index) FLAGGEMS_LAMBDA {
          const int e = static_cast<int>(index);
          const int i = e / (abreast * lines), column = e % (abreast * lines);
          const lane_scalar j{first + column};
          if (at.i + i >= space.m || j.begin >= space.n) return;
          const int from = column / lines * sharing * count + i * lines + column % lines;
          f32 sum = partial.read(from);
          for (int s = 1; s < sharing; ++s) sum += partial.read(from + s * count);
          store(to + i * out.row, out.column, j,
                finish.template add<f32>(i, j, f32(out.alpha * sum)));
        });
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/gemm_skinny_tiles.hpp");
