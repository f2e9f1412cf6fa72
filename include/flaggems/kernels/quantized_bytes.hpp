// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Products of blocks of weights with activations of 8 bits, in exact integers: 32 activations are
// integers times one scale, so the sum over a block is one of integers, and only blocks are summed
// in f32. One row of activations: blocks of weights are multiplied as they pass by. Several rows:
// 16 or 32 rows of weights are put side by side in memory, byte by byte, and a register of them
// times four activations in every lane is a part of 8 or 16 results.
#pragma once

#include <flaggems/kernels/quantized_byte_tile.hpp>

namespace flaggems::kernels {

/// Rows of activations as byte_rows, one after the other: the rows of a batch, batch after batch.
template <class Format, class T>
struct byte_rows_host {
  /// Row `row` of the activations, of which the first is `first`, to `to`; `copy` has room for k
  /// numbers.
  template <class Isa>
  FLAGGEMS_INLINE static void put([[maybe_unused]] const T* first,
                                  [[maybe_unused]] const gemm_arg<T>& x, [[maybe_unused]] i64 row,
                                  [[maybe_unused]] i64 blocks, [[maybe_unused]] f32* copy,
                                  [[maybe_unused]] u8* to) {
#if FLAGGEMS_ARCH_X86
    byte_rounding<Format>::row(
        f32_numbers<Isa>(first + row * x.line, x.along, blocks * quantized_block, copy), blocks,
        to);
#endif
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, gemm_space space, gemm_arg<T> x, u8* to) {
    using isa = typename Block::isa;
    if constexpr (isa::bytes > 16) {
      const i64 k = space.k * quantized_block;
      f32* const copy = block.template scratch<f32>(k).data;
      block.for_each_tile(space.batches * space.m, [&](i64 at) FLAGGEMS_LAMBDA {
        const i64 batch = at / space.m;
        put<isa>(x.at(space.batch_at(batch)), x, at - batch * space.m, space.k, copy,
                 to + at * byte_row::bytes(k));
      });
    }
  }
};

/// out[i, j] = sum over q of x[i, q] * w[j, q] with activations of 8 bits; space.k counts blocks.
/// For AVX2 and above: others round the activations and multiply them as numbers.
template <class Format, class T, class Out>
struct quantized_linear_bytes {
  static constexpr bool has_bf16_entries = true;  // these levels have dot products of bytes, too
  static constexpr i64 few = 16;         // rows of weights at a time, for one row of activations
  static constexpr i64 most_rows = 128;  // of activations that pass over a panel of weights
  static constexpr i64 most_blocks =
      24;  // of a panel, 15 KB: with the activations in a first cache
  static constexpr i64 least_columns = 16, most_columns = 32;  // of a panel

  /// The tiles of a launch.
  static constexpr i64 tiles(const gemm_space& space) {
    if (space.m == 1) return space.batches * ceil_div(space.n, few);
    return space.batches * ceil_div(space.m, most_rows) * ceil_div(space.n, least_columns);
  }
  /// The bytes of scratch that a launch needs.
  static constexpr i64 scratch(i64 k, bool one) {
    if (one) return byte_row::bytes(k) + (k + few) * 4 + 3 * 256;
    return most_columns * (most_blocks * (quantized_block + 8) + most_rows * 4) + 2 * 256;
  }

  /// rows: byte_rows of all activations; of one row (a batch) each worker makes them itself.
  template <class Block>
  FLAGGEMS_INLINE static void run([[maybe_unused]] Block& block, [[maybe_unused]] gemm_space space,
                                  [[maybe_unused]] gemm_arg<T> x, [[maybe_unused]] const u8* w,
                                  [[maybe_unused]] gemm_out<Out, f32> out,
                                  [[maybe_unused]] const u8* rows) {
    if constexpr (Block::isa::bytes > 16) {
      if (space.m == 1)
        one_row(block, space, x, w, out);
      else
        several_rows(block, space, w, out, rows);
    }
  }

 private:
#if FLAGGEMS_ARCH_X86
  template <class Block>
  FLAGGEMS_INLINE static void one_row(Block& block, const gemm_space& space, const gemm_arg<T>& x,
                                      const u8* w, const gemm_out<Out, f32>& out) {
    using isa = typename Block::isa;
    const i64 k = space.k * quantized_block, groups = ceil_div(space.n, few);
    u8* const row = block.template scratch<u8>(byte_row::bytes(k)).data;
    f32* const copy = block.template scratch<f32>(k).data;
    const auto sums = block.template scratch<f32>(few);
    i64 before = -1;
    block.for_each_tile(space.batches * groups, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 batch = at / groups, j = (at - batch * groups) * few;
      const coordinates c = space.batch_at(batch);
      if (batch != before) {
        before = batch;
        byte_rows_host<Format, T>::template put<isa>(x.at(c), x, 0, space.k, copy, row);
      }
      const i64 n = min_of(few, space.n - j);
      byte_dot<Format>::rows(w + j * space.k * Format::bytes, n, space.k, row, sums.data);
      Out* const to = out.at(c) + j * out.column;
      block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
        store(to, out.column, lane, load<f32>(sums, lane));
      });
    });
  }

  template <class Block>
  FLAGGEMS_INLINE static void several_rows(Block& block, const gemm_space& space, const u8* w,
                                           const gemm_out<Out, f32>& out, const u8* rows) {
    using panel = typename choose_byte_panel<Format, typename Block::isa>::type;
    constexpr i64 columns = panel::columns;
    const i64 k = space.k * quantized_block, row_bytes = byte_row::bytes(k);
    const i64 across = ceil_div(space.n, columns), down = ceil_div(space.m, most_rows);
    u8* const weights = block.template scratch<u8>(most_blocks * panel::block_bytes).data;
    const auto sums = block.template scratch<f32>(most_rows * columns);
    block.for_each_tile(space.batches * down * across, [&](i64 at) FLAGGEMS_LAMBDA {
      const i64 band = at / across, j = (at - band * across) * columns;
      const i64 batch = band / down, first = (band - batch * down) * most_rows;
      const i64 m = min_of(most_rows, space.m - first);
      const u8* const x = rows + (batch * space.m + first) * row_bytes;
      i64 start = 0;
      do {
        const i64 blocks = min_of(most_blocks, space.k - start);
        panel::put(w, space.k * Format::bytes, j, space.n, start, blocks, weights);
        const u8* integers = x + start * quantized_block;
        const u8* factors = x + k + start * 16;
        f32* to = sums.data;
        i64 i = 0;
        const auto multiply = [&](auto count) FLAGGEMS_LAMBDA {
          constexpr int n = decltype(count)::value;
          for (; i + n <= m; i += n) {
            panel::template multiply<n>(weights, blocks, integers, factors, row_bytes, start > 0,
                                        to);
            integers += n * row_bytes;
            factors += n * row_bytes;
            to += n * columns;
          }
        };
        multiply(int_constant<panel::rows>{});
        multiply(int_constant<2>{});
        multiply(int_constant<1>{});
        start += blocks;
      } while (start < space.k);
      Out* const to = out.at(space.batch_at(batch)) + first * out.row + j * out.column;
      for (i64 i = 0; i < m; ++i)
        block.for_each_lane(min_of(columns, space.n - j), [&](auto lane) FLAGGEMS_LAMBDA {
          store(to + i * out.row, out.column, lane, load<f32>(sums.from(i * columns), lane));
        });
    });
  }
#endif
};

}  // namespace flaggems::kernels
