// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Activations: the rows of kernel/family/pointwise/tables/activation.hpp in the forms of
// ops/forms.hpp; gelu with a choice, logit, nan_to_num, prelu; and the gated ones of transformers,
// which take two operands that broadcast together; the halves of one tensor are
// `x.narrow(-1, 0, d)` and `x.narrow(-1, d, d)`, or see ops/gated.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/activation.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <optional>
#include <utility>

namespace flaggems {

namespace operators {
FLAGGEMS_ACTIVATION_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME_WITH_OPTIONS, FLAGGEMS_NAME_WITH_OPTIONS,
                          FLAGGEMS_NAME_WITH_OPTIONS, FLAGGEMS_NAME, FLAGGEMS_NAME_WITH_OPTIONS)
using logit = kernels::logit_fn<f64>;
using nan_to_num = kernels::nan_to_num_fn<f64>;
using gelu = kernels::gelu_fn;
using silu_and_mul = kernels::silu_and_mul_fn;
using gelu_and_mul = kernels::gelu_and_mul_fn;
}  // namespace operators

namespace detail {
template <>
struct option_limits<kernels::celu_fn<f64>> {
  template <class P>
  static void check(const kernels::celu_fn<f64>& f) {
    flaggems::check(f.alpha != 0, errc::invalid_argument, "celu", "an alpha that is not 0", "0");
  }
};
template <>
struct option_limits<kernels::softshrink_fn<f64>> {
  template <class P>
  static void check(const kernels::softshrink_fn<f64>& f) {
    if (!(f.lambd >= 0)) [[unlikely]]
      raise(errc::invalid_argument, "softshrink", "a lambd that is not negative", text(f.lambd));
  }
};
template <>
struct option_limits<kernels::threshold_fn<f64>> {
  template <class P>
  static void check(const kernels::threshold_fn<f64>& f) {
    check_option<P>("threshold", f.threshold);
    check_option<P>("threshold", f.value);
  }
};
/// (Bounds beyond an integer dtype bound nothing, as in ATen.)
template <>
struct option_limits<kernels::hardtanh_fn<f64>> {
  template <class P>
  static void check(const kernels::hardtanh_fn<f64>& f) {
    if constexpr (kernels::is_integer<P>)
      flaggems::check(f.min_val == f.min_val && f.max_val == f.max_val, errc::invalid_argument,
                      "hardtanh", "bounds that are numbers, of integers", "NaN");
  }
};
}  // namespace detail

FLAGGEMS_ACTIVATION_TABLE(FLAGGEMS_UNARY, FLAGGEMS_UNARY1, FLAGGEMS_UNARY2, FLAGGEMS_UNARY3,
                          FLAGGEMS_PAIR, FLAGGEMS_PAIR1)

/// log(x / (1 - x)), of x clamped to [eps, 1 - eps] if eps is given and not negative (an
/// expression); NaN beyond 0 and 1 otherwise. Integers and bool become f32.
template <tensor_operand X>
[[nodiscard]] auto logit(X&& x, std::optional<f64> eps = std::nullopt) {
  return detail::make_call<detail::to_float>(kernels::logit_fn<f64>{eps.value_or(-1)},
                                             std::forward<X>(x));
}
/// logit(x) in a new tensor.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto logit(const S& stream, const X& x, std::optional<f64> eps = std::nullopt) {
  return evaluate(stream, logit(x, eps), "logit");
}
/// out = logit(x), element by element; `out` may be `x`. Raises shape_mismatch or overlap before
/// anything is written. aten::logit.out(Tensor self, float? eps=None, *, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void logit(const S& stream, const X& x, Out&& out, std::optional<f64> eps = std::nullopt) {
  assign(stream, out, logit(x, eps), "logit");
}
/// x = logit(x).
template <stream_like S, tensor_like X>
void logit_(const S& stream, X&& x, std::optional<f64> eps = std::nullopt) {
  assign(stream, x, logit(x, eps), "logit_");
}

