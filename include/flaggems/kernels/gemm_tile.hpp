// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Micro-kernels of the host's matrix products. A micro-kernel multiplies a panel of `rows` rows by
// one of `columns` columns and adds the tile to the result. What it must have:
//
//     rows, columns, lanes   the tile; columns come in vectors of `lanes`
//     step                   summed elements that are neighbours in a panel
//     panel_bytes<W>(steps)  of a panel W lines wide
//     pack_rows<T>, pack_columns<T>(pack_arguments)
//     reads_in_place<T>      whether operands of T can be read unpacked
//     product(tile_arguments)
#pragma once

#include <flaggems/kernels/gemm_pack.hpp>

namespace flaggems::kernels {

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
  // A part of the next panel of `b`, which lies in the last cache when its turn comes.
  const char* ahead;
  int lines_ahead;
};

/// A vector register of C.
template <class C, class Isa>
struct register_vector {
  typedef C type __attribute__((vector_size(Isa::bytes)));
  typedef C loose __attribute__((vector_size(Isa::bytes), aligned(1), may_alias));
  static constexpr int lanes = Isa::bytes / static_cast<int>(sizeof(C));
};

/// *p in every lane. From memory in one instruction: g++ 12 would build it lane by lane.
template <class V, class C>
FLAGGEMS_INLINE void broadcast_from(V& to, const C* p) {
#if FLAGGEMS_ARCH_X86 && FLAGGEMS_COMPILER_GCC
  if constexpr (sizeof(V) > 16 && sizeof(C) == 4) {
    asm("vbroadcastss %1, %0" : "=v"(to) : "m"(*p));
    return;
  } else if constexpr (sizeof(V) > 16) {
    asm("vbroadcastsd %1, %0" : "=v"(to) : "m"(*p));
    return;
  }
#endif
  to = *p - V{};
}

/// Vectors of C times broadcast elements. The tile fills the registers but for those of a row of
/// `b` and one element of `a`: 4x24 of 16 registers at AVX2 (98 % of the FMA roof out of caches;
/// 6x16 is level, but 6 rows are packed at half the speed of 4), 8x48 of 32 at AVX-512, 8x12 on
/// NEON.
template <class C, class Isa>
struct vector_kernel {
  using registers = register_vector<C, Isa>;
  static constexpr bool has_32_registers = Isa::bytes == 64 || FLAGGEMS_ARCH_ARM64 != 0;
  static constexpr bool has_fma = Isa::bytes > 16 || FLAGGEMS_ARCH_ARM64 != 0;
  static constexpr int lanes = registers::lanes;
  static constexpr int most_vectors = has_fma ? 3 : 2;  // a product needs a register before its sum
  static constexpr int rows = has_32_registers ? 8 : 4;
  static constexpr int columns = most_vectors * lanes;
  static constexpr int step = 1;

  template <class T>
  static constexpr bool reads_in_place = is_same<T, C>;
  template <i64 Width>
  FLAGGEMS_INLINE static i64 panel_bytes(i64 steps) {
    return Width * steps * static_cast<i64>(sizeof(C));
  }
  template <class T>
  FLAGGEMS_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_elements<C, T, rows>>(p);
  }
  template <class T>
  FLAGGEMS_INLINE static void pack_columns(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_elements<C, T, columns>>(p);
  }

  template <int Vectors>
  struct tile {
    template <class I>
    FLAGGEMS_INLINE static void run(const tile_arguments<C>& p) {
      using V = typename registers::type;
      using loose = typename registers::loose;
      constexpr int half = 4;  // rows addressed from one pointer: more offsets would not fit
      V sum[rows][Vectors];
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
        static_for<Vectors>([&](auto v) FLAGGEMS_LAMBDA { sum[r][v] = V{}; });
      });
      const C* a = static_cast<const C*>(p.a);
      const C* b = static_cast<const C*>(p.b);
      const i64 a_row = p.a_row, a_along = p.a_along, b_along = p.b_along;
#ifndef NOAHEAD
      // 7 % at 1024^3, where the first tile of each panel waited for it.
      for (int n = 0; n < p.lines_ahead; ++n) __builtin_prefetch(p.ahead + n * 64, 0, 2);
      // 4 %: the sums come from far when the loop ends.
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
        __builtin_prefetch(p.out + r * p.out_row, 1);
        __builtin_prefetch(p.out + r * p.out_row + Vectors * lanes - 1, 1);
      });
#endif
      for (i64 q = p.steps; q > 0; --q, a += a_along, b += b_along) {
        V y[Vectors];
        static_for<Vectors>([&](auto v) FLAGGEMS_LAMBDA {
          y[v] = *static_cast<const loose*>(static_cast<const void*>(b + v * lanes));
        });
        const C* const lower = a + half * a_row;
        static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
          V x;
          broadcast_from(x, r < half ? a + r * a_row : lower + (r - half) * a_row);
          static_for<Vectors>([&](auto v) FLAGGEMS_LAMBDA { sum[r][v] += x * y[v]; });
        });
      }
      V alpha;
      broadcast_from(alpha, &p.alpha);
      static_for<rows>([&](auto r) FLAGGEMS_LAMBDA {
        static_for<Vectors>([&](auto v) FLAGGEMS_LAMBDA {
          loose* const to =
              static_cast<loose*>(static_cast<void*>(p.out + r * p.out_row + v * lanes));
          V x = alpha * sum[r][v];
          if (p.add) x += *to;
          *to = x;
        });
      });
    }
  };
  FLAGGEMS_INLINE static void product(const tile_arguments<C>& p) {
    if (p.vectors == most_vectors)
      outlined<Isa>::template call<tile<most_vectors>>(p);
    else if (p.vectors == 1)
      outlined<Isa>::template call<tile<1>>(p);
    else
      outlined<Isa>::template call<tile<2>>(p);
  }
};

/// The micro-kernel of sums in C at a level; `Bf16`: both operands are bf16.
template <class C, class Isa, bool Bf16>
struct choose_tile_kernel {
  using type = vector_kernel<C, Isa>;
};
template <class C, class Isa, bool Bf16>
using tile_kernel = typename choose_tile_kernel<C, Isa, Bf16>::type;

}  // namespace flaggems::kernels
