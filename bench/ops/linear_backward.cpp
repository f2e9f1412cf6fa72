// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of the gradients of linear.
#include <support.hpp>

#include <flaggems/ops/linear_backward.hpp>

namespace flaggems_bench {
namespace {

void linear_backward(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  const auto x = random<f32>({rows, n}), g = random<f32>({rows, n}, -1, 1, 2),
             w = random<f32>({n, n}, -1, 1, 3);
  auto r = fg::linear_backward(stream(), x, g, w);
  for (auto _ : state) {
    r = fg::linear_backward(stream(), x, g, w);
    benchmark::ClobberMemory();
  }
  state.counters["ops"] = benchmark::Counter(static_cast<double>(4 * rows * n * n),
                                             benchmark::Counter::kIsIterationInvariantRate);
  check(
      state, *r.weight,
      [&](i64 i) {
        double sum = 0;
        for (i64 k = 0; k < rows; ++k)
          sum += number(g.data()[k * n + i / n]) * number(x.data()[k * n + i % n]);
        return sum;
      },
      rows);
}
BENCHMARK(linear_backward)->Args({16, 64})->Args({256, 512})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
