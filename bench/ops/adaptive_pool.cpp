// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of means of quarters of images.
#include <support.hpp>

#include <flaggems/ops/adaptive_pool.hpp>

namespace flaggems_bench {
namespace {

void adaptive_avg_pool2d(benchmark::State& state) {
  const i64 n = state.range(0), part = n / 2;
  const auto x = random<f32>({1, 64, n, n});
  auto out = fg::adaptive_avg_pool2d(stream(), x, {2});
  for (auto _ : state) {
    fg::adaptive_avg_pool2d(stream(), x, out, {2});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(
      state, out,
      [&](i64 i) {
        const f32* const first = x.data() + (i / 4 * n + i / 2 % 2 * part) * n + i % 2 * part;
        double sum = 0;
        for (i64 r = 0; r < part; ++r)
          for (i64 c = 0; c < part; ++c) sum += number(first[r * n + c]);
        return sum / static_cast<double>(part * part);
      },
      part * part);
}
BENCHMARK(adaptive_avg_pool2d)->Arg(32)->Arg(112)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