/// x with `nan`, `posinf` and `neginf` in the place of NaN and the infinities (an expression); by
/// default 0, the greatest and the least number of the dtype. Integers and bool stay as they are.
template <tensor_operand X>
[[nodiscard]] auto nan_to_num(X&& x, std::optional<f64> nan = std::nullopt,
                              std::optional<f64> posinf = std::nullopt,
                              std::optional<f64> neginf = std::nullopt) {
  const f64 greatest = detail::greatest_number<typename detail::node_t<X>::element>();
  return detail::make_call<detail::numeric>(
      kernels::nan_to_num_fn<f64>{nan.value_or(0), posinf.value_or(greatest),
                                  neginf.value_or(-greatest)},
      std::forward<X>(x));
}
/// x with numbers in the place of NaN and the infinities, in a new tensor.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto nan_to_num(const S& stream, const X& x, std::optional<f64> nan = std::nullopt,
                              std::optional<f64> posinf = std::nullopt,
                              std::optional<f64> neginf = std::nullopt) {
  return evaluate(stream, nan_to_num(x, nan, posinf, neginf), "nan_to_num");
}
/// out = x with numbers in the place of NaN and the infinities; `out` may be `x`. Raises
/// shape_mismatch or overlap before anything is written. aten::nan_to_num.out(Tensor self, float?
/// nan=None, float? posinf=None, float? neginf=None, *, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void nan_to_num(const S& stream, const X& x, Out&& out, std::optional<f64> nan = std::nullopt,
                std::optional<f64> posinf = std::nullopt,
                std::optional<f64> neginf = std::nullopt) {
  assign(stream, out, nan_to_num(x, nan, posinf, neginf), "nan_to_num");
}
/// x = x with numbers in the place of NaN and the infinities.
template <stream_like S, tensor_like X>
void nan_to_num_(const S& stream, X&& x, std::optional<f64> nan = std::nullopt,
                 std::optional<f64> posinf = std::nullopt,
                 std::optional<f64> neginf = std::nullopt) {
  assign(stream, x, nan_to_num(x, nan, posinf, neginf), "nan_to_num_");
}

namespace detail {
/// A weight [C] or of one element as [C, 1, ...], so that it broadcasts along dimension 1 of x.
template <class X, class W>
auto weight_of_channels(const X& x, const W& weight) {
  using view = tensor_view<const value_t<W>, device_t<W>>;
  const view w(as_view(weight));
  const int rank = as_view(x).rank();
  const i64 channels = rank < 2 ? 1 : as_view(x).size(1);
  check(w.rank() < 2 && (w.numel() == 1 || w.numel() == channels), errc::shape_mismatch, "prelu",
        "a weight of one element or one for each channel", "another size");
  shape sizes{w.numel()}, strides{w.rank() == 0 ? 0 : w.stride(0)};
  for (int d = 2; d < rank; ++d) sizes.push_back(1), strides.push_back(0);
  return rank == 0 ? view(w.data(), {}, {}) : view(w.data(), sizes, strides);
}
}  // namespace detail

/// x for x > 0, else weight * x (an expression), with one weight or one for each channel, x [N, C,
/// ...] and weight [C]. Floating-point only. Raises shape_mismatch.
template <tensor_like X, tensor_like W>
[[nodiscard]] auto prelu(X&& x, const W& weight) {
  return prelu_kernel(std::forward<X>(x), detail::weight_of_channels(x, weight));
}
/// prelu(x, weight) in a new tensor.
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto prelu(const S& stream, const X& x, const W& weight) {
  return evaluate(stream, prelu(x, weight), "prelu");
}
/// out = x for x > 0, else weight * x; `out` may be `x`. Raises shape_mismatch or overlap before
/// anything is written. aten::prelu(Tensor self, Tensor weight)
template <stream_like S, tensor_like X, tensor_like W, tensor_like Out>
void prelu(const S& stream, const X& x, const W& weight, Out&& out) {
  assign(stream, out, prelu(x, weight), "prelu");
}

/// log_sigmoid(x), and e^-|x|, in new tensors.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto log_sigmoid_forward(const S& stream, const X& x) {
  auto output = log_sigmoid(stream, x);
  auto buffer = evaluate(stream, exp(neg(abs(x))), "log_sigmoid_forward");
  return std::pair(std::move(output), std::move(buffer));
}
/// output = log_sigmoid(x), buffer = e^-|x|, which log_sigmoid_backward may be given.
/// Floating-point only. Raises shape_mismatch or overlap before anything is written.
/// aten::log_sigmoid_forward(Tensor self)
template <stream_like S, tensor_like X, tensor_like Output, tensor_like Buffer>
void log_sigmoid_forward(const S& stream, const X& x, Output&& output, Buffer&& buffer) {
  constexpr const char* op = "log_sigmoid_forward";
  const auto from = as_view(x);
  const auto to = as_view(output);
  const auto rest = as_view(buffer);
  check_same_sizes(op, from, to);
  check_same_sizes(op, from, rest);
  check_output(op, to, from);
  check_disjoint_output(op, rest, from);
  check_disjoint_output(op, rest, to);
  assign(stream, rest, exp(neg(abs(from))), op);
  assign(stream, to, log_sigmoid(from), op);
}

