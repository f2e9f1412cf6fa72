// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// References for the rows of kernel/family/pointwise/tables/higher.hpp (pointwise_reference.hpp
// says what they are for): power series and closed forms in long double, for moderate operands.
#pragma once

#include <support/pointwise_reference.hpp>

#include <complex>

namespace flaggems_test::reference {

inline constexpr long double euler_gamma = 0.577215664901532860606512090082402431L;
inline constexpr long double pi_number = 3.14159265358979323846264338327950288L;

// ---- the gamma function and its relatives
inline double lgamma(double a) { return std::lgamma(a); }
inline double digamma(double a) {
  if (a == 0) return std::copysign(HUGE_VAL, -a);
  if (a < 0 && a == std::floor(a)) return std::nan("");
  if (!(std::fabs(a) < 1e6)) return a > 0 ? std::log(a) - 1 / (2 * a) : std::nan("");
  long double x = a, sum = 0;
  for (; x < 30; ++x) sum -= 1 / x;
  const long double z = 1 / (x * x);
  return static_cast<double>(
      sum + std::log(x) - 1 / (2 * x) -
      z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z * (1.0L / 240 - z / 132)))));
}
inline double special_zeta(double s, double q) {
  if (s == 1) return HUGE_VAL;
  if (!(s > 1)) return std::nan("");
  if (q <= 0 && q == std::floor(q)) return HUGE_VAL;
  if (q < 0 && s != std::floor(s)) return std::nan("");
  long double sum = 0, a = q;
  for (; a < 40; ++a) sum += std::pow(a, static_cast<long double>(-s));
  const long double power = std::pow(a, static_cast<long double>(-s)), z = 1 / (a * a), t = s;
  sum += power * (a / (t - 1) + 0.5L + t / (12 * a));
  sum -= power * t * (t + 1) * (t + 2) * z / (720 * a) *
         (1 - (t + 3) * (t + 4) * z / 42 * (1 - (t + 5) * (t + 6) * z / 40));
  return static_cast<double>(sum);
}
/// The sum of x^k / ((a + 1) ... (a + k)), times x^a e^-x / Gamma(a + 1).
inline long double lower_gamma(long double a, long double x) {
  long double sum = 1, term = 1;
  for (int k = 1; term > 1e-22L * sum; ++k) sum += term *= x / (a + k);
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a + 1));
}
inline double igamma(double a, double x) {
  if (!(a > 0) || !(x > 0)) return a > 0 && x == 0 ? 0 : a == 0 && x > 0 ? 1 : std::nan("");
  return static_cast<double>(lower_gamma(a, x));
}
inline double igammac(double a, double x) {
  if (!(a > 0) || !(x > 0)) return a > 0 && x == 0 ? 1 : a == 0 && x > 0 ? 0 : std::nan("");
  return static_cast<double>(1 - lower_gamma(a, x));
}
inline double special_erfcx(double a) {
  const long double x = a;
  return static_cast<double>(std::exp(x * x) * std::erfc(x));
}

// ---- Bessel functions: sums of sign^k (x^2 / 4)^k weight(k) / (k! (k + order)!), times (x /
// 2)^order
template <class Weight>
long double bessel_series(double a, int order, int sign, Weight weight) {
  const long double z = static_cast<long double>(a) * a / 4;
  long double sum = 0, term = order == 0 ? 1 : static_cast<long double>(a) / 2;
  for (int k = 0; std::fabs(term) > 1e-30L; term *= sign * z / ((k + 1) * (k + 1 + order)), ++k)
    sum += term * weight(k);
  return sum;
}
inline long double plain_weight(int) { return 1; }
/// Twice psi(k + 1), or psi(k + 1) + psi(k + 2).
template <int Order>
long double log_weight(int k) {
  long double sum = -euler_gamma;
  for (int j = 1; j <= k; ++j) sum += 1.0L / j;
  return 2 * sum + (Order == 1 ? 1.0L / (k + 1) : 0);
}
inline long double bessel_i(int order, double a) {
  return bessel_series(a, order, 1, plain_weight);
}
inline long double bessel_k(int order, double a) {
  if (!(a > 0)) return a == 0 ? HUGE_VALL : std::nanl("");
  const long double l = std::log(static_cast<long double>(a) / 2);
  return order == 0 ? bessel_series(a, 0, 1, log_weight<0>) / 2 - l * bessel_i(0, a)
                    : 1 / static_cast<long double>(a) + l * bessel_i(1, a) -
                          bessel_series(a, 1, 1, log_weight<1>) / 2;
}
inline double i0(double a) { return static_cast<double>(bessel_i(0, a)); }
inline double special_i0e(double a) {
  return static_cast<double>(bessel_i(0, a) * std::exp(-std::fabs(static_cast<long double>(a))));
}
inline double special_i1(double a) { return static_cast<double>(bessel_i(1, a)); }
inline double special_i1e(double a) {
  return static_cast<double>(bessel_i(1, a) * std::exp(-std::fabs(static_cast<long double>(a))));
}
inline double special_modified_bessel_k0(double a) { return static_cast<double>(bessel_k(0, a)); }
inline double special_modified_bessel_k1(double a) { return static_cast<double>(bessel_k(1, a)); }
inline double special_scaled_modified_bessel_k0(double a) {
  return static_cast<double>(bessel_k(0, a) * std::exp(static_cast<long double>(a)));
}
inline double special_scaled_modified_bessel_k1(double a) {
  return static_cast<double>(bessel_k(1, a) * std::exp(static_cast<long double>(a)));
}
inline double special_bessel_j0(double a) {
  return static_cast<double>(bessel_series(a, 0, -1, plain_weight));
}
inline double special_bessel_j1(double a) {
  return static_cast<double>(bessel_series(a, 1, -1, plain_weight));
}
inline double special_bessel_y0(double a) {
  if (!(a > 0)) return a == 0 ? -HUGE_VAL : std::nan("");
  return static_cast<double>(
      (2 * std::log(static_cast<long double>(a) / 2) * bessel_series(a, 0, -1, plain_weight) -
       bessel_series(a, 0, -1, log_weight<0>)) /
      pi_number);
}
inline double special_bessel_y1(double a) {
  if (!(a > 0)) return a == 0 ? -HUGE_VAL : std::nan("");
  return static_cast<double>(
      (2 * std::log(static_cast<long double>(a) / 2) * bessel_series(a, 1, -1, plain_weight) -
       bessel_series(a, 1, -1, log_weight<1>) - 2 / static_cast<long double>(a)) /
      pi_number);
}
inline double special_airy_ai(double a) {
  const long double x = a, cube = x * x * x;
  long double f = 0, g = 0, even = 1, odd = x;
  for (int k = 0; std::fabs(even) > 1e-30L || std::fabs(odd) > 1e-30L; ++k) {
    f += even;
    g += odd;
    even *= cube / ((3 * k + 2) * (3 * k + 3));
    odd *= cube / ((3 * k + 3) * (3 * k + 4));
  }
  return static_cast<double>(0.355028053887817239260063186004183177L * f -
                             0.258819403792806798405183560189203963L * g);
}

