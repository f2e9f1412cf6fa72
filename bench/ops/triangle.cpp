// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the lower triangle.
#include <support.hpp>

#include <flaggems/ops/triangle.hpp>

namespace flaggems_bench {
namespace {

void tril(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::tril(stream(), x);
  for (auto _ : state) {
    fg::tril(stream(), x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) { return i % n <= i / n ? number(x.data()[i]) : 0.0; });
}
BENCHMARK(tril)->Arg(64)->Arg(2048)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
