// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// A linear layer with weights in blocks, on the host. One row of activations: a block's integers
// are multiplied as they are, its scale is applied to their sum, and its offset to the sum of the
// block's activations, which all rows of weights share. Several rows: a panel of weights is decoded
// once into f32 in the L2 cache, and register tiles multiply it.
#pragma once

#include <flaggems/kernel/block/vector/block.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>
#include <flaggems/kernel/family/gemm/vector/micro_kernel.hpp>
#include <flaggems/kernel/family/quantized/vector/dot.hpp>
#include <flaggems/kernel/lang/vector/scalars.hpp>

namespace flaggems::kernels {

/// The f16 numbers in 8 bytes at `p`.
template <class Isa>
FLAGGEMS_HOST_INLINE quad four_f16(const u8* p) {
  struct eight {
    u8 byte[8];
  };
  quad r;
  simd<u16, isa_baseline> raw;
  if constexpr (has_f16_conversion<Isa>) {
#if FLAGGEMS_X86_ASM
    asm("vcvtph2ps %1, %0" : "=x"(r.v) : "m"(*reinterpret_cast<const eight*>(p)));
#endif
  } else {
    __builtin_memcpy(&raw.v, p, 8);
    r = decode_small<f16_format, isa_baseline>(raw);
  }
  return r;
}

template <class Isa, class V, int... K>
FLAGGEMS_HOST_INLINE simd<u32, Isa> repeat_words(const V& x, int_sequence<K...>) {
  return simd<u32, Isa>(FLAGGEMS_SHUFFLE(x.v, x.v, (K % 4)...));
}
/// 16 bytes as four words, again and again.
template <class Isa>
FLAGGEMS_HOST_INLINE simd<u32, Isa> repeat_words(const u8* p) {
  simd<u32, isa_baseline> four;
#if FLAGGEMS_GCC_X86_ASM
  if constexpr (Isa::bytes > 16) {  // g++ 12 would insert the upper parts one by one
    struct sixteen {
      u8 byte[16];
    };
    simd<u32, Isa> r;
    const sixteen& bytes = *reinterpret_cast<const sixteen*>(p);
    if constexpr (Isa::bytes == 32)
      asm("vbroadcasti128 %1, %0" : "=x"(r.v) : "m"(bytes));
    else
      asm("vbroadcasti32x4 %1, %0" : "=v"(r.v) : "m"(bytes));
    return r;
  }
#endif
  read_vector(four, p);
  return repeat_words<Isa>(four, typename make_int_sequence_type<Isa::lanes>::type{});
}

/// A row of activations, prepared once for all rows of weights, and its product with a block.
///
/// One `and` with a mask extracts a vector of nibbles from a block's four words: lane l of vector p
/// is nibble p * groups + l / 4 of word l % 4, not shifted down, hence times a power of 16 by which
/// the activations, stored in that order, are divided. The words' upper halves are shifted first,
/// so the power is at most 16^3. Of bytes, lane l of vector p is byte p % 4 of word p / 4 * lanes +
/// l; with vectors of 16 lanes, they are in order.
template <class Format, class Isa>
struct block_product {
  using layout = block_layout<Format>;
  using V = simd<f32, Isa>;
  using U = simd<u32, Isa>;
  static constexpr int lanes = Isa::lanes;
  static constexpr int vectors = quantized_block / lanes;
  static constexpr int groups = lanes / 4;
  static constexpr int masks = layout::nibbles ? 16 / lanes : 1;

  U mask[masks];

  FLAGGEMS_HOST_INLINE block_product() {
    if constexpr (layout::nibbles)
      for (int p = 0; p < masks; ++p)
        for (int l = 0; l < lanes; ++l) mask[p].v[l] = 15U << (4 * (p * groups + l / 4));
  }

