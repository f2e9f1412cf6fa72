// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the tables beside the basic one, each with a third of the types that it takes; which,
// the length of its name decides.
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/bitwise.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/gated.hpp>
#include <flaggems/ops/higher.hpp>
#include <flaggems/ops/loss.hpp>
#include <flaggems/ops/rounding.hpp>
#include <flaggems/ops/special.hpp>
#include <flaggems/ops/trigonometric.hpp>

#include "contract.hpp"

namespace contract {
namespace takes {  // what the rules of the tables take
using numeric = real;
using arithmetic = numbers;
using to_float = real;
using to_f64 = real;
using floating = floats;
using to_bool = real;
using whole_number = integers;
using bits = join<integers, types<bool>>;
}  // namespace takes

template <int Third, class List>
struct third_of {
  using type = types<>;
};
template <int Third, class T, class... Ts>
struct third_of<Third, types<T, Ts...>> {
  using type = join<std::conditional_t<sizeof...(Ts) % 3 == Third, types<T>, types<>>,
                    typename third_of<Third, types<Ts...>>::type>;
};
template <int Length, class List>
using third = typename third_of<Length % 3, List>::type;

#define UNARY(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x); });
#define UNARY1(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x, 0.5); });
#define UNARY2(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x, 1, 2); });
#define UNARY3(name, rule, ...) \
  each(third<sizeof(#name), takes::rule>{}, [](const auto& x) { (void)fg::name(s, x, 1, 2, 3); });
#define BINARY(name, rule, ...)                    \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b); });
#define BINARY1(name, rule, ...)                   \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b, 0.5); });
#define BINARY2(name, rule, ...)                   \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b, 1, 2); });
#define TERNARY(name, rule, ...)                   \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b, b); });

void rounding() {
  FLAGGEMS_ROUNDING_TABLE(UNARY, BINARY)
  each(floats{}, [](const auto& x) {
    (void)fg::round(s, x, 2);
    (void)fg::nextafter(s, x, x);
  });
  each(types<f32, f64, bf16>{}, [](const auto& x) { (void)fg::frexp(s, x); });
}

void comparison() {
  FLAGGEMS_COMPARISON_TABLE(UNARY)
  each(twice<real>{}, [](const auto& a, const auto& b) { (void)fg::isclose(s, a, b); });
}

void bitwise() { FLAGGEMS_BITWISE_TABLE(UNARY, BINARY) }

void arithmetic() {
  FLAGGEMS_ARITHMETIC_TABLE(UNARY, BINARY, BINARY1, TERNARY)
  each(twice<types<f32, bf16, i64>>{}, [](const auto& a, const auto& b) {
    (void)fg::add_relu(s, a, b, 2);
    (void)fg::rsub(s, a, b, 2);
    (void)fg::floor_divide(s, a, b);
    (void)fg::addcmul(s, a, b, b, 2);
    (void)fg::addcdiv(s, a, b, 3.5);
    (void)fg::masked_fill(s, a, some<bool>(), 1);
  });
}

void activation() {
  FLAGGEMS_ACTIVATION_TABLE(UNARY, UNARY1, UNARY2, UNARY3, BINARY, BINARY1)
  each(floats{}, [](const auto& x) {
    (void)fg::logit(s, x);
    (void)fg::nan_to_num(s, x);
  });
  each(types<f32, bf16, f16>{}, [](const auto& x) {
    (void)fg::prelu(s, x, x);
    (void)fg::log_sigmoid_forward(s, x);
    (void)fg::glu(s, x);
    (void)fg::swiglu(s, x);
    (void)fg::geglu(s, x);
    (void)fg::reglu(s, x);
  });
}

void activation_backward() {
  FLAGGEMS_ACTIVATION_BACKWARD_TABLE(BINARY, BINARY1, BINARY2)
  each(types<f32, bf16, f64>{}, [](const auto& x) {
    (void)fg::gelu_backward(s, x, x);
    (void)fg::elu_backward(s, x, 1, 1, 1, false, x);
    (void)fg::leaky_relu_backward(s, x, x, 0.5, false);
    (void)fg::logit_backward(s, x, x);
    (void)fg::log_sigmoid_backward(s, x, x, x);
    (void)fg::rrelu_with_noise_backward(s, x, x, x, 0.25, 0.5, true, false);
    (void)fg::prelu_kernel_backward(s, x, x, x);
    (void)fg::glu_backward(s, x, x);
    (void)fg::dswiglu(s, x, x);
    (void)fg::dgeglu(s, x, x);
    (void)fg::dreglu(s, x, x);
  });
}

void functions() {
  FLAGGEMS_TRIGONOMETRIC_TABLE(UNARY, UNARY, BINARY)
  FLAGGEMS_SPECIAL_TABLE(UNARY, BINARY)
}

void higher_functions() {
  FLAGGEMS_HIGHER_TABLE(UNARY, UNARY, BINARY, BINARY)
  each(floats{}, [](const auto& x) {
    (void)fg::polygamma(s, 2, x);
    (void)fg::mvlgamma(s, x, 2);
  });
}

#define LOSS(name, rule, ...)                      \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, b); });
#define SLOPE(name, rule, ...)                     \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, a, b, fg::reduction::mean); });
#define SLOPE1(name, rule, ...)                    \
  each(twice<third<sizeof(#name), takes::rule>>{}, \
       [](const auto& a, const auto& b) { (void)fg::name(s, a, a, b, fg::reduction::mean, 1); });
void losses() {
  FLAGGEMS_LOSS_TABLE(LOSS, LOSS, SLOPE, SLOPE1)
  each(types<f32, bf16>{}, [](const auto& x) {
    (void)fg::binary_cross_entropy(s, x, x, x);
    (void)fg::binary_cross_entropy_with_logits(s, x, x, x, x);
    (void)fg::binary_cross_entropy_backward(s, x, x, x, x);
    (void)fg::margin_ranking_loss(s, x, x, x);
  });
}

}  // namespace contract
