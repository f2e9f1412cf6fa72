// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What is made of the sums of scaled 8-bit floats, in the place of an epilogue.
#pragma once

#include <flaggems/kernel/family/gemm/gemm.hpp>

namespace flaggems::kernels {

/// One number for each row, or each column; or null.
template <class T>
struct scaled_lines {
  global_ptr<const T> data;
  i64 stride;
};

/// What is made of the sums of some rows.
template <class T, bool OfBytes>
struct scaled_tile {
  scaled_lines<f32> rows, columns;
  scaled_lines<T> row_bias, column_bias;
  global_ptr<const f32> one, other, result;
  f32 largest, factor;
  static constexpr bool replaces = true;

  template <class C, class Lane>
  FLAGGEMS_INLINE lane_value<Lane, f32> add(i64 i, Lane lane, const lane_value<Lane, C>& x) const {
    using V = lane_value<Lane, f32>;
    using kernels::load;  // and, by its argument, the host's overload
    f32 by_all = factor, to_all = 0;
    if (one != nullptr) by_all *= *one;
    if (other != nullptr) by_all *= *other;
    if (rows.data != nullptr) by_all *= rows.data[i * rows.stride];
    V y = x * V(by_all);
    if (columns.data != nullptr) y = y * load<f32>(columns.data, columns.stride, lane);
    if (row_bias.data != nullptr) to_all = number_cast<f32>(row_bias.data[i * row_bias.stride]);
    y = y + V(to_all);
    if (column_bias.data != nullptr) y = y + load<f32>(column_bias.data, column_bias.stride, lane);
    if constexpr (OfBytes) {
      if (result != nullptr) y = y * V(*result);
      y = select(y > V(largest), V(largest), y);  // NaN stays
      y = select(y < V(-largest), V(-largest), y);
    }
    return y;
  }
};

/// sum * one[0] * other[0] * rows[i] * columns[j] + row_bias[i] + column_bias[j]; for results of 8
/// bits times result[0], at most the largest number that they hold. Without what is null.
template <class T, bool OfBytes = false>
struct scaled_sums {
  scaled_lines<f32> rows, columns;
  scaled_lines<T> row_bias, column_bias;
  global_ptr<const f32> one, other, result;
  f32 largest;
  static constexpr bool replaces = true;
  FLAGGEMS_INLINE bool active() const { return true; }
  FLAGGEMS_INLINE scaled_tile<T, OfBytes> at(const coordinates&, i64 i) const {
    scaled_tile<T, OfBytes> r{rows, columns, row_bias, column_bias, one, other, result, largest, 1};
    if (rows.data != nullptr) r.rows.data = rows.data + i * rows.stride;
    if (row_bias.data != nullptr) r.row_bias.data = row_bias.data + i * row_bias.stride;
    return r;
  }
};

/// A tile of what is applied to sums, for many of them: it reads what all share now, and so only
/// after earlier launches.
template <class Tile>
FLAGGEMS_INLINE Tile prepared(const Tile& x) {
  return x;
}
template <class T, bool OfBytes>
FLAGGEMS_INLINE scaled_tile<T, OfBytes> prepared(const scaled_tile<T, OfBytes>& x) {
  scaled_tile<T, OfBytes> r = x;
  if (r.one != nullptr) r.factor *= *r.one;
  if (r.other != nullptr) r.factor *= *r.other;
  r.one = r.other = nullptr;
  return r;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/scaled.hpp");
