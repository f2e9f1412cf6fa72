// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Categories and bytes per second of drawing from distributions.
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T, bool Replacement>
void multinomial(benchmark::State& state) {
  const fg::stream<fg::host> stream;
  auto probs = fg::empty<T>(stream, {state.range(0), state.range(1)});
  for (fg::i64 k = 0; k < probs.numel(); ++k)
    probs.data()[k] = T(static_cast<float>(k * 7919 % 1000) / 1000.0F);
  auto out = fg::empty<fg::i64>(stream, {state.range(0), state.range(2)});
  fg::philox_generator generator;
  for (auto _ : state) {
    fg::multinomial(stream, probs, state.range(2), Replacement, generator, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * probs.numel());
  state.SetBytesProcessed(state.iterations() * (probs.bytes() + out.bytes()));
}
BENCHMARK_TEMPLATE(multinomial, fg::f32, true)
    ->ArgsProduct({{1, 64}, {1000, 49152}, {1, 1000}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(multinomial, fg::f32, false)
    ->ArgsProduct({{1, 64}, {1000, 49152}, {1, 100}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(multinomial, fg::bf16, true)->Args({1, 49152, 1})->UseRealTime();

}  // namespace
