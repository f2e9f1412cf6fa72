// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation over groups of channels: group_norm, native_group_norm.
#pragma once

#include <flaggems/ops/native_norm.hpp>

namespace flaggems {

namespace operators {
struct group_norm;
struct native_group_norm;
}  // namespace operators

namespace detail {

/// The channels of a row of `length` elements, each of `size`; `step` apart in the operand.
inline kernels::row_channels channels_of(i64 length, i64 size, i64 step, int neutral) {
  const bool is_narrow = length < i64{1} << 31;
  return {size, step, is_narrow ? divider_by(size) : kernels::divider{}, is_narrow, neutral};
}

/// x [N, C, ...] as [N, groups, C / groups, ...].
template <class T, class D>
tensor_view<T, D> in_groups(const char* op, const tensor_view<T, D>& x, i64 groups) {
  if (x.rank() < 2 || x.rank() == max_rank) [[unlikely]]
    raise(errc::invalid_argument, op,
          "an input [N, C, ...] of 2 to " + text(max_rank - 1) + " dimensions",
          "sizes " + to_string(shape(x.sizes())));
  if (groups < 1 || x.size(1) % groups != 0) [[unlikely]]
    raise(errc::invalid_argument, op,
          "a number of groups that divides " + text(x.size(1)) + " channels", text(groups));
  return x.unflatten(1, {groups, x.size(1) / groups});
}

/// Group norm; `saved` are the mean and rstd [N, groups], or nothing.
template <class Op, class S, class X, class W, class B, class Out, class... Saved>
void group_norm_into(const char* op, const S& stream, const X& x, i64 groups, const W& weight,
                     const B& bias, const Out& out, double eps, const Saved&... saved) {
  using D = device_of<S>;
  using T = typename X::value_type;
  using BiasType = typename optional_element<B, T>::type;
  using WeightType = typename optional_element<W, BiasType>::type;
  static_assert(std::is_same_v<WeightType, typename optional_element<B, WeightType>::type>,
                "flaggems: group norms take a weight and a bias of the same dtype");
  const auto w = optional_view<WeightType, D>(weight);
  const auto b = optional_view<WeightType, D>(bias);
  const auto from = in_groups(op, x, groups);
  check_same_shape(op, out, x);
  const auto to = in_groups(op, out, groups);
  const placed_layout written = layout_of(out);
  check_weight(op, "weight", w, {x.size(1)}, written);
  check_weight(op, "bias", b, {x.size(1)}, written);
  check_kept(op, {x.size(0), groups}, std::tie(x, out, w, b), saved...);
  norm_plan plan(from.sizes(), from.rank() - 2, false);
  plan.add(from);
  plan.add(to);
  (plan.add_by_row(saved.sizes(), saved.strides()), ...);
  const i64 own = from.size(2);  // channels of a group
  const auto add_by_group = [&](const auto& v) {
    const i64 sizes[2] = {1, groups}, strides[2] = {0, v ? v->stride(0) * own : 0};
    plan.add_by_row(sizes, strides);
  };
  add_by_group(w);
  add_by_group(b);
  if (plan.empty()) return fill_kept(op, stream, saved...);
  if (replaced<Op>(op, stream, x, groups, w, b, out, eps, saved...)) return;
  using C = norm_compute<T, typename Out::value_type, WeightType, typename Saved::value_type...>;
  const kernels::norm_space space = plan.space(true);
  constexpr int count = static_cast<int>(sizeof...(Saved));
  const auto by_channel = [&](int k, const auto& v, int neutral) {
    return plan.by_channel(
        count + k, v, channels_of(space.length, space.length / own, v ? v->stride(0) : 0, neutral));
  };
  auto target = plan.target(1, to);
  target.streamed = streams_rows<D>(x, out);
  launch_rows(stream, norm_launch(op, space, 2), space,
              row_operands_of(kernels::make_operands(plan.arg(0, from), by_channel(0, w, 1),
                                                     by_channel(1, b, 0)),
                              outputs(target), kernels::operands<>(), kernels::operands<>(),
                              kept_targets(plan, saved...)),
              kernels::layer_norm_program<C, count != 0>{static_cast<C>(eps)});
}

/// Raises unless x is [n, c, ...] with hxw elements a channel.
template <class X>
void check_channels(const char* op, const X& x, i64 n, i64 c, i64 hxw) {
  i64 own = 1;
  for (int d = 2; d < x.rank(); ++d) own *= x.size(d);
  if (x.rank() < 2 || x.size(0) != n || x.size(1) != c || own != hxw) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "an input [" + text(n) + ", " + text(c) + ", ...] with " + text(hxw) +
              " elements a channel",
          "sizes " + to_string(shape(x.sizes())));
}

}  // namespace detail

