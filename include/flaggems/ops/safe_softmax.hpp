// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Softmax whose rows of -inf alone are zero: of attention in which nothing may be seen.
#pragma once

#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>

#include <limits>

namespace flaggems {

/// out = softmax(x) along `dim`, but 0 in rows of only -inf.
///
/// Otherwise as softmax; x is floating-point. aten::_safe_softmax(Tensor self, int dim, ScalarType?
/// dtype=None)
template <stream_like S, tensor_like X, tensor_like Out>
void safe_softmax(const S& stream, const X& x, Out&& out, i64 dim) {
  constexpr const char* op = "safe_softmax";
  using T = value_t<const X&>;
  same_device<S, X, Out>();
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: safe_softmax is of floating-point tensors");
  if constexpr (detail::check_softmax_types<const X&, Out>()) {
    const auto v = as_view(x);
    const int d = normalize_dim(dim, v.rank(), op);
    if (v.rank() == 0 || v.empty())
      return detail::softmax_into<false>(op, stream, v, as_view(out), d);
    // Before out is written, which may be x.
    const auto greatest = amax(stream, v, {d}, true);
    detail::softmax_into<false>(op, stream, v, as_view(out), d);
    assign(stream, out, where(eq(greatest, -std::numeric_limits<f32>::infinity()), 0, out), op);
  }
}
/// safe_softmax(x) along `dim` in a new tensor; T is its dtype if it shall not be x's.
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto safe_softmax(const S& stream, const X& x, i64 dim) {
  auto out =
      empty<detail::type_or<T, value_t<const X&>>>(stream, as_view(x).sizes(), "safe_softmax");
  safe_softmax(stream, x, out, dim);
  return out;
}

}  // namespace flaggems
