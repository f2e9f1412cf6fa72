// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a convolution's gradients: convolutions, transposed ones, and the gradient of a
// weight, products of the output's gradient and the copied windows.
#pragma once

#include <flaggems/ops/conv_transpose.hpp>
#include <flaggems/ops/native_norm.hpp>

#include <optional>

namespace flaggems {

/// Gradients of convolution_backward's operands; those that nothing was given for are absent.
template <class T, class D>
struct convolution_gradients {
  std::optional<tensor<T, D>> grad_output, input, weight;
  [[nodiscard]] auto tie() { return std::tie(grad_output, input, weight); }
};

namespace detail {

/// The gradient of the weight of a convolution of x whose output has the gradient g: the sums over
/// images and places of g[f, place] times the elements of x in that place's window. Both have a
/// batch; `weight` tells the sizes.
template <class S, class T, class D>
tensor<T, D> weight_gradient(const conv_request& ask, const S& stream,
                             const tensor_view<const T, D>& x, const tensor_view<const T, D>& g,
                             const shape& weight) {
  const char* op = ask.name;
  using C = arithmetic_t<T>;
  const conv_plan plan(ask, x.shape_of(), weight);
  auto out = empty<T>(stream, weight, op);
  if (out.empty()) return out;
  const i64 depth = plan.channels * plan.window(), places = plan.places();
  const shape matrices{plan.groups, plan.features, depth};
  auto sums = empty<C>(stream, matrices, op);
  fill(op, stream, sums.view(), 0);
  tensor<T, D> padded, own;
  tensor_view<const T, D> images = x;
  if (plan.is_padded()) {
    padded = padded_images(op, stream, plan, x);
    images = input_of(padded);
  }
  const auto grads =
      as_row(op, stream, g, own).view({plan.batch, plan.groups, plan.features, places});
  auto columns = empty<T>(stream, {plan.groups, depth, places}, op);
  for (i64 k = 0; k < plan.batch && places > 0; ++k) {
    const auto windows = plan.windows(images.select(0, k));
    copy_into(op, stream, columns.view().view(windows.shape_of()), windows);
    gemm(op, stream, grads.select(0, k), input_of(columns), sums.view(), sums.view(), 1, 1);
  }
  assign(stream, out.view().view(matrices), cast<T>(sums), op);
  return out;
}

/// The numbers of a convolution, one for each dimension.
struct conv_numbers {
  shape stride, padding, dilation, output_padding;
  conv_numbers(const char* op, int dims, int_list s, int_list p, int_list d, int_list o) {
    for (int k = 0; k < dims; ++k) {
      stride.push_back(number_of_dim(op, s, dims, k, "a stride", 1));
      padding.push_back(number_of_dim(op, p, dims, k, "a padding", 0));
      dilation.push_back(number_of_dim(op, d, dims, k, "a dilation", 1));
      output_padding.push_back(number_of_dim(op, o, dims, k, "an output_padding", 0));
    }
  }
};

/// A convolution, transposed or not, and its gradients, for the operands of both; all have a batch.
template <class S, class T, class D>
struct convolution_of {
  using view = tensor_view<const T, D>;
  const char* op;
  const S& stream;
  int dims;
  conv_numbers n;
  i64 groups;
  bool transposed;