  /// x [32 blocks] as `dot` takes it, and what the blocks' addends are multiplied by: four numbers
  /// a block.
  FLAGGEMS_HOST_INLINE static void prepare(const f32* x, i64 blocks, f32* to, f32* addends) {
    for (i64 b = 0; b < blocks; ++b) {
      V sum(0.0F);
      static_for<vectors>([&](auto p) FLAGGEMS_LAMBDA {
        V value;
        if constexpr (layout::nibbles) {
          V scale;
          for (int l = 0; l < lanes; ++l) {
            const int nibble = p * groups + l / 4;
            value.v[l] = x[(l % 4) * 4 + nibble / 2 + (nibble % 2) * 16];
            scale.v[l] = 1.0F / static_cast<f32>(1 << (4 * (nibble % 4)));
          }
          sum += value;
          value *= scale;
        } else if constexpr (lanes <= quantized_block / 4) {
          for (int l = 0; l < lanes; ++l) value.v[l] = x[(p / 4 * lanes + l) * 4 + p % 4];
        } else {
          read_vector(value, x + p * lanes);
        }
        write_vector(to + p * lanes, value, lanes);
      });
      if constexpr (layout::addend >= 0) {
        quad a(0.0F);
        a.v[layout::addend] = total_of(fold_to_quad(sum)) * layout::offset;
        write_vector(addends, a, 4);
      }
      x += quantized_block;
      to += quantized_block;
      addends += 4;
    }
  }

  /// The sum of a block's integers times the activations.
  FLAGGEMS_HOST_INLINE V dot(const u8* block, const V (&x)[vectors]) const {
    V sum;
    if constexpr (layout::nibbles) {
      U words = repeat_words<Isa>(block + layout::values);
      static_for<2>([&](auto half) FLAGGEMS_LAMBDA {
        static_for<masks>([&](auto p) FLAGGEMS_LAMBDA {
          const V q = convert<f32>(bit_cast<simd<i32, Isa>>(words & mask[p]));
          constexpr int at = decltype(half)::value * masks + decltype(p)::value;
          sum = at == 0 ? V(q * x[at]) : fma(q, x[at], sum);
        });
        words = words >> 16;
      });
    } else {
      using J = simd<i32, Isa>;
      constexpr int words_of_block = quantized_block / 4;
      static_for<vectors>([&](auto p) FLAGGEMS_LAMBDA {
        V q;
        if constexpr (lanes <= words_of_block) {
          J words;
          read_vector(words, block + layout::values + p / 4 * lanes * 4);
          q = convert<f32>(J((words << (24 - p % 4 * 8)) >> 24));
        } else {
          q = load<f32>(reinterpret_cast<const i8*>(block + layout::values),
                        lane_vector<Isa>{p * lanes});
        }
        sum = p == 0 ? V(q * x[p]) : fma(q, x[p], sum);
      });
    }
    return sum;
  }
};

/// The numbers of a block, in their order.
template <class Format, class Isa>
FLAGGEMS_HOST_INLINE void decode_block(const u8* block, f32* to) {
  using layout = block_layout<Format>;
  using V = simd<f32, Isa>;
  using J = simd<i32, Isa>;
  constexpr int lanes = Isa::lanes;
  const quad scales = four_f16<Isa>(block);
  const V d = spread<Isa, 0>(scales);
  const V m = spread<Isa, 1>(scales);
  const auto put = [&](int at, const J& q) FLAGGEMS_LAMBDA {
    V w = convert<f32>(q);
    if constexpr (layout::addend == 1)
      w = fma(w, d, m);
    else
      w = (w + V(layout::offset)) * d;
    write_vector(to + at, w, lanes);
  };
  if constexpr (layout::nibbles) {
    for (int r = 0; r < 16; r += lanes) {
      const J pair = load<i32>(block + layout::values, lane_vector<Isa>{r});
      put(r, pair & J(15));
      put(16 + r, pair >> 4);
    }
  } else {
    const i8* values = reinterpret_cast<const i8*>(block + layout::values);
    for (int r = 0; r < quantized_block; r += lanes) put(r, load<i32>(values, lane_vector<Isa>{r}));
  }
}

/// The register tile of products with decoded weights: lanes along the summed dimension, where both
/// operands are contiguous. 4x3 of 16 registers, 6x4 of 32.
template <class Isa>
struct quantized_tile {
  static constexpr bool has_32_registers = Isa::bytes == 64 || FLAGGEMS_ARCH_ARM64 != 0;
  static constexpr int rows = has_32_registers ? 6 : 4;
  static constexpr int columns = has_32_registers ? 4 : 3;
};

/// How the weights are cut: `panel` rows of them (columns of the result) are decoded together.
struct quantized_panels {
  i64 panel, count;

  static constexpr i64 most = 1024;

