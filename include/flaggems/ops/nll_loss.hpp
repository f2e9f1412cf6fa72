// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The negative log likelihood of classes, of logarithms of probabilities, and its gradient: reads
// and writes at the targets.
#pragma once

#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/plan/loss.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/scatter.hpp>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

namespace flaggems {
namespace detail {

/// A loss of x [C] or [N, C, ...] and class indices: what its operators have in common.
template <class S, class T, class J>
struct nll_call {
  using D = device_of<S>;
  using C = kernels::compute_type<T>;
  const char* op;
  const S& stream;
  tensor_view<const T, D> x;
  tensor_view<const J, D> target;
  std::optional<tensor_view<const T, D>> weight;
  reduction how;
  i64 ignore_index;
  int dim = 0;
  shape losses{};

  /// Raises unless the sizes fit and the targets are classes; dims: 1, 2, or 0 for any.
  void check(int dims) {
    const bool fits = dims == 0   ? x.rank() > 0
                      : dims == 1 ? x.rank() == 1 || x.rank() == 2
                                  : x.rank() == dims + 2;
    if (!fits) [[unlikely]]
      raise(errc::shape_mismatch, op,
            dims == 0   ? "an input [C] or [N, C, ...]"
            : dims == 1 ? "an input [C] or [N, C]"
                        : "an input [N, C, H, W]",
            to_string(x.sizes()));
    dim = x.rank() == 1 ? 0 : 1;
    losses = without_dim(x.sizes(), dim, op);
    if (!same_sizes(target.sizes(), losses)) [[unlikely]]
      raise_other_sizes(op, losses, target.sizes());
    if (weight && (weight->rank() != 1 || weight->size(0) != classes())) [[unlikely]]
      raise(errc::shape_mismatch, op, "a weight of sizes [" + text(classes()) + "]",
            to_string(weight->sizes()));
    check_indices(op, stream, target, classes(), ignore_index);
  }
  [[nodiscard]] i64 classes() const { return x.size(dim); }
  [[nodiscard]] bool is_empty() const { return target.empty() || classes() == 0; }
  [[nodiscard]] auto ignored() const { return eq(target, ignore_index); }
  /// The targets, class 0 for those that are ignored.
  [[nodiscard]] tensor<i64, D> places() const {
    auto r = empty<i64>(stream, losses, op);
    assign(stream, r, where(ignored(), i64{0}, cast<i64>(target)), op);
    return r;
  }
  /// f(the weight of each loss, an expression).
  template <class F>
  void with_weights(const tensor<i64, D>& at, const F& f) const {
    if (weight)
      f(where(ignored(), C(0), cast<C>(take(stream, *weight, at))));
    else
      f(where(ignored(), C(0), C(1)));
  }
  void forward(const tensor_view<T, D>& out, const tensor_view<T, D>& total) const {
    if (is_empty()) {
      const bool is_nan = how == reduction::mean;
      fill(op, stream, out, is_nan ? std::numeric_limits<f64>::quiet_NaN() : 0.0);
      return fill(op, stream, total, 0.0);
    }
    const auto at = places();
    const auto read = gather(stream, x, dim, at.view().unsqueeze(dim));
    const auto chosen = read.view().squeeze(dim);
    with_weights(at, [&](const auto& weights) {
      const auto each = where(ignored(), C(0), neg(cast<C>(chosen)) * weights);
      if (how == reduction::none) {
        assign(stream, out, cast<T>(each), op);
        return fill(op, stream, total, 0.0);
      }
      auto loss = empty<C>(stream, {}, op), counted = empty<C>(stream, {}, op);
      sum(stream, each, loss);
      sum(stream, weights, counted);
      if (how == reduction::mean)
        assign(stream, out, cast<T>(loss / counted), op);
      else
        assign(stream, out, cast<T>(loss), op);
      assign(stream, total, cast<T>(counted), op);
    });
  }
  void backward(const tensor_view<const T, D>& grad, const tensor_view<const T, D>& total,
                const tensor_view<T, D>& out) const {
    fill(op, stream, out, 0.0);
    if (is_empty()) return;
    const auto at = places();
    auto own = empty<T>(stream, losses, op);
    with_weights(at, [&](const auto& weights) {
      const auto share = neg(cast<C>(grad)) * weights;
      if (how == reduction::mean)
        assign(stream, own, cast<T>(where(ignored(), C(0), share / cast<C>(total.squeeze()))), op);
      else
        assign(stream, own, cast<T>(where(ignored(), C(0), share)), op);
    });
    scatter_into(op, stream, tensor_view<const T, D>(out), dim, input_of(at).unsqueeze(dim),
                 input_of(own).unsqueeze(dim), out,
                 [](const auto& call) { call.write(kernels::joining::replace); });
  }
};

template <class S, class X, class Target, class W>
auto nll_of(const char* op, const S& stream, const X& x, const Target& target, const W& weight,
            loss_reduction reduced, i64 ignore_index, int dims) {
  using T = value_t<const X&>;
  using J = value_t<const Target&>;
  using D = device_of<S>;
  static_assert(
      kind_of<T> == kind::floating && std::is_same_v<typename optional_element<W, T>::type, T>,
      "flaggems: input and weight have one floating-point dtype");
  static_assert(std::is_same_v<J, i64> || std::is_same_v<J, i32> || std::is_same_v<J, u8>,
                "flaggems: targets are class indices of i64, i32 or u8");
  nll_call<S, T, J> r{
      op,          stream, as_view(x), as_view(target), optional_view<T, D>(weight), reduced.of(op),
      ignore_index};
  r.check(dims);
  return r;
}
/// Raises unless an output has these sizes and shares no memory with an operand.
template <class Call, class Out>
void check_nll_output(const Call& call, const shape& sizes, const Out& out) {
  check_output_sizes(call.op, sizes, out);
  check_separate(call.op, out, call.x, call.target, call.weight);
}
/// Raises unless a gradient has the sizes of the loss and the weights' sum is one number.
template <class Call, class G, class Total>
void check_nll_gradient(const Call& call, const G& grad, const Total& total) {
  const shape sizes = call.how == reduction::none ? call.losses : shape();
  if (!same_sizes(grad.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(call.op, sizes, grad.sizes());
  if (total.numel() != 1) [[unlikely]]
    raise(errc::shape_mismatch, call.op, "a total_weight of one element", to_string(total.sizes()));
}

}  // namespace detail

// One line an operator: name, and over how many dimensions besides the classes.
#define FLAGGEMS_NLL_FORWARD(name, dims)                                                          \
  template <stream_like S, tensor_like X, tensor_like Target, optional_tensor W, tensor_like Out, \
            tensor_like Total>                                                                    \
  void name(const S& stream, const X& x, const Target& target, const W& weight, Out&& output,     \
            Total&& total_weight, loss_reduction reduced, i64 ignore_index) {                     \
    same_device<S, X, Target, W, Out, Total>();                                                   \
    const auto call =                                                                             \
        detail::nll_of(#name, stream, x, target, weight, reduced, ignore_index, dims);            \
    const bool is_list = call.how == reduction::none;                                             \
    detail::check_nll_output(call, is_list ? call.losses : shape(), as_view(output));             \
    detail::check_nll_output(call, shape(), as_view(total_weight));                               \
    check_output(call.op, as_view(output), as_view(total_weight));                                \
    call.forward(as_view(output), as_view(total_weight));                                         \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like Target, optional_tensor W>                  \
  [[nodiscard]] auto name(const S& stream, const X& x, const Target& target, const W& weight,     \
                          loss_reduction reduced, i64 ignore_index) {                             \
    using T = value_t<const X&>;                                                                  \
    same_device<S, X, Target, W>();                                                               \
    const auto call =                                                                             \
        detail::nll_of(#name, stream, x, target, weight, reduced, ignore_index, dims);            \
    const bool is_list = call.how == reduction::none;                                             \
    std::pair r(empty<T>(stream, is_list ? call.losses : shape(), call.op),                       \
                empty<T>(stream, {}, call.op));                                                   \
    call.forward(r.first.view(), r.second.view());                                                \
    return r;                                                                                     \
  }

/// The losses -weight[t] x[t] of rows of log probabilities and their targets t, and the sum of the
/// weights.
///
/// Shapes: x [C] or [N, C]; target: class indices of x's sizes without C; weight [C], or
/// std::nullopt; output: [] or, where nothing is reduced, target's sizes; total_weight [], 0 where
/// nothing is reduced. The mean is over the weights; rows of ignore_index have no loss. Sums are in
/// f32 or f64. Raises out_of_range for other targets where the host can read them; elsewhere they
/// read 0. Raises invalid_argument, shape_mismatch or overlap. aten::nll_loss_forward(Tensor self,
/// Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor
/// total_weight)
FLAGGEMS_NLL_FORWARD(nll_loss_forward, 1)
/// The same of x [N, C, H, W]. aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight,
/// int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)
FLAGGEMS_NLL_FORWARD(nll_loss2d_forward, 2)
#undef FLAGGEMS_NLL_FORWARD

#define FLAGGEMS_NLL_BACKWARD(name, dims)                                                          \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Target, optional_tensor W,    \
            tensor_like Total, tensor_like Out>                                                    \
  void name(const S& stream, const G& grad_output, const X& x, const Target& target,               \
            const W& weight, loss_reduction reduced, i64 ignore_index, const Total& total_weight,  \
            Out&& grad_input) {                                                                    \
    same_device<S, G, X, Target, W, Total, Out>();                                                 \
    const auto call =                                                                              \
        detail::nll_of(#name, stream, x, target, weight, reduced, ignore_index, dims);             \
    detail::check_nll_gradient(call, as_view(grad_output), as_view(total_weight));                 \
    detail::check_nll_output(call, call.x.shape_of(), as_view(grad_input));                        \
    detail::check_separate(call.op, as_view(grad_input), as_view(grad_output),                     \
                           as_view(total_weight));                                                 \
    call.backward(as_view(grad_output), as_view(total_weight), as_view(grad_input));               \
  }                                                                                                \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Target, optional_tensor W,    \
            tensor_like Total>                                                                     \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& x, const Target& target, \
                          const W& weight, loss_reduction reduced, i64 ignore_index,               \
                          const Total& total_weight) {                                             \
    auto out = empty<value_t<const X&>>(stream, as_view(x).shape_of(), #name);                     \
    name(stream, grad_output, x, target, weight, reduced, ignore_index, total_weight, out);        \
    return out;                                                                                    \
  }

/// The gradient of nll_loss_forward, which gave total_weight, one element: -weight[t] grad_output
/// at the target, divided by total_weight for a mean, 0 elsewhere. grad_input shares no memory with
/// the others. Raises as nll_loss_forward. aten::nll_loss_backward(Tensor grad_output, Tensor self,
/// Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight)
FLAGGEMS_NLL_BACKWARD(nll_loss_backward, 1)
/// The gradient of nll_loss2d_forward. aten::nll_loss2d_backward(Tensor grad_output, Tensor self,
/// Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight)
FLAGGEMS_NLL_BACKWARD(nll_loss2d_backward, 2)
#undef FLAGGEMS_NLL_BACKWARD

namespace detail {
template <class S, class X, class Target, class W>
auto nll_of_any_rank(const char* op, const S& stream, const X& x, const Target& target,
                     const W& weight, loss_reduction reduced, i64 ignore_index) {
  using T = value_t<const X&>;
  same_device<S, X, Target, W>();
  const auto call = nll_of(op, stream, x, target, weight, reduced, ignore_index, 0);
  std::pair r(empty<T>(stream, call.how == reduction::none ? call.losses : shape(), op),
              empty<T>(stream, {}, op));
  call.forward(r.first.view(), r.second.view());
  return r;
}
}  // namespace detail

/// nll_loss_forward of x [C] or [N, C, ...] of any rank: its output and the sum of the weights.
/// flag_gems::nll_loss_nd_forward(Tensor self, Tensor target, Tensor? weight=None, int
/// reduction=Mean, int ignore_index=-100)
template <stream_like S, tensor_like X, tensor_like Target, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto nll_loss_nd_forward(const S& stream, const X& x, const Target& target,
                                       const W& weight = std::nullopt,
                                       loss_reduction reduced = reduction::mean,
                                       i64 ignore_index = -100) {
  return detail::nll_of_any_rank("nll_loss_nd_forward", stream, x, target, weight, reduced,
                                 ignore_index);
}
/// nll_loss_forward's output of x [C] or [N, C, ...] of any rank. aten::nll_loss_nd(Tensor self,
/// Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100)
template <stream_like S, tensor_like X, tensor_like Target, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto nll_loss_nd(const S& stream, const X& x, const Target& target,
                               const W& weight = std::nullopt,
                               loss_reduction reduced = reduction::mean, i64 ignore_index = -100) {
  return detail::nll_of_any_rank("nll_loss_nd", stream, x, target, weight, reduced, ignore_index)
      .first;
}

/// The gradient of nll_loss_nd in a new tensor; total_weight is computed where it is not given.
/// flag_gems::nll_loss_nd_backward(Tensor grad_output, Tensor input, Tensor target, Tensor?
/// weight=None, int reduction=1, int ignore_index=-100, Tensor? total_weight=None)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Target,
          optional_tensor W = std::nullopt_t, optional_tensor Total = std::nullopt_t>
[[nodiscard]] auto nll_loss_nd_backward(const S& stream, const G& grad_output, const X& x,
                                        const Target& target, const W& weight = std::nullopt,
                                        loss_reduction reduced = reduction::mean,
                                        i64 ignore_index = -100,
                                        const Total& total_weight = std::nullopt) {
  constexpr const char* op = "nll_loss_nd_backward";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, G, X, Target, W, Total>();
  const auto call = detail::nll_of(op, stream, x, target, weight, reduced, ignore_index, 0);
  tensor<T, D> counted;
  auto total = detail::optional_view<T, D>(total_weight);
  if (!total) {
    auto loss = empty<T>(stream, call.how == reduction::none ? call.losses : shape(), op);
    counted = empty<T>(stream, {}, op);
    call.forward(loss.view(), counted.view());
    total = detail::input_of(counted);
  }
  detail::check_nll_gradient(call, as_view(grad_output), *total);
  auto out = empty<T>(stream, call.x.shape_of(), op);
  call.backward(as_view(grad_output), *total, out.view());
  return out;
}

}  // namespace flaggems
