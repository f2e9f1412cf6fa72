// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/search.hpp>
#include <flaggems/ops/statistics.hpp>

#include <optional>
#include <type_traits>

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

/// How a bag of embeddings is reduced, by ATen's numbers.
enum class bag_mode : int { sum = 0, mean = 1, max = 2 };

namespace detail {

/// The mode of ATen's number. Raises invalid_argument for others.
inline bag_mode bag_mode_of(const char* op, i64 mode) {
  if (mode < 0 || mode > 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a mode of 0 to 2", text(mode));
  return static_cast<bag_mode>(mode);
}
/// Raises unless there are gradients [B, D] of bags, and n indices.
template <class G, class Indices>
void check_bags(const char* op, const G& grad, const Indices& indices) {
  if (grad.rank() != 2 || indices.rank() != 1) [[unlikely]]
    raise_shapes(op, "gradients [bags, D] and a vector of indices", grad.shape_of(),
                 indices.shape_of());
}
/// Raises unless a tensor has an element for each of n.
template <class X>
void check_one_each(const char* op, const X& x, i64 n) {
  if (x.rank() != 1 || x.size(0) != n) [[unlikely]]
    raise_other_sizes(op, {n}, x.sizes());
}

/// The rows of grad at the indices' bags, times the samples' weights if there are some, divided by
/// the bags' sizes for means; in C.
template <class C, class S, class T, class D>
tensor<C, D> rows_of_bags(const char* op, const S& stream, const tensor_view<const T, D>& grad,
                          const tensor_view<const i64, D>& bags,
                          const tensor_view<const i64, D>& bag_size, bag_mode mode,
                          const std::optional<tensor_view<const T, D>>& weights) {
  const auto rows = index_select(stream, grad, 0, bags);
  auto out = empty<C>(stream, rows.shape_of(), op);
  if (weights) {
    assign(stream, out, mul(cast<C>(rows), cast<C>(weights->unsqueeze(1))), op);
  } else if (mode == bag_mode::mean) {
    const auto sizes = index_select(stream, bag_size, 0, bags);
    assign(stream, out, div(cast<C>(rows), cast<C>(maximum(sizes.view().unsqueeze(1), 1))), op);
  } else {
    assign(stream, out, cast<C>(rows), op);
  }
  return out;
}

template <class S, class T, class D>
void bag_gradient(const S& stream, const tensor_view<const T, D>& grad,
                  const tensor_view<const i64, D>& indices, const tensor_view<const i64, D>& bags,
                  const tensor_view<const i64, D>& bag_size,
                  const tensor_view<const i64, D>& maximum_indices, bool scale_grad_by_freq,
                  bag_mode mode, const std::optional<tensor_view<const T, D>>& weights,
                  i64 padding_idx, const tensor_view<T, D>& out) {
  constexpr const char* op = "embedding_bag_dense_backward";
  using C = arithmetic_t<T>;
  check_bags(op, grad, indices);
  const i64 n = indices.size(0), count = grad.size(0);
  if (mode == bag_mode::max) {
    if (!same_sizes(maximum_indices.sizes(), grad.sizes())) [[unlikely]]
      raise_other_sizes(op, grad.shape_of(), maximum_indices.sizes());
    check_indices(op, stream, maximum_indices, out.size(0), i64(-1));
  } else {
    check_one_each(op, bags, n);
    check_indices(op, stream, bags, count);
  }
  if (mode != bag_mode::sum) check_one_each(op, bag_size, count);
  if (weights && mode != bag_mode::sum) [[unlikely]]
    raise(errc::invalid_argument, op, "weights of samples for sums (mode 0) alone",
          "mode " + text(static_cast<i64>(mode)));
  if (weights) check_one_each(op, *weights, n);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(grad));
  for (const auto& list : {indices, bags, bag_size, maximum_indices})
    check_no_overlap(op, written, layout_of(list));
  if (weights) check_no_overlap(op, written, layout_of(*weights));
  if (out.empty()) return;
  // Sums are in C, and rounded once.
  tensor<C, D> own;
  tensor_view<C, D> sums;
  if constexpr (std::is_same_v<T, C>) {
    sums = out;
  } else {
    own = empty<C>(stream, out.shape_of(), op);
    sums = own.view();
  }
  if (mode == bag_mode::max) {
    fill(op, stream, sums, 0);
    const auto from = copied<C>(op, stream, grad);
    auto places = empty<i64>(stream, grad.shape_of(), op);
    assign(stream, places, where(gt(bag_size.unsqueeze(1), 0), maximum_indices, i64(-1)), op);
    if (!grad.empty())
      launch_scatter_along(op, stream, sums, 0, input_of(places), input_of(from),
                           kernels::joining::sum);
  } else {
    const auto rows = rows_of_bags<C>(op, stream, grad, bags, bag_size, mode, weights);
    embedding_gradient(op, stream, input_of(rows), indices, sums, padding_idx, scale_grad_by_freq);
  }
  if constexpr (!std::is_same_v<T, C>) assign(stream, out, cast<T>(own), op);
}

template <class S, class T, class D>
void bag_weights_gradient(const S& stream, const tensor_view<const T, D>& grad,
                          const tensor_view<const T, D>& weight,
                          const tensor_view<const i64, D>& indices,
                          const tensor_view<const i64, D>& offsets,
                          const tensor_view<const i64, D>& given_bags, bag_mode mode,
                          i64 padding_idx, const tensor_view<T, D>& out) {
  constexpr const char* op = "embedding_bag_per_sample_weights_backward";
  using C = arithmetic_t<T>;
  check_bags(op, grad, indices);
  const i64 n = indices.size(0);
  if (mode != bag_mode::sum) [[unlikely]]
    raise(errc::invalid_argument, op, "bags that are summed (mode 0)",
          "mode " + text(static_cast<i64>(mode)));
  if (weight.rank() != 2 || weight.size(1) != grad.size(1)) [[unlikely]]
    raise_shapes(op, "a weight of as many columns as the gradients", weight.shape_of(),
                 grad.shape_of());
  check_output_sizes(op, {n}, out);
  check_disjoint_output(op, out, grad, weight, indices, given_bags);
  check_indices(op, stream, indices, weight.size(0));
  if (n == 0) return;
  tensor<i64, D> own;
  tensor_view<const i64, D> bags = given_bags;
  if (bags.empty()) {  // the last offset that is not behind an index's place
    auto places = empty<i64>(stream, {n}, op);
    assign_node(op, stream, places.view(), sequence<i64>{0, 1});
    own = empty<i64>(stream, {n}, op);
    searchsorted(stream, offsets, places, own, true);
    assign(stream, own, sub(own, 1), op);
    bags = input_of(own);
  }
  check_one_each(op, bags, n);
  check_indices(op, stream, bags, grad.size(0));
  const auto rows = index_select(stream, grad, 0, bags),
             by = index_select(stream, weight, 0, indices);
  const i64 columns[] = {1};
  sum_into<C>(op, stream,
              where(eq(indices.unsqueeze(1), padding_idx), C(0), mul(cast<C>(rows), cast<C>(by))),
              out, int_list(columns, 1), false);
}

}  // namespace detail

