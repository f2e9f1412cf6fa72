// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention that also gives its weights.
#include <support.hpp>

#include <flaggems/ops/attention_forms.hpp>

namespace flaggems_bench {
namespace {

/// Positions, heads, head size.
template <class T>
void attention_math(benchmark::State& state) {
  const i64 n = state.range(0), heads = state.range(1), e = state.range(2);
  const auto q = random<T>({1, heads, n, e}, -2, 2), k = random<T>({1, heads, n, e}, -1, 1, 2);
  auto out = fg::empty<T>(stream(), {1, heads, n, e}),
       weights = fg::empty<T>(stream(), {1, heads, n, n});
  for (auto _ : state)
    fg::scaled_dot_product_attention_math(stream(), q, k, k, std::nullopt, out, weights);
  state.counters["flops"] =
      benchmark::Counter(6.0 * static_cast<double>(q.numel()) * static_cast<double>(n),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 i) {
    const i64 row = i / n, first = row / n * n;
    double sum = 0, own = 0;
    for (i64 j = 0; j < n; ++j) {
      double score = 0;
      for (i64 c = 0; c < e; ++c)
        score += number(q.data()[row * e + c]) * number(k.data()[(first + j) * e + c]);
      const double weight = std::exp(score / std::sqrt(static_cast<double>(e)));
      sum += weight;
      if (j == i % n) own = weight;
    }
    return own / sum;
  };
  check(state, weights, want, n * e);
}
BENCHMARK(attention_math<float>)->Args({128, 8, 64})->Args({512, 8, 64});

}  // namespace
}  // namespace flaggems_bench
