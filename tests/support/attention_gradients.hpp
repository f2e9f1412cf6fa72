// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention in double, and how near others have to be.
#pragma once

#include <support/attention.hpp>

namespace flaggems_test {

using values = std::vector<double>;

/// The gradients by the chain rule, and bounds of what rounding of weights and slopes may change:
/// sums of magnitudes. That of the scores with the mask added is of [batch, heads, queries, keys].
struct gradients {
  values q, k, v, q_most, k_most, v_most, scores, scores_most;
};

inline gradients reference(const problem& p, const values& grad, const values& q, const values& k,
                           const values& v, const values& mask) {
  const auto scores = index(p.batch * p.heads * p.queries * p.keys);
  gradients r{values(q.size()), values(k.size()), values(v.size()), values(q.size()),
              values(k.size()), values(v.size()), values(scores),   values(scores)};
  const double scale = p.options.scale.value_or(1 / std::sqrt(static_cast<double>(p.e)));
  const i64 diagonal =
      p.options.alignment == fg::causal_alignment::top_left ? 0 : p.keys - p.queries;
  for (i64 row = 0; row < p.batch * p.heads * p.queries; ++row) {
    const i64 head = row / p.queries, b = head / p.heads, i = row % p.queries;
    const i64 first = (b * p.key_heads + head % p.heads / (p.heads / p.key_heads)) * p.keys;
    values weight(index(p.keys)), slope(index(p.keys)), rough(index(p.keys));
    double largest = -infinity, sum = 0, dot = 0, rough_dot = 0;
    for (i64 j = 0; j < p.keys; ++j) {
      double& x = weight[index(j)];
      for (i64 d = 0; d < p.e; ++d) x += q[index(row * p.e + d)] * k[index((first + j) * p.e + d)];
      x *= scale;
      if (!mask.empty()) x += mask[index(row * p.keys + j)];
      if (p.options.is_causal && j > i + diagonal) x = -infinity;
      largest = std::fmax(largest, x);
    }
    if (largest == -infinity) continue;  // sees nothing
    for (double& x : weight) sum += x = std::exp(x - largest);
    for (i64 j = 0; j < p.keys; ++j) {
      weight[index(j)] /= sum;
      for (i64 d = 0; d < p.ev; ++d) {
        const double x = grad[index(row * p.ev + d)] * v[index((first + j) * p.ev + d)];
        slope[index(j)] += x;
        rough[index(j)] += std::abs(x);
      }
      dot += weight[index(j)] * slope[index(j)];
      rough_dot += weight[index(j)] * rough[index(j)];
    }
    for (i64 j = 0; j < p.keys; ++j) {
      const double w = weight[index(j)];
      r.scores[index(row * p.keys + j)] = w * (slope[index(j)] - dot);
      r.scores_most[index(row * p.keys + j)] = w * (rough[index(j)] + rough_dot);
      const double s = scale * w * (slope[index(j)] - dot),
                   s_most = std::abs(scale) * w * (rough[index(j)] + rough_dot);
      for (i64 d = 0; d < p.e; ++d) {
        const std::size_t at = index(row * p.e + d), of = index((first + j) * p.e + d);
        r.q[at] += s * k[of];
        r.q_most[at] += s_most * std::abs(k[of]);
        r.k[of] += s * q[at];
        r.k_most[of] += s_most * std::abs(q[at]);
      }
      for (i64 d = 0; d < p.ev; ++d) {
        const std::size_t at = index(row * p.ev + d), of = index((first + j) * p.ev + d);
        r.v[of] += w * grad[at];
        r.v_most[of] += w * std::abs(grad[at]);
      }
    }
  }
  return r;
}

/// |got - want| <= step (|want| + most), where weights and slopes are rounded to T.
template <class T>
void expect_within(const char* of, const values& got, const values& want, const values& most) {
  constexpr double step = std::is_same_v<T, f64>   ? 1e-12
                          : std::is_same_v<T, f32> ? 1e-5
                          : std::is_same_v<T, f16> ? 0x1p-9
                                                   : 0x1p-6;
  ASSERT_EQ(got.size(), want.size());
  int shown = 0;
  for (std::size_t i = 0; i < got.size() && shown < 5; ++i) {
    if (std::abs(got[i] - want[i]) <= step * (std::abs(want[i]) + most[i])) continue;
    ADD_FAILURE() << of << ", element " << i << " of " << got.size() << ": " << got[i]
                  << ", expected " << want[i] << ", magnitudes " << most[i];
    ++shown;
  }
}

}  // namespace flaggems_test
