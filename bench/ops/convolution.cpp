// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of a convolution over one dimension: of all channels, and of each alone.
#include <support.hpp>

#include <flaggems/ops/convolution.hpp>

namespace flaggems_bench {
namespace {

/// channels, places, groups; a kernel of three, padded to the input's size.
void conv1d(benchmark::State& state) {
  const i64 c = state.range(0), n = state.range(1), groups = state.range(2), own = c / groups;
  const auto x = random<f32>({2, c, n}), w = random<f32>({c, own, 3}, -1, 1, 2);
  auto out = fg::conv1d(stream(), x, w, std::nullopt, {1}, {1}, {1}, groups);
  for (auto _ : state) {
    fg::conv1d(stream(), x, w, std::nullopt, out, {1}, {1}, {1}, groups);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * out.numel() * own * 6);
  check(state, out, [&](i64 i) {
    const i64 place = i % n, f = i / n % c, image = i / n / c;
    double sum = 0;
    for (i64 k = 0; k < own; ++k)
      for (i64 j = 0; j < 3; ++j) {
        const i64 at = place + j - 1;
        if (at < 0 || at >= n) continue;
        sum += number(x.data()[(image * c + f / own * own + k) * n + at]) *
               number(w.data()[(f * own + k) * 3 + j]);
      }
    return sum;
  });
}
BENCHMARK(conv1d)->Args({64, 1000, 1})->Args({64, 1000, 64})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
