// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Singular values by Jacobi rotations from one side (Hestenes 1958): pairs of columns are rotated
// until all are orthogonal; then their lengths are the singular values.
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// What matrices whose greatest magnitude is `size` are multiplied by, so that no square overflows
/// and none that counts vanishes: a power of two that makes it 1 to 2, or 1.
template <class T>
FLAGGEMS_INLINE T scale_of(T size) {
  using format = float_format<T>;
  const T large = is_same<T, f32> ? T(1e6) : T(1e100);
  const bool is_finite = size - size == T(0);
  if (size == T(0) || !is_finite || (size >= T(1) && size < large)) return T(1);
  const auto bits = bit_cast<typename format::bits>(size);
  const int exponent = static_cast<int>(bits >> format::mantissa) - format::bias;
  return power_of_two<T>(-min_of(exponent, format::bias - 1));
}

/// A = left diag(values) right^T in the place of A, n columns of m >= n elements in `left`: they
/// become orthonormal ones, as do columns n to `whole` of `left`. Values come in descending order.
/// Without `vectors` those alone are written, and `right` has no memory. `info` is 0; 1 if A is not
/// finite; 2 if the rotations did not converge.
template <class T>
struct jacobi_svd {
  static constexpr int most_sweeps = 60;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 m, i64 n, i64 whole,
                                  matrices<T> lefts, matrices<T> values, matrices<T> rights,
                                  matrices<i32> infos, i32 vectors) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto left = lefts.at(c), right = rights.at(c);
      const auto lengths = values.at(c).down(0, 0);
      const bool with_vectors = vectors != 0;
      const T greatest = greatest_of(block, m, n, left);
      const T scale = scale_of(greatest);
      if (scale != T(1))
        for (i64 j = 0; j < n; ++j) divide(block, m, left.down(0, j), T(1) / scale);
      if (with_vectors) {
        for (i64 j = 0; j < n; ++j)
          block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), T>;
            using J = lane_value<decltype(lane), i64>;
            right.down(0, j).store(lane, select(iota<i64>(lane) == J(j), V(T(1)), V(T(0))));
          });
      }
      int sweep = 0;
      // Each thread has the same elements of all columns, so that no barrier is needed.
      while (sweep < most_sweeps && rotate_all(block, m, n, left, right, with_vectors)) ++sweep;
      for (i64 j = 0; j < n; ++j) {
        const T length = sqrt(product(block, m, left.down(0, j), left.down(0, j)));
        block.single([&]() FLAGGEMS_LAMBDA { lengths.write(j, length); });
      }
      block.sync();
      sort(block, m, n, left, right, lengths, with_vectors);
      if (with_vectors) complete(block, m, n, whole, left, lengths);
      block.sync();
      block.for_each(n, [&](i64 j) FLAGGEMS_LAMBDA { lengths.write(j, lengths.read(j) / scale); });
      const bool finite = greatest - greatest == T(0);
      block.single([&]() FLAGGEMS_LAMBDA {
        infos.at(c).write(0, 0, !finite ? 1 : sweep == most_sweeps ? 2 : 0);
      });
    });
  }

 private:
  static constexpr T epsilon = is_same<T, f32> ? T(1.1920929e-7) : T(2.220446049250313e-16);
  static constexpr T nothing = epsilon * epsilon;  // beside 1

  template <class Block>
  FLAGGEMS_INLINE static T product(Block& block, i64 m, const matrix_line<T>& x,
                                   const matrix_line<T>& y) {
    return block.reduce(m, T(0), plus{},
                        [&](auto lane) FLAGGEMS_LAMBDA { return x.load(lane) * y.load(lane); });
  }

  template <class Block>
  FLAGGEMS_INLINE static T greatest_of(Block& block, i64 m, i64 n, const matrix<T>& a) {
    T greatest = T(0);
    for (i64 j = 0; j < n; ++j) {
      const T x = greatest_magnitude(block, m, a.down(0, j)).value;
      if (x > greatest || x != x) greatest = x;
    }
    return greatest;
  }

  /// Rotates every pair of columns that are not orthogonal; false if there is none.
  template <class Block>
  FLAGGEMS_INLINE static bool rotate_all(Block& block, i64 m, i64 n, const matrix<T>& left,
                                         const matrix<T>& right, bool with_vectors) {
    const T tolerance = epsilon * sqrt(static_cast<T>(m));
    bool rotated = false;
    for (i64 p = 0; p < n - 1; ++p) {
      for (i64 q = p + 1; q < n; ++q) {
        const auto x = left.down(0, p), y = left.down(0, q);
        T sums[3];
        block.template accumulate<3>(m, sums, [&](auto lane, auto& sum) FLAGGEMS_LAMBDA {
          const auto u = x.load(lane), v = y.load(lane);
          sum[0] = sum[0] + u * u;
          sum[1] = sum[1] + v * v;
          sum[2] = sum[2] + u * v;
        });
        const T along = sums[2] < T(0) ? -sums[2] : sums[2];
        // What is nothing beside the other, or the matrix, is none of the directions.
        const T lesser = min_of(sums[0], sums[1]), other = max_of(sums[0], sums[1]);
        if (lesser <= nothing * nothing * max_of(T(1), other)) continue;
        if (!(along > tolerance * sqrt(sums[0]) * sqrt(sums[1]))) continue;
        const T zeta = (sums[1] - sums[0]) / (sums[2] + sums[2]);
        const T size = zeta < T(0) ? -zeta : zeta;
        const T tangent = T(1) / (size + sqrt(T(1) + size * size));
        if (!(tangent > T(0))) continue;
        const T cosine = T(1) / sqrt(T(1) + tangent * tangent);
        const T sine = zeta < T(0) ? -cosine * tangent : cosine * tangent;
        rotated = true;
        rotate(block, m, x, y, cosine, sine);
        if (with_vectors) rotate(block, n, right.down(0, p), right.down(0, q), cosine, sine);
      }
    }
    return rotated;
  }
  template <class Block>
  FLAGGEMS_INLINE static void rotate(Block& block, i64 m, const matrix_line<T>& x,
                                     const matrix_line<T>& y, T cosine, T sine) {
    block.for_each_lane(m, [&](auto lane) FLAGGEMS_LAMBDA {
      using V = lane_value<decltype(lane), T>;
      const V u = x.load(lane), v = y.load(lane);
      x.store(lane, V(cosine) * u - V(sine) * v);
      y.store(lane, V(sine) * u + V(cosine) * v);
    });
  }

  /// Puts the greatest lengths first.
  template <class Block>
  FLAGGEMS_INLINE static void sort(Block& block, i64 m, i64 n, const matrix<T>& left,
                                   const matrix<T>& right, const matrix_line<T>& lengths,
                                   bool with_vectors) {
    for (i64 k = 0; k < n - 1; ++k) {
      const i64 best = k + greatest_magnitude(block, n - k, lengths.from(k)).index;
      block.sync();
      if (best == k) continue;
      exchange_lines(block, 1, lengths.from(k), lengths.from(best));
      if (with_vectors) {
        exchange_lines(block, m, left.down(0, k), left.down(0, best));
        exchange_lines(block, n, right.down(0, k), right.down(0, best));
      }
      block.sync();
    }
  }

  /// Makes columns of length 1 of those that have a direction, and of the others what is orthogonal
  /// to all before them.
  template <class Block>
  FLAGGEMS_INLINE static void complete(Block& block, i64 m, i64 n, i64 whole, const matrix<T>& left,
                                       const matrix_line<T>& lengths) {
    const T least = n > 0 ? lengths.read(0) * nothing : T(0);
    for (i64 j = 0; j < whole; ++j) {
      const auto column = left.down(0, j);
      const T length = j < n ? lengths.read(j) : T(0);
      if (length > least || length != length) {
        divide(block, m, column, length);
        continue;
      }
      // The unit vector that the columns before cover least.
      const indexed<T, i64> none{T(-1), m};
      const i64 row = block
                          .reduce(m, none, better_of<true>{},
                                  [&](auto lane) FLAGGEMS_LAMBDA {
                                    using V = lane_value<decltype(lane), T>;
                                    using J = lane_value<decltype(lane), i64>;
                                    V rest = V(T(1));
                                    for (i64 k = 0; k < j; ++k) {
                                      const V x = left.down(0, k).load(lane);
                                      rest = rest - x * x;
                                    }
                                    return indexed<V, J>{rest, iota<i64>(lane)};
                                  })
                          .index;
      block.for_each_lane(m, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), T>;
        using J = lane_value<decltype(lane), i64>;
        column.store(lane, select(iota<i64>(lane) == J(row), V(T(1)), V(T(0))));
      });
      for (int pass = 0; pass < 2; ++pass) {
        for (i64 k = 0; k < j; ++k) {
          const auto other = left.down(0, k);
          const T by = product(block, m, other, column);
          block.for_each_lane(m, [&](auto lane) FLAGGEMS_LAMBDA {
            using V = lane_value<decltype(lane), T>;
            column.store(lane, column.load(lane) - V(by) * other.load(lane));
          });
        }
        divide(block, m, column, sqrt(product(block, m, column, column)));
      }
    }
  }
  template <class Block>
  FLAGGEMS_INLINE static void divide(Block& block, i64 m, const matrix_line<T>& x, T by) {
    block.for_each_lane(m, [&](auto lane) FLAGGEMS_LAMBDA {
      using V = lane_value<decltype(lane), T>;
      x.store(lane, x.load(lane) / V(by));
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/svd.hpp");
