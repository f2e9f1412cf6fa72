// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Running sums as shares of the whole: distributions from weights.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/scan.hpp>

#include <type_traits>

namespace flaggems {

/// out[i] = (x[0] + ... + x[i]) / the sum of x along `dim`.
///
/// x, out: the same sizes and floating-point dtype, any strides; `out` may be `x`. Sums are in f32
/// or f64. Raises out_of_range, shape_mismatch or overlap before anything is written.
/// flag_gems::normed_cumsum(Tensor inp, int dim=-1)
template <stream_like S, tensor_like X, tensor_like Out>
void normed_cumsum(const S& stream, const X& x, Out&& out, i64 dim = -1) {
  constexpr const char* op = "normed_cumsum";
  using T = value_t<const X&>;
  using C = kernels::compute_type<T>;
  same_device<S, X, Out>();
  static_assert(detail::kind_of<T> == detail::kind::floating && std::is_same_v<T, value_t<Out>>,
                "flaggems: input and output have one floating-point dtype");
  const auto v = as_view(x);
  const auto to = as_view(out);
  const int d = normalize_dim(dim, v.rank(), op);
  static_cast<void>(detail::check_same_shape(op, to, v));
  if (to.empty()) return;
  if (v.rank() == 0) return assign(stream, out, cast<T>(cast<C>(v) / cast<C>(v)), op);
  const auto running = cumsum<C>(stream, v, d);
  const auto total = sum<C>(stream, v, d, true);
  assign(stream, out, cast<T>(running / total), op);
}
/// normed_cumsum(x) in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto normed_cumsum(const S& stream, const X& x, i64 dim = -1) {
  auto out = empty<value_t<const X&>>(stream, as_view(x).shape_of(), "normed_cumsum");
  normed_cumsum(stream, x, out, dim);
  return out;
}

}  // namespace flaggems
