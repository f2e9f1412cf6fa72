// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of matrix products share: a reference in double, and the tolerance of sums.
#pragma once

#include <support/ops.hpp>

#include <cmath>
#include <vector>

namespace flaggems_test {

inline std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

/// out[i, j] = sum of x[i, q] * w[j, q].
inline std::vector<double> sums_of(const std::vector<double>& x, const std::vector<double>& w,
                                   i64 m, i64 n, i64 k) {
  std::vector<double> out(index(m * n));
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j)
      for (i64 q = 0; q < k; ++q)
        out[index(i * n + j)] += x[index(i * k + q)] * w[index(j * k + q)];
  return out;
}

inline double silu(double x) { return x / (1 + std::exp(-x)); }

/// Of sums of k products of values up to 2, and a little more.
template <class T>
tolerance sum_tolerance(i64 k) {
  tolerance tol = tolerance_of<T>();
  tol.atol = (sizeof(T) == 8 ? 1e-15 : 2e-7) * 8 * static_cast<double>(k + 1);
  if (sizeof(T) == 2) tol.atol += 1e-3;
  return tol;
}

}  // namespace flaggems_test
