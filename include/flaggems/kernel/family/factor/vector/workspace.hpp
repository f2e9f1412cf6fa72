// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Workspaces of the host's factorizations, in which a matrix has contiguous rows, or in which as
// many matrices as a vector has lanes lie side by side.
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>
#include <flaggems/kernel/family/gemm/vector/micro_kernel.hpp>
#include <flaggems/kernel/lang/vector/transpose.hpp>

namespace flaggems::kernels {

/// Columns that are factored before the rest of a matrix is updated. All vectors divide it.
inline constexpr i64 panel_columns = 16;

/// Elements from a row of n columns to the next: with room for a vector that begins at any column,
/// and no power of two, by which columns would share few sets of the caches.
FLAGGEMS_HOST_INLINE constexpr i64 workspace_row(i64 n) {
  const i64 row = round_up(n, panel_columns) + panel_columns;
  return row % 64 == 0 ? row + panel_columns : row;
}
/// Elements of m rows, and of those that tiles of products may touch below them.
FLAGGEMS_HOST_INLINE constexpr i64 workspace_elements(i64 m, i64 n) {
  return (m + panel_columns) * workspace_row(n);
}

/// to(i, j) = from(i, j) for m rows and n columns of any strides.
template <class T>
FLAGGEMS_HOST_INLINE void move_matrix(const matrix<T>& to, const matrix<const T>& from, i64 m,
                                      i64 n) {
  using block = square<T>;
  constexpr i64 side = block::side, bytes = static_cast<i64>(sizeof(T));
  const bool turned = to.row == 1 && to.column != 1;  // what is contiguous in `to` comes last
  const i64 rows = turned ? n : m, columns = turned ? m : n;
  const i64 to_row = turned ? to.column : to.row, to_step = turned ? to.row : to.column;
  const i64 from_row = turned ? from.column : from.row, from_step = turned ? from.row : from.column;
  T* const into = to.data;
  const T* const out_of = from.data;
  i64 i = 0;
  if (to_step == 1 && from_step == 1) {
    for (; i < rows; ++i)
      __builtin_memcpy(into + i * to_row, out_of + i * from_row, static_cast<u64>(columns * bytes));
  } else if (to_step == 1 && from_row == 1) {
    for (; i + side <= rows; i += side) {
      i64 j = 0;
      for (; j + side <= columns; j += side)
        block::transpose(reinterpret_cast<unsigned char*>(into + i * to_row + j), to_row * bytes,
                         reinterpret_cast<const unsigned char*>(out_of + i + j * from_step),
                         from_step * bytes);
      for (; j < columns; ++j)
        for (i64 k = 0; k < side; ++k) into[(i + k) * to_row + j] = out_of[i + k + j * from_step];
    }
  }
  for (; i < rows; ++i)
    for (i64 j = 0; j < columns; ++j)
      into[i * to_row + j * to_step] = out_of[i * from_row + j * from_step];
}

/// Loops over the n elements of lines of a workspace: whole vectors, the last of which ends behind
/// them.
template <class T, class Isa>
struct workspace_lines {
  using V = typename simd_type<T, Isa>::type;
  static constexpr i64 lanes = Isa::lanes;
  FLAGGEMS_HOST_INLINE static V read(const T* p) { return load_lanes<T, T, Isa>(p, Isa::lanes); }
  FLAGGEMS_HOST_INLINE static void write(T* p, const V& x) { store_lanes(p, x, Isa::lanes); }

  FLAGGEMS_HOST_INLINE static void divide(T* x, T by, i64 n) {
    const V divisor(by);
    for (i64 j = 0; j < n; j += lanes) write(x + j, read(x + j) / divisor);
  }
  FLAGGEMS_HOST_INLINE static void scale(T* x, T by, i64 n) {
    const V factor(by);
    for (i64 j = 0; j < n; j += lanes) write(x + j, read(x + j) * factor);
  }
  /// x += factor * y.
  FLAGGEMS_HOST_INLINE static void add(T* x, T factor, const T* y, i64 n) {
    const V by(factor);
    for (i64 j = 0; j < n; j += lanes) write(x + j, read(x + j) + by * read(y + j));
  }
  FLAGGEMS_HOST_INLINE static void exchange(T* x, T* y, i64 n) {
    for (i64 j = 0; j < n; j += lanes) {
      const V kept = read(x + j);
      write(x + j, read(y + j));
      write(y + j, kept);
    }
  }
  /// The greatest magnitude of exactly n elements; NaN wins.
  FLAGGEMS_HOST_INLINE static T greatest(const T* x, i64 n) {
    V most(T(0));
    i64 j = 0;
    for (; j + lanes <= n; j += lanes) most = maximum_of{}(most, abs(read(x + j)));
    T all = j > 0 ? horizontal(most, maximum_of{}) : T(0);
    for (; j < n; ++j) all = maximum_of{}(all, abs(x[j]));
    return all;
  }
  /// Where that is first.
  FLAGGEMS_HOST_INLINE static i64 place_of_greatest(const T* x, i64 n) {
    const T most = greatest(x, n);
    const V wanted(most);
    i64 j = 0;
    for (; j + lanes <= n; j += lanes) {
      const V size = abs(read(x + j));
      if (any_lane((size == wanted) | (size != size))) break;
    }
    while (j < n - 1 && !(abs(x[j]) == most || x[j] != x[j])) ++j;
    return j;
  }
};

/// c -= a b in tiles of registers, of `m` rows and n columns. Rows of `b` and `c` are contiguous.
/// Elements of `c` behind the last row and column are written, too, and those of `a` and `b` are
/// read there.
template <class T>
struct subtracted_product {
  i64 steps;
  const T* a;
  i64 a_row, a_along;
  const T* b;
  i64 b_along;
  T* c;
  i64 c_row;

