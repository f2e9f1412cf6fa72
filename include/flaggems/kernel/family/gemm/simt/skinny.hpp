// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of few rows on SIMT devices, which are bound by reading the other matrix: each
// element is read once, by vectors, with many loads pending.
#pragma once

#include <flaggems/kernel/block/simt/reduce_values.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/lang/divider.hpp>

namespace flaggems::kernels {

/// A product of few rows: counts of 32 bits, and precomputed divisors.
struct skinny_space {
  i32 batches, m, n, k;
  i32 tile_rows, tile_columns;
  divider row_tiles, column_tiles;  // by their numbers
  u32 tiles;
  i32 sharing;  // 2^sharing subwarps share lines, most_sharing at most
};
inline constexpr int most_sharing = 8;

/// gemm_arg and gemm_out with a one-dimensional batch. (Small, as each call copies a kernel's
/// arguments.)
template <class T>
struct skinny_arg {
  global_ptr<const T> data;
  i64 line, along, batch;
  FLAGGEMS_INLINE global_ptr<const T> at(const coordinates& c) const {
    return data + c.at[0] * batch;
  }
};
template <class T, class C>
struct skinny_out {
  global_ptr<T> data;
  i64 row, column, batch;
  C alpha;
  FLAGGEMS_INLINE global_ptr<T> at(const coordinates& c) const { return data + c.at[0] * batch; }
};

/// The position of a tile. The batch has one dimension: array indices unknown at compile time would
/// move arguments to local memory.
struct skinny_place {
  coordinates batch;
  i32 i, j;
  FLAGGEMS_INLINE static skinny_place of(const skinny_space& space, u32 tile) {
    const u32 line = space.column_tiles.quotient(tile), batch = space.row_tiles.quotient(line);
    skinny_place at;
    at.batch.rank = 1;
    at.batch.inner = 0;
    at.batch.at[0] = static_cast<i64>(batch);
    at.i = static_cast<i32>(line - batch * space.row_tiles.divisor) * space.tile_rows;
    at.j = static_cast<i32>(tile - line * space.column_tiles.divisor) * space.tile_columns;
    return at;
  }
};

/// A thread's subwarp of `Lanes` threads, and its index among the subwarps that share lines:
/// 2^space.sharing, or fewer where a block has fewer threads than requested.
template <int Lanes>
struct skinny_subwarp {
  int subwarp, lane;
  int shift, sharing, part;  // its index among 2^shift subwarps
  int group, groups;         // its index among those with other lines
  template <class Block>
  FLAGGEMS_INLINE skinny_subwarp(const Block& block, const skinny_space& space) {
    const u32 threads = static_cast<u32>(block.threads());
    shift = space.sharing;
    while (threads < static_cast<u32>(Lanes) << shift) --shift;
    sharing = 1 << shift;
    groups = static_cast<int>(threads / Lanes) >> shift;
    set(static_cast<u32>(block.thread()));
  }
  /// Recomputes it, to save registers.
  FLAGGEMS_INLINE void renew(u32 thread) {
    FLAGGEMS_FORGET(thread);
    set(thread);
  }

