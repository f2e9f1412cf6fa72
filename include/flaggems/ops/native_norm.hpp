// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation as training needs it: forms that keep what gradients are computed from, and the
// gradients.
#pragma once

#include <flaggems/kernel/family/row/programs/norm_backward.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/reduce.hpp>

#include <array>
#include <concepts>
#include <span>
#include <tuple>

namespace flaggems {

namespace operators {
struct native_layer_norm;
struct native_layer_norm_backward;
struct fused_rms_norm;
struct fused_rms_norm_backward;
}  // namespace operators

/// What native_layer_norm and native_group_norm give.
template <class T, class Saved, class Device>
struct norm_and_moments {
  tensor<T, Device> out;
  tensor<Saved, Device> mean, rstd;
  [[nodiscard]] auto tie() { return std::tie(out, mean, rstd); }
};
/// What fused_rms_norm gives.
template <class T, class Saved, class Device>
struct norm_and_rstd {
  tensor<T, Device> out;
  tensor<Saved, Device> rstd;
  [[nodiscard]] auto tie() { return std::tie(out, rstd); }
};
/// Gradients of layer_norm; those not asked for are absent.
template <class T, class W, class Device>
struct layer_norm_gradients {
  std::optional<tensor<T, Device>> input;
  std::optional<tensor<W, Device>> weight, bias;
  [[nodiscard]] auto tie() { return std::tie(input, weight, bias); }
};
/// Those of rms_norm.
template <class T, class W, class Device>
struct rms_norm_gradients {
  std::optional<tensor<T, Device>> input;
  std::optional<tensor<W, Device>> weight;
  [[nodiscard]] auto tie() { return std::tie(input, weight); }
};
/// Which of Count gradients are asked for, in the order of the schema.
template <std::size_t Count>
struct gradient_mask {
  std::array<bool, Count> wanted;
  template <std::same_as<bool>... Flag>
  requires(sizeof...(Flag) == Count) constexpr gradient_mask(Flag... flags) : wanted{flags...} {}
  /// Raises invalid_argument unless there are Count flags.
  gradient_mask(std::span<const bool> flags) : wanted{} {
    if (flags.size() != Count) [[unlikely]]
      raise(errc::invalid_argument, "output_mask", detail::text(Count) + " flags",
            detail::text(flags.size()));
    for (std::size_t k = 0; k < Count; ++k) wanted[k] = flags[k];
  }
  constexpr bool operator[](std::size_t k) const { return wanted[k]; }
};

namespace detail {

/// The dtype in which norms of T keep means: f32, or f64.
template <class T>
using saved_type = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;

template <class S, class... Kept>
void fill_kept([[maybe_unused]] const char* op, [[maybe_unused]] const S& stream,
               const Kept&... kept) {
  (fill(op, stream, kept, std::numeric_limits<f64>::quiet_NaN()), ...);
}

/// out = e summed over the dimensions before those of out, `outer` of them; e if there are none.
template <class S, class E, class Out>
void sum_outer(const char* op, const S& stream, const E& e, const Out& out, int outer) {
  shape dims;
  for (int d = 0; d < outer; ++d) dims.push_back(d);
  if (outer > 0)
    sum(stream, e, out, dims);
  else
    assign(stream, out, e, op);
}
/// The view of an output that may be absent.
template <class Out>
auto wanted(Out&& out) {
  if constexpr (tensor_like<Out>)
    return std::optional(as_view(out));
  else if constexpr (std::is_same_v<std::remove_cvref_t<Out>, std::nullopt_t>)
    return std::nullopt;
  else
    return out ? std::optional(as_view(*out)) : std::nullopt;
}
/// f(view) of an output, unless it is absent.
template <class Out, class F>
void if_wanted(const Out& out, const F& f) {
  if constexpr (!std::is_same_v<Out, std::nullopt_t>)
    if (out) f(*out);
}

/// The gradient of x of a norm; numbers are by row. All checks have passed.
template <class Program, class S, class G, class X, class W, class Out, class... Saved>
void norm_gradient(const char* op, const S& stream, const G& grad, const X& x, int normalized,
                   const W& w, const Out& out, const Saved&... saved) {
  norm_plan plan(
      x.sizes(), normalized,
      is_dense(grad) && is_dense(x) && is_dense(out) && is_dense(w) && (is_dense(saved) && ...));
  plan.add(grad);
  plan.add(x);
  plan.add(out);
  (plan.add_by_row(saved), ...);
  plan.add_inner(w);
  if (plan.empty()) return;
  const kernels::norm_space space = plan.space();
  const auto numbers = [&]<int... K>(std::integer_sequence<int, K...>) {
    return inputs(plan.by_row(K, saved)...);
  }
  (std::make_integer_sequence<int, static_cast<int>(sizeof...(Saved))>());
  launch_rows(stream, norm_launch(op, space, 3), space,
              row_operands_of(inputs(plan.arg(0, grad), plan.arg(1, x)),
                              outputs(plan.target(2, out)), inputs(plan.arg(3, w)), numbers),
              Program());
}

template <class S, class G, class X, class M, class R, class W, class B, class GradX, class GradW,
          class GradB>
void native_layer_norm_backward_into(const S& stream, const G& grad, const X& x,
                                     const shape& normalized_shape, const M& mean, const R& rstd,
                                     const W& weight, const B& bias, const GradX& grad_input,
                                     const GradW& grad_weight, const GradB& grad_bias) {
  constexpr const char* op = "native_layer_norm_backward";
  using D = device_of<S>;
  using T = typename X::value_type;
  using WeightType = typename optional_element<W, typename optional_element<B, T>::type>::type;
  const auto w = optional_view<WeightType, D>(weight);
  const auto b = optional_view<typename optional_element<B, WeightType>::type, D>(bias);
  const shape saved = kept_shape(op, x, normalized_shape);
  check_same_sizes(op, x, grad);
  if (!same_sizes(mean.sizes(), saved)) raise_other_sizes(op, saved, mean.sizes());
  if (!same_sizes(rstd.sizes(), saved)) raise_other_sizes(op, saved, rstd.sizes());
  check_weight_sizes(op, "weight", w, normalized_shape);
  check_weight_sizes(op, "bias", b, normalized_shape);
  if_wanted(grad_input, [&](const auto& out) { check_same_shape(op, out, x); });
  if_wanted(grad_input, [&](const auto& out) { check_same_shape(op, out, grad); });
  if_wanted(grad_input, [&](const auto& out) { check_separate(op, out, mean, rstd, w); });
  if_wanted(grad_weight, [&](const auto& out) {
    check_output_sizes(op, normalized_shape, out);
    check_separate(op, out, grad, x, mean, rstd, w);
    if_wanted(grad_input, [&](const auto& other) { check_separate(op, out, other); });
  });
  if_wanted(grad_bias, [&](const auto& out) {
    check_output_sizes(op, normalized_shape, out);
    check_separate(op, out, grad, x, mean, rstd, w);
    if_wanted(grad_input, [&](const auto& other) { check_separate(op, out, other); });
    if_wanted(grad_weight, [&](const auto& other) { check_separate(op, out, other); });
  });
  if (replaced<operators::native_layer_norm_backward>(op, stream, grad, x, normalized_shape, mean,
                                                      rstd, w, b, grad_input, grad_weight,
                                                      grad_bias))
    return;
  // The parameters' first: the gradient of x may take the place of grad or x.
  const int normalized = normalized_shape.rank();
  const int outer = x.rank() - normalized;
  if_wanted(grad_weight, [&](const auto& out) {
    using C = norm_compute<typename G::value_type, T, typename M::value_type>;
    sum_outer(op, stream, cast<C>(grad) * ((cast<C>(x) - mean) * rstd), out, outer);
  });
  if_wanted(grad_bias, [&](const auto& out) { sum_outer(op, stream, grad, out, outer); });
  if_wanted(grad_input, [&](const auto& out) {
    using C = norm_compute<typename G::value_type, T, WeightType, typename M::value_type,
                           typename R::value_type, value_t<decltype(out)>>;
    norm_gradient<kernels::layer_norm_backward_program<C>>(op, stream, grad, x, normalized, w, out,
                                                           mean, rstd);
  });
}

template <class S, class G, class X, class R, class W, class GradX, class GradW>
void fused_rms_norm_backward_into(const S& stream, const G& grad, const X& x,
                                  const shape& normalized_shape, const R& rstd, const W& weight,
                                  const GradX& grad_input, const GradW& grad_weight) {
  constexpr const char* op = "fused_rms_norm_backward";
  using D = device_of<S>;
  using T = typename X::value_type;
  using WeightType = typename optional_element<W, T>::type;
  const auto w = optional_view<WeightType, D>(weight);
  const shape saved = kept_shape(op, x, normalized_shape);
  check_same_sizes(op, x, grad);
  if (!same_sizes(rstd.sizes(), saved)) raise_other_sizes(op, saved, rstd.sizes());
  check_weight_sizes(op, "weight", w, normalized_shape);
  if_wanted(grad_input, [&](const auto& out) { check_same_shape(op, out, x); });
  if_wanted(grad_input, [&](const auto& out) { check_same_shape(op, out, grad); });
  if_wanted(grad_input, [&](const auto& out) { check_separate(op, out, rstd, w); });
  if_wanted(grad_weight, [&](const auto& out) {
    check_output_sizes(op, normalized_shape, out);
    check_separate(op, out, grad, x, rstd, w);
    if_wanted(grad_input, [&](const auto& other) { check_separate(op, out, other); });
  });
  if (replaced<operators::fused_rms_norm_backward>(op, stream, grad, x, normalized_shape, rstd, w,
                                                   grad_input, grad_weight))
    return;
  const int normalized = normalized_shape.rank();
  if_wanted(grad_weight, [&](const auto& out) {
    using C = norm_compute<typename G::value_type, T, typename R::value_type>;
    sum_outer(op, stream, cast<C>(grad) * (cast<C>(x) * rstd), out, x.rank() - normalized);
  });
  if_wanted(grad_input, [&](const auto& out) {
    using C = norm_compute<typename G::value_type, T, WeightType, typename R::value_type,
                           value_t<decltype(out)>>;
    norm_gradient<kernels::rms_norm_backward_program<C>>(op, stream, grad, x, normalized, w, out,
                                                         rstd);
  });
}

}  // namespace detail

/// layer_norm that keeps the mean and rstd = 1 / sqrt(variance + eps) of each slice.
///
/// Shapes: x, out [..., normalized_shape...]; weight, bias: normalized_shape, or std::nullopt;
/// mean, rstd [..., 1...], of any floating-point dtype. 16-bit floats compute in f32. `out` may be
/// `x`; outputs share no other memory. Of slices of no elements mean and rstd are NaN. Raises
/// invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::native_layer_norm.out(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor?
/// bias, float eps, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Out,
          tensor_like M, tensor_like R>
void native_layer_norm(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
                       const B& bias, Out&& out, M&& mean, R&& rstd, double eps) {
  same_device<S, X, W, B, Out, M, R>();
  if constexpr (detail::check_norm_types<Out, X, W, B>() && detail::check_norm_types<M>() &&
                detail::check_norm_types<R>())
    detail::layer_norm_into<operators::native_layer_norm>(
        "native_layer_norm", stream, as_view(x), normalized_shape, weight, bias, as_view(out), eps,
        as_view(mean), as_view(rstd));
}

/// layer_norm(x) in a new tensor of x's dtype, with mean and rstd in f32 (f64 if x is).
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B>
[[nodiscard]] auto native_layer_norm(const S& stream, const X& x, const shape& normalized_shape,
                                     const W& weight, const B& bias, double eps) {
  constexpr const char* op = "native_layer_norm";
  using T = value_t<const X&>;
  using Saved = detail::saved_type<T>;
  const auto in = as_view(x);
  const shape saved = detail::kept_shape(op, in, normalized_shape);
  norm_and_moments<T, Saved, device_of<S>> r{empty<T>(stream, in.sizes(), op),
                                             empty<Saved>(stream, saved, op),
                                             empty<Saved>(stream, saved, op)};
  native_layer_norm(stream, x, normalized_shape, weight, bias, r.out, r.mean, r.rstd, eps);
  return r;
}

/// rms_norm that keeps rstd = 1 / sqrt(mean(x^2) + eps) of each slice.
///
/// Shapes: x, out [..., normalized_shape...]; weight: normalized_shape, or std::nullopt; rstd [...,
/// 1...]. Without `eps` it is the machine epsilon of x's dtype. Otherwise as native_layer_norm.
/// aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) ->
/// (Tensor, Tensor)
template <stream_like S, tensor_like X, optional_tensor W, tensor_like Out, tensor_like R>
void fused_rms_norm(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
                    Out&& out, R&& rstd, std::optional<double> eps) {
  same_device<S, X, W, Out, R>();
  if constexpr (detail::check_norm_types<Out, X, W>() && detail::check_norm_types<R>())
    detail::rms_norm_into<operators::fused_rms_norm>("fused_rms_norm", stream, as_view(x),
                                                     normalized_shape, weight, as_view(out), eps,
                                                     as_view(rstd));
}

/// rms_norm(x) in a new tensor of x's dtype, with rstd in f32 (f64 if x is).
template <stream_like S, tensor_like X, optional_tensor W>
[[nodiscard]] auto fused_rms_norm(const S& stream, const X& x, const shape& normalized_shape,
                                  const W& weight, std::optional<double> eps) {
  constexpr const char* op = "fused_rms_norm";
  using T = value_t<const X&>;
  using Saved = detail::saved_type<T>;
  const auto in = as_view(x);
  const shape saved = detail::kept_shape(op, in, normalized_shape);
  norm_and_rstd<T, Saved, device_of<S>> r{empty<T>(stream, in.sizes(), op),
                                          empty<Saved>(stream, saved, op)};
  fused_rms_norm(stream, x, normalized_shape, weight, r.out, r.rstd, eps);
  return r;
}

/// As fused_rms_norm, in FlagGems' names and with its eps; rstd is what it calls inv_rms.
/// flag_gems::rms_norm_forward(Tensor x, SymInt[] normalized_shape, Tensor? weight, float
/// eps=1e-05)
template <stream_like S, tensor_like X, optional_tensor W, tensor_like Out, tensor_like R>
void rms_norm_forward(const S& stream, const X& x, const shape& normalized_shape, const W& weight,
                      Out&& out, R&& rstd, double eps = 1e-5) {
  fused_rms_norm(stream, x, normalized_shape, weight, out, rstd, eps);
}
/// The same in new tensors.
template <stream_like S, tensor_like X, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto rms_norm_forward(const S& stream, const X& x, const shape& normalized_shape,
                                    const W& weight = std::nullopt, double eps = 1e-5) {
  return fused_rms_norm(stream, x, normalized_shape, weight, eps);
}
FLAGGEMS_ALSO(fused_rms_norm_forward, rms_norm_forward)

/// The gradients of layer_norm: of x, weight and bias; an output that is std::nullopt is not
/// computed.
///
/// Shapes: grad, x, grad_input [..., normalized_shape...]; mean, rstd [..., 1...], which
/// native_layer_norm gave; weight, bias: normalized_shape, or std::nullopt; grad_weight, grad_bias:
/// normalized_shape. `grad_input` may be grad or x; outputs share no other memory. Sums are in f32,
/// or f64. Raises invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::native_layer_norm_backward.out(Tensor grad_out, Tensor input, SymInt[] normalized_shape,
/// Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask, *, Tensor(a!) out0,
/// Tensor(b!) out1, Tensor(c!) out2)
template <stream_like S, tensor_like G, tensor_like X, tensor_like M, tensor_like R,
          optional_tensor W, optional_tensor B, optional_tensor GradX, optional_tensor GradW,
          optional_tensor GradB>
void native_layer_norm_backward(const S& stream, const G& grad, const X& x,
                                const shape& normalized_shape, const M& mean, const R& rstd,
                                const W& weight, const B& bias, GradX&& grad_input,
                                GradW&& grad_weight, GradB&& grad_bias) {
  same_device<S, G, X, M, R, W, B, GradX, GradW, GradB>();
  if constexpr (detail::check_norm_types<tensor<f32, device_of<S>>, G, X, M, R, W, B, GradX, GradW,
                                         GradB>())
    detail::native_layer_norm_backward_into(
        stream, as_view(grad), as_view(x), normalized_shape, as_view(mean), as_view(rstd), weight,
        bias, detail::wanted(grad_input), detail::wanted(grad_weight), detail::wanted(grad_bias));
}

/// The gradients of layer_norm in new tensors of the dtypes of x and weight; `output_mask` says
/// which.
template <stream_like S, tensor_like G, tensor_like X, tensor_like M, tensor_like R,
          optional_tensor W, optional_tensor B>
[[nodiscard]] auto native_layer_norm_backward(const S& stream, const G& grad, const X& x,
                                              const shape& normalized_shape, const M& mean,
                                              const R& rstd, const W& weight, const B& bias,
                                              gradient_mask<3> output_mask = {true, true, true}) {
  constexpr const char* op = "native_layer_norm_backward";
  using T = value_t<const X&>;
  using Weight =
      typename detail::optional_element<W, typename detail::optional_element<B, T>::type>::type;
  layer_norm_gradients<T, Weight, device_of<S>> r;
  if (output_mask[0]) r.input.emplace(empty<T>(stream, as_view(x).sizes(), op));
  if (output_mask[1]) r.weight.emplace(empty<Weight>(stream, normalized_shape, op));
  if (output_mask[2]) r.bias.emplace(empty<Weight>(stream, normalized_shape, op));
  native_layer_norm_backward(stream, grad, x, normalized_shape, mean, rstd, weight, bias, r.input,
                             r.weight, r.bias);
  return r;
}

/// The gradients of rms_norm: of x and weight; an output that is std::nullopt is not computed.
///
/// Shapes: grad, x, grad_input [..., normalized_shape...]; rstd [..., 1...], which fused_rms_norm
/// gave; weight, grad_weight: normalized_shape. Otherwise as native_layer_norm_backward.
/// aten::_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor
/// rstd, Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like X, tensor_like R, optional_tensor W,
          optional_tensor GradX, optional_tensor GradW>
void fused_rms_norm_backward(const S& stream, const G& grad, const X& x,
                             const shape& normalized_shape, const R& rstd, const W& weight,
                             GradX&& grad_input, GradW&& grad_weight) {
  same_device<S, G, X, R, W, GradX, GradW>();
  if constexpr (detail::check_norm_types<tensor<f32, device_of<S>>, G, X, R, W, GradX, GradW>())
    detail::fused_rms_norm_backward_into(stream, as_view(grad), as_view(x), normalized_shape,
                                         as_view(rstd), weight, detail::wanted(grad_input),
                                         detail::wanted(grad_weight));
}

/// The gradients of rms_norm in new tensors of the dtypes of x and weight; `output_mask` says
/// which.
template <stream_like S, tensor_like G, tensor_like X, tensor_like R, optional_tensor W>
[[nodiscard]] auto fused_rms_norm_backward(const S& stream, const G& grad, const X& x,
                                           const shape& normalized_shape, const R& rstd,
                                           const W& weight,
                                           gradient_mask<2> output_mask = {true, true}) {
  constexpr const char* op = "fused_rms_norm_backward";
  using T = value_t<const X&>;
  using Weight = typename detail::optional_element<W, T>::type;
  rms_norm_gradients<T, Weight, device_of<S>> r;
  if (output_mask[0]) r.input.emplace(empty<T>(stream, as_view(x).sizes(), op));
  if (output_mask[1]) r.weight.emplace(empty<Weight>(stream, normalized_shape, op));
  fused_rms_norm_backward(stream, grad, x, normalized_shape, rstd, weight, r.input, r.weight);
  return r;
}

/// As fused_rms_norm_backward, in FlagGems' names: inv_rms is rstd, of which eps is a part already.
/// flag_gems::rms_norm_backward(Tensor dy, Tensor x, Tensor inv_rms, SymInt[] normalized_shape,
/// Tensor weight, float eps=1e-05)
template <stream_like S, tensor_like G, tensor_like X, tensor_like R, optional_tensor W>
[[nodiscard]] auto rms_norm_backward(const S& stream, const G& dy, const X& x, const R& inv_rms,
                                     const shape& normalized_shape, const W& weight,
                                     double eps = 1e-5) {
  static_cast<void>(eps);
  return fused_rms_norm_backward(stream, dy, x, normalized_shape, inv_rms, weight);
}

namespace detail {
/// f(weight), or f(1 + weight), in what norms of it compute in.
template <class S, class W, class F>
auto with_gamma(const char* op, const S& stream, const W& weight, bool zero_centered, const F& f) {
  using C = norm_compute<value_t<const W&>>;
  if (!zero_centered) return f(as_view(weight));
  auto sum = empty<C>(stream, as_view(weight).shape_of(), op);
  assign(stream, sum, cast<C>(as_view(weight)) + C(1), op);
  return f(std::as_const(sum).view());
}
}  // namespace detail

/// rms_norm over the last dimension and its rstd, as Transformer Engine has them: the weight counts
/// from 1 if it is zero-centered.
///
/// Shapes: input, out [..., H]; weight [H]; rsigma [...], in f32 (f64 if the input is). Raises as
/// rms_norm. flag_gems::te_rmsnorm_fwd(Tensor input, Tensor weight, float eps, bool
/// zero_centered_gamma=False) -> (Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto te_rmsnorm_fwd(const S& stream, const X& input, const W& weight, double eps,
                                  bool zero_centered_gamma = false) {
  constexpr const char* op = "te_rmsnorm_fwd";
  using T = value_t<const X&>;
  const shape normalized = as_view(weight).shape_of();
  shape rows = detail::kept_shape(op, as_view(input), normalized);
  if (normalized.rank() != 1) [[unlikely]]
    detail::raise_sizes(op, "a weight of one dimension", normalized);
  rows.erase(rows.rank() - 1);
  norm_and_rstd<T, detail::saved_type<T>, device_of<S>> r{
      empty<T>(stream, as_view(input).sizes(), op), empty<detail::saved_type<T>>(stream, rows, op)};
  detail::with_gamma(op, stream, weight, zero_centered_gamma, [&](const auto& w) {
    fused_rms_norm(stream, input, normalized, w, r.out, r.rstd.view().unsqueeze(-1), eps);
  });
  return r;
}
/// The gradients of te_rmsnorm_fwd, in new tensors of the dtypes of x and gamma. Raises as
/// fused_rms_norm_backward. flag_gems::te_rmsnorm_bwd(Tensor dz, Tensor x, Tensor rsigma, Tensor
/// gamma, bool zero_centered_gamma=False) -> (Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like X, tensor_like R, tensor_like W>
[[nodiscard]] auto te_rmsnorm_bwd(const S& stream, const G& dz, const X& x, const R& rsigma,
                                  const W& gamma, bool zero_centered_gamma = false) {
  constexpr const char* op = "te_rmsnorm_bwd";
  using T = value_t<const X&>;
  const shape normalized = as_view(gamma).shape_of();
  rms_norm_gradients<T, value_t<const W&>, device_of<S>> r;
  r.input.emplace(empty<T>(stream, as_view(x).sizes(), op));
  r.weight.emplace(empty<value_t<const W&>>(stream, normalized, op));
  detail::with_gamma(op, stream, gamma, zero_centered_gamma, [&](const auto& w) {
    fused_rms_norm_backward(stream, dz, x, normalized, as_view(rsigma).unsqueeze(-1), w, r.input,
                            r.weight);
  });
  return r;
}

}  // namespace flaggems
