// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <support.hpp>

#include <flaggems/ops/mega_moe.hpp>

namespace flaggems_bench {
namespace {

/// Token t goes to expert t, whose weights are all 1 with a scale of 1 / 64.
void fp8_fp4_mega_moe(benchmark::State& state) {
  const i64 tokens = state.range(0), experts = 8, n = 256, k = 256;
  const auto x = random<fg::f8e4m3>({tokens, k});
  const auto scale = fg::full<float>(stream(), {tokens, k / 32}, 1.0F),
             weights = fg::full<float>(stream(), {tokens, 1}, 1.0F),
             s1 = fg::full<float>(stream(), {experts, 2 * n, k / 32}, 1.0F / 64),
             s2 = fg::full<float>(stream(), {experts, k, n / 32}, 1.0F / 64);
  const auto l1 = fg::full<fg::u8>(stream(), {experts, 2 * n, k / 2}, fg::u8{0x22}),
             l2 = fg::full<fg::u8>(stream(), {experts, k, n / 2}, fg::u8{0x22});
  auto ids = fg::empty<fg::i64>(stream(), {tokens, 1});
  for (i64 t = 0; t < tokens; ++t) ids.data()[t] = t % experts;
  auto out = fg::empty<float>(stream(), {tokens, k});
  for (auto _ : state) fg::fp8_fp4_mega_moe(stream(), x, scale, ids, weights, l1, s1, l2, s2, out);
  state.SetItemsProcessed(state.iterations() * 6 * tokens * n * k);
  check(
      state, out,
      [&](i64 i) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q) sum += number(x.data()[i / k * k + q]) / 64;
        return sum / (1 + std::exp(-sum)) * sum * static_cast<double>(n) / 64;
      },
      n + k, tolerance<float> * 64);
}
BENCHMARK(fp8_fp4_mega_moe)->Arg(16)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
