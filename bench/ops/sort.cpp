// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements and bytes per second of sorting rows.
#include <flaggems/ops/sort.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
fg::tensor<T> shuffled(const fg::stream<fg::host>& stream, const fg::shape& sizes) {
  auto x = fg::empty<T>(stream, sizes);
  fg::u32 state = 1;
  for (fg::i64 k = 0; k < x.numel(); ++k) {
    state = state * 1664525U + 1013904223U;
    x.data()[k] = static_cast<T>(static_cast<float>(state >> 8) / 65536.0F - 128.0F);
  }
  return x;
}

template <class T>
void sort(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  const auto x = shuffled<T>(stream, {state.range(0), state.range(1)});
  auto values = fg::empty_like(stream, x);
  auto indices = fg::empty<fg::i64>(stream, x.shape_of());
  for (auto _ : state) {
    fg::sort(stream, x, values, indices);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  state.SetBytesProcessed(state.iterations() * (2 * x.bytes() + indices.bytes()));
}
BENCHMARK_TEMPLATE(sort, fg::f32)
    ->ArgsProduct({{1, 256}, {16, 48, 256, 4096, 100000}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(sort, fg::bf16)->Args({1, 100000})->UseRealTime();
BENCHMARK_TEMPLATE(sort, fg::i64)->Args({1, 100000})->UseRealTime();

template <class T>
void argsort(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  const auto x = shuffled<T>(stream, {state.range(0), state.range(1)});
  auto indices = fg::empty<fg::i64>(stream, x.shape_of());
  for (auto _ : state) {
    fg::argsort(stream, x, indices);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  state.SetBytesProcessed(state.iterations() * (x.bytes() + indices.bytes()));
}
BENCHMARK_TEMPLATE(argsort, fg::f32)->Args({1, 100000})->Args({1, 10000000})->UseRealTime();

}  // namespace
