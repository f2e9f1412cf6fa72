// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The error function and gelu. Away from zero both come from erfc(t) = e^(-t^2) R(t), where R, the
// scaled complementary error function, is a polynomial in (t - k) / (t + k) (Shepherd and
// Laframboise, Math. Comp. 36 (1981)).
#pragma once

#include <flaggems/kernels/math_exp.hpp>

namespace flaggems::kernels {

/// e^(t^2) erfc(t) for 0 <= t <= 10.2 in f32, 27.5 in f64.
template <class V>
FLAGGEMS_INLINE V scaled_erfc(const V& t) {
  using T = element_of<V>;
  if constexpr (is_f32_value<V>) {
    const V u = (t - V(T(3))) / (t + V(T(3)));
    return horner(u, 1.790011513e-01f, -3.262335638e-01f, 2.456037976e-01f, -1.501157818e-01f,
                  7.166586423e-02f, -2.439423163e-02f, 4.268876012e-03f, 7.157310198e-04f,
                  -5.945694483e-04f, 2.888040218e-05f, 5.591593916e-05f);
  } else {
    const V u = (t - V(T(4))) / (t + V(T(4)));
    return horner(u, 0.136999457625061389, -0.259068048760171875, 0.21871967891826551,
                  -0.164257816697283732, 0.108963177398854348, -0.0631078156405379102,
                  0.0312990565200096292, -0.0128439460196793995, 0.00406026360807533335,
                  -0.000799126908474626555, -0.0000217616191557131345, 0.0000789836524220369555,
                  -0.0000225564152910974168, -1.90470472053316917e-6, 2.94537080992276008e-6,
                  -4.05662217376910054e-7, -2.85068484124415803e-7, 9.2189244860002592e-8,
                  2.57888863799130729e-8, -1.21531722642909771e-8, -2.13812306062034398e-9,
                  6.93499404899417785e-10);
  }
}

/// The error function.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erf(const V& x) {
  using T = element_of<V>;
  const V a = abs(x);
  const V z = x * x;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, 1.283791659e-01f, -3.761262714e-01f, 1.128360018e-01f, -2.685444468e-02f,
                  5.189535474e-03f, -8.020842319e-04f, 7.889122677e-05f);
  else
    tail = horner(z, 0.128379167095512574, -0.376126389031837482, 0.112837916709548844,
                  -0.02686617064507787, 0.00522397762482838346, -0.000854832698142297942,
                  0.000120553311328686655, -0.000014925595770253514, 1.64610084496765617e-6,
                  -1.63503959543517692e-7, 1.46603271113251277e-8, -1.13749502279625802e-9,
                  5.96067717395927591e-11);
  const V near_zero = fma(x, tail, x);
  constexpr T limit = is_f32_value<V> ? T(4.25f) : T(6.25f);
  const V t = select(mask_of<V>(a > V(limit)), V(limit), a);
  const V far = V(T(1)) - exp_normal(V(-(t * t))) * scaled_erfc(t);
  return copysign(select(mask_of<V>(a < V(T(1))), near_zero, far), x);
}

/// x / 2 (1 + erf(x / sqrt(2))), accurate for x < 0 too. x = -inf gives NaN, as in PyTorch.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V gelu(const V& x) {
  using T = element_of<V>;
  constexpr T limit = is_f32_value<V> ? T(14.375f) : T(38.75f);  // x Phi(x) = 0 from here on
  const V zero(T(0));
  const V a = abs(x);
  const mask_of<V> beyond = a > V(limit);
  const V t = select(beyond, V(limit), a);
  // e^(-t^2 / 2) with t^2 in two parts, the upper one exact.
  const V t_high = upper_half(t);
  const V t_low = t - t_high;
  const V half(T(0.5f));
  const auto e = exp_scaled(V(t_high * t_high * V(T(-0.5f))), V(t_low * (t + t_high) * V(T(-0.5f))));
  const V r = half * scaled_erfc(V(t * V(T(0.70710678118654752440))));
  const V second = select(beyond, zero, e.second);
  const V part = x * (e.part() * r) * second;
  return select(mask_of<V>(x > zero), select(beyond, x, V(x - part)), part);
}

}  // namespace flaggems::kernels
