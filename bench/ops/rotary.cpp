// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the rotary embedding in place: one token, a prompt, a batch.
#include <flaggems/ops/rotary.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
void rotary(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  const fg::i64 tokens = state.range(0);
  const auto ones = [&](const fg::shape& sizes) {
    auto x = fg::empty<T>(stream, sizes);
    for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(0.5F);
    return x;
  };
  auto q = ones({tokens, 9, 64}), k = ones({tokens, 3, 64});
  const auto cos = ones({tokens, 32}), sin = ones({tokens, 32});
  const bool interleaved = state.range(1) != 0;
  for (auto _ : state) {
    fg::apply_rotary_pos_emb_(stream, q, k, cos, sin, std::nullopt, interleaved);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * (q.bytes() + k.bytes()));
}
BENCHMARK_TEMPLATE(rotary, fg::f32)->ArgsProduct({{1, 64, 8192}, {0, 1}})->UseRealTime();
BENCHMARK_TEMPLATE(rotary, fg::bf16)->ArgsProduct({{1, 64, 8192}, {0, 1}})->UseRealTime();

}  // namespace
