// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Batches of matrices as rows of doubles, to put together again what operators took apart.
#pragma once

#include <support/ops.hpp>

#include <utility>

namespace flaggems_test {

/// f32 and f64 on the host, f32 on chips: what matrices are factored in.
using factor_cases = cases<on_host<f32, f64>, on_chips<f32>, on_wide<f32>>;

/// Row-major matrices, one after another.
struct stack {
  i64 rows, columns;
  std::vector<double> values;

  stack(i64 m, i64 n, std::vector<double> v) : rows(m), columns(n), values(std::move(v)) {}
  template <class Tensor>
  static stack of(const Tensor& x) {
    return {x.size(-2), x.size(-1), values_of(x)};
  }
  [[nodiscard]] i64 count() const {
    return rows * columns == 0 ? 0 : static_cast<i64>(values.size()) / (rows * columns);
  }
  [[nodiscard]] double& at(i64 b, i64 i, i64 j) {
    return values[static_cast<std::size_t>((b * rows + i) * columns + j)];
  }
  [[nodiscard]] double at(i64 b, i64 i, i64 j) const {
    return values[static_cast<std::size_t>((b * rows + i) * columns + j)];
  }
  [[nodiscard]] stack transposed() const {
    stack r(columns, rows, values);
    for (i64 b = 0; b < count(); ++b)
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < columns; ++j) r.at(b, j, i) = at(b, i, j);
    return r;
  }
  /// With f(i, j, value) in the place of each element.
  template <class F>
  [[nodiscard]] stack with(F&& f) const {
    stack r = *this;
    for (i64 b = 0; b < count(); ++b)
      for (i64 i = 0; i < rows; ++i)
        for (i64 j = 0; j < columns; ++j) r.at(b, i, j) = f(i, j, at(b, i, j));
    return r;
  }
  [[nodiscard]] stack lower() const {
    return with([](i64 i, i64 j, double x) { return j <= i ? x : 0; });
  }
  [[nodiscard]] stack upper() const {
    return with([](i64 i, i64 j, double x) { return j >= i ? x : 0; });
  }
  /// A positive-definite matrix of each: A A^T plus its order times the identity.
  [[nodiscard]] stack definite() const;
};

inline stack operator*(const stack& a, const stack& b) {
  const i64 count = a.count();
  stack r(a.rows, b.columns,
          std::vector<double>(static_cast<std::size_t>(count * a.rows * b.columns)));
  for (i64 k = 0; k < count; ++k)
    for (i64 i = 0; i < a.rows; ++i)
      for (i64 j = 0; j < b.columns; ++j) {
        double sum = 0;
        for (i64 l = 0; l < a.columns; ++l)
          sum += a.at(k, i, l) * b.at(b.count() == 1 ? 0 : k, l, j);
        r.at(k, i, j) = sum;
      }
  return r;
}
inline stack stack::definite() const {
  const double n = static_cast<double>(columns);
  return (*this * transposed()).with([n](i64 i, i64 j, double x) { return i == j ? x + n : x; });
}
inline stack identity(i64 n, i64 count = 1) {
  return stack(n, n, std::vector<double>(static_cast<std::size_t>(n * n * count)))
      .with([](i64 i, i64 j, double) { return i == j ? 1.0 : 0.0; });
}
inline stack random_stack(i64 count, i64 m, i64 n) { return {m, n, random_values({count, m, n})}; }

/// Results of many steps, of numbers around 1.
template <class T>
tolerance factor_tolerance(i64 n) {
  const double step = std::is_same_v<T, f32> ? 2e-6 : 1e-13;
  return {step * static_cast<double>(n), step * static_cast<double>(4 * n)};
}

}  // namespace flaggems_test
