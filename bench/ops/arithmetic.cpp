// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of arithmetic with an option, from the first cache to memory; and of the rows of
// its table.
#include <flaggems/ops/arithmetic.hpp>
#include <pointwise_rows.hpp>

namespace flaggems_bench {
namespace {

template <class T, class F, class Want>
void binary(benchmark::State& state, const F& f, const Want& want) {
  const auto x = random<T>({state.range(0)}, 1, 98), y = random<T>({state.range(0)}, 1, 9, 2);
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    f(x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * x.bytes());
  check(state, out, [&](i64 i) { return want(number(x.data()[i]), number(y.data()[i])); });
}
template <class T>
void add_alpha(benchmark::State& state) {
  binary<T>(
      state, [](const auto& x, const auto& y, auto& out) { fg::add(stream(), x, y, out, 2); },
      [](double x, double y) { return x + 2 * y; });
}
template <class T>
void floor_div(benchmark::State& state) {
  binary<T>(
      state,
      [](const auto& x, const auto& y, auto& out) {
        fg::div(stream(), x, y, out, fg::rounding_mode::floor);
      },
      [](double x, double y) { return std::floor(x / y); });
}
FLAGGEMS_ARITHMETIC_TABLE(BENCH_UNARY, BENCH_BINARY, BENCH_BINARY1, BENCH_TERNARY)

BENCHMARK_TEMPLATE(add_alpha, f32)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(floor_div, f32)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(floor_div, fg::i32)->Range(1 << 10, 1 << 24)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
