// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of maxima over windows at random places.
#include <support.hpp>

#include <flaggems/ops/fractional_pool.hpp>

#include <algorithm>

namespace flaggems_bench {
namespace {

void fractional_max_pool2d(benchmark::State& state) {
  const i64 planes = state.range(0), size = state.range(1), result = size / 2;
  const auto x = random<f32>({1, planes, size, size});
  const auto samples = fg::zeros<f32>(stream(), {1, planes, 2});
  auto out = fg::fractional_max_pool2d(stream(), x, {2}, {result, result}, samples);
  for (auto _ : state) {
    fg::fractional_max_pool2d(stream(), x, {2}, {result, result}, samples, out.first, out.second);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  const float step = static_cast<float>(size - 2) / static_cast<float>(result - 1);
  check(state, out.first, [&](i64 i) {
    const auto begin = [&](i64 k) {
      return k == result - 1 ? size - 2 : static_cast<i64>(static_cast<float>(k) * step);
    };
    const float* const at = x.data() + i / result / result * size * size +
                            begin(i / result % result) * size + begin(i % result);
    return number((std::max)((std::max)(at[0], at[1]), (std::max)(at[size], at[size + 1])));
  });
}
BENCHMARK(fractional_max_pool2d)->Args({2, 16})->Args({32, 128})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
