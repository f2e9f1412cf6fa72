// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Products of blocks of weights with activations of 8 bits: 32 activations are integers times one
// scale, so the sum over a block is exact in integers, and only blocks are summed in f32. One row
// of activations: weights are multiplied as they are read. Several rows: 16 or 32 rows of weights
// are interleaved in memory, four bytes of each, and a register of them times four activations in
// every lane contributes to 8 or 16 results.
#pragma once

#include <flaggems/kernel/family/quantized/vector/byte_wide.hpp>

namespace flaggems::kernels {

/// Rows of activations as integers, in the order that the level's panels take (byte_rows_layout):
/// the rows of a batch, batch after batch.
template <class Format, class T>
struct byte_rows_host {
  static constexpr bool has_bf16_entries = true;
  /// The bytes for `rows` rows in each batch, at any level.
  static constexpr i64 bytes(i64 batches, i64 rows, i64 k) {
    return batches * max_of(byte_row::bytes(rows, k), byte_row_groups::bytes(rows, k));
  }

  /// Row `row` of the activations, of which the first is `first`; `copy` has room for k numbers.
  template <class Isa, class Layout>
  FLAGGEMS_HOST_INLINE static void put([[maybe_unused]] const T* first,
                                       [[maybe_unused]] const gemm_arg<T>& x,
                                       [[maybe_unused]] i64 row, [[maybe_unused]] i64 blocks,
                                       [[maybe_unused]] f32* copy, [[maybe_unused]] u8* to) {
#if FLAGGEMS_ARCH_X86
    const i64 k = blocks * quantized_block;
    byte_rounding<Format>::row(f32_numbers<Isa>(first + row * x.line, x.along, k, copy), blocks,
                               Layout::row_block, to + Layout::integers(row, k),
                               reinterpret_cast<f32*>(to + Layout::scales(row, k)));
#endif
  }

  template <class Block>
  FLAGGEMS_HOST_INLINE static void run([[maybe_unused]] Block& block,
                                       [[maybe_unused]] gemm_space space,
                                       [[maybe_unused]] gemm_arg<T> x, [[maybe_unused]] u8* to) {
#if FLAGGEMS_ARCH_X86
    using isa = typename Block::isa;
    if constexpr (isa::bytes > 16) {
      const i64 k = space.k * quantized_block;
      f32* const copy = block.template scratch<f32>(k).data;
      with_byte_panel<Format, isa>(space.m, [&](auto panel) FLAGGEMS_LAMBDA {
        using layout = typename decltype(panel)::activations;
        block.for_each_tile(space.batches * space.m, [&](i64 at) FLAGGEMS_LAMBDA {
          const i64 batch = at / space.m;
          put<isa, layout>(x.at(space.batch_at(batch)), x, at - batch * space.m, space.k, copy,
                           to + batch * layout::bytes(space.m, k));
        });
      });
    }
#endif
  }
};

/// out[i, j] = sum over q of x[i, q] * w[j, q] with activations of 8 bits; space.k counts blocks.
/// For AVX2 and above: others round the activations and multiply them as numbers.
template <class Format, class T, class Out>
struct quantized_linear_bytes {
  static constexpr bool has_bf16_entries = true;  // these levels have dot products of bytes, too
  static constexpr i64 few = 16;  // rows of weights at a time, for one row of activations
  // Rows of activations that pass over a panel of weights: as many as there are, up to the latter,
  // unless workers would have too few panels.
  static constexpr i64 least_rows = 128, most_rows = 512;
  static constexpr i64 least_columns = 16, most_columns = 32;  // of a panel
  static constexpr i64 most_panel = 32 * 1024;                 // bytes

  /// The tiles of a launch, at most.
  static constexpr i64 tiles(const gemm_space& space) {
    if (space.m == 1) return space.batches * ceil_div(space.n, few);
    return space.batches * ceil_div(space.m, least_rows) * ceil_div(space.n, least_columns);
  }
  /// The bytes of scratch that a launch needs.
  static constexpr i64 scratch(i64 k, bool one) {
    if (one) return byte_row::bytes(1, k) + (k + few) * 4 + 3 * 256 + 3 * k + 2048;
    return most_panel + most_columns * most_rows * 4 + 2 * 256;
  }

  /// rows: byte_rows of all activations; of one row (a batch) each worker makes them itself.
  template <class Block>
  FLAGGEMS_HOST_INLINE static void run([[maybe_unused]] Block& block,
                                       [[maybe_unused]] gemm_space space,
                                       [[maybe_unused]] gemm_arg<T> x, [[maybe_unused]] const u8* w,
                                       [[maybe_unused]] gemm_out<Out, f32> out,
                                       [[maybe_unused]] const u8* rows) {
    if constexpr (Block::isa::bytes > 16) {
      if (space.m == 1)
        one_row(block, space, x, w, out);
      else
        with_byte_panel<Format, typename Block::isa>(space.m, [&](auto panel) FLAGGEMS_LAMBDA {
          several_rows<decltype(panel)>(block, space, w, out, rows);
        });
    }
  }

