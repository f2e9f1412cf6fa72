// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <support.hpp>

#include <flaggems/ops/scaled_mm.hpp>

namespace flaggems_bench {
namespace {

void scaled_mm(benchmark::State& state) {
  const i64 m = state.range(0), n = state.range(1), k = state.range(2);
  const auto a = random<fg::f8e4m3>({m, k}), b = random<fg::f8e4m3>({n, k}, -1, 1, 2);
  const auto scale = random<float>({1}, 0.5, 2, 3);
  auto out = fg::empty<float>(stream(), {m, n});
  for (auto _ : state)
    fg::scaled_mm(stream(), a, b.view().t(), scale, scale, std::nullopt, std::nullopt, out);
  state.SetBytesProcessed(state.iterations() * b.bytes());
  check(
      state, out,
      [&](i64 i) {
        return linear_element(a, b, i) * number(scale.data()[0]) * number(scale.data()[0]);
      },
      k, tolerance<float> * 4);
}
BENCHMARK(scaled_mm)->Args({64, 576, 576})->Args({64, 4096, 4096});

}  // namespace
}  // namespace flaggems_bench
