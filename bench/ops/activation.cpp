// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the gated activations, from the first cache to memory.
#include <flaggems/ops/activation.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T, class F>
void gated(benchmark::State& state, const F& f) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, {state.range(0)});
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(static_cast<float>(k % 97) / 10.0F);
  const auto y = x.clone(stream);
  auto out = fg::empty_like(stream, x);
  for (auto _ : state) {
    f(stream, x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * x.bytes());
}
template <class T>
void silu_and_mul(benchmark::State& state) {
  gated<T>(state, [](const auto& s, const auto& x, const auto& y, auto& out) {
    fg::silu_and_mul(s, x, y, out);
  });
}
template <class T>
void gelu_and_mul(benchmark::State& state) {
  gated<T>(state, [](const auto& s, const auto& x, const auto& y, auto& out) {
    fg::gelu_and_mul(s, x, y, out, fg::gelu_approximate::tanh);
  });
}
BENCHMARK_TEMPLATE(silu_and_mul, fg::f32)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(silu_and_mul, fg::bf16)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(gelu_and_mul, fg::f32)->Range(1 << 10, 1 << 24)->UseRealTime();

}  // namespace
