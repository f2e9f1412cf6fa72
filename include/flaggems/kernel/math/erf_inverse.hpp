// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The complement of the error function, and its inverse: an approximation, which for f64 steps of
// Halley's method on erf or erfc finish.
#pragma once

#include <flaggems/kernel/math/erf.hpp>
#include <flaggems/kernel/math/log.hpp>

namespace flaggems::kernels {

/// erfc with fused sums. From 15/32 on it is e^(-a^2) (1 + p) / (1 + 2 a) for a polynomial p in
/// (a - 2) / (a + 2).
FLAGGEMS_INLINE f32 erfc_fused(f32 x) {
  const f32 a = lesser_of(10.2f, abs(x)), z = a * a;
  const f32 near_zero = fused(-x,
                              fused_horner(z, 1.1283791601f, -0.37612578409f, 0.11282383445f,
                                           -0.026733616304f, 0.004675947541f),
                              1.0f);
  const f32 t = fused(near_quotient(1.0f, a + 2.0f), -4.0f, 1.0f);
  const f32 p = fused_horner(t, 0.27697838349f, -0.092763521859f, -0.16603063239f, 0.16404099522f,
                             -0.054214577951f, -0.0079389857447f, 0.0086757439978f,
                             0.00093405517776f, -0.0012898973438f);
  const f32 inverse = near_quotient(1.0f, fused(a, 2.0f, 1.0f)) * 0x1p-40f;
  // e^(-a^2) as 2^(n + 40) 2^f 2^-40, where a^2 and log2(e) are in two parts.
  const f32 shift = exponent_shift<f32, exponent_bias<f32> + lift<f32>>();
  const f32 shifted = fused(z, -1.44269502f, shift);
  const f32 above = fused(z, -1.92596303e-8f, fused(z, -1.44269502f, shift - shifted));
  const f32 f = fused(fused(a, a, -z), -1.44269502f, above);
  const f32 tail = fused(p, inverse, inverse) * near_exp2(f) * power_from(shifted);
  return abs(x) < 0.46875f ? near_zero : x < 0.0f ? 2.0f - tail : tail;
}
/// 1 - erf(x) with an error of 6 ulp, where that vanishes, too.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erfc(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  if constexpr (has_exp2_at_once<V>) return erfc_fused(x);
  constexpr int top = exponent_bias<V> + lift<V>;
  constexpr T limit = is_f32_value<V> ? T(10.2f) : T(27.3);
  if constexpr (is_f32_value<V> && fuses_at_once<V>) {
    // The rest of a^2 is one sum, and the quotient may be infinite where it is not taken.
    const V a = lesser_of(V(limit), abs(x)), z = a * a, t = a * V(T(1.41421356237309504880));
    const V near_zero = fma(V(-x),
                            horner(z, 1.1283791601f, -0.37612578409f, 0.11282383445f,
                                   -0.026733616304f, 0.004675947541f),
                            V(T(1)));
    V shifted, above, below;
    normal_tail(t, t, above, below);
    const V r = reduce_ln2<top>(V(-z), shifted) - fused(a, a, V(-z));
    const V quotient = near_quotient(above, V(below * t));
    const V tail = scaled_exp(quotient, r) * power_from(shifted) * V(power_of_two<V>(1 - lift<V>));
    const V distant = select(mask_of<V>(x < V(T(0))), V(V(T(2)) - tail), tail);
    return select(mask_of<V>(a < V(T(0.46875f))), near_zero, distant);
  }
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
  const V s = near_root(w) - V(3.0f);
  const V high = horner(s, 2.832976796f, 1.001675074f, 0.009445655027f, -0.007639174876f,
                        0.005683477878f, -0.003588180165f, 0.001494934993f, -7.432669767e-5f,
                        -0.0003179026637f, 0.0001274459621f);
  return select(mask_of<V>(w < V(5.0f)), low, high);
}
/// erfinv by a SIMT device's logarithm, which may err absolutely: polynomials as in erfinv_ratio,
/// in log2(1 - a^2).
FLAGGEMS_INLINE f32 erfinv_fused(f32 x) {
  const f32 a = abs(x), l = near_log2((1.0f - a) * (1.0f + a));
  f32 ratio = fused_horner(l, 0.886226892f, -0.160819724f, 0.00554858567f, 0.000777378271f,
                           -2.94271813e-05f, -7.13053259e-06f, 4.41767668e-07f, 1.51938707e-07f,
                           1.17776242e-08f, 3.24690969e-10f);
  if (l < -7.2134752f) {  // |x| > 0.9966
    stay_in_branch();
    const f32 s = fused(near_root(-l), 0.832554611f, -3.0f);
    ratio = fused_horner(s, 2.832976796f, 1.001675074f, 0.009445655027f, -0.007639174876f,
                         0.005683477878f, -0.003588180165f, 0.001494934993f, -7.432669767e-5f,
                         -0.0003179026637f, 0.0001274459621f);
    ratio = a < 1.0f ? ratio : infinity_of<f32>();  // the logarithm beyond is NaN
  }
  return x * ratio;
}
/// The y with erf(y) = x: infinite for |x| = 1, NaN beyond.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erfinv(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  if constexpr (has_exp2_at_once<V>) return erfinv_fused(x);
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