 private:
  FLAGGEMS_INLINE void set(u32 thread) {
    subwarp = static_cast<int>(thread / Lanes);
    lane = static_cast<int>(thread % Lanes);
    part = subwarp & (sharing - 1);
    group = subwarp >> shift;
  }
};

/// Lanes along the sum: `b`, and `a` unless it is an expression, are contiguous there and
/// vector-aligned. `Lanes` consecutive threads are a subwarp; subwarps that share lines have
/// Columns lines of `b`. `Unroll` vectors of each line are loaded at once.
template <class A, class B, class Out, class C, class Bias, int Rows, int Columns, int Lanes,
          int Unroll, int Threads>
struct gemm_skinny {
  static constexpr int max_threads = Threads, min_blocks = (Rows == 1 ? 768 : 512) / Threads;
  static constexpr int width = vec_size<B>;
  static constexpr int count = Rows * Columns;
  static_assert(count <= Lanes, "flaggems: a thread of a subwarp ends with one sum at most");
  /// The elements of a block's scratch: the subwarps' partial sums, double-buffered.
  static constexpr int found = 2 * max_threads / Lanes * count;
  static constexpr int most_scratch = found * static_cast<int>(sizeof(C));
  static constexpr bool awaits_earlier = true;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const skinny_space& space, const skinny_arg<A>& a,
                                  const skinny_arg<B>& b, const skinny_out<Out, C>& out,
                                  const Bias& bias) {
    skinny_subwarp<Lanes> mine(block, space);
    const int begin = (mine.part * Lanes + mine.lane) * width, step = mine.sharing * Lanes * width;
    const int left = space.k - begin, line = mine.group * Columns;
    const auto partial = block.template scratch<C>(found);
    int side = 0;  // of the scratch
    for (u32 tile = static_cast<u32>(block.index()); tile < space.tiles;
         tile += static_cast<u32>(block.count())) {
      const skinny_place at = skinny_place::of(space, tile);
      // Lines past the end repeat the last one: computed, not stored.
      global_ptr<const A> row[Rows];
      FLAGGEMS_SIMT_UNROLL
      for (int r = 0; r < Rows; ++r)
        row[r] = settled<const A>(a.at(at.batch) + min_of(at.i + r, space.m - 1) * a.line + begin);
      const int end = min_of(at.j + space.tile_columns, space.n);
      for (int first = at.j + line; first - line < end; first += mine.groups * Columns) {
        global_ptr<const B> column[Columns];
        FLAGGEMS_SIMT_UNROLL
        for (int c = 0; c < Columns; ++c) {
          const int j = min_of(first + c, space.n - 1);
          column[c] = settled<const B>(b.at(at.batch) + j * b.line + begin);
        }
        block.await_earlier([&]() FLAGGEMS_LAMBDA {  // weights, which no launch writes
          FLAGGEMS_SIMT_UNROLL
          for (int u = 0; u < Unroll; ++u) {
            FLAGGEMS_SIMT_UNROLL
            for (int c = 0; c < Columns; ++c)
              if (u * step < left) prefetch(global_ptr<const B>(column[c] + u * step));
          }
        });
        C sums[count];
        FLAGGEMS_SIMT_UNROLL
        for (int e = 0; e < count; ++e) sums[e] = C(0);
        const auto add = [&](const vec<B, width>(&y)[Columns], int q) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < Rows; ++r) {
            C x[width];
            load_vecs<width, C>(row[r] + q, x);
            FLAGGEMS_SIMT_UNROLL
            for (int c = 0; c < Columns; ++c) {
              C z[width];
              unpack<C>(y[c], z);
              FLAGGEMS_SIMT_UNROLL
              for (int e = 0; e < width; ++e)
                sums[r * Columns + c] = multiply_add<C>(x[e], z[e], sums[r * Columns + c]);
            }
          }
        };
        const auto fetch = [&](vec<B, width>(&y)[Columns], int q) FLAGGEMS_LAMBDA {
          FLAGGEMS_SIMT_UNROLL
          for (int c = 0; c < Columns; ++c) {
            if constexpr (Rows > 1)
              y[c] = load_vec_once<width>(column[c] + q);
            else
              y[c] = load_vec<width>(column[c] + q);
          }
        };
        int q = 0;
        // Without these braces NVRTC 13 also drops the statements after a loop.
        if constexpr (Unroll > 1) {
          for (; q + (Unroll - 1) * step < left; q += Unroll * step) {
            vec<B, width> y[Unroll][Columns];
            FLAGGEMS_SIMT_UNROLL
            for (int u = 0; u < Unroll; ++u) fetch(y[u], q + u * step);
            FLAGGEMS_SIMT_UNROLL
            for (int u = 0; u < Unroll; ++u) add(y[u], q + u * step);
          }
          for (; q < left; q += step) {
            vec<B, width> y[Columns];
            fetch(y, q);
            add(y, q);
          }
        } else if (q < left) {  // software pipelining: each step loads the next one's data
          vec<B, width> y[Columns];
          fetch(y, q);
          for (; q < left; q += step) {
            vec<B, width> next[Columns];
            FLAGGEMS_SIMT_UNROLL
            for (int c = 0; c < Columns; ++c) next[c] = y[c];
            if (q + step < left) fetch(next, q + step);
            add(y, q);
            FLAGGEMS_SIMT_UNROLL
            for (int c = 0; c < Columns; ++c) y[c] = next[c];
          }
        }
        reduce_values<count, Lanes / 2, C>(block, sums);
        mine.renew(static_cast<u32>(block.thread()));
        // The first of the subwarps that share lines adds the others' partial sums. They are
        // double-buffered, so that one barrier suffices.
        constexpr int spread = Lanes / count;
        const int e = mine.lane / spread;
        const bool has_sum = mine.lane % spread == 0 && mine.group < mine.groups;
        C sum = sums[0];
        if (mine.sharing > 1) {
          const auto from = partial.from(side * (found / 2) + mine.subwarp * count + e);
          if (mine.part > 0 && has_sum) from.write(0, sum);
          block.sync();
          if (mine.part == 0 && has_sum) {
            FLAGGEMS_SIMT_UNROLL
            for (int s = 1; s < most_sharing; ++s)
              if (s < mine.sharing) sum = wrapping_add<C>(sum, from.read(s * count));
          }
          side ^= 1;
        }
        const int r = e / Columns;
        const lane_scalar j{first + e % Columns};
        if (mine.part == 0 && has_sum && at.i + r < space.m && j.begin < end)
          store(out.at(at.batch) + (at.i + r) * out.row, out.column, j,
                bias.at(at.batch, at.i).template add<C>(r, j, static_cast<C>(out.alpha * sum)));
      }
    }
  }
};

