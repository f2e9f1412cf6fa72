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
/// ... and a sum, or two. By its address: passed by value, a vector would change the ABI.
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

FLAGGEMS_INLINE ranked_coordinates<2> at_row(const ranked_coordinates<1>& c, i64 row) {
  return {{c.at[0], row}, 0};
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
  FLAGGEMS_INLINE aux_rows<T, C> at(const ranked_coordinates<2>& c) const {
    return {data + c.offset(strides), strides[1], strides[2]};
  }
};

/// The sum, as C; those of integers are signed modulo 2^32.
template <class C>
struct product_value {
  using value_type = C;
  FLAGGEMS_INLINE product_value at(const coordinates&) const { return {}; }
  FLAGGEMS_INLINE product_value at(const ranked_coordinates<2>&) const { return {}; }
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

/// The sum of the even (Part 0) or odd (1) column of two, of which one result is made.
template <class C, int Part>
struct product_half {
  using value_type = C;
  FLAGGEMS_INLINE product_half at(const coordinates&) const { return {}; }
  FLAGGEMS_INLINE product_half at(const ranked_coordinates<2>&) const { return {}; }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    const auto of_sum = lane.sum + Part;
    const lane_of_sum<Lane, decltype(copy_of(*lane.sum))> one{{lane, lane.row}, of_sum};
    return product_value<C>{}.load(one);
  }
};

/// Whether a lane takes what is stored besides, for a kernel that stores it otherwise.
template <class Lane, class = void>
inline constexpr bool keeps_values = false;
template <class Lane>
inline constexpr bool keeps_values<Lane, decltype(static_cast<void>(declval_of<Lane>().kept))> =
    true;

/// The value of E, of a row on, which is stored as well, unless its lane is past the end.
template <class T, class E>
struct stored_rows {
  E e;
  global_ptr<T> data;
  i64 row, column;
  template <class Lane>
  FLAGGEMS_INLINE auto load(Lane lane) const {
    const auto value = e.load(lane);
    using kernels::store;  // and, by its argument, the host's overload
    if constexpr (keeps_values<Lane>) {
      *lane.kept = value;
    } else {
      if constexpr (is_same<decltype(lane.mask()), bool>)
        if (!lane.mask()) return value;
      store(data + lane.row * row, column, lane, value);
    }
    return value;
  }
};
template <class T, class E>
struct stored_value {
  using value_type = typename E::value_type;
  E e;
  global_ptr<T> data;
  i64 strides[max_rank];  // of the batch, the rows, the columns
  FLAGGEMS_INLINE auto at(const coordinates& c) const {
    return stored_rows<T, decltype(copy_of(e.at(c)))>{e.at(c), data + c.offset(strides),
                                                      strides[c.rank - 1], strides[c.rank]};
  }
  FLAGGEMS_INLINE auto at(const ranked_coordinates<2>& c) const {
    return stored_rows<T, decltype(copy_of(e.at(c)))>{e.at(c), data + c.offset(strides), strides[1],
                                                      strides[2]};
  }
};

/// Whether an expression reads halves; whether it stores more than its value.
template <class E>
inline constexpr bool reads_halves = false;
template <class C, int Part>
inline constexpr bool reads_halves<product_half<C, Part>> = true;
template <class T, class E>
inline constexpr bool reads_halves<stored_value<T, E>> = reads_halves<E>;
template <class R, class F, class... E>
inline constexpr bool reads_halves<node<R, F, E...>> = (reads_halves<E> || ...);

