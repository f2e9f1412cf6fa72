// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gamma function: its logarithm, the derivatives of that, and the zeta function of Hurwitz.
// Between 1 and 2.5 quotients of polynomials, made by interpolation; above 8 asymptotic series; in
// between and below zero recurrences and reflections.
#pragma once

#include <flaggems/kernel/math/log.hpp>
#include <flaggems/kernel/math/special/lanes.hpp>
#include <flaggems/kernel/math/trig.hpp>

namespace flaggems::kernels {

/// log(Gamma(x)) / ((x - 1) (x - 2)) for 1 <= x <= 2.5.
template <class T>
FLAGGEMS_HD T lgamma_ratio(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1.96791285f, 11.73353488f, 10.83686038f, 1.712629297f, 0.01371172585f) /
           horner(x, 1.0f, 12.67557047f, 22.56187508f, 8.652727491f, 0.6121421783f);
  else
    return horner(x, 2.43149553055485502, 48.9901158150037542, 205.400966460020127,
                  273.946919750713206, 128.118818605332208, 20.0783747308025541,
                  0.80870864894565458, 0.00190484481396531926) /
           horner(x, 1.0, 35.4424259713870403, 230.338529759911555, 463.480246786623203,
                  342.34280626858826, 95.6752611973554902, 9.18961522793342419,
                  0.214510650559427752);
}

/// psi(x) / (x - r) for 1 <= x <= 2, where psi(r) = 0.
template <class T>
FLAGGEMS_HD T digamma_ratio(T x) {
  if constexpr (is_same<T, f32>)
    return horner(x, 1971.800772f, 4669.427368f, 1691.09269f, 41.63543986f, -1.035734351f) /
           horner(x, 1.0f, 2873.572382f, 3225.607504f, 596.1201313f);
  else
    return horner(x, 4.32989460042732982e+6, 1.31278914996727365e+7, 1.03128503006382832e+7,
                  2.69975644079887692e+6, 204260.401244190428, 1276.12928372686829,
                  -12.8945118881798406) /
           horner(x, 1.0, 6.32870138451092871e+6, 1.12052893431331015e+7, 5.88792473738755447e+6,
                  1.05960801626210435e+6, 51747.8872220905051);
}

/// sin(pi x) for |x| <= 1/2.
template <class T>
FLAGGEMS_HD T sine_of_turn(T x) {
  const T pi = T(3.14159265358979323846), a = abs(x);
  const T s = a <= T(0.25f) ? sin_of_remainder(T(pi * a), T(0))
                            : cos_of_remainder(T(pi * (T(0.5f) - a)), T(0));
  return x < 0 ? -s : s;
}
/// 1 / tan(pi x) for |x| <= 1/2.
template <class T>
FLAGGEMS_HD T cotangent_of_turn(T x) {
  const T pi = T(3.14159265358979323846), a = abs(x);
  const T r = pi * (a <= T(0.25f) ? a : T(0.5f) - a);
  const T s = sin_of_remainder(r, T(0)), c = cos_of_remainder(r, T(0));
  const T y = a <= T(0.25f) ? c / s : s / c;
  return x < 0 ? -y : y;
}