/// Lanes along the columns of the result, where `b` is contiguous and vector-aligned. A subwarp of
/// `Lanes` threads reads Depth lines at once; all subwarps of a block share the same columns. With
/// split-K, the results of the parts go to `partial` for gemm_merge.
// If `vectorized`, Depth elements of `a` along the sum are read as a vector.
template <class A, class B, class Out, class C, class Bias, int Rows, int Lanes, int Depth,
          int Threads>
struct gemm_skinny_across {
  static constexpr int max_threads = Threads, min_blocks = (Rows == 1 ? 1024 : 512) / Threads;
  static constexpr int width = vec_size<B>;
  static constexpr int columns = Lanes * width;
  static constexpr bool awaits_earlier = true;

  /// The elements of a block's scratch.
  FLAGGEMS_INLINE static constexpr i64 scratch(int threads) {
    return threads / Lanes * Rows * columns;
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const skinny_space& space, const skinny_arg<A>& a,
                                  const skinny_arg<B>& b, const skinny_out<Out, C>& out,
                                  const Bias& bias, bool vectorized, const divider& parts,
                                  i32 length, global_ptr<C> partial) {
    const u32 thread = static_cast<u32>(block.thread());
    const int subwarps = static_cast<int>(static_cast<u32>(block.threads()) / Lanes);
    const int subwarp = static_cast<int>(thread / Lanes), lane = static_cast<int>(thread % Lanes);
    const auto found = block.template scratch<C>(scratch(block.threads()));
    for (u32 tile = static_cast<u32>(block.index()); tile < space.tiles * parts.divisor;
         tile += static_cast<u32>(block.count())) {
      const u32 which = parts.quotient(tile), part = tile - which * parts.divisor;
      const skinny_place at = skinny_place::of(space, which);
      const int begin = static_cast<int>(part) * length, end = min_of(begin + length, space.k);
      global_ptr<const A> row[Rows];
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        row[r] = settled<const A>(a.at(at.batch) + min_of(at.i + r, space.m - 1) * a.line);
      });
      const auto from_b = b.at(at.batch) + at.j + lane * width;
      const bool exists = at.j + lane * width < space.n;
      block.await_earlier();
      C sums[Rows][width];
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        static_for<width>([&](auto e) FLAGGEMS_LAMBDA { sums[r][e] = C(0); });
      });
      const auto add = [&](int q, int lines) FLAGGEMS_LAMBDA {
        vec<B, width> y[Depth];
        const auto line = from_b + q * b.along;
        static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
          y[d] = vec<B, width>{};
          if (exists && d < lines) y[d] = load_vec<width>(line + d * b.along);
        });
        C x[Rows][Depth];
        static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
          if (vectorized && lines == Depth)
            load_vecs<Depth, C>(row[r] + q, x[r]);
          else
            static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
              x[r][d] = d < lines ? number_cast<C>(row[r][(q + d) * a.along]) : C(0);
            });
        });
        static_for<Depth>([&](auto d) FLAGGEMS_LAMBDA {
          C z[width];
          unpack<C>(y[d], z);
          FLAGGEMS_SIMT_UNROLL
          for (int r = 0; r < Rows; ++r) {
            FLAGGEMS_SIMT_UNROLL
            for (int e = 0; e < width; ++e) sums[r][e] = multiply_add<C>(x[r][d], z[e], sums[r][e]);
          }
        });
      };
      for (int q = begin + subwarp * Depth; q < end; q += subwarps * Depth)
        add(q, min_of(Depth, end - q));

      block.sync();  // the previous tile's sums may still be read
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        static_for<width>([&](auto e) FLAGGEMS_LAMBDA {
          found.write(((subwarp * Rows + r) * width + e) * Lanes + lane, sums[r][e]);
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
        for (int s = 1; s < subwarps; ++s)
          sum = wrapping_add<C>(sum, found.read(s * Rows * columns + from));
        if (parts.divisor > 1) {
          const i64 partial_row = (i64{part} * space.batches + at.batch.at[0]) * space.m + i;
          partial[partial_row * space.n + j.begin] = sum;
        } else {
          store(to + r * out.row, out.column, j,
                finish.template add<C>(r, j, static_cast<C>(out.alpha * sum)));
        }
      });
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/simt/skinny.hpp");
