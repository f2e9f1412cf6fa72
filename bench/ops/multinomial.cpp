// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Categories and bytes per second of drawing from distributions.
#include <support.hpp>

#include <flaggems/ops/multinomial.hpp>

#include <numeric>
#include <random>
#include <vector>

namespace flaggems_bench {
namespace {

/// The weights' mean over `count` draws, on average: a simulation with the standard library.
double mean_weight(const std::vector<double>& weights, i64 count, bool replacement) {
  std::mt19937 generator(1);
  std::exponential_distribution<double> time(1);
  double sum = 0;
  constexpr int rounds = 16;
  if (replacement) {
    for (const double w : weights) sum += w * w;
    return sum / std::accumulate(weights.begin(), weights.end(), 0.0);
  }
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::pair<double, double>> order;
    for (const double w : weights)
      if (w > 0) order.emplace_back(time(generator) / w, w);
    std::sort(order.begin(), order.end());
    for (i64 k = 0; k < count; ++k) sum += order[static_cast<std::size_t>(k)].second;
  }
  return sum / static_cast<double>(rounds * count);
}

template <class T, bool Replacement>
void multinomial(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  auto probs = random<T>({rows, n}, 0, 1);
  for (i64 i = 0; i < probs.numel(); i += 2) probs.data()[i] = T(0);  // never drawn
  auto out = fg::empty<i64>(stream(), {rows, state.range(2)});
  fg::philox_generator generator;
  for (auto _ : state) {
    fg::multinomial(stream(), probs, state.range(2), Replacement, generator, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * probs.numel());
  state.SetBytesProcessed(state.iterations() * (probs.bytes() + out.bytes()));

  // Many draws of the first row: only what can be drawn, and heavy categories more often.
  const i64 count = Replacement ? 10000 : n / 4;
  const auto first = probs.view().narrow(0, 0, 1);
  const auto drawn = fg::multinomial(stream(), first, count, Replacement, generator);
  std::vector<double> weights;
  for (i64 i = 0; i < n; ++i) weights.push_back(number(probs.data()[i]));
  double sum = 0;
  bool possible = !planted();
  for (const fg::tensor<i64>* from : std::initializer_list<const fg::tensor<i64>*>{&drawn, &out})
    for (i64 k = 0; k < from->numel(); ++k) {
      const i64 i = from->data()[k];
      possible = possible && i >= 0 && i < n && i % 2 == 1;
      if (possible && from == &drawn) sum += weights[static_cast<std::size_t>(i)];
    }
  const double mean = sum / static_cast<double>(count);
  const double want = mean_weight(weights, count, Replacement);
  report(state, possible && std::fabs(mean - want) < 0.05,
         possible ? "the mean weight of what was drawn is " + std::to_string(mean) + ", not " +
                        std::to_string(want)
                  : "a category of probability 0 was drawn");
}
BENCHMARK_TEMPLATE(multinomial, f32, true)
    ->ArgsProduct({{1, 64}, {1000, 49152}, {1, 1000}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(multinomial, f32, false)
    ->ArgsProduct({{1, 64}, {1000, 49152}, {1, 100}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(multinomial, bf16, true)->Args({1, 49152, 1})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
