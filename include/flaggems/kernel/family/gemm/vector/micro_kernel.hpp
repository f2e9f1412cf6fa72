// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Micro-kernels of the host's matrix products. A micro-kernel multiplies a panel of `rows` rows by
// one of `columns` columns and adds the tile to the result. What it must have:
//
//     rows, columns, lanes   the tile; columns come in vectors of `lanes`
//     step                   summed elements that are adjacent in a panel
//     l1_quarters, most_depth  how deep a block may be: the quarters of the L1 cache that a panel
//                            of columns takes, and summed elements
//     panel_bytes(width, steps)  of a panel `width` lines wide
//     pack_rows<T>, pack_columns<T>(pack_arguments)
//     reads_in_place<T>      whether operands of T can be read unpacked
//     by_rows                whether rows are read in place, see family/gemm/vector/amx.hpp
//     product(tile_arguments)
//     begin(), end()         around the products of a thread
#pragma once

#include <flaggems/kernel/family/gemm/vector/packing.hpp>
#include <flaggems/kernel/lang/vector/scalars.hpp>

namespace flaggems::kernels {

/// A part of the summed dimension, and whether it is the first or the last one.
struct depth_part {
  i64 depth;
  bool first, last;
};

/// out[r][c] (+)= alpha * sum over q of a[r][q] * b[q][c], for `vectors` vectors of columns.
/// Strides are in elements (of a panel: in items).
template <class C>
struct tile_arguments {
  i64 steps;
  const void *a, *b;
  i64 a_row, a_along, b_along;
  C* out;
  i64 out_row;
  C alpha;
  bool add;
  int vectors;
  // A part of the next panel of `b`, which would otherwise come from the last-level cache.
  const char* prefetch_from;
  int prefetch_lines;
};

/// A vector register of C.
template <class C, class Isa>
struct register_vector {
  typedef C type __attribute__((vector_size(Isa::bytes)));
  typedef C loose __attribute__((vector_size(Isa::bytes), aligned(1), may_alias));
  static constexpr int lanes = Isa::bytes / static_cast<int>(sizeof(C));
};

/// Whether a level whose vectors have so many lanes has more than 16 of them.
FLAGGEMS_HOST_INLINE constexpr bool has_32_registers(i64 lanes) {
  return lanes == isa_avx512::lanes || FLAGGEMS_ARCH_ARM64 != 0;
}

/// Vectors of C times broadcast elements. The tile fills the registers, except those of a row of
/// `b` and one element of `a`: 4x24 of 16 registers at AVX2, 8x48 of 32 at AVX-512, 8x12 on NEON.
template <class C, class Isa>
struct vector_kernel {
  using registers = register_vector<C, Isa>;
  static constexpr bool has_more_registers = has_32_registers(Isa::lanes);
  static constexpr bool has_fma = Isa::bytes > 16 || FLAGGEMS_ARCH_ARM64 != 0;
  static constexpr int lanes = registers::lanes;
  static constexpr int most_vectors = has_fma ? 3 : 2;  // else a product takes a register
  static constexpr int rows = has_more_registers ? 8 : 4;
  static constexpr int columns = most_vectors * lanes;
  static constexpr int step = 1;
  // Processors with AVX-512 have larger L2 caches, from which a panel of `b` is read as fast:
  // deeper panels halve the passes over the sums.
  static constexpr int l1_quarters = Isa::bytes == 64 ? 6 : 3;
  static constexpr int most_depth = 512;

