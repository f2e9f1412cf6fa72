// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The logits of an indexer over all keys.
#include <support.hpp>

#include <flaggems/ops/attention_logits.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

using fg::f8e4m3;
using fg::i32;

/// Rows, keys, heads.
void index_logits(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1), heads = state.range(2), size = 128;
  const auto q = random<f8e4m3>({rows, heads, size}), k = random<f8e4m3>({n, size}, -1, 1, 2);
  const auto scales = random<float>({n}, 0.5, 1.5), weights = random<float>({rows, heads}, 0, 1, 3);
  const std::vector<i32> none(static_cast<std::size_t>(rows), 0),
      all(static_cast<std::size_t>(rows), static_cast<i32>(n));
  const auto starts = fg::from_values<i32>(stream(), none, {rows}),
             ends = fg::from_values<i32>(stream(), all, {rows});
  auto logits = fg::empty<float>(stream(), {rows, n});
  for (auto _ : state)
    fg::fp8_mqa_logits(stream(), q, k, scales, weights, starts, ends, logits, true);
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(rows * heads * n * size),
                                               benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 at) {
    const i64 m = at / n, j = at % n;
    double sum = 0;
    for (i64 h = 0; h < heads; ++h) {
      double x = 0;
      for (i64 c = 0; c < size; ++c)
        x += number(q.data()[(m * heads + h) * size + c]) * number(k.data()[j * size + c]);
      sum += std::fmax(x * number(scales.data()[j]), 0) * number(weights.data()[m * heads + h]);
    }
    return sum;
  };
  check(state, logits, want, heads * size);
}
BENCHMARK(index_logits)->Args({16, 1024, 64})->Args({64, 2048, 64});

}  // namespace
}  // namespace flaggems_bench
