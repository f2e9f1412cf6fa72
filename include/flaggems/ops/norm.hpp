// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation over the trailing dimensions: layer_norm, rms_norm, fused_add_rms_norm. An optional
// weight or bias is absent as std::nullopt.
#pragma once

#include <flaggems/kernel/family/row/programs/norm.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/optional.hpp>

namespace flaggems {

namespace operators {
struct layer_norm;
struct rms_norm;
struct fused_add_rms_norm;
}  // namespace operators

namespace detail {

/// The rows of a normalisation, filled operand by operand: those of full size first.
class norm_plan {
 public:
  /// `dense`: all operands are contiguous, so that there is nothing to plan.
  norm_plan(std::span<const i64> sizes, int normalized, bool dense)
      : normalized_(static_cast<std::size_t>(normalized)),
        dense_(dense),
        outer_(sizes.first(dense ? 0 : sizes.size() - normalized_)),
        inner_(sizes.last(dense ? 0 : normalized_)) {
    if (!dense) return;
    i64 rows = 1, length = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      (d + normalized_ < sizes.size() ? rows : length) *= sizes[d];
    rows_ = rows;
    length_ = length;
  }

  template <class V>
  void add(const V& v) {
    ++full_;
    if (dense_) return;
    const std::size_t outer = v.sizes().size() - normalized_;
    outer_.add(v.sizes().first(outer), v.strides().first(outer));
    inner_.add(v.sizes().last(normalized_), v.strides().last(normalized_));
  }
  /// A weight or bias; as if broadcast along nothing if there is none.
  template <class V>
  void add_inner(const std::optional<V>& v) {
    if (dense_) return;
    static constexpr i64 none[max_rank] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (v)
      inner_.add(v->sizes(), v->strides());
    else
      inner_.add(std::span<const i64>(none, normalized_), std::span<const i64>(none, normalized_));
  }
  [[nodiscard]] bool empty() const {
    return rows_ * length_ == 0 || outer_.empty() || inner_.empty();
  }

