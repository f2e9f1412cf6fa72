// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows: the shape of every kernel that works along one dimension. A row is `length` elements with
// some stride; the other dimensions are coordinates.
#pragma once

#include <flaggems/kernels/expr.hpp>

namespace flaggems::kernels {

/// The rows of a tensor: their number, their length, and the dimensions that they lie in.
struct row_space {
  int rank;  // dimensions besides the row's
  i64 sizes[max_rank];
  i64 rows;
  i64 length;

  FLAGGEMS_SCALAR coordinates locate(i64 row) const {
    coordinates c;
    c.rank = rank;
    c.inner = 0;
    for (int d = rank - 1; d > 0; --d) {
      const i64 next = row / sizes[d];
      c.at[d] = row - next * sizes[d];
      row = next;
    }
    if (rank > 0) c.at[0] = row;
    return c;
  }
};

template <class T>
struct row_in {
  global_ptr<const T> data;
  i64 stride;
  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;  // and, by its argument, the host's overload
    return load<C>(data, stride, lane);
  }
  template <class C>
  FLAGGEMS_INLINE C read(i64 i) const {
    return number_cast<C>(data[i * stride]);
  }
};
template <class T>
struct row_out {
  global_ptr<T> data;
  i64 stride;
  template <class Lane, class V>
  FLAGGEMS_INLINE void store(Lane lane, FLAGGEMS_VALUE(V) x) const {
    using kernels::store;  // and, by its argument, the host's overload
    store(data, stride, lane, x);
  }
  template <class X>
  FLAGGEMS_INLINE void write(i64 i, X x) const {
    data[i * stride] = number_cast<T>(x);
  }
};

/// A tensor whose rows are read; strides[rank] is the row's own.
template <class T>
struct row_arg {
  global_ptr<const T> data;
  i64 strides[max_rank];
  FLAGGEMS_INLINE row_in<T> at(const coordinates& c) const {
    return {data + c.offset(strides), strides[c.rank]};
  }
};
/// A tensor whose rows are written.
template <class T>
struct row_target {
  global_ptr<T> data;
  i64 strides[max_rank];
  FLAGGEMS_INLINE row_out<T> at(const coordinates& c) const {
    return {data + c.offset(strides), strides[c.rank]};
  }
};

/// Calls f(coordinates) for every row of this block's share.
template <class Block, class F>
FLAGGEMS_INLINE void for_each_row(Block& block, const row_space& space, const F& f) {
  block.for_each_tile(space.rows, [&](i64 row) FLAGGEMS_LAMBDA { f(space.locate(row)); });
}

}  // namespace flaggems::kernels
