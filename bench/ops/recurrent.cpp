// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of the products of recurrent networks.
#include <support.hpp>

#include <flaggems/ops/recurrent.hpp>

#include <cmath>
#include <vector>

namespace flaggems_bench {
namespace {

/// A layer of an LSTM; the first step is checked.
void lstm(benchmark::State& state) {
  const i64 steps = state.range(0), batch = state.range(1), hidden = state.range(2);
  const auto x = random<f32>({steps, batch, hidden}),
             w = random<f32>({4 * hidden, hidden}, -0.1, 0.1, 2),
             v = random<f32>({4 * hidden, hidden}, -0.1, 0.1, 3),
             h = fg::zeros<f32>(stream(), {1, batch, hidden});
  const std::vector<fg::tensor_view<const f32>> hx{h.view(), h.view()}, params{w.view(), v.view()};
  auto r = fg::lstm(stream(), x, hx, params, false, 1, 0.0, false, false, false);
  for (auto _ : state) {
    r = fg::lstm(stream(), x, hx, params, false, 1, 0.0, false, false, false);
    benchmark::ClobberMemory();
  }
  state.counters["ops"] =
      benchmark::Counter(static_cast<double>(16 * steps * batch * hidden * hidden),
                         benchmark::Counter::kIsIterationInvariantRate);
  const auto first = fg::clone(stream(), r.out.view().select(0, 0));
  check(
      state, first,
      [&](i64 i) {
        double sum[4] = {};
        for (i64 g = 0; g < 4; ++g)
          for (i64 k = 0; k < hidden; ++k)
            sum[g] += number(x.data()[i / hidden * hidden + k]) *
                      number(w.data()[(g * hidden + i % hidden) * hidden + k]);
        const auto sigmoid = [](double s) { return 1 / (1 + std::exp(-s)); };
        return sigmoid(sum[3]) * std::tanh(sigmoid(sum[0]) * std::tanh(sum[2]));
      },
      4 * hidden);
}
BENCHMARK(lstm)->Args({8, 4, 64})->Args({64, 16, 256})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
