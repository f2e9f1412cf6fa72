// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <support.hpp>

#include <flaggems/ops/fused_experts.hpp>

#include <cmath>

namespace flaggems_bench {
namespace {

/// Token t goes to expert t.
void fused_experts(benchmark::State& state) {
  const i64 tokens = state.range(0), experts = 8, n = 256, k = 256;
  const auto x = random<float>({tokens, k}), w1 = random<float>({experts, 2 * n, k}, -1, 1, 2),
             w2 = random<float>({experts, k, n}, -1, 1, 3),
             weights = fg::full<float>(stream(), {tokens, 1}, 0.5F);
  auto ids = fg::empty<fg::i32>(stream(), {tokens, 1});
  for (i64 t = 0; t < tokens; ++t) ids.data()[t] = static_cast<fg::i32>(t % experts);
  auto out = fg::empty<float>(stream(), {tokens, k});
  for (auto _ : state) fg::fused_experts_impl(stream(), x, w1, w2, weights, ids, out);
  state.SetItemsProcessed(state.iterations() * 6 * tokens * n * k);
  check(
      state, out,
      [&](i64 i) {
        double sum = 0;
        const i64 token = i / k, expert = token % experts;
        const auto first = [&](i64 line) {
          double r = 0;
          for (i64 q = 0; q < k; ++q)
            r += number(x.data()[token * k + q]) *
                 number(w1.data()[(expert * 2 * n + line) * k + q]);
          return r;
        };
        for (i64 j = 0; j < n; ++j) {
          const double gate = first(j);
          sum += gate / (1 + std::exp(-gate)) * first(n + j) *
                 number(w2.data()[(expert * k + i % k) * n + j]);
        }
        return 0.5 * sum;
      },
      n * k, tolerance<float> * 4096);
}
BENCHMARK(fused_experts)->Arg(16)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
