// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second compared with a few others.
#include <support.hpp>

#include <flaggems/ops/membership.hpp>

namespace flaggems_bench {
namespace {

void isin(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<i64>({n}, 0, 100), tests = random<i64>({32}, 0, 100, 2);
  auto out = fg::isin(stream(), x, tests);
  for (auto _ : state) {
    fg::isin(stream(), x, tests, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  check(state, out, [&](i64 i) {
    bool found = false;
    for (i64 k = 0; k < 32; ++k) found = found || tests.data()[k] == x.data()[i];
    return found ? 1.0 : 0.0;
  });
}
BENCHMARK(isin)->Arg(1024)->Arg(1 << 18)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
