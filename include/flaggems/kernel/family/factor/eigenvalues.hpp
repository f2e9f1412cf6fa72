// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Eigenvalues of general matrices: reflectors make a Hessenberg matrix, and QR steps with two
// shifts (Francis 1961) split one or two rows at a time off it. Every thread follows the same
// numbers; they share out the rows and columns that a step changes.
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// values = the eigenvalues of matrices of n rows, which are overwritten. `info` is 0; 1 if a
/// matrix is not finite; 2 if the steps did not converge.
template <class T>
struct hessenberg_qr {
  using Z = complex<T>;
  static constexpr int most_steps = 60;  // for each eigenvalue

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, matrices<T> inputs,
                                  matrices<Z> values, matrices<i32> infos) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = inputs.at(c);
      const auto out = values.at(c);
      T greatest = T(0);
      for (i64 j = 0; j < n; ++j) {
        const T x = greatest_magnitude(block, n, a.down(0, j)).value;
        if (x > greatest || x != x) greatest = x;
      }
      i32 info = greatest - greatest == T(0) ? 0 : 1;
      if (info == 0) {
        reduce_to_hessenberg(block, a, n);
        i64 last = n - 1;
        int steps = 0;
        while (last >= 0 && info == 0) {
          const i64 first = split(block, a, last, greatest);
          if (first == last) {
            block.single([&]()
                             FLAGGEMS_LAMBDA { out.write(last, 0, Z(a.read(last, last), T(0))); });
            --last, steps = 0;
          } else if (first == last - 1) {
            write_pair(block, a, out, first);
            last -= 2, steps = 0;
          } else if (++steps > most_steps) {
            info = 2;
          } else {
            step(block, a, first, last, steps % 10 == 0);
          }
        }
      }
      block.single([&]() FLAGGEMS_LAMBDA { infos.at(c).write(0, 0, info); });
    });
  }

 private:
  FLAGGEMS_INLINE static T magnitude(T x) { return x < T(0) ? -x : x; }
  static constexpr T epsilon = is_same<T, f32> ? T(1.1920929e-7) : T(2.220446049250313e-16);

  /// Reflects columns to zeros below the first subdiagonal. A column keeps the reflector until both
  /// sides of the matrix have been multiplied.
  template <class Block>
  FLAGGEMS_INLINE static void reduce_to_hessenberg(Block& block, const matrix<T>& a, i64 n) {
    for (i64 k = 0; k < n - 2; ++k) {
      const i64 rows = n - k - 1;
      const auto v = a.down(k + 1, k);
      block.sync();
      const T scale = greatest_magnitude(block, rows, v).value;
      const bool is_done = greatest_magnitude(block, rows - 1, v.from(1)).value == T(0);
      if (is_done) continue;
      const T square = block.reduce(rows, T(0), plus{}, [&](auto lane) FLAGGEMS_LAMBDA {
        using V = lane_value<decltype(lane), T>;
        const V x = v.load(lane) / V(scale);
        return x * x;
      });
      const T head = v.read(0), length = scale * sqrt(square);
      const T image = head < T(0) ? length : -length;
      const T first = head - image;
      // H = 1 - by v v^T for v = (1, v[1] / first, ...).
      const T by = -first / image;
      block.sync();  // all have read v
      block.for_each(rows,
                     [&](i64 i) FLAGGEMS_LAMBDA { v.write(i, i == 0 ? T(1) : v.read(i) / first); });
      block.sync();
      block.for_each(rows, [&](i64 j) FLAGGEMS_LAMBDA {
        const auto column = a.down(k + 1, k + 1 + j);
        T sum = T(0);
        for (i64 i = 0; i < rows; ++i) sum += v.read(i) * column.read(i);
        for (i64 i = 0; i < rows; ++i) column.write(i, column.read(i) - by * sum * v.read(i));
      });
      block.sync();
      block.for_each(n, [&](i64 i) FLAGGEMS_LAMBDA {
        const auto row = a.along(i, k + 1);
        T sum = T(0);
        for (i64 j = 0; j < rows; ++j) sum += row.read(j) * v.read(j);
        for (i64 j = 0; j < rows; ++j) row.write(j, row.read(j) - by * sum * v.read(j));
      });
      block.sync();
      block.for_each(rows, [&](i64 i) FLAGGEMS_LAMBDA { v.write(i, i == 0 ? image : T(0)); });
    }
    block.sync();
  }

  /// The first row of the last part that does not fall apart.
  template <class Block>
  FLAGGEMS_INLINE static i64 split(Block& block, const matrix<T>& a, i64 last, T greatest) {
    i64 first = last;
    for (; first > 0; --first) {
      T beside = magnitude(a.read(first - 1, first - 1)) + magnitude(a.read(first, first));
      if (beside == T(0)) beside = greatest;
      if (magnitude(a.read(first, first - 1)) <= epsilon * beside) break;
    }
    block.sync();  // all have read what is changed next
    return first;
  }

  /// The eigenvalues of the two rows from `at` on.
  template <class Block>
  FLAGGEMS_INLINE static void write_pair(Block& block, const matrix<T>& a, const matrix<Z>& out,
                                         i64 at) {
    block.single([&]() FLAGGEMS_LAMBDA {
      const T x = a.read(at, at), y = a.read(at + 1, at + 1);
      const T product = a.read(at, at + 1) * a.read(at + 1, at);
      const T middle = T(0.5) * (x - y), square = middle * middle + product;
      const T root = sqrt(magnitude(square));
      if (square < T(0)) {
        out.write(at, 0, Z(y + middle, root));
        out.write(at + 1, 0, Z(y + middle, -root));
      } else {
        const T greater = middle < T(0) ? middle - root : middle + root;
        out.write(at, 0, Z(y + greater, T(0)));
        out.write(at + 1, 0, Z(greater == T(0) ? y : y - product / greater, T(0)));
      }
    });
  }

  /// Multiplies rows and columns first .. last by reflectors that chase a bulge of two shifts down:
  /// the eigenvalues of the last two rows, or, where that goes in a circle, others.
  template <class Block>
  FLAGGEMS_INLINE static void step(Block& block, const matrix<T>& a, i64 first, i64 last,
                                   bool unusual) {
    T trace = a.read(last - 1, last - 1) + a.read(last, last);
    T determinant = a.read(last - 1, last - 1) * a.read(last, last) -
                    a.read(last - 1, last) * a.read(last, last - 1);
    if (unusual) {
      const T size = magnitude(a.read(last, last - 1)) + magnitude(a.read(last - 1, last - 2));
      trace = T(1.5) * size + T(2) * a.read(last, last);
      determinant = (T(0.75) * size + a.read(last, last)) * (T(0.75) * size + a.read(last, last)) +
                    T(0.4375) * size * size;
    }
    // The first column of (A - s)(A - t), divided by the element below the diagonal.
    const T x = a.read(first, first), below = a.read(first + 1, first);
    T p = (x * x - trace * x + determinant) / below + a.read(first, first + 1);
    T q = x + a.read(first + 1, first + 1) - trace;
    T r = a.read(first + 2, first + 1);
    for (i64 k = first; k < last; ++k) {
      const bool three = k + 2 <= last;
      if (k > first) {
        p = a.read(k, k - 1);
        q = a.read(k + 1, k - 1);
        r = three ? a.read(k + 2, k - 1) : T(0);
      }
      const T scale = magnitude(p) + magnitude(q) + magnitude(r);
      block.sync();  // all have read them
      if (scale == T(0)) continue;
      p /= scale, q /= scale, r /= scale;
      const T length = sqrt(p * p + q * q + r * r);
      const T image = p < T(0) ? length : -length;
      if (k > first)
        block.single([&]() FLAGGEMS_LAMBDA {
          a.write(k, k - 1, image * scale);
          a.write(k + 1, k - 1, T(0));
          if (three) a.write(k + 2, k - 1, T(0));
        });
      const T head = p - image, by = -head / image, v = q / head, w = r / head;
      const auto reflect = [&](const matrix_line<T>& x0) FLAGGEMS_LAMBDA {
        const T third = three ? x0.read(2) : T(0);
        const T sum = by * (x0.read(0) + v * x0.read(1) + w * third);
        x0.write(0, x0.read(0) - sum);
        x0.write(1, x0.read(1) - sum * v);
        if (three) x0.write(2, third - sum * w);
      };
      block.for_each(last - k + 1, [&](i64 j) FLAGGEMS_LAMBDA { reflect(a.down(k, k + j)); });
      block.sync();
      const i64 end = min_of(last, k + 3);
      block.for_each(end - first + 1,
                     [&](i64 i) FLAGGEMS_LAMBDA { reflect(a.along(first + i, k)); });
      block.sync();
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/eigenvalues.hpp");
