// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Matrix products of the host whose operands are both contiguous along the sum, of few rows or
// columns: lanes along the sum, nothing packed. `gemm_dot` for vectors as wide as registers (with
// those of eight f64, g++ 12 keeps a product of f64 in memory: 14 GB/s of 80 in the second cache).
#pragma once

#include <flaggems/kernels/gemm_host.hpp>

namespace flaggems::kernels {

/// The sums of Rows x Columns results, whose lines begin at `row` and `column`.
template <class A, class B, class C, int Rows, int Columns>
struct dot_tile {
  struct arguments {
    const A* row[Rows];
    const B* column[Columns];
    i64 k;
    C* sums;  // [Rows][Columns]
  };
  template <class Isa>
  FLAGGEMS_INLINE static void run(const arguments& p) {
    using V = typename register_vector<C, Isa>::type;
    constexpr int lanes = register_vector<C, Isa>::lanes;
    V sum[Rows][Columns];
    static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA { sum[r][c] = V{}; });
    });
    i64 q = 0;
    for (; q + lanes <= p.k; q += lanes) {
      V x[Rows];
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA { read<Isa>(x[r], p.row[r] + q); });
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
        V y;
        read<Isa>(y, p.column[c] + q);
        static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA { sum[r][c] += x[r] * y; });
      });
    }
    static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
        C total;
        fold<Isa>(total, sum[r][c]);
        for (i64 e = q; e < p.k; ++e)
          total =
              multiply_add<C>(number_cast<C>(p.row[r][e]), number_cast<C>(p.column[c][e]), total);
        p.sums[r * Columns + c] = total;
      });
    });
  }

 private:
  template <class Isa, class V>
  FLAGGEMS_INLINE static void fold(C& to, const V& x) {
    if constexpr (is_same<C, f32>) {
      simd<f32, Isa> lanes(0.0F);
      lanes.v = x;
      to = fold_lanes<f32>(lanes, plus{});
    } else {
      constexpr int count = register_vector<C, Isa>::lanes;
      C lane[count];
      *static_cast<typename register_vector<C, Isa>::loose*>(static_cast<void*>(lane)) = x;
      for (int half = count / 2; half > 0; half /= 2)
        for (int e = 0; e < half; ++e) lane[e] += lane[e + half];
      to = lane[0];
    }
  }
  template <class Isa, class V, class T>
  FLAGGEMS_INLINE static void read(V& to, const T* from) {
    if constexpr (is_same<T, C>)
      to = *static_cast<const typename register_vector<C, Isa>::loose*>(
          static_cast<const void*>(from));
    else
      to = load_lanes<C, T, Isa>(from, Isa::lanes).v;
  }
};

template <class A, class B, class Out, class C, class Bias>
struct gemm_along {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, const gemm_arg<A>& a,
                                  const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                  const Bias& bias) {
    using isa = typename Block::isa;
    // As many sums as hide the latency of a product, and reads for each of them as few as
    // registers allow.
    if (space.m == 1)
      tiles<isa, 1, 8>(block, space, a, b, out, bias);
    else if (vector_kernel<C, isa>::has_32_registers)
      tiles<isa, 4, 6>(block, space, a, b, out, bias);
    else
      tiles<isa, 4, 3>(block, space, a, b, out, bias);
  }

 private:
  template <class Isa, int Rows, int Columns, class Block>
  FLAGGEMS_INLINE static void tiles(Block& block, gemm_space& space, const gemm_arg<A>& a,
                                    const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                    const Bias& bias) {
    space.tile_rows = Rows;
    space.tile_columns = Columns;
    space.row_tiles = ceil_div(space.m, i64{Rows});
    space.column_tiles = ceil_div(space.n, i64{Columns});
    // The rows of `a` of a group stay in the second cache.
    const i64 bytes = max_of(space.k * Rows * static_cast<i64>(sizeof(A)), i64{1});
    space.group = max_of(min_of(256 * 1024 / bytes, space.row_tiles), i64{1});
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      one_tile<Isa, Rows, Columns>(space, a, b, out, bias, tile);
    });
  }

  template <class Isa, int Rows, int Columns>
  FLAGGEMS_NOINLINE static void one_tile(const gemm_space& space, const gemm_arg<A>& a,
                                         const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                         const Bias& bias, i64 tile) {
    const gemm_space::place at = space.locate(tile);
    C sums[Rows * Columns];
    typename dot_tile<A, B, C, Rows, Columns>::arguments p{{}, {}, space.k, sums};
    // Lines beyond the last are the last one again: computed, not stored.
    const A* const first_row = a.at(at.batch);
    const B* const first_column = b.at(at.batch);
    for (int r = 0; r < Rows; ++r) p.row[r] = first_row + min_of(at.i + r, space.m - 1) * a.line;
    for (int c = 0; c < Columns; ++c)
      p.column[c] = first_column + min_of(at.j + c, space.n - 1) * b.line;
    outlined<Isa>::template call<dot_tile<A, B, C, Rows, Columns>>(p);
    Out* const to = out.at(at.batch) + at.i * out.row;
    const auto add = bias.at(at.batch, at.i);
    for (int r = 0; r < Rows && at.i + r < space.m; ++r)
      for (int c = 0; c < Columns && at.j + c < space.n; ++c) {
        const lane_scalar j{at.j + c};
        const C x = static_cast<C>(out.alpha * sums[r * Columns + c]);
        store(to + r * out.row, out.column, j, add.template add<C>(r, j, x));
      }
  }
};

}  // namespace flaggems::kernels
