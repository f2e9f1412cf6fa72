// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// One row of activations times rows of weights in blocks, with AVX-512: 16 blocks of a row at a
// time, whose scales are converted jointly, as converting them block by block would take as long as
// the products.
#pragma once

#include <flaggems/kernel/family/quantized/formats.hpp>

namespace flaggems::kernels {

/// The offset of a block's values, and which of the f16 numbers before them is, times `offset`,
/// added to each value (none: -1).
template <class Format>
struct block_layout;
template <>
struct block_layout<q4_0> {
  static constexpr bool nibbles = true;
  static constexpr int values = 2, addend = 0;
  static constexpr f32 offset = -8;
};
template <>
struct block_layout<q4_1> {
  static constexpr bool nibbles = true;
  static constexpr int values = 4, addend = 1;
  static constexpr f32 offset = 1;
};
template <>
struct block_layout<q8_0> {
  static constexpr bool nibbles = false;
  static constexpr int values = 2, addend = -1;
  static constexpr f32 offset = 0;
};

/// The prefetch distance for weights, in the order of their bytes: several rows are read in
/// parallel but are contiguous in memory, so prefetching each row for itself would be slower.
inline constexpr i64 prefetch_next = 4096;

/// Fetches `Bytes` at `p`, or the line that follows.
template <int Bytes>
FLAGGEMS_HOST_INLINE void fetch_lines(const u8* p) {
  static_for<(Bytes + 63) / 64>([&](auto n) FLAGGEMS_LAMBDA { __builtin_prefetch(p + n * 64); });
}

#if FLAGGEMS_ARCH_X86
/// The instructions on 64 bytes.
struct vectors_wide {
  typedef i32 ints __attribute__((vector_size(64)));
  typedef i32 loose __attribute__((vector_size(64), aligned(1), may_alias));
  typedef f32 floats __attribute__((vector_size(64)));
  typedef f32 loose_floats __attribute__((vector_size(64), aligned(1), may_alias));
  typedef i32 eight __attribute__((vector_size(32)));
  typedef i32 loose_eight __attribute__((vector_size(32), aligned(1), may_alias));
  typedef i32 four __attribute__((vector_size(16)));
  typedef i32 loose_four __attribute__((vector_size(16), aligned(1), may_alias));

  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void load(ints& to, const void* p) {
    to = *static_cast<const loose*>(p);
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void load(floats& to, const void* p) {
    to = *static_cast<const loose_floats*>(p);
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void store(void* p, const floats& x) {
    *static_cast<loose_floats*>(p) = x;
  }
  /// to += a * b.
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void add_product(floats& to, const floats& a,
                                                                      const floats& b) {
    FLAGGEMS_INSTRUCTION(modelled::vfmadd231ps(to, a, b), "vfmadd231ps %2, %1, %0"
                         : "+v"(to)
                         : "v"(a), "v"(b));
  }
  /// `Bytes` at an address of any alignment, as an operand.
  template <int Bytes>
  struct bytes_at {
    u8 byte[Bytes];
  };
  template <int Bytes>
  FLAGGEMS_HOST_INLINE static const bytes_at<Bytes>* piece(const void* p) {
    return static_cast<const bytes_at<Bytes>*>(p);
  }
  /// to += a * b.
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void add_product(floats& to, const floats& a,
                                                                      const bytes_at<64>* b) {
    FLAGGEMS_INSTRUCTION(modelled::vfmadd231ps(to, a, *b), "vfmadd231ps %2, %1, %0"
                         : "+v"(to)
                         : "v"(a), "m"(*b));
  }
  /// to += a * *b, the same number in all lanes.
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void add_product(floats& to, const floats& a,
                                                                      const f32* b) {
    FLAGGEMS_INSTRUCTION(modelled::vfmadd231ps(to, a, *b), "vfmadd231ps %2%{1to16%}, %1, %0"
                         : "+v"(to)
                         : "v"(a), "m"(*b));
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void multiply(floats& to, const floats& a,
                                                                   const bytes_at<64>* b) {
    FLAGGEMS_INSTRUCTION(modelled::vmulps(to, a, *b), "vmulps %2, %1, %0"
                         : "=v"(to)
                         : "v"(a), "m"(*b));
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void multiply(floats& to, const floats& a,
                                                                   const f32* b) {
    FLAGGEMS_INSTRUCTION(modelled::vmulps(to, a, *b), "vmulps %2%{1to16%}, %1, %0"
                         : "=v"(to)
                         : "v"(a), "m"(*b));
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void convert(floats& to, const ints& a) {
    FLAGGEMS_INSTRUCTION(modelled::vcvtdq2ps(to, a), "vcvtdq2ps %1, %0" : "=v"(to) : "v"(a));
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void convert(floats& to, const i32* p) {
    FLAGGEMS_INSTRUCTION(modelled::vcvtdq2ps(to, *piece<64>(p)), "vcvtdq2ps %1, %0"
                         : "=v"(to)
                         : "m"(*static_cast<const loose*>(static_cast<const void*>(p))));
  }
  /// to += sums of four products of bytes, those of `a` from 0 to 255, of `b` from -128 to 127.
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void add_dots(ints& to, const ints& a,
                                                                   const bytes_at<64>* b) {
    FLAGGEMS_INSTRUCTION(modelled::vpdpbusd(to, a, *b), "vpdpbusd %2, %1, %0"
                         : "+v"(to)
                         : "v"(a), "m"(*b));
  }
  /// Lane l is lane at[l] of x.
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void permute(floats& to, const ints& at,
                                                                  const floats& x) {
    FLAGGEMS_INSTRUCTION(modelled::permute<f32>(to, at, x), "vpermps %2, %1, %0"
                         : "=v"(to)
                         : "v"(at), "v"(x));
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static ints lanes() {
    return ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  }
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static f32 total(const floats& x) {
    typedef f32 half __attribute__((vector_size(32)));
    typedef f32 quarter __attribute__((vector_size(16)));
    const half h = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                   __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    const quarter s =
        __builtin_shufflevector(h, h, 0, 1, 2, 3) + __builtin_shufflevector(h, h, 4, 5, 6, 7);
    const quarter pairs = s + __builtin_shufflevector(s, s, 2, 3, 0, 1);
    return pairs[0] + pairs[1];
  }
};

/// A chunk of 16 blocks of activations of 8 bits: integers in the order of the weights' registers,
/// what a register of sums begins with (for bytes, to which 128 is added), and the blocks' scales.
template <class Format>
struct byte_chunk {
  using b = vectors_wide;
  using layout = block_layout<Format>;
  static constexpr int blocks = 16;
  static constexpr int step = layout::nibbles ? 4 : 2;  // blocks in a register
  alignas(64) i8 values[blocks * quantized_block];
  i32 begin[layout::nibbles ? 16 : blocks / step * 16];
  f32 scale[blocks], added[blocks];

  /// From the integers of `count` blocks, and four factors each (byte_row).
  FLAGGEMS_NOINLINE static void prepare(const u8* x, const f32* factors, i64 count,
                                        byte_chunk* to) {
    for (i64 first = 0; first < count; first += blocks, ++to) {
      __builtin_memset(to, 0, sizeof(byte_chunk));
      for (i64 q = 0; q < min_of(count - first, i64{blocks});
           ++q, x += quantized_block, factors += 4) {
        to->scale[q] = factors[0];
        to->added[q] = factors[1];
        if constexpr (layout::nibbles) {
          i8* const low = to->values + q / step * 128 + q % step * 16;
          __builtin_memcpy(low, x, 16);
          __builtin_memcpy(low + 64, x + 16, 16);
        } else {
          i8* const at = to->values + q * quantized_block;
          __builtin_memcpy(at, x, quantized_block);
          for (int e = 0; e < quantized_block; ++e) to->begin[q * 8 + e / 4] -= 128 * at[e];
        }
      }
    }
  }

  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE void add(const u8* block, int live, b::floats by,
                                                       b::floats& sum) const {
    b::floats factor;
    b::load(factor, scale);
    by *= factor;
    FLAGGEMS_UNROLL
    for (int q = 0; q < blocks; q += step) {
      if (q >= live) continue;
      const u8* const at = block + q * Format::bytes + layout::values;
      const i8* const x = values + q * quantized_block;
      b::ints weights, dots = {};
      if constexpr (layout::nibbles) {
        FLAGGEMS_INSTRUCTION(
            modelled::join(weights, *b::piece<16>(at), *b::piece<16>(at + Format::bytes),
                           *b::piece<16>(at + 2 * Format::bytes),
                           *b::piece<16>(at + 3 * Format::bytes)),
            "vmovdqu32 %1, %x0\n\t"
            "vinserti32x4 $1, %2, %0, %0\n\t"
            "vinserti32x4 $2, %3, %0, %0\n\t"
            "vinserti32x4 $3, %4, %0, %0"
            : "=&v"(weights)
            : "m"(*b::piece<16>(at)), "m"(*b::piece<16>(at + Format::bytes)),
              "m"(*b::piece<16>(at + 2 * Format::bytes)),
              "m"(*b::piece<16>(at + 3 * Format::bytes)));
        const b::ints nibble = b::ints{} + 0x0f0f0f0f;
        b::add_dots(dots, weights & nibble, b::piece<64>(x));
        b::add_dots(dots, (weights >> 4) & nibble, b::piece<64>(x + 64));
      } else {
        FLAGGEMS_INSTRUCTION(
            modelled::join(weights, *b::piece<32>(at), *b::piece<32>(at + Format::bytes)),
            "vmovdqu32 %1, %t0\n\t"
            "vinserti64x4 $1, %2, %0, %0"
            : "=&v"(weights)
            : "m"(*b::piece<32>(at)), "m"(*b::piece<32>(at + Format::bytes)));
        b::load(dots, begin + q * 8);
        b::add_dots(dots, weights ^ static_cast<i32>(0x80808080U), b::piece<64>(x));
      }
      b::floats f, each;
      b::convert(f, dots);
      b::permute(each, b::lanes() / (16 / step) + q, by);
      b::add_product(sum, f, each);
    }
  }
};

/// Rows of weights times a row of activations in chunks.
template <class Format, class Chunk>
struct dot_wide {
  using b = vectors_wide;
  using layout = block_layout<Format>;
  static constexpr int row_block = 4;  // rows of weights
  static constexpr i64 bytes = Chunk::blocks * Format::bytes;

  static constexpr i64 chunks(i64 blocks) { return ceil_div(blocks, i64{Chunk::blocks}); }

  /// out[j] = x * (row j of the weights from w on), j < n. Rows of weights follow each other up to
  /// `end`.
  FLAGGEMS_NOINLINE FLAGGEMS_TARGET_AVX512 static void rows(const u8* w, i64 n, i64 blocks,
                                                            const u8* end, const Chunk* x,
                                                            f32* out) {
    const i64 row_bytes = blocks * Format::bytes;
    for (i64 j = 0; j < n; j += row_block) {
      const u8* row[row_block];
      b::floats sum[row_block], added[row_block];
      FLAGGEMS_UNROLL
      for (int r = 0; r < row_block; ++r) {
        row[r] = w + min_of(j + r, n - 1) * row_bytes;
        sum[r] = added[r] = b::floats{};
      }
      const u8* next = row[0] + prefetch_next;
      const Chunk* at = x;
      i64 left = blocks;
      for (; left >= Chunk::blocks; left -= Chunk::blocks, ++at) {
        FLAGGEMS_UNROLL
        for (int r = 0; r < row_block; ++r) {
          fetch_lines<bytes>(next);
          next += bytes;
          add(row[r], *at, Chunk::blocks, sum[r], added[r]);
          row[r] += bytes;
        }
      }
      b::floats rest[row_block] = {};  // in memory: the next loop is not unrolled
      if (left > 0)
        for (int r = 0; r < row_block; ++r) {
          fetch_lines<bytes>(next);
          next += left * Format::bytes;
          // A row is followed by the next one, except the last.
          u8 copy[bytes];
          const u8* from = w + (min_of(j + r, n - 1) + 1) * row_bytes - left * Format::bytes;
          if (end - from < bytes) {
            __builtin_memset(copy, 0, sizeof copy);
            __builtin_memcpy(copy, from, static_cast<u64>(left * Format::bytes));
            from = copy;
          }
          b::floats products = {}, addends = {};
          add(from, *at, static_cast<int>(left), products, addends);
          rest[r] = products + addends;
        }
      FLAGGEMS_UNROLL
      for (int r = 0; r < row_block; ++r)
        if (j + r < n) out[j + r] = b::total(sum[r] + added[r] + rest[r]);
    }
  }

 private:
  /// A chunk of a row, of which `live` blocks count.
  FLAGGEMS_TARGET_AVX512 FLAGGEMS_HOST_INLINE static void add(const u8* block, const Chunk& x,
                                                              int live, b::floats& sum,
                                                              b::floats& added) {
    // The first words of all blocks: the scale in the lower half, in the upper one what is added.
    b::four head[4];
    FLAGGEMS_UNROLL
    for (int g = 0; g < 4; ++g) {
      head[g] = b::four{};
      if (g * 4 >= live) continue;
      i32 word[4];
      FLAGGEMS_UNROLL
      for (int e = 0; e < 4; ++e)
        __builtin_memcpy(&word[e], block + (g * 4 + e) * Format::bytes, 4);
      head[g] = b::four{word[0], word[1], word[2], word[3]};
    }
    b::ints words, numbers;
    b::eight upper;
    FLAGGEMS_INSTRUCTION(modelled::join(words, head[0], head[1], b::four{}, b::four{}),
                         "vinserti32x4 $1, %2, %t1, %t0"
                         : "=v"(words)
                         : "v"(head[0]), "v"(head[1]));
    FLAGGEMS_INSTRUCTION(modelled::join(upper, head[2], head[3]), "vinserti32x4 $1, %2, %t1, %t0"
                         : "=v"(upper)
                         : "v"(head[2]), "v"(head[3]));
    FLAGGEMS_INSTRUCTION(modelled::join(words, modelled::lane<b::eight>(words, 0), upper),
                         "vinserti64x4 $1, %1, %0, %0"
                         : "+v"(words)
                         : "v"(upper));
    // A block that does not count may be anything, even NaN.
    if (live < Chunk::blocks) words &= b::lanes() < live;
    const b::ints halves = {0x020000, 0x060004, 0x0a0008, 0x0e000c, 0x120010, 0x160014,
                            0x1a0018, 0x1e001c, 0x030001, 0x070005, 0x0b0009, 0x0f000d,
                            0x130011, 0x170015, 0x1b0019, 0x1f001d};
    FLAGGEMS_INSTRUCTION(modelled::permute<u16>(numbers, halves, words), "vpermw %2, %1, %0"
                         : "=v"(numbers)
                         : "v"(halves), "v"(words));
    b::floats scale;
    FLAGGEMS_INSTRUCTION(modelled::vcvtph2ps(scale, modelled::lane<b::eight>(numbers, 0)),
                         "vcvtph2ps %t1, %0"
                         : "=v"(scale)
                         : "v"(numbers));
    if constexpr (layout::addend == 1) {
      b::floats addend;
      FLAGGEMS_INSTRUCTION(modelled::upper_half(upper, numbers), "vextracti64x4 $1, %1, %t0"
                           : "=v"(upper)
                           : "v"(numbers));
      FLAGGEMS_INSTRUCTION(modelled::vcvtph2ps(addend, upper), "vcvtph2ps %t1, %0"
                           : "=v"(addend)
                           : "v"(upper));
      b::add_product(added, addend, b::piece<64>(x.added));
    } else if constexpr (layout::addend == 0) {
      b::add_product(added, scale, b::piece<64>(x.added));
    }
    x.add(block, live, scale, sum);
  }
};
#endif

}  // namespace flaggems::kernels
