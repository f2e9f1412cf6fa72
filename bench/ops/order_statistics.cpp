// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements per second of medians of rows.
#include <support.hpp>

#include <flaggems/ops/order_statistics.hpp>

#include <algorithm>
#include <vector>

namespace flaggems_bench {
namespace {

void median(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n});
  auto out = fg::median(stream(), x, 1);
  for (auto _ : state) {
    fg::median(stream(), x, out.values, out.indices, 1);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  check(state, out.values, [&](i64 i) {
    std::vector<f32> row(x.data() + i * n, x.data() + (i + 1) * n);
    std::sort(row.begin(), row.end());
    return number(row[static_cast<std::size_t>((n - 1) / 2)]);
  });
}
BENCHMARK(median)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