/// What an expression stores besides; `of` finds the first one.
template <class E>
struct store_in : no_store {};
template <class T, class E>
struct store_in<stored_value<T, E>> {
  static constexpr int count = 1 + store_in<E>::count;
  using element = T;
  using value = typename E::value_type;
  template <class Rows>
  FLAGGEMS_INLINE static const Rows& of(const Rows& rows) {
    return rows;
  }
};
template <class R, class F, class A>
struct store_in<node<R, F, A>> : store_in<A> {
  template <class Rows>
  FLAGGEMS_INLINE static const auto& of(const Rows& rows) {
    return store_in<A>::of(rows.a);
  }
};
template <class R, class F, class A, class B>
struct store_in<node<R, F, A, B>>
    : conditional<(store_in<A>::count > 0), store_in<A>, store_in<B>> {
  static constexpr int count = store_in<A>::count + store_in<B>::count;
  template <class Rows>
  FLAGGEMS_INLINE static const auto& of(const Rows& rows) {
    if constexpr (store_in<A>::count > 0)
      return store_in<A>::of(rows.a);
    else
      return store_in<B>::of(rows.b);
  }
};
template <class R, class F, class A, class B, class D>
struct store_in<node<R, F, A, B, D>>
    : conditional<(store_in<A>::count > 0), store_in<A>, store_in<node<R, F, B, D>>> {
  static constexpr int count = store_in<A>::count + store_in<B>::count + store_in<D>::count;
  template <class Rows>
  FLAGGEMS_INLINE static const auto& of(const Rows& rows) {
    if constexpr (store_in<A>::count > 0)
      return store_in<A>::of(rows.a);
    else if constexpr (store_in<B>::count > 0)
      return store_in<B>::of(rows.b);
    else
      return store_in<D>::of(rows.d);
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
    /// Where the first value goes that is stored besides.
    FLAGGEMS_INLINE const auto& stored() const { return store_in<E>::of(rows); }
    /// Of the sums of two columns.
    template <class C, class Lane>
    FLAGGEMS_INLINE lane_value<Lane, typename E::value_type> add_pair(
        i64 i, Lane lane, const lane_value<Lane, C> (&x)[2]) const {
      return rows.load(lane_of_sum<Lane, lane_value<Lane, C>>{{lane, i}, x});
    }
  };
  static constexpr bool replaces = true;
  FLAGGEMS_INLINE bool active() const { return true; }
  FLAGGEMS_INLINE tile at(const coordinates& c, i64 i) const { return {value.at(at_row(c, i))}; }
  FLAGGEMS_INLINE tile at(const ranked_coordinates<1>& c, i64 i) const {
    return {value.at(at_row(c, i))};
  }
};

template <class E>
inline constexpr bool takes_pairs<gemm_epilogue<E>> = reads_halves<E>;
template <class E>
struct stored_by<gemm_epilogue<E>> : store_in<E> {};

/// The second launch of a product whose results are made of pairs of sums, [batches, m, 2 n]. A
/// tile is tile_columns results of a row.
template <class Out, class C, class Bias>
struct gemm_pairs {
  static constexpr bool awaits_earlier = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const gemm_space& space,
                                  const gemm_out<Out, C>& out, const Bias& bias,
                                  global_ptr<const C> sums) {
    block.for_each_tile(
        space.batches * space.m * space.column_tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
          const i64 line = tile / space.column_tiles, batch = line / space.m;
          const i64 row = line - batch * space.m;
          const i64 first = (tile - line * space.column_tiles) * space.tile_columns;
          const coordinates at = space.batch_at(batch);
          const auto to = out.at(at) + row * out.row + first * out.column;
          const auto add = bias.at(at, row);
          const global_ptr<const C> from = sums + 2 * (line * space.n + first);
          block.await_earlier();
          block.for_each_lane(
              min_of(space.tile_columns, space.n - first), [&](auto lane) FLAGGEMS_LAMBDA {
                using V = lane_value<decltype(lane), C>;
                const V both[2] = {V(out.alpha) * load<C>(from, 2, lane),
                                   V(out.alpha) * load<C>(from + 1, 2, lane)};
                auto column = lane;
                column.begin += first;
                store(to, out.column, lane, add.template add_pair<C>(0, column, both));
              });
        });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/gemm/epilogue.hpp");
