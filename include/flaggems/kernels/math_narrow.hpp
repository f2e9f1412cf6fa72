// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions whose results are rounded to 16 bits, with relative errors of 2^-15: memory gives a
// chip an element of 16 bits in the time of 27 instructions, which those of math_exp.hpp exceed.
#pragma once

#include <flaggems/kernels/activation.hpp>
#include <flaggems/kernels/pointwise.hpp>

namespace flaggems::kernels {

FLAGGEMS_INLINE f32 exp2_narrow(f32 x) {
  if constexpr (has_exp2_at_once<f32>)
    return exp2_at_once(x);
  else
    return exp2(x);
}

/// x / 2 (1 + erf(x / sqrt(2))). Phi(-t) e^(t^2 / 2) is a polynomial in u = 1 / (1 + 0.33 t).
FLAGGEMS_INLINE f32 gelu_narrow(f32 x) {
  const f32 a = gate_magnitude(x);
  const f32 u = near_quotient(1.0f, fma(a, 0.33f, 1.0f));
  const f32 power = exp2_narrow(a * a * -0.72134752f);
  const f32 rest = u * horner(u, 0.131648087f, 0.131630383f, 0.119338045f, 0.0708915407f,
                              0.10727807f, -0.0607972009f);
  // -0 for a negative x, as the least of the bits: one instruction, which knows zeros apart.
  const f32 positive = bit_cast<f32>(min_of(bit_cast<u32>(x), 0x80000000u));
  return fma(-a * power, rest, positive);
}

FLAGGEMS_INLINE f32 tanh_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 near_zero = x * fma(x * x, -0.333333333f, 1.0f);
  const f32 power = exp2_narrow(lesser_of(20.0f, a) * 2.88539008f);
  const f32 result = fma(near_quotient(1.0f, power + 1.0f), -2.0f, 1.0f);
  return a < 0.0625f ? near_zero : a == a ? copysign(result, x) : x;
}

// ---- the functors that do for results of 16 bits what others do for those of 32
struct gelu_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a) const { return gelu_narrow(a); }
};
struct tanh_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a) const { return tanh_narrow(a); }
};

template <class F>
FLAGGEMS_INLINE F narrow_form(F f) {
  return f;
}
FLAGGEMS_INLINE gelu_narrow_fn narrow_form(gelu_none_fn) { return {}; }
FLAGGEMS_INLINE tanh_narrow_fn narrow_form(tanh_fn) { return {}; }

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernels/math_narrow.hpp");
