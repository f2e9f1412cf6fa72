// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The error function and gelu. Away from zero both come from Phi(-t) = e^(-t^2 / 2) R(t), where R
// is a quotient of polynomials in f32 (minimax for the relative error, which is 2^-26), and in f64
// one in (t - k) / (t + k) divided by 1 + sqrt(2) t (Shepherd and Laframboise, Math. Comp. 36
// (1981)).
#pragma once

#include <flaggems/kernel/math/exp.hpp>

namespace flaggems::kernels {

/// Phi(-t) e^(t^2 / 2) t = above / below for 0 <= t <= 38.9, 15.3 in f32, where Phi is the normal
/// distribution function. `a`: t, or any greater number where t is the limit, for above to be as
/// great.
template <class V>
FLAGGEMS_INLINE void normal_tail(FLAGGEMS_VALUE(V) t, FLAGGEMS_VALUE(V) a, identity<V>& above,
                                 identity<V>& below) {
  using T = element_of<V>;
  if constexpr (is_f32_value<V>) {
    // By powers of t^2, whose rounding is the same above and below; a scheme of Horner's has twice
    // the error without FMA.
    const V z = t * t;
    const V zz = z * z;
    above =
        fma(zz, horner(t, 6.192193553e-02f, 6.233550142e-03f),
            V(fma(z, horner(t, 6.726459265e-01f, 2.803380489e-01f), V(a * V(7.700757384e-01f)))));
    below = fma(zz, horner(t, 1.552256197e-01f, 0.015625f),
                V(fma(z, horner(t, 1.844474316e+00f, 7.180894017e-01f),
                      horner(t, 1.540151477e+00f, 2.574155331e+00f))));
  } else {
    const V s = t * V(T(0.70710678118654752440));
    const V u = (s - V(T(4))) / (s + V(T(4)));
    above = V(a * V(T(0.5f))) *
            horner(u, 1.23299511862555255, -0.139621116840563199, 0.0153796521026064899,
                   0.068097054254766211, -0.101039066035579263, 0.0937328349961113106,
                   -0.0663303658278893357, 0.0371675155673349054, -0.0161977338824093365,
                   0.00503196977320735325, -0.000757774439036304733, -0.000199255946391222721,
                   0.00015062637235605661, -0.0000244004636987607675, -0.0000112342213594330223,
                   5.70938531618289081e-6, 3.13705764953778978e-7, -8.20295561038068805e-7,
                   5.52719312985047257e-8, 1.01577697502560634e-7, -8.05454243149601189e-9,
                   -8.39082404076762335e-9);
    below = fma(t, V(T(1.41421356237309504880)), V(T(1)));
  }
}

/// The error function for |x| < 1.
template <class V>
FLAGGEMS_INLINE V erf_near_zero(FLAGGEMS_VALUE(V) x) {
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
  return fma(x, tail, x);
}
/// The error function.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V erf(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V a = abs(x);
  constexpr T limit = is_f32_value<V> ? T(4.25f) : T(6.25f);
  const V t = keep_within(a, T(1), limit);
  V shifted;
  const V r = reduce_ln2<exponent_bias<V> + 1>(V(-(t * t)), shifted);
  const V twice = power_from(shifted);
  const V s = t * V(T(1.41421356237309504880));
  V above, below;
  normal_tail(s, s, above, below);
  // 1 - 2 Phi(-s)
  const V result = V(T(1)) - near_quotient(V(scaled_exp(twice, r) * above), V(s * below));
  return copysign(select(mask_of<V>(a < V(T(1))), erf_near_zero<V>(x), result), x);
}

/// x / 2 (1 + erf(x / sqrt(2))), accurate to 6 ulp for x < 0 too, where 1 + erf cancels. x = -inf
/// gives NaN, as in PyTorch.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V gelu(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  constexpr int top = exponent_bias<V> + lift<V>;
  constexpr T limit = is_f32_value<V> ? T(15.2154903f) : T(38.8188353);  // limit^2 = 2 top ln 2
  const V a = gate_magnitude(x);
  const V t = lesser_of(V(limit), a);
  V shifted, above, below;
  if constexpr (has_exp2_at_once<V>) {
    // e^(-t^2 / 2) as 2^(n + f), where the product of t with the constant is in two parts. The
    // power of n is 2^lift times as great, and 0 at the limit. The quotient does not wait for it.
    const V factor(T(-0.72134751f)), rest(T(-9.62981494e-9f));
    const V shift(exponent_shift<V, top>());
    const V s = t * factor;
    const V s_rest = fma(t, rest, fma(t, factor, V(-s)));
    shifted = fma(s, t, shift);
    const V f = fma(s_rest, t, fma(s, t, V(shift - shifted)));
    normal_tail(t, a, above, below);
    return gated(x, V(near_quotient(above, below) * exp2_at_once(f) * power_from(shifted)));
  }
  // The same with t^2 in two parts, the upper one exact.
  const V t_high = upper_half(t);
  const V half_high = t_high * V(T(-0.5f));
  const V r = reduce_ln2<top>(V(half_high * t_high), shifted);
  const V rest = fma(V(t - t_high), V(fma(t, V(T(-0.5f)), half_high)), r);
  normal_tail(t, a, above, below);
  const V quotient = near_quotient(above, below);
  return gated(x, V(scaled_exp(quotient, rest) * power_from(shifted)));
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/erf.hpp");
