// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax whose rows of -inf alone are zero, of attention in which nothing may be seen; and of
// scaled elements.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>

#include <limits>

namespace flaggems {

/// out = softmax(x) along `dim`, but 0 in rows of only -inf.
///
/// Otherwise as softmax; x is floating-point. aten::_safe_softmax(Tensor self, int dim, ScalarType?
/// dtype=None)
template <stream_like S, tensor_like X, tensor_like Out>
void safe_softmax(const S& stream, const X& x, Out&& out, i64 dim) {
  constexpr const char* op = "safe_softmax";
  using T = value_t<const X&>;
  same_device<S, X, Out>();
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: safe_softmax is of floating-point tensors");
  if constexpr (detail::check_softmax_types<const X&, Out>()) {
    const auto v = as_view(x);
    const int d = normalize_dim(dim, v.rank(), op);
    if (v.rank() == 0 || v.empty())
      return detail::softmax_into<false>(op, stream, v, as_view(out), d);
    // Before out is written, which may be x.
    const auto greatest = amax(stream, v, {d}, true);
    detail::softmax_into<false>(op, stream, v, as_view(out), d);
    assign(stream, out, where(eq(greatest, -std::numeric_limits<f32>::infinity()), 0, out), op);
  }
}
/// safe_softmax(x) along `dim` in a new tensor; T is its dtype if it shall not be x's.
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto safe_softmax(const S& stream, const X& x, i64 dim) {
  auto out =
      empty<detail::type_or<T, value_t<const X&>>>(stream, as_view(x).sizes(), "safe_softmax");
  safe_softmax(stream, x, out, dim);
  return out;
}

/// out = softmax(scale_factor * x) along the last dimension, rounded once. x, out: the same sizes,
/// of floating point; out may be x. Raises as softmax.
/// flag_gems::scaled_softmax_forward(Tensor input_t, float scale_factor)
template <stream_like S, tensor_like X, tensor_like Out>
void scaled_softmax_forward(const S& stream, const X& x, Out&& out, f64 scale_factor) {
  constexpr const char* op = "scaled_softmax_forward";
  using C = detail::arithmetic_t<value_t<const X&>>;
  same_device<S, X, Out>();
  static_assert(detail::kind_of<value_t<const X&>> == detail::kind::floating,
                "flaggems: softmax is of floating-point tensors");
  if constexpr (detail::check_softmax_types<const X&, Out>()) {
    const auto v = as_view(x);
    static_cast<void>(detail::check_same_shape(op, as_view(out), v));
    const auto scaled = evaluate(stream, mul(cast<C>(v), static_cast<C>(scale_factor)), op);
    detail::softmax_into<false>(op, stream, detail::input_of(scaled), as_view(out), -1);
  }
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto scaled_softmax_forward(const S& stream, const X& x, f64 scale_factor) {
  auto out = empty<value_t<const X&>>(stream, as_view(x).sizes(), "scaled_softmax_forward");
  scaled_softmax_forward(stream, x, out, scale_factor);
  return out;
}
/// grad_input = the gradient of scaled_softmax_forward, which gave softmax_results: that of softmax
/// times scale_factor, rounded once. All of the same sizes, of floating point. Raises as
/// softmax_backward.
/// flag_gems::scaled_softmax_backward(Tensor grad_output, Tensor softmax_results, float
/// scale_factor)
template <stream_like S, tensor_like G, tensor_like Y, tensor_like Out>
void scaled_softmax_backward(const S& stream, const G& grad_output, const Y& softmax_results,
                             Out&& grad_input, f64 scale_factor) {
  constexpr const char* op = "scaled_softmax_backward";
  using C = detail::arithmetic_t<value_t<const Y&>>;
  same_device<S, G, Y, Out>();
  if constexpr (detail::check_softmax_backward_types<const G&, const Y&, Out>()) {
    const auto g = as_view(grad_output);
    static_cast<void>(detail::check_same_shape(op, as_view(grad_input), g));
    auto grad = empty<C>(stream, g.sizes(), op);
    detail::softmax_backward_into<false>(op, stream, g, as_view(softmax_results), grad.view(), -1);
    assign(stream, grad_input, cast<value_t<Out>>(mul(grad, static_cast<C>(scale_factor))), op);
  }
}
template <stream_like S, tensor_like G, tensor_like Y>
[[nodiscard]] auto scaled_softmax_backward(const S& stream, const G& grad_output,
                                           const Y& softmax_results, f64 scale_factor) {
  auto out =
      empty<value_t<const Y&>>(stream, as_view(softmax_results).sizes(), "scaled_softmax_backward");
  scaled_softmax_backward(stream, grad_output, softmax_results, out, scale_factor);
  return out;
}

}  // namespace flaggems
