// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Symmetric factors with the pivoting of Bunch and Kaufman (1977), as LAPACK's sytf2 chooses them.
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>

namespace flaggems::kernels {

/// A = L D L^T in the place of A's lower triangle, where L has ones on its diagonal and D blocks of
/// one or two rows. A positive pivots[k] is the row, counted from 1, that row k was exchanged with;
/// a block of two rows k and k + 1 has the negative number twice, of the row that k + 1 was
/// exchanged with. `info` is 0, or the first k, counted from 1, whose D[k, k] is 0.
template <class T>
struct ldl_factor {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, matrices<T> factors,
                                  matrices<i32> pivots, matrices<i32> infos) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = factors.at(c);
      const auto places = pivots.at(c);
      i32 info = 0;
      for (i64 k = 0; k < n;) {
        const choice chosen = choose(block, a, n, k);
        if (chosen.singular && info == 0) info = static_cast<i32>(k + 1);
        const i64 last = k + chosen.rows - 1, p = chosen.row;
        block.single([&]() FLAGGEMS_LAMBDA {
          const i32 place = static_cast<i32>(p + 1);
          for (i64 i = k; i <= last; ++i) places.write(i, 0, chosen.rows == 1 ? place : -place);
        });
        block.sync();
        if (p != last) exchange(block, a, n, k, last, p);
        if (!chosen.singular) {
          if (chosen.rows == 1)
            eliminate_one(block, a, n, k);
          else
            eliminate_two(block, a, n, k);
        }
        k = last + 1;
      }
      block.single([&]() FLAGGEMS_LAMBDA { infos.at(c).write(0, 0, info); });
    });
  }

 private:
  struct choice {
    i64 row;   // to be exchanged with the block's last row
    i64 rows;  // of the block
    bool singular;
  };
  FLAGGEMS_INLINE static T magnitude(T x) { return x < T(0) ? -x : x; }

  template <class Block>
  FLAGGEMS_INLINE static choice choose(Block& block, const matrix<T>& a, i64 n, i64 k) {
    const T alpha = T(0.6403882032022076);  // (1 + sqrt(17)) / 8
    const T own = magnitude(a.read(k, k));
    T greatest = T(0);
    i64 row = k;
    if (k + 1 < n) {
      const auto best = greatest_magnitude(block, n - k - 1, a.down(k + 1, k));
      greatest = best.value;
      row = k + 1 + best.index;
    }
    if (own != own || (own == T(0) && greatest == T(0))) return {k, 1, true};
    if (own >= alpha * greatest) return {k, 1, false};
    // The greatest magnitude beside the diagonal in that row.
    T beside = greatest_magnitude(block, row - k, a.along(row, k)).value;
    if (row + 1 < n)
      beside = max_of(beside, greatest_magnitude(block, n - row - 1, a.down(row + 1, row)).value);
    if (own >= alpha * greatest * (greatest / beside)) return {k, 1, false};
    if (magnitude(a.read(row, row)) >= alpha * beside) return {row, 1, false};
    return {row, 2, false};
  }

  /// Exchanges rows and columns k and p > k of the lower triangle from column `first` on.
  template <class Block>
  FLAGGEMS_INLINE static void exchange(Block& block, const matrix<T>& a, i64 n, i64 first, i64 k,
                                       i64 p) {
    exchange_lines(block, n - p - 1, a.down(p + 1, k), a.down(p + 1, p));
    exchange_lines(block, p - k - 1, a.down(k + 1, k), a.along(p, k + 1));
    const matrix_line<T> diagonal{a.data, a.row + a.column};
    exchange_lines(block, 1, diagonal.from(k), diagonal.from(p));
    exchange_lines(block, k - first, a.along(k, first), a.along(p, first));
    block.sync();
  }

  template <class Block>
  FLAGGEMS_INLINE static void eliminate_one(Block& block, const matrix<T>& a, i64 n, i64 k) {
    const T inverse = T(1) / a.read(k, k);
    const i64 left = n - k - 1;
    const auto below = a.down(k + 1, k);
    for_each_element(block, left, left, [&](auto lane, i64 j) FLAGGEMS_LAMBDA {
      const auto rest = a.down(k + 1, k + 1 + j);
      update(lane, j, rest, [&](const auto& x) FLAGGEMS_LAMBDA {
        using V = decltype(copy_of(x));
        return x - below.load(lane) * V(inverse * below.read(j));
      });
    });
    block.sync();
    block.for_each_lane(left, [&](auto lane) FLAGGEMS_LAMBDA {
      using V = lane_value<decltype(lane), T>;
      below.store(lane, below.load(lane) * V(inverse));
    });
    block.sync();
  }

  /// What column j of the two columns k and k + 1 is to be multiplied by.
  struct pair {
    T one, other;
  };
  FLAGGEMS_INLINE static pair solved(const matrix<T>& a, i64 k, i64 j) {
    const T beside = a.read(k + 1, k);
    const T first = a.read(k + 1, k + 1) / beside, second = a.read(k, k) / beside;
    const T by = T(1) / (first * second - T(1)) / beside;
    const T x = a.read(j, k), y = a.read(j, k + 1);
    return {by * (first * x - y), by * (second * y - x)};
  }
  template <class Block>
  FLAGGEMS_INLINE static void eliminate_two(Block& block, const matrix<T>& a, i64 n, i64 k) {
    const i64 left = n - k - 2;
    const auto one = a.down(k + 2, k), other = a.down(k + 2, k + 1);
    for_each_element(block, left, left, [&](auto lane, i64 j) FLAGGEMS_LAMBDA {
      const pair w = solved(a, k, k + 2 + j);
      const auto rest = a.down(k + 2, k + 2 + j);
      update(lane, j, rest, [&](const auto& x) FLAGGEMS_LAMBDA {
        using V = decltype(copy_of(x));
        return x - one.load(lane) * V(w.one) - other.load(lane) * V(w.other);
      });
    });
    block.sync();
    block.for_each(left, [&](i64 i) FLAGGEMS_LAMBDA {
      const pair w = solved(a, k, k + 2 + i);
      one.write(i, w.one);
      other.write(i, w.other);
    });
    block.sync();
  }

  /// x = f(x) in column j of the lower triangle.
  template <class Lane, class F>
  FLAGGEMS_INLINE static void update(Lane lane, i64 j, const matrix_line<T>& column, const F& f) {
    using J = lane_value<Lane, i64>;
    const auto x = column.load(lane);
    column.store(lane, select(iota<i64>(lane) >= J(j), f(x), x));
  }
};

