// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of running sums along either dimension, and of one long row.
#include <support.hpp>

#include <flaggems/ops/scan.hpp>

namespace flaggems_bench {
namespace {

void cumsum(benchmark::State& state) {
  const i64 dim = state.range(0), rows = state.range(1), n = state.range(2);
  const auto x = random<i64>({rows, n}, 0, 10);
  auto out = fg::cumsum(stream(), x, dim);
  for (auto _ : state) {
    fg::cumsum(stream(), x, out, dim);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  i64 sum = 0, k = -1;  // elements come in order along the last dimension
  check(state, out, [&](i64 i) {
    if (dim == 0) {
      i64 s = 0;
      for (i64 r = 0; r <= i / n; ++r) s += x.data()[r * n + i % n];
      return static_cast<double>(s);
    }
    if (i / n * n > k || i <= k) sum = 0, k = i / n * n - 1;
    while (k < i) sum += x.data()[++k];
    return static_cast<double>(sum);
  });
}
BENCHMARK(cumsum)
    ->Args({1, 64, 64})
    ->Args({1, 1024, 1024})
    ->Args({0, 1024, 1024})
    ->Args({1, 1, 1 << 20})
    ->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
