// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The regularised incomplete gamma functions P and Q = 1 - P: a power series below the maximum of
// the integrand, a continued fraction above, and for great a near that the expansion of Temme (SIAM
// J. Math. Anal. 10 (1979)). Also e^(x^2) erfc(x).
#pragma once

#include <flaggems/kernel/math/erf_inverse.hpp>
#include <flaggems/kernel/math/special/gamma.hpp>

namespace flaggems::kernels {

/// e^(x^2) erfc(x), within 8 ulp.
struct erfcx_at {
  template <class T>
  FLAGGEMS_HD static T at(T x) {
    if (x < T(-30)) return infinity_of<T>();
    if (x < T(0.5f)) {
      const T high = upper_half(x);
      return exp(T(high * high)) * exp(T((x - high) * (x + high))) * erfc(x);
    }
    if (x <= (is_same<T, f32> ? T(10) : T(27))) {
      T above, below;
      const T t = x * T(1.41421356237309504880);
      normal_tail(t, t, above, below);
      return T(2) * above / (below * t);
    }
    const T u = T(1) / x, z = u * u;
    return u * horner(z, T(0.56418958354775628695), T(-0.28209479177387814347),
                      T(0.42314218766081721521), T(-1.057855469152043038), T(3.7024941420321506330),
                      T(-16.662223639144677849), T(91.6422300152957281685),
                      T(-595.674495099422233095));
  }
};

/// m - log(1 + m) for m > -1.
template <class T>
FLAGGEMS_HD T less_log1p(T m) {
  if (abs(m) > T(0.3f)) return m - log1p(m);
  const T y = m / (m + T(2)), z = y * y;  // log(1 + m) = 2 atanh(y)
  T tail;
  if constexpr (is_same<T, f32>)
    tail = horner(z, 0.6666666667f, 0.4f, 0.2857142857f, 0.2222222222f);
  else
    tail = horner(z, 0.666666666666666667, 0.4, 0.285714285714285714, 0.222222222222222222,
                  0.181818181818181818, 0.153846153846153846, 0.133333333333333333,
                  0.117647058823529412, 0.105263157894736842, 0.0952380952380952381);
  return y * (m - z * tail);
}
/// x^a e^-x / Gamma(a + 1) for a, x > 0.
template <class T>
FLAGGEMS_HD T gamma_density(T a, T x) {
  if (a < T(8)) return exp(T(a * log(x) - x - lgamma_positive(T(a + T(1)))));
  // The same by the series of Stirling, without the logarithms' great terms.
  const T m = (x - a) / a;
  return exp(T(-a * less_log1p(m) - stirling_rest(a))) * T(0.39894228040143267794) / sqrt(a);
}
/// P(a, x) by a power series, for x not much greater than a.
template <class T>
FLAGGEMS_HD T lower_gamma_series(T a, T x) {
  const T least = power_of_two<T>(-float_format<T>::mantissa - 2);
  T sum = 1, term = 1;
  for (int n = 1; n < 2000 && term > least * sum; ++n) {
    term *= x / (a + T(n));
    sum += term;
  }
  return sum * gamma_density(a, x);
}
/// Q(a, x) by a continued fraction, for x > a, x > 1 (Lentz's method).
template <class T>
FLAGGEMS_HD T upper_gamma_fraction(T a, T x) {
  const T least = power_of_two<T>(-float_format<T>::mantissa - 1), one(1);
  const T tiny = power_of_two<T>(-float_format<T>::bias / 2);
  T b = x + one - a, c = one / tiny, d = one / b, r = d;
  for (int n = 1; n < 2000; ++n) {
    const T factor = T(n) * (a - T(n));
    b += T(2);
    d = factor * d + b;
    d = one / (abs(d) < tiny ? tiny : d);
    c = b + factor / c;
    if (abs(c) < tiny) c = tiny;
    const T step = c * d;
    r *= step;
    if (abs(step - one) <= least) break;
  }
  return r * gamma_density(a, x) * a;
}
/// Q(a, x) for small x: 1 minus the power series, computed without their cancellation.
template <class T>
FLAGGEMS_HD T upper_gamma_series(T a, T x) {
  const T least = power_of_two<T>(-float_format<T>::mantissa - 2);
  T sum = 0, term = 1;
  for (int n = 1; n < 200; ++n) {
    term *= -x / T(n);
    const T part = term / (a + T(n));
    sum += part;
    if (abs(part) <= least * abs(sum)) break;
  }
  const T power = a * log(x) - lgamma_positive(T(a + T(1)));
  return -expm1(power) - exp(power) * a * sum;
}
/// The series of Temme's expansion in eta and u = 1 / a, for |eta| <= 0.35, a >= 200.
template <class T>
FLAGGEMS_HD T temme_series(T eta, T u) {
  if constexpr (is_same<T, f32>) {
    return horner(u,
                  horner(eta, -0.3333333333f, 0.08333333333f, -0.01481481481f, 0.001157407407f,
                         3.527336861e-4f, -1.78755144e-4f, 3.919263179e-5f, -2.185448511e-6f),
                  horner(eta, -0.001851851852f, -0.003472222222f, 0.002645502646f, -9.902263374e-4f,
                         2.057613169e-4f, -4.01877572e-7f),
                  horner(eta, 0.004133597884f, -0.00268132716f, 7.716049383e-4f, 2.00938786e-6f));
  } else {
    return horner(
        u,
        horner(eta, -0.333333333333333333, 0.0833333333333333333, -0.0148148148148148148,
               0.00115740740740740741, 3.527336860670194e-4, -1.78755144032921811e-4,
               3.91926317852243778e-5, -2.18544851067999216e-6, -1.85406221071515996e-6,
               8.29671134095308601e-7, -1.76659527368260793e-7, 6.70785354340149858e-9,
               1.0261809784240308e-8, -4.38203601845335319e-9, 9.14769958223679023e-10,
               -2.55141939949462498e-11, -5.83077213255042507e-11, 2.43619480206674162e-11),
        horner(eta, -0.00185185185185185185, -0.00347222222222222222, 0.0026455026455026455,
               -9.90226337448559671e-4, 2.05761316872427984e-4, -4.01877572016460905e-7,
               -1.80985503344899778e-5, 7.64916091608111008e-6, -1.6120900894563446e-6,
               4.64712780280743434e-9, 1.37863344691572096e-7, -5.75254560351770496e-8,
               1.19516285997781473e-8, -1.75432417197476476e-11, -1.00915437106004126e-9,
               4.16279299184258264e-10),
        horner(eta, 0.0041335978835978836, -0.00268132716049382716, 7.71604938271604938e-4,
               2.00938786008230453e-6, -1.07366532263651605e-4, 5.29234488291201254e-5,
               -1.27606351886187277e-5, 3.42357873409613807e-8, 1.37219573090629332e-6,
               -6.29899213838005502e-7, 1.42806142060642418e-7, -2.0477098421990866e-10,
               -1.40925299108675211e-8, 6.22897408492202203e-9),
        horner(eta, 6.49434156378600823e-4, 2.29472093621399177e-4, -4.69189494395255712e-4,
               2.67720632062838853e-4, -7.56180167188397641e-5, -2.39650511386729665e-7,
               1.10826541153473024e-5, -5.67495282699159657e-6, 1.42309007324358839e-6,
               -2.78610802915281422e-11, -1.69584040919302773e-7, 8.09946490538808236e-8),
        horner(eta, -8.61888290916711699e-4, 7.84039221720066627e-4, -2.9907248030319018e-4,
               -1.46384525788434182e-6, 6.64149821546512219e-5, -3.96836504717943466e-5,
               1.13757269706784191e-5, 2.5074972262375328e-10, -1.6954149536558306e-6,
               8.90750753220530969e-7),
        horner(eta, -3.3679855336635815e-4, -6.97281375836585777e-5, 2.77275324495939208e-4,
               -1.99325705161888477e-4, 6.79778047793720784e-5, 1.41906292064396701e-7,
               -1.35940481897686933e-5, 8.01847025633420154e-6),
        horner(eta, 5.31307936463992223e-4, -5.92166437353693883e-4, 2.70878209671804483e-4,
               7.90235323266032787e-7, -8.15396936756196875e-5, 5.61168275310624965e-5));
  }
}
/// Q(a, x), or P(a, x), for a >= 200 and x near it.
template <bool IsUpper, class T>
FLAGGEMS_HD T gamma_near_peak(T a, T x) {
  const T m = (x - a) / a, distance = less_log1p(m);
  const T eta = copysign(sqrt(T(T(2) * distance)), m);
  const T tail =
      exp(T(-a * distance)) * T(0.39894228040143267794) / sqrt(a) * temme_series(eta, T(T(1) / a));
  const T y = eta * sqrt(T(T(0.5f) * a));
  return IsUpper ? T(0.5f) * erfc(y) + tail : T(0.5f) * erfc(T(-y)) - tail;
}

/// P(a, x), or Q(a, x): NaN for negative a or x. Errors are within 40 ulp from 1/1000 on; below,
/// where an exponential vanishes, within 10 |log| ulp of the result.
template <bool IsUpper>
struct incomplete_gamma_at {
  template <class T>
  FLAGGEMS_HD static T at(T a, T x) {
    const T none = IsUpper ? T(1) : T(0), infinity = infinity_of<T>();
    if (x < 0 || a < 0) return nan_of<T>();
    if (a == 0) return x > 0 ? T(1) - none : nan_of<T>();
    if (x == 0) return none;
    if (a == infinity) return x == infinity ? nan_of<T>() : none;
    if (x == infinity) return T(1) - none;
    if (a != a || x != x) return nan_of<T>();
    if (a >= T(200) && abs(x - a) < T(0.3f) * a) return gamma_near_peak<IsUpper>(a, x);
    if (x > T(1.1f) && x > a) {
      const T q = upper_gamma_fraction(a, x);
      return IsUpper ? q : T(1) - q;
    }
    if (IsUpper && x <= T(1.1f) && x * T(1.1f) >= a) return upper_gamma_series(a, x);
    const T p = lower_gamma_series(a, x);
    return IsUpper ? T(1) - p : p;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/special/incomplete_gamma.hpp");