  template <class T>
  static constexpr bool reads_in_place = is_same<T, C>;
  static constexpr bool by_rows = false;
  FLAGGEMS_HOST_INLINE static i64 panel_bytes(i64 width, i64 steps) {
    return width * steps * static_cast<i64>(sizeof(C));
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_elements<C, T, rows>>(p);
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_columns(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_elements<C, T, columns>>(p);
  }

  FLAGGEMS_HOST_INLINE static void begin() {}
  FLAGGEMS_HOST_INLINE static void end() {}

  template <int Vectors>
  struct tile {
    template <class Level>
    FLAGGEMS_HOST_INLINE static void run(const tile_arguments<C>& p) {
      using V = typename registers::type;
      using loose = typename registers::loose;
      constexpr int group = 4;  // rows addressed from one pointer: more offsets would not fit
      V sum[rows][Vectors];
      FLAGGEMS_UNROLL
      for (int r = 0; r < rows; ++r) {
        FLAGGEMS_UNROLL
        for (int v = 0; v < Vectors; ++v) sum[r][v] = V{};
      }
      const C* a = static_cast<const C*>(p.a);
      const C* b = static_cast<const C*>(p.b);
      const i64 a_row = p.a_row, a_along = p.a_along, b_along = p.b_along;
      // The next panel and the sums are prefetched between the steps: requested all at once, they
      // would delay the operands.
      const i64 turn = ceil_div(p.steps, i64{rows});
      const int lines = (p.prefetch_lines + rows - 1) / rows;
      const char* prefetch_from = p.prefetch_from;
      const C* line = p.out;
      for (i64 left = p.steps; left > 0; left -= turn, line += p.out_row) {
        for (int n = 0; n < lines; ++n, prefetch_from += 64)
          __builtin_prefetch(prefetch_from, 0, 2);
        for (int n = 0; n < Vectors; ++n) __builtin_prefetch(line + n * lanes, 1);
        __builtin_prefetch(line + Vectors * lanes - 1, 1);
        for (i64 q = min_of(left, turn); q > 0; --q, a += a_along, b += b_along) {
          V y[Vectors];
          FLAGGEMS_UNROLL
          for (int v = 0; v < Vectors; ++v)
            y[v] = *static_cast<const loose*>(static_cast<const void*>(b + v * lanes));
          const C* from = a;
          FLAGGEMS_UNROLL
          for (int r = 0; r < rows; ++r) {
            if (r > 0 && r % group == 0) from += group * a_row;
            V x;
            broadcast_from(x, from + r % group * a_row);
            FLAGGEMS_UNROLL
            for (int v = 0; v < Vectors; ++v) sum[r][v] += x * y[v];
          }
        }
      }
      V alpha;
      broadcast_from(alpha, &p.alpha);
      C* to = p.out;
      const i64 out_row = p.out_row;
      if (p.add) {
        FLAGGEMS_UNROLL
        for (int r = 0; r < rows; ++r, to += out_row) {
          FLAGGEMS_UNROLL
          for (int v = 0; v < Vectors; ++v) {
            loose* const place = static_cast<loose*>(static_cast<void*>(to + v * lanes));
            *place = alpha * sum[r][v] + *place;
          }
        }
      } else {
        FLAGGEMS_UNROLL
        for (int r = 0; r < rows; ++r, to += out_row) {
          FLAGGEMS_UNROLL
          for (int v = 0; v < Vectors; ++v)
            *static_cast<loose*>(static_cast<void*>(to + v * lanes)) = alpha * sum[r][v];
        }
      }
    }
  };
  FLAGGEMS_HOST_INLINE static void product(const tile_arguments<C>& p) {
    if (p.vectors == most_vectors)
      outlined<Isa>::template call<tile<most_vectors>>(p);
    else if (p.vectors == 1)
      outlined<Isa>::template call<tile<1>>(p);
    else
      outlined<Isa>::template call<tile<2>>(p);
  }
};

/// sums[r][j] += a[t][r] * b[t][j] for `live` rows t of b and `Rows` rows of the result: few rows
/// times a matrix with contiguous rows, read once in long pieces, `depth` rows in parallel. The
/// factors stay in registers.
template <class C, class T>
struct add_arguments {
  const C* a;  // [live][Rows]
  const T* b;
  i64 b_along;
  int live;
  C* sums;
  i64 sums_row, n;
};
template <class C, class T, int Rows>
struct add_rows {
  using arguments = add_arguments<C, T>;
  static constexpr int depth = Rows == 1 ? 8 : 6;
  static constexpr int most = Rows == 1 ? 128 : depth;  // rows of b in a call
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    int t = 0;
    for (; t + depth <= p.live; t += depth) add<Isa, depth>(p, t);
    for (; t < p.live; ++t) add<Isa, 1>(p, t);  // rows past the end: 0 * NaN would be NaN
  }

 private:
  template <class Isa, int Depth>
  FLAGGEMS_HOST_INLINE static void add(const arguments& p, int first) {
    using V = typename register_vector<C, Isa>::type;
    using loose = typename register_vector<C, Isa>::loose;
    constexpr int lanes = register_vector<C, Isa>::lanes;
    const C* const a = p.a + first * Rows;
    const T* row[Depth];
    V x[Depth][Rows];
    FLAGGEMS_UNROLL
    for (int t = 0; t < Depth; ++t) {
      row[t] = p.b + (first + t) * p.b_along;
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) broadcast_from(x[t][r], a + t * Rows + r);
    }
    i64 j = 0;
    for (; j + lanes <= p.n; j += lanes) {
      V y[Depth];
      FLAGGEMS_UNROLL
      for (int t = 0; t < Depth; ++t)
        if constexpr (is_same<T, C>)
          y[t] = *static_cast<const loose*>(static_cast<const void*>(row[t] + j));
        else
          y[t] = load_lanes<C, T, Isa>(row[t] + j, lanes).v;
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        loose* const to = static_cast<loose*>(static_cast<void*>(p.sums + r * p.sums_row + j));
        V sum = *to;
        FLAGGEMS_UNROLL
        for (int t = 0; t < Depth; ++t) sum += x[t][r] * y[t];
        *to = sum;
      }
    }
    for (; j < p.n; ++j)
      for (int r = 0; r < Rows; ++r) {
        C& sum = p.sums[r * p.sums_row + j];
        for (int t = 0; t < Depth; ++t) sum += a[t * Rows + r] * number_cast<C>(row[t][j]);
      }
  }
};

