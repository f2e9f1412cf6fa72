// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of a step of an LSTM.
#include <support.hpp>

#include <flaggems/ops/lstm_cell.hpp>

#include <cmath>

namespace flaggems_bench {
namespace {

void lstm_cell(benchmark::State& state) {
  const i64 batch = state.range(0), hidden = state.range(1);
  const auto a = random<f32>({batch, 4 * hidden}, -1, 1, 1),
             b = random<f32>({batch, 4 * hidden}, -1, 1, 2),
             c = random<f32>({batch, hidden}, -1, 1, 3);
  auto hy = fg::empty<f32>(stream(), {batch, hidden}),
       cy = fg::empty<f32>(stream(), {batch, hidden}),
       kept = fg::empty<f32>(stream(), {batch, 4 * hidden});
  for (auto _ : state) {
    fg::thnn_fused_lstm_cell(stream(), a, b, c, std::nullopt, std::nullopt, hy, cy, kept);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (3 * a.bytes() + 3 * c.bytes()));
  check(state, cy, [&](i64 i) {
    const i64 at = i / hidden * 4 * hidden + i % hidden;
    const auto gate = [&](i64 k) {
      return number(a.data()[at + k * hidden]) + number(b.data()[at + k * hidden]);
    };
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    return sigmoid(gate(1)) * number(c.data()[i]) + sigmoid(gate(0)) * std::tanh(gate(2));
  });
}
BENCHMARK(lstm_cell)->Args({1, 64})->Args({64, 1024})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
