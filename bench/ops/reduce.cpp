// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of reductions: all elements, rows, columns, a middle dimension.
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
void measure(benchmark::State& state, const fg::shape& sizes, const auto& run) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, sizes);
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(static_cast<float>(k % 97) / 97.0F);
  for (auto _ : state) {
    const auto y = run(stream, x);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
}

template <class T>
void sum_all(benchmark::State& state) {
  measure<T>(state, {state.range(0)}, [](auto& s, auto& x) { return fg::sum(s, x); });
}
BENCHMARK_TEMPLATE(sum_all, fg::f32)->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(sum_all, fg::bf16)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(sum_all, fg::i64)->Arg(1 << 17)->UseRealTime();

template <class T>
void sum_rows(benchmark::State& state) {
  measure<T>(state, {state.range(0), state.range(1)},
             [](auto& s, auto& x) { return fg::sum(s, x, {1}); });
}
BENCHMARK_TEMPLATE(sum_rows, fg::f32)->ArgsProduct({{64, 4096}, {16, 1024}})->UseRealTime();

template <class T>
void sum_columns(benchmark::State& state) {
  measure<T>(state, {state.range(0), state.range(1)},
             [](auto& s, auto& x) { return fg::sum(s, x, {0}); });
}
BENCHMARK_TEMPLATE(sum_columns, fg::f32)
    ->ArgsProduct({{64, 4096}, {16, 1024}})
    ->Args({1 << 20, 8})
    ->UseRealTime();

void sum_middle(benchmark::State& state) {
  measure<fg::f32>(state, {32, 256, 512}, [](auto& s, auto& x) { return fg::sum(s, x, {1}); });
}
BENCHMARK(sum_middle)->UseRealTime();

void amax_rows(benchmark::State& state) {
  measure<fg::f32>(state, {4096, 1024}, [](auto& s, auto& x) { return fg::amax(s, x, {1}); });
}
BENCHMARK(amax_rows)->UseRealTime();

void argmax_rows(benchmark::State& state) {
  measure<fg::f32>(state, {64, 49152}, [](auto& s, auto& x) { return fg::argmax(s, x, 1); });
}
BENCHMARK(argmax_rows)->UseRealTime();

void argmax_all(benchmark::State& state) {
  measure<fg::f32>(state, {1 << 24}, [](auto& s, auto& x) { return fg::argmax(s, x); });
}
BENCHMARK(argmax_all)->UseRealTime();

/// The prologue costs nothing but its arithmetic.
void mean_of_squares(benchmark::State& state) {
  measure<fg::f32>(state, {4096, 1024},
                   [](auto& s, auto& x) { return fg::mean(s, fg::square(x), {1}); });
}
BENCHMARK(mean_of_squares)->UseRealTime();

void any_of_bools(benchmark::State& state) {
  measure<fg::f32>(state, {1 << 24}, [](auto& s, auto& x) { return fg::any(s, fg::gt(x, 2)); });
}
BENCHMARK(any_of_bools)->UseRealTime();

}  // namespace
