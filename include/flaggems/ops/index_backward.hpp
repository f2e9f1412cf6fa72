// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of reads at indices and by masks: zeros with what was read in its place.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/scatter.hpp>

#include <type_traits>

namespace flaggems {
namespace detail {

/// New zeros, with grad joined at indices of a dimension by `write`: scatter_into or
/// index_into_dim.
template <class S, class G, class Index, class Write>
auto spread_at(const char* op, const S& stream, const G& grad, const shape& sizes, i64 dim,
               const Index& index, kernels::joining how, const Write& write) {
  using T = value_t<const G&>;
  same_device<S, G, Index>();
  auto out = filled<T>(op, stream, sizes, 0);
  if constexpr (check_lookup_types<const G&, Index, decltype(out)&>())
    write(op, stream, input_of(out), dim, input_of(index), input_of(grad), out.view(),
          [&](const auto& call) { call.write(how); });
  return out;
}

}  // namespace detail

/// The gradient of index_select: zeros of self_sizes, with index i of `dim` of grad added at
/// index[i], in a new tensor of grad's dtype. Raises as index_add.
/// aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index)
template <stream_like S, tensor_like G, tensor_like Index>
[[nodiscard]] auto index_select_backward(const S& stream, const G& grad, int_list self_sizes,
                                         i64 dim, const Index& index) {
  return detail::spread_at("index_select_backward", stream, grad, shape(self_sizes), dim, index,
                           kernels::joining::sum,
                           [](const auto&... a) { detail::index_into_dim(a...); });
}

/// The gradient of gather: zeros of x's sizes, with the elements of grad added along `dim` at
/// index, in a new tensor of grad's dtype. The gradient is dense whatever sparse_grad says. Raises
/// as scatter_add. aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool
/// sparse_grad)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Index>
[[nodiscard]] auto gather_backward(const S& stream, const G& grad, const X& x, i64 dim,
                                   const Index& index, bool sparse_grad) {
  static_cast<void>(sparse_grad);
  same_device<S, G, X>();
  return detail::spread_at("gather_backward", stream, grad, shape(as_view(x).sizes()), dim, index,
                           kernels::joining::sum,
                           [](const auto&... a) { detail::scatter_into(a...); });
}

/// The gradient of cummax and cummin: zeros of input's sizes, with the elements of grad added along
/// `dim` at the places of what they were the gradient of, in a new tensor of grad's dtype. Raises
/// as scatter_add. aten::cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Index>
[[nodiscard]] auto cummaxmin_backward(const S& stream, const G& grad, const X& input,
                                      const Index& indices, i64 dim) {
  same_device<S, G, X>();
  return detail::spread_at("cummaxmin_backward", stream, grad, shape(as_view(input).sizes()), dim,
                           indices, kernels::joining::sum,
                           [](const auto&... a) { detail::scatter_into(a...); });
}

/// The gradient of reductions that choose an element: zeros of `sizes`, but grad along `dim` at
/// indices, in a new tensor of grad's dtype. grad and indices have the size 1 along it if keepdim,
/// else lack it. Raises as scatter. aten::value_selecting_reduction_backward(Tensor grad, int dim,
/// Tensor indices, SymInt[] sizes, bool keepdim)
template <stream_like S, tensor_like G, tensor_like Index>
[[nodiscard]] auto value_selecting_reduction_backward(const S& stream, const G& grad, i64 dim,
                                                      const Index& indices, int_list sizes,
                                                      bool keepdim) {
  constexpr const char* op = "value_selecting_reduction_backward";
  auto g = detail::input_of(grad);
  auto index = detail::input_of(indices);
  if (!keepdim && sizes.size() > 0) {
    if (g.rank() != sizes.size() - 1 || index.rank() != g.rank()) [[unlikely]]
      raise(errc::shape_mismatch, op, "tensors of rank " + detail::text(sizes.size() - 1),
            detail::text(g.rank()) + " and " + detail::text(index.rank()));
    const int d = normalize_dim(dim, sizes.size(), op);
    g = g.unsqueeze(d);
    index = index.unsqueeze(d);
  }
  return detail::spread_at(op, stream, g, shape(sizes), dim, index, kernels::joining::replace,
                           [](const auto&... a) { detail::scatter_into(a...); });
}

/// The gradient of masked_scatter for its source: the elements of grad_output where the mask, which
/// it broadcasts with, is true, in order; then zeros up to `sizes`. It waits for the stream. Raises
/// shape_mismatch, also for more elements than `sizes` has.
/// aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes)
template <stream_like S, tensor_like G, tensor_like Mask>
[[nodiscard]] auto masked_scatter_backward(const S& stream, const G& grad_output, const Mask& mask,
                                           int_list sizes) {
  constexpr const char* op = "masked_scatter_backward";
  using T = value_t<const G&>;
  using D = device_of<S>;
  same_device<S, G, Mask>();
  static_assert(std::is_same_v<value_t<const Mask&>, bool>, "flaggems: a mask is of bool");
  const auto g = as_view(grad_output);
  const auto m = as_view(mask);
  shape all = broadcast_shapes(g.shape_of(), m.shape_of(), op);
  if (all.rank() == 0) all.push_back(1);
  const detail::mask_places<S> found(
      op, stream, all, detail::leaf<bool, D>{tensor_view<const bool, D>(m.expand(all))});
  auto out = detail::filled<T>(op, stream, shape(sizes), 0);
  const i64 n = out.numel();
  if (found.count > n) [[unlikely]]
    raise(errc::shape_mismatch, op, "sizes of at least " + detail::text(found.count) + " elements",
          to_string(sizes));
  found.select(op, stream, tensor_view<const T, D>(g.expand(all)),
               out.view().view({n}).narrow(0, 0, found.count));
  return out;
}

}  // namespace flaggems
