// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices in device memory; one block factors or solves each. A step writes what the next one
// reads, with a barrier between; within a step each thread has elements of its own.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// Elements with one stride: a column of a matrix, a part of one, or a row.
template <class T>
struct matrix_line {
  using value_type = remove_const<T>;
  global_ptr<T> data;
  i64 stride;
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, value_type> load(Lane lane) const {
    using kernels::load;  // and, by its argument, the host's overload
    return load<value_type, value_type>(data, stride, lane);
  }
  template <class Lane, class V>
  FLAGGEMS_INLINE void store(Lane lane, FLAGGEMS_VALUE(V) x) const {
    using kernels::store;  // and, by its argument, the host's overload
    store(data, stride, lane, x);
  }
  FLAGGEMS_INLINE value_type read(i64 i) const { return data[i * stride]; }
  FLAGGEMS_INLINE void write(i64 i, value_type x) const { data[i * stride] = x; }
  /// From element i on.
  FLAGGEMS_INLINE matrix_line from(i64 i) const { return {data + i * stride, stride}; }
};

/// A matrix with any strides. Loops run down columns, which are best contiguous.
template <class T>
struct matrix {
  using value_type = remove_const<T>;
  global_ptr<T> data;
  i64 row, column;  // strides
  FLAGGEMS_INLINE value_type read(i64 i, i64 j) const { return data[i * row + j * column]; }
  FLAGGEMS_INLINE void write(i64 i, i64 j, value_type x) const { data[i * row + j * column] = x; }
  /// Column j from row i down.
  FLAGGEMS_INLINE matrix_line<T> down(i64 i, i64 j) const {
    return {data + i * row + j * column, row};
  }
  /// Row i from column j on.
  FLAGGEMS_INLINE matrix_line<T> along(i64 i, i64 j) const {
    return {data + i * row + j * column, column};
  }
  FLAGGEMS_INLINE matrix transposed() const { return {data, column, row}; }
};

/// The matrices of a batch, whose coordinates are those of the rows of a row_space.
template <class T>
struct matrices {
  global_ptr<T> data;
  i64 strides[max_rank];
  i64 row, column;
  FLAGGEMS_INLINE matrix<T> at(const coordinates& c) const {
    return {data + c.offset(strides), row, column};
  }
  FLAGGEMS_INLINE matrices transposed() const {
    matrices all = *this;
    all.row = column;
    all.column = row;
    return all;
  }
};

/// f(lane, j) for the elements of a matrix of m rows and n columns: column by column where one
/// thread has vectors, else an element a thread.
template <class Block, class F>
FLAGGEMS_INLINE void for_each_element(Block& block, i64 m, i64 n, const F& f) {
  if (block.threads() == 1) {
    for (i64 j = 0; j < n; ++j)
      block.for_each_lane(m, [&](auto lane) FLAGGEMS_LAMBDA { f(lane, j); });
  } else {
    block.for_each(m * n, [&](i64 k) FLAGGEMS_LAMBDA {
      const i64 j =
          (m | n) >> 16 == 0 ? static_cast<i64>(static_cast<u32>(k) / static_cast<u32>(m)) : k / m;
      f(lane_scalar{k - j * m}, j);
    });
  }
}

/// The greatest magnitude of n elements, and where it is, counted from 0; NaN wins.
template <class Block, class T>
FLAGGEMS_INLINE indexed<remove_const<T>, i64> greatest_magnitude(Block& block, i64 n,
                                                                 const matrix_line<T>& x) {
  using C = remove_const<T>;
  const indexed<C, i64> none{C(-1), n};
  return block.reduce(n, none, better_of<true>{}, [&](auto lane) FLAGGEMS_LAMBDA {
    using V = lane_value<decltype(lane), C>;
    using J = lane_value<decltype(lane), i64>;
    return indexed<V, J>{abs(x.load(lane)), iota<i64>(lane)};
  });
}

/// Exchanges n elements of two lines.
template <class Block, class T>
FLAGGEMS_INLINE void exchange_lines(Block& block, i64 n, const matrix_line<T>& a,
                                    const matrix_line<T>& b) {
  block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
    const T kept = a.read(i);
    a.write(i, b.read(i));
    b.write(i, kept);
  });
}

/// Threads of a block for matrices of n rows: a warp or two for small ones.
FLAGGEMS_INLINE constexpr int matrix_threads(i64 n) { return n <= 64 ? 64 : n <= 512 ? 128 : 256; }

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/matrices.hpp");