// ---- polynomials, by closed forms
/// (w^p + sign w^-p) / (w^q + sign w^-q), where x = (w + 1 / w) / 2.
inline double chebyshev_quotient(double a, double p, double q, int sign) {
  using number = std::complex<long double>;
  // Beside the ends of the interval, where both are 0.
  const number x = std::fabs(a) == 1 ? a * (1 + 1e-12L) : static_cast<long double>(a);
  const number w = x + std::sqrt(x * x - number(1));
  const auto sum = [&](double e) {
    const number power = std::pow(w, number(e));
    return power + static_cast<long double>(sign) / power;
  };
  return static_cast<double>((sum(p) / sum(q)).real());
}
/// f(degree), 0 for a negative one.
template <class F>
double of_degree(double n, F f) {
  return !(n > -1) ? 0 : f(std::trunc(n));
}
inline double special_chebyshev_polynomial_t(double x, double n) {
  return of_degree(n, [x](double k) { return chebyshev_quotient(x, k, 0, 1); });
}
inline double special_chebyshev_polynomial_u(double x, double n) {
  return of_degree(n, [x](double k) { return chebyshev_quotient(x, k + 1, 1, -1); });
}
inline double special_chebyshev_polynomial_v(double x, double n) {
  return of_degree(n, [x](double k) { return chebyshev_quotient(x, k + 0.5, 0.5, 1); });
}
inline double special_chebyshev_polynomial_w(double x, double n) {
  return of_degree(n, [x](double k) { return chebyshev_quotient(x, k + 0.5, 0.5, -1); });
}
inline double special_shifted_chebyshev_polynomial_t(double x, double n) {
  return special_chebyshev_polynomial_t(2 * x - 1, n);
}
inline double special_shifted_chebyshev_polynomial_u(double x, double n) {
  return special_chebyshev_polynomial_u(2 * x - 1, n);
}
inline double special_shifted_chebyshev_polynomial_v(double x, double n) {
  return special_chebyshev_polynomial_v(2 * x - 1, n);
}
inline double special_shifted_chebyshev_polynomial_w(double x, double n) {
  return special_chebyshev_polynomial_w(2 * x - 1, n);
}
inline double choose(double n, double k) {
  double r = 1;
  for (double j = 1; j <= k; ++j) r *= (n - k + j) / j;
  return r;
}
/// The sum over k of (-1)^k n! / (k! (n - 2k)!) weight^k t^(n - 2k).
inline double hermite_sum(double t, double weight, double n) {
  double r = 0;
  for (double k = 0; 2 * k <= n; ++k)
    r += std::pow(-weight, k) * std::tgamma(n + 1) / std::tgamma(k + 1) /
         std::tgamma(n - 2 * k + 1) * std::pow(t, n - 2 * k);
  return r;
}
inline double special_hermite_polynomial_h(double x, double n) {
  return of_degree(n, [x](double k) { return hermite_sum(2 * x, 1, k); });
}
inline double special_hermite_polynomial_he(double x, double n) {
  return of_degree(n, [x](double k) { return hermite_sum(x, 0.5, k); });
}
inline double special_laguerre_polynomial_l(double x, double n) {
  return of_degree(n, [x](double d) {
    double r = 0;
    for (double k = 0; k <= d; ++k) r += choose(d, k) * std::pow(-x, k) / std::tgamma(k + 1);
    return r;
  });
}
inline double special_legendre_polynomial_p(double x, double n) {
  return of_degree(n, [x](double d) {
    double r = 0;
    for (double k = 0; 2 * k <= d; ++k)
      r += std::pow(-1, k) * choose(d, k) * choose(2 * d - 2 * k, d) * std::pow(x, d - 2 * k);
    return r / std::pow(2, d);
  });
}

}  // namespace flaggems_test::reference
