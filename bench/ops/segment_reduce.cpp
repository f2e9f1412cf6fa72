// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of sums of segments.
#include <support.hpp>

#include <flaggems/ops/segment_reduce.hpp>

namespace flaggems_bench {
namespace {

void segment_reduce(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({8 * n, 64});
  const auto lengths = fg::full<i64>(stream(), {n}, 8);
  auto out = fg::segment_reduce(stream(), x, fg::segment_reduction::sum, lengths);
  for (auto _ : state) {
    out = fg::segment_reduce(stream(), x, fg::segment_reduction::sum, lengths);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  check(state, out, [&](i64 i) {
    double sum = 0;
    for (i64 k = 0; k < 8; ++k) sum += number(x.data()[(i / 64 * 8 + k) * 64 + i % 64]);
    return sum;
  });
}
BENCHMARK(segment_reduce)->Arg(8)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
