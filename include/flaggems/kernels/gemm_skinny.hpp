// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of few rows on chips, where all time goes by reading the other matrix: each of
// its elements is read once, by packs, with many of them under way.
#pragma once

#include <flaggems/kernels/fold_values.hpp>
#include <flaggems/kernels/gemm.hpp>

namespace flaggems::kernels {

/// Where a tile lies. space.rank is 1: indices of arrays that are not known when the kernel is
/// compiled would move its arguments into memory.
struct skinny_place {
  coordinates batch;
  i64 i, j;
  FLAGGEMS_INLINE static skinny_place of(const gemm_space& space, i64 tile) {
    skinny_place at;
    at.batch.rank = 1;
    at.batch.inner = 0;
    at.batch.at[0] = at.i = 0;
    if (space.batches * space.row_tiles > 1) {  // else it is spared the divisions
      const i64 rest = tile / space.column_tiles;
      tile -= rest * space.column_tiles;
      at.batch.at[0] = rest / space.row_tiles;
      at.i = (rest - at.batch.at[0] * space.row_tiles) * space.tile_rows;
    }
    at.j = tile * space.tile_columns;
    return at;
  }
};

/// Lanes along the sum: `b`, and `a` if it is no expression, are contiguous there and begin packs
/// everywhere. `Lanes` neighbouring threads are a team; space.depth teams share Columns lines of
/// `b`. `Unroll` packs of each line are under way at once.
template <class A, class B, class Out, class C, class Bias, int Rows, int Columns, int Lanes,
          int Unroll>
struct gemm_skinny {
  static constexpr int max_threads = 256, min_blocks = Rows == 1 ? 3 : 2;
  static constexpr int width = pack_size<B>;
  static constexpr int count = Rows * Columns;
  static constexpr int most_scratch = max_threads / Lanes * count * static_cast<int>(sizeof(C));
  static constexpr bool fetches_ahead = true;

  /// Which lines of a tile a thread's team has, and where its packs of them are.
  struct share {
    int sharing, line, begin, step;
    template <class Block>
    FLAGGEMS_INLINE share(const Block& block, const gemm_space& space) {
      const int team = block.thread() / Lanes, lane = block.thread() % Lanes;
      sharing = min_of(static_cast<int>(space.depth), block.threads() / Lanes);
      line = team / sharing * Columns;
      begin = (team % sharing * Lanes + lane) * width;
      step = sharing * Lanes * width;
    }
  };

