// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The error function and gelu. Away from zero both come from erfc(t) = e^(-t^2) R(t), where R, the
// scaled complementary error function, is a polynomial in (t - k) / (t + k) (Shepherd and
// Laframboise, Math. Comp. 36 (1981)).
#pragma once

#include <flaggems/kernels/math_exp.hpp>

namespace flaggems::kernels {

/// (1 + 2t) e^(t^2) erfc(t) for 0 <= t <= 10.2 in f32, 27.5 in f64: between 1 and 1.3.
template <class V>
FLAGGEMS_INLINE V scaled_erfc(FLAGGEMS_VALUE(V) t) {
  using T = element_of<V>;
  if constexpr (is_f32_value<V>) {
    const V u = (t - V(T(2))) / (t + V(T(2)));
    return horner(u, 1.276978394e+00f, -9.276398492e-02f, -1.660314612e-01f, 1.640554236e-01f,
                  -5.420388077e-02f, -8.060132903e-03f, 8.630086597e-03f, 1.313289522e-03f,
                  -1.227991551e-03f, -3.994346408e-04f);
  } else {
    const V u = (t - V(T(4))) / (t + V(T(4)));
    return horner(u, 1.23299511862555255, -0.139621116840563199, 0.0153796521026064899,
                  0.068097054254766211, -0.101039066035579263, 0.0937328349961113106,
                  -0.0663303658278893357, 0.0371675155673349054, -0.0161977338824093365,
                  0.00503196977320735325, -0.000757774439036304733, -0.000199255946391222721,
                  0.00015062637235605661, -0.0000244004636987607675, -0.0000112342213594330223,
                  5.70938531618289081e-6, 3.13705764953778978e-7, -8.20295561038068805e-7,
                  5.52719312985047257e-8, 1.01577697502560634e-7, -8.05454243149601189e-9,
                  -8.39082404076762335e-9);
  }
}

/// The error function.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erf(FLAGGEMS_VALUE(V) x) {
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
  V shifted;
  const V r = reduce_ln2(V(-(t * t)), shifted);
  const V one(T(1));
  const V e = (one + expm1_of_remainder(r)) * power_from(shifted);
  const V result = one - e * scaled_erfc(t) / (one + (t + t));
  return copysign(select(mask_of<V>(a < V(T(1))), near_zero, result), x);
}

/// x / 2 (1 + erf(x / sqrt(2))), accurate to 6 ulp for x < 0 too, where 1 + erf cancels. x = -inf
/// gives NaN, as in PyTorch.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V gelu(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr T limit = is_f32_value<V> ? T(14.375f) : T(38.75f);  // x Phi(x) = 0 from here on
  const V a = abs(x);
  const mask_of<V> beyond = a > V(limit);
  const V t = select(beyond, V(limit), a);
  // e^(-t^2 / 2) with t^2 in two parts, the upper one exact.
  const V t_high = upper_half(t);
  const V t_low = t - t_high;
  const V minus_half(T(-0.5f));
  V shifted, first, second;
  const V r = reduce_ln2(V(t_high * t_high * minus_half), shifted);
  split_power_of_two(shifted, first, second);
  const V fraction = expm1_of_remainder(V(fma(V(t_low * (t + t_high)), minus_half, r)));
  const V scaled = scaled_erfc(V(t * V(T(0.70710678118654752440))));
  // Phi(-t) = e^(-t^2 / 2) scaled / (2 + 2 sqrt(2) t)
  const V quotient = fma(scaled, fraction, scaled) / fma(t, V(T(2.82842712474619009760)), V(T(2)));
  const V part = x * (quotient * first) * select(beyond, V(T(0)), second);
  return select(mask_of<V>(x > V(T(0))), select(beyond, x, V(x - part)), part);
}

}  // namespace flaggems::kernels