/// log(Gamma(x)) - ((x - 1/2) log(x) - x + log(2 pi) / 2) for x >= 8.
template <class T>
FLAGGEMS_HD T stirling_rest(T x) {
  const T u = T(1) / x, z = u * u;
  if constexpr (is_same<T, f32>)
    return u * horner(z, 0.08333333333f, -0.002777777778f, 7.936507937e-4f);
  else
    return u * horner(z, 0.0833333333333333333, -0.00277777777777777778, 0.000793650793650793651,
                      -0.000595238095238095238, 0.000841750841750841751, -0.00191752691752691753,
                      0.00641025641025641026, -0.0295506535947712418, 0.179644372368830573);
}
/// log(Gamma(x)) for x > 0.
template <class T>
FLAGGEMS_HD T lgamma_positive(T x) {
  const T one(1);
  // Gamma(x) = Gamma(x + 1) / x
  if (x < one) return x * (x - one) * lgamma_ratio(T(x + one)) - log(x);
  if (x < T(8)) {
    T y = x, product = one;
    while (y > T(2.5f)) product *= (y -= one);
    return log(product) + (y - one) * (y - T(2)) * lgamma_ratio(y);
  }
  const T whole = (x - T(0.5f)) * (log(x) - one);
  return whole == infinity_of<T>() ? whole : whole + (T(0.41893853320467274178) + stirling_rest(x));
}
/// log|Gamma(x)|, infinite at 0, -1, -2, ...: within 5 ulp for x > 0; for x < 0, where it has
/// zeros, within 4 ulp of the greatest of its terms.
struct lgamma_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (x != x || abs(x) == infinity_of<T>()) return abs(x);
    if (x > 0) return lgamma_positive(x);
    const T whole = round(x);
    if (x == whole) return infinity_of<T>();
    // Gamma(x) Gamma(1 - x) = pi / sin(pi x)
    return T(1.14472988584940017414) - log(abs(sine_of_turn(T(x - whole)))) -
           lgamma_positive(T(T(1) - x));
  }
};

/// psi(x) for x > 0.
template <class T>
FLAGGEMS_HD T digamma_positive(T x) {
  const T one(1);
  if (x < T(8)) {
    // psi(x + 1) = psi(x) + 1 / x; the sum of reciprocals as one quotient.
    T y = x, above = 0, below = one;
    if (x < one) {
      above = -one;
      below = x;
      y = x + one;
    }
    while (y > T(2)) {
      y -= one;
      above = above * y + below;
      below *= y;
    }
    const T root = is_same<T, f32> ? T(1.4616321325302124f) : T(1.4616321449683622);
    const T rest = is_same<T, f32> ? T(1.24381499389e-8) : T(9.5499954299656977e-17);
    return above / below + ((y - root) - rest) * digamma_ratio(y);
  }
  const T u = one / x, z = u * u;
  T tail;
  if constexpr (is_same<T, f32>)
    tail = horner(z, 0.08333333333f, -0.008333333333f, 0.003968253968f);
  else
    tail = horner(z, 0.0833333333333333333, -0.00833333333333333333, 0.00396825396825396825,
                  -0.00416666666666666667, 0.00757575757575757576, -0.0210927960927960928,
                  0.0833333333333333333, -0.443259803921568627, 3.05395433027011974);
  return log(x) - (T(0.5f) * u + z * tail);
}
/// The derivative psi of log(Gamma(x)); at zeros it is infinite, at negative integers NaN: within
/// 4 ulp for x > 0; for x < 0, where it has zeros, within 4 ulp of the greatest of its terms.
struct digamma_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (x == 0) return copysign(infinity_of<T>(), -x);
    if (x > 0) return x == infinity_of<T>() ? x : digamma_positive(x);
    const T whole = round(x);
    if (x == whole || x != x || x == -infinity_of<T>()) return nan_of<T>();
    // psi(1 - x) - psi(x) = pi / tan(pi x)
    return digamma_positive(T(T(1) - x)) -
           T(3.14159265358979323846) * cotangent_of_turn(T(x - whole));
  }
};

