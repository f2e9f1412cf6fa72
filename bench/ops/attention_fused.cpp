// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention with those of a bias.
#include <support.hpp>

#include <flaggems/ops/attention_fused.hpp>

namespace flaggems_bench {
namespace {

/// Positions, heads, head size.
template <class T>
void bias_gradient(benchmark::State& state) {
  const i64 n = state.range(0), heads = state.range(1), e = state.range(2);
  const auto q = random<T>({1, heads, n, e}), k = random<T>({1, heads, n, e}, -1, 1, 2),
             v = random<T>({1, heads, n, e}, -1, 1, 3),
             grad = random<T>({1, heads, n, e}, -1, 1, 4), bias = random<T>({n, n}, -1, 1, 5);
  const auto made = fg::scaled_dot_product_fused_attention_overrideable(stream(), q, k, v, bias);
  fg::biased_attention_gradients<T, fg::host> r;
  for (auto _ : state)
    r = fg::scaled_dot_product_efficient_attention_backward(stream(), grad, q, k, v, bias, made.out,
                                                            made.logsumexp);
  state.counters["flops"] =
      benchmark::Counter(14.0 * static_cast<double>(q.numel()) * static_cast<double>(n),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto line = [&](const auto& x, i64 head, i64 row) {
    return x.data() + (head * n + row) * e;
  };
  const auto product = [&](const T* a, const T* b) {
    double sum = 0;
    for (i64 c = 0; c < e; ++c) sum += number(a[c]) * number(b[c]);
    return sum;
  };
  const auto want = [&](i64 at) {
    const i64 i = at / n, j = at % n;
    double sum = 0;
    for (i64 h = 0; h < heads; ++h) {
      const double score =
          product(line(q, h, i), line(k, h, j)) / std::sqrt(static_cast<double>(e)) +
          number(bias.data()[at]);
      const double weight = std::exp(score - number(made.logsumexp.data()[h * n + i]));
      sum += weight * (product(line(grad, h, i), line(v, h, j)) -
                       product(line(grad, h, i), line(made.out, h, i)));
    }
    return sum;
  };
  check(state, *r.bias, want, heads * e);
}
BENCHMARK(bias_gradient<float>)->Args({128, 4, 64})->Args({512, 8, 64});

}  // namespace
}  // namespace flaggems_bench
