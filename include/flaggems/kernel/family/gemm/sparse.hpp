// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products with sparse matrices: a dense product at given places, and matrices of which half the
// elements are stored.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

/// A matrix, and its strides from row to row and from column to column.
template <class T>
struct strided_matrix {
  global_ptr<const T> data;
  i64 row, column;
};
/// Places in rows: row r has the entries from starts[r] to starts[r + 1]; each entry a column.
struct compressed_rows {
  global_ptr<const i64> starts, columns;
  i64 start_step, column_step, rows, width;

  /// The row of an entry: of those that end behind it the first.
  FLAGGEMS_INLINE i64 row_of(i64 entry) const {
    i64 first = 0, end = rows;
    while (first < end) {
      const i64 middle = first + (end - first) / 2;
      if (starts[(middle + 1) * start_step] > entry)
        end = middle;
      else
        first = middle + 1;
    }
    return first;
  }
};
template <class T>
struct entry_values {
  global_ptr<const T> before;
  global_ptr<T> out;
  i64 before_step, out_step;
};

/// out = beta * before + alpha * (a * b) at the places of some entries; an entry outside counts as
/// a sum of nothing.
template <class T>
struct sampled_products {
  using C = compute_type<T>;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 entries, i64 terms, compressed_rows places,
                                  strided_matrix<T> a, strided_matrix<T> b, entry_values<T> values,
                                  C alpha, C beta) {
    block.for_each_tile(entries, [&](i64 entry) FLAGGEMS_LAMBDA {
      const i64 row = places.row_of(entry), column = places.columns[entry * places.column_step];
      const bool inside = row < places.rows && column >= 0 && column < places.width;
      const row_in<T> x{a.data + (inside ? row * a.row : 0), a.column};
      const row_in<T> y{b.data + (inside ? column * b.column : 0), b.row};
      const C sum =
          block.reduce(inside ? terms : 0, C(0), plus{}, [x, y](auto lane) FLAGGEMS_LAMBDA {
            return x.template load<C>(lane) * y.template load<C>(lane);
          });
      block.single([&]() FLAGGEMS_LAMBDA {
        const C before =
            beta == C(0) ? C(0) : beta * number_cast<C>(values.before[entry * values.before_step]);
        values.out[entry * values.out_step] = number_cast<T>(before + alpha * sum);
      });
    });
  }
};

/// A dense matrix of one whose rows store two of four elements each, or for 4 bytes one of two.
/// `meta` has 4 bits for each group, the places of what is stored, in the order in which CUTLASS
/// gives it to matrix units.
template <class T>
struct expand_semi_structured {
  static constexpr int stored = sizeof(T) == 4 ? 1 : 2;
  static constexpr i64 tile = 256;

  /// Where the bits of four groups are: rows are exchanged in blocks of 32, then elements in blocks
  /// of 2 x 2, and two columns lie together.
  FLAGGEMS_INLINE static i64 place_of(i64 rows, i64 row, i64 column) {
    i64 i = row / 32 * 32 + row % 8 * 4 + row % 32 / 8, j = column;
    if (i % 2 != j % 2) {
      const i64 step = i % 2 == 0 ? 1 : -1;
      i += step;
      j -= step;
    }
    return (j / 2 * rows + i) * 2 + j % 2;
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 rows, i64 groups, strided_matrix<T> from,
                                  global_ptr<const i16> meta, global_ptr<T> to) {
    const i64 total = rows * groups;
    block.for_each_tile(ceil_div(total, tile), [&](i64 t) FLAGGEMS_LAMBDA {
      const i64 first = t * tile, count = total - first < tile ? total - first : tile;
      block.for_each(count, [&](i64 k) FLAGGEMS_LAMBDA {
        const i64 row = (first + k) / groups, group = (first + k) % groups;
        const int word = static_cast<int>(meta[place_of(rows, row, group / 4)]);
        const int bits = word >> static_cast<int>(group % 4 * 4);
        const global_ptr<T> dense = to + (first + k) * (2 * stored);
        const global_ptr<const T> x = from.data + row * from.row + group * stored * from.column;
        for (int e = 0; e < 2 * stored; ++e) dense[e] = number_cast<T>(0);
        dense[stored == 1 ? (bits & 3) / 2 : bits & 3] = x[0];
        if (stored == 2) dense[(bits >> 2) & 3] = x[from.column];
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/sparse.hpp");
