// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/scatter.hpp>

namespace flaggems {
namespace operators {
struct embedding_dense_backward;
}

namespace detail {

template <class S, class T, class J, class D>
void embedding_gradient(const char* op, const S& stream, const tensor_view<const T, D>& grad,
                        const tensor_view<const J, D>& indices, const tensor_view<T, D>& out,
                        i64 padding_idx, bool scale_grad_by_freq) {
  const i64 classes = out.size(0), n = indices.numel();
  shape wanted = indices.shape_of();
  wanted.push_back(out.size(1));
  if (!same_sizes(grad.sizes(), wanted)) [[unlikely]]
    raise_other_sizes(op, wanted, grad.sizes());
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(grad));
  check_no_overlap(op, written, layout_of(indices));
  check_indices(op, stream, indices, classes);
  if (out.empty() || replaced<operators::embedding_dense_backward>(op, stream, grad, indices, out,
                                                                   padding_idx, scale_grad_by_freq))
    return;
  if (n == 0) return fill(op, stream, out, 0);
  // Rows of one dimension, without those of the padding.
  auto rows = empty<i64>(stream, indices.shape_of(), op);
  using is_padding = call<to_bool, kernels::eq_fn, leaf<J, D>, number<i64>>;
  using kept = choice<is_padding, number<i64>, leaf<J, D>>;
  assign_node(op, stream, rows.view(),
              kept{is_padding{{}, {{indices}, {padding_idx}}}, {i64{-1}}, {indices}});
  const tensor_view<const i64, D> row = input_of(rows).view({n, 1});
  const auto add_rows = [&](const auto& from, const auto& to) {
    fill(op, stream, to, 0);
    launch_scatter_along(op, stream, to, 0, row.expand({n, out.size(1)}),
                         from.view({n, out.size(1)}), kernels::joining::sum);
  };
  if (!scale_grad_by_freq) {
    tensor<T, D> own;
    return add_rows(as_row(op, stream, grad, own), out);
  }
  // Sums of 16-bit floats are divided before they are rounded.
  using C = arithmetic_t<T>;
  auto sums = empty<C>(stream, out.shape_of(), op);
  tensor<C, D> own;
  if constexpr (std::is_same_v<T, C>) {
    add_rows(as_row(op, stream, grad, own), sums.view());
  } else {
    own = copied<C>(op, stream, grad);
    add_rows(input_of(own), sums.view());
  }
  auto counts = empty<i64>(stream, {classes, 1}, op);
  assign_node(op, stream, counts.view(), number<i64>{0});
  const everywhere<i64, S> one(op, stream, 1);
  launch_scatter(op, stream, elements_along(counts.view(), 0, row), one.view({n, 1}),
                 meeting_dims{1}, kernels::joining::sum);
  assign_node(op, stream, out, cast<T>(div(sums, cast<C>(maximum(counts, 1)))).node);
}

}  // namespace detail

/// out[k] = the sum of grad_output's rows whose index is k, in order: the same bits in every run;
/// zero for `padding_idx`. With `scale_grad_by_freq` it is divided by how many there are.
///
/// Shapes: indices [...] of i64 or i32, grad_output [..., E], out [num_weights, E] of grad_output's
/// dtype. Sums of 16-bit floats are computed in f32. Indices outside [0, num_weights) raise
/// out_of_range where the host can read them, and count nowhere elsewhere. Raises shape_mismatch or
/// overlap, before anything is written. aten::embedding_dense_backward.out(Tensor grad_output,
/// Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, *, Tensor(a!)
/// out)
template <stream_like S, tensor_like Grad, tensor_like Indices, tensor_like Out>
void embedding_dense_backward(const S& stream, const Grad& grad_output, const Indices& indices,
                              Out&& out, i64 num_weights, i64 padding_idx = -1,
                              bool scale_grad_by_freq = false) {
  constexpr const char* op = "embedding_dense_backward";
  same_device<S, Grad, Indices, Out>();
  if constexpr (detail::check_lookup_types<const Grad&, Indices, Out>() &&
                element_type_in<floating_types, 1, Grad>()) {
    const auto to = as_view(out);
    const auto grad = detail::input_of(grad_output);
    if (grad.rank() == 0) [[unlikely]]
      raise(errc::shape_mismatch, op, "rows of gradients", "none");
    detail::check_output_sizes(op, {num_weights, grad.size(-1)}, to);
    detail::embedding_gradient(op, stream, grad, detail::input_of(indices), to, padding_idx,
                               scale_grad_by_freq);
  }
}
template <stream_like S, tensor_like Grad, tensor_like Indices>
[[nodiscard]] auto embedding_dense_backward(const S& stream, const Grad& grad_output,
                                            const Indices& indices, i64 num_weights,
                                            i64 padding_idx = -1, bool scale_grad_by_freq = false) {
  const auto grad = as_view(grad_output);
  if (grad.rank() == 0) [[unlikely]]
    raise(errc::shape_mismatch, "embedding_dense_backward", "rows of gradients", "none");
  auto out =
      empty<value_t<const Grad&>>(stream, {num_weights, grad.size(-1)}, "embedding_dense_backward");
  embedding_dense_backward(stream, grad_output, indices, out, num_weights, padding_idx,
                           scale_grad_by_freq);
  return out;
}
/// embedding_dense_backward, under the name that is for sparse gradients, too: raises not_supported
/// for those. aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt
/// padding_idx, bool scale_grad_by_freq, bool sparse)
template <stream_like S, tensor_like Grad, tensor_like Indices>
[[nodiscard]] auto embedding_backward(const S& stream, const Grad& grad, const Indices& indices,
                                      i64 num_weights, i64 padding_idx = -1,
                                      bool scale_grad_by_freq = false, bool sparse = false) {
  if (sparse) [[unlikely]]
    raise(errc::not_supported, "embedding_backward", "dense gradients", "sparse=True");
  return embedding_dense_backward(stream, grad, indices, num_weights, padding_idx,
                                  scale_grad_by_freq);
}

}  // namespace flaggems