  template <class Block>
  FLAGGEMS_INLINE static void fetch_ahead(Block& block, const gemm_space& space, const gemm_arg<A>&,
                                          const gemm_arg<B>& b, const gemm_out<Out, C>&,
                                          const Bias&) {
    if (block.index() >= space.tiles()) return;
    const share mine(block, space);
    const skinny_place at = skinny_place::of(space, block.index());
    static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
      const auto from = b.at(at.batch) + min_of(at.j + mine.line + c, space.n - 1) * b.line;
      static_for<Unroll>([&](auto u) FLAGGEMS_LAMBDA {
        const int q = mine.begin + u * mine.step;
        if (q < space.k) prefetch(global_ptr<const B>(from + q));
      });
    });
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_arg<A> a, gemm_arg<B> b,
                                  gemm_out<Out, C> out, Bias bias) {
    const int teams = block.threads() / Lanes, team = block.thread() / Lanes,
              lane = block.thread() % Lanes;
    const share mine(block, space);
    const int sharing = mine.sharing, abreast = teams / sharing, line = mine.line;
    const int begin = mine.begin, step = mine.step;
    const int k = static_cast<int>(space.k);
    const auto partial = block.template scratch<C>(teams * count);
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const skinny_place at = skinny_place::of(space, tile);
      const auto from_a = a.at(at.batch);
      const auto from_b = b.at(at.batch);
      global_ptr<const A> row[Rows];
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        row[r] = from_a + min_of(at.i + r, space.m - 1) * a.line;
      });
      const i64 end = min_of(at.j + space.tile_columns, space.n);
      for (i64 first = at.j; first < end; first += abreast * Columns) {
        // Lines beyond the last are the last one again: computed, not stored.
        global_ptr<const B> column[Columns];
        static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
          column[c] = from_b + min_of(first + line + c, space.n - 1) * b.line;
        });
        C sums[count];
        static_for<count>([&](auto e) FLAGGEMS_LAMBDA { sums[e] = C(0); });
        const auto add = [&](const pack<B, width>(&y)[Columns], int q) FLAGGEMS_LAMBDA {
          FLAGGEMS_CHIP_UNROLL
          for (int r = 0; r < Rows; ++r) {
            C x[width];
            load_packs<width, C>(row[r] + q, x);
            FLAGGEMS_CHIP_UNROLL
            for (int c = 0; c < Columns; ++c) {
              C z[width];
              unpack<C>(y[c], z);
              FLAGGEMS_CHIP_UNROLL
              for (int e = 0; e < width; ++e)
                sums[r * Columns + c] = multiply_add<C>(x[e], z[e], sums[r * Columns + c]);
            }
          }
        };
        const auto fetch = [&](pack<B, width>(&y)[Columns], int q) FLAGGEMS_LAMBDA {
          static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
            if constexpr (Rows > 1)
              y[c] = load_pack_once<width>(column[c] + q);
            else
              y[c] = load_pack<width>(column[c] + q);
          });
        };
        int q = begin;
        // Without these braces NVRTC 13 leaves out what stands behind a loop, too.
        if constexpr (Unroll > 1) {
          for (; q + (Unroll - 1) * step < k; q += Unroll * step) {
            pack<B, width> y[Unroll][Columns];
            static_for<Unroll>([&](auto u) FLAGGEMS_LAMBDA { fetch(y[u], q + u * step); });
            static_for<Unroll>([&](auto u) FLAGGEMS_LAMBDA { add(y[u], q + u * step); });
          }
          for (; q < k; q += step) {
            pack<B, width> y[Columns];
            fetch(y, q);
            add(y, q);
          }
        } else if (q < k) {  // each step fetches what the next one needs
          pack<B, width> y[Columns];
          fetch(y, q);
          for (; q < k; q += step) {
            pack<B, width> next[Columns];
            static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA { next[c] = y[c]; });
            if (q + step < k) fetch(next, q + step);
            add(y, q);
            static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA { y[c] = next[c]; });
          }
        }
        fold_values<count, Lanes / 2, C>(block, sums);
        constexpr int left = max_of(1, count / Lanes), spread = max_of(1, Lanes / count);
        block.sync();  // the sums before may still be read
        if (lane % spread == 0)
          static_for<left>([&](auto e) FLAGGEMS_LAMBDA {
            partial.write(team * count + lane / spread * left + e, sums[e]);
          });
        block.sync();
        const auto to = out.at(at.batch) + at.i * out.row;
        const auto finish = bias.at(at.batch, at.i);
        block.for_each(abreast * count, [&](i64 t) FLAGGEMS_LAMBDA {
          const int e = static_cast<int>(t);
          const int r = e / (abreast * Columns), column_of = e % (abreast * Columns);
          const int from =
              column_of / Columns * sharing * count + r * Columns + column_of % Columns;
          C sum = partial.read(from);
          for (int s = 1; s < sharing; ++s)
            sum = wrapping_add<C>(sum, partial.read(from + s * count));
          const lane_scalar j{first + column_of};
          if (at.i + r < space.m && j.begin < space.n)
            store(to + r * out.row, out.column, j,
                  finish.template add<C>(r, j, static_cast<C>(out.alpha * sum)));
        });
      }
    });
  }
};

/// Lanes along the columns of the result, where `b` is contiguous and begins packs everywhere, as
/// `a` does along the sum with Depth elements if `packed`. `Lanes` neighbouring threads are a team,
/// which reads Depth lines at once; all teams of a block share the same columns. The sum is cut
/// into `parts` of `length`; of several, each is left in `partial` for gemm_skinny_merge.
template <class A, class B, class Out, class C, class Bias, int Rows, int Lanes, int Depth>
struct gemm_skinny_across {
  static constexpr int max_threads = 256, min_blocks = Rows == 1 ? 4 : 2;
  static constexpr int width = pack_size<B>;
  static constexpr int columns = Lanes * width;

