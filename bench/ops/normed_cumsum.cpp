// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of running shares of rows.
#include <support.hpp>

#include <flaggems/ops/normed_cumsum.hpp>

namespace flaggems_bench {
namespace {

void normed_cumsum(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n}, 0.5, 1);
  auto out = fg::normed_cumsum(stream(), x);
  for (auto _ : state) {
    fg::normed_cumsum(stream(), x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(
      state, out,
      [&](i64 i) {
        double before = 0, all = 0;
        for (i64 k = 0; k < n; ++k) {
          all += number(x.data()[i / n * n + k]);
          if (k == i % n) before = all;
        }
        return before / all;
      },
      n);
}
BENCHMARK(normed_cumsum)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
