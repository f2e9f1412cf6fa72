// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of filling memory.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void fill(benchmark::State& state) {
  auto x = fg::empty<T>(stream(), {state.range(0)});
  for (auto _ : state) {
    fg::fill_(stream(), x, 3);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  check(state, x, [](i64) { return 3.0; });
}
BENCHMARK_TEMPLATE(fill, f32)->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(fill, bf16)->Arg(1 << 17)->UseRealTime();
BENCHMARK_TEMPLATE(fill, fg::u8)->Arg(1 << 17)->UseRealTime();

template <class T>
void arange(benchmark::State& state) {
  const auto end = static_cast<typename fg::detail::sequence<T>::value>(state.range(0));
  auto x = fg::empty<T>(stream(), {state.range(0)});
  for (auto _ : state) {
    fg::arange(stream(), 0, end, 1, x);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  check(state, x, [](i64 i) { return static_cast<double>(i); });
}
BENCHMARK_TEMPLATE(arange, f32)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();
BENCHMARK_TEMPLATE(arange, i64)->Arg(1 << 17)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