  /// The elements of a block's scratch.
  FLAGGEMS_INLINE static constexpr i64 scratch(int threads) {
    return threads / Lanes * Rows * columns;
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_arg<A> a, gemm_arg<B> b,
                                  gemm_out<Out, C> out, Bias bias, bool packed, i64 parts,
                                  i64 length, global_ptr<C> partial) {
    const int teams = block.threads() / Lanes, team = block.thread() / Lanes,
              lane = block.thread() % Lanes;
    const auto found = block.template scratch<C>(scratch(block.threads()));
    block.for_each_tile(space.tiles() * parts, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 which = tile / parts, part = tile - which * parts;
      const skinny_place at = skinny_place::of(space, which);
      global_ptr<const A> row[Rows];
      const auto from_a = a.at(at.batch);
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        row[r] = from_a + min_of(at.i + r, space.m - 1) * a.line;
      });
      const auto from_b = b.at(at.batch) + at.j + lane * width;
      const bool exists = at.j + lane * width < space.n;
      C sums[Rows][width];
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        static_for<width>([&](auto e) FLAGGEMS_LAMBDA { sums[r][e] = C(0); });
      });
      const i64 end = min_of((part + 1) * length, space.k);
      const auto add = [&](i64 q, int lines) FLAGGEMS_LAMBDA {
        pack<B, width> y[Depth];
        static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
          y[d] = pack<B, width>{};
          if (exists && d < lines) y[d] = load_pack<width>(from_b + (q + d) * b.along);
        });
        C x[Rows][Depth];
        static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
          if (packed && lines == Depth)
            load_packs<Depth, C>(row[r] + q, x[r]);
          else
            static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
              x[r][d] = d < lines ? number_cast<C>(row[r][(q + d) * a.along]) : C(0);
            });
        });
        static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
          C z[width];
          unpack<C>(y[d], z);
          FLAGGEMS_CHIP_UNROLL
          for (int r = 0; r < Rows; ++r) {
            FLAGGEMS_CHIP_UNROLL
            for (int e = 0; e < width; ++e) sums[r][e] = multiply_add<C>(x[r][d], z[e], sums[r][e]);
          }
        });
      };
      for (i64 q = part * length + team * Depth; q < end; q += teams * Depth)
        add(q, static_cast<int>(min_of(i64(Depth), end - q)));

      block.sync();  // what the tile before left may still be read
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        static_for<width>([&](auto e) FLAGGEMS_LAMBDA {
          found.write(((team * Rows + r) * width + e) * Lanes + lane, sums[r][e]);
        });
      });
      block.sync();
      const auto to = out.at(at.batch) + at.i * out.row;
      const auto finish = bias.at(at.batch, at.i);
      block.for_each(Rows * columns, [&](i64 t) FLAGGEMS_LAMBDA {
        const int r = static_cast<int>(t) / columns, column = static_cast<int>(t) % columns;
        const i64 i = at.i + r;
        const lane_scalar j{at.j + column};
        if (i >= space.m || j.begin >= space.n) return;
        const int from = (r * width + column % width) * Lanes + column / width;
        C sum = found.read(from);
        for (int s = 1; s < teams; ++s)
          sum = wrapping_add<C>(sum, found.read(s * Rows * columns + from));
        if (parts > 1)
          partial[((part * space.batches + at.batch.at[0]) * space.m + i) * space.n + j.begin] =
              sum;
        else
          store(to + r * out.row, out.column, j,
                finish.template add<C>(r, j, static_cast<C>(out.alpha * sum)));
      });
    });
  }
};

/// The parts of gemm_skinny_across together. space.tile_columns results of a line are a tile.
template <class Out, class C, class Bias>
struct gemm_skinny_merge {
  static constexpr int max_threads = 256;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_out<Out, C> out, Bias bias,
                                  i64 parts, global_ptr<const C> partial) {
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const skinny_place at = skinny_place::of(space, tile);
      const auto to = out.at(at.batch) + at.i * out.row;
      const auto finish = bias.at(at.batch, at.i);
      const i64 step = space.batches * space.m * space.n;
      const auto from = partial + (at.batch.at[0] * space.m + at.i) * space.n;
      block.for_each(min_of(space.tile_columns, space.n - at.j), [&](i64 column) FLAGGEMS_LAMBDA {
        const lane_scalar j{at.j + column};
        C sum = from[j.begin];
        for (i64 p = 1; p < parts; ++p) sum = wrapping_add<C>(sum, from[p * step + j.begin]);
        store(to, out.column, j, finish.template add<C>(0, j, static_cast<C>(out.alpha * sum)));
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/gemm_skinny.hpp");
