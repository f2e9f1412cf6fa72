// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of images between zeros, and between their mirrored edges.
#include <support.hpp>

#include <flaggems/ops/pad.hpp>

namespace flaggems_bench {
namespace {

template <fg::pad_mode Mode>
void pad(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({16, n, n});
  auto out = fg::pad(stream(), x, {1, 1, 1, 1}, Mode);
  for (auto _ : state) {
    fg::pad(stream(), x, out, {1, 1, 1, 1}, Mode);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  const auto mirrored = [n](i64 k) { return k < 0 ? -k : k >= n ? 2 * n - 2 - k : k; };
  check(state, out, [&](i64 i) {
    const i64 m = n + 2, row = i / m % m - 1, column = i % m - 1;
    const bool inside = row >= 0 && row < n && column >= 0 && column < n;
    if (Mode == fg::pad_mode::constant && !inside) return 0.0;
    return number(x.data()[(i / m / m * n + mirrored(row)) * n + mirrored(column)]);
  });
}
BENCHMARK_TEMPLATE(pad, fg::pad_mode::constant)->Arg(32)->Arg(224)->UseRealTime();
BENCHMARK_TEMPLATE(pad, fg::pad_mode::reflect)->Arg(32)->Arg(224)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
