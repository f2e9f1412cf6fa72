// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of attention share: its sizes, and its definition in double.
#pragma once

#include <flaggems/ops/attention.hpp>
#include <support/ops.hpp>

namespace flaggems_test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline std::size_t index(i64 i) { return static_cast<std::size_t>(i); }

/// Sizes of a problem: batch, heads of the query and of the keys, queries, keys, element sizes.
struct problem {
  i64 batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, e = 1, ev = 1;
  fg::attention_options options{};
  shape q() const { return {batch, heads, queries, e}; }
  shape k() const { return {batch, key_heads, keys, e}; }
  shape v() const { return {batch, key_heads, keys, ev}; }
  shape out() const { return {batch, heads, queries, ev}; }
};

/// The definition, with all scores of a row at once. `mask` is added to the scores, row-major over
/// [batch, heads, queries, keys].
inline std::vector<double> reference(const problem& p, const std::vector<double>& q,
                                     const std::vector<double>& k, const std::vector<double>& v,
                                     const std::vector<double>& mask) {
  std::vector<double> out(index(p.out().numel()));
  const double scale = p.options.scale.value_or(1 / std::sqrt(static_cast<double>(p.e)));
  const i64 diagonal =
      p.options.alignment == fg::causal_alignment::top_left ? 0 : p.keys - p.queries;
  for (i64 b = 0; b < p.batch; ++b)
    for (i64 h = 0; h < p.heads; ++h)
      for (i64 i = 0; i < p.queries; ++i) {
        const i64 row = (b * p.heads + h) * p.queries + i;
        const i64 first = (b * p.key_heads + h / (p.heads / p.key_heads)) * p.keys;
        std::vector<double> s(index(p.keys));
        double largest = -infinity, sum = 0;
        for (i64 j = 0; j < p.keys; ++j) {
          double& x = s[index(j)];
          for (i64 d = 0; d < p.e; ++d)
            x += q[index(row * p.e + d)] * k[index((first + j) * p.e + d)];
          x *= scale;
          if (!mask.empty()) x += mask[index(row * p.keys + j)];
          if (p.options.is_causal && j > i + diagonal) x = -infinity;
          largest = std::fmax(largest, x);
        }
        if (largest == -infinity) continue;  // sees nothing: 0
        for (double& x : s) sum += x = std::exp(x - largest);
        for (i64 d = 0; d < p.ev; ++d) {
          double& x = out[index(row * p.ev + d)];
          for (i64 j = 0; j < p.keys; ++j)
            x += s[index(j)] / sum * v[index((first + j) * p.ev + d)];
        }
      }
  return out;
}

}  // namespace flaggems_test
