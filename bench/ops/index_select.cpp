// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of index_select along rows and along columns.
#include <flaggems/ops/index_select.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
void index_select(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  const fg::i64 dim = state.range(0), rows = state.range(1);
  auto x = fg::empty<T>(stream, {rows, rows});
  auto index = fg::empty<fg::i64>(stream, {rows / 2});
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(1);
  for (fg::i64 k = 0; k < index.numel(); ++k) index.data()[k] = (k * 7919) % rows;
  auto out = fg::index_select(stream, x, dim, index);
  for (auto _ : state) {
    fg::index_select(stream, x, dim, index, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
}
BENCHMARK_TEMPLATE(index_select, fg::f32)->ArgsProduct({{0, 1}, {64, 1024, 4096}})->UseRealTime();

}  // namespace
