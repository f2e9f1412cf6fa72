// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of linear: two matrix products and a sum.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/statistics.hpp>

namespace flaggems {
namespace detail {

template <class S, class T, class D>
layer_norm_gradients<T, T, D> linear_gradients(const S& stream, const tensor_view<const T, D>& x,
                                               const tensor_view<const T, D>& grad,
                                               const tensor_view<const T, D>& weight,
                                               gradient_mask<3> mask) {
  constexpr const char* op = "linear_backward";
  check_matrix_rank(op, "a weight", weight, 2);
  shape outputs = x.shape_of();
  if (x.rank() < 1 || x.size(-1) != weight.size(1)) [[unlikely]]
    raise_shapes(op, "an input of as many columns as the weight", x.shape_of(), weight.shape_of());
  outputs[x.rank() - 1] = weight.size(0);
  if (!same_sizes(grad.sizes(), outputs)) [[unlikely]]
    raise_other_sizes(op, outputs, grad.sizes());
  layer_norm_gradients<T, T, D> r;
  if (mask[0]) {
    r.input.emplace(empty<T>(stream, x.shape_of(), op));
    linear(stream, grad, weight.t(), r.input->view());
  }
  if (mask[1]) {
    r.weight.emplace(empty<T>(stream, weight.shape_of(), op));
    i64 rows = 1;
    for (int d = 0; d + 1 < x.rank(); ++d) rows *= x.size(d);
    tensor<T, D> own_x, own_grad;
    const auto flat = [&](const auto& v, auto& own) {
      return v.rank() == 2 ? v : as_row(op, stream, v, own).view({rows, v.size(-1)});
    };
    mm(stream, flat(grad, own_grad).t(), flat(x, own_x), r.weight->view());
  }
  if (mask[2]) {
    r.bias.emplace(empty<T>(stream, {weight.size(0)}, op));
    i64 leading[max_rank] = {};
    for (int d = 0; d + 1 < x.rank(); ++d) leading[d] = d;
    if (x.rank() == 1)
      copy_into(op, stream, r.bias->view(), grad);
    else
      sum_into<arithmetic_t<T>>(op, stream, grad, r.bias->view(), int_list(leading, x.rank() - 1),
                                false);
  }
  return r;
}

}  // namespace detail

/// The gradients of linear for its input, weight and bias, in new tensors; `output_mask` says
/// which.
///
/// self [..., k], grad_output [..., n], weight [n, k], one floating-point dtype, any strides; sums
/// are in f32 or f64. Raises shape_mismatch before anything is written.
/// aten::linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) ->
/// (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like G, tensor_like W>
[[nodiscard]] auto linear_backward(const S& stream, const X& self, const G& grad_output,
                                   const W& weight,
                                   gradient_mask<3> output_mask = {true, true, true}) {
  same_device<S, X, G, W>();
  using T = value_t<const X&>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: gradients are of floating point");
  return detail::linear_gradients<S, T, device_of<S>>(stream, as_view(self), as_view(grad_output),
                                                      as_view(weight), output_mask);
}

}  // namespace flaggems
