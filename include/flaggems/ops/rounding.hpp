// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding, fractions and signs: the rows of kernel/family/pointwise/tables/rounding.hpp in the
// forms of ops/forms.hpp, and round to decimals.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/rounding.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/forms.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME)
using frexp = kernels::mantissa_fn;
using round_decimals = kernels::round_decimals_fn<f64>;  ///< round with decimals
template <class T>
using nextafter = kernels::nextafter_fn<T>;
}  // namespace operators

FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY)
FLAGGEMS_ROUNDING_ALIASES(FLAGGEMS_ALSO_IN_PLACE)

namespace detail {
inline kernels::round_decimals_fn<f64> decimal_rounding(i64 decimals) {
  return {__builtin_pow(10.0, __builtin_fabs(static_cast<f64>(decimals))), decimals < 0};
}
}  // namespace detail

/// round(x * 10^decimals) / 10^decimals, ties to even (an expression); to tens and more for
/// negative decimals. Floating-point only.
template <tensor_operand X>
[[nodiscard]] auto round(X&& x, i64 decimals) {
  return detail::make_call<detail::floating>(detail::decimal_rounding(decimals),
                                             std::forward<X>(x));
}
/// x rounded to decimals, in a new tensor.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto round(const S& stream, const X& x, i64 decimals) {
  return evaluate(stream, round(x, decimals), "round");
}
/// out = x rounded to decimals; `out` may be `x`. Raises shape_mismatch or overlap before anything
/// is written. aten::round.decimals_out(Tensor self, *, int decimals, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_like Out>
void round(const S& stream, const X& x, Out&& out, i64 decimals) {
  assign(stream, out, round(x, decimals), "round");
}
/// x = x rounded to decimals.
template <stream_like S, tensor_like X>
void round_(const S& stream, X&& x, i64 decimals) {
  assign(stream, x, round(x, decimals), "round_");
}

/// The next number of the operands' promoted dtype after a in the direction of b; b where they are
/// equal (an expression). Floating-point only.
template <tensor_operand A, tensor_operand B>
[[nodiscard]] auto nextafter(A&& a, B&& b) {
  using T = typename detail::promoted_type<detail::node_t<A>, detail::node_t<B>>::type;
  return detail::make_call<detail::floating>(
      kernels::nextafter_fn<std::conditional_t<kernels::is_floating<T>, T, f32>>{},
      std::forward<A>(a), std::forward<B>(b));
}
/// The number after a in the direction of b, in a new tensor.
template <stream_like S, tensor_operand A, tensor_operand B>
[[nodiscard]] auto nextafter(const S& stream, const A& a, const B& b) {
  return evaluate(stream, nextafter(a, b), "nextafter");
}
/// out = the number after a in the direction of b; `out` may be either. Raises shape_mismatch or
/// overlap before anything is written. aten::nextafter.out(Tensor self, Tensor other, *, Tensor(a!)
/// out)
template <stream_like S, tensor_operand A, tensor_operand B, tensor_like Out>
void nextafter(const S& stream, const A& a, const B& b, Out&& out) {
  assign(stream, out, nextafter(a, b), "nextafter");
}
/// a = the number after a in the direction of b.
template <stream_like S, tensor_like A, tensor_operand B>
void nextafter_(const S& stream, A&& a, const B& b) {
  assign(stream, a, nextafter(a, b), "nextafter_");
}

namespace detail {
template <class X>
auto mantissa_of(const X& x) {
  return make_call<floating>(kernels::mantissa_fn{}, x);
}
template <class X>
auto exponent_of(const X& x) {
  return cast<i32>(make_call<floating>(kernels::exponent_fn{}, x));
}
}  // namespace detail

/// x as m * 2^e with 1/2 <= |m| < 1, m and e (of i32) in new tensors; zeros, infinities and NaN as
/// m with e = 0. Floating-point only.
template <stream_like S, tensor_like X>
[[nodiscard]] auto frexp(const S& stream, const X& x) {
  auto mantissa = evaluate(stream, detail::mantissa_of(x), "frexp");
  auto exponent = evaluate(stream, detail::exponent_of(x), "frexp");
  return std::pair(std::move(mantissa), std::move(exponent));
}
/// The same into tensors; the mantissa may be x. Raises shape_mismatch or overlap before anything
/// is written. aten::frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent)
template <stream_like S, tensor_like X, tensor_like M, tensor_like E>
void frexp(const S& stream, const X& x, M&& mantissa, E&& exponent) {
  const auto from = as_view(x);
  const auto to = as_view(mantissa);
  const auto power = as_view(exponent);
  check_same_sizes("frexp", from, to);
  check_same_sizes("frexp", from, power);
  check_output("frexp", to, from);
  check_disjoint_output("frexp", power, from, to);
  assign(stream, power, detail::exponent_of(from), "frexp");
  assign(stream, to, detail::mantissa_of(from), "frexp");
}

}  // namespace flaggems
