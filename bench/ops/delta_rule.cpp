// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tokens per second of the gated delta rule: by chunks, and token by token.
#include <support.hpp>

#include <flaggems/ops/delta_rule.hpp>

#include <cmath>
#include <vector>

namespace flaggems_bench {
namespace {

/// The first value of the last token, by the recurrence.
double last_value(const fg::tensor<f32>& q, const fg::tensor<f32>& k, const fg::tensor<f32>& v,
                  const fg::tensor<f32>& g, const fg::tensor<f32>& beta, i64 column) {
  const i64 tokens = q.size(1), keys = q.size(3), values = v.size(3);
  std::vector<double> s(static_cast<std::size_t>(keys));
  double result = 0;
  for (i64 t = 0; t < tokens; ++t) {
    double change = number(v.data()[t * values + column]);
    for (i64 i = 0; i < keys; ++i) {
      s[static_cast<std::size_t>(i)] *= std::exp(number(g.data()[t]));
      change -= number(k.data()[t * keys + i]) * s[static_cast<std::size_t>(i)];
    }
    change *= number(beta.data()[t]);
    result = 0;
    for (i64 i = 0; i < keys; ++i) {
      s[static_cast<std::size_t>(i)] += number(k.data()[t * keys + i]) * change;
      result += number(q.data()[t * keys + i]) * s[static_cast<std::size_t>(i)];
    }
  }
  return result;
}

template <bool Chunks>
void delta_rule(benchmark::State& state) {
  const i64 tokens = state.range(0), size = state.range(1);
  const fg::shape all{1, tokens, 1, size}, each{1, tokens, 1};
  const auto q = random<f32>(all, -0.2, 0.2, 1), k = random<f32>(all, -0.2, 0.2, 2),
             v = random<f32>(all, -1, 1, 3), g = random<f32>(each, -0.2, 0, 4),
             beta = random<f32>(each, 0, 1, 5);
  const auto run = [&] {
    auto states = fg::zeros<f32>(stream(), {1, 1, size, size});
    if constexpr (Chunks)
      return fg::chunk_gated_delta_rule_fwd(stream(), q, k, v, g, beta, 1, states, false).out;
    else
      return std::move(
          fg::fused_recurrent_gated_delta_rule_fwd(stream(), q, k, v, g, beta, 1, states).out);
  };
  auto out = run();
  for (auto _ : state) {
    out = run();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * tokens);
  const auto last = fg::clone(stream(), out.view().select(1, tokens - 1));
  check(
      state, last, [&](i64 i) { return last_value(q, k, v, g, beta, i); }, 4 * tokens * size);
}
BENCHMARK(delta_rule<true>)
    ->Name("delta_rule/chunks")
    ->Args({64, 16})
    ->Args({512, 64})
    ->UseRealTime();
BENCHMARK(delta_rule<false>)
    ->Name("delta_rule/tokens")
    ->Args({4, 16})
    ->Args({64, 64})
    ->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
