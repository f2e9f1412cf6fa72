// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A reference in double for each row of the pointwise tables, under the row's name; options follow
// the operands, with their defaults. A row without one does not compile in the tests: whoever adds
// an operator to a table says here, in other words than the table's, what it computes.
#pragma once

#include <cmath>
#include <numeric>
#include <string_view>

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

// ---- rounding
inline double ceil(double a) { return std::ceil(a); }
inline double floor(double a) { return std::floor(a); }
inline double round(double a) { return std::nearbyint(a); }
inline double trunc(double a) { return std::trunc(a); }
inline double frac(double a) { return a - std::trunc(a); }
inline double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : 0; }
inline double signbit(double a) { return std::signbit(a) ? 1 : 0; }
inline double copysign(double a, double b) { return std::copysign(a, b); }

// ---- comparison
inline double isnan(double a) { return std::isnan(a) ? 1 : 0; }
inline double isinf(double a) { return std::isinf(a) ? 1 : 0; }
inline double isfinite(double a) { return std::isfinite(a) ? 1 : 0; }
inline double isposinf(double a) { return a > 0 && std::isinf(a) ? 1 : 0; }
inline double isneginf(double a) { return a < 0 && std::isinf(a) ? 1 : 0; }

// ---- arithmetic
inline double conj_physical(double a) { return a; }
inline double deg2rad(double a) { return a / 180 * 3.14159265358979323846; }
inline double rad2deg(double a) { return a * (180 / 3.14159265358979323846); }
inline double fmod(double a, double b) { return std::fmod(a, b); }
inline double remainder(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && std::signbit(r) != std::signbit(b) ? r + b : r;
}
inline double fmax(double a, double b) { return std::fmax(a, b); }
inline double fmin(double a, double b) { return std::fmin(a, b); }
inline double heaviside(double a, double b) { return a > 0 ? 1 : a == 0 ? b : 0; }
inline double gcd(double a, double b) {
  return static_cast<double>(std::gcd(static_cast<long>(a), static_cast<long>(b)));
}
inline double lcm(double a, double b) {
  return static_cast<double>(std::lcm(static_cast<long>(a), static_cast<long>(b)));
}
inline double hypot(double a, double b) { return std::hypot(a, b); }
inline double float_power(double a, double b) { return std::pow(a, b); }
inline double masked_scale(double a, double mask, double scale) { return mask * scale * a; }
inline double lerp(double a, double b, double w) { return (1 - w) * a + w * b; }

// ---- bits
inline double bitwise_not(double a) { return static_cast<double>(~static_cast<long>(a)); }
inline double bitwise_and(double a, double b) {
  return static_cast<double>(static_cast<long>(a) & static_cast<long>(b));
}
inline double bitwise_or(double a, double b) {
  return static_cast<double>(static_cast<long>(a) | static_cast<long>(b));
}
inline double bitwise_xor(double a, double b) {
  return static_cast<double>(static_cast<long>(a) ^ static_cast<long>(b));
}
inline double bitwise_left_shift(double a, double n) { return n < 0 ? 0 : std::ldexp(a, int(n)); }
inline double bitwise_right_shift(double a, double n) {
  return n < 0 ? (a < 0 ? -1 : 0) : std::floor(std::ldexp(a, -int(n)));
}

// ---- activations
inline double selu(double a) {
  return 1.0507009873554804934193349852946 *
         (a > 0 ? a : 1.6732632423543772848170429916717 * std::expm1(a));
}
inline double relu6(double a) { return std::isnan(a) ? a : a < 0 ? 0 : a > 6 ? 6 : a; }
inline double softplus(double a, double beta = 1, double threshold = 20) {
  const double z = a * beta;
  return z > threshold ? a
                       : (z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z))) / beta;
}
inline double mish(double a) { return a * std::tanh(softplus(a, 1, 1e300)); }
inline double hardsigmoid(double a) { return relu6(a + 3) / 6; }
inline double hardswish(double a) { return a * relu6(a + 3) / 6; }
inline double log_sigmoid(double a) {
  return (a < 0 ? a : 0) - std::log1p(std::exp(-std::fabs(a)));
}
inline double squared_relu(double a) { return std::isnan(a) ? a : a > 0 ? a * a : 0; }
inline double leaky_relu(double a, double slope = 0.01) { return a > 0 ? a : a * slope; }
inline double celu(double a, double alpha = 1) { return a > 0 ? a : alpha * std::expm1(a / alpha); }
inline double hardshrink(double a, double lambd = 0.5) { return std::fabs(a) <= lambd ? 0 : a; }
inline double softshrink(double a, double lambd = 0.5) {
  return a > lambd ? a - lambd : a < -lambd ? a + lambd : a * 0;
}
inline double threshold(double a, double limit, double value) { return a <= limit ? value : a; }
inline double hardtanh(double a, double low = -1, double high = 1) {
  return std::isnan(a) ? a : a < low ? low : a > high ? high : a;
}
inline double elu(double a, double alpha = 1, double scale = 1, double input_scale = 1) {
  return scale * (a > 0 ? a : alpha * std::expm1(a * input_scale));
}
inline double prelu_kernel(double a, double w) { return a > 0 ? a : w * a; }
inline double silu_and_mul_with_clamp(double a, double b, double limit) {
  return silu(a > limit ? limit : a) * hardtanh(b, -limit, limit);
}

