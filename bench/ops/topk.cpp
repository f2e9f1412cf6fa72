// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements and bytes per second of finding the k largest of rows: of a vocabulary, of experts.
#include <flaggems/ops/topk.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

#include <random>

namespace {

namespace fg = flaggems;

template <class T>
void topk(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, {state.range(0), state.range(1)});
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 3);
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(normal(generator));
  const fg::i64 k = state.range(2);
  auto values = fg::empty<T>(stream, {state.range(0), k});
  auto indices = fg::empty<fg::i64>(stream, {state.range(0), k});
  for (auto _ : state) {
    fg::topk(stream, x, k, values, indices);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  state.SetBytesProcessed(state.iterations() * (x.bytes() + values.bytes() + indices.bytes()));
}
BENCHMARK_TEMPLATE(topk, fg::f32)
    ->ArgsProduct({{1, 64}, {1024, 49152}, {1, 50, 1000}})
    ->Args({4096, 64, 8})
    ->UseRealTime();
BENCHMARK_TEMPLATE(topk, fg::bf16)->Args({1, 49152, 50})->UseRealTime();

}  // namespace
