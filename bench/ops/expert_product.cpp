// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <support.hpp>

#include <flaggems/ops/expert_product.hpp>

namespace flaggems_bench {
namespace {

/// Token t goes to experts t and t + 1.
void expert_product(benchmark::State& state) {
  const i64 tokens = state.range(0), experts = 8, n = 512, k = 512;
  const auto x = random<float>({tokens, k}), w = random<float>({experts, n, k}, -1, 1, 2);
  auto ids = fg::empty<fg::i32>(stream(), {tokens, 2});
  for (i64 c = 0; c < 2 * tokens; ++c)
    ids.data()[c] = static_cast<fg::i32>((c / 2 + c % 2) % experts);
  const auto blocks = fg::moe_align_block_size(stream(), ids, 32, experts);
  auto out = fg::empty<float>(stream(), {tokens, 2, n});
  for (auto _ : state)
    fg::invoke_fused_moe_triton_kernel(stream(), x, w, out, {}, {}, {}, std::get<0>(blocks),
                                       std::get<1>(blocks), std::get<2>(blocks), false, 2, 32);
  state.SetItemsProcessed(state.iterations() * 4 * tokens * n * k);
  check(
      state, out,
      [&](i64 i) {
        double sum = 0;
        const i64 choice = i / n, expert = ids.data()[choice];
        for (i64 q = 0; q < k; ++q)
          sum +=
              number(x.data()[choice / 2 * k + q]) * number(w.data()[(expert * n + i % n) * k + q]);
        return sum;
      },
      k, tolerance<float> * 4);
}
BENCHMARK(expert_product)->Arg(16)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