// ---- gradients of activations
inline double sigmoid_backward(double g, double y) { return g * ((1 - y) * y); }
inline double tanh_backward(double g, double y) { return g * (1 - y * y); }
inline double silu_backward(double g, double x) {
  const double s = sigmoid(x);
  return g * (s * (1 + x * (1 - s)));
}
inline double mish_backward(double g, double x) {
  const double t = std::tanh(softplus(x, 1, 1e300));
  return g * (t + x * sigmoid(x) * (1 - t * t));
}
inline double threshold_backward(double g, double x, double limit) { return x <= limit ? 0 : g; }
inline double softplus_backward(double g, double x, double beta, double threshold) {
  return x * beta > threshold ? g : g * sigmoid(x * beta);
}

// ---- trigonometric
inline double tan(double a) { return std::tan(a); }
inline double asin(double a) { return std::asin(a); }
inline double acos(double a) { return std::acos(a); }
inline double atan(double a) { return std::atan(a); }
inline double sinh(double a) { return std::sinh(a); }
inline double cosh(double a) { return std::cosh(a); }
inline double asinh(double a) { return std::asinh(a); }
inline double acosh(double a) { return std::acosh(a); }
inline double atanh(double a) { return std::atanh(a); }
inline double sinc(double a) {
  const double pi = 3.14159265358979323846, r = a - 2 * std::nearbyint(a / 2);
  return a == 0 ? 1
                : (std::fabs(r) > 0.5 ? std::copysign(std::sin(pi * (1 - std::fabs(r))), r)
                                      : std::sin(pi * r)) /
                      (pi * a);
}
inline double angle(double a) { return std::isnan(a) ? a : a < 0 ? 3.14159265358979323846 : 0; }
inline double atan2(double a, double b) { return std::atan2(a, b); }

// ---- special functions
inline double log10(double a) { return std::log10(a); }
inline double erfc(double a) { return std::erfc(a); }
inline double erfinv(double a) {
  if (a == 0 || !(std::fabs(a) < 1))
    return a == 0 ? a : std::fabs(a) == 1 ? a * HUGE_VAL : std::nan("");
  double low = 0, high = 7;  // by bisection
  const double x = std::fabs(a), rest = 1 - x;
  for (int k = 0; k < 200; ++k) {
    const double middle = (low + high) / 2;
    (x < 0.5 ? std::erf(middle) < x : std::erfc(middle) > rest) ? low = middle : high = middle;
  }
  return std::copysign(high, a);
}
inline double logaddexp(double a, double b) {
  const double m = maximum(a, b);
  return std::isinf(m) || std::isnan(m) ? m : m + std::log1p(std::exp(-std::fabs(a - b)));
}
inline double logaddexp2(double a, double b) {
  const double m = maximum(a, b);
  return std::isinf(m) || std::isnan(m) ? m : m + std::log2(1 + std::exp2(-std::fabs(a - b)));
}
inline double xlogy(double a, double b) { return std::isnan(b) ? b : a == 0 ? 0 : a * std::log(b); }
inline double xlog1py(double a, double b) {
  return std::isnan(b) ? b : a == 0 ? 0 : a * std::log1p(b);
}
}  // namespace reference

/// What a row's test has to know beside its reference.
struct row_facts {
  double units = 1;             ///< how many times the usual error
  double atol = 0;              ///< where terms cancel
  bool special = true;          ///< whether special values are compared, too
  bool moderate_first = false;  ///< of which the first operand is none
  bool any_zero = false;        ///< of a zero either sign may come
  double low = -4, high = 4;    ///< of random operands
};
constexpr row_facts facts_of(std::string_view row) {
  row_facts r;
  r.any_zero = row == "sinc" || row == "fmax" || row == "fmin" || row == "lerp";
  if (row == "masked_scale") r.special = false;  // its products may leave the range in between
  if (row == "lerp") r.atol = 1e-5, r.special = false;
  if (row == "mish" || row == "silu_and_mul_with_clamp" || row == "celu") r.units = 2;
  // Products of a gradient and what cancels, or with a great gradient leaves the range in between.
  if (row.ends_with("_backward")) r.atol = 1e-5;
  r.moderate_first = row == "sigmoid_backward" || row == "tanh_backward" ||
                     row == "silu_backward" || row == "mish_backward";
  if (row == "relu6" || row == "hardtanh" || row == "squared_relu") r.any_zero = true;
  if (row == "tan" || row == "sinc" || row == "erfc" || row == "erfinv" || row == "xlogy" ||
      row == "xlog1py")
    r.units = 4;
  if (row == "asin" || row == "acos" || row == "atanh" || row == "erfinv") r.low = -1, r.high = 1;
  if (row == "acosh") r.low = 1;
  if (row == "logaddexp" || row == "logaddexp2") r.atol = 1e-6;  // 0 where its terms cancel
  if (row == "deg2rad" || row == "rad2deg") r.units = 2;
  // Higher functions: most have zeros, near which errors are those of a sum's terms.
  const bool in_interval = row == "igamma" || row == "igammac" || row == "special_zeta";
  if (row.starts_with("special_") || in_interval || row == "lgamma" || row == "digamma" ||
      row == "i0")
    r.units = 16, r.atol = 4e-6, r.special = false, r.any_zero = true;
  if (row.ends_with("_k0") || row.ends_with("_k1") || row.ends_with("_y0") ||
      row.ends_with("_y1") || row == "igamma" || row == "igammac")
    r.low = 0.1;
  if (row == "special_zeta") r.low = 1.1;
  if (row.find("polynomial") != row.npos) r.atol = 1e-4;  // of terms to 1000
  return r;
}

}  // namespace flaggems_test
