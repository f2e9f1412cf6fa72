// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second that are counted.
#include <support.hpp>

#include <flaggems/ops/histogram.hpp>

namespace flaggems_bench {
namespace {

void bincount(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<i64>({n}, 0, 100);
  auto out = fg::bincount(stream(), x);
  for (auto _ : state) {
    out = fg::bincount(stream(), x);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  check(state, out, [&](i64 k) {
    i64 count = 0;
    for (i64 i = 0; i < n; ++i) count += x.data()[i] == k ? 1 : 0;
    return number(count);
  });
}
BENCHMARK(bincount)->Arg(1024)->Arg(1 << 18)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
