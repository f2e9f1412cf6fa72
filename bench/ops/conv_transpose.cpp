// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of images at twice their size, by a transposed convolution.
#include <support.hpp>

#include <flaggems/ops/conv_transpose.hpp>

namespace flaggems_bench {
namespace {

void conv_transpose2d(benchmark::State& state) {
  const i64 n = state.range(0), channels = 32, features = 16;
  const auto x = random<f32>({1, channels, n, n}, -1, 1),
             w = random<f32>({channels, features, 2, 2}, -1, 1, 2);
  auto out = fg::conv_transpose2d(stream(), x, w, std::nullopt, {2});
  for (auto _ : state) {
    fg::conv_transpose2d(stream(), x, w, std::nullopt, out, {2});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * channels * out.numel());
  check(
      state, out,
      [&](i64 i) {
        const i64 feature = i / (4 * n * n), row = i / (2 * n) % (2 * n), column = i % (2 * n);
        double sum = 0;
        for (i64 c = 0; c < channels; ++c)
          sum += number(x.data()[(c * n + row / 2) * n + column / 2]) *
                 number(w.data()[(c * features + feature) * 4 + row % 2 * 2 + column % 2]);
        return sum;
      },
      channels);
}
BENCHMARK(conv_transpose2d)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
