// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the gated activations, from the first cache to memory, and of the rows of the
// table.
#include <flaggems/ops/activation.hpp>
#include <pointwise_rows.hpp>

namespace flaggems_bench {
namespace {

template <class T, class F>
void gated(benchmark::State& state, double (*gate)(double), const F& f) {
  const auto x = random<T>({state.range(0)}, 0, 8), y = random<T>({state.range(0)}, -1, 1, 2);
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    f(x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * x.bytes());
  check(state, out, [&](i64 i) { return gate(number(x.data()[i])) * number(y.data()[i]); });
}
template <class T>
void silu_and_mul(benchmark::State& state) {
  gated<T>(state, flaggems_test::reference::silu,
           [](const auto& x, const auto& y, auto& out) { fg::silu_and_mul(stream(), x, y, out); });
}
template <class T>
void gelu_and_mul(benchmark::State& state) {
  gated<T>(state, flaggems_test::reference::gelu_tanh, [](const auto& x, const auto& y, auto& out) {
    fg::gelu_and_mul(stream(), x, y, out, fg::gelu_approximate::tanh);
  });
}
FLAGGEMS_ACTIVATION_TABLE(BENCH_UNARY, BENCH_UNARY1, BENCH_UNARY2, BENCH_UNARY3, BENCH_BINARY,
                          BENCH_BINARY1)

BENCHMARK_TEMPLATE(silu_and_mul, f32)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(silu_and_mul, bf16)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(gelu_and_mul, f32)->Range(1 << 10, 1 << 24)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
