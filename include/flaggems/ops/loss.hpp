// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Losses of tensors and their targets, element by element, and their gradients: the rows of
// kernel/family/pointwise/tables/loss.hpp, binary cross entropy, and margin_ranking_loss. A loss is
// a tensor of the elements' losses, or their mean or sum, which one reduction computes.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/loss.hpp>
#include <flaggems/ops/plan/loss.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/tensor/optional.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_LOSS_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME_WITH_OPTIONS, FLAGGEMS_NAME,
                    FLAGGEMS_NAME_WITH_OPTIONS)
using binary_cross_entropy = kernels::binary_cross_entropy_fn;
using binary_cross_entropy_with_logits = kernels::logits_loss_fn;
using binary_cross_entropy_backward = kernels::binary_cross_entropy_backward_fn;
using margin_ranking_loss = kernels::margin_ranking_loss_fn<f64>;
}  // namespace operators

namespace detail {

/// Losses as a reduction says, into `out` or in a new tensor.
template <class S, class E, class Out>
void reduced_loss(const char* op, const S& stream, const E& losses, Out&& out, loss_reduction how) {
  using T = dtype_of_operand<E>;
  using O = value_t<Out>;
  const reduction chosen = how.of(op);
  if (chosen == reduction::none)
    assign(stream, out, losses, op);
  else if (chosen == reduction::mean)
    reduce_values<operators::mean, kernels::sum_of, mean_fold<T, O>>(
        op, stream, losses, as_view(out), {}, false, reduction_result::mean);
  else
    reduce_values<operators::sum, folds_into<O>::template sum,
                  typename folds_into<O>::template type<T>>(op, stream, losses, as_view(out), {},
                                                            false, reduction_result::total);
}
template <class S, class E>
auto reduced_loss(const char* op, const S& stream, const E& losses, loss_reduction how) {
  if (how.of(op) == reduction::none) return evaluate(stream, losses, op);
  auto out = empty<dtype_of_operand<E>>(stream, reduced_shape(op, losses, {}, false), op);
  reduced_loss(op, stream, losses, out, how);
  return out;
}
/// grad times the derivative of losses, of their mean if that is what was computed.
template <class G, class E>
auto loss_gradient(const char* op, const G& grad, const E& slope, i64 elements,
                   loss_reduction how) {
  const f64 factor = how.of(op) == reduction::mean ? 1.0 / static_cast<f64>(elements) : 1.0;
  return mul(mul(grad, slope), factor);
}
/// given(x) of an optional tensor that is there, else absent().
template <class X, class Given, class Absent>
decltype(auto) with_optional(const X& x, const Given& given, const Absent& absent) {
  if constexpr (std::is_same_v<X, std::nullopt_t>)
    return absent();
  else if constexpr (tensor_like<const X&>)
    return given(x);
  else
    return x.has_value() ? given(*x) : absent();
}
/// f(e), or f(e * weight) if there is a weight.
template <class E, class W, class F>
decltype(auto) with_weight(const E& e, const W& weight, const F& f) {
  return with_optional(
      weight, [&](const auto& w) { return f(mul(e, w)); }, [&] { return f(e); });
}
/// f(losses of logits) with a weight of targets of 1, if there is one.
template <class X, class T, class P, class F>
decltype(auto) logits_losses(const X& x, const T& target, const P& pos_weight, const F& f) {
  const auto losses = [&](const auto& w) {
    return f(make_call<floating>(kernels::logits_loss_fn{}, x, target, w));
  };
  return with_optional(pos_weight, losses, [&] { return losses(1); });
}

template <>
struct option_limits<kernels::huber_loss_fn<f64>> {
  template <class P>
  static void check(const kernels::huber_loss_fn<f64>& f) {
    if (!(f.delta > 0)) [[unlikely]]
      raise(errc::invalid_argument, "huber_loss", "a positive delta", text(f.delta));
  }
};
inline void check_beta(const char* op, f64 beta) {
  if (!(beta >= 0)) [[unlikely]]
    raise(errc::invalid_argument, op, "a beta that is not negative", text(beta));
}
template <>
struct option_limits<kernels::smooth_l1_loss_fn<f64>> {
  template <class P>
  static void check(const kernels::smooth_l1_loss_fn<f64>& f) {
    check_beta("smooth_l1_loss", f.beta);
  }
};
template <>
struct option_limits<kernels::smooth_l1_loss_backward_fn<f64>> {
  template <class P>
  static void check(const kernels::smooth_l1_loss_backward_fn<f64>& f) {
    check_beta("smooth_l1_loss_backward", f.beta);
  }
};

}  // namespace detail

