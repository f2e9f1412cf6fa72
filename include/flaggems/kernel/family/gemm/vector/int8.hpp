// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Micro-kernels for matrices of 8-bit integers, whose sums are exact modulo 2^32: by pairs widened
// to 16 bits (vpmaddwd; vpmaddubsw, which multiplies bytes from AVX2 on, saturates), by VNNI or
// AMX.
#pragma once

#include <flaggems/kernel/family/gemm/vector/int8_packing.hpp>
#include <flaggems/kernel/family/gemm/vector/micro_kernel.hpp>

namespace flaggems::kernels {

// The text of a tile, `name<Vectors>::run`, once for each target attribute, which a template cannot
// take as an argument. `multiply(sum, x, y)` adds the products of one item of `a`, in all lanes,
// with items of `b`; `Items` of them are multiplied in a step.
#define FLAGGEMS_BYTE_TILE(name, isa, Rows, Items, Head, attribute, multiply)                   \
  template <int Vectors>                                                                        \
  struct name {                                                                                 \
    FLAGGEMS_NOINLINE attribute static void run(const tile_arguments<u32>& p) {                 \
      using V = typename register_vector<u32, isa>::type;                                       \
      using loose = typename register_vector<u32, isa>::loose;                                  \
      constexpr int lanes = register_vector<u32, isa>::lanes;                                   \
      const u32* a = static_cast<const u32*>(p.a);                                              \
      const u32* b = static_cast<const u32*>(p.b);                                              \
      V sum[Rows][Vectors];                                                                     \
      FLAGGEMS_UNROLL                                                                           \
      for (int r = 0; r < Rows; ++r) {                                                          \
        __builtin_prefetch(p.out + r * p.out_row, 1);                                           \
        FLAGGEMS_UNROLL                                                                         \
        for (int v = 0; v < Vectors; ++v)                                                       \
          sum[r][v] =                                                                           \
              Head ? *static_cast<const loose*>(static_cast<const void*>(b + v * lanes)) : V{}; \
      }                                                                                         \
      if (Head) a += Rows, b += p.b_along;                                                      \
      for (int n = 0; n < p.prefetch_lines; ++n)                                                \
        __builtin_prefetch(p.prefetch_from + n * 64, 0, 2);                                     \
      for (i64 q = p.steps; q > 0; --q) {                                                       \
        FLAGGEMS_UNROLL                                                                         \
        for (int i = 0; i < Items; ++i, a += Rows, b += p.b_along) {                            \
          V y[Vectors];                                                                         \
          FLAGGEMS_UNROLL                                                                       \
          for (int v = 0; v < Vectors; ++v)                                                     \
            y[v] = *static_cast<const loose*>(static_cast<const void*>(b + v * lanes));         \
          FLAGGEMS_UNROLL                                                                       \
          for (int r = 0; r < Rows; ++r) {                                                      \
            const V x = V{} + a[r];                                                             \
            FLAGGEMS_UNROLL                                                                     \
            for (int v = 0; v < Vectors; ++v) multiply(sum[r][v], x, y[v]);                     \
          }                                                                                     \
        }                                                                                       \
      }                                                                                         \
      FLAGGEMS_UNROLL                                                                           \
      for (int r = 0; r < Rows; ++r) {                                                          \
        FLAGGEMS_UNROLL                                                                         \
        for (int v = 0; v < Vectors; ++v) {                                                     \
          loose* const to =                                                                     \
              static_cast<loose*>(static_cast<void*>(p.out + r * p.out_row + v * lanes));       \
          V x = sum[r][v] * p.alpha;                                                            \
          if (p.add) x += *to;                                                                  \
          *to = x;                                                                              \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  };
// Both instructions in one statement: g++ would reorder the additions and spill products.
#define FLAGGEMS_ADD_PAIRS(sum, x, y)                               \
  {                                                                 \
    [[maybe_unused]] V product;                                     \
    FLAGGEMS_INSTRUCTION(modelled::add_vpmaddwd(sum, x, y),         \
                         "vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" \
                         : "+v"(sum), "=&v"(product)                \
                         : "v"(x), "v"(y));                         \
  }
#define FLAGGEMS_ADD_QUADS(sum, x, y)                                       \
  FLAGGEMS_INSTRUCTION(modelled::vpdpbusd(sum, x, y), "vpdpbusd %2, %1, %0" \
                       : "+v"(sum)                                          \
                       : "v"(x), "v"(y))

/// sum + x[0] * y[0] + x[1] * y[1] of signed 16 bits.
template <class V>
FLAGGEMS_HOST_INLINE void add_pairs(V& sum, const V& x, const V& y) {
#if FLAGGEMS_ARCH_X86
  typedef i16 words __attribute__((vector_size(16)));
  sum += (V)__builtin_ia32_pmaddwd128((words)x, (words)y);
#else
  typedef i32 signs __attribute__((vector_size(16)));
  sum += (V)(((signs)x << 16 >> 16) * ((signs)y << 16 >> 16) + ((signs)x >> 16) * ((signs)y >> 16));
#endif
}

FLAGGEMS_BYTE_TILE(baseline_pair_tile, isa_baseline, 4, 2, false, , add_pairs)
#if FLAGGEMS_ARCH_X86
FLAGGEMS_BYTE_TILE(avx2_pair_tile, isa_avx2, 4, 2, false, FLAGGEMS_TARGET_AVX2, FLAGGEMS_ADD_PAIRS)
FLAGGEMS_BYTE_TILE(avx512_pair_tile, isa_avx512, 8, 2, false, FLAGGEMS_TARGET_AVX512,
                   FLAGGEMS_ADD_PAIRS)
FLAGGEMS_BYTE_TILE(vnni_tile, isa_avx512, 8, 1, true, FLAGGEMS_TARGET_AVX512_BF16,
                   FLAGGEMS_ADD_QUADS)
#endif
#undef FLAGGEMS_ADD_PAIRS
#undef FLAGGEMS_ADD_QUADS
#undef FLAGGEMS_BYTE_TILE

// ---- micro-kernels (the members are those of family/gemm/vector/micro_kernel.hpp)
/// What they share.
struct byte_kernel {
  template <class>
  static constexpr bool reads_in_place = false;
  static constexpr bool by_rows = false;
  FLAGGEMS_HOST_INLINE static void begin() {}
  FLAGGEMS_HOST_INLINE static void end() {}

  template <template <int> class Tile, int Most>
  FLAGGEMS_HOST_INLINE static void choose(const tile_arguments<u32>& p) {
    if (p.vectors == Most)
      Tile<Most>::run(p);
    else if (p.vectors == 1)
      Tile<1>::run(p);
    else
      Tile<2>::run(p);
  }
};

/// Products of elements widened to 16 bits, added in pairs (vpmaddwd): twice the products of f32 an
/// instruction. 4x16 at AVX2, where a product needs a register before its sum.
template <template <int> class Tile, class Isa, int Rows, int Vectors>
struct pair_kernel : byte_kernel {
  static constexpr int lanes = register_vector<u32, Isa>::lanes;
  static constexpr int rows = Rows, columns = Vectors * lanes;
  static constexpr int step = 4;
  static constexpr int l1_quarters = Isa::bytes == 64 ? 6 : 3;
  static constexpr int most_depth = Isa::bytes == 64 ? 512 : 1024;

  FLAGGEMS_HOST_INLINE static i64 panel_bytes(i64 width, i64 steps) {
    return width * steps * step * 2;
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_bytes<T, item_of_pair<T>, rows, step, panel_head::none>>(p);
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_columns(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_bytes<T, item_of_pair<T>, columns, step, panel_head::none>>(
        p);
  }
  FLAGGEMS_HOST_INLINE static void product(const tile_arguments<u32>& p) {
    choose<Tile, Vectors>(p);
  }
};

/// Unsigned bytes times signed ones, added in fours (vpdpbusd). Signed rows are packed 128 larger,
/// and the sums start at -128 times the columns' sums. Rows are A, columns i8.
template <class A, class Isa>
struct quad_kernel : byte_kernel {
  static constexpr int lanes = register_vector<u32, isa_avx512>::lanes;
  static constexpr int rows = 8, columns = 3 * lanes;
  static constexpr int step = 4;
  static constexpr int l1_quarters = 12;  // of twice a step, so 6 really
  static constexpr int most_depth = 1024;
  static constexpr bool offset = is_same<A, i8>;

  FLAGGEMS_HOST_INLINE static i64 panel_bytes(i64 width, i64 steps) {
    return width * (steps + 1) * 4;
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_rows(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_bytes<T, item_of_quad<offset>, rows, step, panel_head::zero>>(
        p);
  }
  template <class T>
  FLAGGEMS_HOST_INLINE static void pack_columns(const pack_arguments<T>& p) {
    outlined<Isa>::template call<pack_bytes<T, item_of_quad<false>, columns, step,
                                            offset ? panel_head::weighted : panel_head::zero>>(p);
  }
};

#if FLAGGEMS_ARCH_X86
template <class A, class Isa>
struct vnni_kernel : quad_kernel<A, Isa> {
  FLAGGEMS_HOST_INLINE static void product(const tile_arguments<u32>& p) {
    byte_kernel::choose<vnni_tile, 3>(p);
  }
};
#endif

/// The micro-kernel of A times B, bytes both, at a level.
template <class A, class B, class Isa>
struct choose_byte_kernel {
  using type = pair_kernel<baseline_pair_tile, isa_baseline, 4, 2>;
};
#if FLAGGEMS_ARCH_X86
template <class A, class B>
struct choose_byte_kernel<A, B, isa_avx2> {
  using type = pair_kernel<avx2_pair_tile, isa_avx2, 4, 2>;
};
template <class A, class B>
struct choose_byte_kernel<A, B, isa_avx512> {
  using type = pair_kernel<avx512_pair_tile, isa_avx512, 8, 3>;
};
template <class A, class B>
struct choose_byte_kernel<A, B, isa_avx512_bf16> : choose_byte_kernel<A, B, isa_avx512> {};
template <class A>
struct choose_byte_kernel<A, i8, isa_avx512_bf16> {
  using type = vnni_kernel<A, isa_avx512>;
};
#endif
template <class Isa>
struct choose_tile_kernel<i8, i8, u32, Isa> : choose_byte_kernel<i8, i8, Isa> {};
template <class Isa>
struct choose_tile_kernel<u8, u8, u32, Isa> : choose_byte_kernel<u8, u8, Isa> {};
template <class Isa>
struct choose_tile_kernel<i8, u8, u32, Isa> : choose_byte_kernel<i8, u8, Isa> {};
template <class Isa>
struct choose_tile_kernel<u8, i8, u32, Isa> : choose_byte_kernel<u8, i8, Isa> {};

}  // namespace flaggems::kernels
