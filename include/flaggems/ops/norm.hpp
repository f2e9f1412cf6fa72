// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation over the trailing dimensions: layer_norm, rms_norm, fused_add_rms_norm. An optional
// weight or bias is absent as std::nullopt.
#pragma once

#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/plan/norm.hpp>

namespace flaggems {

namespace operators {
struct layer_norm;
struct rms_norm;
struct fused_add_rms_norm;
}  // namespace operators

namespace detail {

/// Kept values of rows of no elements are NaN (ops/native_norm.hpp).
template <class S, class... Kept>
void fill_kept(const char* op, const S& stream, const Kept&... kept);

/// Layer norm; `kept` are the mean and rstd of each slice, or nothing.
template <class Op, class S, class X, class W, class B, class Out, class... Kept>
void layer_norm_into(const char* op, const S& stream, const X& x, const shape& normalized_shape,
                     const W& weight, const B& bias, const Out& out, double eps,
                     const Kept&... kept) {
  using D = device_of<S>;
  using T = typename X::value_type;
  using BiasType = typename optional_element<B, T>::type;
  using WeightType = typename optional_element<W, BiasType>::type;
  static_assert(std::is_same_v<WeightType, typename optional_element<B, WeightType>::type>,
                "flaggems: layer_norm takes a weight and a bias of the same dtype");
  constexpr bool keeps = sizeof...(Kept) > 0;
  const auto w = optional_view<WeightType, D>(weight);
  const auto b = optional_view<WeightType, D>(bias);
  check_normalized(op, x, normalized_shape);
  const bool dense = check_same_shape(op, out, x);
  const placed_layout written = layout_of(out);
  check_weight(op, "weight", w, normalized_shape, written);
  check_weight(op, "bias", b, normalized_shape, written);
  if constexpr (keeps)
    check_kept(op, kept_shape(op, x, normalized_shape), std::tie(x, out, w, b), kept...);
  norm_plan plan(x.sizes(), normalized_shape.rank(),
                 dense && is_dense(w) && is_dense(b) && (is_dense(kept) && ...));
  plan.add(x);
  plan.add(out);
  (plan.add_by_row(kept), ...);
  plan.add_inner(w);
  plan.add_inner(b);
  if (plan.empty()) {
    if constexpr (keeps) fill_kept(op, stream, kept...);
    return;
  }
  if (replaced<Op>(op, stream, x, normalized_shape, w, b, out, kept..., eps)) return;
  using C = norm_compute<T, typename Out::value_type, WeightType, typename Kept::value_type...>;
  const kernels::norm_space space = plan.space();
  auto target = plan.target(1, out);
  target.streamed = streams_rows<D>(x, out);
  launch_rows(stream, norm_launch(op, space, 2), space,
              row_operands_of(inputs(plan.arg(0, x)), outputs(target),
                              inputs(plan.arg(2, w), plan.arg(3, b)), kernels::operands<>(),
                              kept_targets(plan, kept...)),
              kernels::layer_norm_program<C, keeps>{static_cast<C>(eps)});
}
}  // namespace detail

/// out = (x - mean) / sqrt(variance + eps) * weight + bias, over the last dimensions.
///
/// Shapes: x, out [..., normalized_shape...]; weight, bias: normalized_shape, or std::nullopt. Mean
/// and (biased) variance are of each slice of `normalized_shape`; 16-bit floats compute in f32.
/// `out` may be `x`; it shares no memory with weight and bias. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written. aten::layer_norm(Tensor input, SymInt[]
/// normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool
/// cudnn_enable=True)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Out>
void layer_norm(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
                const B& bias, Out&& out, double eps = 1e-5) {
  same_device<S, X, W, B, Out>();
  if constexpr (detail::check_norm_types<Out, X, W, B>())
    detail::layer_norm_into<operators::layer_norm>(
        "layer_norm", stream, as_view(x), normalized_shape, weight, bias, as_view(out), eps);
}

/// layer_norm(x) in a new tensor of x's dtype.
template <stream_like S, tensor_like X, optional_tensor W = std::nullopt_t,
          optional_tensor B = std::nullopt_t>
[[nodiscard]] auto layer_norm(const S& stream, const X& x, const shape& normalized_shape,
                              const W& weight = std::nullopt, const B& bias = std::nullopt,
                              double eps = 1e-5) {
  auto out = empty<value_t<const X&>>(stream, as_view(x).sizes(), "layer_norm");
  layer_norm(stream, x, normalized_shape, weight, bias, out, eps);
  return out;
}

namespace detail {
/// RMS norm; `kept` is the rstd of each slice, or nothing.
template <class Op, class S, class X, class W, class Out, class... Kept>
void rms_norm_into(const char* op, const S& stream, const X& x, const shape& normalized_shape,
                   const W& weight, const Out& out, std::optional<double> eps,
                   const Kept&... kept) {
  using D = device_of<S>;
  using T = typename X::value_type;
  using WeightType = typename optional_element<W, T>::type;
  constexpr bool keeps = sizeof...(Kept) > 0;
  const auto w = optional_view<WeightType, D>(weight);
  check_normalized(op, x, normalized_shape);
  const bool dense = check_same_shape(op, out, x);
  check_weight(op, "weight", w, normalized_shape, layout_of(out));
  if constexpr (keeps)
    check_kept(op, kept_shape(op, x, normalized_shape), std::tie(x, out, w), kept...);
  norm_plan plan(x.sizes(), normalized_shape.rank(),
                 dense && is_dense(w) && (is_dense(kept) && ...));
  plan.add(x);
  plan.add(out);
  (plan.add_by_row(kept), ...);
  plan.add_inner(w);
  if (plan.empty()) {
    if constexpr (keeps) fill_kept(op, stream, kept...);
    return;
  }
  const double epsilon = eps.value_or(epsilon_of<T>);
  if (replaced<Op>(op, stream, x, normalized_shape, w, out, kept..., epsilon)) return;
  using C = norm_compute<T, typename Out::value_type, WeightType, typename Kept::value_type...>;
  const kernels::norm_space space = plan.space();
  auto target = plan.target(1, out);
  target.streamed = streams_rows<D>(x, out);
  launch_rows(stream, norm_launch(op, space, 2), space,
              row_operands_of(inputs(plan.arg(0, x)), outputs(target), inputs(plan.arg(2, w)),
                              kernels::operands<>(), kept_targets(plan, kept...)),
              kernels::rms_norm_program<C, keeps>{static_cast<C>(epsilon)});
}
}  // namespace detail

/// out = x / sqrt(mean(x^2) + eps) * weight, over the last dimensions.
///
/// Shapes: x, out [..., normalized_shape...]; weight: normalized_shape, or std::nullopt. Without
/// `eps` it is the machine epsilon of x's dtype. 16-bit floats compute in f32 and are rounded once;
/// a row whose mean of squares is above what that holds (f32: 3.4e38) gives 0.
/// `out` may be `x`; it shares no memory with weight. Raises invalid_argument, shape_mismatch or
/// overlap before anything is written. aten::rms_norm(Tensor input, SymInt[] normalized_shape,
/// Tensor? weight=None, float? eps=None)
template <stream_like S, tensor_like X, optional_tensor W, tensor_like Out>
void rms_norm(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
              Out&& out, std::optional<double> eps = std::nullopt) {
  same_device<S, X, W, Out>();
  if constexpr (detail::check_norm_types<Out, X, W>())
    detail::rms_norm_into<operators::rms_norm>("rms_norm", stream, as_view(x), normalized_shape,
                                               weight, as_view(out), eps);
}

/// rms_norm(x) in a new tensor of x's dtype.
template <stream_like S, tensor_like X, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto rms_norm(const S& stream, const X& x, const shape& normalized_shape,
                            const W& weight = std::nullopt,
                            std::optional<double> eps = std::nullopt) {
  auto out = empty<value_t<const X&>>(stream, as_view(x).sizes(), "rms_norm");
  rms_norm(stream, x, normalized_shape, weight, out, eps);
  return out;
}

namespace detail {
template <class S, class X, class R, class W>
void add_rms_norm_into(const S& stream, X&& x, R&& residual, const W& weight, double eps) {
  constexpr const char* op = "fused_add_rms_norm";
  using T = value_t<X>;
  using Sum = value_t<R>;
  using WeightType = value_t<const W&>;
  const auto in = as_view(x);
  const auto sum = as_view(residual);
  const std::optional<tensor_view<const WeightType, device_of<S>>> w(as_view(weight));
  const shape normalized_shape(w->sizes());
  detail::check_normalized(op, in, normalized_shape);
  check_same_sizes(op, in, sum);
  const detail::placed_layout of_in = detail::layout_of(in), of_sum = detail::layout_of(sum);
  detail::check_weight(op, "weight", w, normalized_shape, of_in);
  detail::check_weight(op, "weight", w, normalized_shape, of_sum);
  detail::check_writable(op, in);
  detail::check_writable(op, sum);
  if (overlap(of_in, of_sum) != overlap_kind::none) [[unlikely]]
    raise(errc::overlap, op, "an input and a residual that share no memory", "two that do");
  detail::norm_plan plan(in.sizes(), normalized_shape.rank(),
                         detail::is_dense(in) && detail::is_dense(sum) && detail::is_dense(w));
  plan.add(in);
  plan.add(sum);
  plan.add_inner(w);
  if (plan.empty() || detail::replaced<operators::fused_add_rms_norm>(op, stream, in, sum, *w, eps))
    return;
  using C = detail::norm_compute<T, Sum, WeightType>;
  const kernels::norm_space space = plan.space();
  detail::launch_rows(
      stream, detail::norm_launch(op, space, 4), space,
      row_operands_of(kernels::make_operands(plan.arg(1, sum), kernels::in_place<T, 0>{}),
                      outputs(plan.target(0, in)), inputs(plan.arg(2, w))),
      kernels::fused_add_rms_norm_program<C>{static_cast<C>(eps)});
}
}  // namespace detail

/// residual += x, then x = rms_norm(residual) * weight, over the dimensions of weight; one pass.
///
/// Shapes: x, residual [..., sizes of weight...]. Both are written; the sum is rounded to
/// residual's dtype before it is normalised, so the result is that of the two steps. No two of the
/// three share memory. Raises shape_mismatch or overlap before anything is written.
/// flag_gems::fused_add_rms_norm(Tensor! input, Tensor! residual, Tensor weight, float epsilon)
template <stream_like S, tensor_like X, tensor_like R, tensor_like W>
void fused_add_rms_norm(const S& stream, X&& x, R&& residual, const W& weight, double eps = 1e-5) {
  same_device<S, X, R, W>();
  if constexpr (detail::check_norm_types<X, R, W>())
    detail::add_rms_norm_into(stream, x, residual, weight, eps);
}

namespace detail {
using layer_norm_f32 = kernels::layer_norm_program<f32, false>;
using rms_norm_f32 = kernels::rms_norm_program<f32, false>;
FLAGGEMS_ROWS_ONCE(layer_norm_f32, kernels::norm_space, row_f32, row_f32);
FLAGGEMS_ROWS_ONCE(rms_norm_f32, kernels::norm_space, row_f32);
}  // namespace detail

}  // namespace flaggems
