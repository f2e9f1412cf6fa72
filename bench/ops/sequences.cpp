// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second of numbers at equal distances.
#include <support.hpp>

#include <flaggems/ops/sequences.hpp>

namespace flaggems_bench {
namespace {

void linspace(benchmark::State& state) {
  const i64 n = state.range(0);
  auto out = fg::linspace(stream(), 0, 1, n);
  for (auto _ : state) {
    out = fg::linspace(stream(), 0, 1, n);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  check(state, out, [&](i64 i) { return static_cast<double>(i) / static_cast<double>(n - 1); });
}
BENCHMARK(linspace)->Arg(1024)->Arg(1 << 20)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
