// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies that transpose, as SIMT devices run them: tiles go through block-local memory, so that
// both sides move lines of 128 bytes.
#pragma once

#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

namespace flaggems::kernels {

/// A batch of matrices: the output's rows are contiguous, and so are the input's columns.
struct transposed_space {
  i64 rows, columns;   // of the output
  i64 to_row;          // from row to row of the output
  i64 from_column;     // from column to column in the input
  i64 least, behind;   // offsets of the first element of the input in memory, and behind its last
  u32 tiles;           // of the whole batch
  divider wide, high;  // tiles of a row of tiles, and of a column
  int rank;            // of the batch
  divider sizes[max_rank];
  i64 to[max_rank], from[max_rank];
};

/// A tile of such a space, of up to `side` rows and `columns` columns.
struct transposed_tile {
  i64 to, from;     // offsets of its first element
  i64 row, column;  // of that in its matrix
  int wide, high;   // its columns and rows
  FLAGGEMS_INLINE transposed_tile(const transposed_space& space, u32 tile, int side, int columns) {
    u32 next = space.wide.quotient(tile);
    column = i64{columns} * (tile - next * space.wide.divisor);
    tile = next;
    next = space.high.quotient(tile);
    row = i64{side} * (tile - next * space.high.divisor);
    to = row * space.to_row + column;
    from = column * space.from_column + row;
    FLAGGEMS_SIMT_NO_UNROLL
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

/// out = in, where both sides have vectors. In block-local memory a column of the tile is a line of
/// eight vectors; which vector is where depends on the line, so that neither the vectors of lines,
/// as they are written, nor the elements along a row, as they are read, share banks.
template <class T>
struct transposed_vectors {
  using word = T;
  // In each column the input has 128 bytes; there are as many columns as rows, or several times as
  // many.
  static constexpr int side = 128 / static_cast<int>(sizeof(T));
  static constexpr int columns = side * (sizeof(T) > 2 ? static_cast<int>(sizeof(T)) / 2 : 1);
  static constexpr int size = vec_size<T>, vectors = columns * 8, shift = 0;
  static constexpr int block_threads = 256;
  static constexpr i64 scratch_bytes = i64{vectors} * 16;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const transposed_space& space, global_ptr<T> out,
                                  global_ptr<const T> in) {
    const auto lines = block.template scratch<vec<T, size>>(vectors);
    const auto elements = lines.template as<T>();
    const int threads = block.threads(), thread = block.thread();
    block.for_each_tile(space.tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const transposed_tile t(space, static_cast<u32>(index), side, columns);
      block.sync();
      constexpr int count = vectors / block_threads;
      FLAGGEMS_SIMT_NO_UNROLL
      for (int first = thread; first < vectors; first += count * threads) {
        vec<T, size> taken[count];
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < count; ++u) {
          const int column = (first + u * threads) / 8, row = first % 8 * size;
          if (column < t.wide && row < t.high)
            taken[u] = load_vec<size>(in + t.from + column * space.from_column + row);
        }
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < count; ++u) {
          const int column = (first + u * threads) / 8, row = first % 8 * size;
          if (column < t.wide && row < t.high) lines.write(place(column, first % 8), taken[u]);
        }
      }
      block.sync();
      for (int i = thread; i < vectors; i += threads) {
        const int row = i / 8 % side, column = (i / (8 * side) * 8 + i % 8) * size;
        if (column >= t.wide || row >= t.high) continue;
        const int first = place(column, row / size) * size + row % size;
        vec<T, size> x;
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < size; ++k) x.at[k] = elements.read(first + k * side);
        store_vec<size>(out + t.to + row * space.to_row + column, x);
      }
    });
  }

 private:
  /// Where vector `k` of a column lies.
  FLAGGEMS_INLINE static int place(int column, int k) {
    return column * 8 + (k ^ (column / size % 8));
  }
};

