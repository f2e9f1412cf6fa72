// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps of training: Adam for lists of tensors, and the scale of gradients in mixed precision.
// Nothing waits: conditions are read on the device.
#pragma once

#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/tensor/optional.hpp>

#include <initializer_list>
#include <span>
#include <tuple>
#include <type_traits>

namespace flaggems {

namespace detail {

struct adam_options {
  f64 lr, beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize;
};

/// The one element of a tensor as a leaf that broadcasts to all sizes.
template <class X>
auto one_element(const char* op, const X& x) {
  const auto v = as_view(x);
  if (v.numel() != 1) [[unlikely]]
    raise_sizes(op, "a tensor of one element", v.sizes());
  return v.as_strided({}, {});
}

/// One tensor's step. `skipped`: an expression of bool, or std::nullopt; most: nothing, or the
/// largest averages of squares.
template <class S, class Scale, class Skipped, class Step, class P, class G, class M, class V,
          class... Most>
void adam_step(const char* op, const S& stream, const adam_options& o, const Scale& scale,
               const Skipped& skipped, const Step& step, const P& param, const G& grad,
               const M& exp_avg, const V& exp_avg_sq, const Most&... most) {
  using T = typename P::value_type;
  using C = arithmetic_t<T>;
  const auto put = [&](const auto& out, const auto& value) {
    if constexpr (std::is_same_v<Skipped, std::nullopt_t>)
      assign(stream, out, cast<T>(value), op);
    else
      assign(stream, out, where(skipped, out, cast<T>(value)), op);
  };
  if constexpr (!std::is_same_v<Scale, std::nullopt_t>) put(grad, div(cast<C>(grad), scale));
  const auto p = cast<C>(param);
  const auto g = add(mul(cast<C>(grad), static_cast<C>(o.maximize ? -1 : 1)),
                     mul(p, static_cast<C>(o.weight_decay)));
  const auto m = cast<C>(exp_avg);
  put(exp_avg, add(m, mul(sub(g, m), static_cast<C>(1 - o.beta1))));
  put(exp_avg_sq, add(mul(cast<C>(exp_avg_sq), static_cast<C>(o.beta2)),
                      mul(square(g), static_cast<C>(1 - o.beta2))));
  (put(most, maximum(cast<C>(most), cast<C>(exp_avg_sq))), ...);
  const auto second = [&] {
    if constexpr (sizeof...(Most) == 0)
      return cast<C>(exp_avg_sq);
    else
      return cast<C>(std::get<0>(std::tie(most...)));
  }();
  const auto bias = [&](f64 beta) { return sub(C(1), pow(static_cast<C>(beta), step)); };
  const auto away = add(div(sqrt(second), sqrt(bias(o.beta2))), static_cast<C>(o.eps));
  put(param, sub(p, mul(div(static_cast<C>(o.lr), bias(o.beta1)), div(m, away))));
}

inline void check_list_lengths(const char* op, std::initializer_list<std::size_t> lengths) {
  for (const std::size_t n : lengths)
    if (n != *lengths.begin()) [[unlikely]]
      raise(errc::invalid_argument, op, "lists of " + text(*lengths.begin()) + " tensors", text(n));
}
/// Raises unless all tensors of a step have the parameter's sizes and memory of their own.
template <class P, class... X>
void check_step(const char* op, const P& param, const X&... others) {
  check_writable(op, param);
  const placed_layout own(layout_of(param));
  const auto check = [&](const auto& x) {
    check_same_sizes(op, param, x);
    check_writable(op, x);
    check_no_overlap(op, own, layout_of(x));
  };
  (check(others), ...);
}

}  // namespace detail

/// A step of Adam, in place, for each parameter of a list.
///
/// The lists, of views or tensors, have equal lengths, and a parameter's tensors its sizes and
/// dtype, but state_steps, the number of the step in one element of f32; without amsgrad
/// max_exp_avg_sqs may be empty. grads are divided by grad_scale, one element, if given; where
/// found_inf, one element, is 1, nothing changes. Computed in f32 or f64. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written. aten::_fused_adam_(Tensor(a!)[] self,
/// Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[]
/// max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float
/// weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor?
/// found_inf=None)
template <stream_like S, class Params, class Grads, class Averages, class Squares, class Most,
          class Steps, optional_tensor Scale = std::nullopt_t,
          optional_tensor Found = std::nullopt_t>
void fused_adam_(const S& stream, const Params& self, const Grads& grads, const Averages& exp_avgs,
                 const Squares& exp_avg_sqs, const Most& max_exp_avg_sqs, const Steps& state_steps,
                 f64 lr, f64 beta1, f64 beta2, f64 weight_decay, f64 eps, bool amsgrad,
                 bool maximize, const Scale& grad_scale = std::nullopt,
                 const Found& found_inf = std::nullopt) {
  constexpr const char* op = "fused_adam_";
  const detail::adam_options options{lr, beta1, beta2, weight_decay, eps, amsgrad, maximize};
  const std::size_t n = std::size(self);
  detail::check_list_lengths(op,
                             {n, std::size(grads), std::size(exp_avgs), std::size(exp_avg_sqs),
                              amsgrad ? std::size(max_exp_avg_sqs) : n, std::size(state_steps)});
  const auto each_step = [&](const auto& f) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = [i](const auto& list) {
        return as_view(std::begin(list)[static_cast<std::ptrdiff_t>(i)]);
      };
      const auto step = detail::one_element(op, at(state_steps));
      if (amsgrad)
        f(step, at(self), at(grads), at(exp_avgs), at(exp_avg_sqs), at(max_exp_avg_sqs));
      else
        f(step, at(self), at(grads), at(exp_avgs), at(exp_avg_sqs));
    }
  };
  each_step([&](const auto&, const auto&... tensors) { detail::check_step(op, tensors...); });
  const auto run = [&](const auto& scale, const auto& skipped) {
    each_step([&](const auto& step, const auto& param, const auto&... others) {
      if (!param.empty())
        detail::adam_step(op, stream, options, scale, skipped, step, param, others...);
    });
  };
  using D = device_of<S>;
  const auto by =
      detail::optional_view<typename detail::optional_element<Scale, f32>::type, D>(grad_scale);
  const auto found =
      detail::optional_view<typename detail::optional_element<Found, f32>::type, D>(found_inf);
  const auto with_scale = [&](const auto& skipped) {
    if (by)
      run(detail::one_element(op, *by), skipped);
    else
      run(std::nullopt, skipped);
  };
  if (found)
    with_scale(eq(detail::one_element(op, *found), 1));
  else
    with_scale(std::nullopt);
}

