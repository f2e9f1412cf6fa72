// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of filling memory.
#include <flaggems/ops/creation.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
void fill(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, {state.range(0)});
  for (auto _ : state) {
    fg::fill_(stream, x, 3);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
}
BENCHMARK_TEMPLATE(fill, fg::f32)->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(fill, fg::bf16)->Arg(1 << 17)->UseRealTime();
BENCHMARK_TEMPLATE(fill, fg::u8)->Arg(1 << 17)->UseRealTime();

template <class T>
void arange(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  const auto end = static_cast<typename fg::detail::sequence<T>::value>(state.range(0));
  auto x = fg::empty<T>(stream, {state.range(0)});
  for (auto _ : state) {
    fg::arange(stream, 0, end, 1, x);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
}
BENCHMARK_TEMPLATE(arange, fg::f32)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(arange, fg::i64)->Arg(1 << 17)->UseRealTime();

}  // namespace
