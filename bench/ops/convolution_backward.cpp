// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of the gradient of a convolution's gradients.
#include <support.hpp>

#include <flaggems/ops/convolution_backward.hpp>

namespace flaggems_bench {
namespace {

/// Windows of one row, so that each result is one sum.
void convolution_double_backward(benchmark::State& state) {
  const i64 channels = state.range(0), size = state.range(1);
  const auto x = random<f32>({1, channels, size}),
             by_x = random<f32>({1, channels, size}, -1, 1, 2),
             w = random<f32>({channels, channels, 1}, -1, 1, 3),
             g = random<f32>({1, channels, size}, -1, 1, 4);
  const auto run = [&] {
    return fg::convolution_double_backward(stream(), by_x, std::nullopt, std::nullopt, g, w, x, {1},
                                           {0}, {1}, false, {0}, 1);
  };
  auto r = run();
  for (auto _ : state) {
    r = run();
    benchmark::ClobberMemory();
  }
  state.counters["ops"] = benchmark::Counter(static_cast<double>(4 * channels * channels * size),
                                             benchmark::Counter::kIsIterationInvariantRate);
  check(
      state, *r.weight,
      [&](i64 i) {
        double sum = 0;
        for (i64 k = 0; k < size; ++k)
          sum += number(g.data()[i / channels * size + k]) *
                 number(by_x.data()[i % channels * size + k]);
        return sum;
      },
      size);
}
BENCHMARK(convolution_double_backward)->Args({8, 64})->Args({64, 1024})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
