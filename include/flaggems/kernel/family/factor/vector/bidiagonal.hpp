// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Singular values of matrices with two diagonals, by steps of QR with implicit shifts, or without
// where a shift would spoil small values (Demmel and Kahan 1990).
#pragma once

#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// A sum of squares below which numbers are multiplied by `enlarged` before they are squared.
template <class T>
inline constexpr T smallest_square = is_same<T, f32> ? T(1e-28) : T(1e-280);
template <class T>
inline constexpr T enlarged = power_of_two<T>(is_same<T, f32> ? 100 : 620);

/// Numbers are of a size whose squares neither overflow nor, where they count, vanish.
template <class T>
struct bidiagonal_values {
  static constexpr int most_sweeps = 30;  // for each value; two are usual

  /// The diagonal d, of n elements, becomes the singular values in descending order, and e, that
  /// above it, zero; false if they do not converge.
  FLAGGEMS_HOST_INLINE static bool find(T* d, T* e, i64 n) {
    T size = T(0);
    for (i64 k = 0; k < n; ++k) size = max_of(size, abs(d[k]));
    for (i64 k = 0; k + 1 < n; ++k) size = max_of(size, abs(e[k]));
    const T nothing = size * epsilon * epsilon;
    // A block of d[first] to d[last] with no zero beside it; what was before it is done last.
    i64 last = n - 1, block_first = n, block_last = -1;
    for (i64 sweeps = most_sweeps * n; last > 0;) {
      i64 first = last;
      bool is_singular = d[last] == T(0);
      for (; first > 0; --first) {
        const T x = abs(e[first - 1]);
        if (x <= epsilon * (abs(d[first - 1]) + abs(d[first])) || x <= nothing) {
          e[first - 1] = T(0);
          break;
        }
        is_singular = is_singular || d[first - 1] == T(0);
      }
      if (first == last) {
        --last;
        continue;
      }
      if (first + 1 == last) {
        const pair both = values_of(d[first], e[first], d[last]);
        d[first] = both.greater;
        d[last] = both.lesser;
        e[first] = T(0);
        last -= 2;
        continue;
      }
      if (sweeps-- == 0) return false;
      // Small values converge first where they are last; the order is kept as parts split off.
      if (first > block_last || last < block_first)
        if (abs(d[last]) > abs(d[first])) {
          reverse(d + first, last - first + 1);
          reverse(e + first, last - first);
        }
      block_first = first;
      block_last = last;
      const T shift = is_singular ? T(0) : values_of(d[last - 1], e[last - 1], d[last]).lesser;
      const T part = is_singular ? T(0) : shift / d[first];
      if (part * part < epsilon)
        sweep(d, e, first, last);
      else
        sweep_shifted(d, e, first, last, shift);
    }
    for (i64 k = 0; k < n; ++k) insert(d, k, abs(d[k]));
    return true;
  }

 private:
  static constexpr T epsilon = is_same<T, f32> ? T(1.1920929e-7) : T(2.220446049250313e-16);

  struct rotation {
    T cosine, sine, length;
  };
  /// That makes (length, 0) of (x, y).
  FLAGGEMS_HOST_INLINE static rotation rotate(T x, T y) {
    if (y == T(0)) return {T(1), T(0), x};
    if (x == T(0)) return {T(0), T(1), y};
    T unit = T(1), square = x * x + y * y;
    if (square < smallest_square<T>) {
      unit = enlarged<T>;
      x *= unit;
      y *= unit;
      square = x * x + y * y;
    }
    // The root and the quotient do not wait for each other.
    const T length = sqrt(square), by = T(1) / square * length;
    return {x * by, y * by, length / unit};
  }

  /// Without a shift: relative errors of all values stay small.
  FLAGGEMS_HOST_INLINE static void sweep(T* d, T* e, i64 first, i64 last) {
    rotation right{T(1), T(0), T(0)}, left = right;
    for (i64 k = first; k < last; ++k) {
      right = rotate(d[k] * right.cosine, e[k]);
      if (k > first) e[k - 1] = left.sine * right.length;
      left = rotate(left.cosine * right.length, d[k + 1] * right.sine);
      d[k] = left.length;
    }
    const T rest = d[last] * right.cosine;
    d[last] = rest * left.cosine;
    e[last - 1] = rest * left.sine;
  }
  FLAGGEMS_HOST_INLINE static void sweep_shifted(T* d, T* e, i64 first, i64 last, T shift) {
    T x = (abs(d[first]) - shift) * ((d[first] < T(0) ? T(-1) : T(1)) + shift / d[first]);
    T y = e[first];
    for (i64 k = first; k < last; ++k) {
      const rotation right = rotate(x, y);
      if (k > first) e[k - 1] = right.length;
      x = right.cosine * d[k] + right.sine * e[k];
      const T above = right.cosine * e[k] - right.sine * d[k];
      const T below = right.cosine * d[k + 1];
      const rotation left = rotate(x, right.sine * d[k + 1]);
      d[k] = left.length;
      x = left.cosine * above + left.sine * below;
      d[k + 1] = left.cosine * below - left.sine * above;
      if (k + 1 < last) {
        y = left.sine * e[k + 1];
        e[k + 1] = left.cosine * e[k + 1];
      }
    }
    e[last - 1] = x;
  }

  struct pair {
    T greater, lesser;
  };
  /// The singular values of (x y; 0 z). Their product is |x z|, and the greater one is half of
  /// sqrt((|x| + |z|)^2 + y^2) + sqrt((|x| - |z|)^2 + y^2): no difference of the two is needed.
  FLAGGEMS_HOST_INLINE static pair values_of(T x, T y, T z) {
    const T a = max_of(abs(x), abs(z)), b = min_of(abs(x), abs(z)), c = abs(y);
    const T most = max_of(a, c);
    if (most == T(0)) return {T(0), T(0)};
    const T p = a / most, q = b / most, r = c / most;
    const T greater = (sqrt((p + q) * (p + q) + r * r) + sqrt((p - q) * (p - q) + r * r)) / T(2);
    return {greater * most, a / (greater * most) * b};
  }

  FLAGGEMS_HOST_INLINE static void reverse(T* x, i64 n) {
    for (i64 k = 0; k < n / 2; ++k) {
      const T kept = x[k];
      x[k] = x[n - 1 - k];
      x[n - 1 - k] = kept;
    }
  }
  /// Puts x among the k greater or lesser ones before it.
  FLAGGEMS_HOST_INLINE static void insert(T* d, i64 k, T x) {
    for (; k > 0 && d[k - 1] < x; --k) d[k] = d[k - 1];
    d[k] = x;
  }
};

}  // namespace flaggems::kernels
