// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Normalisation of channels over a batch or over each instance of it, with running statistics. The
// statistics are the library's reductions, which spread a few long channels over all of a device.
#pragma once

#include <flaggems/ops/group_norm.hpp>
#include <flaggems/ops/statistics.hpp>

#include <tuple>
#include <utility>

namespace flaggems {

namespace operators {
struct native_batch_norm;
struct native_batch_norm_backward;
struct instance_norm;
}  // namespace operators

namespace detail {

/// v [C] among the dimensions of x [N, C, ...], of `rank`, in C.
template <class C, class T, class D>
auto by_channel_of(const tensor_view<T, D>& v, int rank) {
  tensor_view<const T, D> spread(v);
  while (spread.rank() < rank - 1) spread = spread.unsqueeze(-1);
  return cast<C>(spread);
}
/// The dimensions of x but the channels', from `first` on.
template <class X>
shape dims_of_statistics(const X& x, int first) {
  shape dims;
  for (int d = first; d < x.rank(); ++d)
    if (d != 1) dims.push_back(d);
  return dims;
}

/// What channels are normalised by, in sizes that broadcast to x's: the means, and
/// 1 / sqrt(variance + eps).
template <class C, class D>
struct channel_statistics {
  tensor<C, D> mean, rstd;
};

/// running = (1 - momentum) running + momentum times the mean over R of `now` [R, C].
template <class C, class S, class T, class D, class E>
void step_running(const char* op, const S& stream, const tensor_view<T, D>& running, const E& now,
                  double momentum) {
  if constexpr (!std::is_const_v<T>) {
    auto one = empty<C>(stream, running.shape_of(), op);
    reduce_values<operators::mean, kernels::sum_of, C>(op, stream, now, one.view(), int_list{0},
                                                       false, reduction_result::mean);
    assign(
        stream, running,
        cast<T>(cast<C>(running) * static_cast<C>(1 - momentum) + one * static_cast<C>(momentum)),
        op);
  }
}

/// The statistics of x over its dimensions from `first` on, and the step of the running ones.
template <class C, class S, class X, class Mean, class Var>
auto statistics_of_channels(const char* op, const S& stream, const X& x, int first,
                            const Mean& running_mean, const Var& running_var, double momentum,
                            double eps) {
  const shape dims = dims_of_statistics(x, first);
  shape kept(x.sizes());
  for (const i64 d : dims) kept[static_cast<int>(d)] = 1;
  const shape by_row{kept[0], kept[1]};
  const i64 count = x.numel() / kept.numel();
  channel_statistics<C, device_of<S>> r{empty<C>(stream, kept, op), empty<C>(stream, kept, op)};
  squares_about_means<C>(op, stream, input_of(x), int_list(dims), true, r.mean.view(),
                         r.rstd.view());
  if_wanted(running_mean, [&](const auto& running) {
    step_running<C>(op, stream, running, r.mean.view().view(by_row), momentum);
  });
  if_wanted(running_var, [&](const auto& running) {
    step_running<C>(op, stream, running, r.rstd.view().view(by_row) / static_cast<C>(count - 1),
                    momentum);
  });
  assign(stream, r.rstd, rsqrt(r.rstd / static_cast<C>(count) + static_cast<C>(eps)), op);
  return r;
}
/// The running statistics as those of x.
template <class C, class S, class X, class Mean, class Var>
auto running_statistics(const char* op, const S& stream, const X& x, const Mean& running_mean,
                        const Var& running_var, double eps) {
  shape kept{1, x.size(1)};
  while (kept.rank() < x.rank()) kept.push_back(1);
  channel_statistics<C, device_of<S>> r{empty<C>(stream, kept, op), empty<C>(stream, kept, op)};
  assign(stream, r.mean, by_channel_of<C>(*running_mean, x.rank()), op);
  assign(stream, r.rstd, rsqrt(by_channel_of<C>(*running_var, x.rank()) + static_cast<C>(eps)), op);
  return r;
}

/// Raises unless x [N, C, ...] has channels, and what is given of each has their number.
template <class X, class... ByChannel>
void check_by_channel(const char* op, const X& x, const ByChannel&... by_channel) {
  if (x.rank() < 2) [[unlikely]]
    raise(errc::invalid_argument, op, "an input [N, C, ...]", to_string(x.shape_of()));
  (check_weight_sizes(op, "a tensor with an element for each channel,", by_channel, {x.size(1)}),
   ...);
}
/// A running statistic, which may be absent.
template <class D, class X>
auto running_view(X&& x) {
  if constexpr (std::is_same_v<std::remove_cvref_t<X>, std::nullopt_t>)
    return std::optional<tensor_view<f32, D>>();
  else
    return wanted(x);
}
/// Raises unless a running statistic that is there can be written, and shares no memory with the
/// others.
template <class T, class D, class... X>
void check_stepped(const char* op, const std::optional<tensor_view<T, D>>& running,
                   const X&... others) {
  if (!running) return;
  if constexpr (std::is_const_v<T>)
    raise(errc::invalid_argument, op, "running statistics that can be written, in training",
          "const ones");
  else
    check_separate(op, *running, others...);
}
/// Raises unless both running statistics are there.
template <class Mean, class Var>
void check_running(const char* op, const Mean& running_mean, const Var& running_var) {
  if (!running_mean || !running_var) [[unlikely]]
    raise(errc::invalid_argument, op, "running_mean and running_var, without training", "none");
}

/// Batch norm, of each instance with `first` 2; `saved` are the mean and rstd [C], or nothing.
template <class Op, class S, class X, class W, class B, class Mean, class Var, class Out,
          class... Saved>
void batch_norm_into(const char* op, const S& stream, const X& x, int first, const W& weight,
                     const B& bias, const Mean& running_mean, const Var& running_var,
                     const Out& out, bool training, double momentum, double eps,
                     const Saved&... saved) {
  using D = device_of<S>;
  using T = typename X::value_type;
  using C =
      norm_compute<T, value_t<const Out&>, typename optional_element<W, T>::type,
                   typename optional_element<B, T>::type, typename optional_element<Mean, T>::type>;
  const auto w = optional_view<typename optional_element<W, T>::type, D>(weight);
  const auto b = optional_view<typename optional_element<B, T>::type, D>(bias);
  check_by_channel(op, x, w, b, running_mean, running_var);
  check_same_shape(op, out, x);
  const placed_layout written = layout_of(out);
  check_weight(op, "weight", w, {x.size(1)}, written);
  check_weight(op, "bias", b, {x.size(1)}, written);
  check_kept(op, {x.size(1)}, std::tie(x, out, w, b), saved...);
  if (training) {
    check_stepped(op, running_mean, x, out, w, b, saved...);
    check_stepped(op, running_var, x, out, w, b, running_mean, saved...);
    if (x.empty()) [[unlikely]]
      raise(errc::invalid_argument, op, "elements in training", "sizes " + to_string(x.shape_of()));
  } else {
    check_running(op, running_mean, running_var);
    check_separate(op, out, running_mean, running_var);
    (check_separate(op, saved, running_mean, running_var), ...);
  }
  if (replaced<Op>(op, stream, x, w, b, running_mean, running_var, out, training, momentum, eps,
                   saved...))
    return;
  auto by = training ? statistics_of_channels<C>(op, stream, x, first, running_mean, running_var,
                                                 momentum, eps)
                     : running_statistics<C>(op, stream, x, running_mean, running_var, eps);
  const auto keep = [&](const auto& to, const auto& from) {
    assign(stream, to, cast<value_t<decltype(to)>>(from.view().view(to.shape_of())), op);
  };
  if constexpr (sizeof...(Saved) == 2) {
    const auto kept = std::tie(saved...);
    keep(std::get<0>(kept), by.mean);
    keep(std::get<1>(kept), by.rstd);
  }
  if (w) assign(stream, by.rstd, by.rstd * by_channel_of<C>(*w, x.rank()), op);
  const auto normal = (cast<C>(x) - by.mean) * by.rstd;
  using To = value_t<const Out&>;
  if (b)
    assign(stream, out, cast<To>(normal + by_channel_of<C>(*b, x.rank())), op);
  else
    assign(stream, out, cast<To>(normal), op);
}

/// The gradients of batch norm; `grad_` are new, and those that are absent are not computed.
template <class S, class G, class X, class W, class Mean, class Var, class M, class R,
          class Gradients>
void batch_norm_backward_into(const S& stream, const G& grad, const X& x, const W& weight,
                              const Mean& running_mean, const Var& running_var, const M& save_mean,
                              const R& save_invstd, bool train, double eps, Gradients& gradients) {
  constexpr const char* op = "native_batch_norm_backward";
  using D = device_of<S>;
  using T = typename X::value_type;
  using Weight = typename optional_element<W, T>::type;
  using C = norm_compute<value_t<const G&>, T, Weight>;
  const auto w = optional_view<Weight, D>(weight);
  check_by_channel(op, x, w, running_mean, running_var);
  check_same_sizes(op, x, grad);
  if (!train)
    check_running(op, running_mean, running_var);
  else if (!save_mean || !save_invstd) [[unlikely]]
    raise(errc::invalid_argument, op, "save_mean and save_invstd, in training", "none");
  else
    check_by_channel(op, x, save_mean, save_invstd);
  auto& [to_x, to_weight, to_bias] = gradients;
  if (replaced<operators::native_batch_norm_backward>(op, stream, grad, x, w, running_mean,
                                                      running_var, save_mean, save_invstd, train,
                                                      eps, gradients))
    return;
  const int rank = x.rank();
  shape kept{1, x.size(1)};
  while (kept.rank() < rank) kept.push_back(1);
  const auto made = [&] { return empty<C>(stream, kept, op); };
  channel_statistics<C, D> by{made(), made()};
  if (train) {
    assign(stream, by.mean, by_channel_of<C>(*save_mean, rank), op);
    assign(stream, by.rstd, by_channel_of<C>(*save_invstd, rank), op);
  } else {
    by = running_statistics<C>(op, stream, x, running_mean, running_var, eps);
  }
  const shape dims = dims_of_statistics(x, 0);
  auto total = made(), product = made();  // sums of grad, and of grad times the normalised x
  const auto away = cast<C>(x) - by.mean;
  if (to_bias || (train && to_x)) sum_into<C>(op, stream, grad, total.view(), int_list(dims), true);
  if (to_weight || (train && to_x)) {
    sum_into<C>(op, stream, cast<C>(grad) * away, product.view(), int_list(dims), true);
    assign(stream, product, product * by.rstd, op);
  }
  const auto keep = [&](auto& to, const auto& from) {
    assign(stream, *to, cast<Weight>(from.view().view(to->shape_of())), op);
  };
  if (to_weight) keep(to_weight, product);
  if (to_bias) keep(to_bias, total);
  if (!to_x || x.empty()) return;
  auto scale = made();
  if (w)
    assign(stream, scale, by.rstd * by_channel_of<C>(*w, rank), op);
  else
    assign(stream, scale, by.rstd + C(0), op);
  if (!train) return assign(stream, *to_x, cast<T>(cast<C>(grad) * scale), op);
  const auto share = static_cast<C>(1) / static_cast<C>(x.numel() / x.size(1));
  assign(stream, product, product * by.rstd * share, op);
  assign(stream, *to_x, cast<T>((cast<C>(grad) - total * share - away * product) * scale), op);
}

/// New gradients of a batch norm.
template <class S, class X, class W>
auto batch_norm_gradients(const S& stream, const X& x, const W&, gradient_mask<3> mask) {
  constexpr const char* op = "native_batch_norm_backward";
  using T = typename X::value_type;
  using Weight = typename optional_element<W, T>::type;
  check_by_channel(op, x);
  layer_norm_gradients<T, Weight, device_of<S>> r;
  if (mask[0]) r.input.emplace(empty_in_format<T>(stream, x, op));
  if (mask[1]) r.weight.emplace(empty<Weight>(stream, {x.size(1)}, op));
  if (mask[2]) r.bias.emplace(empty<Weight>(stream, {x.size(1)}, op));
  return r;
}
/// A running statistic's copy.
template <class S, class V>
auto copied_statistic(const char* op, const S& stream, const V& v) {
  auto r = empty<value_t<const V&>>(stream, as_view(v).shape_of(), op);
  copy_into(op, stream, r.view(), tensor_view<const value_t<const V&>, device_of<S>>(as_view(v)));
  return r;
}

}  // namespace detail

/// out = (x - mean) / sqrt(variance + eps) * weight + bias by channel, with the mean and (biased)
/// variance of the batch in training, else the running ones. In training these go to
/// (1 - momentum) running + momentum times the batch's, of the unbiased variance.
///
/// Shapes: x, out [N, C, ...]; all others [C]; weight, bias and, in training, running_mean and
/// running_var may be std::nullopt. save_mean and save_invstd = 1 / sqrt(variance + eps) are those
/// that x was normalised by. Sums are in f32, or f64. `out` may be x; what is written shares no
/// other memory. Raises invalid_argument (as for no elements in training), shape_mismatch or
/// overlap before anything is written. aten::native_batch_norm.out(Tensor input, Tensor? weight,
/// Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float
/// eps, *, Tensor(a!) out, Tensor(b!) save_mean, Tensor(c!) save_invstd)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var, tensor_like Out, tensor_like M, tensor_like R>
void native_batch_norm(const S& stream, const X& x, const W& weight, const B& bias,
                       Mean&& running_mean, Var&& running_var, Out&& out, M&& save_mean,
                       R&& save_invstd, bool training, double momentum, double eps) {
  using D = device_of<S>;
  same_device<S, X, W, B, Mean, Var, Out, M, R>();
  if constexpr (detail::check_norm_types<Out, X, W, B, Mean, Var>() &&
                detail::check_norm_types<M>() && detail::check_norm_types<R>())
    detail::batch_norm_into<operators::native_batch_norm>(
        "native_batch_norm", stream, as_view(x), 0, weight, bias,
        detail::running_view<D>(running_mean), detail::running_view<D>(running_var), as_view(out),
        training, momentum, eps, as_view(save_mean), as_view(save_invstd));
}
/// batch_norm(x) in a new tensor of x's dtype, with save_mean and save_invstd in f32 (f64 if x is).
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var>
[[nodiscard]] auto native_batch_norm(const S& stream, const X& x, const W& weight, const B& bias,
                                     Mean&& running_mean, Var&& running_var, bool training,
                                     double momentum, double eps) {
  constexpr const char* op = "native_batch_norm";
  using T = value_t<const X&>;
  using Saved = detail::saved_type<T>;
  const auto v = as_view(x);
  detail::check_by_channel(op, v);
  const shape channels{v.size(1)};
  norm_and_moments<T, Saved, device_of<S>> r{detail::empty_in_format<T>(stream, v, op),
                                             empty<Saved>(stream, channels, op),
                                             empty<Saved>(stream, channels, op)};
  native_batch_norm(stream, x, weight, bias, running_mean, running_var, r.out, r.mean, r.rstd,
                    training, momentum, eps);
  return r;
}

/// native_batch_norm without what it saves; of no elements none, whatever else is given.
/// aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor?
/// running_var, bool training, float momentum, float eps, bool cudnn_enabled)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var>
[[nodiscard]] auto batch_norm(const S& stream, const X& x, const W& weight, const B& bias,
                              Mean&& running_mean, Var&& running_var, bool training,
                              double momentum, double eps) {
  if (as_view(x).empty()) return detail::empty_in_order<value_t<const X&>>(stream, x, "batch_norm");
  return native_batch_norm(stream, x, weight, bias, running_mean, running_var, training, momentum,
                           eps)
      .out;
}

/// native_batch_norm without running statistics, of those of the batch.
/// aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool
/// training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B>
[[nodiscard]] auto native_batch_norm_legit(const S& stream, const X& x, const W& weight,
                                           const B& bias, bool training, double momentum,
                                           double eps) {
  return native_batch_norm(stream, x, weight, bias, std::nullopt, std::nullopt, training, momentum,
                           eps);
}
/// native_batch_norm. aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias,
/// Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) ->
/// (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Mean,
          tensor_like Var>
[[nodiscard]] auto native_batch_norm_legit(const S& stream, const X& x, const W& weight,
                                           const B& bias, Mean&& running_mean, Var&& running_var,
                                           bool training, double momentum, double eps) {
  return native_batch_norm(stream, x, weight, bias, running_mean, running_var, training, momentum,
                           eps);
}
/// native_batch_norm by the running statistics. aten::_native_batch_norm_legit_no_training(Tensor
/// input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum,
/// float eps) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Mean,
          tensor_like Var>
[[nodiscard]] auto native_batch_norm_legit_no_training(const S& stream, const X& x, const W& weight,
                                                       const B& bias, const Mean& running_mean,
                                                       const Var& running_var, double momentum,
                                                       double eps) {
  return native_batch_norm(stream, x, weight, bias, running_mean, running_var, false, momentum,
                           eps);
}
/// native_batch_norm whose running statistics are new tensors, the fourth and fifth result.
/// aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor
/// running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor,
/// Tensor, Tensor running_mean_out, Tensor running_var_out)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Mean,
          tensor_like Var>
[[nodiscard]] auto native_batch_norm_legit_functional(const S& stream, const X& x, const W& weight,
                                                      const B& bias, const Mean& running_mean,
                                                      const Var& running_var, bool training,
                                                      double momentum, double eps) {
  constexpr const char* op = "native_batch_norm_legit_functional";
  auto mean = detail::copied_statistic(op, stream, running_mean);
  auto var = detail::copied_statistic(op, stream, running_var);
  auto r = native_batch_norm(stream, x, weight, bias, mean, var, training, momentum, eps);
  return std::tuple(std::move(r.out), std::move(r.mean), std::move(r.rstd), std::move(mean),
                    std::move(var));
}

namespace detail {
/// The results of native_batch_norm, and the reserve of cuDNN, which is empty.
template <class S, class Results>
auto with_reserve(const char* op, const S& stream, Results&& r) {
  return std::tuple(std::move(r.out), std::move(r.mean), std::move(r.rstd),
                    empty<u8>(stream, {0}, op));
}
}  // namespace detail

/// native_batch_norm in training, and a reserve, which is empty.
/// aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!)
/// running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor,
/// Tensor)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Mean,
          tensor_like Var>
[[nodiscard]] auto batch_norm_with_update(const S& stream, const X& x, const W& weight,
                                          const B& bias, Mean&& running_mean, Var&& running_var,
                                          double momentum, double eps) {
  auto r =
      native_batch_norm(stream, x, weight, bias, running_mean, running_var, true, momentum, eps);
  return detail::with_reserve("batch_norm_with_update", stream, std::move(r));
}
/// batch_norm_with_update whose running statistics are new tensors, the last two results.
/// aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor
/// running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor,
/// Tensor running_mean_out, Tensor running_var_out)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, tensor_like Mean,
          tensor_like Var>
[[nodiscard]] auto batch_norm_with_update_functional(const S& stream, const X& x, const W& weight,
                                                     const B& bias, const Mean& running_mean,
                                                     const Var& running_var, double momentum,
                                                     double eps) {
  constexpr const char* op = "batch_norm_with_update_functional";
  auto mean = detail::copied_statistic(op, stream, running_mean);
  auto var = detail::copied_statistic(op, stream, running_var);
  auto r = batch_norm_with_update(stream, x, weight, bias, mean, var, momentum, eps);
  return std::tuple_cat(std::move(r), std::tuple(std::move(mean), std::move(var)));
}
/// native_batch_norm by the running statistics, and a reserve, which is empty.
/// aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,
/// Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var>
[[nodiscard]] auto batch_norm_no_update(const S& stream, const X& x, const W& weight, const B& bias,
                                        const Mean& running_mean, const Var& running_var,
                                        double momentum, double eps) {
  auto r =
      native_batch_norm(stream, x, weight, bias, running_mean, running_var, false, momentum, eps);
  return detail::with_reserve("batch_norm_no_update", stream, std::move(r));
}

/// native_batch_norm, and a reserve, which is empty. aten::cudnn_batch_norm(Tensor input, Tensor
/// weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float
/// exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var>
[[nodiscard]] auto cudnn_batch_norm(const S& stream, const X& x, const W& weight, const B& bias,
                                    Mean&& running_mean, Var&& running_var, bool training,
                                    double exponential_average_factor, double epsilon) {
  auto r = native_batch_norm(stream, x, weight, bias, running_mean, running_var, training,
                             exponential_average_factor, epsilon);
  return detail::with_reserve("cudnn_batch_norm", stream, std::move(r));
}
/// native_batch_norm. aten::miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor?
/// running_mean, Tensor? running_var, bool training, float exponential_average_factor, float
/// epsilon) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var>
[[nodiscard]] auto miopen_batch_norm(const S& stream, const X& x, const W& weight, const B& bias,
                                     Mean&& running_mean, Var&& running_var, bool training,
                                     double exponential_average_factor, double epsilon) {
  return native_batch_norm(stream, x, weight, bias, running_mean, running_var, training,
                           exponential_average_factor, epsilon);
}

/// native_batch_norm, and a reserve, which is empty: ATen's _batch_norm_impl_index without its last
/// result, the number of the implementation, which is 0.
/// flaggems::batch_norm_impl_index(Tensor input, Tensor? weight, Tensor? bias, Tensor?
/// running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled)
/// -> (Tensor, Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, optional_tensor W, optional_tensor B, optional_tensor Mean,
          optional_tensor Var>
[[nodiscard]] auto batch_norm_impl_index(const S& stream, const X& x, const W& weight,
                                         const B& bias, Mean&& running_mean, Var&& running_var,
                                         bool training, double momentum, double eps) {
  auto r = native_batch_norm(stream, x, weight, bias, running_mean, running_var, training, momentum,
                             eps);
  return detail::with_reserve("batch_norm_impl_index", stream, std::move(r));
}

/// The gradients of native_batch_norm, which gave save_mean and save_invstd, in new tensors of the
/// dtypes of x and weight; `output_mask` says which. Without `train` it is by the running
/// statistics, which are constant.
///
/// Shapes: grad, x [N, C, ...]; all others [C], or std::nullopt where they are not read, and what
/// is saved of any sizes there. Sums are in f32, or f64. Raises invalid_argument or shape_mismatch
/// before anything is written. aten::native_batch_norm_backward(Tensor grad_out, Tensor input,
/// Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor?
/// save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like X, optional_tensor W, optional_tensor Mean,
          optional_tensor Var, optional_tensor M, optional_tensor R>
[[nodiscard]] auto native_batch_norm_backward(const S& stream, const G& grad, const X& x,
                                              const W& weight, const Mean& running_mean,
                                              const Var& running_var, const M& save_mean,
                                              const R& save_invstd, bool train, double eps,
                                              gradient_mask<3> output_mask = {true, true, true}) {
  using D = device_of<S>;
  same_device<S, G, X, W, Mean, Var, M, R>();
  auto r = detail::batch_norm_gradients(stream, as_view(x), weight, output_mask);
  if constexpr (detail::check_norm_types<tensor<f32, D>, G, X, W, Mean, Var, M, R>())
    detail::batch_norm_backward_into(
        stream, as_view(grad), as_view(x), weight, detail::running_view<D>(running_mean),
        detail::running_view<D>(running_var), detail::running_view<D>(save_mean),
        detail::running_view<D>(save_invstd), train, eps, r);
  return r;
}
/// native_batch_norm_backward of training. aten::miopen_batch_norm_backward(Tensor input, Tensor
/// grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean,
/// Tensor? save_var, float epsilon) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like G, tensor_like W, optional_tensor Mean,
          optional_tensor Var, optional_tensor M, optional_tensor R>
[[nodiscard]] auto miopen_batch_norm_backward(const S& stream, const X& x, const G& grad_output,
                                              const W& weight, const Mean& running_mean,
                                              const Var& running_var, const M& save_mean,
                                              const R& save_var, double epsilon) {
  return native_batch_norm_backward(stream, grad_output, x, weight, running_mean, running_var,
                                    save_mean, save_var, true, epsilon);
}
/// miopen_batch_norm_backward; the reserve is not read. aten::cudnn_batch_norm_backward(Tensor
/// input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor?
/// save_mean, Tensor? save_var, float epsilon, Tensor reserveSpace) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like G, tensor_like W, optional_tensor Mean,
          optional_tensor Var, optional_tensor M, optional_tensor R, optional_tensor Reserve>
[[nodiscard]] auto cudnn_batch_norm_backward(const S& stream, const X& x, const G& grad_output,
                                             const W& weight, const Mean& running_mean,
                                             const Var& running_var, const M& save_mean,
                                             const R& save_var, double epsilon, const Reserve&) {
  return miopen_batch_norm_backward(stream, x, grad_output, weight, running_mean, running_var,
                                    save_mean, save_var, epsilon);
}

/// native_batch_norm_backward, whichever implementation, 0 to 2, made what is saved; the reserve is
/// not read. aten::_batch_norm_impl_index_backward(int impl_index, Tensor input, Tensor
/// grad_output, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean,
/// Tensor? save_var_transform, bool train, float eps, bool[3] output_mask, Tensor reservedSpace) ->
/// (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like X, tensor_like G, optional_tensor W, optional_tensor Mean,
          optional_tensor Var, optional_tensor M, optional_tensor R, optional_tensor Reserve>
[[nodiscard]] auto batch_norm_impl_index_backward(const S& stream, i64 impl_index, const X& x,
                                                  const G& grad_output, const W& weight,
                                                  const Mean& running_mean, const Var& running_var,
                                                  const M& save_mean, const R& save_var_transform,
                                                  bool train, double eps,
                                                  gradient_mask<3> output_mask, const Reserve&) {
  if (impl_index < 0 || impl_index > 2) [[unlikely]]
    raise(errc::invalid_argument, "batch_norm_impl_index_backward", "an implementation of 0 to 2",
          detail::text(impl_index));
  return native_batch_norm_backward(stream, grad_output, x, weight, running_mean, running_var,
                                    save_mean, save_var_transform, train, eps, output_mask);
}

/// batch_norm of each instance: the statistics are of each channel of each one; the running ones go
/// towards their mean over the batch. By the running statistics without `use_input_stats`.
///
/// As native_batch_norm otherwise. aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias,
/// Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool
/// cudnn_enabled)
template <stream_like S, tensor_like X, optional_tensor W = std::nullopt_t,
          optional_tensor B = std::nullopt_t, optional_tensor Mean = std::nullopt_t,
          optional_tensor Var = std::nullopt_t>
[[nodiscard]] auto instance_norm(const S& stream, const X& x, const W& weight = std::nullopt,
                                 const B& bias = std::nullopt,
                                 Mean&& running_mean = std::nullopt_t(std::nullopt),
                                 Var&& running_var = std::nullopt_t(std::nullopt),
                                 bool use_input_stats = true, double momentum = 0.1,
                                 double eps = 1e-5) {
  constexpr const char* op = "instance_norm";
  using D = device_of<S>;
  using T = value_t<const X&>;
  same_device<S, X, W, B, Mean, Var>();
  const auto v = as_view(x);
  auto out = empty<T>(stream, v.shape_of(), op);
  if constexpr (detail::check_norm_types<tensor<f32, D>, X, W, B, Mean, Var>())
    detail::batch_norm_into<operators::instance_norm>(
        op, stream, v, 2, weight, bias, detail::running_view<D>(running_mean),
        detail::running_view<D>(running_var), out.view(), use_input_stats, momentum, eps);
  return out;
}

}  // namespace flaggems
