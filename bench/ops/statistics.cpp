// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of variances and of largest elements along rows.
#include <support.hpp>

#include <flaggems/ops/statistics.hpp>

namespace flaggems_bench {
namespace {

void var(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::var(stream(), x, 1);
  for (auto _ : state) {
    fg::var(stream(), x, out, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  check(state, out, [&](i64 i) {
    double sum = 0, squares = 0;
    for (i64 k = 0; k < n; ++k) sum += number(x.data()[i * n + k]);
    for (i64 k = 0; k < n; ++k)
      squares += std::pow(number(x.data()[i * n + k]) - sum / static_cast<double>(n), 2);
    return squares / static_cast<double>(n - 1);
  });
}
BENCHMARK(var)->Arg(64)->Arg(1024)->UseRealTime();

void max(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::max(stream(), x, 1);
  for (auto _ : state) {
    fg::max(stream(), x, out.values, out.indices, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  check(state, out.values, [&](i64 i) {
    double most = -2;
    for (i64 k = 0; k < n; ++k) most = std::max(most, number(x.data()[i * n + k]));
    return most;
  });
}
BENCHMARK(max)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
