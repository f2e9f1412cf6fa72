// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gated activations of the two halves of one tensor along a dimension, and their gradients:
// glu(x) = a * sigmoid(b), swiglu(x) = silu(a) * b, geglu(x) = gelu(a) * b with gelu by tanh,
// reglu(x) = relu(a) * b, where x is a and b behind each other.
#pragma once

#include <flaggems/ops/activation_backward.hpp>

#include <type_traits>

namespace flaggems {

namespace detail {

/// The first and the second half of x along a dimension. Raises out_of_range for another dimension,
/// invalid_argument for an odd size.
template <class View>
struct halves_of {
  View first, second;
};
template <class X>
auto halves(const char* op, const X& x, i64 dim) {
  using view = tensor_view<const value_t<X>, device_t<X>>;
  const view v(as_view(x));
  const int at = existing_dim(dim, v.rank(), op);
  const i64 n = v.size(at);
  if (n % 2 != 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an even size along the dimension", text(n));
  return halves_of<view>{v.narrow(at, 0, n / 2), v.narrow(at, n / 2, n / 2)};
}
/// The halves of an output, which is written by halves and so shares no memory with what is read.
template <class View, class G, class X>
auto output_halves(const char* op, const View& to, const G& grad, const X& x, i64 dim) {
  check_same_sizes(op, as_view(x), to);
  check_disjoint_output(op, to, as_view(grad), as_view(x));
  const auto h = halves(op, x, dim);
  check_same_sizes(op, h.first, as_view(grad));
  const int at = existing_dim(dim, to.rank(), op);
  const i64 n = to.size(at) / 2;
  using view = std::remove_const_t<decltype(to.narrow(at, 0, n))>;
  return halves_of<view>{to.narrow(at, 0, n), to.narrow(at, n, n)};
}

}  // namespace detail

#define FLAGGEMS_GATED(name, ...)                                      \
  template <stream_like S, tensor_like X>                              \
  [[nodiscard]] auto name(const S& stream, const X& x, i64 dim = -1) { \
    const auto [a, b] = detail::halves(#name, x, dim);                 \
    return evaluate(stream, __VA_ARGS__, #name);                       \
  }                                                                    \
  template <stream_like S, tensor_like X, tensor_like Out>             \
  void name(const S& stream, const X& x, Out&& out, i64 dim = -1) {    \
    const auto [a, b] = detail::halves(#name, x, dim);                 \
    assign(stream, out, __VA_ARGS__, #name);                           \
  }
/// a * sigmoid(b) of the halves a and b of x along `dim`: a new tensor, or into `out`, which may be
/// one of the halves. Floating-point only. Raises out_of_range for another dimension,
/// invalid_argument for an odd size, shape_mismatch or overlap before anything is written.
/// aten::glu.out(Tensor self, int dim=-1, *, Tensor(a!) out)
FLAGGEMS_GATED(glu, mul(a, sigmoid(b)))
/// silu(a) * b; otherwise as glu. flag_gems swiglu(input_tensor)
FLAGGEMS_GATED(swiglu, silu_and_mul(a, b))
/// gelu(a) * b, gelu by tanh; otherwise as glu. flag_gems geglu(input_tensor)
FLAGGEMS_GATED(geglu, mul(gelu_tanh(a), b))
/// relu(a) * b; otherwise as glu. flag_gems reglu(input_tensor)
FLAGGEMS_GATED(reglu, mul(relu(a), b))
#undef FLAGGEMS_GATED

#define FLAGGEMS_GATED_BACKWARD(name, of_first, of_second)                            \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Out>             \
  void name(const S& stream, const G& grad, const X& x, Out&& out, i64 dim = -1) {    \
    const auto to = detail::output_halves(#name, as_view(out), grad, x, dim);         \
    const auto [a, b] = detail::halves(#name, x, dim);                                \
    const auto g = as_view(grad);                                                     \
    assign(stream, to.first, of_first, #name);                                        \
    assign(stream, to.second, of_second, #name);                                      \
  }                                                                                   \
  template <stream_like S, tensor_like G, tensor_like X>                              \
  [[nodiscard]] auto name(const S& stream, const G& grad, const X& x, i64 dim = -1) { \
    auto out = empty<value_t<X>>(stream, shape(as_view(x).sizes()), #name);           \
    name(stream, grad, x, out, dim);                                                  \
    return out;                                                                       \
  }
/// The gradient of glu: of `grad`, that of its result, and x; into `out`, of x's sizes and sharing
/// no memory with either, or a new tensor. Raises out_of_range, invalid_argument, shape_mismatch or
/// overlap before anything is written. aten::glu_backward.grad_input(Tensor grad_output, Tensor
/// self, int dim, *, Tensor(a!) grad_input)
FLAGGEMS_GATED_BACKWARD(glu_backward, mul(g, sigmoid(b)), sigmoid_backward(mul(g, a), sigmoid(b)))
/// The gradient of swiglu; otherwise as glu_backward. flag_gems dswiglu(grad_output, input_tensor)
FLAGGEMS_GATED_BACKWARD(dswiglu, silu_backward(mul(g, b), a), mul(g, silu(a)))
/// The gradient of geglu; otherwise as glu_backward. flag_gems dgeglu(grad_output, input_tensor)
FLAGGEMS_GATED_BACKWARD(dgeglu, gelu_backward(mul(g, b), a, gelu_approximate::tanh),
                        mul(g, gelu_tanh(a)))
/// The gradient of reglu; otherwise as glu_backward. flag_gems dreglu(grad_output, input_tensor)
FLAGGEMS_GATED_BACKWARD(dreglu, threshold_backward(mul(g, b), a, 0), mul(g, relu(a)))
#undef FLAGGEMS_GATED_BACKWARD

}  // namespace flaggems
