// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The complement of the error function, and its inverse: an approximation, which for f64 steps of
// Halley's method on erf or erfc finish.
#pragma once

#include <flaggems/kernel/math/erf.hpp>
#include <flaggems/kernel/math/log.hpp>

namespace flaggems::kernels {

/// 1 - erf(x) with an error of 6 ulp, where that vanishes, too.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erfc(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr int top = exponent_bias<V> + lift<V>;
  constexpr T limit = is_f32_value<V> ? T(10.2f) : T(27.3);
  const V near_zero = V(T(1)) - erf_near_zero<V>(x), a = keep_within(abs(x), T(0.5f), limit);
  const V t = a * V(T(1.41421356237309504880));
  V shifted, above, below;
  normal_tail(t, t, above, below);
  // e^(-a^2), 2^lift times as great, with a^2 in two parts, the upper one exact.
  const V high = upper_half(a);
  const V r = reduce_ln2<top>(V(-(high * high)), shifted) - (a - high) * (a + high);
  const V quotient = V(T(2)) * near_quotient(above, V(below * t));
  const V tail = scaled_exp(quotient, r) * power_from(shifted) * V(power_of_two<V>(-lift<V>));
  const V distant = select(mask_of<V>(x < V(T(0))), V(V(T(2)) - tail), tail);
  return select(mask_of<V>(abs(x) < V(T(0.5f))), near_zero, distant);
}

/// erfinv(a) / a to 5 digits, of w = -log(1 - a^2).
template <class V>
FLAGGEMS_INLINE V erfinv_start(FLAGGEMS_VALUE(V) w) {
  using T = element_of<V>;
  const V u = w - V(T(2.5f)), s = sqrt(w) - V(T(4));
  const V low = horner(u, T(1.501409351), T(0.2466407663), T(-0.004177346517), T(-0.001253758885),
                       T(0.0002183129798), T(-4.380346714e-6), T(-3.454779514e-6), T(3.42224709e-7),
                       T(2.260597774e-8));
  const V high = horner(s, T(3.839783715), T(1.009493259), T(0.001264397344), T(-0.0008763977149),
                        T(0.0003076332467), T(-9.517597562e-5), T(6.238579179e-5),
                        T(-5.250785849e-5), T(2.250222337e-5), T(-3.538619522e-6));
  return select(mask_of<V>(w < V(T(5))), low, high);
}
/// The same to the digits of f32, for w <= 16.
template <class V>
FLAGGEMS_INLINE V erfinv_ratio(FLAGGEMS_VALUE(V) w) {
  const V low =
      horner(w, 0.8862269205f, 0.232013818f, 0.01154865403f, -0.002334296433f, -0.0001274814009f,
             4.456507831e-5f, 3.983283001e-6f, -1.976469929e-6f, 2.21031415e-7f, -8.791056475e-9f);
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {  // all but where |x| > 0.9966
    if (w < 5.0f) return low;
    stay_in_branch();
  }
#endif
  const V s = near_root(w) - V(3.0f);
  const V high = horner(s, 2.832976796f, 1.001675074f, 0.009445655027f, -0.007639174876f,
                        0.005683477878f, -0.003588180165f, 0.001494934993f, -7.432669767e-5f,
                        -0.0003179026637f, 0.0001274459621f);
  return select(mask_of<V>(w < V(5.0f)), low, high);
}
/// The y with erf(y) = x: infinite for |x| = 1, NaN beyond.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erfinv(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V a = abs(x), one(T(1)), rest = one - a, w = -log_of_positive<V>(V(rest * (one + a)));
  V y;
  if constexpr (is_f32_value<V>) {
    y = a * erfinv_ratio(w);
  } else {
    y = a * erfinv_start(w);
    const mask_of<V> central = a < V(T(0.5f));
    for (int step = 0; step < 2; ++step) {
      const V error = select(central, V(erf(y) - a), V(rest - erfc(y)));
      const V d = error * V(T(0.88622692545275801365)) * exp(V(y * y));
      y = y - d / fma(y, d, one);
    }
  }
  const V limit = select(mask_of<V>(a == one), V(infinity_of<V>()), V(nan_of<V>()));
  return copysign(select(mask_of<V>(a < one), y, limit), x);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/erf_inverse.hpp");
