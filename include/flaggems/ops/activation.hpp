// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Activations with an option, and the gated ones of transformers: gelu, silu_and_mul, gelu_and_mul.
// As with the pointwise operators, the forms are
//   name(x...)                 an expression
//   name(stream, x...)         a new tensor
//   name(stream, x..., out)    into a view
// where the gated ones take two operands that broadcast together; the halves of one tensor are
// `x.narrow(-1, 0, d)` and `x.narrow(-1, d, d)`.
#pragma once

#include <flaggems/kernel/family/pointwise/activation.hpp>
#include <flaggems/ops/expr.hpp>

namespace flaggems {

namespace operators {
using gelu = kernels::gelu_fn;
using silu_and_mul = kernels::silu_and_mul_fn;
using gelu_and_mul = kernels::gelu_and_mul_fn;
}  // namespace operators

/// How gelu is computed: exactly, by the error function, or by tanh.
enum class gelu_approximate { none, tanh };

/// gelu(x) = x * Phi(x), Phi the distribution function of N(0, 1) (an expression). Floating-point
/// only.
template <tensor_operand X>
[[nodiscard]] auto gelu(X&& x) {
  return detail::make_call<detail::floating>(kernels::gelu_none_fn{}, std::forward<X>(x));
}
/// The same, or its approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as chosen at
/// run time: kernels contain both, which takes longer to compile.
template <tensor_operand X>
[[nodiscard]] auto gelu(X&& x, gelu_approximate approximate) {
  return detail::make_call<detail::floating>(
      kernels::gelu_fn{approximate == gelu_approximate::tanh}, std::forward<X>(x));
}
/// gelu(x) in a new tensor.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto gelu(const S& stream, const X& x,
                        gelu_approximate approximate = gelu_approximate::none) {
  return evaluate(stream, gelu(x, approximate), "gelu");
}
/// out = gelu(x), element by element; `out` may be `x`. Raises shape_mismatch or overlap before
/// anything is written. aten::gelu.out(Tensor self, *, str approximate='none', Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void gelu(const S& stream, const X& x, Out&& out,
          gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, out, gelu(x, approximate), "gelu");
}
/// x = gelu(x). aten::gelu_(Tensor(a!) self, *, str approximate='none')
template <stream_like S, tensor_like X>
void gelu_(const S& stream, X&& x, gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, x, gelu(x, approximate), "gelu_");
}

/// silu(x) * y = x / (1 + exp(-x)) * y (an expression). Floating-point only; rounded once.
template <tensor_operand X, tensor_operand Y>
[[nodiscard]] auto silu_and_mul(X&& x, Y&& y) {
  return detail::make_call<detail::floating>(kernels::silu_and_mul_fn{}, std::forward<X>(x),
                                             std::forward<Y>(y));
}
/// silu(x) * y in a new tensor.
template <stream_like S, tensor_operand X, tensor_operand Y>
[[nodiscard]] auto silu_and_mul(const S& stream, const X& x, const Y& y) {
  return evaluate(stream, silu_and_mul(x, y), "silu_and_mul");
}
/// out = silu(x) * y, element by element; `out` may be `x` or `y`. Raises shape_mismatch or overlap
/// before anything is written. flag_gems silu_and_mul_out(A, B, out)
template <stream_like S, tensor_operand X, tensor_operand Y, tensor_like Out>
void silu_and_mul(const S& stream, const X& x, const Y& y, Out&& out) {
  assign(stream, out, silu_and_mul(x, y), "silu_and_mul");
}

/// gelu(x) * y (an expression). Floating-point only; rounded once.
template <tensor_operand X, tensor_operand Y>
[[nodiscard]] auto gelu_and_mul(X&& x, Y&& y,
                                gelu_approximate approximate = gelu_approximate::none) {
  return detail::make_call<detail::floating>(
      kernels::gelu_and_mul_fn{{approximate == gelu_approximate::tanh}}, std::forward<X>(x),
      std::forward<Y>(y));
}
/// gelu(x) * y in a new tensor.
template <stream_like S, tensor_operand X, tensor_operand Y>
[[nodiscard]] auto gelu_and_mul(const S& stream, const X& x, const Y& y,
                                gelu_approximate approximate = gelu_approximate::none) {
  return evaluate(stream, gelu_and_mul(x, y, approximate), "gelu_and_mul");
}
/// out = gelu(x) * y, element by element; `out` may be `x` or `y`. Raises shape_mismatch or overlap
/// before anything is written. flag_gems gelu_and_mul(x, y, approximate='none')
template <stream_like S, tensor_operand X, tensor_operand Y, tensor_like Out>
void gelu_and_mul(const S& stream, const X& x, const Y& y, Out&& out,
                  gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, out, gelu_and_mul(x, y, approximate), "gelu_and_mul");
}

}  // namespace flaggems
