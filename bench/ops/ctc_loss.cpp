// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps per second of the loss of connectionist temporal classification.
#include <support.hpp>

#include <flaggems/ops/ctc_loss.hpp>

#include <cmath>
#include <vector>

namespace flaggems_bench {
namespace {

/// Sequences of one label each, whose alignments are runs: from step i to step j.
void ctc_loss(benchmark::State& state) {
  const i64 steps = state.range(0), batch = state.range(1), classes = 32;
  const auto x = random<f32>({steps, batch, classes}, -4, -2);
  const auto targets = fg::full<i64>(stream(), {batch, 1}, 1);
  const std::vector<i64> inputs(static_cast<std::size_t>(batch), steps),
      labels(static_cast<std::size_t>(batch), 1);
  const auto run = [&] {
    return fg::ctc_loss(stream(), x, targets, inputs, labels, 0, fg::reduction::none);
  };
  auto out = run();
  for (auto _ : state) {
    out = run();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * steps * batch);
  check(
      state, out,
      [&](i64 b) {
        double before = 1, within = 0, behind = 0;  // the run, to scale
        double scale = 0;
        for (i64 t = 0; t < steps; ++t) {
          const double blank = number(x.data()[(t * batch + b) * classes]);
          const double label = number(x.data()[(t * batch + b) * classes + 1]);
          const double own = std::exp(label - blank);
          behind += within;
          within = (within + before) * own;
          scale += blank;
          before = 1;
        }
        return -(std::log(within + behind) + scale);
      },
      20 * steps);
}
BENCHMARK(ctc_loss)->Args({8, 4})->Args({128, 16})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
