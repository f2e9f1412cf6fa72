// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of activations: the rows of kernel/family/pointwise/tables/activation_backward.hpp in
// the forms of ops/forms.hpp, and those with options of several types.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/activation_backward.hpp>
#include <flaggems/ops/activation.hpp>

#include <optional>

namespace flaggems {

namespace operators {
FLAGGEMS_ACTIVATION_BACKWARD_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME_WITH_OPTIONS,
                                   FLAGGEMS_NAME_WITH_OPTIONS)
using gelu_backward = kernels::gelu_backward_fn;
using elu_backward = kernels::elu_backward_fn<f64>;
using leaky_relu_backward = kernels::leaky_relu_backward_fn<f64>;
using logit_backward = kernels::logit_backward_fn<f64>;
}  // namespace operators

FLAGGEMS_ACTIVATION_BACKWARD_TABLE(FLAGGEMS_PAIR, FLAGGEMS_PAIR1, FLAGGEMS_PAIR2)

/// grad times the derivative of gelu at x (an expression); floating-point only.
template <tensor_operand G, tensor_operand X>
[[nodiscard]] auto gelu_backward(G&& grad, X&& x,
                                 gelu_approximate approximate = gelu_approximate::none) {
  return detail::make_call<detail::floating>(
      kernels::gelu_backward_fn{approximate == gelu_approximate::tanh}, std::forward<G>(grad),
      std::forward<X>(x));
}
/// grad times the derivative of gelu at x, in a new tensor.
template <stream_like S, tensor_operand G, tensor_operand X>
[[nodiscard]] auto gelu_backward(const S& stream, const G& grad, const X& x,
                                 gelu_approximate approximate = gelu_approximate::none) {
  return evaluate(stream, gelu_backward(grad, x, approximate), "gelu_backward");
}
/// out = grad times the derivative of gelu at x; `out` may be either. Raises shape_mismatch or
/// overlap before anything is written. aten::gelu_backward.grad_input(Tensor grad_output, Tensor
/// self, *, str approximate='none', Tensor(a!) grad_input)
template <stream_like S, tensor_operand G, tensor_operand X, tensor_like Out>
void gelu_backward(const S& stream, const G& grad, const X& x, Out&& out,
                   gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, out, gelu_backward(grad, x, approximate), "gelu_backward");
}

namespace detail {
inline void check_slope(const char* op, bool is_result, f64 factor) {
  check(!is_result || factor >= 0, errc::invalid_argument, op,
        "a factor of the negative side that is not negative, of a result", "a negative one");
}
}  // namespace detail

/// grad times the derivative of elu, of its input or, if is_result, of its result (an expression);
/// floating-point only. Raises invalid_argument for a negative alpha of a result, which does not
/// tell its input.
template <tensor_operand G, tensor_operand X>
[[nodiscard]] auto elu_backward(G&& grad, f64 alpha, f64 scale, f64 input_scale, bool is_result,
                                X&& self_or_result) {
  detail::check_slope("elu_backward", is_result, alpha);
  return detail::make_call<detail::floating>(
      kernels::elu_backward_fn<f64>{alpha, scale, input_scale, is_result}, std::forward<G>(grad),
      std::forward<X>(self_or_result));
}
/// grad times the derivative of elu, in a new tensor.
template <stream_like S, tensor_operand G, tensor_operand X>
[[nodiscard]] auto elu_backward(const S& stream, const G& grad, f64 alpha, f64 scale,
                                f64 input_scale, bool is_result, const X& self_or_result) {
  return evaluate(stream, elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result),
                  "elu_backward");
}
/// out = grad times the derivative of elu; `out` may be an operand. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written. aten::elu_backward.grad_input(Tensor
/// grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor
/// self_or_result, *, Tensor(a!) grad_input)
template <stream_like S, tensor_operand G, tensor_operand X, tensor_like Out>
void elu_backward(const S& stream, const G& grad, f64 alpha, f64 scale, f64 input_scale,
                  bool is_result, const X& self_or_result, Out&& out) {
  assign(stream, out, elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result),
         "elu_backward");
}

