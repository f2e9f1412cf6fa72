// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies that transpose, as chips run them: tiles go through block-local memory, so that both sides
// move lines of 128 bytes.
#pragma once

#include <flaggems/kernels/pointwise_chip.hpp>

namespace flaggems::kernels {

/// A batch of matrices: the output's rows are contiguous, and so are the input's columns.
struct transposed_space {
  i64 rows, columns;   // of the output
  i64 to_row;          // from row to row of the output
  i64 from_column;     // from column to column in the input
  u32 tiles;           // of the whole batch
  divider wide, high;  // tiles of a row of tiles, and of a column
  int rank;            // of the batch
  divider sizes[max_rank];
  i64 to[max_rank], from[max_rank];
};

/// The tiles of both kernels for T, any type of the elements' size: `side` rows, of which the input
/// has 128 bytes in each column, and as many columns or several times as many.
template <class T>
struct transposed_tile {
  static constexpr int side = 128 / static_cast<int>(sizeof(T));
  static constexpr int columns = side * (sizeof(T) > 2 ? static_cast<int>(sizeof(T)) / 2 : 1);
  static constexpr int threads = 256;

  i64 to, from;    // offsets of its first element
  int wide, high;  // its columns and rows
  FLAGGEMS_INLINE transposed_tile(const transposed_space& space, u32 tile) {
    u32 next = space.wide.quotient(tile);
    const i64 column = i64{columns} * (tile - next * space.wide.divisor);
    tile = next;
    next = space.high.quotient(tile);
    const i64 row = i64{side} * (tile - next * space.high.divisor);
    to = row * space.to_row + column;
    from = column * space.from_column + row;
    for (int d = space.rank - 1; d >= 0; --d) {
      tile = next;
      next = space.sizes[d].quotient(tile);
      const i64 at = tile - next * space.sizes[d].divisor;
      to += at * space.to[d];
      from += at * space.from[d];
    }
    wide = static_cast<int>(min_of(i64{columns}, space.columns - column));
    high = static_cast<int>(min_of(i64{side}, space.rows - row));
  }
};

/// out = in, where both sides have packs. In block-local memory a column of the tile is a line of
/// eight packs; which pack is where depends on the line, so that neither the packs of lines, as
/// they are written, nor the elements along a row, as they are read, share banks.
template <class T>
struct transposed_packs {
  using tile = transposed_tile<T>;
  static constexpr int size = pack_size<T>, packs = tile::columns * 8;
  static constexpr i64 scratch_bytes = i64{packs} * 16;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const transposed_space& space, global_ptr<T> out,
                                  global_ptr<const T> in) {
    const auto lines = block.template scratch<pack<T, size>>(packs);
    const auto elements = lines.template as<T>();
    const int threads = block.threads(), thread = block.thread();
    block.for_each_tile(space.tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const tile t(space, static_cast<u32>(index));
      block.sync();
      constexpr int count = packs / tile::threads;
      for (int first = thread; first < packs; first += count * threads) {
        pack<T, size> taken[count];
        FLAGGEMS_CHIP_UNROLL
        for (int u = 0; u < count; ++u) {
          const int column = (first + u * threads) / 8, row = first % 8 * size;
          if (column < t.wide && row < t.high)
            taken[u] = load_pack<size>(in + t.from + column * space.from_column + row);
        }
        FLAGGEMS_CHIP_UNROLL
        for (int u = 0; u < count; ++u) {
          const int column = (first + u * threads) / 8, row = first % 8 * size;
          if (column < t.wide && row < t.high) lines.write(place(column, first % 8), taken[u]);
        }
      }
      block.sync();
      for (int i = thread; i < packs; i += threads) {
        const int row = i / 8 % tile::side, column = (i / (8 * tile::side) * 8 + i % 8) * size;
        if (column >= t.wide || row >= t.high) continue;
        const int first = place(column, row / size) * size + row % size;
        pack<T, size> x;
        FLAGGEMS_CHIP_UNROLL
        for (int k = 0; k < size; ++k) x.at[k] = elements.read(first + k * tile::side);
        store_pack<size>(out + t.to + row * space.to_row + column, x);
      }
    });
  }

 private:
  /// Where pack `k` of a column lies.
  FLAGGEMS_INLINE static int place(int column, int k) {
    return column * 8 + (k ^ (column / size % 8));
  }
};

/// The same for any addresses and sizes, element by element. A column's line in memory is padded,
/// so that rows do not share banks either.
template <class T>
struct transposed_singles {
  using tile = transposed_tile<T>;
  static constexpr int line = tile::side + (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);
  static constexpr int in_flight = 8;
  static constexpr i64 scratch_bytes = i64{tile::columns} * line * static_cast<i64>(sizeof(T));

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const transposed_space& space, global_ptr<T> out,
                                  global_ptr<const T> in) {
    const auto lines = block.template scratch<T>(tile::columns * line);
    const share read(block, tile::side), write(block, tile::columns);
    block.for_each_tile(space.tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const tile t(space, static_cast<u32>(index));
      block.sync();
      for (int row = read.along; row < t.high; row += read.across) {
        const i64 step = read.step * space.from_column;
        global_ptr<const T> p = in + t.from + row + read.first * space.from_column;
        for (int column = read.first; column < t.wide; column += in_flight * read.step) {
          T taken[in_flight];
          FLAGGEMS_CHIP_UNROLL
          for (int u = 0; u < in_flight; ++u, p += step)
            if (column + u * read.step < t.wide) taken[u] = *p;
          FLAGGEMS_CHIP_UNROLL
          for (int u = 0; u < in_flight; ++u)
            if (column + u * read.step < t.wide)
              lines.write((column + u * read.step) * line + row, taken[u]);
        }
      }
      block.sync();
      for (int column = write.along; column < t.wide; column += write.across) {
        const i64 step = write.step * space.to_row;
        global_ptr<T> p = out + t.to + column + write.first * space.to_row;
        for (int row = write.first; row < t.high; row += in_flight * write.step) {
          T taken[in_flight];
          FLAGGEMS_CHIP_UNROLL
          for (int u = 0; u < in_flight; ++u)
            if (row + u * write.step < t.high)
              taken[u] = lines.read(column * line + row + u * write.step);
          FLAGGEMS_CHIP_UNROLL
          for (int u = 0; u < in_flight; ++u, p += step)
            if (row + u * write.step < t.high) *p = taken[u];
        }
      }
    });
  }

 private:
  /// What of a tile a thread moves: `along` and each `across` further along its lines of `length`,
  /// and of those lines `first` and each `step` further.
  struct share {
    int across, along, step, first;
    template <class Block>
    FLAGGEMS_INLINE share(const Block& block, int length) {
      across = min_of(length, block.threads());
      step = block.threads() / across;
      first = block.thread() / across;
      along = first < step ? block.thread() - first * across : length;
    }
  };
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/copy_chip.hpp");
