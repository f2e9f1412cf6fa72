// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of joining three matrices along either dimension.
#include <flaggems/ops/cat.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

void cat(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  const fg::i64 dim = state.range(0), n = state.range(1);
  auto x = fg::empty<fg::f32>(stream, {n, n});
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = 1.0F;
  auto out = fg::cat(stream, {x.view(), x.view(), x.view()}, dim);
  for (auto _ : state) {
    fg::cat(stream, {x.view(), x.view(), x.view()}, out, dim);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
}
BENCHMARK(cat)->ArgsProduct({{0, 1}, {64, 512, 2048}})->UseRealTime();

}  // namespace
