// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Matrix products of the host whose operands are both contiguous along the sum, of few rows or
// columns: lanes along the sum, nothing packed. `gemm_dot` takes vectors as wide as registers: with
// wider ones g++ 12 keeps the sums in memory.
#pragma once

#include <flaggems/kernel/family/gemm/vector/blocks.hpp>

namespace flaggems::kernels {

/// A register of C from memory of T.
template <class C, class Isa, class V, class T>
FLAGGEMS_HOST_INLINE void read_register(V& to, const T* from) {
  if constexpr (is_same<T, C>)
    to = *static_cast<const typename register_vector<C, Isa>::loose*>(
        static_cast<const void*>(from));
  else
    to = load_lanes<C, T, Isa>(from, Isa::lanes).v;
}

/// Vectors hold values of adjacent lines, `Width` lanes each. The lane of a pair of vectors at
/// position p when lanes k and k + Width / 2 of each line are paired: the former, or the latter if
/// `upper`.
template <int Lanes, int Width>
FLAGGEMS_HOST_INLINE constexpr int half_of_line(int p, bool upper) {
  constexpr int half = Width / 2, lines = Lanes / Width;
  const int line = p / half;
  return (line < lines ? 0 : Lanes) + line % lines * Width + p % half + (upper ? half : 0);
}
template <int Lanes, int Width, class V, int... K>
FLAGGEMS_HOST_INLINE void add_halves(V& to, const V& x, const V& y, int_sequence<K...>) {
  const V lower = FLAGGEMS_SHUFFLE(x, y, half_of_line<Lanes, Width>(K, false)...);
  const V upper = FLAGGEMS_SHUFFLE(x, y, half_of_line<Lanes, Width>(K, true)...);
  to = lower + upper;
}
/// The sums of the lanes of `Count` vectors, each added by the tree of fold_lanes, in consecutive
/// lanes from x[0] on; repeated if vectors have more lanes.
template <int Count, int Lanes, int Width = Lanes, class V>
FLAGGEMS_HOST_INLINE void fold_lines(V* x) {
  if constexpr (Width > 1) {
    constexpr int next = Count > 1 ? Count / 2 : 1;
    static_for<next>([&](auto k) FLAGGEMS_LAMBDA {
      add_halves<Lanes, Width>(x[k], x[2 * k], x[Count > 1 ? 2 * k + 1 : 0],
                               make_int_sequence<Lanes>{});
    });
    fold_lines<next, Lanes, Width / 2>(x);
  }
}

/// sums[l] = alpha * (x times line l), lines `line` elements apart: `at_once` of them in parallel,
/// which raises memory bandwidth, and reduced by a transposition. One call for many lines amortises
/// it.
template <class A, class B, class C>
struct dot_lines {
  static constexpr int at_once = 8;
  struct arguments {
    const A* x;
    const B* first;
    i64 line, lines, k;
    C alpha;
    C* sums;  // `lines` rounded up to `at_once`
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    using V = typename register_vector<C, Isa>::type;
    using loose = typename register_vector<C, Isa>::loose;
    constexpr int lanes = register_vector<C, Isa>::lanes;
    const A* const x = p.x;
    const i64 whole = p.k / lanes * lanes;
    for (i64 l = 0; l < p.lines; l += at_once) {
      const B* line[at_once];
      V sum[at_once];
      FLAGGEMS_UNROLL
      for (int n = 0; n < at_once; ++n) {
        // Lines past the end repeat the last one.
        line[n] = p.first + min_of(l + n, p.lines - 1) * p.line;
        sum[n] = V{};
      }
      i64 q = 0;
      for (; q < whole; q += lanes) {
        V factor;
        read_register<C, Isa>(factor, x + q);
        FLAGGEMS_UNROLL
        for (int n = 0; n < at_once; ++n) {
          V y;
          read_register<C, Isa>(y, line[n] + q);
          sum[n] += factor * y;
        }
      }
      if constexpr (sizeof(C) == sizeof(f32))
        if (const int rest = static_cast<int>(p.k - q); rest > 0) {
          const V factor = load_lanes<C, A, Isa>(x + q, rest).v;
          FLAGGEMS_UNROLL
          for (int n = 0; n < at_once; ++n)
            sum[n] += factor * load_lanes<C, B, Isa>(line[n] + q, rest).v;
        }
      fold_lines<at_once, lanes>(sum);
      C folded[at_once > lanes ? at_once : lanes];
      constexpr int vectors = at_once > lanes ? at_once / lanes : 1;
      FLAGGEMS_UNROLL
      for (int n = 0; n < vectors; ++n)
        *static_cast<loose*>(static_cast<void*>(folded + n * lanes)) = sum[n];
      C* const to = p.sums + l;
      FLAGGEMS_UNROLL
      for (int n = 0; n < at_once; ++n) {
        C total = folded[n];
        if constexpr (sizeof(C) != sizeof(f32))
          for (i64 e = q; e < p.k; ++e) total = multiply_add<C>(x[e], line[n][e], total);
        to[n] = p.alpha * total;
      }
    }
  }
};

/// The sums of rows x columns(lanes) results, whose lines begin at `row` and `column`: enough of
/// them to hide the latency of a multiplication, with as few loads for each as registers allow.
template <class A, class B, class C>
struct dot_tile {
  static constexpr int rows = 4, most_columns = 6;
  static constexpr int columns(i64 lanes) { return has_32_registers(lanes) ? most_columns : 3; }
  struct arguments {
    const A* row[rows];
    const B* column[most_columns];
    i64 k;
    C* sums;  // [rows][columns]
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    constexpr int Rows = rows, Columns = columns(Isa::lanes);
    using V = typename register_vector<C, Isa>::type;
    constexpr int lanes = register_vector<C, Isa>::lanes;
    V sum[Rows][Columns];
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int c = 0; c < Columns; ++c) sum[r][c] = V{};
    }
    i64 q = 0;
    for (; q + lanes <= p.k; q += lanes) {
      V x[Rows];
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) read_register<C, Isa>(x[r], p.row[r] + q);
      FLAGGEMS_UNROLL
      for (int c = 0; c < Columns; ++c) {
        V y;
        read_register<C, Isa>(y, p.column[c] + q);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) sum[r][c] += x[r] * y;
      }
    }
    C total[Rows][Columns];
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int c = 0; c < Columns; ++c) fold<Isa>(total[r][c], sum[r][c]);
    }
    for (int r = 0; r < Rows; ++r)
      for (int c = 0; c < Columns; ++c) {
        C x = total[r][c];
        for (i64 e = q; e < p.k; ++e)
          x = multiply_add<C>(number_cast<C>(p.row[r][e]), number_cast<C>(p.column[c][e]), x);
        p.sums[r * Columns + c] = x;
      }
  }

 private:
  template <class Isa, class V>
  FLAGGEMS_HOST_INLINE static void fold(C& to, const V& x) {
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
};