/// out = (x - mean) / sqrt(variance + eps) * weight + bias, with mean and (biased) variance of each
/// group of channels.
///
/// Shapes: x, out [N, C, ...]; weight, bias [C], or std::nullopt; num_groups divides C. 16-bit
/// floats compute in f32. `out` may be `x`; it shares no memory with weight and bias. Raises
/// invalid_argument, shape_mismatch or overlap before anything is written. aten::group_norm(Tensor
/// input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool
/// cudnn_enabled=True)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Out>
void group_norm(const S& stream, const X& x, i64 num_groups, const W& weight, const B& bias,
                Out&& out, double eps = 1e-5) {
  same_device<S, X, i64, W, B, Out>();
  if constexpr (detail::check_norm_types<Out, X, W, B>())
    detail::group_norm_into<operators::group_norm>("group_norm", stream, as_view(x), num_groups,
                                                   weight, bias, as_view(out), eps);
}

/// group_norm(x) in a new tensor of x's dtype.
template <stream_like S, tensor_like X, optional_tensor W = std::nullopt_t,
          optional_tensor B = std::nullopt_t>
[[nodiscard]] auto group_norm(const S& stream, const X& x, i64 num_groups,
                              const W& weight = std::nullopt, const B& bias = std::nullopt,
                              double eps = 1e-5) {
  auto out = detail::empty_in_format<value_t<const X&>>(stream, as_view(x), "group_norm");
  group_norm(stream, x, num_groups, weight, bias, out, eps);
  return out;
}

/// group_norm that keeps the mean and rstd = 1 / sqrt(variance + eps) of each group.
///
/// Shapes: x, out [n, c, ...] with hxw elements a channel; weight, bias [c], or std::nullopt; mean,
/// rstd [n, group], of any floating-point dtype; NaN of groups of no elements. Otherwise as
/// `group_norm`; outputs share no memory. aten::native_group_norm.out(Tensor input, Tensor? weight,
/// Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps, *, Tensor(a!) out0,
/// Tensor(b!) out1, Tensor(c!) out2)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Out,
          tensor_like M, tensor_like R>
void native_group_norm(const S& stream, const X& x, const W& weight, const B& bias, i64 n, i64 c,
                       i64 hxw, i64 group, Out&& out, M&& mean, R&& rstd, double eps) {
  constexpr const char* op = "native_group_norm";
  same_device<S, X, W, B, i64, i64, i64, i64, Out, M, R>();
  if constexpr (detail::check_norm_types<Out, X, W, B>() && detail::check_norm_types<M>() &&
                detail::check_norm_types<R>()) {
    detail::check_channels(op, as_view(x), n, c, hxw);
    detail::group_norm_into<operators::native_group_norm>(op, stream, as_view(x), group, weight,
                                                          bias, as_view(out), eps, as_view(mean),
                                                          as_view(rstd));
  }
}

/// group_norm(x) in a new tensor of x's dtype, with mean and rstd in f32 (f64 if x is).
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B>
[[nodiscard]] auto native_group_norm(const S& stream, const X& x, const W& weight, const B& bias,
                                     i64 n, i64 c, i64 hxw, i64 group, double eps) {
  constexpr const char* op = "native_group_norm";
  using T = value_t<const X&>;
  using Saved = detail::saved_type<T>;
  detail::check_channels(op, as_view(x), n, c, hxw);
  norm_and_moments<T, Saved, device_of<S>> r{detail::empty_in_format<T>(stream, as_view(x), op),
                                             empty<Saved>(stream, {n, group}, op),
                                             empty<Saved>(stream, {n, group}, op)};
  native_group_norm(stream, x, weight, bias, n, c, hxw, group, r.out, r.mean, r.rstd, eps);
  return r;
}

