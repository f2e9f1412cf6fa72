// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second of a set.
#include <support.hpp>

#include <flaggems/ops/unique.hpp>

namespace flaggems_bench {
namespace {

void unique2(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<i64>({n}, 0, 100);
  auto out = fg::unique2(stream(), x, true, true, true);
  for (auto _ : state) {
    out = fg::unique2(stream(), x, true, true, true);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  check(state, out.inverse, [&](i64 i) {
    i64 less = 0;
    while (out.values.data()[less] < x.data()[i]) ++less;
    return number(less);
  });
}
BENCHMARK(unique2)->Arg(1024)->Arg(1 << 18)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
