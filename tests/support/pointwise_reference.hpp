// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A reference in double for each row of the pointwise table, under the row's name. A row without
// one does not compile in the tests: whoever adds an operator to the table says here, in other
// words than the table's, what it computes.
#pragma once

#include <cmath>

namespace flaggems_test {

namespace reference {
// Formulas as PyTorch's, so that infinities give what they give there.
inline double neg(double a) { return -a; }
inline double abs(double a) { return std::fabs(a); }
inline double square(double a) { return a * a; }
inline double relu(double a) { return std::isnan(a) || a > 0 ? a : 0; }
inline double exp(double a) { return std::exp(a); }
inline double exp2(double a) { return std::exp2(a); }
inline double expm1(double a) { return std::expm1(a); }
inline double log(double a) { return std::log(a); }
inline double log1p(double a) { return std::log1p(a); }
inline double log2(double a) { return std::log2(a); }
inline double sqrt(double a) { return std::sqrt(a); }
inline double rsqrt(double a) { return 1 / std::sqrt(a); }
inline double reciprocal(double a) { return 1 / a; }
inline double sin(double a) { return std::sin(a); }
inline double cos(double a) { return std::cos(a); }
inline double tanh(double a) { return std::tanh(a); }
inline double erf(double a) { return std::erf(a); }
inline double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }
inline double silu(double a) { return a / (1 + std::exp(-a)); }
inline double gelu_none(double a) { return a * 0.5 * std::erfc(-a * std::sqrt(0.5)); }
inline double gelu_tanh(double a) {
  // 0.5 (1 + tanh u) = sigmoid(2u), which keeps its digits where tanh is near -1
  const double u = std::sqrt(2 / 3.14159265358979323846) * (a + 0.044715 * a * a * a);
  return a / (1 + std::exp(-2 * u));
}
inline double add(double a, double b) { return a + b; }
inline double sub(double a, double b) { return a - b; }
inline double mul(double a, double b) { return a * b; }
inline double div(double a, double b) { return a / b; }
inline double pow(double a, double b) { return std::pow(a, b); }
inline double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
}
inline double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
}
inline double eq(double a, double b) { return a == b ? 1 : 0; }
inline double ne(double a, double b) { return a == b ? 0 : 1; }
inline double lt(double a, double b) { return a < b ? 1 : 0; }
inline double le(double a, double b) { return a < b || a == b ? 1 : 0; }
inline double gt(double a, double b) { return b < a ? 1 : 0; }
inline double ge(double a, double b) { return b < a || a == b ? 1 : 0; }
inline double logical_not(double a) { return a == 0 ? 1 : 0; }
inline double logical_and(double a, double b) { return a == 0 || b == 0 ? 0 : 1; }
inline double logical_or(double a, double b) { return a == 0 && b == 0 ? 0 : 1; }
inline double logical_xor(double a, double b) { return (a == 0) != (b == 0) ? 1 : 0; }
inline double clamp(double a, double low, double high) {
  return reference::minimum(reference::maximum(a, low), high);
}
}  // namespace reference

}  // namespace flaggems_test