/// The gradients of native_group_norm, which gave mean and rstd [n, group], in new tensors of the
/// dtypes of x and weight; `output_mask` says which.
///
/// Shapes: grad, x [n, c, ...] with hxw elements a channel; weight [c], or std::nullopt. Sums are
/// in f32, or f64. Raises as native_group_norm. aten::native_group_norm_backward(Tensor grad_out,
/// Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int
/// group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like X, tensor_like M, tensor_like R,
          optional_tensor W>
[[nodiscard]] auto native_group_norm_backward(const S& stream, const G& grad, const X& x,
                                              const M& mean, const R& rstd, const W& weight, i64 n,
                                              i64 c, i64 hxw, i64 group,
                                              gradient_mask<3> output_mask = {true, true, true}) {
  constexpr const char* op = "native_group_norm_backward";
  using T = value_t<const X&>;
  using D = device_of<S>;
  using Weight = typename detail::optional_element<W, T>::type;
  same_device<S, G, X, M, R, W>();
  layer_norm_gradients<T, Weight, D> r;
  if constexpr (detail::check_norm_types<tensor<f32, D>, G, X, M, R, W>()) {
    using C = detail::norm_compute<value_t<const G&>, T, Weight, value_t<const M&>>;
    const auto v = as_view(x);
    detail::check_channels(op, v, n, c, hxw);
    check_same_sizes(op, v, as_view(grad));
    const auto groups = detail::in_groups(op, v, group);
    const shape saved{n, group};
    for (const shape& own : {as_view(mean).shape_of(), as_view(rstd).shape_of()})
      if (!detail::same_sizes(own, saved)) [[unlikely]]
        detail::raise_other_sizes(op, saved, own);
    const auto w = detail::optional_view<Weight, D>(weight);
    detail::check_weight_sizes(op, "weight", w, {c});
    const auto spread = [&](auto one) {  // [n, group] and [group, c / group] among x's dimensions
      while (one.rank() < groups.rank()) one = one.unsqueeze(-1);
      return cast<C>(one);
    };
    const auto g = detail::in_groups(op, as_view(grad), group);
    const shape channels{group, c / group};
    shape others{0};
    for (int d = 3; d < groups.rank(); ++d) others.push_back(d);
    if (output_mask[1]) {
      r.weight.emplace(empty<Weight>(stream, {c}, op));
      const auto normal = (cast<C>(groups) - spread(as_view(mean))) * spread(as_view(rstd));
      sum(stream, cast<C>(g) * normal, r.weight->view().view(channels), others);
    }
    if (output_mask[2]) {
      r.bias.emplace(empty<Weight>(stream, {c}, op));
      sum(stream, g, r.bias->view().view(channels), others);
    }
    if (output_mask[0]) {
      r.input.emplace(empty<T>(stream, v.sizes(), op));
      const auto gradient = [&](const auto& weighed) {
        const auto to = detail::in_groups(op, r.input->view(), group);
        const auto by_row = [&](auto one) {
          while (one.rank() < to.rank()) one = one.unsqueeze(-1);
          return one;
        };
        detail::norm_gradient<kernels::layer_norm_backward_program<C>>(
            op, stream, weighed, groups, to.rank() - 2,
            std::optional<tensor_view<const Weight, D>>(), to, by_row(as_view(mean)),
            by_row(as_view(rstd)));
      };
      if (w) {
        auto weighed = empty<C>(stream, groups.shape_of(), op);
        assign(stream, weighed, cast<C>(g) * spread(w->view(channels).unsqueeze(0)), op);
        gradient(std::as_const(weighed).view());
      } else {
        gradient(g);
      }
    }
  }
  return r;
}

}  // namespace flaggems
