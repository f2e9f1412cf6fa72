// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Orthogonal polynomials by their recurrences, in the order of the degree. As in ATen the degree is
// a number whose fraction is dropped; 0 for a degree that is negative, NaN or 2^31 and beyond.
// Chebyshev polynomials of a degree above 6 are by sine and cosine in the interior of the interval.
#pragma once

#include <flaggems/kernel/math/arc.hpp>
#include <flaggems/kernel/math/special/lanes.hpp>
#include <flaggems/kernel/math/trig.hpp>

namespace flaggems::kernels {

/// What a recurrence begins with: the polynomial of degree 1; `next` gives that of degree k + 1
/// from those of degrees k and k - 1.
template <class P>
struct by_recurrence {
  template <class T>
  FLAGGEMS_HD static T at(T x, T degree) {
    if (!(degree > T(-1) && degree < T(2147483648.f))) return 0;
    const i64 n = static_cast<i64>(degree);
    if (n == 0) return 1;
    T known;
    if (P::ends(x, n, known)) return known;
    T before = 1, now = P::first(x);
    for (i64 k = 1; k < n && now == now; ++k) {
      const T next = P::next(x, T(k), now, before);
      before = now;
      now = next;
    }
    return now;
  }
};

/// The kinds of Chebyshev polynomials.
enum class chebyshev_kind { t, u, v, w };
/// Chebyshev polynomials, of x or (IsShifted) of 2x - 1.
template <chebyshev_kind Kind, bool IsShifted>
struct chebyshev {
  template <class T>
  FLAGGEMS_HD static T place(T x) {
    return IsShifted ? x + x - T(1) : x;
  }
  template <class T>
  FLAGGEMS_HD static T first(T x) {
    const T t = place(x);
    return Kind == chebyshev_kind::t   ? t
           : Kind == chebyshev_kind::u ? t + t
           : Kind == chebyshev_kind::v ? t + t - T(1)
                                       : t + t + T(1);
  }
  template <class T>
  FLAGGEMS_HD static T next(T x, T, T now, T before) {
    const T t = place(x);
    return (t + t) * now - before;
  }
  /// At the ends of the interval, and inside of it for degrees above 6.
  template <class T>
  FLAGGEMS_HD static bool ends(T x, i64 n, identity<T>& y) {
    const T t = place(x), sign = n % 2 == 0 ? T(1) : T(-1);
    const T great = Kind == chebyshev_kind::u ? T(n + 1) : T(n + n + 1);
    if (t == T(1)) {
      y = Kind == chebyshev_kind::t || Kind == chebyshev_kind::v ? T(1) : great;
    } else if (t == T(-1)) {
      y = Kind == chebyshev_kind::t || Kind == chebyshev_kind::w ? sign : sign * great;
    } else if (n > 6 && t > T(-1) && t < T(1)) {
      const T angle = acos(t), middle = T(T(n) + T(0.5f)) * angle, part = T(0.5f) * angle;
      if (Kind == chebyshev_kind::t) y = cos(T(T(n) * angle));
      if (Kind == chebyshev_kind::u) y = sin(T(T(n + 1) * angle)) / sin(angle);
      if (Kind == chebyshev_kind::v) y = cos(middle) / cos(part);
      if (Kind == chebyshev_kind::w) y = sin(middle) / sin(part);
    } else {
      return false;
    }
    return true;
  }
};

/// Hermite polynomials H (of physicists) and He (of probabilists). NaN from the degree on where
/// they leave the range, 128 for f32 and 512 for f64, as in ATen.
template <bool IsProbabilists>
struct hermite {
  template <class T>
  FLAGGEMS_HD static T first(T x) {
    return IsProbabilists ? x : x + x;
  }
  template <class T>
  FLAGGEMS_HD static T next(T x, T k, T now, T before) {
    const T y = x * now - k * before;
    return IsProbabilists ? y : y + y;
  }
  template <class T>
  FLAGGEMS_HD static bool ends(T, i64 n, identity<T>& y) {
    y = nan_of<T>();
    return n > (is_same<T, f32> ? 128 : 512);
  }
};
/// Laguerre polynomials.
struct laguerre {
  template <class T>
  FLAGGEMS_HD static T first(T x) {
    return T(1) - x;
  }
  template <class T>
  FLAGGEMS_HD static T next(T x, T k, T now, T before) {
    return ((k + k + T(1) - x) * now - k * before) / (k + T(1));
  }
  template <class T>
  FLAGGEMS_HD static bool ends(T x, i64, identity<T>& y) {
    y = 1;
    return x == 0;
  }
};
/// Legendre polynomials.
struct legendre {
  template <class T>
  FLAGGEMS_HD static T first(T x) {
    return x;
  }
  template <class T>
  FLAGGEMS_HD static T next(T x, T k, T now, T before) {
    return ((k + k + T(1)) * x * now - k * before) / (k + T(1));
  }
  template <class T>
  FLAGGEMS_HD static bool ends(T x, i64 n, identity<T>& y) {
    y = x > 0 || n % 2 == 0 ? T(1) : T(-1);
    return abs(x) == T(1);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/special/polynomials.hpp");
