// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Transposing copies on SIMT devices: tiles go through shared memory, so that loads and stores of
// 128-byte lines are coalesced.
#pragma once

#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

namespace flaggems::kernels {

/// A batch of matrices: contiguous rows of the output, contiguous columns of the input.
struct transposed_space {
  i64 rows, columns;  // of the output
  i64 to_row;         // elements between rows of the output
  i64 from_column;    // elements between columns of the input
  // offsets in memory of the input's first element, and of the end after its last
  i64 least, behind;
  u32 tiles;           // of the whole batch
  divider wide, high;  // tiles per row of tiles, and per column
  int rank;            // of the batch
  divider sizes[max_rank];
  i64 to[max_rank], from[max_rank];
};

/// A tile of up to `side` rows and `columns` columns.
struct transposed_tile {
  i64 to, from;     // offsets of its first element
  i64 row, column;  // its position in the matrix
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

/// out = in, where both sides are vector-aligned. In shared memory a column of the tile is a line
/// of eight vectors, permuted by the line's index, so that neither stores of vectors along a line
/// nor loads of elements along a row have bank conflicts.
template <class T>
struct transposed_vectors {
  using word = T;
  // Each column of a tile has 128 bytes; a tile is square, or has several times as many columns.
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
  /// The index of vector `k` of a column, permuted.
  FLAGGEMS_INLINE static int place(int column, int k) {
    return column * 8 + (k ^ (column / size % 8));
  }
};

/// The same for any addresses and sizes, element by element. A line in shared memory is padded to
/// avoid bank conflicts along rows.
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
  /// A thread's part of a tile: elements `along`, `along` + `across`, ... of lines of `length`, for
  /// lines `first`, `first` + `step`, ....
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

/// The same for many tiles, with vector accesses despite misalignment: a line of shared memory
/// holds the aligned vectors that a column of the tile touches, and each row of the output shifts
/// its columns left by less than a vector, to be aligned.
template <class T>
struct transposed_shifted {
  using word = T;
  static constexpr int size = vec_size<T>, shift = size - 1;
  static constexpr int in_line = 16, side = (in_line - 1) * size;
  static constexpr int columns = size > 8 ? 48 : 64, lines = columns + size;
  // All lines are loaded at once: registers for that pay off more than occupancy.
  static constexpr int block_threads = size > 8 ? 256 : 192;
  static constexpr int max_threads = block_threads, min_blocks = 4;
  // Padded by a vector between groups of lines, so that lines `size` apart do not share banks.
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
      // The first and last vector of the input are clipped; others contain adjacent elements.
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
      // Rows that are a multiple of the vector size apart are shifted equally.
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
  /// p's misalignment in elements.
  template <class P>
  FLAGGEMS_INLINE static int misplaced(P p) {
    return static_cast<int>(reinterpret_cast<u64>(p) / sizeof(T) % size);
  }
  /// Where a line begins, in elements.
  FLAGGEMS_INLINE static constexpr int line_begin(int line) {
    return (line * in_line + line / size) * size;
  }
  /// A thread's batch of loads in a column: each eighth vector.
  struct piece {
    global_ptr<const T> column;
    int line, first;  // the row of its first vector
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
    /// Whether the vector at a row is readable as a whole and overlaps the tile.
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