/// The same for as many rows as registers hold beside six of `b`.
template <class C, class T>
struct add_some_rows {
  using arguments = add_arguments<C, T>;
  static constexpr int at_once(i64 lanes) { return has_32_registers(lanes) ? 4 : 2; }
  static constexpr int most = add_rows<C, T, 2>::most;
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(const arguments& p) {
    add_rows<C, T, at_once(Isa::lanes)>::template run<Isa>(p);
  }
};

/// What the micro-kernels of bf16 share: a panel of `b` has pairs of elements as items.
template <class Isa, int Rows, int Vectors, int Step>
struct bf16_kernel {
  using T = small_float<bf16_format>;
  static constexpr int lanes = 16;
  static constexpr int rows = Rows;
  static constexpr int columns = Vectors * lanes;
  static constexpr int step = Step;
  static constexpr int l1_quarters = 3;
  static constexpr int most_depth = 512;

  template <class>
  static constexpr bool reads_in_place = false;
  static constexpr bool by_rows = false;
  FLAGGEMS_HOST_INLINE static i64 panel_bytes(i64 width, i64 steps) {
    return width * steps * Step * static_cast<i64>(sizeof(T));
  }
  template <class>
  FLAGGEMS_HOST_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_pairs<rows, Step>>(p);
  }
  template <class>
  FLAGGEMS_HOST_INLINE static void pack_columns(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_pairs<columns, Step>>(p);
  }
  FLAGGEMS_HOST_INLINE static void begin() {}
  FLAGGEMS_HOST_INLINE static void end() {}
};

#if FLAGGEMS_ARCH_X86
/// Dot products of pairs (vdpbf16ps), 8x48 as for f32: twice the products of f32 a step. Subnormal
/// factors count as zero and subnormal sums become zero, whatever the processor's mode is.
template <class Isa>
struct bf16_dot_kernel : bf16_kernel<Isa, 8, 3, 2> {
  template <int Vectors>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512_BF16 static void tile(const tile_arguments<f32>& p) {
    using V = typename register_vector<f32, isa_avx512>::type;
    using loose = typename register_vector<f32, isa_avx512>::loose;
    using U = typename register_vector<u32, isa_avx512>::type;
    constexpr int rows = 8, lanes = 16;
    V sum[rows][Vectors];
    FLAGGEMS_UNROLL
    for (int r = 0; r < rows; ++r) {
      __builtin_prefetch(p.out + r * p.out_row, 1);
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v) sum[r][v] = V{};
    }
    for (int n = 0; n < p.prefetch_lines; ++n) __builtin_prefetch(p.prefetch_from + n * 64, 0, 2);
    const u32* a = static_cast<const u32*>(p.a);
    const u32* b = static_cast<const u32*>(p.b);
    for (i64 q = p.steps; q > 0; --q, a += rows, b += p.b_along) {
      U y[Vectors];
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v)
        y[v] = *static_cast<const U*>(static_cast<const void*>(b + v * lanes));
      FLAGGEMS_UNROLL
      for (int r = 0; r < rows; ++r) {
        const U x = U{} + a[r];
        FLAGGEMS_UNROLL
        for (int v = 0; v < Vectors; ++v)
          FLAGGEMS_INSTRUCTION(modelled::vdpbf16ps(sum[r][v], x, y[v]), "vdpbf16ps %2, %1, %0"
                               : "+v"(sum[r][v])
                               : "v"(x), "v"(y[v]));
      }
    }
    FLAGGEMS_UNROLL
    for (int r = 0; r < rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < Vectors; ++v) {
        loose* const to =
            static_cast<loose*>(static_cast<void*>(p.out + r * p.out_row + v * lanes));
        V x = sum[r][v] * p.alpha;
        if (p.add) x += *to;
        *to = x;
      }
    }
  }
  FLAGGEMS_HOST_INLINE static void product(const tile_arguments<f32>& p) {
    if (p.vectors == 3)
      tile<3>(p);
    else if (p.vectors == 1)
      tile<1>(p);
    else
      tile<2>(p);
  }
};

