// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// The inner loops of products of blocks with activations of 8 bits
// (family/quantized/vector/bytes.hpp). They carry target attributes of their own, so that clang
// takes their asm.
#pragma once

#include <flaggems/kernel/family/quantized/vector/linear.hpp>

namespace flaggems::kernels {

/// The layout of `row_block` rows of k activations of 8 bits: the integers of each row, then
/// `factors` f32 for each block: the scale of each row, then the factor of the block's addend.
template <int RowBlock, int Factors>
struct byte_rows_layout {
  static constexpr int row_block = RowBlock, factors = Factors;
  static constexpr i64 group_bytes(i64 k) {
    return k * row_block + k / quantized_block * i64{factors} * 4;
  }
  static constexpr i64 bytes(i64 rows, i64 k) {
    return ceil_div(rows, i64{row_block}) * group_bytes(k);
  }
  /// The offsets of the integers and of the scales of row i.
  static constexpr i64 integers(i64 i, i64 k) {
    return i / row_block * group_bytes(k) + i % row_block * k;
  }
  static constexpr i64 scales(i64 i, i64 k) {
    return i / row_block * group_bytes(k) + row_block * k + i % row_block * 4;
  }
  /// The distance between the integers of consecutive rows of a group (or of groups of one row).
  static constexpr i64 row_bytes(i64 k) { return row_block == 1 ? group_bytes(k) : k; }
};
/// A single row has two more factors: -128 times the sum of its integers, and 0.
using byte_row = byte_rows_layout<1, 4>;
/// The layout for AMX tiles.
using byte_row_groups = byte_rows_layout<16, 32>;

#if FLAGGEMS_ARCH_X86
/// The instructions on 32 bytes.
struct bytes_avx2 {
  typedef i32 ints __attribute__((vector_size(32)));
  typedef i32 loose __attribute__((vector_size(32), aligned(1), may_alias));
  typedef f32 floats __attribute__((vector_size(32)));
  typedef f32 loose_floats __attribute__((vector_size(32), aligned(1), may_alias));
  typedef f32 four __attribute__((vector_size(16)));
  typedef f32 loose_four __attribute__((vector_size(16), aligned(1), may_alias));
  typedef u32 words __attribute__((vector_size(16)));
  typedef u32 loose_words __attribute__((vector_size(16), aligned(1), may_alias));

  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void load(ints& to, const void* p) {
    to = *static_cast<const loose*>(p);
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void load(floats& to, const void* p) {
    to = *static_cast<const loose_floats*>(p);
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void store(void* p, const floats& x) {
    *static_cast<loose_floats*>(p) = x;
  }
  /// to += a * b.
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void add_product(floats& to, const floats& a,
                                                                    const floats& b) {
    FLAGGEMS_INSTRUCTION(modelled::vfmadd231ps(to, a, b), "vfmadd231ps %2, %1, %0"
                         : "+x"(to)
                         : "x"(a), "x"(b));
  }
  /// Sums of pairs of products of a byte from 0 to 255 with one from -128 to 127, as 16 bits.
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void multiply_bytes(ints& to, const ints& a,
                                                                       const ints& b) {
    FLAGGEMS_INSTRUCTION(modelled::vpmaddubsw(to, a, b), "vpmaddubsw %2, %1, %0"
                         : "=x"(to)
                         : "x"(a), "x"(b));
  }
  /// Sums of pairs of 16 bits.
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void add_pairs(ints& to, const ints& a) {
    const ints ones = ints{} + 0x00010001;
    FLAGGEMS_INSTRUCTION(modelled::vpmaddwd(to, a, ones), "vpmaddwd %2, %1, %0"
                         : "=x"(to)
                         : "x"(a), "x"(ones));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void add_words(ints& to, const ints& a) {
    FLAGGEMS_INSTRUCTION(modelled::vpaddw(to, a), "vpaddw %1, %0, %0" : "+x"(to) : "x"(a));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void absolute(ints& to, const ints& a) {
    FLAGGEMS_INSTRUCTION(modelled::vpabsb(to, a), "vpabsb %1, %0" : "=x"(to) : "x"(a));
  }
  /// Each byte of a with the sign of b's, 0 where that is 0.
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void with_sign(ints& to, const ints& a,
                                                                  const ints& b) {
    FLAGGEMS_INSTRUCTION(modelled::vpsignb(to, a, b), "vpsignb %2, %1, %0"
                         : "=x"(to)
                         : "x"(a), "x"(b));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void convert(floats& to, const ints& a) {
    FLAGGEMS_INSTRUCTION(modelled::vcvtdq2ps(to, a), "vcvtdq2ps %1, %0" : "=x"(to) : "x"(a));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void spread(ints& to, const i32* p) {
    FLAGGEMS_INSTRUCTION(modelled::broadcast<i32>(to, *p), "vpbroadcastd %1, %0"
                         : "=x"(to)
                         : "m"(*p));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void spread(floats& to, const f32* p) {
    FLAGGEMS_INSTRUCTION(modelled::broadcast<f32>(to, *p), "vbroadcastss %1, %0"
                         : "=x"(to)
                         : "m"(*p));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void spread_first(floats& to, const four& x) {
    FLAGGEMS_INSTRUCTION(modelled::broadcast<f32>(to, x), "vbroadcastss %1, %0"
                         : "=x"(to)
                         : "x"(x));
  }
  /// The four f16 numbers in 8 bytes.
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static void load_f16(four& to, const u8* p) {
    struct eight {
      u8 byte[8];
    };
    FLAGGEMS_INSTRUCTION(modelled::vcvtph2ps(to, *reinterpret_cast<const eight*>(p)),
                         "vcvtph2ps %1, %0"
                         : "=x"(to)
                         : "m"(*reinterpret_cast<const eight*>(p)));
  }
  FLAGGEMS_TARGET_AVX2 FLAGGEMS_HOST_INLINE static f32 total(const floats& x) {
    const four s =
        __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
    const four pairs = s + __builtin_shufflevector(s, s, 2, 3, 0, 1);
    return pairs[0] + pairs[1];
  }
};

/// Activations to 8 bits.
template <class Format>
struct byte_rounding {
  using b = bytes_avx2;

  /// x [32 blocks] to a row of byte_row, or (`row_block` > 1) of byte_row_groups. The largest
  /// magnitude of a block becomes 127; a block below 2^-120 becomes 0, and one with an infinity or
  /// NaN is NaN.
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX2 static void row(const f32* x, i64 blocks, int row_block,
                                                         u8* to, f32* factors) {
    using layout = block_layout<Format>;
    const int step = row_block > 1 ? byte_row_groups::factors : byte_row::factors;
    for (i64 n = 0; n < blocks; ++n, x += quantized_block, to += quantized_block, factors += step) {
      b::floats v[4];
      b::ints largest = {};
      FLAGGEMS_UNROLL
      for (int p = 0; p < 4; ++p) {
        b::load(v[p], x + p * 8);
        // Magnitudes are ordered as their bits are, NaN above infinity.
        const b::ints bits = (b::ints)v[p] & 0x7fffffff;
        FLAGGEMS_INSTRUCTION(modelled::vpmaxsd(largest, bits), "vpmaxsd %1, %0, %0"
                             : "+x"(largest)
                             : "x"(bits));
      }
      i32 most = 0;
      {
        b::ints m = __builtin_shufflevector(largest, largest, 4, 5, 6, 7, 0, 1, 2, 3);
        FLAGGEMS_INSTRUCTION(modelled::vpmaxsd(m, largest), "vpmaxsd %1, %0, %0"
                             : "+x"(m)
                             : "x"(largest));
        b::ints half = __builtin_shufflevector(m, m, 2, 3, 0, 1, 6, 7, 4, 5);
        FLAGGEMS_INSTRUCTION(modelled::vpmaxsd(half, m), "vpmaxsd %1, %0, %0"
                             : "+x"(half)
                             : "x"(m));
        most = half[0] > half[1] ? half[0] : half[1];
      }
      const byte_scale scale = byte_scale::of(bit_cast<f32>(most));
      b::floats inverse;
      b::spread(inverse, &scale.inverse);
      b::ints q[4];
      FLAGGEMS_UNROLL
      for (int p = 0; p < 4; ++p)  // to the nearest integer, which the last bits then are
      {
        b::floats shifted = b::floats{} + byte_scale::shift;
        b::add_product(shifted, v[p], inverse);
        q[p] = (b::ints)shifted - byte_scale::shift_bits;
      }
      // 32 bits to 8: pairs of vectors by halves, put right at the end.
      FLAGGEMS_INSTRUCTION(modelled::vpackssdw(q[0], q[1]), "vpackssdw %1, %0, %0"
                           : "+x"(q[0])
                           : "x"(q[1]));
      FLAGGEMS_INSTRUCTION(modelled::vpackssdw(q[2], q[3]), "vpackssdw %1, %0, %0"
                           : "+x"(q[2])
                           : "x"(q[3]));
      FLAGGEMS_INSTRUCTION(modelled::vpacksswb(q[0], q[2]), "vpacksswb %1, %0, %0"
                           : "+x"(q[0])
                           : "x"(q[2]));
      const b::ints bytes = __builtin_shufflevector(q[0], q[0], 0, 4, 1, 5, 2, 6, 3, 7);
      *reinterpret_cast<b::loose*>(to) = bytes;
      b::ints pairs, sums;
      b::multiply_bytes(pairs, b::ints{} + 0x01010101, bytes);
      b::add_pairs(sums, pairs);
      b::floats parts;
      b::convert(parts, sums);
      const f32 sum = b::total(parts);
      factors[0] = scale.scale;
      factors[row_block] = scale.scale * sum * layout::offset;
      if (row_block > 1) continue;
      factors[2] = -128.0F * sum;
      factors[3] = 0;
    }
  }
};

/// One row of activations times rows of weights.
template <class Format>
struct byte_dot {
  using b = bytes_avx2;
  using layout = block_layout<Format>;
  static constexpr int row_block = 4;

  /// out[j] = x * (row j of the weights from w on), j < n.
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX2 static void rows(const u8* w, i64 n, i64 blocks,
                                                          const u8* x, f32* out) {
    const i64 row_bytes = blocks * Format::bytes;
    const f32* const factors = reinterpret_cast<const f32*>(x + blocks * quantized_block);
    const b::ints shift = {0, 0, 0, 0, 4, 4, 4, 4};
    const b::ints nibble = b::ints{} + 0x0f0f0f0f;
    for (i64 j = 0; j < n; j += row_block) {
      const u8* row[row_block];
      b::floats sum[row_block];
      b::four added[row_block];
      FLAGGEMS_UNROLL
      for (int r = 0; r < row_block; ++r) {
        row[r] = w + min_of(j + r, n - 1) * row_bytes;
        sum[r] = b::floats{};
        added[r] = b::four{};
      }
      const u8* next = row[0] + prefetch_next;
      for (i64 q = 0; q < blocks; ++q, next += row_block * Format::bytes) {
        fetch_lines<row_block * Format::bytes>(next);
        b::ints value;
        b::load(value, x + q * quantized_block);
        const b::four factor = *reinterpret_cast<const b::loose_four*>(factors + q * 4);
        FLAGGEMS_UNROLL
        for (int r = 0; r < row_block; ++r) {
          const u8* const block = row[r] + q * Format::bytes;
          b::four scales;
          b::load_f16(scales, block);
          if constexpr (layout::addend == 0)
            scales = __builtin_shufflevector(scales, scales, 0, 0, 0, 0);
          scales *= factor;
          if constexpr (layout::addend >= 0) added[r] += scales;
          b::ints dot;
          if constexpr (layout::nibbles) {
            struct sixteen {
              u8 byte[16];
            };
            b::ints weights;
            FLAGGEMS_INSTRUCTION(
                modelled::broadcast<sixteen>(
                    weights, *reinterpret_cast<const sixteen*>(block + layout::values)),
                "vbroadcasti128 %1, %0"
                : "=x"(weights)
                : "m"(*reinterpret_cast<const sixteen*>(block + layout::values)));
            FLAGGEMS_INSTRUCTION(modelled::vpsrlvd(weights, shift), "vpsrlvd %1, %0, %0"
                                 : "+x"(weights)
                                 : "x"(shift));
            weights &= nibble;
            b::multiply_bytes(dot, weights, value);
          } else {
            b::ints weights, size, with_sign;
            b::load(weights, block + layout::values);
            b::absolute(size, weights);
            b::with_sign(with_sign, value, weights);
            b::multiply_bytes(dot, size, with_sign);
          }
          b::add_pairs(dot, dot);
          b::floats f, scale;
          b::convert(f, dot);
          b::spread_first(scale, scales);
          b::add_product(sum[r], f, scale);
        }
      }
      FLAGGEMS_UNROLL
      for (int r = 0; r < row_block; ++r)
        if (j + r < n) {
          out[j + r] = b::total(sum[r]);
          if constexpr (layout::addend >= 0) out[j + r] += added[r][1];
        }
    }
  }
};

/// `Columns` rows of weights, interleaved: a block is eight steps of four elements of every column,
/// then the columns' scales, then their addends. Bytes of Q8_0 are xored with `Flips`; `Less` is
/// subtracted from nibbles, which then have no addends.
template <class Format, int Columns, u32 Flips, int Less = 0>
struct byte_columns {
  using b = bytes_avx2;
  using layout = block_layout<Format>;
  static constexpr int columns = Columns;
  static constexpr bool adds = layout::addend >= 0 && Less == 0;
  static constexpr i64 block_bytes = columns * (quantized_block + 8);

  /// The rows of the weights from j on (rows past the end repeat the last one), `blocks` blocks
  /// from `start` on.
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX2 static void put(const u8* w, i64 row_bytes, i64 j, i64 n,
                                                         i64 start, i64 blocks, u8* to) {
    for (i64 q = 0; q < blocks; ++q, to += block_bytes) {
      f32* const scale = reinterpret_cast<f32*>(to + columns * quantized_block);
      for (int c = 0; c < columns; c += 4) {
        const u8* block[4];
        FLAGGEMS_UNROLL
        for (int e = 0; e < 4; ++e) {
          block[e] = w + min_of(j + c + e, n - 1) * row_bytes + (start + q) * Format::bytes;
          b::four numbers;
          b::load_f16(numbers, block[e]);
          scale[c + e] = numbers[0];
          if constexpr (adds) scale[columns + c + e] = numbers[layout::addend];
        }
        FLAGGEMS_UNROLL
        for (int part = 0; part < (layout::nibbles ? 1 : 2); ++part) {
          b::words line[4];
          FLAGGEMS_UNROLL
          for (int e = 0; e < 4; ++e)
            line[e] =
                *reinterpret_cast<const b::loose_words*>(block[e] + layout::values + part * 16);
          const b::words p = __builtin_shufflevector(line[0], line[1], 0, 4, 1, 5);
          const b::words q4 = __builtin_shufflevector(line[2], line[3], 0, 4, 1, 5);
          const b::words r = __builtin_shufflevector(line[0], line[1], 2, 6, 3, 7);
          const b::words s = __builtin_shufflevector(line[2], line[3], 2, 6, 3, 7);
          const b::words step[4] = {__builtin_shufflevector(p, q4, 0, 1, 4, 5),
                                    __builtin_shufflevector(p, q4, 2, 3, 6, 7),
                                    __builtin_shufflevector(r, s, 0, 1, 4, 5),
                                    __builtin_shufflevector(r, s, 2, 3, 6, 7)};
          FLAGGEMS_UNROLL
          for (int e = 0; e < 4; ++e) {
            const auto store = [&](int at, const b::words& x) FLAGGEMS_LAMBDA {
              *reinterpret_cast<b::loose_words*>(to + (at * columns + c) * 4) = x;
            };
            if constexpr (layout::nibbles) {
              const auto low = [&](const b::words& x) FLAGGEMS_LAMBDA {
                typedef u8 bytes __attribute__((vector_size(16)));
                return (b::words)((bytes)(x & 0x0f0f0f0fU) - static_cast<u8>(Less));
              };
              store(e, low(step[e]));
              store(4 + e, low(step[e] >> 4));
            } else {
              store(part * 4 + e, step[e] ^ Flips);
            }
          }
        }
      }
    }
  }
};

/// Several rows of activations times columns of weights.
template <class Format>
struct byte_panel : byte_columns<Format, 16, 0> {
  using b = bytes_avx2;
  using layout = block_layout<Format>;
  using byte_columns<Format, 16, 0>::columns;
  using byte_columns<Format, 16, 0>::block_bytes;
  static constexpr int rows = 4, few = 2;  // of activations in registers
  static constexpr i64 most_blocks = 24;   // 15 KB: in an L1 cache, with the activations
  using activations = byte_row;
  FLAGGEMS_HOST_INLINE static void begin() {}
  FLAGGEMS_HOST_INLINE static void end() {}

  /// sums[r][c] = (or +=) the product of row r of the activations with column c, over `blocks`
  /// blocks. x: integers of the first row, `x_row` bytes from one to the next; factors likewise.
  template <int Rows>
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX2 static void multiply(const u8* panel, i64 blocks,
                                                              const u8* x, const u8* factors,
                                                              i64 x_row, bool add, f32* sums) {
    b::floats sum[Rows][2];
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < 2; ++v) {
        sum[r][v] = b::floats{};
        if (add) b::load(sum[r][v], sums + r * columns + v * 8);
      }
    }
    for (i64 q = 0; q < blocks; ++q, panel += block_bytes, x += quantized_block, factors += 16) {
      b::ints acc[Rows][2];
      FLAGGEMS_UNROLL
      for (int s = 0; s < 8; ++s) {
        b::ints y[2];
        FLAGGEMS_UNROLL
        for (int v = 0; v < 2; ++v) b::load(y[v], panel + s * columns * 4 + v * 32);
        FLAGGEMS_UNROLL
        for (int r = 0; r < Rows; ++r) {
          b::ints value;
          b::spread(value, reinterpret_cast<const i32*>(x + r * x_row) + s);
          FLAGGEMS_UNROLL
          for (int v = 0; v < 2; ++v) {
            b::ints product;
            if constexpr (layout::nibbles) {
              // Eight sums of two products of at most 15 * 127 are below 2^15.
              b::multiply_bytes(product, y[v], value);
              if (s == 0)
                acc[r][v] = product;
              else
                b::add_words(acc[r][v], product);
            } else {
              b::ints size, with_sign;
              b::absolute(size, y[v]);
              b::with_sign(with_sign, value, y[v]);
              b::multiply_bytes(product, size, with_sign);
              b::add_pairs(product, product);
              acc[r][v] = s == 0 ? product : acc[r][v] + product;
            }
          }
        }
      }
      const f32* const scale = reinterpret_cast<const f32*>(panel + columns * quantized_block);
      FLAGGEMS_UNROLL
      for (int r = 0; r < Rows; ++r) {
        const f32* const factor = reinterpret_cast<const f32*>(factors + r * x_row);
        b::floats d, m;
        b::spread(d, factor);
        if constexpr (layout::addend >= 0) b::spread(m, factor + 1);
        FLAGGEMS_UNROLL
        for (int v = 0; v < 2; ++v) {
          b::floats f, weight;
          if constexpr (layout::nibbles) b::add_pairs(acc[r][v], acc[r][v]);
          b::convert(f, acc[r][v]);
          b::load(weight, scale + v * 8);
          weight *= d;
          b::add_product(sum[r][v], f, weight);
          if constexpr (layout::addend >= 0) {
            b::load(weight, scale + columns + v * 8);
            b::add_product(sum[r][v], weight, m);
          }
        }
      }
    }
    FLAGGEMS_UNROLL
    for (int r = 0; r < Rows; ++r) {
      FLAGGEMS_UNROLL
      for (int v = 0; v < 2; ++v) b::store(sums + r * columns + v * 8, sum[r][v]);
    }
  }
};
#endif

}  // namespace flaggems::kernels