/// The same for any addresses and sizes, element by element. A column's line in memory is padded,
/// so that rows do not share banks either.
template <class T>
struct transposed_singles {
  using word = T;
  static constexpr int side = transposed_vectors<T>::side, columns = transposed_vectors<T>::columns;
  static constexpr int line = side + (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);
  static constexpr int in_flight = 8, shift = 0, block_threads = 256;
  static constexpr i64 scratch_bytes = i64{columns} * line * static_cast<i64>(sizeof(T));

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const transposed_space& space, global_ptr<T> out,
                                  global_ptr<const T> in) {
    const auto lines = block.template scratch<T>(columns * line);
    const share read(block, side), write(block, columns);
    block.for_each_tile(space.tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const transposed_tile t(space, static_cast<u32>(index), side, columns);
      block.sync();
      for (int row = read.along; row < t.high; row += read.across) {
        const i64 step = read.step * space.from_column;
        global_ptr<const T> p = in + t.from + row + read.first * space.from_column;
        for (int column = read.first; column < t.wide; column += in_flight * read.step) {
          T taken[in_flight];
          FLAGGEMS_SIMT_UNROLL
          for (int u = 0; u < in_flight; ++u, p += step)
            if (column + u * read.step < t.wide) taken[u] = *p;
          FLAGGEMS_SIMT_UNROLL
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
          FLAGGEMS_SIMT_UNROLL
          for (int u = 0; u < in_flight; ++u)
            if (row + u * write.step < t.high)
              taken[u] = lines.read(column * line + row + u * write.step);
          FLAGGEMS_SIMT_UNROLL
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

/// The same for many tiles. Both sides still move vectors that begin where memory's do: a line of
/// block-local memory holds the vectors that a column of the tile touches, and a row of the output
/// has its own columns, those of the tile shifted to the left by less than a vector.
template <class T>
struct transposed_shifted {
  using word = T;
  static constexpr int size = vec_size<T>, shift = size - 1;
  static constexpr int in_line = 16, side = (in_line - 1) * size;
  static constexpr int columns = size > 8 ? 48 : 64, lines = columns + size;
  // They ask for all of the lines at once: registers for that are worth more than more threads.
  static constexpr int block_threads = size > 8 ? 256 : 192;
  static constexpr int max_threads = block_threads, min_blocks = 4;
  // A vector lies between groups of lines, so that those `size` apart share no banks.
  static constexpr i64 scratch_bytes = i64{lines * in_line + lines / size} * 16;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const transposed_space& space, global_ptr<T> out,
                                  global_ptr<const T> in) {
    const auto vectors = block.template scratch<vec<T, size>>(lines * in_line + lines / size);
    const auto elements = vectors.template as<T>();
    const int threads = block.threads(), thread = block.thread();
    block.for_each_tile(space.tiles, [&](i64 index) FLAGGEMS_LAMBDA {
      const transposed_tile t(space, static_cast<u32>(index), side, columns);
      const auto begin = in + t.from;
      block.sync();
      constexpr int count = ceil_div(lines * 8, block_threads), halves = in_line / 8;
      for (int first = thread; first < lines * 8; first += count * threads) {
        vec<T, size> taken[count][halves];
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < count; ++u) {
          const piece of(space, t, begin, first + u * threads);
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < halves; ++h)
            if (of.is_whole(of.row(h))) taken[u][h] = load_vec<size>(of.column + of.row(h));
        }
        FLAGGEMS_SIMT_UNROLL
        for (int u = 0; u < count; ++u) {
          const piece of(space, t, begin, first + u * threads);
          FLAGGEMS_SIMT_UNROLL
          for (int h = 0; h < halves; ++h)
            if (of.is_whole(of.row(h))) vectors.write(of.place(h), taken[u][h]);
        }
      }
      // The first and the last vector of the input may be cut off; others have neighbours'
      // elements.
      const i64 left = t.from + max_of<i64>(-size, -t.column) * space.from_column;
      const i64 right = t.from + (t.wide - 1) * space.from_column;
      const bool is_inside = min_of(left, right) - size >= space.least &&
                             max_of(left, right) + side + size <= space.behind;
      for (int i = thread; i < lines * 2 && !is_inside; i += threads) {
        const piece of(space, t, begin, i / 2 * 8);
        const int last = (of.rows - 1 - of.first) / size, k = i % 2 == 0 ? 0 : last;
        const int row = of.first + k * size;
        if (of.is_whole(row) || (i % 2 != 0 && last == 0)) continue;
        T taken[size];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < size; ++r)
          if (row + r >= 0 && row + r < of.high) taken[r] = of.column[row + r];
        FLAGGEMS_SIMT_UNROLL
        for (int r = 0; r < size; ++r)
          if (row + r >= 0 && row + r < of.high)
            elements.write(line_begin(of.line) + k * size + r, taken[r]);
      }
      block.sync();
      const auto column_begin = [&](int column) FLAGGEMS_LAMBDA {
        return line_begin(column + size) + misplaced(begin + column * space.from_column);
      };
      // Rows a multiple of a vector's elements apart are shifted alike.
      constexpr int row_step = block_threads / 8;
      for (int i = thread; i < 8 * row_step; i += threads) {
        const int own = i % 8 * size, row = i / 8;
        const int before = misplaced(out + t.to + row * space.to_row);
        int at[size];  // the first of each column
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < size; ++k) at[k] = column_begin(own - before + k);
        for (int r = row; r < t.high; r += row_step) {
          const global_ptr<T> to = out + t.to + r * space.to_row;
          FLAGGEMS_SIMT_UNROLL
          for (int c = 0; c < columns; c += 8 * size) {
            const int column = own + c - before, skipped = line_begin(c) + r;
            if (own + c >= columns) continue;
            if (t.column + column >= 0 && column + size <= t.wide) {
              vec<T, size> x;
              FLAGGEMS_SIMT_UNROLL
              for (int k = 0; k < size; ++k) x.at[k] = elements.read(at[k] + skipped);
              store_vec<size>(to + column, x);
            } else {
              const int end = min_of(column + size, t.wide);
              FLAGGEMS_SIMT_NO_UNROLL
              for (int k = t.column + column < 0 ? 0 : column; k < end; ++k)
                to[k] = elements.read(column_begin(k) + r);
            }
          }
        }
      }
    });
  }

 private:
  /// How many elements p is behind where a vector begins.
  template <class P>
  FLAGGEMS_INLINE static int misplaced(P p) {
    return static_cast<int>(reinterpret_cast<u64>(p) / sizeof(T) % size);
  }
  /// Where a line begins, in elements.
  FLAGGEMS_INLINE static constexpr int line_begin(int line) {
    return (line * in_line + line / size) * size;
  }
  /// What a thread reads at once of a column: each eighth vector.
  struct piece {
    global_ptr<const T> column;
    int line, first;  // the row where its vectors begin
    int before, rows, high;
    FLAGGEMS_INLINE piece(const transposed_space& space, const transposed_tile& t,
                          global_ptr<const T> begin, int i) {
      line = i / 8;
      const int at = line - size;
      column = begin + at * space.from_column;
      first = i % 8 * size - misplaced(column);
      const bool is_there = line < lines && t.column + at >= 0 && at < t.wide;
      high = is_there ? t.high : -size;
      const i64 offset = t.from + at * space.from_column;
      before = static_cast<int>(max_of(space.least - offset, i64{-size}));
      rows = static_cast<int>(min_of(space.behind - offset, i64{2 * side}));
    }
    FLAGGEMS_INLINE int row(int h) const { return first + h * 8 * size; }
    /// Whether all of the vector that begins at a row is in memory, and some of it in the tile.
    FLAGGEMS_INLINE bool is_whole(int row) const {
      return row >= before && row + size <= rows && row < high;
    }
    FLAGGEMS_INLINE int place(int h) const {
      return line_begin(line) / size + (first + misplaced(column)) / size + h * 8;
    }
  };
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/simt/transpose.hpp");
