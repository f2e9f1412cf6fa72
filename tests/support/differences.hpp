// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients by differences: in f64 on the host, of whatever is to be differentiated there.
#pragma once

#include <support/matrices.hpp>

#include <functional>

namespace flaggems_test {

using row = std::vector<double>;
using function = std::function<row(const row&)>;

inline double dot(const row& a, const row& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
/// The gradient of dot(weights, f(x)), by central differences; with `mirror`, of a matrix of which
/// elements i, j and j, i are one.
inline row differences(const function& f, row x, const row& weights, i64 mirror = 0) {
  row r(x.size());
  const auto place = [&](std::size_t i) {  // the element's mirror image
    if (mirror == 0) return i;
    const auto n = static_cast<std::size_t>(mirror);
    return i / (n * n) * n * n + i % n * n + i / n % n;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    constexpr double step = 1e-5;
    const row before = x;
    x[i] += step;
    if (place(i) != i) x[place(i)] += step;
    const double above = dot(weights, f(x));
    x = before;
    x[i] -= step;
    if (place(i) != i) x[place(i)] -= step;
    r[i] = (above - dot(weights, f(x))) / (2 * step) / (place(i) != i ? 2 : 1);
    x = before;
  }
  return r;
}

template <class T>
const tolerance close_to_differences =
    std::is_same_v<T, f32> ? tolerance{2e-3, 2e-3} : tolerance{1e-6, 1e-7};

/// A tensor of doubles in f64 on the host.
inline auto exact(const shape& sizes, const row& values) {
  return fg::from_values<f64>(test_stream<host>(), values, sizes);
}

}  // namespace flaggems_test