  /// Call once, after the last operand.
  [[nodiscard]] kernels::norm_space space() {
    if (dense_) return {1, 1, {rows_, length_}, rows_, length_};
    outer_.collapse();
    inner_.collapse();
    kernels::norm_space s{};
    s.outer_rank = outer_.rank();
    s.inner_rank = inner_.rank();
    s.rows = outer_.numel();
    s.length = inner_.numel();
    for (int d = 0; d < s.outer_rank; ++d) s.sizes[d] = outer_.size(d);
    for (int d = 0; d < s.inner_rank; ++d) s.sizes[s.outer_rank + d] = inner_.size(d);
    return s;
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<std::remove_const_t<T>> arg(int operand,
                                                             const tensor_view<T, D>& v) const {
    kernels::row_arg<std::remove_const_t<T>> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_arg<T> arg(int operand,
                                        const std::optional<tensor_view<const T, D>>& v) const {
    return v ? arg(operand, *v) : kernels::row_arg<T>{nullptr, {}};
  }
  template <class T, class D>
  [[nodiscard]] kernels::row_target<T> target(int operand, const tensor_view<T, D>& v) const {
    kernels::row_target<T> r{v.data(), {}};
    copy_strides(operand, r.strides);
    return r;
  }

 private:
  void copy_strides(int operand, i64 (&to)[max_rank]) const {
    if (dense_) {
      to[0] = operand < full_ ? length_ : 0;
      to[1] = 1;
      return;
    }
    const int outer = outer_.rank();
    for (int d = 0; d < max_rank; ++d) to[d] = 0;
    for (int d = 0; d < outer && operand < full_; ++d) to[d] = outer_.stride(operand, d);
    for (int d = 0; d < inner_.rank(); ++d) to[outer + d] = inner_.stride(operand, d);
  }

  std::size_t normalized_;
  bool dense_;
  i64 rows_ = 1, length_ = 1;
  iteration outer_, inner_;
  int full_ = 0;
};

/// Whether views, and optional ones where they exist, are contiguous.
template <class V>
bool is_dense(const V& v) {
  return v.is_contiguous();
}
template <class V>
bool is_dense(const std::optional<V>& v) {
  return !v || v->is_contiguous();
}

/// Raises unless the last sizes of x are `normalized_shape`, which is not empty.
template <class X>
void check_normalized(const char* op, const X& x, const shape& normalized_shape) {
  const int n = normalized_shape.rank();
  if (n == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "a normalized_shape of at least one dimension", "[]");
  bool same = n <= x.rank();
  for (int d = 0; same && d < n; ++d) same = x.size(x.rank() - n + d) == normalized_shape[d];
  if (!same) [[unlikely]]
    raise(errc::shape_mismatch, op, "an input whose last sizes are " + to_string(normalized_shape),
          to_string(shape(x.sizes())));
}
/// Raises unless an optional weight has the sizes it must have and shares no memory with `out`.
template <class V>
void check_weight(const char* op, const char* what, const std::optional<V>& weight,
                  const shape& normalized_shape, const placed_layout& out) {
  if (!weight) return;
  if (!same_sizes(weight->sizes(), normalized_shape)) [[unlikely]]
    raise(errc::shape_mismatch, op, what + (" of sizes " + to_string(normalized_shape)),
          to_string(shape(weight->sizes())));
  if (overlap(out, layout_of(*weight)) != overlap_kind::none) [[unlikely]]
    raise(errc::overlap, op, detail::text("an output that shares no memory with the ") + what,
          "one that does");
}

/// What norms compute in: f64 if any type is, else f32.
template <class... T>
using norm_compute = std::conditional_t<(std::is_same_v<T, f64> || ...), f64, f32>;

/// Does not compile unless a norm writes Out and takes X, of which some may be absent; gives
/// whether it does.
template <class Out, class... X>
constexpr bool check_norm_types() {
  constexpr bool right = kernels::is_floating<value_t<Out>> &&
                         (kernels::is_floating<typename optional_element<X, f32>::type> && ...);
  static_assert(right, "flaggems: norms take floating-point tensors and weights");
  return right && check_elements_written<element_t<Out>>();
}

/// The machine epsilon of a floating-point type.
template <class T>
inline constexpr double epsilon_of = std::is_same_v<T, f64>      ? 0x1p-52
                                     : std::is_same_v<T, f32>    ? 0x1p-23
                                     : std::is_same_v<T, f16>    ? 0x1p-10
                                     : std::is_same_v<T, bf16>   ? 0x1p-7
                                     : std::is_same_v<T, f8e4m3> ? 0x1p-3
                                                                 : 0x1p-2;

inline launch_config norm_launch(const char* op, const kernels::norm_space& space, int operands) {
  launch_config config;
  config.op = op;
  config.work = work_of(space.rows, space.length, 8, operands);
  return config;
}

template <class S, class X, class W, class B, class Out>
void layer_norm_into(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
                     const B& bias, Out&& out, double eps) {
  constexpr const char* op = "layer_norm";
  using D = device_of<S>;
  using T = value_t<const X&>;
  using O = value_t<Out>;
  using BiasType = typename detail::optional_element<B, T>::type;
  using WeightType = typename detail::optional_element<W, BiasType>::type;
  using BiasOrWeight = typename detail::optional_element<B, WeightType>::type;
  static_assert(std::is_same_v<WeightType, BiasOrWeight>,
                "flaggems: layer_norm takes a weight and a bias of the same dtype");
  const auto from = as_view(x);
  const auto to = as_view(out);
  const auto w = detail::optional_view<WeightType, D>(weight);
  const auto b = detail::optional_view<WeightType, D>(bias);
  detail::check_normalized(op, from, normalized_shape);
  const bool dense = detail::check_same_shape(op, to, from);
  const detail::placed_layout written = detail::layout_of(to);
  detail::check_weight(op, "weight", w, normalized_shape, written);
  detail::check_weight(op, "bias", b, normalized_shape, written);
  detail::norm_plan plan(from.sizes(), normalized_shape.rank(),
                         dense && detail::is_dense(w) && detail::is_dense(b));
  plan.add(from);
  plan.add(to);
  plan.add_inner(w);
  plan.add_inner(b);
  if (plan.empty() ||
      detail::replaced<operators::layer_norm>(op, stream, from, normalized_shape, w, b, to, eps))
    return;
  using C = detail::norm_compute<T, O, WeightType>;
  const kernels::norm_space space = plan.space();
  auto target = plan.target(1, to);
  target.streamed = detail::streams_rows<D>(from, to);
  const auto config = detail::norm_launch(op, space, 2);
  detail::launch_rows(stream, config, space,
                      row_operands_of(inputs(plan.arg(0, from)), outputs(target),
                                      inputs(plan.arg(2, w), plan.arg(3, b))),
                      kernels::layer_norm_program<C>{static_cast<C>(eps)});
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
    detail::layer_norm_into(stream, x, normalized_shape, weight, bias, out, eps);
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
template <class S, class X, class W, class Out>
void rms_norm_into(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
                   Out&& out, std::optional<double> eps) {
  constexpr const char* op = "rms_norm";
  using D = device_of<S>;
  using T = value_t<const X&>;
  using O = value_t<Out>;
  using WeightType = typename detail::optional_element<W, T>::type;
  const auto from = as_view(x);
  const auto to = as_view(out);
  const auto w = detail::optional_view<WeightType, D>(weight);
  detail::check_normalized(op, from, normalized_shape);
  const bool dense = detail::check_same_shape(op, to, from);
  detail::check_weight(op, "weight", w, normalized_shape, detail::layout_of(to));
  detail::norm_plan plan(from.sizes(), normalized_shape.rank(), dense && detail::is_dense(w));
  plan.add(from);
  plan.add(to);
  plan.add_inner(w);
  const double epsilon = eps.value_or(detail::epsilon_of<T>);
  if (plan.empty() ||
      detail::replaced<operators::rms_norm>(op, stream, from, normalized_shape, w, to, epsilon))
    return;
  using C = detail::norm_compute<T, O, WeightType>;
  const kernels::norm_space space = plan.space();
  auto target = plan.target(1, to);
  target.streamed = detail::streams_rows<D>(from, to);
  const auto config = detail::norm_launch(op, space, 2);
  detail::launch_rows(
      stream, config, space,
      row_operands_of(inputs(plan.arg(0, from)), outputs(target), inputs(plan.arg(2, w))),
      kernels::rms_norm_program<C>{static_cast<C>(epsilon)});
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
    detail::rms_norm_into(stream, x, normalized_shape, weight, out, eps);
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

}  // namespace flaggems
