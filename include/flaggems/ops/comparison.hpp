// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What numbers are, and whether they are close: the rows of
// kernel/family/pointwise/tables/comparison.hpp in the forms of ops/forms.hpp, and isclose. (eq ...
// ge are in ops/pointwise.hpp.)
#pragma once

#include <flaggems/kernel/family/pointwise/tables/comparison.hpp>
#include <flaggems/ops/forms.hpp>

namespace flaggems {

namespace operators {
FLAGGEMS_COMPARISON_TABLE(FLAGGEMS_NAME)
using isclose = kernels::isclose_fn<f64>;
}  // namespace operators

FLAGGEMS_COMPARISON_TABLE(FLAGGEMS_PREDICATE)

/// How close is close.
struct closeness {
  f64 rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};

/// a == b or |a - b| <= atol + rtol |b|, or both NaN where equal_nan says so (an expression).
/// Integers and bool are equal as they are, and close as f32. Raises invalid_argument for a
/// negative tolerance.
template <tensor_operand A, tensor_operand B>
[[nodiscard]] auto isclose(A&& a, B&& b, closeness how = {}) {
  check(how.rtol >= 0 && how.atol >= 0, errc::invalid_argument, "isclose",
        "rtol and atol that are not negative", "a negative one");
  return detail::make_call<detail::to_bool>(
      kernels::isclose_fn<f64>{how.rtol, how.atol, how.equal_nan}, std::forward<A>(a),
      std::forward<B>(b));
}
/// Whether a and b are close, in a new tensor of bool.
template <stream_like S, tensor_operand A, tensor_operand B>
[[nodiscard]] auto isclose(const S& stream, const A& a, const B& b, closeness how = {}) {
  return evaluate(stream, isclose(a, b, how), "isclose");
}
/// out = whether a and b are close. Raises invalid_argument, shape_mismatch or overlap before
/// anything is written. aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float
/// atol=1e-08, bool equal_nan=False)
template <stream_like S, tensor_operand A, tensor_operand B, tensor_like Out>
void isclose(const S& stream, const A& a, const B& b, Out&& out, closeness how = {}) {
  assign(stream, out, isclose(a, b, how), "isclose");
}

}  // namespace flaggems
