// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Activations, with their parameters as options: the table of ops/activation.hpp. (gelu, silu and
// their gates are in pointwise.hpp.)
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

namespace flaggems::kernels {

/// a for a > 0, else alpha (e^(k a) - 1).
template <class V>
FLAGGEMS_INLINE V exponential_unit(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) alpha,
                                   FLAGGEMS_VALUE(V) k) {
  return select(mask_of<V>(a > V(element_of<V>(0))), a, V(alpha * expm1(V(a * k))));
}
/// a clamped to [low, high]; NaN stays NaN.
template <class V, class C>
FLAGGEMS_INLINE V clamped(FLAGGEMS_VALUE(V) a, C low, C high) {
  using T = element_of<V>;
  return minimum(maximum(a, V(static_cast<T>(low))), V(static_cast<T>(high)));
}
/// x tanh(log(1 + e^x)), as x sigmoid(x) (1 + e^x) (2 + e^x) / (e^2x + 2 e^x + 2), which does not
/// cancel.
template <class V>
FLAGGEMS_INLINE V mish_of(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  const V e = exp(lesser_of(V(T(40)), x)), two(T(2));
  const V below = fma(e, V(e + two), two);
  return silu(x) * V(V(below + e) / below);
}
/// log(1 / (1 + e^-x)).
template <class V>
FLAGGEMS_INLINE V log_sigmoid_of(FLAGGEMS_VALUE(V) x) {
  return minimum(x, V(element_of<V>(0))) - log1p_of_fraction<V>(exp(V(-abs(x))));
}
/// log(1 + e^(beta x)) / beta, or x where beta x > threshold.
template <class V>
FLAGGEMS_INLINE V softplus_of(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) beta,
                              FLAGGEMS_VALUE(V) threshold) {
  const V z = x * beta;
  return select(mask_of<V>(z > threshold), x, V(softplus(z) * V(V(element_of<V>(1)) / beta)));
}
/// x moved toward 0 by lambd, and 0 within; NaN stays NaN.
template <class V>
FLAGGEMS_INLINE V softshrink_of(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) lambd) {
  const V zero(element_of<V>(0));
  return select(mask_of<V>(x > lambd), V(x - lambd),
                select(mask_of<V>(x < -lambd), V(x + lambd), V(x * zero)));
}

/// log(x / (1 - x)) of x, or of x clamped to [eps, 1 - eps] if eps is not negative: as PyTorch's,
/// first from below, then from above what was not, which matters where eps > 1/2.
template <class C>
struct logit_fn {
  C eps;
  template <class To>
  FLAGGEMS_HD logit_fn<To> in() const {
    return {number_cast<To>(eps)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    using T = element_of<V>;
    const V one(T(1)), low = V(T(eps)), high = V(T(C(1) - eps));
    const V within = select(mask_of<V>(a < low), low, select(mask_of<V>(a > high), high, a));
    const V x = eps < C(0) ? a : within;
    const V rest = one - x;
    // 2 x - 1 and 1 - x are exact around 1/2, where the logarithm vanishes.
    const V middle = log1p(V(V(x - rest) / rest));
    const mask_of<V> is_middle = (x > V(T(0.25f))) & (x < V(T(0.75f)));
    return select(is_middle, middle, log(V(x / rest)));
  }
};

/// a, but numbers in the place of NaN and infinities; integers as they are.
template <class C>
struct nan_to_num_fn {
  C nan, posinf, neginf;
  template <class To>
  FLAGGEMS_HD nan_to_num_fn<To> in() const {
    return {number_cast<To>(nan), number_cast<To>(posinf), number_cast<To>(neginf)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    if constexpr (is_math_value<V>) {
      const V infinity(infinity_of<V>());
      const V finite = select(mask_of<V>(a == infinity), V(posinf),
                              select(mask_of<V>(a == -infinity), V(neginf), a));
      return select(mask_of<V>(a != a), V(nan), finite);
    } else {
      return a;
    }
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_ACTIVATION_TABLE(UNARY, UNARY1, UNARY2, UNARY3, PAIR, PAIR1)                        \
  UNARY(selu,         floating,   V(V(element_of<V>(1.0507009873554804934)) * exponential_unit(a, V(element_of<V>(1.6732632423543772849)), V(element_of<V>(1))))) \
  UNARY(relu6,        arithmetic, clamped(a, 0, 6))                                                  \
  UNARY(mish,         floating,   mish_of(a))                                                        \
  UNARY(hardswish,    floating,   V(a * V(clamped(V(a + V(element_of<V>(3))), 0, 6) / V(element_of<V>(6))))) \
  UNARY(hardsigmoid,  floating,   V(clamped(V(a + V(element_of<V>(3))), 0, 6) / V(element_of<V>(6)))) \
  UNARY(log_sigmoid,  floating,   log_sigmoid_of(a))                                                 \
  UNARY(squared_relu, floating,   V(relu(a) * relu(a)))                                              \
  UNARY1(leaky_relu,  floating,   negative_slope, =0.01, select(mask_of<V>(a > V(element_of<V>(0))), a, V(a * V(negative_slope)))) \
  UNARY1(celu,        floating,   alpha, =1.0, exponential_unit(a, V(alpha), V(V(element_of<V>(1)) / V(alpha)))) \
  UNARY1(hardshrink,  floating,   lambd, =0.5, select(mask_of<V>(abs(a) <= V(lambd)), V(element_of<V>(0)), a)) \
  UNARY1(softshrink,  floating,   lambd, =0.5, softshrink_of(a, V(lambd)))                           \
  UNARY2(softplus,    floating,   beta, =1, threshold, =20, softplus_of(a, V(beta), V(threshold)))   \
  UNARY2(threshold,   arithmetic, threshold, , value, , select(mask_of<V>(a <= V(static_cast<element_of<V>>(threshold))), V(static_cast<element_of<V>>(value)), a)) \
  UNARY2(hardtanh,    arithmetic, min_val, =-1, max_val, =1, clamped(a, min_val, max_val))           \
  UNARY3(elu,         floating,   alpha, =1, scale, =1, input_scale, =1, V(V(scale) * exponential_unit(a, V(alpha), V(input_scale)))) \
  PAIR(prelu_kernel,  floating,   select(mask_of<V>(a > V(element_of<V>(0))), a, V(a * b)))          \
  PAIR1(silu_and_mul_with_clamp, floating, limit, , V(silu(minimum(a, V(limit))) * clamped(b, -limit, limit)))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_ACTIVATION_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_UNARY1_FUNCTOR, FLAGGEMS_UNARY2_FUNCTOR,
                          FLAGGEMS_UNARY3_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR,
                          FLAGGEMS_BINARY1_FUNCTOR)
FLAGGEMS_UNARY_NARROW(log_sigmoid)

struct softplus_narrow_fn {
  f32 beta, threshold;
  FLAGGEMS_INLINE f32 operator()(f32 a) const {
    const f32 z = a * beta;
    return z > threshold ? a : near_quotient(softplus_narrow(z), beta);
  }
};
FLAGGEMS_INLINE softplus_narrow_fn narrow_form(softplus_fn<f32> f) { return {f.beta, f.threshold}; }
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/activation.hpp");
