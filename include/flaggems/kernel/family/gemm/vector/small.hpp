// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Small matrix products of the host, whose operands fit the L1 and L2 caches: register tiles
// straight from the operands, over the whole sum, without packing, plan or memory. At the ends of
// rows and columns a tile moves back and computes some results again, to the same bits, so there
// are no masks.
#pragma once

#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/family/gemm/vector/blocks.hpp>

namespace flaggems::kernels {

/// out[i][j] = alpha * sum over q of a[i][q] * b[q][j].
template <class C>
struct small_arguments {
  i64 m, n, k;
  const C* a;
  i64 a_row, a_along;
  const C* b;
  i64 b_line, b_along;
  C* out;
  i64 out_row;
  C alpha;
};

template <class C>
struct small_product {
  /// Elements of `b` that are transposed for a panel of columns, where `b` is not contiguous along
  /// them: on the stack.
  static constexpr i64 most_packed = 32 * 1024 / static_cast<i64>(sizeof(C));

  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const small_arguments<C>& p) {
    using K = shape<Isa>;
    if (p.b_line != 1 || p.n < K::lanes) {
#if FLAGGEMS_ARCH_X86
      if constexpr (Isa::bytes == 64)  // fewer columns: vectors of half the width
        if (p.n < K::lanes) return outlined<isa_avx2>::template call<small_product<C>>(p);
#endif
      return outlined<Isa>::template call<transposing>(p);
    }
    const C* const b = p.b;
    const i64 b_along = p.b_along, n = p.n;
    C* const out = p.out;
    // Equal panels: of four vectors, two and two instead of three and one.
    const i64 count = ceil_div(n, i64{K::lanes});
    const i64 vectors = ceil_div(count, ceil_div(count, i64{K::vectors}));
    for (i64 j = 0; j < n; j += vectors * K::lanes) {
      const i64 live = n - j;
      if (K::vectors == 3 && vectors == 3 && live > 2 * K::lanes) {
        rows<Isa, K::vectors>(p, b + j, b_along, min_of(live, i64{K::vectors * K::lanes}), out + j);
      } else if (vectors >= 2 && live > K::lanes) {
        rows<Isa, 2>(p, b + j, b_along, min_of(live, i64{2 * K::lanes}), out + j);
      } else {
        const i64 back = min_of(j, n - K::lanes);
        rows<Isa, 1>(p, b + back, b_along, K::lanes, out + back);
      }
    }
  }

 private:
  template <class Isa>
  struct shape {
    using tile = vector_kernel<C, Isa>;
    static constexpr int lanes = tile::lanes;
    // AVX2 6x16, AVX-512 8x48. (The blocked product's 4x24 at AVX2 would leave two vectors of
    // columns only 8 independent sums, which hardly hide the latency.)
    static constexpr int rows = tile::has_more_registers ? 8 : tile::has_fma ? 6 : 4;
    static constexpr int vectors = tile::has_more_registers ? 3 : 2;
  };

  template <class Isa, int Vectors>
  FLAGGEMS_HOST_INLINE static void rows(const small_arguments<C>& p, const C* b, i64 b_along,
                                        i64 live, C* out) {
    using K = shape<Isa>;
    const i64 last = live - K::lanes;  // where the last vector begins
    constexpr i64 half = K::rows / 2;
    for (i64 i = 0; i < p.m;) {
      if (p.m - i > half && p.m >= K::rows) {
        tile<Isa, K::rows, Vectors>(p, min_of(i, p.m - K::rows), b, b_along, last, out);
        i += K::rows;
      } else if (p.m >= half) {
        tile<Isa, half, Vectors>(p, min_of(i, p.m - half), b, b_along, last, out);
        i += half;
      } else {
        tile<Isa, 1, Vectors>(p, i, b, b_along, last, out);
        ++i;
      }
    }
  }