  /// A panel's decoded numbers take at most `bytes` of the L2 cache; each worker gets several
  /// panels.
  FLAGGEMS_HOST_INLINE static quantized_panels make(i64 n, i64 columns, i64 workers, i64 step,
                                                    i64 bytes) {
    const i64 row = max_of(columns * i64(sizeof(f32)), i64(1));
    const i64 fitting = min_of(bytes / row, most) / step * step;
    const i64 fair = round_up(ceil_div(n, workers * 4), step);
    const i64 panel = max_of(step, min_of(fitting, fair));
    return {panel, ceil_div(n, panel)};
  }
};

/// `k` activations, a multiple of 32, from `from` on as contiguous f32: in place, or copied to
/// `to`.
template <class Isa, class T>
FLAGGEMS_HOST_INLINE const f32* f32_numbers(const T* from, i64 along, i64 k, f32* to) {
  if constexpr (is_same<T, f32>)
    if (along == 1) return from;
  for (i64 q = 0; q < k; q += Isa::lanes) {
    const lane_vector<Isa> lane{q};
    store(to, lane, load<f32>(from, along, lane));
  }
  return to;
}

/// out[i, j] = sum over q of x[i, q] * w[j, q]; space.k counts blocks, space's tiles are its
/// batches.
template <class Format, class T, class Out>
struct quantized_linear_host {
  static constexpr i64 panel_bytes = 192 * 1024;  // of an L2 cache of at least 256 KB
  static constexpr i64 depth = 768;               // summed elements at a time: 7 to 10 rows of 3 KB

  // With AVX-512, from so many rows on the tiles of family/gemm/vector/micro_kernel.hpp, which pack
  // all columns of a tile, are faster than lanes along the sum.
  static constexpr i64 least_rows = 24;
  using wide_tile = vector_kernel<f32, isa_avx512>;
  static constexpr i64 tile_depth = 384;

  /// The bytes of scratch that a launch needs, for k summed elements; `wide`: with AVX-512.
  struct scratch_of {
    bool one_row, wide;
  };
  static constexpr i64 scratch(i64 k, scratch_of what) {
    constexpr i64 padding = 256, rows = 8;
    const i64 columns = what.wide ? wide_tile::columns : 4;
    if (what.one_row) return (2 * k + k / 8) * 4 + padding;
    return max_of(panel_bytes, columns * k * 4) + (what.wide ? columns * tile_depth * 4 : 0) +
           rows * (k + quantized_panels::most + columns) * 4 + 4 * padding;
  }

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run(Block& block, gemm_space space, gemm_arg<T> x, const u8* w,
                                       gemm_out<Out, f32> out) {
    constexpr bool wide = FLAGGEMS_ARCH_X86 != 0 && Block::isa::bytes == 64;
    if constexpr (wide) {
      if (space.m >= least_rows) return many_rows(block, space, x, w, out);
    }
    if (space.m > 1)
      several_rows(block, space, x, w, out);
    else
      one_row(block, space, x, w, out);
  }

