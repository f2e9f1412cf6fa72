// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rounding, fractions and signs: the rows of kernel/family/pointwise/tables/rounding.hpp in the
// forms of ops/forms.hpp, and round to decimals.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/rounding.hpp>
#include <flaggems/ops/forms.hpp>

#include <cmath>

namespace flaggems {

namespace operators {
FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME)
using round_decimals = kernels::round_decimals_fn<f64>;  ///< round with decimals
}  // namespace operators

FLAGGEMS_ROUNDING_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY)
FLAGGEMS_ROUNDING_ALIASES(FLAGGEMS_ALSO_IN_PLACE)

namespace detail {
inline kernels::round_decimals_fn<f64> decimal_rounding(i64 decimals) {
  return {std::pow(10.0, static_cast<f64>(decimals < 0 ? -decimals : decimals)), decimals < 0};
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

}  // namespace flaggems