/// The gradient of the weight [num_weights, D] of a bag of embeddings: out[k] = the sum over the
/// samples i of index k of grad[offset2bag[i]], times per_sample_weights[i] if they are given,
/// divided by the bag's size for means; zero for `padding_idx`. Of maxima, each bag's gradient
/// where maximum_indices says. With `scale_grad_by_freq` sums and means are divided by how often k
/// comes.
///
/// grad [B, D]; indices, offset2bag, per_sample_weights [n]; bag_size [B]; maximum_indices [B, D];
/// those of the other modes are not read. Sums are in order, in f32 or f64. Indices out of range
/// raise out_of_range where the host can read them, and count nowhere elsewhere. Raises
/// shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::_embedding_bag_dense_backward.out(Tensor grad, Tensor indices, Tensor offset2bag, Tensor
/// bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor?
/// per_sample_weights, int padding_idx=-1, *, Tensor(a!) out)
template <stream_like S, tensor_like G, tensor_like Indices, tensor_like Bags, tensor_like Size,
          tensor_like Most, optional_tensor W, tensor_like Out>
void embedding_bag_dense_backward(const S& stream, const G& grad, const Indices& indices,
                                  const Bags& offset2bag, const Size& bag_size,
                                  const Most& maximum_indices, i64 num_weights,
                                  bool scale_grad_by_freq, i64 mode, const W& per_sample_weights,
                                  Out&& out, i64 padding_idx = -1) {
  constexpr const char* op = "embedding_bag_dense_backward";
  same_device<S, G, Indices, Bags, Size, Most, W, Out>();
  if constexpr (element_type_in<floating_types, 1, G>()) {
    using T = value_t<const G&>;
    using D = device_of<S>;
    using list = tensor_view<const i64, D>;
    const tensor_view<const T, D> from(as_view(grad));
    detail::check_bags(op, from, as_view(indices));
    detail::check_output_sizes(op, {num_weights, from.size(1)}, as_view(out));
    detail::bag_gradient<S, T, D>(
        stream, from, list(as_view(indices)), list(as_view(offset2bag)), list(as_view(bag_size)),
        list(as_view(maximum_indices)), scale_grad_by_freq, detail::bag_mode_of(op, mode),
        detail::optional_view<T, D>(per_sample_weights), padding_idx, as_view(out));
  }
}
template <stream_like S, tensor_like G, tensor_like Indices, tensor_like Bags, tensor_like Size,
          tensor_like Most, optional_tensor W>