/// The sum of (q + k)^-s over k = 0, 1, ... for s > 1, q > 0: nine terms, then the series of Euler
/// and Maclaurin.
template <class T>
FLAGGEMS_HD T zeta_positive(T s, T q) {
  if (q == infinity_of<T>()) return 0;
  const T least = power_of_two<T>(-float_format<T>::mantissa - 3);
  T sum = 0, a = q;
  for (int k = 0; k < 9; ++k) {
    const T term = pow(a, T(-s));
    sum += term;
    if (term <= least * sum) return sum;
    a += T(1);
  }
  const T power = pow(a, T(-s)), inverse = T(1) / a, z = inverse * inverse;
  sum += power * (a / (s - T(1)) + T(0.5f));
  // B(2j) / (2j)!
  FLAGGEMS_TABLE f64 factors[] = {
      0.0833333333333333333,    -0.00138888888888888889,  0.0000330687830687830688,
      -8.2671957671957672e-7,   2.0876756987868099e-8,    -5.28419013868749318e-10,
      1.33825365306846788e-11,  -3.38968029632258287e-13, 8.58606205627784456e-15,
      -2.17486869855806187e-16, 5.50900282836022952e-18,  -1.39544646858125233e-19};
  T rising = s * inverse;
  for (int j = 0; j < 12; ++j) {
    const T term = power * rising * T(factors[j]);
    sum += term;
    if (abs(term) <= least * sum) break;
    rising *= (s + T(2 * j + 1)) * (s + T(2 * j + 2)) * z;
  }
  return sum;
}
/// The sum of (low + k)^-s over k = 0, 1, ... less that of (above + k)^-s up to beyond - 1, for
/// low + above = 1. The first terms in pairs: near 1/2 there is a zero, and nothing may cancel.
template <class T>
FLAGGEMS_HD T zeta_odd(T s, T low, T above, T beyond) {
  const T gap = abs(T(1) - T(2) * above);
  T sum = 0, k = 0;
  for (; k < T(16) && k + above < beyond; k += T(1)) {
    const T a = k + (low < above ? low : above);
    sum -= pow(a, T(-s)) * expm1(T(-s * log1p(T(gap / a))));
  }
  if (above < low) sum = -sum;
  if (k + above < beyond) sum -= zeta_positive(s, T(k + above)) - zeta_positive(s, beyond);
  return sum + zeta_positive(s, T(k + low));
}
/// The zeta function of Hurwitz, the sum of (q + k)^-s: NaN for s < 1, and for q < 0 unless s is an
/// integer; infinite for s = 1 and q = 0, -1, -2, ...
struct zeta_at {
  template <class T>
  FLAGGEMS_HD static T at(T s, T q) {
    if (s == T(1)) return infinity_of<T>();
    if (!(s > T(1))) return nan_of<T>();
    if (q > 0) return zeta_positive(s, q);
    if (q == floor(q)) return infinity_of<T>();
    if (q != q || s != floor(s)) return nan_of<T>();
    // The terms of negative numbers are those of positive ones, with the sign of (-1)^s.
    const T above = ceil(q) - q, low = T(1) - above, beyond = T(1) - q;
    if (floor(s * T(0.5f)) * T(2) != s) return zeta_odd(s, low, above, beyond);
    return zeta_positive(s, low) + (zeta_positive(s, above) - zeta_positive(s, beyond));
  }
};

/// The derivative n of psi, for n >= 0: (-1)^(n + 1) n! zeta(n + 1, x). Within 16 ulp, near its
/// zeros within 40, where no factor leaves the range.
struct polygamma_at {
  template <class T>
  FLAGGEMS_HD static T at(T x, T n) {
    if (n == 0) return digamma_at::at(x);
    T r = zeta_at::at(T(n + T(1)), x);
    const int last = n < T(200) ? static_cast<int>(n) : 200;  // 200! is beyond the range of f64
    for (int k = 2; k <= last; ++k) r *= T(k);
    return floor(n * T(0.5f)) * T(2) == n ? -r : r;
  }
};
/// The logarithm of the gamma function of dimension p >= 1: p (p - 1) / 4 log(pi) and the sum of
/// log|Gamma(x - i / 2)| over i < p.
struct mvlgamma_at {
  template <class T>
  FLAGGEMS_HD static T at(T x, T p) {
    T r = p * (p - T(1)) * T(0.28618247146235004353);
    for (T i = 0; i < p; i += T(1)) r += lgamma_at::at(T(x - i * T(0.5f)));
    return r;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/special/gamma.hpp");
