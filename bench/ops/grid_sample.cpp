// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the nearest samples of images at a grid of their elements, mirrored.
#include <support.hpp>

#include <flaggems/ops/grid_sample.hpp>

namespace flaggems_bench {
namespace {

void grid_sampler_2d(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({1, 8, n, n});
  auto grid = fg::empty<f32>(stream(), {1, n, n, 2});
  for (i64 i = 0; i < n * n; ++i) {
    grid.data()[2 * i] = static_cast<f32>(n - 1 - 2 * (i % n)) / static_cast<f32>(n);
    grid.data()[2 * i + 1] = static_cast<f32>(2 * (i / n) + 1 - n) / static_cast<f32>(n);
  }
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    fg::grid_sampler_2d(stream(), x, grid, out, 1, 0, false);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (2 * x.bytes() + grid.bytes()));
  check(state, out, [&](i64 i) { return number(x.data()[i / n * n + n - 1 - i % n]); });
}
BENCHMARK(grid_sampler_2d)->Arg(32)->Arg(112)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
