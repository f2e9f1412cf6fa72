// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of rms_norm with a weight counted from 1.
#include <support.hpp>

#include <flaggems/ops/fused_norm.hpp>

namespace flaggems_bench {
namespace {

void gemma_rms_norm(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  const auto x = random<f32>({rows, n});
  const auto w = random<f32>({n}, -1, 1, 2);
  auto out = fg::gemma_rms_norm(stream(), x, w);
  for (auto _ : state) {
    fg::gemma_rms_norm(stream(), x, w, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  check(state, out, [&](i64 i) {
    double squares = 0;
    for (i64 k = 0; k < n; ++k) {
      const double v = number(x.data()[i / n * n + k]);
      squares += v * v;
    }
    return number(x.data()[i]) / std::sqrt(squares / static_cast<double>(n) + 1e-6) *
           (1 + number(w.data()[i % n]));
  });
}
BENCHMARK(gemma_rms_norm)->Args({16, 128})->Args({256, 4096})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