 private:
#if FLAGGEMS_ARCH_X86
  template <class Block>
  FLAGGEMS_HOST_INLINE static void one_row(Block& block, const gemm_space& space,
                                           const gemm_arg<T>& x, const u8* w,
                                           const gemm_out<Out, f32>& out) {
    using isa = typename Block::isa;
    const i64 k = space.k * quantized_block, groups = ceil_div(space.n, few);
    u8* const row = block.template scratch<u8>(byte_row::bytes(1, k)).data;
    f32* const copy = block.template scratch<f32>(k).data;
    const auto sums = block.template scratch<f32>(few);
    const u8* const end = w + space.n * space.k * Format::bytes;
    using wide = dot_wide<Format, byte_chunk<Format>>;
    [[maybe_unused]] byte_chunk<Format>* chunks = nullptr;
    if constexpr (has_byte_dots<isa>)
      chunks = block.template scratch<byte_chunk<Format>>(wide::chunks(space.k)).data;
    i64 before = -1;
    block.for_each_tile(space.batches * groups, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 batch = at / groups, j = (at - batch * groups) * few;
      const coordinates c = space.batch_at(batch);
      if (batch != before) {
        before = batch;
        byte_rows_host<Format, T>::template put<isa, byte_row>(x.at(c), x, 0, space.k, copy, row);
        if constexpr (has_byte_dots<isa>)
          byte_chunk<Format>::prepare(row, reinterpret_cast<const f32*>(row + k), space.k, chunks);
      }
      const i64 n = min_of(few, space.n - j);
      const u8* const first = w + j * space.k * Format::bytes;
      if constexpr (has_byte_dots<isa>)
        wide::rows(first, n, space.k, end, chunks, sums.data);
      else
        byte_dot<Format>::rows(first, n, space.k, row, sums.data);
      Out* const to = out.at(c) + j * out.column;
      block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
        store(to, out.column, lane, load<f32>(sums, lane));
      });
    });
  }

  template <class Panel, class Block>
  FLAGGEMS_HOST_INLINE static void several_rows(Block& block, const gemm_space& space, const u8* w,
                                                const gemm_out<Out, f32>& out, const u8* rows) {
    using layout = typename Panel::activations;
    constexpr i64 columns = Panel::columns;
    static_assert(columns <= most_columns && Panel::most_blocks * Panel::block_bytes <= most_panel);
    const i64 k = space.k * quantized_block, row_bytes = layout::row_bytes(k);
    const i64 across = ceil_div(space.n, columns);
    const i64 least = ceil_div(space.m, most_rows), most = ceil_div(space.m, least_rows);
    const i64 fair = ceil_div(block.count() * 4, space.batches * across);
    const i64 band_rows = round_up(ceil_div(space.m, max_of(least, min_of(fair, most))), i64{16});
    const i64 down = ceil_div(space.m, band_rows);
    const i64 pieces = max_of(ceil_div(space.k, Panel::most_blocks), i64{1});
    const i64 most_blocks = ceil_div(space.k, pieces);
    u8* const weights = block.template scratch<u8>(most_blocks * Panel::block_bytes).data;
    const auto sums = block.template scratch<f32>(band_rows * columns);
    Panel::begin();
    block.for_each_tile(space.batches * down * across, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 band = at / across, j = (at - band * across) * columns;
      const i64 batch = band / down, first = (band - batch * down) * band_rows;
      const i64 m = min_of(band_rows, space.m - first);
      const u8* const x = rows + batch * layout::bytes(space.m, k);
      i64 start = 0;
      do {
        const i64 blocks = min_of(most_blocks, space.k - start);
        Panel::put(w, space.k * Format::bytes, j, space.n, start, blocks, weights);
        i64 i = 0;
        const auto multiply = [&](auto count) FLAGGEMS_LAMBDA {
          constexpr int n = decltype(count)::value;
          for (; i + n <= m; i += n)
            Panel::template multiply<n>(
                weights, blocks, x + layout::integers(first + i, k) + start * quantized_block,
                x + layout::scales(first + i, k) + start * layout::factors * 4, row_bytes,
                start > 0, sums.data + i * columns);
        };
        multiply(int_constant<Panel::rows>{});
        multiply(int_constant<Panel::few>{});
        multiply(int_constant<1>{});
        start += blocks;
      } while (start < space.k);
      Out* const to = out.at(space.batch_at(batch)) + first * out.row + j * out.column;
      for (i64 i = 0; i < m; ++i)
        block.for_each_lane(min_of(columns, space.n - j), [&](auto lane) FLAGGEMS_LAMBDA {
          store(to + i * out.row, out.column, lane, load<f32>(sums.from(i * columns), lane));
        });
    });
    Panel::end();
  }
#endif
};

}  // namespace flaggems::kernels