template <class A, class B, class Out, class C, class Bias>
struct gemm_along {
  static constexpr bool has_parts = true;
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, gemm_space space, const gemm_arg<A>& a,
                                       const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                       const Bias& bias) {
    if (space.m == 1)
      one_row(block, space, a, b, out, bias);
    else
      tiles(block, space, a, b, out, bias);
  }

 private:
  template <class Block>
  FLAGGEMS_HOST_INLINE static void one_row(Block& block, gemm_space& space, const gemm_arg<A>& a,
                                           const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                           const Bias& bias) {
    using bias_part = remove_const<decltype(bias.at(coordinates{}, i64{}))>;
    using lines = dot_lines<A, B, C>;
    using storing = store_tile<Out, C, bias_part>;
    const auto multiply = block.template part<lines, typename lines::arguments>();
    const auto store = block.template part<storing, typename storing::arguments>();
    constexpr i64 most = 256;
    space.tile_rows = space.row_tiles = space.group = 1;
    space.tile_columns =
        min_of(round_up(ceil_div(space.n, block.count()), i64{lines::at_once}), most);
    space.column_tiles = ceil_div(space.n, space.tile_columns);
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      const gemm_space::place at = space.locate(tile);
      const i64 count = min_of(space.tile_columns, space.n - at.j);
      alignas(64) C sums[most];
      multiply.call({a.at(at.batch), b.at(at.batch) + at.j * b.line, b.line, count, space.k,
                     out.alpha, sums});
      const auto finish = bias.at(at.batch, 0);
      store.call({sums, nullptr, 0, 0, 1, count, out.at(at.batch) + at.j * out.column, 0,
                  out.column, false, bias.active(), &finish, 0, at.j});
    });
  }

  using dots = dot_tile<A, B, C>;

  template <class Block>
  FLAGGEMS_HOST_INLINE static void tiles(Block& block, gemm_space& space, const gemm_arg<A>& a,
                                         const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                         const Bias& bias) {
    const auto multiply = block.template part<dots, typename dots::arguments>();
    space.tile_rows = dots::rows;
    space.tile_columns = dots::columns(multiply.lanes);
    space.row_tiles = ceil_div(space.m, space.tile_rows);
    space.column_tiles = ceil_div(space.n, space.tile_columns);
    // A group's rows of `a` stay in the L2 cache.
    const i64 bytes = max_of(space.k * dots::rows * static_cast<i64>(sizeof(A)), i64{1});
    space.group = max_of(min_of(256 * 1024 / bytes, space.row_tiles), i64{1});
    block.for_each_tile(space.tiles(), [&](i64 tile) FLAGGEMS_LAMBDA {
      one_tile(space, a, b, out, bias, tile, multiply.call);
    });
  }

  FLAGGEMS_HOST_INLINE static void one_tile(const gemm_space& space, const gemm_arg<A>& a,
                                            const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                            const Bias& bias, i64 tile,
                                            void (*multiply)(const typename dots::arguments&)) {
    const gemm_space::place at = space.locate(tile);
    C sums[dots::rows * dots::most_columns];
    typename dots::arguments p{{}, {}, space.k, sums};
    // Lines past the end repeat the last one: computed, not stored.
    const A* const first_row = a.at(at.batch);
    const B* const first_column = b.at(at.batch);
    const int columns = static_cast<int>(space.tile_columns);
    for (int r = 0; r < dots::rows; ++r)
      p.row[r] = first_row + min_of(at.i + r, space.m - 1) * a.line;
    for (int c = 0; c < columns; ++c)
      p.column[c] = first_column + min_of(at.j + c, space.n - 1) * b.line;
    multiply(p);
    Out* const to = out.at(at.batch) + at.i * out.row;
    const auto add = bias.at(at.batch, at.i);
    for (int r = 0; r < dots::rows && at.i + r < space.m; ++r)
      for (int c = 0; c < columns && at.j + c < space.n; ++c) {
        const lane_scalar j{at.j + c};
        const C x = static_cast<C>(out.alpha * sums[r * columns + c]);
        store(to + r * out.row, out.column, j, add.template add<C>(r, j, x));
      }
  }
};

}  // namespace flaggems::kernels
