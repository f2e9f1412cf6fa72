// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/lang/gather.hpp>

namespace flaggems::kernels {

/// Rows that each span several dimensions: the outer dimensions tell rows apart, the inner ones
/// are normalised over. Strides of operands are in the same order.
struct norm_space {
  int outer_rank, inner_rank;
  i64 sizes[max_rank];
  i64 rows, length;

  FLAGGEMS_INLINE coordinates locate(i64 row) const {
    return coordinates_of(outer_rank, sizes, row);
  }
  /// Where element i of a row lies.
  FLAGGEMS_INLINE i64 offset(const i64* strides, i64 i) const {
    i64 sum = 0;
    for (int d = outer_rank + inner_rank - 1; d > outer_rank; --d) {
      const i64 next = i / sizes[d];
      sum += (i - next * sizes[d]) * strides[d];
      i = next;
    }
    return sum + i * strides[outer_rank];
  }
};

/// How the elements of such a row lie.
struct norm_walk {
  const norm_space* space;
  const i64* strides;
  FLAGGEMS_INLINE i64 step() const { return strides[space->outer_rank]; }
  FLAGGEMS_INLINE bool is_dense() const { return space->inner_rank <= 1 && step() == 1; }
  FLAGGEMS_INLINE i64 offset(i64 i) const { return space->offset(strides, i); }

  template <class C, class T, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load_from(global_ptr<const T> row, Lane lane) const {
    if (space->inner_rank <= 1) return load<C>(row, step(), lane);
    return load_at<C>(row, lane, [&](i64 i) FLAGGEMS_LAMBDA { return offset(i); });
  }
  template <class T, class Lane, class V>
  FLAGGEMS_INLINE void store_to(global_ptr<T> row, Lane lane, FLAGGEMS_VALUE(V) x) const {
    if (space->inner_rank <= 1) return store(row, step(), lane, x);
    store_at(row, lane, x, [&](i64 i) FLAGGEMS_LAMBDA { return offset(i); });
  }
};

FLAGGEMS_INLINE row_walk walk_of(const row_space& space, const i64 (&strides)[max_rank]) {
  return row_walk{strides[space.rank]};
}
FLAGGEMS_INLINE norm_walk walk_of(const norm_space& space, const i64 (&strides)[max_rank]) {
  return norm_walk{&space, strides};
}
/// The dimensions between rows, and those of a row.
FLAGGEMS_INLINE int outer_rank(const row_space& space) { return space.rank; }
FLAGGEMS_INLINE int outer_rank(const norm_space& space) { return space.outer_rank; }
FLAGGEMS_INLINE int inner_rank(const row_space&) { return 1; }
FLAGGEMS_INLINE int inner_rank(const norm_space& space) { return space.inner_rank; }

template <class Space>
using walk_type =
    decltype(walk_of(declval_of<const Space&>(), declval_of<const i64 (&)[max_rank]>()));

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/space.hpp");
