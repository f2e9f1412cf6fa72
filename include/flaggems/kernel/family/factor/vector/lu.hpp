// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// LU factors on the host, with the results of kernel/family/factor/lu.hpp. They may be in the place
// of A.
#pragma once

#include <flaggems/kernel/family/factor/vector/workspace.hpp>

namespace flaggems::kernels {

/// A matrix at a time, by panels of columns. A panel is transposed, so that vectors run down its
/// columns, as they run along the rows of all else.
template <class T>
struct lu_blocks {
  static constexpr i64 scratch(i64 m, i64 n) {
    return workspace_elements(m, n) + panel_columns * workspace_row(m);
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 m, i64 n,
                                  const matrices<const T>& from, const matrices<T>& factors,
                                  const matrices<i32>& pivots, const matrices<i32>& infos,
                                  bool exchanges) {
    const i64 row = workspace_row(n);
    T* const lu = block.template scratch<T>(scratch(m, n)).data;
    T* const panel = lu + workspace_elements(m, n);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      move_matrix<T>({lu, row, 1}, from.at(c), m, n);
      const i32 info =
          factor<typename Block::isa>(lu, row, panel, m, n, pivots.at(c).down(0, 0), exchanges);
      infos.at(c).write(0, 0, info);
      move_matrix<T>(factors.at(c), {lu, row, 1}, m, n);
    });
  }

 private:
  /// Gives the matrix's `info`.
  template <class Isa>
  FLAGGEMS_HOST_INLINE static i32 factor(T* lu, i64 row, T* panel, i64 m, i64 n,
                                         const matrix_line<i32>& places, bool exchanges) {
    using lines = workspace_lines<T, Isa>;
    const i64 step = workspace_row(m), all = min_of(m, n);
    i32 info = 0;
    for (i64 k = 0; k < all; k += panel_columns) {
      const i64 end = min_of(all, k + panel_columns), columns = end - k;
      T* const corner = lu + k * row + k;
      move_matrix<T>({panel, 1, step}, {corner, row, 1}, m - k, columns);
      for (i64 p = 0; p < columns; ++p) {
        const i64 place = factor_column<Isa>(panel, step, m - k, columns, p, exchanges);
        if (panel[p * step + p] == T(0) && info == 0) info = static_cast<i32>(k + p + 1);
        places.write(k + p, static_cast<i32>(k + place + 1));
        if (place != p) lines::exchange(lu + (k + p) * row, lu + (k + place) * row, n);
      }
      move_matrix<T>({corner, row, 1}, {panel, 1, step}, m - k, columns);
      if (end == n) break;
      T* const right = lu + k * row + end;
      for (i64 p = 0; p < columns; ++p)
        for (i64 q = p + 1; q < columns; ++q)
          lines::add(right + q * row, -corner[q * row + p], right + p * row, n - end);
      const subtracted_product<T> rest{columns, corner + columns * row, row, 1, right,
                                       row,     right + columns * row,  row};
      rest.template run<Isa>(m - end, n - end);
    }
    return info;
  }

  /// Column p of a panel of `rows` rows, and what follows from it for the next ones; gives the row
  /// that row p was exchanged with.
  template <class Isa>
  FLAGGEMS_HOST_INLINE static i64 factor_column(T* panel, i64 step, i64 rows, i64 columns, i64 p,
                                                bool exchanges) {
    using lines = workspace_lines<T, Isa>;
    T* const column = panel + p * step;
    const i64 place = exchanges ? p + lines::place_of_greatest(column + p, rows - p) : p;
    if (place != p)
      for (i64 q = 0; q < columns; ++q) {
        T* const other = panel + q * step;
        const T kept = other[p];
        other[p] = other[place];
        other[place] = kept;
      }
    const T pivot = column[p];
    const i64 rest = rows - p - 1;
    if (pivot != T(0) || !exchanges) lines::divide(column + p + 1, pivot, rest);
    for (i64 q = p + 1; q < columns; ++q)
      lines::add(panel + q * step + p + 1, -panel[q * step + p], column + p + 1, rest);
    return place;
  }
};

/// Many small matrices, one in each lane of a vector.
template <class T>
struct lu_groups {
  static constexpr i64 scratch(i64 m, i64 n) { return m * n * matrices_at_once; }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 m, i64 n,
                                  const matrices<const T>& from, const matrices<T>& factors,
                                  const matrices<i32>& pivots, const matrices<i32>& infos,
                                  bool exchanges) {
    using Isa = typename Block::isa;
    using V = typename matrix_group<T, Isa>::V;
    using J = typename simd_type<i32, Isa>::type;
    T* const memory = block.template scratch<T>(scratch(m, n)).data;
    for_each_group(block, space, memory, n, [&](const auto& lu) FLAGGEMS_LAMBDA {
      lu.load(from, m);
      J info(0);
      for (i64 k = 0; k < min_of(m, n); ++k) {
        const J own(static_cast<i32>(k));
        const J place = exchanges ? place_of_greatest(lu, k, m) : own;
        for (int lane = 0; lane < lu.count; ++lane) {
          pivots.at(lu.places[lane]).write(k, 0, place[lane] + 1);
          if (place[lane] != k) exchange(lu, lane, k, place[lane], n);
        }
        const V pivot = lu.read(k, k);
        const auto vanishes = pivot == V(T(0));
        info = select(vanishes & (info == J(0)), own + J(1), info);
        const V divisor = exchanges ? select(vanishes, V(T(1)), pivot) : pivot;
        for (i64 i = k + 1; i < m; ++i) {
          const V by = lu.read(i, k) / divisor;
          lu.write(i, k, by);
          lu.subtract(i, k + 1, n, k, by);
        }
      }
      lu.store(factors, m);
      for (int lane = 0; lane < lu.count; ++lane) infos.at(lu.places[lane]).write(0, 0, info[lane]);
    });
  }

 private:
  /// The row from k on with the greatest magnitude in column k; NaN wins.
  template <class Isa>
  FLAGGEMS_HOST_INLINE static typename simd_type<i32, Isa>::type place_of_greatest(
      const matrix_group<T, Isa>& lu, i64 k, i64 m) {
    using V = typename matrix_group<T, Isa>::V;
    using J = typename simd_type<i32, Isa>::type;
    V most = abs(lu.read(k, k));
    J place(static_cast<i32>(k));
    for (i64 i = k + 1; i < m; ++i) {
      const V size = abs(lu.read(i, k));
      const auto better = (size > most) | ((size != size) & (most == most));
      most = select(better, size, most);
      place = select(better, J(static_cast<i32>(i)), place);
    }
    return place;
  }
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void exchange(const matrix_group<T, Isa>& lu, int lane, i64 i, i64 k,
                                            i64 n) {
    T *x = lu.at(i, 0) + lane, *y = lu.at(k, 0) + lane;
    for (i64 j = 0; j < n; ++j, x += Isa::lanes, y += Isa::lanes) {
      const T kept = *x;
      *x = *y;
      *y = kept;
    }
  }
};

}  // namespace flaggems::kernels