  template <class Isa, int Rows, int Vectors>
  FLAGGEMS_HOST_INLINE static void tile(const small_arguments<C>& p, i64 i, const C* b, i64 b_along,
                                        i64 last, C* out) {
    using V = typename register_vector<C, Isa>::type;
    using loose = typename register_vector<C, Isa>::loose;
    constexpr int lanes = shape<Isa>::lanes, half = 4;
    V sum[Rows][Vectors];
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v) sum[r][v] = V{};
    }
    const C* a = p.a + i * p.a_row;
    const i64 a_row = p.a_row, a_along = p.a_along;
    for (i64 q = p.k; q > 0; --q, a += a_along, b += b_along) {
      V y[Vectors];
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        const C* const from = b + (v == Vectors - 1 ? last : v * lanes);
        y[v] = *static_cast<const loose*>(static_cast<const void*>(from));
      }
      const C* const lower = a + half * a_row;
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        V x;
        broadcast_from(x, r < half ? a + r * a_row : lower + (r - half) * a_row);
        FLAGGEMS_UNROLL
        for (int v = 0; v < Vectors; ++v) sum[r][v] += x * y[v];
      }
    }
    V alpha;
    broadcast_from(alpha, &p.alpha);
    const i64 out_row = p.out_row;
    C* to = out + i * out_row;
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r, to += out_row) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        C* const place = to + (v == Vectors - 1 ? last : v * lanes);
        *static_cast<loose*>(static_cast<void*>(place)) = alpha * sum[r][v];
      }
    }
  }

  /// Any strides of `b`: a panel of columns at a time is transposed first.
  struct transposing {
    template <class Isa>
    FLAGGEMS_HOST_INLINE static void run(const small_arguments<C>& p) {
      using K = shape<Isa>;
      constexpr i64 width = K::vectors * K::lanes;
      alignas(64) C packed[most_packed];
      small_arguments<C> part = p;
      if constexpr (Isa::bytes < 64)  // else these run at a level below
        if (p.n < K::lanes) return few_columns<Isa>(p, part, packed);
      part.b = packed;
      part.b_line = 1;
      part.b_along = width;
      for (i64 j = 0; j < p.n; j += width) {
        j = min_of(j, p.n - K::lanes);
        part.n = min_of(width, p.n - j);
        part.out = p.out + j;
        transpose<Isa>(packed, width, p, j, part.n, part.n);
        outlined<Isa>::template call<small_product<C>>(part);
      }
    }

   private:
    /// Fewer columns than a vector: padded with the last one; results go through the stack.
    template <class Isa>
    FLAGGEMS_HOST_INLINE static void few_columns(const small_arguments<C>& p,
                                                 small_arguments<C>& part, C* packed) {
      using K = shape<Isa>;
      transpose<Isa>(packed, K::lanes, p, 0, p.n, K::lanes);
      alignas(64) C results[K::rows * K::lanes];
      part.n = K::lanes;
      part.b = packed;
      part.b_line = 1;
      part.b_along = K::lanes;
      part.out = results;
      part.out_row = K::lanes;
      for (i64 i = 0; i < p.m; i += K::rows) {
        part.m = min_of(i64{K::rows}, p.m - i);
        part.a = p.a + i * p.a_row;
        outlined<Isa>::template call<small_product<C>>(part);
        for (i64 r = 0; r < part.m; ++r)
          for (i64 j = 0; j < p.n; ++j) p.out[(i + r) * p.out_row + j] = results[r * K::lanes + j];
      }
    }

    /// Columns [j, j + live), then the last of them, repeated up to `count`.
    template <class Isa>
    FLAGGEMS_HOST_INLINE static void transpose(C* packed, i64 width, const small_arguments<C>& p,
                                               i64 j, i64 live, i64 count) {
      using block = pack_block<C, Isa::bytes>;
      constexpr int side = block::side, lines = block::lines;
      for (i64 l = 0; l < count; l += lines) {
        const C* line[lines];
        FLAGGEMS_UNROLL
        for (int n = 0; n < lines; ++n) line[n] = p.b + (j + min_of(l + n, live - 1)) * p.b_line;
        i64 q = 0;
        if (p.b_along == 1)
          for (; q + side <= p.k; q += side) block::transpose(packed + l, width, line, q);
        for (; q < p.k; ++q) {
          FLAGGEMS_UNROLL
          for (int n = 0; n < lines; ++n) packed[q * width + l + n] = line[n][q * p.b_along];
        }
      }
    }
  };
};

