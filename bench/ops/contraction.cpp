// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of Hadamard transforms of rows.
#include <support.hpp>

#include <flaggems/ops/contraction.hpp>

#include <bit>

namespace flaggems_bench {
namespace {

void hadamard_transform(benchmark::State& state) {
  const i64 rows = 64, n = state.range(0);
  const auto x = random<f32>({rows, n});
  auto out = fg::hadamard_transform(stream(), x);
  for (auto _ : state) {
    fg::hadamard_transform(stream(), x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 at) {
    double sum = 0;
    for (i64 i = 0; i < n; ++i) {
      const double v = number(x.data()[at / n * n + i]);
      sum += std::popcount(static_cast<unsigned>(i & (at % n))) % 2 == 0 ? v : -v;
    }
    return sum;
  });
}
BENCHMARK(hadamard_transform)->Arg(64)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
