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

/// y, or the nearest of +-largest; NaN stays.
template <class V>
FLAGGEMS_INLINE V within(FLAGGEMS_VALUE(V) y, f32 largest) {
  const V low = select(y > V(largest), V(largest), y);
  return select(low < V(-largest), V(-largest), low);
}

/// What is made of the sums of two rows, of which a thread has many columns.
template <class T, bool OfBytes>
struct scaled_rows {
  using takes_columns = void;
  f32 by[2], to[2], of_result, largest;
  scaled_lines<f32> columns;
  scaled_lines<T> column_bias;

  /// In two columns.
  struct in_columns {
    const scaled_rows& rows;
    f32 by[2], to[2];
    FLAGGEMS_INLINE f32 add(int row, int column, f32 x) const {
      const f32 y = fma(x * rows.by[row], by[column], rows.to[row] + to[column]);
      return OfBytes ? within<f32>(y * rows.of_result, rows.largest) : y;
    }
  };
  template <class Lane>
  FLAGGEMS_INLINE in_columns of_columns(Lane lane, i64 last) const {
    in_columns r{*this, {1, 1}, {0, 0}};
    FLAGGEMS_SIMT_UNROLL
    for (int e = 0; e < 2; ++e) {
      const i64 j = is_same<Lane, lane_contiguous> ? lane.begin + e : min_of(lane.begin + e, last);
      if (columns.data != nullptr) r.by[e] = load<f32>(columns.data, columns.stride, Lane{j});
      if (column_bias.data != nullptr)
        r.to[e] = load<f32>(column_bias.data, column_bias.stride, Lane{j});
    }
    return r;
  }
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
      y = within<V>(y, largest);
    }
    return y;
  }
  FLAGGEMS_INLINE scaled_rows<T, OfBytes> of_rows(i64 upper, i64 lower) const {
    scaled_rows<T, OfBytes> r{{factor, factor}, {0, 0}, 1, largest, columns, column_bias};
    if (OfBytes && result != nullptr) r.of_result = *result;
    FLAGGEMS_SIMT_UNROLL
    for (int h = 0; h < 2; ++h) {
      const i64 i = h == 0 ? upper : lower;
      if (one != nullptr) r.by[h] *= *one;
      if (other != nullptr) r.by[h] *= *other;
      if (rows.data != nullptr) r.by[h] *= rows.data[i * rows.stride];
      if (row_bias.data != nullptr) r.to[h] = number_cast<f32>(row_bias.data[i * row_bias.stride]);
    }
    return r;
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
  FLAGGEMS_INLINE scaled_tile<T, OfBytes> at(const coordinates&, i64 i) const { return from(i); }
  FLAGGEMS_INLINE scaled_tile<T, OfBytes> at(const ranked_coordinates<1>&, i64 i) const {
    return from(i);
  }
  FLAGGEMS_INLINE scaled_tile<T, OfBytes> from(i64 i) const {
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
