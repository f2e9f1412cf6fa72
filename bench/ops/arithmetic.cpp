// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of arithmetic with an option, from the first cache to memory.
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T, class F>
void binary(benchmark::State& state, const F& f) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, {state.range(0)});
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = static_cast<T>(k % 97 + 1);
  const auto y = x.clone(stream);
  auto out = fg::empty_like(stream, x);
  for (auto _ : state) {
    f(stream, x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * x.bytes());
}
template <class T>
void add_alpha(benchmark::State& state) {
  binary<T>(state, [](const auto& s, const auto& x, const auto& y, auto& out) {
    fg::add(s, x, y, out, 2);
  });
}
template <class T>
void floor_div(benchmark::State& state) {
  binary<T>(state, [](const auto& s, const auto& x, const auto& y, auto& out) {
    fg::div(s, x, y, out, fg::rounding_mode::floor);
  });
}
BENCHMARK_TEMPLATE(add_alpha, fg::f32)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(floor_div, fg::f32)->Range(1 << 10, 1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(floor_div, fg::i32)->Range(1 << 10, 1 << 24)->UseRealTime();

}  // namespace
