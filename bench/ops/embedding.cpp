// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of embedding: one token, a prompt, a batch.
#include <support.hpp>

#include <flaggems/ops/embedding.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void embedding(benchmark::State& state) {
  constexpr i64 words = 49152, size = 576;
  const auto weight = random<T>({words, size});
  const auto indices = random<fg::i32>({state.range(0)}, 0, words);
  auto out = fg::embedding(stream(), weight, indices);
  for (auto _ : state) {
    fg::embedding(stream(), weight, indices, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out,
        [&](i64 i) { return number(weight.data()[indices.data()[i / size] * size + i % size]); });
}
BENCHMARK_TEMPLATE(embedding, f32)->Arg(1)->Arg(64)->Arg(16384)->UseRealTime();
BENCHMARK_TEMPLATE(embedding, bf16)->Arg(1)->Arg(64)->Arg(16384)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
