// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of columns of windows, added up.
#include <support.hpp>

#include <flaggems/ops/fold.hpp>

namespace flaggems_bench {
namespace {

void col2im(benchmark::State& state) {
  const i64 n = state.range(0), m = n - 1;
  const auto x = random<f32>({4, m * m});
  auto out = fg::col2im(stream(), x, {n, n}, {2}, {1}, {0}, {1});
  for (auto _ : state) {
    fg::col2im(stream(), x, out, {n, n}, {2}, {1}, {0}, {1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    double sum = 0;
    for (i64 tap = 0; tap < 4; ++tap) {
      const i64 row = i / n - tap / 2, column = i % n - tap % 2;
      if (row >= 0 && row < m && column >= 0 && column < m)
        sum += number(x.data()[tap * m * m + row * m + column]);
    }
    return sum;
  });
}
BENCHMARK(col2im)->Arg(32)->Arg(224)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