  template <class Isa>
  FLAGGEMS_HOST_INLINE void run(i64 m, i64 n) const {
    using kernel = vector_kernel<T, Isa>;
    tile_arguments<T> tile{steps, nullptr, nullptr, a_row, a_along, b_along, nullptr,
                           c_row, T(-1),   true,    0,     nullptr, 0};
    for (i64 j = 0; j < n; j += kernel::columns) {  // whose part of `b` stays in the L1 cache
      const i64 vectors = ceil_div(n - j, i64{kernel::lanes});
      tile.vectors = static_cast<int>(min_of(vectors, i64{kernel::most_vectors}));
      tile.b = b + j;
      for (i64 i = 0; i < m; i += kernel::rows) {
        tile.a = a + i * a_row;
        tile.out = c + i * c_row + j;
        kernel::product(tile);
      }
    }
  }
};

/// Matrices of one tile of a batch that are factored side by side: whatever the level's lanes are.
inline constexpr i64 matrices_at_once = 16;

/// As many matrices as there are lanes, in a workspace: element (i, j) of all is one vector.
template <class T, class Isa>
struct matrix_group {
  using V = typename simd_type<T, Isa>::type;
  static constexpr int lanes = Isa::lanes;
  T* data;
  i64 columns;
  coordinates places[Isa::lanes];  // of the matrices in their batch
  int count = 0;                   // the last one is repeated in the lanes behind them

  FLAGGEMS_HOST_INLINE matrix_group(T* memory, i64 n) : data(memory), columns(n) {}
  FLAGGEMS_HOST_INLINE T* at(i64 i, i64 j) const { return data + (i * columns + j) * lanes; }
  FLAGGEMS_HOST_INLINE V read(i64 i, i64 j) const { return load_lanes<T, T, Isa>(at(i, j), lanes); }
  FLAGGEMS_HOST_INLINE void write(i64 i, i64 j, const V& x) const {
    store_lanes(at(i, j), x, lanes);
  }

  /// Row i, from column j up to n: minus `by` times row k.
  FLAGGEMS_HOST_INLINE void subtract(i64 i, i64 j, i64 n, i64 k, const V& by) const {
    for (T *to = at(i, j), *from = at(k, j); j < n; ++j, to += lanes, from += lanes)
      store_lanes(to, load_lanes<T, T, Isa>(to, lanes) - by * load_lanes<T, T, Isa>(from, lanes),
                  lanes);
  }

  /// Reads m rows of matrices, or writes them.
  FLAGGEMS_HOST_INLINE void load(const matrices<const T>& from, i64 m) const {
    move(from, m, lanes, [](T& own, const T& other) FLAGGEMS_LAMBDA { own = other; });
  }
  FLAGGEMS_HOST_INLINE void store(const matrices<T>& to, i64 m) const {
    move(to, m, count, [](const T& own, T& other) FLAGGEMS_LAMBDA { other = own; });
  }

 private:
  template <class U, class F>
  FLAGGEMS_HOST_INLINE void move(const matrices<U>& with, i64 m, int used, const F& f) const {
    const bool by_rows = with.column == 1 || with.row != 1;
    const i64 rows = by_rows ? m : columns, length = by_rows ? columns : m;
    const i64 row = by_rows ? with.row : with.column, step = by_rows ? with.column : with.row;
    const i64 own_row = (by_rows ? columns : 1) * lanes, own_step = (by_rows ? 1 : columns) * lanes;
    U* start[Isa::lanes];
    for (int k = 0; k < used; ++k)
      start[k] = with.data + places[min_of(k, count - 1)].offset(with.strides);
    for (i64 i = 0; i < rows; ++i)
      for (int k = 0; k < used; ++k) {
        T* const own = data + i * own_row + k;
        U* const other = start[k] + i * row;
        for (i64 j = 0; j < length; ++j) f(own[j * own_step], other[j * step]);
      }
  }
};

/// f(group) for the matrices of this block's share, as many at a time as there are lanes.
template <class T, class Block, class F>
FLAGGEMS_HOST_INLINE void for_each_group(Block& block, const row_space& space, T* memory, i64 n,
                                         const F& f) {
  using group = matrix_group<T, typename Block::isa>;
  block.for_each_tile(ceil_div(space.rows, matrices_at_once), [&](i64 tile) FLAGGEMS_LAMBDA {
    const i64 end = min_of(space.rows, (tile + 1) * matrices_at_once);
    group some(memory, n);
    for (i64 first = tile * matrices_at_once; first < end; first += group::lanes) {
      some.count = static_cast<int>(min_of(end - first, i64{group::lanes}));
      for (int k = 0; k < some.count; ++k) some.places[k] = space.locate(first + k);
      f(some);
    }
  });
}

}  // namespace flaggems::kernels