/// x = the solution of L D L^T x = x for columns of n elements, of factors and pivots as ldl_factor
/// gives them.
template <class T>
struct ldl_solve {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, matrices<const T> factors,
                                  matrices<const i32> pivots, matrices<T> columns) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = factors.at(c);
      const auto places = pivots.at(c);
      const auto x = columns.at(c).down(0, 0);
      for (i64 k = 0; k < n;) {
        const i64 rows = places.read(k, 0) > 0 || k + 1 == n ? 1 : 2, last = k + rows - 1;
        exchange(block, x, n, last, places.read(k, 0));
        const T one = x.read(k), other = x.read(last);
        const auto rest = x.from(last + 1);
        const auto left = a.down(last + 1, k), right = a.down(last + 1, last);
        block.for_each_lane(n - last - 1, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), T>;
          V b = rest.load(lane) - left.load(lane) * V(one);
          if (rows == 2) b = b - right.load(lane) * V(other);
          rest.store(lane, b);
        });
        block.sync();  // all have read x[k]
        block.single([&]() FLAGGEMS_LAMBDA {
          if (rows == 1) return x.write(k, one / a.read(k, k));
          const T beside = a.read(last, k);
          const T first = a.read(k, k) / beside, second = a.read(last, last) / beside;
          const T by = first * second - T(1);
          x.write(k, (second * (one / beside) - other / beside) / by);
          x.write(last, (first * (other / beside) - one / beside) / by);
        });
        block.sync();
        k = last + 1;
      }
      for (i64 last = n - 1; last >= 0;) {
        const i64 rows = places.read(last, 0) > 0 || last == 0 ? 1 : 2, k = last - rows + 1;
        for (i64 j = k; j <= last; ++j) {
          const auto rest = x.from(last + 1);
          const auto column = a.down(last + 1, j);
          const T sum = block.reduce(n - last - 1, T(0), plus{}, [&](auto lane) FLAGGEMS_LAMBDA {
            return column.load(lane) * rest.load(lane);
          });
          block.single([&]() FLAGGEMS_LAMBDA { x.write(j, x.read(j) - sum); });
        }
        block.sync();
        exchange(block, x, n, last, places.read(last, 0));
        last = k - 1;
      }
    });
  }

 private:
  /// Exchanges x[k] with that of a pivot, where there is such a row.
  template <class Block>
  FLAGGEMS_INLINE static void exchange(Block& block, const matrix_line<T>& x, i64 n, i64 k,
                                       i32 pivot) {
    const i64 p = (pivot < 0 ? -i64(pivot) : i64(pivot)) - 1;
    if (p == k || p < 0 || p >= n) return;
    block.single([&]() FLAGGEMS_LAMBDA {
      const T kept = x.read(k);
      x.write(k, x.read(p));
      x.write(p, kept);
    });
    block.sync();
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/ldl.hpp");