/// grad times the derivative of leaky_relu, of its input or its result (an expression);
/// floating-point only. Raises invalid_argument for a negative slope of a result.
template <tensor_operand G, tensor_operand X>
[[nodiscard]] auto leaky_relu_backward(G&& grad, X&& x, f64 negative_slope, bool self_is_result) {
  detail::check_slope("leaky_relu_backward", self_is_result, negative_slope);
  return detail::make_call<detail::floating>(kernels::leaky_relu_backward_fn<f64>{negative_slope},
                                             std::forward<G>(grad), std::forward<X>(x));
}
/// grad times the derivative of leaky_relu, in a new tensor.
template <stream_like S, tensor_operand G, tensor_operand X>
[[nodiscard]] auto leaky_relu_backward(const S& stream, const G& grad, const X& x,
                                       f64 negative_slope, bool self_is_result) {
  return evaluate(stream, leaky_relu_backward(grad, x, negative_slope, self_is_result),
                  "leaky_relu_backward");
}
/// out = grad times the derivative of leaky_relu; `out` may be an operand. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written.
/// aten::leaky_relu_backward.grad_input(Tensor grad_output, Tensor self, Scalar negative_slope,
/// bool self_is_result, *, Tensor(a!) grad_input)
template <stream_like S, tensor_operand G, tensor_operand X, tensor_like Out>
void leaky_relu_backward(const S& stream, const G& grad, const X& x, Out&& out, f64 negative_slope,
                         bool self_is_result) {
  assign(stream, out, leaky_relu_backward(grad, x, negative_slope, self_is_result),
         "leaky_relu_backward");
}

/// grad / (x (1 - x)) (an expression); beyond [eps, 1 - eps] 0, or NaN beyond 0 and 1 without eps.
/// Floating-point only.
template <tensor_operand G, tensor_operand X>
[[nodiscard]] auto logit_backward(G&& grad, X&& x, std::optional<f64> eps = std::nullopt) {
  return detail::make_call<detail::floating>(kernels::logit_backward_fn<f64>{eps.value_or(-1)},
                                             std::forward<G>(grad), std::forward<X>(x));
}
/// grad times the derivative of logit at x, in a new tensor.
template <stream_like S, tensor_operand G, tensor_operand X>
[[nodiscard]] auto logit_backward(const S& stream, const G& grad, const X& x,
                                  std::optional<f64> eps = std::nullopt) {
  return evaluate(stream, logit_backward(grad, x, eps), "logit_backward");
}
/// out = grad times the derivative of logit at x; `out` may be either. Raises shape_mismatch or
/// overlap before anything is written. aten::logit_backward.grad_input(Tensor grad_output, Tensor
/// self, float? eps=None, *, Tensor(a!) grad_input)
template <stream_like S, tensor_operand G, tensor_operand X, tensor_like Out>
void logit_backward(const S& stream, const G& grad, const X& x, Out&& out,
                    std::optional<f64> eps = std::nullopt) {
  assign(stream, out, logit_backward(grad, x, eps), "logit_backward");
}

/// grad times the derivative of log_sigmoid at x, which is sigmoid(-x) (an expression). The buffer
/// of log_sigmoid_forward is not read.
template <tensor_operand G, tensor_operand X, tensor_operand B>
[[nodiscard]] auto log_sigmoid_backward(G&& grad, X&& x, const B& buffer) {
  static_cast<void>(buffer);
  return mul(std::forward<G>(grad), sigmoid(neg(std::forward<X>(x))));
}
/// grad times the derivative of log_sigmoid at x, in a new tensor.
template <stream_like S, tensor_operand G, tensor_operand X, tensor_operand B>
[[nodiscard]] auto log_sigmoid_backward(const S& stream, const G& grad, const X& x,
                                        const B& buffer) {
  return evaluate(stream, log_sigmoid_backward(grad, x, buffer), "log_sigmoid_backward");
}
/// out = grad times the derivative of log_sigmoid at x; `out` may be either. Raises shape_mismatch
/// or overlap before anything is written. aten::log_sigmoid_backward.grad_input(Tensor grad_output,
/// Tensor self, Tensor buffer, *, Tensor(a!) grad_input)
template <stream_like S, tensor_operand G, tensor_operand X, tensor_operand B, tensor_like Out>
void log_sigmoid_backward(const S& stream, const G& grad, const X& x, const B& buffer, Out&& out) {
  assign(stream, out, log_sigmoid_backward(grad, x, buffer), "log_sigmoid_backward");
}

