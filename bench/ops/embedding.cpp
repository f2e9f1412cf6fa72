// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of embedding: one token, a prompt, a batch.
#include <flaggems/ops/embedding.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
void embedding(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto weight = fg::empty<T>(stream, {49152, 576});
  auto indices = fg::empty<fg::i32>(stream, {state.range(0)});
  for (fg::i64 k = 0; k < weight.numel(); ++k) weight.data()[k] = T(1);
  for (fg::i64 k = 0; k < indices.numel(); ++k)
    indices.data()[k] = static_cast<fg::i32>((k * 7919) % 49152);
  auto out = fg::embedding(stream, weight, indices);
  for (auto _ : state) {
    fg::embedding(stream, weight, indices, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
}
BENCHMARK_TEMPLATE(embedding, fg::f32)->Arg(1)->Arg(64)->Arg(16384)->UseRealTime();
BENCHMARK_TEMPLATE(embedding, fg::bf16)->Arg(1)->Arg(64)->Arg(16384)->UseRealTime();

}  // namespace
