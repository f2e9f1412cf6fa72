// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second of pools over images.
#include <support.hpp>

#include <flaggems/ops/pool.hpp>

namespace flaggems_bench {
namespace {

void avg_pool2d(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({8, n, n});
  auto out = fg::avg_pool2d(stream(), x, {2});
  for (auto _ : state) {
    fg::avg_pool2d(stream(), x, out, {2});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  check(state, out, [&](i64 i) {
    const i64 m = n / 2, at = (i / m * 2) * n + i % m * 2;
    return (number(x.data()[at]) + number(x.data()[at + 1]) + number(x.data()[at + n]) +
            number(x.data()[at + n + 1])) /
           4;
  });
}
void max_pool2d_with_indices(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({8, n, n});
  auto r = fg::max_pool2d_with_indices(stream(), x, {2});
  for (auto _ : state) {
    fg::max_pool2d_with_indices(stream(), x, r.values, r.indices, {2});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  check(state, r.values, [&](i64 i) {
    const i64 m = n / 2, at = (i / m * 2) * n + i % m * 2;
    const double a = number(x.data()[at]), b = number(x.data()[at + 1]);
    const double c = number(x.data()[at + n]), d = number(x.data()[at + n + 1]);
    const double top = a > b ? a : b, bottom = c > d ? c : d;
    return top > bottom ? top : bottom;
  });
}
BENCHMARK(avg_pool2d)->Arg(32)->Arg(224)->UseRealTime();
BENCHMARK(max_pool2d_with_indices)->Arg(32)->Arg(224)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