#define FLAGGEMS_LOSS_FORMS(name, rule, functor, parameters)                                      \
  template <stream_like S, tensor_operand X, tensor_operand T>                                    \
  [[nodiscard]] auto name(const S& stream, const X& x, const T& target,                           \
                          loss_reduction reduced = reduction::mean FLAGGEMS_UNPACK parameters) {  \
    return detail::reduced_loss(#name, stream,                                                    \
                                detail::make_call<detail::rule>(functor, x, target), reduced);    \
  }                                                                                               \
  template <stream_like S, tensor_operand X, tensor_operand T, tensor_like Out>                   \
  void name(const S& stream, const X& x, const T& target, Out&& out,                              \
            loss_reduction reduced = reduction::mean FLAGGEMS_UNPACK parameters) {                \
    detail::reduced_loss(#name, stream, detail::make_call<detail::rule>(functor, x, target), out, \
                         reduced);                                                                \
  }
#define FLAGGEMS_SLOPE_FORMS(name, rule, functor, parameters)                                   \
  template <stream_like S, tensor_operand G, tensor_like X, tensor_operand T>                   \
  [[nodiscard]] auto name(const S& stream, const G& grad, const X& x, const T& target,          \
                          loss_reduction reduced FLAGGEMS_UNPACK parameters) {                  \
    const auto slope = detail::make_call<detail::rule>(functor, x, target);                     \
    return evaluate(                                                                            \
        stream, detail::loss_gradient(#name, grad, slope, as_view(x).numel(), reduced), #name); \
  }                                                                                             \
  template <stream_like S, tensor_operand G, tensor_like X, tensor_operand T, tensor_like Out>  \
  void name(const S& stream, const G& grad, const X& x, const T& target, Out&& out,             \
            loss_reduction reduced FLAGGEMS_UNPACK parameters) {                                \
    const auto slope = detail::make_call<detail::rule>(functor, x, target);                     \
    assign(stream, out, detail::loss_gradient(#name, grad, slope, as_view(x).numel(), reduced), \
           #name);                                                                              \
  }
#define FLAGGEMS_LOSS(name, rule, ...) FLAGGEMS_LOSS_FORMS(name, rule, (kernels::name##_fn{}), ())
#define FLAGGEMS_LOSS1(name, rule, p, p0, ...) \
  FLAGGEMS_LOSS_FORMS(name, rule, (kernels::name##_fn<f64>{p}), (, f64 p p0))
#define FLAGGEMS_SLOPE(name, rule, ...) FLAGGEMS_SLOPE_FORMS(name, rule, (kernels::name##_fn{}), ())
#define FLAGGEMS_SLOPE1(name, rule, p, p0, ...) \
  FLAGGEMS_SLOPE_FORMS(name, rule, (kernels::name##_fn<f64>{p}), (, f64 p p0))
FLAGGEMS_LOSS_TABLE(FLAGGEMS_LOSS, FLAGGEMS_LOSS1, FLAGGEMS_SLOPE, FLAGGEMS_SLOPE1)
#undef FLAGGEMS_LOSS
#undef FLAGGEMS_LOSS1
#undef FLAGGEMS_SLOPE
#undef FLAGGEMS_SLOPE1
#undef FLAGGEMS_LOSS_FORMS
#undef FLAGGEMS_SLOPE_FORMS

/// -(target log(x) + (1 - target) log(1 - x)) of probabilities x, times the weight, with logarithms
/// of -100 at least; in a new tensor. NaN for x beyond [0, 1].
template <stream_like S, tensor_operand X, tensor_operand T, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto binary_cross_entropy(const S& stream, const X& x, const T& target,
                                        const W& weight = std::nullopt,
                                        loss_reduction reduced = reduction::mean) {
  return detail::with_weight(
      detail::make_call<detail::floating>(kernels::binary_cross_entropy_fn{}, x, target), weight,
      [&](const auto& e) {
        return detail::reduced_loss("binary_cross_entropy", stream, e, reduced);
      });
}
/// The same into `out`, of the operands' sizes or without dimensions. Floating-point only. Raises
/// shape_mismatch or overlap before anything is written.
/// aten::binary_cross_entropy.out(Tensor self, Tensor target, Tensor? weight=None, int
/// reduction=Mean, *, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_operand T, optional_tensor W, tensor_like Out>
void binary_cross_entropy(const S& stream, const X& x, const T& target, const W& weight, Out&& out,
                          loss_reduction reduced = reduction::mean) {
  detail::with_weight(
      detail::make_call<detail::floating>(kernels::binary_cross_entropy_fn{}, x, target), weight,
      [&](const auto& e) {
        detail::reduced_loss("binary_cross_entropy", stream, e, out, reduced);
      });
}
/// grad times the derivative of binary_cross_entropy by x, in a new tensor.
template <stream_like S, tensor_operand G, tensor_like X, tensor_operand T,
          optional_tensor W = std::nullopt_t>
[[nodiscard]] auto binary_cross_entropy_backward(const S& stream, const G& grad, const X& x,
                                                 const T& target, const W& weight = std::nullopt,
                                                 loss_reduction reduced = reduction::mean) {
  const auto slope =
      detail::make_call<detail::floating>(kernels::binary_cross_entropy_backward_fn{}, x, target);
  return detail::with_weight(
      detail::loss_gradient("binary_cross_entropy_backward", grad, slope, as_view(x).numel(),
                            reduced),
      weight, [&](const auto& e) { return evaluate(stream, e, "binary_cross_entropy_backward"); });
}
/// The same into `out`. aten::binary_cross_entropy_backward.grad_input(Tensor grad_output, Tensor
/// self, Tensor target, Tensor? weight=None, int reduction=Mean, *, Tensor(a!) grad_input)
template <stream_like S, tensor_operand G, tensor_like X, tensor_operand T, optional_tensor W,
          tensor_like Out>
void binary_cross_entropy_backward(const S& stream, const G& grad, const X& x, const T& target,
                                   const W& weight, Out&& out,
                                   loss_reduction reduced = reduction::mean) {
  const auto slope =
      detail::make_call<detail::floating>(kernels::binary_cross_entropy_backward_fn{}, x, target);
  detail::with_weight(
      detail::loss_gradient("binary_cross_entropy_backward", grad, slope, as_view(x).numel(),
                            reduced),
      weight, [&](const auto& e) { assign(stream, out, e, "binary_cross_entropy_backward"); });
}

/// binary_cross_entropy of sigmoid(x), without a loss of digits; where a target is 1, its loss
/// counts `pos_weight` times. In a new tensor.
template <stream_like S, tensor_operand X, tensor_operand T, optional_tensor W = std::nullopt_t,
          optional_tensor P = std::nullopt_t>
[[nodiscard]] auto binary_cross_entropy_with_logits(const S& stream, const X& x, const T& target,
                                                    const W& weight = std::nullopt,
                                                    const P& pos_weight = std::nullopt,
                                                    loss_reduction reduced = reduction::mean) {
  return detail::logits_losses(x, target, pos_weight, [&](const auto& losses) {
    return detail::with_weight(losses, weight, [&](const auto& e) {
      return detail::reduced_loss("binary_cross_entropy_with_logits", stream, e, reduced);
    });
  });
}
/// The same into `out`, of the operands' sizes or without dimensions. Floating-point only. Raises
/// shape_mismatch or overlap before anything is written.
/// aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor?
/// pos_weight=None, int reduction=Mean)
template <stream_like S, tensor_operand X, tensor_operand T, optional_tensor W, optional_tensor P,
          tensor_like Out>
void binary_cross_entropy_with_logits(const S& stream, const X& x, const T& target, const W& weight,
                                      const P& pos_weight, Out&& out,
                                      loss_reduction reduced = reduction::mean) {
  detail::logits_losses(x, target, pos_weight, [&](const auto& losses) {
    detail::with_weight(losses, weight, [&](const auto& e) {
      detail::reduced_loss("binary_cross_entropy_with_logits", stream, e, out, reduced);
    });
  });
}

/// max(0, margin - target * (x - y)) for targets of 1 and -1, in a new tensor.
template <stream_like S, tensor_operand X, tensor_operand Y, tensor_operand T>
[[nodiscard]] auto margin_ranking_loss(const S& stream, const X& x, const Y& y, const T& target,
                                       f64 margin = 0, loss_reduction reduced = reduction::mean) {
  return detail::reduced_loss("margin_ranking_loss", stream,
                              detail::make_call<detail::floating>(
                                  kernels::margin_ranking_loss_fn<f64>{margin}, x, y, target),
                              reduced);
}
/// The same into `out`, of the operands' sizes or without dimensions. Floating-point only. Raises
/// shape_mismatch or overlap before anything is written. aten::margin_ranking_loss(Tensor input1,
/// Tensor input2, Tensor target, float margin=0.0, int reduction=Mean)
template <stream_like S, tensor_operand X, tensor_operand Y, tensor_operand T, tensor_like Out>
void margin_ranking_loss(const S& stream, const X& x, const Y& y, const T& target, Out&& out,
                         f64 margin = 0, loss_reduction reduced = reduction::mean) {
  detail::reduced_loss("margin_ranking_loss", stream,
                       detail::make_call<detail::floating>(
                           kernels::margin_ranking_loss_fn<f64>{margin}, x, y, target),
                       out, reduced);
}

}  // namespace flaggems
