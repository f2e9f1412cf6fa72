// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Weights as a direction and its length: w = g v / |v|, and the gradients.
#pragma once

#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/statistics.hpp>

#include <utility>

namespace flaggems {

namespace operators {
struct weight_norm_interface;
struct weight_norm_interface_backward;
}  // namespace operators

namespace detail {

/// What v's elements are reduced over: all dimensions but one. A dimension of size 1 behind them
/// keeps that list from being empty, which means all.
template <class V>
struct slices_of {
  V view;
  shape kept, dims;

  slices_of(const char* op, const V& v, i64 dim) : view(v), kept(v.sizes()) {
    const int d = dim == -1 && v.rank() > 0 ? -1 : existing_dim(dim, v.rank(), op);
    if (view.rank() == 1) view = view.unsqueeze(-1);
    for (int k = 0; k < view.rank(); ++k)
      if (k != d) dims.push_back(k);
    for (int k = 0; k < kept.rank(); ++k)
      if (k != d) kept[k] = 1;
    if (d < 0) kept = shape{};
  }
  /// What is reduced to, in the dimensions of `view`.
  template <class C, class S>
  [[nodiscard]] tensor<C, device_of<S>> reduced(const char* op, const S& stream) const {
    shape sizes(view.sizes());
    for (const i64 k : dims) sizes[static_cast<int>(k)] = 1;
    return empty<C>(stream, sizes, op);
  }
};

template <class S, class V, class G, class Out, class Norms>
void weight_norm_into(const S& stream, const V& v, const G& g, i64 dim, const Out& out,
                      const Norms& norms) {
  constexpr const char* op = "weight_norm_interface";
  using C = norm_compute<value_t<const V&>, value_t<const G&>>;
  const slices_of<V> slices(op, v, dim);
  if (!same_sizes(g.sizes(), slices.kept)) [[unlikely]]
    raise_other_sizes(op, slices.kept, g.sizes());
  check_same_shape(op, out, v);
  check_separate(op, out, g);
  check_kept(op, slices.kept, std::tie(v, g, out), norms);
  if (replaced<operators::weight_norm_interface>(op, stream, v, g, dim, out, norms)) return;
  const auto x = cast<C>(slices.view);
  auto length = slices.template reduced<C>(op, stream);
  sum_into<C>(op, stream, square(x), length.view(), int_list(slices.dims), true);
  assign(stream, length, sqrt(length), op);
  const auto lengths = std::as_const(length).view().view(slices.kept);
  assign(stream, norms, cast<value_t<const Norms&>>(lengths), op);
  assign(stream, out, cast<value_t<const Out&>>(cast<C>(v) * (cast<C>(g) / lengths)), op);
}

template <class S, class W, class V, class G, class Norms, class GradV, class GradG>
void weight_norm_backward_into(const S& stream, const W& grad_w, const V& v, const G& g,
                               const Norms& norms, i64 dim, const GradV& grad_v,
                               const GradG& grad_g) {
  constexpr const char* op = "weight_norm_interface_backward";
  using C = norm_compute<value_t<const W&>, value_t<const V&>, value_t<const G&>>;
  const slices_of<V> slices(op, v, dim), gradients(op, grad_w, dim);
  check_same_sizes(op, v, grad_w);
  for (const shape& own : {g.shape_of(), norms.shape_of()})
    if (!same_sizes(own, slices.kept)) [[unlikely]]
      raise_other_sizes(op, slices.kept, own);
  check_same_shape(op, grad_v, v);
  check_same_shape(op, grad_v, grad_w);
  check_separate(op, grad_v, g, norms);
  check_kept(op, slices.kept, std::tie(grad_w, v, g, norms, grad_v), grad_g);
  using implemented = operators::weight_norm_interface_backward;
  if (replaced<implemented>(op, stream, grad_w, v, g, norms, dim, grad_v, grad_g)) return;
  auto product = slices.template reduced<C>(op, stream);
  sum_into<C>(op, stream, cast<C>(slices.view) * cast<C>(gradients.view), product.view(),
              int_list(slices.dims), true);
  const auto products = product.view().view(slices.kept);
  const auto length = cast<C>(norms);
  assign(stream, grad_g, cast<value_t<const GradG&>>(products / length), op);
  assign(stream, products, products / (length * length), op);
  assign(stream, grad_v,
         cast<value_t<const GradV&>>((cast<C>(grad_w) - cast<C>(v) * products) *
                                     (cast<C>(g) / length)),
         op);
}

/// Does not compile unless all are floating-point; gives whether they are.
template <class Out, class Norms, class... X>
constexpr bool check_weight_norm_types() {
  return check_norm_types<Out, X...>() && check_norm_types<Norms>();
}

}  // namespace detail

/// out = g v / norms, where norms are the Euclidean norms of the slices v[.., i, ..] of dimension
/// `dim`, or of all of v for -1.
///
/// Shapes: v, out alike; g, norms: v's rank, with v's size in dimension dim and 1 in the others; in
/// no dimension for -1. Norms are computed in f32, or f64. `out` may be v; what is written shares
/// no other memory. Raises out_of_range, shape_mismatch or overlap before anything is written.
/// aten::_weight_norm_interface.out(Tensor v, Tensor g, int dim=0, *, Tensor(a!) out0, Tensor(b!)
/// out1)
template <stream_like S, tensor_like V, tensor_like G, tensor_like Out, tensor_like Norms>
void weight_norm_interface(const S& stream, const V& v, const G& g, Out&& out, Norms&& norms,
                           i64 dim = 0) {
  same_device<S, V, G, Out, Norms>();
  if constexpr (detail::check_weight_norm_types<Out, Norms, V, G>())
    detail::weight_norm_into(stream, detail::input_of(v), as_view(g), dim, as_view(out),
                             as_view(norms));
}
/// weight_norm in a new tensor of v's dtype, with the norms in f32 (f64 if v is).
template <stream_like S, tensor_like V, tensor_like G>
[[nodiscard]] auto weight_norm_interface(const S& stream, const V& v, const G& g, i64 dim = 0) {
  constexpr const char* op = "weight_norm_interface";
  using T = value_t<const V&>;
  std::pair r(empty_like(stream, v, op),
              empty<detail::saved_type<T>>(stream, as_view(g).shape_of(), op));
  weight_norm_interface(stream, v, g, r.first, r.second, dim);
  return r;
}
/// weight_norm_interface without the norms. aten::_weight_norm(Tensor v, Tensor g, int dim=0)
template <stream_like S, tensor_like V, tensor_like G>
[[nodiscard]] auto weight_norm(const S& stream, const V& v, const G& g, i64 dim = 0) {
  return weight_norm_interface(stream, v, g, dim).first;
}

/// The gradients of weight_norm: of v and of g. saved_norms are what weight_norm_interface gave.
///
/// Shapes as there; `grad_v` may be grad_w or saved_v. aten::_weight_norm_interface_backward(Tensor
/// grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)
template <stream_like S, tensor_like W, tensor_like V, tensor_like G, tensor_like Norms,
          tensor_like GradV, tensor_like GradG>
void weight_norm_interface_backward(const S& stream, const W& grad_w, const V& saved_v,
                                    const G& saved_g, const Norms& saved_norms, GradV&& grad_v,
                                    GradG&& grad_g, i64 dim) {
  same_device<S, W, V, G, Norms, GradV, GradG>();
  if constexpr (detail::check_weight_norm_types<GradV, GradG, W, V, G, Norms>())
    detail::weight_norm_backward_into(stream, detail::input_of(grad_w), detail::input_of(saved_v),
                                      as_view(saved_g), as_view(saved_norms), dim, as_view(grad_v),
                                      as_view(grad_g));
}
/// The gradients in new tensors of the dtypes of v and g.
template <stream_like S, tensor_like W, tensor_like V, tensor_like G, tensor_like Norms>
[[nodiscard]] auto weight_norm_interface_backward(const S& stream, const W& grad_w,
                                                  const V& saved_v, const G& saved_g,
                                                  const Norms& saved_norms, i64 dim) {
  constexpr const char* op = "weight_norm_interface_backward";
  std::pair r(empty_like(stream, saved_v, op), empty_like(stream, saved_g, op));
  weight_norm_interface_backward(stream, grad_w, saved_v, saved_g, saved_norms, r.first, r.second,
                                 dim);
  return r;
}

}  // namespace flaggems
