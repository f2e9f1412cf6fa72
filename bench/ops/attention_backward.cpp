// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention of a prompt.
#include <support.hpp>

#include <flaggems/ops/attention_backward.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

/// Positions, heads, head size; causal.
template <class T>
void attention_backward(benchmark::State& state) {
  const i64 n = state.range(0), heads = state.range(1), e = state.range(2);
  const auto q = random<T>({1, heads, n, e}, -2, 2), k = random<T>({1, heads, n, e}, -1, 1, 2),
             v = random<T>({1, heads, n, e}, -1, 1, 3),
             grad = random<T>({1, heads, n, e}, -1, 1, 4);
  const auto [out, logs] = fg::scaled_dot_product_flash_attention(stream(), q, k, v, 0, true);
  auto grad_q = fg::empty<T>(stream(), q.sizes()), grad_k = fg::empty<T>(stream(), q.sizes()),
       grad_v = fg::empty<T>(stream(), q.sizes());
  for (auto _ : state)
    fg::scaled_dot_product_flash_attention_backward(stream(), grad, q, k, v, out, logs, grad_q,
                                                    grad_k, grad_v, 0, true);
  state.SetBytesProcessed(state.iterations() * 8 * q.bytes());
  state.counters["flops"] =
      benchmark::Counter(5.0 * static_cast<double>(q.numel()) * static_cast<double>(n),
                         benchmark::Counter::kIsIterationInvariantRate);
  // The gradient of a value: the sum over the positions from it on of weights and gradients.
  const auto want = [&](i64 i) {
    const i64 d = i % e, j = i / e % n, head = i / e / n * n;
    double sum = 0;
    for (i64 p = j; p < n; ++p) {
      double score = 0;
      for (i64 c = 0; c < e; ++c)
        score += number(q.data()[(head + p) * e + c]) * number(k.data()[(head + j) * e + c]);
      sum += std::exp(score / std::sqrt(static_cast<double>(e)) - number(logs.data()[head + p])) *
             number(grad.data()[(head + p) * e + d]);
    }
    return sum;
  };
  check(state, grad_v, want, n * e);
}
BENCHMARK(attention_backward<float>)->Args({128, 9, 64})->Args({512, 8, 128});
BENCHMARK(attention_backward<bf16>)->Args({512, 8, 64});

}  // namespace
}  // namespace flaggems_bench
