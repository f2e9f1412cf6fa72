// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of a tensor with a slice replaced.
#include <support.hpp>

#include <flaggems/ops/view_scatter.hpp>

namespace flaggems_bench {
namespace {

void slice_scatter(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n}), src = random<f32>({n, n / 2}, -1, 1, 2);
  auto out = fg::slice_scatter(stream(), x, src, 1, 0, n / 2);
  for (auto _ : state) {
    fg::slice_scatter(stream(), x, src, out, 1, 0, n / 2);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) {
    const i64 column = i % n;
    return number(column < n / 2 ? src.data()[i / n * (n / 2) + column] : x.data()[i]);
  });
}
BENCHMARK(slice_scatter)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
