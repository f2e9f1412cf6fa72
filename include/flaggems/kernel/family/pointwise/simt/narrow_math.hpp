// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions whose results are rounded to 16 bits, with relative errors of 2^-15. With 16-bit
// operands those of math/exp.hpp would be bound by instructions instead of memory bandwidth.
#pragma once

#include <flaggems/kernel/family/pointwise/pointwise.hpp>

namespace flaggems::kernels {

FLAGGEMS_INLINE f32 exp2_narrow(f32 x) {
  if constexpr (has_exp2_at_once<f32>)
    return exp2_at_once(x);
  else
    return exp2(x);
}

/// x, or -0 for a negative x, as the minimum of the bits: one instruction that orders zeros.
FLAGGEMS_INLINE f32 positive_part(f32 x) {
  return bit_cast<f32>(min_of(bit_cast<u32>(x), 0x80000000u));
}

/// x / 2 (1 + erf(x / sqrt(2))). Phi(-t) e^(t^2 / 2) is a polynomial in u = 1 / (1 + 0.33 t).
FLAGGEMS_INLINE f32 gelu_narrow(f32 x) {
  const f32 a = gate_magnitude(x);
  const f32 u = near_quotient(1.0f, fma(a, 0.33f, 1.0f));
  const f32 power = exp2_narrow(a * a * -0.72134752f);
  const f32 rest = u * horner(u, 0.131648087f, 0.131630383f, 0.119338045f, 0.0708915407f,
                              0.10727807f, -0.0607972009f);
  return fma(-a * power, rest, positive_part(x));
}

/// e^x, as the square of a power that is normal where e^x is not.
FLAGGEMS_INLINE f32 exp_narrow(f32 x) {
  const f32 root = exp2_narrow(x * 0.72134752f);
  return root * root;
}

/// x / (1 + e^-x), with e^-|x| as a square too.
FLAGGEMS_INLINE f32 silu_narrow(f32 x) {
  const f32 a = gate_magnitude(x);
  const f32 root = exp2_narrow(a * -0.72134752f);
  return fma(-root * near_quotient(a, fma(root, root, 1.0f)), root, positive_part(x));
}

FLAGGEMS_INLINE f32 tanh_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 near_zero = x * fma(x * x, -0.333333333f, 1.0f);
  const f32 power = exp2_narrow(lesser_of(20.0f, a) * 2.88539008f);
  const f32 result = fma(near_quotient(1.0f, power + 1.0f), -2.0f, 1.0f);
  return a < 0.0625f ? near_zero : a == a ? copysign(result, x) : x;
}

// ---- functors for results of 16 bits in place of those for 32
struct gelu_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a) const { return gelu_narrow(a); }
};
struct tanh_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a) const { return tanh_narrow(a); }
};
struct exp_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a) const { return exp_narrow(a); }
};
struct silu_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a) const { return silu_narrow(a); }
};
struct silu_and_mul_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a, f32 b) const { return silu_narrow(a) * b; }
};

template <class F>
FLAGGEMS_INLINE F narrow_form(F f) {
  return f;
}
FLAGGEMS_INLINE gelu_narrow_fn narrow_form(gelu_none_fn) { return {}; }
FLAGGEMS_INLINE tanh_narrow_fn narrow_form(tanh_fn) { return {}; }
FLAGGEMS_INLINE exp_narrow_fn narrow_form(exp_fn) { return {}; }
FLAGGEMS_INLINE silu_narrow_fn narrow_form(silu_fn) { return {}; }
FLAGGEMS_INLINE silu_and_mul_narrow_fn narrow_form(silu_and_mul_fn) { return {}; }

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/simt/narrow_math.hpp");