  [[nodiscard]] conv_request request() const {
    return {op, dims, n.stride, n.padding, n.dilation, groups, std::nullopt};
  }
  [[nodiscard]] tensor<T, D> plain(const view& x, const view& weight) const {
    return convolve_new(request(), stream, x, weight, std::nullopt);
  }
  [[nodiscard]] tensor<T, D> reversed(const view& x, const view& weight, const shape& more) const {
    const conv_transpose_request ask{op, dims, n.stride, n.padding, more, n.dilation, groups};
    const conv_transpose_plan plan(ask, x.shape_of(), weight.shape_of());
    auto out = empty<T>(stream, plan.out(true), op);
    conv_transpose_into(ask, stream, x, weight, std::nullopt, out.view());
    return out;
  }
  [[nodiscard]] tensor<T, D> forward(const view& x, const view& weight) const {
    return transposed ? reversed(x, weight, n.output_padding) : plain(x, weight);
  }
  /// The gradient of an input of these sizes.
  [[nodiscard]] tensor<T, D> of_input(const view& grad, const view& weight,
                                      const shape& sizes) const {
    if (transposed) return plain(grad, weight);
    shape more;  // elements at the end of which no window takes part
    for (int k = 0; k < dims; ++k) {
      const i64 padded = sizes[2 + k] + 2 * n.padding[k];
      more.push_back((padded - n.dilation[k] * (weight.size(2 + k) - 1) - 1) % n.stride[k]);
    }
    return reversed(grad, weight, more);
  }
  [[nodiscard]] tensor<T, D> of_weight(const view& x, const view& grad, const shape& sizes) const {
    return transposed ? weight_gradient(request(), stream, grad, x, sizes)
                      : weight_gradient(request(), stream, x, grad, sizes);
  }
};

template <class S, class T, class D>
convolution_gradients<T, D> convolve_double_backward(
    const convolution_of<S, T, D>& conv, const std::optional<tensor_view<const T, D>>& by_input,
    const std::optional<tensor_view<const T, D>>& by_weight,
    const std::optional<tensor_view<const T, D>>& by_bias, const tensor_view<const T, D>& grad,
    const tensor_view<const T, D>& weight, const tensor_view<const T, D>& x) {
  const char* op = conv.op;
  const auto same = [&](const auto& given, const auto& as) {
    if (given && !same_sizes(given->sizes(), as.sizes())) [[unlikely]]
      raise_other_sizes(op, as.shape_of(), given->sizes());
  };
  same(by_input, x);
  same(by_weight, weight);
  const shape outputs = [&] {
    if (!conv.transposed)
      return conv_plan(conv.request(), x.shape_of(), weight.shape_of()).out(true);
    const conv_numbers& n = conv.n;
    return conv_transpose_plan(
               {op, conv.dims, n.stride, n.padding, n.output_padding, n.dilation, conv.groups},
               x.shape_of(), weight.shape_of())
        .out(true);
  }();
  if (!same_sizes(grad.sizes(), outputs)) [[unlikely]]
    raise_other_sizes(op, outputs, grad.sizes());
  if (by_bias && (by_bias->rank() != 1 || by_bias->size(0) != outputs[1])) [[unlikely]]
    raise_other_sizes(op, {outputs[1]}, by_bias->sizes());

  convolution_gradients<T, D> r;
  const auto add_to_output = [&](const auto& term) {
    if (r.grad_output)
      assign(conv.stream, *r.grad_output, add(*r.grad_output, term), op);
    else
      r.grad_output.emplace(evaluate(conv.stream, add(term, kernels::number_cast<T>(0)), op));
  };
  if (by_input) add_to_output(conv.forward(*by_input, weight));
  if (by_weight) add_to_output(conv.forward(x, *by_weight));
  if (by_bias) {
    tensor_view<const T, D> bias = *by_bias;
    for (int d = 0; d < conv.dims; ++d) bias = bias.unsqueeze(-1);
    add_to_output(bias.unsqueeze(0).expand(outputs));
  }
  if (by_weight) r.input.emplace(conv.of_input(grad, *by_weight, x.shape_of()));
  if (by_input) r.weight.emplace(conv.of_weight(*by_input, grad, weight.shape_of()));
  return r;
}

}  // namespace detail

/// The gradients of convolution_backward for its operands, from those of its results: ggI of the
/// input's gradient, ggW of the weight's, ggb of the bias's, each of which may be absent. In new
/// tensors: of grad_output, ggI and ggW convolved with weight and input, plus ggb; of input, that
/// of a convolution with ggW; of weight, that of a convolution of ggI.
///
/// self, ggI [N, C, sizes...], weight, ggW [F, C / groups, kernel...], or [C, F / groups,
/// kernel...] if `transposed`, gO [N, F, results...], ggb [F], over one to three dimensions; one
/// floating-point dtype, any strides; sums are in f32 or f64. A result without operands is absent;
/// as in ATen, output_mask changes nothing. Raises shape_mismatch or invalid_argument before
/// anything is written. aten::_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb,
/// Tensor gO, Tensor weight, Tensor self, SymInt[] stride, SymInt[] padding, SymInt[] dilation,
/// bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor,
/// Tensor, Tensor)
template <stream_like S, optional_tensor GGI, optional_tensor GGW, optional_tensor GGB,
          tensor_like GO, tensor_like W, tensor_like X>
[[nodiscard]] auto convolution_double_backward(const S& stream, const GGI& by_input,
                                               const GGW& by_weight, const GGB& by_bias,
                                               const GO& grad_output, const W& weight,
                                               const X& self, int_list stride, int_list padding,
                                               int_list dilation, bool transposed,
                                               int_list output_padding, i64 groups,
                                               gradient_mask<3> = {true, true, true}) {
  constexpr const char* op = "convolution_double_backward";
  same_device<S, GGI, GGW, GGB, GO, W, X>();
  using T = value_t<const X&>;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: convolutions are of floating point");
  const tensor_view<const T, D> x(as_view(self)), w(as_view(weight)), g(as_view(grad_output));
  const int dims = detail::dims_of_convolution(op, x, w);
  if (x.rank() != dims + 2) [[unlikely]]
    detail::raise_shapes(op, "an input with a batch", x.shape_of(), w.shape_of());
  const detail::convolution_of<S, T, D> conv{
      op,     stream,
      dims,   detail::conv_numbers(op, dims, stride, padding, dilation, output_padding),
      groups, transposed};
  return detail::convolve_double_backward(conv, detail::optional_view<T, D>(by_input),
                                          detail::optional_view<T, D>(by_weight),
                                          detail::optional_view<T, D>(by_bias), g, w, x);
}

}  // namespace flaggems