 private:
  template <class Block>
  FLAGGEMS_HOST_INLINE static void one_row(Block& block, const gemm_space& space,
                                           const gemm_arg<T>& x, const u8* w,
                                           const gemm_out<Out, f32>& out) {
    using isa = typename Block::isa;
    using product = block_product<Format, isa>;
    using V = typename product::V;
    constexpr int row_block = quantized_tile<isa>::has_32_registers ? 4 : 2;  // rows of weights
    constexpr int lanes = isa::lanes;
    const i64 k = space.k * quantized_block, row_bytes = space.k * Format::bytes;
    f32* const prepared = block.template scratch<f32>(2 * k + k / 8).data;
    f32* const addends = prepared + k;
    f32* const copy = addends + k / 8;
    const product by;
    const i64 groups = ceil_div(space.n, i64(row_block));
    i64 batch = -1;
    block.for_each_tile(space.batches * groups, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 here = tile / groups, j = (tile - here * groups) * row_block;
      const coordinates c = space.locate(here).batch;
      if (here != batch) {
        batch = here;
        product::prepare(f32_numbers<isa>(x.at(c), x.along, k, copy), space.k, prepared, addends);
      }
      const u8* row[row_block];
      V sum[row_block];
      quad added[row_block];
      static_for<row_block>([&](auto r) FLAGGEMS_LAMBDA {
        row[r] = w + min_of(j + r, space.n - 1) * row_bytes;
        sum[r] = V(0.0F);
        added[r] = quad(0.0F);
      });
      const f32* from = prepared;
      const f32* addend = addends;
      const u8* next = row[0] + prefetch_next;
      for (i64 b = 0; b < space.k; ++b, from += quantized_block, addend += 4) {
        fetch_lines<row_block * Format::bytes>(next);
        next += row_block * Format::bytes;
        V value[product::vectors];
        static_for<product::vectors>(
            [&](auto p) FLAGGEMS_LAMBDA { read_vector(value[p], from + p * lanes); });
        static_for<row_block>([&](auto r) FLAGGEMS_LAMBDA {
          const quad scales = four_f16<isa>(row[r]);
          sum[r] = fma(by.dot(row[r], value), spread<isa, 0>(scales), sum[r]);
          if constexpr (product::layout::addend >= 0) {
            quad a;
            read_vector(a, addend);
            added[r] = fma(scales, a, added[r]);
          }
          row[r] += Format::bytes;
        });
      }
      Out* const to = out.at(c);
      static_for<row_block>([&](auto r) FLAGGEMS_LAMBDA {
        f32 total = total_of(fold_to_quad(sum[r]));
        if constexpr (product::layout::addend >= 0) total += added[r].v[product::layout::addend];
        if (j + r < space.n) store(to, out.column, lane_scalar{j + r}, total);
      });
    });
  }

#if FLAGGEMS_ARCH_X86
  template <class Block>
  FLAGGEMS_HOST_INLINE static void many_rows(Block& block, const gemm_space& space,
                                             const gemm_arg<T>& x, const u8* w,
                                             const gemm_out<Out, f32>& out) {
    using isa = typename Block::isa;
    constexpr i64 rows = wide_tile::rows, width = wide_tile::columns;
    const i64 k = space.k * quantized_block;
    const auto cut = quantized_panels::make(space.n, k, block.count(), width, panel_bytes);
    f32* const packed = block.template scratch<f32>(cut.panel * k).data;
    f32* const numbers = block.template scratch<f32>(width * tile_depth).data;
    f32* const sums = block.template scratch<f32>(rows * cut.panel).data;
    f32* const copies = block.template scratch<f32>(rows * k).data;
    block.for_each_tile(space.batches * cut.count, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 batch = at / cut.count, first = (at - batch * cut.count) * cut.panel;
      const i64 columns = min_of(cut.panel, space.n - first), across = round_up(columns, width);
      for (i64 q = 0; q < k; q += tile_depth) {
        const i64 depth = min_of(tile_depth, k - q);
        for (i64 j = 0; j < columns; j += width) {
          const i64 live = min_of(width, columns - j);
          for (i64 c = 0; c < live; ++c) {
            const u8* const row = w + (first + j + c) * space.k * Format::bytes;
            for (i64 e = 0; e < depth; e += quantized_block)
              decode_block<Format, isa>(row + (q + e) / quantized_block * Format::bytes,
                                        numbers + c * depth + e);
          }
          wide_tile::template pack_columns<f32>(
              pack_arguments<f32>{numbers, depth, 1, live, depth, packed + q * across + j * depth});
        }
      }
      const coordinates c = space.locate(batch).batch;
      const T* const from = x.at(c);
      Out* const to = out.at(c) + first * out.column;
      for (i64 i = 0; i < space.m; i += rows) {
        const i64 m = min_of(rows, space.m - i);
        tile_arguments<f32> t{};
        t.a = copies;
        t.a_row = k;
        if (is_same<T, f32> && x.along == 1 && m == rows) {
          t.a = from + i * x.line;
          t.a_row = x.line;
        } else {
          for (i64 r = 0; r < rows; ++r) {  // rows past the end repeat the last one
            f32* const copy = copies + r * k;
            const f32* const row =
                f32_numbers<isa>(from + min_of(i + r, space.m - 1) * x.line, x.along, k, copy);
            if (row != copy) __builtin_memcpy(copy, row, static_cast<u64>(k) * 4);
          }
        }
        const f32* const a = static_cast<const f32*>(t.a);
        t.a_along = 1;
        t.b_along = width;
        t.out_row = cut.panel;
        t.alpha = 1.0F;
        i64 q = 0;
        do {
          t.a = a + q;
          t.steps = min_of(tile_depth, k - q);
          t.add = q > 0;
          for (i64 j = 0; j < columns; j += width) {
            t.b = packed + q * across + j * t.steps;
            t.out = sums + j;
            t.vectors = static_cast<int>(ceil_div(min_of(width, columns - j), i64{isa::lanes}));
            wide_tile::product(t);
          }
          q += tile_depth;
        } while (q < k);
        for (i64 r = 0; r < m; ++r)
          block.for_each_lane(columns, [&](auto lane) FLAGGEMS_LAMBDA {
            store(to + (i + r) * out.row, out.column, lane,
                  load<f32>(static_cast<const f32*>(sums) + r * cut.panel, lane));
          });
      }
    });
  }
