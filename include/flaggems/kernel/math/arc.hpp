// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The inverse functions of sine, cosine and tangent. Near the ends asin and acos come from the
// square root of (1 - x) / 2; atan is reduced to |t| <= 1/2, in f32 to 1.
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
/// asin(a) for 0 <= a < 1/2, and half of acos(a) up to 1, which is asin(sqrt((1 - a) / 2)), as a
/// sum: returns the number, and sets what it leaves.
template <class V>
FLAGGEMS_INLINE V arc_of(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(mask_of<V>) is_small,
                         identity<V>& rest) {
  using T = element_of<V>;
  const V z = select(is_small, V(a * a), V((V(T(1)) - a) * V(T(0.5f))));
  const V t = select(is_small, a, moderate_root(z));
  rest = t * asin_tail(z);
  return t;
}

/// Inverse sine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V asin(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V a = abs(x), weight(T(0.5f));
  const mask_of<V> is_small = a < V(T(0.5f));
  V rest;
  const V t = arc_of(a, is_small, rest);
  const V distant = (weight * V(turn::high) - t) + (weight * V(turn::low) - rest);
  return copysign(select(is_small, V(t + rest), V(distant + distant)), x);
}
/// Inverse cosine.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V acos(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V a = abs(x), zero(T(0)), two(T(2));
  const mask_of<V> is_small = a < V(T(0.5f));
  V rest;
  const V t = arc_of(a, is_small, rest), arc = t + rest;
  const V middle = V(turn::high) - (copysign(arc, x) - V(turn::low));
  const V below = two * V(turn::high) - two * (t + (rest - V(turn::low)));
  return select(is_small, middle, select(mask_of<V>(x < zero), below, V(arc + arc)));
}

/// (atan(t) - t) / t for z = t^2, |t| <= 1/2.
template <class V>
FLAGGEMS_INLINE V atan_tail(FLAGGEMS_VALUE(V) z) {
  if constexpr (is_f32_value<V>)
    return z *
           horner(z, -0.3333323413f, 0.1999421872f, -0.1417490053f, 0.1015942461f, -0.05131519398f);
  else
    return z * horner(z, -0.333333333333333122, 0.199999999999932399, -0.142857142849580517,
                      0.111111110684163142, -0.0909090766538653037, 0.0769227699812879804,
                      -0.0666621798502193355, 0.0587776274433058998, -0.0522977006070561735,
                      0.045885549521029177, -0.0370975909849865878, 0.0236258957099863399,
                      -0.00834794929744419559);
}
/// atan(t) for 0 <= t <= infinity.
template <class V>
FLAGGEMS_INLINE V atan_of_positive(FLAGGEMS_VALUE(V) a) {
  using T = element_of<V>;
  using turn = quarter_turn<T>;
  const V one(T(1)), zero(T(0));
  if constexpr (is_f32_value<V>) {  // a longer polynomial takes less than a step in between
    const V t = lesser_of(one, a) / greater_of(one, a), z = t * t;
    const V tail =
        horner(z, -0.333332986f, 0.19998531f, -0.142640516f, 0.109511755f, -0.0840048045f,
               0.0579066873f, -0.0311271884f, 0.0108874794f, -0.00178757648f);
    const V arc = fma(V(t * z), tail, t);
    return select(mask_of<V>(a > one), V(V(turn::high) - (arc - V(turn::low))), arc);
  }
  const mask_of<V> steep = a > V(T(2)), middle = a > V(T(0.5f));
  const V above = select(steep, V(T(-1)), select(middle, V(a - one), a));
  const V below = select(steep, a, select(middle, V(a + one), one));
  const V t = above / below;
  const V high = select(steep, V(turn::high), select(middle, V(turn::high * T(0.5f)), zero));
  const V low = select(steep, V(turn::low), select(middle, V(turn::low * T(0.5f)), zero));
  const V tail = t * atan_tail<V>(V(t * t));
  return select(middle, V(high + (V(tail + low) + t)), V(tail + t));
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
  constexpr int bias = float_format<T>::bias, mantissa = float_format<T>::mantissa;
  const V a = abs(y), b = abs(x), zero(T(0)), one(T(1));
  // So that the sum is finite, and an inverse a normal number.
  const V largest = greater_of(a, b), least(power_of_two<V>(1 - bias));
  const V scale = select(mask_of<V>(largest > V(power_of_two<V>(bias - 3))), V(T(0.0625f)),
                         select(mask_of<V>(largest < V(power_of_two<V>(2 * mantissa - bias))),
                                V(power_of_two<V>(mantissa + 1)), one));
  const V greater = largest * scale, lesser = lesser_of(a, b) * scale;
  // With t = lesser / greater, atan(t) = pi / 4 + atan((t - 1) / (t + 1)) for t > 1/2.
  const mask_of<V> steep = a > b,
                   left = copysign(one, x)<zero, middle = lesser> V(T(0.5f)) * greater,
                   infinite = largest == V(infinity_of<V>());
  const V above = select(infinite, zero, select(middle, V(lesser - greater), lesser));
  const V below = greater_of(least, select(middle, V(lesser + greater), greater));
  const V t = moderate_quotient(above, lesser_of(V(power_of_two<V>(bias - 1)), below));
  const V tail = t * atan_tail<V>(V(t * t));
  const mask_of<V> half_way = middle | (infinite & (a == b));
  const V near_zero = V(tail + t);
  const V arc = select(half_way, V(V(turn::high * T(0.5f)) + V(near_zero + V(turn::low * T(0.5f)))),
                       near_zero);
  const V turned = select(steep, V(V(turn::high) - (arc - V(turn::low))), arc);
  const V r = select(left, V(V(T(2) * turn::high) - (turned - V(T(2) * turn::low))), turned);
  return select(mask_of<V>((x != x) | (y != y)), V(x + y), copysign(r, y));
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/arc.hpp");