/// How gelu is computed: exactly, by the error function, or by tanh.
enum class gelu_approximate { none, tanh };

/// gelu(x) = x * Phi(x), Phi the distribution function of N(0, 1) (an expression). Floating-point
/// only.
template <tensor_operand X>
[[nodiscard]] auto gelu(X&& x) {
  return detail::make_call<detail::floating>(kernels::gelu_none_fn{}, std::forward<X>(x));
}
/// The same, or its approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as chosen at
/// run time: kernels contain both, which takes longer to compile.
template <tensor_operand X>
[[nodiscard]] auto gelu(X&& x, gelu_approximate approximate) {
  return detail::make_call<detail::floating>(
      kernels::gelu_fn{approximate == gelu_approximate::tanh}, std::forward<X>(x));
}
/// gelu(x) in a new tensor.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto gelu(const S& stream, const X& x,
                        gelu_approximate approximate = gelu_approximate::none) {
  return evaluate(stream, gelu(x, approximate), "gelu");
}
/// out = gelu(x), element by element; `out` may be `x`. Raises shape_mismatch or overlap before
/// anything is written. aten::gelu.out(Tensor self, *, str approximate='none', Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void gelu(const S& stream, const X& x, Out&& out,
          gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, out, gelu(x, approximate), "gelu");
}
/// x = gelu(x). aten::gelu_(Tensor(a!) self, *, str approximate='none')
template <stream_like S, tensor_like X>
void gelu_(const S& stream, X&& x, gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, x, gelu(x, approximate), "gelu_");
}

/// silu(x) * y = x / (1 + exp(-x)) * y (an expression). Floating-point only; rounded once.
template <tensor_operand X, tensor_operand Y>
[[nodiscard]] auto silu_and_mul(X&& x, Y&& y) {
  return detail::make_call<detail::floating>(kernels::silu_and_mul_fn{}, std::forward<X>(x),
                                             std::forward<Y>(y));
}
/// silu(x) * y in a new tensor.
template <stream_like S, tensor_operand X, tensor_operand Y>
[[nodiscard]] auto silu_and_mul(const S& stream, const X& x, const Y& y) {
  return evaluate(stream, silu_and_mul(x, y), "silu_and_mul");
}
/// out = silu(x) * y, element by element; `out` may be `x` or `y`. Raises shape_mismatch or overlap
/// before anything is written. flag_gems silu_and_mul_out(A, B, out)
template <stream_like S, tensor_operand X, tensor_operand Y, tensor_like Out>
void silu_and_mul(const S& stream, const X& x, const Y& y, Out&& out) {
  assign(stream, out, silu_and_mul(x, y), "silu_and_mul");
}

/// gelu(x) * y (an expression). Floating-point only; rounded once.
template <tensor_operand X, tensor_operand Y>
[[nodiscard]] auto gelu_and_mul(X&& x, Y&& y,
                                gelu_approximate approximate = gelu_approximate::none) {
  return detail::make_call<detail::floating>(
      kernels::gelu_and_mul_fn{{approximate == gelu_approximate::tanh}}, std::forward<X>(x),
      std::forward<Y>(y));
}
/// gelu(x) * y in a new tensor.
template <stream_like S, tensor_operand X, tensor_operand Y>
[[nodiscard]] auto gelu_and_mul(const S& stream, const X& x, const Y& y,
                                gelu_approximate approximate = gelu_approximate::none) {
  return evaluate(stream, gelu_and_mul(x, y, approximate), "gelu_and_mul");
}
/// out = gelu(x) * y, element by element; `out` may be `x` or `y`. Raises shape_mismatch or overlap
/// before anything is written. flag_gems gelu_and_mul(x, y, approximate='none')
template <stream_like S, tensor_operand X, tensor_operand Y, tensor_like Out>
void gelu_and_mul(const S& stream, const X& x, const Y& y, Out&& out,
                  gelu_approximate approximate = gelu_approximate::none) {
  assign(stream, out, gelu_and_mul(x, y, approximate), "gelu_and_mul");
}

namespace detail {
FLAGGEMS_UNARY_ONCE(gelu_fn);
}  // namespace detail

}  // namespace flaggems
