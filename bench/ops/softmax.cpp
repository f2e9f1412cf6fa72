// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of softmax over rows, from the first cache to memory.
#include <flaggems/ops/softmax.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
void softmax(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto x = fg::empty<T>(stream, {state.range(0), state.range(1)});
  auto out = fg::empty_like(stream, x);
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(static_cast<float>(k % 97) / 10.0F);
  for (auto _ : state) {
    fg::softmax(stream, x, out, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
}
BENCHMARK_TEMPLATE(softmax, fg::f32)
    ->ArgsProduct({{1, 64, 4096}, {64, 1024, 16384}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(softmax, fg::bf16)->ArgsProduct({{64, 4096}, {1024}})->UseRealTime();

}  // namespace