/// The scale of gradients after a step, in place: times scale_backoff_factor where found_inf is not
/// 0, and times scale_growth_factor, if that is finite, after growth_interval steps where it was,
/// which growth_tracker counts. self and found_inf: one element of f32; growth_tracker: one of i32.
/// Raises invalid_argument. aten::_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker,
/// Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval)
template <stream_like S, tensor_like Scale, tensor_like Tracker, tensor_like Found>
void amp_update_scale_(const S& stream, Scale&& self, Tracker&& growth_tracker,
                       const Found& found_inf, f64 scale_growth_factor, f64 scale_backoff_factor,
                       i64 growth_interval) {
  constexpr const char* op = "amp_update_scale_";
  same_device<S, Scale, Tracker, Found>();
  static_assert(std::is_same_v<value_t<Scale>, f32> && std::is_same_v<value_t<Tracker>, i32> &&
                    std::is_same_v<value_t<const Found&>, f32>,
                "flaggems: scales are of f32, their tracker of i32");
  const auto scale = detail::one_element(op, self);
  const auto tracker = detail::one_element(op, growth_tracker);
  const auto found = ne(detail::one_element(op, found_inf), 0);
  const auto next = add(tracker, 1);
  const auto grows = eq(next, growth_interval);
  const auto grown = mul(scale, static_cast<f32>(scale_growth_factor));
  assign(stream, scale,
         where(found, mul(scale, static_cast<f32>(scale_backoff_factor)),
               where(logical_and(grows, isfinite(grown)), grown, scale)),
         op);
  assign(stream, tracker, where(logical_or(found, grows), 0, next), op);
}

/// Gradients, a list, times inv_scale in place, and found_inf = 1 if one of them is not finite;
/// otherwise it stays. found_inf, inv_scale: one element of f32. Raises invalid_argument or
/// overlap. aten::_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!)
/// found_inf, Tensor inv_scale)
template <stream_like S, class List, tensor_like Found, tensor_like Inverse>
requires(!tensor_like<List>) void amp_foreach_non_finite_check_and_unscale_(
    const S& stream, const List& self, Found&& found_inf, const Inverse& inv_scale) {
  constexpr const char* op = "amp_foreach_non_finite_check_and_unscale_";
  same_device<S, Found, Inverse>();
  static_assert(std::is_same_v<value_t<Found>, f32> && std::is_same_v<value_t<const Inverse&>, f32>,
                "flaggems: scales and what was found are of f32");
  const auto found = detail::one_element(op, found_inf);
  const auto by = detail::one_element(op, inv_scale);
  for (const auto& one : self) detail::check_separate(op, as_view(one), found, by);
  for (const auto& one : self) {
    const auto x = as_view(one);
    using T = typename decltype(x)::value_type;
    static_assert(detail::kind_of<T> == detail::kind::floating, "flaggems: gradients are floats");
    if (x.empty()) continue;
    const auto wrong = any(stream, logical_not(isfinite(x)));
    assign(stream, found, where(wrong, 1.0F, found), op);
    assign(stream, x, cast<T>(mul(cast<detail::arithmetic_t<T>>(x), by)), op);
  }
}

}  // namespace flaggems
