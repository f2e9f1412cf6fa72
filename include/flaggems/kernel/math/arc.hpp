// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The inverse functions of sine, cosine and tangent. Near the ends asin and acos come from the
// square root of (1 - x) / 2 with its rounding error; atan is reduced to |t| <= tan(pi / 8).
#pragma once

#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// pi / 2 as a sum of two numbers.
template <class T>
struct quarter_turn;
template <>
struct quarter_turn<f32> {
  static constexpr f32 high = 1.57079637f;
  static constexpr f32 low = -4.37113883e-8f;
};
template <>
struct quarter_turn<f64> {
  static constexpr f64 high = 1.5707963267948966;
  static constexpr f64 low = 6.123233995736766e-17;
};

/// (asin(x) - x) / x for z = x^2 <= 1/4.
template <class V>
FLAGGEMS_INLINE V asin_tail(FLAGGEMS_VALUE(V) z) {
  if constexpr (is_f32_value<V>)
    return z * horner(z, 0.1666666634f, 0.07500094543f, 0.04459940153f, 0.03110066274f,
                      0.01714923836f, 0.0336908472f);
  else
    return z * horner(z, 0.166666666666666678, 0.0749999999999843293, 0.0446428571463554298,
                      0.0303819441385312473, 0.0223721729421498879, 0.0173523927208699729,
                      0.0139712129735529333, 0.0114791774151849059, 0.0103228143501857793,
                      0.0054575067186403583, 0.0174008794426940224, -0.0148518870712472032,
                      0.0287578513674215647);
}
/// sqrt((1 - a) / 2) for a >= 1/2 as a sum: returns the number, and sets its upper half, the rest
/// of that, and asin_tail.
template <class V>
FLAGGEMS_INLINE V root_of_rest(FLAGGEMS_VALUE(V) a, identity<V>& high, identity<V>& low,
                               identity<V>& tail) {
  using T = element_of<V>;
  const V z = (V(T(1)) - a) * V(T(0.5f));
  const V s = sqrt(z);
  high = upper_half(s);
  const V sum = s + high;
  low = (z - high * high) / select(mask_of<V>(sum == V(T(0))), V(T(1)), sum);
  tail = asin_tail(z);
  return s;
}

/// Inverse sine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V asin(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V a = abs(x), two(T(2));
  const V near_zero = fma(a, asin_tail(V(a * a)), a);
  V high, low, tail;
  const V s = root_of_rest(a, high, low, tail);
  const V eighth(turn::high * T(0.5f));
  const V p = two * s * tail - (V(turn::low) - two * low);
  const V q = eighth - two * high;
  return copysign(select(mask_of<V>(a < V(T(0.5f))), near_zero, V(eighth - (p - q))), x);
}
/// Inverse cosine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V acos(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V a = abs(x), two(T(2)), zero(T(0));
  const V middle = V(turn::high) - (x - (V(turn::low) - x * asin_tail(V(x * x))));
  V high, low, tail;
  const V s = root_of_rest(a, high, low, tail);
  const V above = two * (high + fma(s, tail, low));
  const V below = V(T(2) * turn::high) - two * (s + (s * tail - V(turn::low)));
  return select(mask_of<V>(a < V(T(0.5f))), middle, select(mask_of<V>(x < zero), below, above));
}

/// atan(t) for 0 <= t <= infinity.
template <class V>
FLAGGEMS_INLINE V atan_of_positive(FLAGGEMS_VALUE(V) a) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V one(T(1)), zero(T(0));
  const mask_of<V> steep = a > V(T(2.41421356237309504880)),
                   middle = a > V(T(0.41421356237309504880));
  const V above = select(steep, V(T(-1)), select(middle, V(a - one), a));
  const V below = select(steep, a, select(middle, V(a + one), one));
  const V t = above / below;
  const V high = select(steep, V(turn::high), select(middle, V(turn::high * T(0.5f)), zero));
  const V low = select(steep, V(turn::low), select(middle, V(turn::low * T(0.5f)), zero));
  const V z = t * t;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, -0.3333333175f, 0.1999953879f, -0.1426389711f, 0.1074309967f, -0.06449835225f);
  else
    tail = horner(z, -0.333333333333333301, 0.199999999999954792, -0.142857142846578936,
                  0.111111110145610136, -0.0909090454988461095, 0.076921825351166482,
                  -0.066645022156714471, 0.0585806875686151055, -0.0508503049281094054,
                  0.0392195525325512941, -0.0191620689159025739);
  const V near_zero = fma(V(t * z), tail, t);
  return select(middle, V(high + (fma(V(t * z), tail, low) + t)), near_zero);
}
/// Inverse tangent.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V atan(FLAGGEMS_VALUE(V) x) {
  return copysign(atan_of_positive(abs(x)), x);
}
/// The angle of the point (x, y) in (-pi, pi]; the signs of zeros count.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V atan2(FLAGGEMS_VALUE(V) y, FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V a = abs(y), b = abs(x), zero(T(0)), one(T(1));
  const V greater = greater_of(a, b), lesser = lesser_of(a, b);
  const mask_of<V> equal = (a == b) & (a > zero), steep = a > b, left = copysign(one, x) < zero;
  const V quotient = V(lesser / select(mask_of<V>(greater == zero), one, greater));
  const V t = atan_of_positive(V(select(equal, one, quotient)));
  const V turned = select(steep, V(V(turn::high) - (t - V(turn::low))), t);
  const V r = select(left, V(V(T(2) * turn::high) - (turned - V(T(2) * turn::low))), turned);
  return select(mask_of<V>((x != x) | (y != y)), V(x + y), copysign(r, y));
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/arc.hpp");