#endif

  template <class Block>
  FLAGGEMS_HOST_INLINE static void several_rows(Block& block, const gemm_space& space,
                                                const gemm_arg<T>& x, const u8* w,
                                                const gemm_out<Out, f32>& out) {
    using isa = typename Block::isa;
    using tile = quantized_tile<isa>;
    const i64 k = space.k * quantized_block, row_bytes = space.k * Format::bytes;
    const auto cut = quantized_panels::make(space.n, k, block.count(), tile::columns, panel_bytes);
    f32* const panel = block.template scratch<f32>(cut.panel * k).data;
    f32* const sums = block.template scratch<f32>(tile::rows * cut.panel).data;
    f32* const copies = block.template scratch<f32>(tile::rows * k).data;
    block.for_each_tile(space.batches * cut.count, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 batch = at / cut.count, first = (at - batch * cut.count) * cut.panel;
      const i64 columns = min_of(cut.panel, space.n - first);
      const coordinates c = space.locate(batch).batch;
      const u8* from = w + first * row_bytes;
      for (i64 b = 0; b < columns * space.k; ++b, from += Format::bytes)
        decode_block<Format, isa>(from, panel + b * quantized_block);
      const T* const rows = x.at(c);
      Out* const to = out.at(c) + first * out.column;
      const auto group = [&](auto count, i64 i) FLAGGEMS_LAMBDA {
        constexpr int n = decltype(count)::value;
        const f32* row[n];
        static_for<n>([&](auto r) FLAGGEMS_LAMBDA {
          row[r] = f32_numbers<isa>(rows + (i + r) * x.line, x.along, k, copies + r * k);
        });
        // A tile's rows of x and weights stay in the L1 cache for all columns of the panel.
        i64 q = 0;
        do {
          const i64 length = min_of(depth, k - q);
          for (i64 j = 0; j < columns; j += tile::columns)
            multiply<isa, n, tile::columns>(row, q, length, panel, k, j, columns, cut.panel, sums);
          q += length;
        } while (q < k);
        for (int r = 0; r < n; ++r)
          block.for_each_lane(columns, [&](auto lane) FLAGGEMS_LAMBDA {
            store(to + (i + r) * out.row, out.column, lane,
                  load<f32>(static_cast<const f32*>(sums) + r * cut.panel, lane));
          });
      };
      i64 i = 0;
      for (; i + tile::rows <= space.m; i += tile::rows) group(int_constant<tile::rows>{}, i);
      for (; i + 2 <= space.m; i += 2) group(int_constant<2>{}, i);
      if (i < space.m) group(int_constant<1>{}, i);
    });
  }

  /// Rows x Columns sums over `length` elements from `start` on, from column j of the panel on;
  /// added to those before unless `start` is 0.
  template <class Isa, int Rows, int Columns>
  FLAGGEMS_HOST_INLINE static void multiply(const f32* const (&row)[Rows], i64 start, i64 length,
                                            const f32* panel, i64 k, i64 j, i64 columns, i64 width,
                                            f32* sums) {
    using V = simd<f32, Isa>;
    const f32* x[Rows];
    const f32* column[Columns];
    static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA { x[r] = row[r] + start; });
    static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
      column[c] = panel + min_of(j + c, columns - 1) * k + start;
    });
    V sum[Rows][Columns];
    static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA { sum[r][c] = V(0.0F); });
    });
    for (i64 q = 0; q < length; q += Isa::lanes) {
      V y[Columns];
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA { read_vector(y[c], column[c] + q); });
      static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
        V value;
        read_vector(value, x[r] + q);
        static_for<Columns>([&](auto c)
                                FLAGGEMS_LAMBDA { sum[r][c] = fma(value, y[c], sum[r][c]); });
      });
    }
    static_for<Rows>([&](auto r) FLAGGEMS_LAMBDA {
      static_for<Columns>([&](auto c) FLAGGEMS_LAMBDA {
        f32* const to = sums + r * width + j + c;  // width: whole tiles
        const f32 total = total_of(fold_to_quad(sum[r][c]));
        *to = start == 0 ? total : *to + total;
      });
    });
  }
};

}  // namespace flaggems::kernels
