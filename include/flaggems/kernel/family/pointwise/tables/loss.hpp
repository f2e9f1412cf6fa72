// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses of an element a and its target b, and their derivatives by a: the table of ops/loss.hpp.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>
#include <flaggems/kernel/family/pointwise/functors.hpp>

namespace flaggems::kernels {

/// d^2 / 2 up to |d| = bound, and from there on along the tangent.
template <class V>
FLAGGEMS_INLINE V huber_of(FLAGGEMS_VALUE(V) d, FLAGGEMS_VALUE(V) bound) {
  const V weight(element_of<V>(0.5f)), z = abs(d);
  return select(mask_of<V>(z <= bound), V(weight * z * z), V(bound * (z - weight * bound)));
}
/// The same divided by the bound; |d| for a bound of 0.
template <class V>
FLAGGEMS_INLINE V smooth_l1_of(FLAGGEMS_VALUE(V) d, FLAGGEMS_VALUE(V) bound) {
  const V weight(element_of<V>(0.5f)), z = abs(d);
  // (A bound of 0 has no elements below it; compilers divide once.)
  const V scale = lesser_of(V(greatest_of<V>()), V(weight / bound));
  return select(mask_of<V>(z < bound), V(z * z * scale), V(z - weight * bound));
}
/// `inside` for |d| < bound, else `beyond` with the sign of d.
template <class V>
FLAGGEMS_INLINE V within_bound(FLAGGEMS_VALUE(V) d, FLAGGEMS_VALUE(V) bound,
                               FLAGGEMS_VALUE(V) inside, FLAGGEMS_VALUE(V) beyond) {
  return select(mask_of<V>(d <= -bound), V(-beyond),
                select(mask_of<V>(d >= bound), beyond, inside));
}
/// -(b log(a) + (1 - b) log(1 - a)), with logarithms of -100 at least.
template <class V>
FLAGGEMS_INLINE V cross_entropy_of(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  const V one(T(1)), least(T(-100));
  return (b - one) * maximum(log1p(V(-a)), least) - b * maximum(log(a), least);
}
/// (1 - b) a + weight log(1 + e^-a), weight = 1 + (w - 1) b: the loss above of sigmoid(a), where a
/// target of 1 counts w times.
struct logits_loss_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b,
                               FLAGGEMS_VALUE(V) w) const {
    const V one(element_of<V>(1));
    return (one - b) * a + (one + (w - one) * b) * softplus(V(-a));
  }
};
struct logits_loss_narrow_fn {
  FLAGGEMS_INLINE f32 operator()(f32 a, f32 b, f32 w) const {
    return fma(1.0f - b, a, fma(w - 1.0f, b, 1.0f) * softplus_narrow(-a));
  }
};
FLAGGEMS_INLINE logits_loss_narrow_fn narrow_form(logits_loss_fn) { return {}; }
/// max(0, margin - c (a - b))
template <class C>
struct margin_ranking_loss_fn {
  C margin;
  template <class To>
  FLAGGEMS_HD margin_ranking_loss_fn<To> in() const {
    return {number_cast<To>(margin)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b,
                               FLAGGEMS_VALUE(V) c) const {
    return maximum(V(V(margin) - c * (a - b)), V(element_of<V>(0)));
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_LOSS_TABLE(LOSS, LOSS1, SLOPE, SLOPE1)                                               \
  LOSS(mse_loss,                   floating, V(V(a - b) * V(a - b)))                                  \
  LOSS(soft_margin_loss,           floating, softplus(V(-(a * b))))                                   \
  LOSS1(huber_loss,                floating, delta, =1.0, huber_of(V(a - b), V(delta)))               \
  LOSS1(smooth_l1_loss,            floating, beta, =1.0, smooth_l1_of(V(a - b), V(beta)))             \
  SLOPE(mse_loss_backward,         floating, V(V(element_of<V>(2)) * V(a - b)))                       \
  SLOPE(soft_margin_loss_backward, floating, V(-b * sigmoid(V(-(a * b)))))                            \
  SLOPE1(huber_loss_backward,      floating, delta, , within_bound(V(a - b), V(delta), V(a - b), V(delta))) \
  SLOPE1(smooth_l1_loss_backward,  floating, beta, , within_bound(V(a - b), V(beta), V(V(a - b) / V(beta)), V(element_of<V>(1))))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_LOSS_TABLE(FLAGGEMS_BINARY_FUNCTOR, FLAGGEMS_BINARY1_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR,
                    FLAGGEMS_BINARY1_FUNCTOR)
FLAGGEMS_BINARY_FUNCTOR(binary_cross_entropy, floating, cross_entropy_of(a, b))
FLAGGEMS_BINARY_FUNCTOR(binary_cross_entropy_backward, floating,
                        V(a - b) /
                            maximum(V(a * V(V(element_of<V>(1)) - a)), V(element_of<V>(1e-12))))

FLAGGEMS_INLINE f32 soft_margin_loss_narrow(f32 a, f32 b) { return softplus_narrow(-(a * b)); }
FLAGGEMS_INLINE f32 binary_cross_entropy_narrow(f32 a, f32 b) {
  return (b - 1.0f) * maximum(log1p_narrow(-a), -100.0f) - b * maximum(log_narrow(a), -100.0f);
}
FLAGGEMS_BINARY_NARROW(soft_margin_loss)
FLAGGEMS_BINARY_NARROW(binary_cross_entropy)

#define FLAGGEMS_LONG(name)                                 \
  template <>                                               \
  inline constexpr bool is_long_function<name##_fn> = true; \
  template <>                                               \
  inline constexpr bool is_long_function<name##_narrow_fn> = true;
FLAGGEMS_LONG(logits_loss)
FLAGGEMS_LONG(soft_margin_loss)
FLAGGEMS_LONG(binary_cross_entropy)
#undef FLAGGEMS_LONG
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/loss.hpp");