#endif

/// The vector_kernel of the level that a launch runs at; what surrounds the tiles is compiled once.
template <class A, class B, class C>
struct any_vector_kernel {
  static constexpr int step = 1;
  static constexpr int most_depth = 512;
  static constexpr bool by_rows = false;
  template <class T>
  static constexpr bool reads_in_place = is_same<T, C>;
  int rows, columns, lanes, l1_quarters;
  void (*tiles[4])(const tile_arguments<C>&);  // by their vectors
  void (*packs_rows)(const pack_arguments<A>&);
  void (*packs_columns)(const pack_arguments<B>&);

  explicit FLAGGEMS_HOST_INLINE any_vector_kernel(const isa_any& level) {
    part_of<describe, any_vector_kernel*>(level).call(this);
  }
  FLAGGEMS_HOST_INLINE static i64 panel_bytes(i64 width, i64 steps) {
    return width * steps * static_cast<i64>(sizeof(C));
  }
  template <class>
  FLAGGEMS_HOST_INLINE void pack_rows(const pack_arguments<A>& p) const {
    packs_rows(p);
  }
  template <class>
  FLAGGEMS_HOST_INLINE void pack_columns(const pack_arguments<B>& p) const {
    packs_columns(p);
  }
  FLAGGEMS_HOST_INLINE static void begin() {}
  FLAGGEMS_HOST_INLINE static void end() {}
  FLAGGEMS_HOST_INLINE void product(const tile_arguments<C>& p) const { tiles[p.vectors](p); }

 private:
  struct describe {
    template <class Isa>
    FLAGGEMS_HOST_INLINE static void run(any_vector_kernel* k) {
      using at_level = vector_kernel<C, Isa>;
      k->rows = at_level::rows;
      k->columns = at_level::columns;
      k->lanes = at_level::lanes;
      k->l1_quarters = at_level::l1_quarters;
      static_for<at_level::most_vectors>([&](auto v) FLAGGEMS_LAMBDA {
        using tile = typename at_level::template tile<v + 1>;
        k->tiles[v + 1] = &outlined<Isa>::template call<tile, tile_arguments<C>>;
      });
      // Panels of 16 bytes a step are moved by 16 bytes at AVX2 as well: by the baseline's code.
      constexpr bool moves_quarters =
          is_same<Isa, isa_avx2> && is_same<A, C> && at_level::rows * sizeof(C) == 16;
      using packing = conditional<moves_quarters, isa_baseline, Isa>;
      k->packs_rows =
          &outlined<packing>::template call<pack_elements<C, A, at_level::rows>, pack_arguments<A>>;
      k->packs_columns =
          &outlined<Isa>::template call<pack_elements<C, B, at_level::columns>, pack_arguments<B>>;
    }
  };
};

/// A tile's lines at most.
template <class Kernel>
inline constexpr i64 most_rows = Kernel::rows;
template <class Kernel>
inline constexpr i64 most_columns = Kernel::columns;
template <class A, class B, class C>
inline constexpr i64 most_rows<any_vector_kernel<A, B, C>> = 8;
template <class A, class B, class C>
inline constexpr i64 most_columns<any_vector_kernel<A, B, C>> = 3 * 64 / sizeof(C);

/// The micro-kernel of A times B with sums in C at a level.
template <class A, class B, class C, class Isa>
struct choose_tile_kernel {
  using type = vector_kernel<C, Isa>;
};
template <class A, class B, class C>
struct choose_tile_kernel<A, B, C, isa_any> {
  using type = any_vector_kernel<A, B, C>;
};
#if FLAGGEMS_ARCH_X86
template <>
struct choose_tile_kernel<small_float<bf16_format>, small_float<bf16_format>, f32,
                          isa_avx512_bf16> {
  using type = bf16_dot_kernel<isa_avx512>;
};
#endif
template <class A, class B, class C, class Isa>
using tile_kernel = typename choose_tile_kernel<A, B, C, Isa>::type;

/// A micro-kernel, which may have to be told the level.
template <class Kernel, class Isa>
FLAGGEMS_HOST_INLINE Kernel kernel_at(const Isa&) {
  return {};
}
template <class Kernel>
FLAGGEMS_HOST_INLINE Kernel kernel_at(const isa_any& level) {
  return Kernel(level);
}

}  // namespace flaggems::kernels