/// out = grad * noise in training, where lower and upper differ; otherwise grad times the
/// derivative of leaky_relu with their mean. `out` may be an operand. Raises as
/// leaky_relu_backward. aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor
/// noise, Scalar lower, Scalar upper, bool training, bool self_is_result)
template <stream_like S, tensor_operand G, tensor_operand X, tensor_operand Noise, tensor_like Out>
void rrelu_with_noise_backward(const S& stream, const G& grad, const X& x, const Noise& noise,
                               Out&& out, f64 lower, f64 upper, bool training,
                               bool self_is_result) {
  if (training && upper - lower > 1e-6)
    assign(stream, out, mul(grad, noise), "rrelu_with_noise_backward");
  else
    assign(stream, out, leaky_relu_backward(grad, x, (lower + upper) / 2, self_is_result),
           "rrelu_with_noise_backward");
}
/// The same in a new tensor.
template <stream_like S, tensor_operand G, tensor_operand X, tensor_operand Noise>
[[nodiscard]] auto rrelu_with_noise_backward(const S& stream, const G& grad, const X& x,
                                             const Noise& noise, f64 lower, f64 upper,
                                             bool training, bool self_is_result) {
  if (training && upper - lower > 1e-6)
    return evaluate(stream, mul(grad, noise), "rrelu_with_noise_backward");
  return evaluate(stream, leaky_relu_backward(grad, x, (lower + upper) / 2, self_is_result),
                  "rrelu_with_noise_backward");
}

/// The gradients of prelu_kernel for its input and its weight, element by element: dx = grad for x
/// > 0, else weight * grad; dw = 0 for x > 0, else x * grad. The outputs have the sizes that the
/// operands broadcast to and share no memory with them or each other. Raises shape_mismatch or
/// overlap before anything is written. aten::_prelu_kernel_backward(Tensor grad_output, Tensor
/// self, Tensor weight)
template <stream_like S, tensor_like G, tensor_like X, tensor_like W, tensor_like Dx,
          tensor_like Dw>
void prelu_kernel_backward(const S& stream, const G& grad, const X& x, const W& weight, Dx&& dx,
                           Dw&& dw) {
  constexpr const char* op = "prelu_kernel_backward";
  const auto from = as_view(x);
  detail::broadcast_sizes all{{}, op};
  all(as_view(grad)), all(from), all(as_view(weight));
  detail::check_output_sizes(op, all.sizes, as_view(dx));
  detail::check_output_sizes(op, all.sizes, as_view(dw));
  check_disjoint_output(op, as_view(dx), as_view(grad), from, as_view(weight));
  check_disjoint_output(op, as_view(dw), as_view(grad), from, as_view(weight), as_view(dx));
  assign(stream, dx, where(gt(from, 0), grad, mul(weight, grad)), op);
  assign(stream, dw, where(gt(from, 0), 0, mul(from, grad)), op);
}
/// The same in new tensors.
template <stream_like S, tensor_like G, tensor_like X, tensor_like W>
[[nodiscard]] auto prelu_kernel_backward(const S& stream, const G& grad, const X& x,
                                         const W& weight) {
  constexpr const char* op = "prelu_kernel_backward";
  auto dx = evaluate(stream, where(gt(x, 0), grad, mul(weight, grad)), op);
  auto dw = evaluate(stream, where(gt(x, 0), 0, mul(x, grad)), op);
  return std::pair(std::move(dx), std::move(dw));
}

}  // namespace flaggems
