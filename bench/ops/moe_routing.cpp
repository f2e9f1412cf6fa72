// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Choices of experts by group a second.
#include <support.hpp>

#include <flaggems/ops/moe_routing.hpp>

#include <algorithm>
#include <vector>

namespace flaggems_bench {
namespace {

void grouped_topk(benchmark::State& state) {
  const i64 tokens = state.range(0), experts = 64, groups = 8, own = experts / groups;
  const auto scores = random<f32>({tokens, experts}, 0, 1);
  const auto bias = fg::zeros(stream(), {experts});
  auto chosen = fg::grouped_topk(stream(), scores, groups, 4, 6, false, 1, bias);
  for (auto _ : state) {
    chosen = fg::grouped_topk(stream(), scores, groups, 4, 6, false, 1, bias);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * tokens);
  check(
      state, chosen.first,
      [&](i64 i) {
        std::vector<std::pair<double, i64>> values;
        std::vector<double> open;
        const f32* const row = scores.data() + i / 6 * experts;
        for (i64 g = 0; g < groups; ++g) {
          std::vector<double> of(row + g * own, row + (g + 1) * own);
          std::sort(of.rbegin(), of.rend());
          values.emplace_back(-of[0] - of[1], g);
        }
        std::sort(values.begin(), values.end());
        for (std::size_t k = 0; k < 4; ++k) {
          const f32* const first = row + values[k].second * own;
          open.insert(open.end(), first, first + own);
        }
        std::sort(open.rbegin(), open.rend());
        return open[static_cast<std::size_t>(i % 6)];
      },
      experts);
}
BENCHMARK(grouped_topk)->Arg(16)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
