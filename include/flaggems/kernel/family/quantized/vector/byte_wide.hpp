// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// The inner loops of family/quantized/vector/byte_tile.hpp for levels that have dot products of
// four bytes (vpdpbusd) or tiles (AMX).
#pragma once

#include <flaggems/kernel/family/quantized/vector/byte_tile.hpp>

namespace flaggems::kernels {

/// Levels with dot products of bytes.
template <class Isa>
inline constexpr bool has_byte_dots = is_same<Isa, isa_avx512_bf16> || is_same<Isa, isa_amx>;

#if FLAGGEMS_ARCH_X86
/// The same by dot products of four bytes (vpdpbusd), 6x32.
template <class Format>
struct byte_panel_vnni : byte_columns<Format, 32, 0x80808080U> {
  using layout = block_layout<Format>;
  using byte_columns<Format, 32, 0x80808080U>::columns;
  using byte_columns<Format, 32, 0x80808080U>::block_bytes;
  static constexpr int rows = 6, few = 2;
  static constexpr i64 most_blocks = 24;
  using activations = byte_row;
  FLAGGEMS_HOST_INLINE static void begin() {}
  FLAGGEMS_HOST_INLINE static void end() {}
  using ints = vectors_wide::ints;
  using loose = vectors_wide::loose;
  using floats = vectors_wide::floats;
  using loose_floats = vectors_wide::loose_floats;

  template <int Rows>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512_BF16 static void multiply(const u8* panel, i64 blocks,
                                                                     const u8* x, const u8* factors,
                                                                     i64 x_row, bool add,
                                                                     f32* sums) {
    floats sum[Rows][2];
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < 2; ++v) {
        sum[r][v] = floats{};
        if (add) sum[r][v] = *reinterpret_cast<const loose_floats*>(sums + r * columns + v * 16);
      }
    }
    for (i64 q = 0; q < blocks; ++q, panel += block_bytes, x += quantized_block, factors += 16) {
      ints acc[Rows][2];
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        acc[r][0] = ints{};
        if constexpr (!layout::nibbles) {  // bytes of weights have 128 added
          const f32* const factor = reinterpret_cast<const f32*>(factors + r * x_row);
          acc[r][0] += static_cast<i32>(factor[2]);
        }
        acc[r][1] = acc[r][0];
      }
      FLAGGEMS_UNROLL
      for (int s = 0; s < 8; ++s) {
        ints y[2];
        FLAGGEMS_UNROLL
        for (int v = 0; v < 2; ++v)
          y[v] = *reinterpret_cast<const loose*>(panel + s * columns * 4 + v * 64);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) {
          const i32* const four = reinterpret_cast<const i32*>(x + r * x_row) + s;
          FLAGGEMS_UNROLL
          for (int v = 0; v < 2; ++v)
            FLAGGEMS_INSTRUCTION(modelled::vpdpbusd(acc[r][v], y[v], *four),
                                 "vpdpbusd %2%{1to16%}, %1, %0"
                                 : "+v"(acc[r][v])
                                 : "v"(y[v]), "m"(*four));
        }
      }
      const f32* const scale = reinterpret_cast<const f32*>(panel + columns * quantized_block);
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const f32* const factor = reinterpret_cast<const f32*>(factors + r * x_row);
        floats d, m;
        FLAGGEMS_INSTRUCTION(modelled::broadcast<f32>(d, factor[0]), "vbroadcastss %1, %0"
                             : "=v"(d)
                             : "m"(factor[0]));
        FLAGGEMS_INSTRUCTION(modelled::broadcast<f32>(m, factor[1]), "vbroadcastss %1, %0"
                             : "=v"(m)
                             : "m"(factor[1]));
        FLAGGEMS_UNROLL
        for (int v = 0; v < 2; ++v) {
          floats f;
          FLAGGEMS_INSTRUCTION(modelled::vcvtdq2ps(f, acc[r][v]), "vcvtdq2ps %1, %0"
                               : "=v"(f)
                               : "v"(acc[r][v]));
          floats weight = *reinterpret_cast<const loose_floats*>(scale + v * 16) * d;
          FLAGGEMS_INSTRUCTION(modelled::vfmadd231ps(sum[r][v], f, weight), "vfmadd231ps %2, %1, %0"
                               : "+v"(sum[r][v])
                               : "v"(f), "v"(weight));
          if constexpr (layout::addend >= 0) {
            weight = *reinterpret_cast<const loose_floats*>(scale + columns + v * 16);
            FLAGGEMS_INSTRUCTION(modelled::vfmadd231ps(sum[r][v], weight, m),
                                 "vfmadd231ps %2, %1, %0"
                                 : "+v"(sum[r][v])
                                 : "v"(weight), "v"(m));
          }
        }
      }
    }
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < 2; ++v)
        *reinterpret_cast<loose_floats*>(sums + r * columns + v * 16) = sum[r][v];
    }
  }
};

/// The same by AMX tiles, 16x16: a tile takes the 32 elements of a block, and its sums are scaled
/// in registers while the next block is multiplied.
template <class Format>
struct byte_panel_amx : byte_columns<Format, 32, 0, block_layout<Format>::offset == -8 ? 8 : 0> {
  using base = byte_columns<Format, 32, 0, block_layout<Format>::offset == -8 ? 8 : 0>;
  using b = vectors_wide;
  using base::block_bytes;
  using base::columns;
  static constexpr int rows = 16, few = 4;
  static constexpr i64 most_blocks = 18;  // 23 KB, plus 12 KB of activations
  using activations = byte_row_groups;

  FLAGGEMS_HOST_INLINE static void begin() { configure(rows); }
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void end() {
    FLAGGEMS_TILE_INSTRUCTION(modelled::tilerelease(), "tilerelease");
  }

