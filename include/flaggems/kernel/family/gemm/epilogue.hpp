// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Epilogues of matrix products: an expression over the product and tensors, evaluated before the
// sums are stored. It takes the place of a bias in the kernels of family/gemm/gemm.hpp.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>
#include <flaggems/kernel/family/gemm/gemm.hpp>

namespace flaggems::kernels {

/// A lane that brings its row with it.
template <class Lane>
struct lane_of_row : Lane {
  i64 row;
};
/// ... and a sum. By its address: passed by value, a vector would change the ABI.
template <class Lane, class V>
struct lane_of_sum : lane_of_row<Lane> {
  const V* sum;
};

/// `c` with the first row as the last of its outer dimensions.
FLAGGEMS_INLINE coordinates at_row(const coordinates& c, i64 row) {
  coordinates first = c;
  first.at[c.rank] = row;
  first.rank = c.rank + 1;
  first.inner = 0;
  return first;
}

/// An epilogue's tensor, from a row on. (Computing each row's address from coordinates would cost
/// more than the expression.)
template <class T, class C>
struct aux_rows {
  global_ptr<const T> data;
  i64 row, column;
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;  // and, by its argument, the host's overload
    return load<C>(data + lane.row * row, column, lane);
  }
};
template <class T, class C>
struct aux_arg {
  using value_type = C;
  global_ptr<const T> data;
  i64 strides[max_rank];  // of the batch, the rows, the columns
  FLAGGEMS_INLINE aux_rows<T, C> at(const coordinates& c) const {
    return {data + c.offset(strides), strides[c.rank - 1], strides[c.rank]};
  }
};

/// The sum, as C; those of integers are signed modulo 2^32.
template <class C>
struct product_value {
  using value_type = C;
  FLAGGEMS_INLINE product_value at(const coordinates&) const { return {}; }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using sums = element_of<decltype(copy_of(*lane.sum))>;
    static_assert(!is_same<sums, f64> || is_same<C, f64>,
                  "flaggems: the product of f64 is product_as<f64>");
    if constexpr (is_same<sums, u32>)
      return convert<C>(convert<i32>(*lane.sum));
    else
      return convert<C>(*lane.sum);
  }
};

/// An expression over the batch, the rows and the columns of the result.
template <class E>
struct gemm_epilogue {
  E value;

  struct tile {
    decltype(copy_of(declval_of<const E&>().at(coordinates{}))) rows;
    static constexpr bool replaces = true;
    template <class C, class Lane>
    FLAGGEMS_INLINE lane_value<Lane, typename E::value_type> add(
        i64 i, Lane lane, const lane_value<Lane, C>& x) const {
      return rows.load(lane_of_sum<Lane, lane_value<Lane, C>>{{lane, i}, &x});
    }
  };
  static constexpr bool replaces = true;
  FLAGGEMS_INLINE bool active() const { return true; }
  FLAGGEMS_INLINE tile at(const coordinates& c, i64 i) const { return {value.at(at_row(c, i))}; }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/epilogue.hpp");
