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
  i64 rows, columns;  // of the output
  i64 to_row;         // from row to row of the output
  i64 from_column;    // from column to column in the input
  bool packs_of_input, packs_of_output;
  u32 tiles;           // of the whole batch
  divider wide, high;  // tiles of a row of tiles, and of a column
  int rank;            // of the batch
  divider sizes[max_rank];
  i64 to[max_rank], from[max_rank];
};

/// out = in. T is any type of the elements' size. A tile has `side` rows, which 128 bytes of the
/// input hold, and one or more squares of as many columns. In memory a column of the tile is a line
/// of eight packs; which pack is where depends on the line, so that neither the packs of lines, as
/// they are written, nor the elements along a row, as they are read, share banks.
template <class T>
struct transposed_copy {
  static constexpr int size = pack_size<T>;
  static constexpr int side = 128 / static_cast<int>(sizeof(T));
  static constexpr int squares = sizeof(T) > 2 ? static_cast<int>(sizeof(T)) / 2 : 1;
  static constexpr int columns = side * squares;
  static constexpr int threads = 256;
  static constexpr int packs = columns * 8;
  static constexpr i64 scratch_bytes = i64{packs} * 16;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const transposed_space& space, global_ptr<T> to,
                                  global_ptr<const T> from) {
    const auto lines = block.template scratch<pack<T, size>>(packs);
    block.for_each_tile(space.tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      u32 tile = static_cast<u32>(index);
      u32 next = space.wide.quotient(tile);
      const i64 column = i64{columns} * (tile - next * space.wide.divisor);
      tile = next;
      next = space.high.quotient(tile);
      const i64 row = i64{side} * (tile - next * space.high.divisor);
      i64 to_offset = row * space.to_row + column, from_offset = column * space.from_column + row;
      for (int d = space.rank - 1; d >= 0; --d) {
        tile = next;
        next = space.sizes[d].quotient(tile);
        const i64 at = tile - next * space.sizes[d].divisor;
        to_offset += at * space.to[d];
        from_offset += at * space.from[d];
      }
      const int wide = static_cast<int>(min_of(i64{columns}, space.columns - column));
      const int high = static_cast<int>(min_of(i64{side}, space.rows - row));
      block.sync();
      if (space.packs_of_input)
        read_packs(block, lines, from + from_offset, space.from_column, wide, high);
      else
        read_elements(block, lines, from + from_offset, space.from_column, wide, high);
      block.sync();
      if (space.packs_of_output)
        write_packs(block, lines, to + to_offset, space.to_row, wide, high);
      else
        write_elements(block, lines, to + to_offset, space.to_row, wide, high);
    });
  }

 private:
  /// Where pack `k` of a column lies.
  FLAGGEMS_INLINE static int place(int column, int k) {
    return column * 8 + (k ^ (column / size % 8));
  }
  template <class Block, class Lines>
  FLAGGEMS_INLINE static void read_packs(const Block& block, const Lines& lines,
                                         global_ptr<const T> from, i64 step, int wide, int high) {
    constexpr int count = packs / threads;
    for (int first = 0; first < packs; first += count * block.threads()) {
      pack<T, size> taken[count];
      FLAGGEMS_CHIP_UNROLL
      for (int u = 0; u < count; ++u) {
        const int i = first + u * block.threads() + block.thread();
        const int k = i % 8, column = i / 8;
        if (i < packs && column < wide && k * size < high)
          taken[u] = load_pack<size>(from + column * step + k * size);
      }
      FLAGGEMS_CHIP_UNROLL
      for (int u = 0; u < count; ++u) {
        const int i = first + u * block.threads() + block.thread();
        const int k = i % 8, column = i / 8;
        if (i < packs && column < wide && k * size < high) lines.write(place(column, k), taken[u]);
      }
    }
  }
  template <class Block, class Lines>
  FLAGGEMS_INLINE static void write_packs(const Block& block, const Lines& lines, global_ptr<T> to,
                                          i64 step, int wide, int high) {
    const auto elements = lines.template as<T>();
    block.for_each(packs, [&](i64 index) FLAGGEMS_LAMBDA {
      const int i = static_cast<int>(index);
      const int row = i / 8 % side, column = (i / (8 * side) * 8 + i % 8) * size;
      if (column >= wide || row >= high) return;
      const int first = place(column, row / size) * size + row % size;
      pack<T, size> x;
      FLAGGEMS_CHIP_UNROLL
      for (int k = 0; k < size; ++k) x.at[k] = elements.read(first + k * side);
      store_pack<size>(to + row * step + column, x);
    });
  }
  template <class Block, class Lines>
  FLAGGEMS_INLINE static void read_elements(const Block& block, const Lines& lines,
                                            global_ptr<const T> from, i64 step, int wide,
                                            int high) {
    const auto elements = lines.template as<T>();
    for (int first = 0; first < packs * size; first += 8 * block.threads()) {
      T taken[8];
      FLAGGEMS_CHIP_UNROLL
      for (int u = 0; u < 8; ++u) {
        const int i = first + u * block.threads() + block.thread();
        const int row = i % side, column = i / side;
        if (column < wide && row < high) taken[u] = from[column * step + row];
      }
      FLAGGEMS_CHIP_UNROLL
      for (int u = 0; u < 8; ++u) {
        const int i = first + u * block.threads() + block.thread();
        const int row = i % side, column = i / side;
        if (column < wide && row < high)
          elements.write(place(column, row / size) * size + row % size, taken[u]);
      }
    }
  }
  template <class Block, class Lines>
  FLAGGEMS_INLINE static void write_elements(const Block& block, const Lines& lines,
                                             global_ptr<T> to, i64 step, int wide, int high) {
    const auto elements = lines.template as<T>();
    block.for_each(packs * size, [&](i64 index) FLAGGEMS_LAMBDA {
      const int i = static_cast<int>(index);
      const int row = i / columns, column = i % columns;
      if (column < wide && row < high)
        to[row * step + column] = elements.read(place(column, row / size) * size + row % size);
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/copy_chip.hpp");
