// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second that are observed and rounded.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/observers.hpp>

#include <cmath>

namespace flaggems_bench {
namespace {

void fused_moving_avg_obs_fq_helper(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n}, -4, 3.75);
  const auto on = fg::full<i64>(stream(), {1}, 1), off = fg::full<i64>(stream(), {1}, 0);
  auto low = fg::full<f32>(stream(), {1}, -4), high = fg::full<f32>(stream(), {1}, 3.96875),
       scale = fg::full<f32>(stream(), {1}, 1);
  auto zero = fg::zeros<fg::i32>(stream(), {1});
  const auto run = [&](const auto& observes) {
    return fg::fused_moving_avg_obs_fq_helper(stream(), x, observes, on, low, high, scale, zero,
                                              0.01, -128, 127, 0);
  };
  auto out = run(off);
  for (auto _ : state) {
    out = run(off);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  // Steps of 1/32.
  check(state, out.first, [&](i64 i) { return std::nearbyint(number(x.data()[i]) * 32) / 32; });
}
BENCHMARK(fused_moving_avg_obs_fq_helper)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