/// One small product.
template <class C>
struct gemm_small_matrix {
  static constexpr bool has_parts = true;
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, const small_arguments<C>& p) {
    if (block.index() == 0) block.template part<small_product<C>, small_arguments<C>>().call(p);
  }
};

/// `lines` lines of `length` elements as C, one after the other.
template <class C, class T>
struct convert_lines {
  struct arguments {
    const T* from;
    i64 line, along;
    i64 lines, length;
    C* to;
  };
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    for (i64 l = 0; l < p.lines; ++l) {
      const T* const from = p.from + l * p.line;
      C* const to = p.to + l * p.length;
      for (i64 e = 0; e < p.length; e += Isa::lanes) {
        const int count = static_cast<int>(min_of(p.length - e, i64{Isa::lanes}));
        if (p.along == 1)
          store_lanes(to + e, load_lanes<C, T, Isa>(from + e, count), count);
        else
          store_lanes(to + e, load_strided<C, T, Isa>(from + e * p.along, p.along, count), count);
      }
    }
  }
};

/// A batch of small products. Operands of another type than the sums are converted before, in the
/// worker's scratch; a bias, another type or other strides of the result are handled after.
template <class A, class B, class Out, class C, class Bias>
struct gemm_small {
  static constexpr bool has_parts = true;
  /// Elements of scratch.
  static constexpr i64 scratch(i64 m, i64 n, i64 k) {
    constexpr i64 padding = 64;
    return m * n + (is_same<A, C> ? 0 : m * k) + (is_same<B, C> ? 0 : n * k) + 3 * padding;
  }

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, const gemm_space& space, const gemm_arg<A>& a,
                                       const gemm_arg<B>& b, const gemm_out<Out, C>& out,
                                       const Bias& bias) {
    const auto multiply = block.template part<small_product<C>, small_arguments<C>>();
    const i64 m = space.m, n = space.n, k = space.k;
    const bool biased = bias.active();
    const bool direct = is_same<Out, C> && !biased && out.column == 1;
    C* kept = block.template scratch<C>(scratch(m, n, k)).data;
    small_arguments<C> p{m, n, k, nullptr, 0, 0, nullptr, 0, 0, kept, n, out.alpha};
    if (direct) p.out_row = out.row;
    C* const a_copy = kept + round_up(m * n, 64);
    C* const b_copy = a_copy + (is_same<A, C> ? 0 : round_up(m * k, 64));
    block.for_each_tile(space.batches, [&](i64 batch) FLAGGEMS_LAMBDA {
      const coordinates at = space.batch_at(batch);
      operand(block, p.a, p.a_row, p.a_along, a.at(at), a, m, k, a_copy);
      operand(block, p.b, p.b_line, p.b_along, b.at(at), b, n, k, b_copy);
      Out* const to = out.at(at);
      if constexpr (is_same<Out, C>)
        if (direct) p.out = to;
      multiply.call(p);
      if (direct) return;
      const auto finish = bias.at(at, 0);
      using storing = store_tile<Out, C, remove_const<decltype(finish)>>;
      using arguments = typename storing::arguments;
      block.template part<storing, arguments>().call(arguments{
          kept, nullptr, n, 0, m, n, to, out.row, out.column, false, biased, &finish, 0, 0});
    });
  }

 private:
  /// An operand's elements as C: in place, or converted to `copy` in the same order.
  template <class Block, class T>
  FLAGGEMS_HOST_INLINE static void operand([[maybe_unused]] const Block& block, const C*& data,
                                           i64& line, i64& along, const T* from,
                                           const gemm_arg<T>& arg, i64 lines, i64 k, C* copy) {
    if constexpr (is_same<T, C>) {
      data = from;
      line = arg.line;
      along = arg.along;
    } else {
      const bool lengthwise = arg.along == 1 || arg.line != 1;
      data = copy;
      line = lengthwise ? k : 1;
      along = lengthwise ? 1 : lines;
      using converting = convert_lines<C, T>;
      using arguments = typename converting::arguments;
      block.template part<converting, arguments>().call(
          arguments{from, lengthwise ? arg.line : arg.along, lengthwise ? arg.along : arg.line,
                    lengthwise ? lines : k, lengthwise ? k : lines, copy});
    }
  }
};

}  // namespace flaggems::kernels
