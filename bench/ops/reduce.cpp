// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of reductions: all elements, rows, columns, a middle dimension.
#include <support.hpp>

#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

namespace flaggems_bench {
namespace {

/// run(x), x [outer, n, inner], whose reference is want(at, n) of a row: at(k) are its elements.
template <class T, class Run, class Want>
void measure(benchmark::State& state, const fg::shape& sizes, int dim, const Run& run,
             const Want& want) {
  const auto x = random<T>(sizes, 0, 2);
  auto y = run(x);
  for (auto _ : state) {
    y = run(x);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  i64 inner = 1;
  for (int d = dim + 1; d < sizes.rank(); ++d) inner *= sizes[d];
  const i64 n = sizes[dim];
  const auto element = [&](i64 i) {
    const i64 first = i / inner * n * inner + i % inner;
    return want([&](i64 k) { return number(x.data()[first + k * inner]); }, n);
  };
  check(state, y, element, n);
}

constexpr auto total = [](const auto& at, i64 n) {
  double sum = 0;
  for (i64 k = 0; k < n; ++k) sum += at(k);
  return sum;
};
constexpr auto largest = [](const auto& at, i64 n) {
  double best = at(0);
  for (i64 k = 1; k < n; ++k) best = (std::max)(best, at(k));
  return best;
};
constexpr auto place_of_largest = [](const auto& at, i64 n) {
  i64 best = 0;
  for (i64 k = 1; k < n; ++k)
    if (at(k) > at(best)) best = k;
  return static_cast<double>(best);
};

template <class T>
void sum_all(benchmark::State& state) {
  measure<T>(
      state, {state.range(0)}, 0, [](auto& x) { return fg::sum(stream(), x); }, total);
}
BENCHMARK_TEMPLATE(sum_all, f32)->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(sum_all, bf16)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(sum_all, i64)->Arg(1 << 17)->UseRealTime();

template <class T>
void sum_rows(benchmark::State& state) {
  measure<T>(
      state, {state.range(0), state.range(1)}, 1, [](auto& x) { return fg::sum(stream(), x, {1}); },
      total);
}
BENCHMARK_TEMPLATE(sum_rows, f32)->ArgsProduct({{64, 4096}, {16, 1024}})->UseRealTime();

template <class T>
void sum_columns(benchmark::State& state) {
  measure<T>(
      state, {state.range(0), state.range(1)}, 0, [](auto& x) { return fg::sum(stream(), x, {0}); },
      total);
}
BENCHMARK_TEMPLATE(sum_columns, f32)
    ->ArgsProduct({{64, 4096}, {16, 1024}})
    ->Args({1 << 20, 8})
    ->UseRealTime();

void sum_middle(benchmark::State& state) {
  measure<f32>(
      state, {32, 256, 512}, 1, [](auto& x) { return fg::sum(stream(), x, {1}); }, total);
}
BENCHMARK(sum_middle)->UseRealTime();

void amax_rows(benchmark::State& state) {
  measure<f32>(
      state, {4096, 1024}, 1, [](auto& x) { return fg::amax(stream(), x, {1}); }, largest);
}
BENCHMARK(amax_rows)->UseRealTime();

void argmax_rows(benchmark::State& state) {
  measure<f32>(
      state, {64, 49152}, 1, [](auto& x) { return fg::argmax(stream(), x, 1); }, place_of_largest);
}
BENCHMARK(argmax_rows)->UseRealTime();

void argmax_all(benchmark::State& state) {
  measure<f32>(
      state, {1 << 24}, 0, [](auto& x) { return fg::argmax(stream(), x); }, place_of_largest);
}
BENCHMARK(argmax_all)->UseRealTime();

/// The prologue costs nothing but its arithmetic.
void mean_of_squares(benchmark::State& state) {
  measure<f32>(
      state, {4096, 1024}, 1, [](auto& x) { return fg::mean(stream(), fg::square(x), {1}); },
      [](const auto& at, i64 n) {
        return total([&](i64 k) { return at(k) * at(k); }, n) / static_cast<double>(n);
      });
}
BENCHMARK(mean_of_squares)->UseRealTime();

void any_of_bools(benchmark::State& state) {
  measure<f32>(
      state, {1 << 24}, 0, [](auto& x) { return fg::any(stream(), fg::gt(x, 2)); },
      [](const auto& at, i64 n) { return largest(at, n) > 2 ? 1.0 : 0.0; });
}
BENCHMARK(any_of_bools)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
