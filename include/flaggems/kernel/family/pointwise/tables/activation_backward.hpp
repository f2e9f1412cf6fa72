// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of activations: the table of ops/activation_backward.hpp. a is the gradient of the
// output; b the activation's input or, where its name says so, its output.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

namespace flaggems::kernels {

/// The derivative of x sigmoid(x).
template <class V>
FLAGGEMS_INLINE V silu_slope(FLAGGEMS_VALUE(V) x) {
  const V one(element_of<V>(1)), s = sigmoid(x);
  return s * fma(x, V(one - s), one);
}
/// The derivative of x tanh(log(1 + e^x)).
template <class V>
FLAGGEMS_INLINE V mish_slope(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V e = exp(lesser_of(V(T(40)), x)), two(T(2));
  const V n = V(e * V(e + two)), t = n / V(n + two);
  return t + x * sigmoid(x) * V(V(T(1)) - t * t);
}
/// gelu_slope with fused sums, as gelu_slope_narrow: at -a it is e^(-a^2 / 2) (zero - a) q(u), for
/// u = 1 / (1 + 0.3 a).
FLAGGEMS_INLINE f32 gelu_slope_fused(f32 x) {
  const f32 a = abs(x), u = near_quotient(1.0f, fused(a, 0.3f, 1.0f));
  const f32 q =
      fused_horner(u, 0.3989316766f, 0.09017577438f, 0.07281917711f, 0.06158046683f, 0.0205041617f,
                   0.03318043105f, 0.001050291291f, -0.01938197723f, 0.006218000817f);
  const f32 b = lesser_of(20.0f, a), square = b * b, power = square * -0.36067376f;
  // What rounding took from the power, which is 60 ulp of its exponential.
  const f32 rest =
      fused(square, -4.8149076e-09f,
            fused(fused(b, b, -square), -0.36067376f, fused(square, -0.36067376f, -power)));
  const f32 root = near_exp2(power) * fused(rest, 0.69314718f, 1.0f);
  const f32 below = root * ((0.751791537f - a) - 1.21144499e-08f) * q * root;
  return x < 0.0f ? below : 1.0f - below;
}
/// The derivative of x Phi(x).
template <class V>
FLAGGEMS_INLINE V gelu_slope(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  if constexpr (has_exp2_at_once<V>) return gelu_slope_fused(x);
  const V below = V(T(0.5f)) * V(V(T(1)) + erf(V(x * V(T(0.70710678118654752440)))));
  const V density = V(T(0.39894228040143267794)) * exp(V(x * x * V(T(-0.5f))));
  return fma(x, density, below);
}
/// The derivative of x / 2 (1 + tanh(u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
template <class V>
FLAGGEMS_INLINE V gelu_tanh_slope(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V one(T(1)), half_x = x * V(T(0.5f)), z = x * x;
  const V factor(T(0.79788456080286535588)), cubic(T(0.044715));
  const V t = tanh(V(factor * V(x * fma(cubic, z, one))));
  const V inner = factor * fma(V(T(3 * 0.044715)), z, one);
  return fma(V(half_x * V(one - t * t)), inner, V(V(T(0.5f)) * V(one + t)));
}

/// Of leaky_relu; of its input or its result, which have the same sign.
template <class C>
struct leaky_relu_backward_fn {
  C negative_slope;
  template <class To>
  FLAGGEMS_HD leaky_relu_backward_fn<To> in() const {
    return {number_cast<To>(negative_slope)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return select(mask_of<V>(b > V(element_of<V>(0))), a, V(a * V(negative_slope)));
  }
};
struct gelu_none_backward_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return a * gelu_slope(b);
  }
};
struct gelu_tanh_backward_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return a * gelu_tanh_slope(b);
  }
};
FLAGGEMS_INLINE f32 gelu_none_backward_narrow(f32 a, f32 b) { return a * gelu_slope_narrow(b); }
FLAGGEMS_INLINE f32 gelu_tanh_backward_narrow(f32 a, f32 b) {
  return a * gelu_tanh_slope_narrow(b);
}
FLAGGEMS_BINARY_NARROW(gelu_none_backward)
FLAGGEMS_BINARY_NARROW(gelu_tanh_backward)
struct gelu_backward_fn {
  bool by_tanh;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    if (by_tanh) {
      stay_in_branch();
      return gelu_tanh_backward_fn{}(a, b);
    }
    stay_in_branch();
    return gelu_none_backward_fn{}(a, b);
  }
};
template <class Next>
FLAGGEMS_INLINE auto with_choice(gelu_backward_fn f, Next next) {
  if (f.by_tanh) {
    stay_in_branch();
    return next(gelu_tanh_backward_fn{});
  }
  stay_in_branch();
  return next(gelu_none_backward_fn{});
}
/// Of elu, given its input, or its result if `is_result`.
template <class C>
struct elu_backward_fn {
  C alpha, scale, input_scale;
  bool is_result;
  template <class To>
  FLAGGEMS_HD elu_backward_fn<To> in() const {
    return {number_cast<To>(alpha), number_cast<To>(scale), number_cast<To>(input_scale),
            is_result};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    const V factor = V(alpha) * V(scale);
    V grown = b + factor;  // alpha scale e^(input_scale x)
    if (!is_result) grown = factor * exp(V(b * V(input_scale)));
    const mask_of<V> below = b <= V(element_of<V>(0));
    return select(below, V(a * V(input_scale) * grown), V(a * V(scale)));
  }
};
/// Of logit, with its eps or a negative number.
template <class C>
struct logit_backward_fn {
  C eps;
  template <class To>
  FLAGGEMS_HD logit_backward_fn<To> in() const {
    return {number_cast<To>(eps)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    using T = element_of<V>;
    const V one(T(1)), zero(T(0));
    const V low = eps < C(0) ? zero : V(eps), high = eps < C(0) ? one : V(C(1) - eps);
    const V beyond = eps < C(0) ? V(nan_of<V>()) : zero;
    return select(mask_of<V>((b < low) | (b > high)), beyond, V(a / V(b * V(one - b))));
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_ACTIVATION_BACKWARD_TABLE(PAIR, PAIR1, PAIR2)                                       \
  PAIR(sigmoid_backward,     floating, V(a * V(V(V(element_of<V>(1)) - b) * b)))                     \
  PAIR(tanh_backward,        floating, V(a * V(V(element_of<V>(1)) - b * b)))                        \
  PAIR(silu_backward,        floating, V(a * silu_slope(b)))                                         \
  PAIR(mish_backward,        floating, V(a * mish_slope(b)))                                         \
  PAIR1(threshold_backward,  floating, threshold, , select(mask_of<V>(b <= V(threshold)), V(element_of<V>(0)), a)) \
  PAIR2(softplus_backward,   floating, beta, , threshold, , select(mask_of<V>(V(b * V(beta)) > V(threshold)), a, V(a * sigmoid(V(b * V(beta))))))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_ACTIVATION_BACKWARD_TABLE(FLAGGEMS_BINARY_FUNCTOR, FLAGGEMS_BINARY1_FUNCTOR,
                                   FLAGGEMS_BINARY2_FUNCTOR)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/activation_backward.hpp");