[[nodiscard]] auto embedding_bag_dense_backward(const S& stream, const G& grad,
                                                const Indices& indices, const Bags& offset2bag,
                                                const Size& bag_size, const Most& maximum_indices,
                                                i64 num_weights, bool scale_grad_by_freq, i64 mode,
                                                const W& per_sample_weights, i64 padding_idx = -1) {
  constexpr const char* op = "embedding_bag_dense_backward";
  detail::check_bags(op, as_view(grad), as_view(indices));
  auto out = empty<value_t<const G&>>(stream, {num_weights, as_view(grad).size(1)}, op);
  embedding_bag_dense_backward(stream, grad, indices, offset2bag, bag_size, maximum_indices,
                               num_weights, scale_grad_by_freq, mode, per_sample_weights, out,
                               padding_idx);
  return out;
}

/// out[i] = grad[offset2bag[i]] . weight[indices[i]], the gradient of sample i's weight in a bag
/// that is summed; 0 for `padding_idx`.
///
/// grad [B, D], weight [V, D], indices, offset2bag, out [n]; where offset2bag is empty, bags begin
/// at `offsets`. Sums are in f32 or f64. Raises as embedding_bag_dense_backward.
/// aten::_embedding_bag_per_sample_weights_backward.out(Tensor grad, Tensor weight, Tensor indices,
/// Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1, *, Tensor(a!) out)
template <stream_like S, tensor_like G, tensor_like W, tensor_like Indices, tensor_like Offsets,
          tensor_like Bags, tensor_like Out>
void embedding_bag_per_sample_weights_backward(const S& stream, const G& grad, const W& weight,
                                               const Indices& indices, const Offsets& offsets,
                                               const Bags& offset2bag, Out&& out, i64 mode,
                                               i64 padding_idx = -1) {
  constexpr const char* op = "embedding_bag_per_sample_weights_backward";
  same_device<S, G, W, Indices, Offsets, Bags, Out>();
  if constexpr (element_type_in<floating_types, 1, G>()) {
    using T = value_t<const G&>;
    using D = device_of<S>;
    using list = tensor_view<const i64, D>;
    detail::bag_weights_gradient<S, T, D>(
        stream, as_view(grad), as_view(weight), list(as_view(indices)), list(as_view(offsets)),
        list(as_view(offset2bag)), detail::bag_mode_of(op, mode), padding_idx, as_view(out));
  }
}
template <stream_like S, tensor_like G, tensor_like W, tensor_like Indices, tensor_like Offsets,
          tensor_like Bags>
[[nodiscard]] auto embedding_bag_per_sample_weights_backward(
    const S& stream, const G& grad, const W& weight, const Indices& indices, const Offsets& offsets,
    const Bags& offset2bag, i64 mode, i64 padding_idx = -1) {
  auto out = empty<value_t<const G&>>(stream, as_view(indices).shape_of(),
                                      "embedding_bag_per_sample_weights_backward");
  embedding_bag_per_sample_weights_backward(stream, grad, weight, indices, offsets, offset2bag, out,
                                            mode, padding_idx);
  return out;
}

}  // namespace flaggems
