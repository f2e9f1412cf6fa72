// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of an outer product.
#include <support.hpp>

#include <flaggems/ops/outer.hpp>

namespace flaggems_bench {
namespace {

void outer(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n}), y = random<f32>({n}, -1, 1, 2);
  auto out = fg::outer(stream(), x, y);
  for (auto _ : state) {
    fg::outer(stream(), x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * out.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i / n]) * number(y.data()[i % n]); });
}
BENCHMARK(outer)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