  template <int Rows>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void multiply(const u8* panel, i64 blocks,
                                                             const u8* x, const u8* factors,
                                                             i64 x_row, bool add, f32* sums) {
    if (Rows != rows) configure(Rows);
    for (i64 c = 0; c < columns; c += 16)
      column<Rows>(panel + c * 4, blocks, x, factors, x_row, add, sums + c);
    if (Rows != rows) configure(rows);
  }

 private:
  static constexpr int ahead = 1;  // blocks multiplied before their sums are scaled

  /// Tiles 0 to 3 are sums, 4 and 5 activations, 6 and 7 weights.
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AMX static void configure(int m) {
    const auto n = static_cast<u8>(m);
    struct alignas(64) {
      u8 palette, start_row, reserved[14];
      u16 row_bytes[16];
      u8 rows[16];
    } const config = {1, 0, {}, {64, 64, 64, 64, 32, 32, 64, 64}, {n, n, n, n, n, n, 8, 8}};
    FLAGGEMS_TILE_INSTRUCTION(modelled::ldtilecfg(config), "ldtilecfg %0" : : "m"(config));
  }

  template <int Rows>
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void column(const u8* panel, i64 blocks,
                                                              const u8* x, const u8* factors,
                                                              i64 x_row, bool add, f32* sums) {
    b::floats sum[Rows];
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      sum[r] = b::floats{};
      if (add) b::load(sum[r], sums + r * columns);
    }
    // Sums leave the tiles through memory: four buffers and four tile registers, so that no block
    // waits for the previous one.
    constexpr int size = Rows * 16;
    alignas(64) i32 dots[4 * size];
    const u8* next = panel;
    for (i64 q = 0; q < min_of(blocks, i64{ahead}); ++q, x += quantized_block, next += block_bytes)
      multiply_tile<0>(x, x_row, next, dots + q * size);
    for (i64 q = 0; q < blocks; ++q) {
      if (q + ahead < blocks) {
        const i64 turn = (q + ahead) % 4;
        i32* const to = dots + turn * size;
        switch (turn) {
          case 0: multiply_tile<0>(x, x_row, next, to); break;
          case 1: multiply_tile<1>(x, x_row, next, to); break;
          case 2: multiply_tile<2>(x, x_row, next, to); break;
          default: multiply_tile<3>(x, x_row, next, to);
        }
        x += quantized_block;
        next += block_bytes;
      }
      const f32* const scale =
          static_cast<const f32*>(static_cast<const void*>(panel + columns * quantized_block));
      const f32* const factor = static_cast<const f32*>(static_cast<const void*>(factors));
      const i32* const from = dots + q % 4 * size;
      b::floats weight, addend;
      b::load(weight, scale);
      if constexpr (base::adds) b::load(addend, scale + columns);
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        b::floats f, by;
        b::convert(f, from + r * 16);
        b::multiply(by, weight, factor + r);
        b::add_product(sum[r], f, by);
        if constexpr (base::adds)
          b::add_product(sum[r], addend, factor + activations::row_block + r);
      }
      panel += block_bytes;
      factors += activations::factors * 4;
    }
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) b::store(sums + r * columns, sum[r]);
  }

  /// to [rows][16] = the integers of a block of rows times those of 16 columns.
  template <int Turn>
  FLAGGEMS_TARGET_AMX FLAGGEMS_HOST_INLINE static void multiply_tile(const u8* x, i64 x_row,
                                                                     const u8* panel, i32* to) {
    // Registers are numbers in the text of an instruction.
#define FLAGGEMS_BLOCK_TILE(sum, a, b)                                                          \
  FLAGGEMS_TILE_INSTRUCTION(                                                                    \
      (modelled::tilezero(sum), modelled::tileloadd(a, x, x_row),                               \
       modelled::tileloadd(b, panel, columns * 4), modelled::multiply_tiles<i8, i8>(sum, a, b), \
       modelled::tilestored(sum, to, 64)),                                                      \
      "tilezero %%tmm" #sum                                                                     \
      "\n\t"                                                                                    \
      "tileloadd (%0,%3,1), %%tmm" #a                                                           \
      "\n\t"                                                                                    \
      "tileloadd (%1,%4,1), %%tmm" #b                                                           \
      "\n\t"                                                                                    \
      "tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #sum                                            \
      "\n\t"                                                                                    \
      "tilestored %%tmm" #sum ", (%2,%5,1)"                                                     \
      :                                                                                         \
      : "r"(x), "r"(panel), "r"(to), "r"(x_row), "r"(i64{columns * 4}), "r"(i64{64})            \
      : "memory")
    if constexpr (Turn == 0)
      FLAGGEMS_BLOCK_TILE(0, 4, 6);
    else if constexpr (Turn == 1)
      FLAGGEMS_BLOCK_TILE(1, 5, 7);
    else if constexpr (Turn == 2)
      FLAGGEMS_BLOCK_TILE(2, 4, 6);
    else
      FLAGGEMS_BLOCK_TILE(3, 5, 7);
#undef FLAGGEMS_BLOCK_TILE
  }
};

/// f(panel{}) of the panel for `m` rows at AVX2 or above. Below 16 rows, dot products are faster
/// than tiles.
template <class Format, class Isa, class F>
FLAGGEMS_HOST_INLINE void with_byte_panel([[maybe_unused]] i64 m, const F& f) {
  if constexpr (is_same<Isa, isa_amx>) {
    if (m >= byte_panel_amx<Format>::rows) return f(byte_panel_amx<Format>{});
  }
  if constexpr (has_byte_dots<Isa>)
    f(byte_panel_vnni<Format>{});
  else
    f(byte_panel<Format>{});
}
#endif

}  // namespace flaggems::kernels
