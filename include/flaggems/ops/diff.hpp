// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Differences of neighbours along a dimension.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/plan/norm.hpp>

#include <optional>
#include <type_traits>
#include <vector>

namespace flaggems {

/// x[i + 1] - x[i] along `dim`, n times, in a new tensor of x's dtype, which is smaller by n; of
/// bool, whether neighbours differ. `prepend` and `append`, of x's sizes but along `dim`, are
/// joined to x first, unless n is 0, which copies x. Raises invalid_argument for an x without
/// dimensions or a negative n, out_of_range or shape_mismatch. aten::diff(Tensor self, int n=1, int
/// dim=-1, Tensor? prepend=None, Tensor? append=None)
template <stream_like S, tensor_like X, optional_tensor Prepend = std::nullopt_t,
          optional_tensor Append = std::nullopt_t>
[[nodiscard]] auto diff(const S& stream, const X& x, i64 n = 1, i64 dim = -1,
                        const Prepend& prepend = std::nullopt,
                        const Append& append = std::nullopt) {
  constexpr const char* op = "diff";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Prepend, Append>();
  const tensor_view<const T, D> given(as_view(x));
  if (given.rank() == 0) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one dimension", "0");
  if (n < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an order that is not negative", detail::text(n));
  const int d = normalize_dim(dim, given.rank(), op);
  if (n == 0) return detail::copied<T>(op, stream, given, memory_format::preserve_format);
  std::vector<tensor_view<const T, D>> parts;
  if (const auto first = detail::optional_view<T, D>(prepend)) parts.emplace_back(*first);
  parts.emplace_back(given);
  if (const auto last = detail::optional_view<T, D>(append)) parts.emplace_back(*last);
  auto now = parts.size() == 1 ? tensor<T, D>() : cat(stream, parts, d);
  tensor_view<const T, D> from = parts.size() == 1 ? given : detail::input_of(now);
  for (i64 k = 0; k < n && (k == 0 || from.size(d) > 0); ++k) {
    const i64 size = from.size(d), less = size > 0 ? size - 1 : 0;
    const auto behind = from.narrow(d, size - less, less), before = from.narrow(d, 0, less);
    if constexpr (std::is_same_v<T, bool>)
      now = evaluate(stream, ne(behind, before), op);
    else
      now = evaluate(stream, sub(behind, before), op);
    from = detail::input_of(now);
  }
  return now;
}

}  // namespace flaggems
