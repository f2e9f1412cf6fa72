// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions of complex numbers, with C's values at zeros, infinities and NaN, and its branch cuts.
#pragma once

#include <flaggems/kernel/lang/complex.hpp>
#include <flaggems/kernel/math/exp.hpp>
#include <flaggems/kernel/math/trig.hpp>

namespace flaggems::kernels {

/// a / b by Smith's method, as PyTorch: without overflow or underflow of |b|^2, and a division by
/// zero divides both parts of a.
template <class V>
FLAGGEMS_INLINE complex<V> operator/(FLAGGEMS_VALUE(complex<V>) a, FLAGGEMS_VALUE(complex<V>) b) {
  using T = element_of<V>;
  const V x = abs(b.re), y = abs(b.im), zero(T(0));
  const mask_of<V> flat = x >= y, by_zero = (x == zero) & (y == zero);
  const V greater = select(flat, b.re, b.im), lesser = select(flat, b.im, b.re);
  const V ratio = lesser / greater;
  const V scale = V(T(1)) / V(greater + lesser * ratio);
  const V first = select(flat, a.re, a.im), second = select(flat, a.im, a.re);
  const V turned = select(flat, V(second - first * ratio), V(first * ratio - second));
  return {select(by_zero, V(a.re / x), V(V(first + second * ratio) * scale)),
          select(by_zero, V(a.im / y), V(turned * scale))};
}

/// |z|, without overflow in between.
template <class V>
FLAGGEMS_INLINE V abs(FLAGGEMS_VALUE(complex<V>) z) {
  return hypot(z.re, z.im);
}

/// The conjugate; a real number itself.
template <class V>
FLAGGEMS_INLINE V conjugate(FLAGGEMS_VALUE(V) x) {
  return x;
}
template <class V>
FLAGGEMS_INLINE complex<V> conjugate(FLAGGEMS_VALUE(complex<V>) z) {
  return {z.re, V(-z.im)};
}

/// e^z
template <class V>
FLAGGEMS_INLINE complex<V> exp(FLAGGEMS_VALUE(complex<V>) z) {
  using T = element_of<V>;
  // Near the limit of e^re the product with a small part may be finite: e^step is multiplied last.
  constexpr T step = is_same<T, f32> ? T(88) : T(709);
  const V zero(T(0)), infinity(infinity_of<V>());
  const mask_of<V> large = z.re > V(step);
  const V size = exp(V(select(large, V(z.re - V(step)), z.re)));
  const V rest = select(large, V(exp(V(step))), V(T(1)));
  const mask_of<V> wild = !isfinite(z.im), on_axis = z.im == zero;
  const V re = select(on_axis, size, V(size * cos(z.im))) * rest;
  const V im = select(on_axis, z.im, V(V(size * sin(z.im)) * rest));
  const mask_of<V> none = wild & (z.re == V(-infinity)), all = wild & (z.re == infinity);
  return {select(none, zero, select(all, infinity, re)), select(none, zero, im)};
}

/// The square root in the right half plane; the branch cut is the negative real axis, whose sides
/// the sign of a zero tells apart.
template <class V>
FLAGGEMS_INLINE complex<V> sqrt(FLAGGEMS_VALUE(complex<V>) z) {
  using T = element_of<V>;
  constexpr int distant = float_format<T>::bias - 4,
                raised = 2 * (float_format<T>::mantissa / 2 + 2);
  const V zero(T(0)), infinity(infinity_of<V>());
  const V size = maximum(V(abs(z.re)), V(abs(z.im)));
  const mask_of<V> large = size > V(power_of_two<V>(distant)),
                   tiny = size < V(power_of_two<V>(raised - distant));
  // By an even power of two: its root is a power of two.
  const V scale =
      select(large, V(T(0.0625f)), select(tiny, V(power_of_two<V>(2 * raised)), V(T(1))));
  const V back = select(large, V(T(4)), select(tiny, V(power_of_two<V>(-raised)), V(T(1))));
  const V re = z.re * scale, im = z.im * scale;
  const V greater = V(sqrt(V(V(abs(re) + hypot(re, im)) * V(T(0.5f)))));
  const V lesser = V(abs(im)) / V(greater + greater);
  const mask_of<V> is_zero = size == zero, right = z.re >= zero;
  const V x = select(is_zero, zero, V(select(right, greater, lesser) * back));
  const V y = select(is_zero, zero, V(select(right, lesser, greater) * back));
  const mask_of<V> on_top = abs(z.im) == infinity, far_left = z.re == V(-infinity),
                   far_right = z.re == infinity, known = z.im == z.im;
  return {select(on_top, infinity,
                 select(mask_of<V>(far_left & known), zero, select(far_right, infinity, x))),
          copysign(V(select(mask_of<V>(on_top | far_left), infinity,
                            select(mask_of<V>(far_right & known), zero, y))),
                   z.im)};
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/complex.hpp");
