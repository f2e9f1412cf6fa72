// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the norms over rows, from the first cache to memory.
#include <flaggems/ops/norm.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

namespace {

namespace fg = flaggems;

template <class T>
struct operands {
  fg::stream<fg::host> stream;
  fg::tensor<T> x, out, weight;
  explicit operands(const benchmark::State& state)
      : x(fg::empty<T>(stream, {state.range(0), state.range(1)})),
        out(fg::empty_like(stream, x)),
        weight(fg::empty<T>(stream, {state.range(1)})) {
    for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(static_cast<float>(k % 97) / 10.0F);
    for (fg::i64 k = 0; k < out.numel(); ++k) out.data()[k] = T(0.0F);
    for (fg::i64 k = 0; k < weight.numel(); ++k) weight.data()[k] = T(0.5F);
  }
};

template <class T>
void layer_norm(benchmark::State& state) {
  operands<T> o(state);
  for (auto _ : state) {
    fg::layer_norm(o.stream, o.x, {state.range(1)}, o.weight, o.weight, o.out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * o.x.bytes());
}
template <class T>
void rms_norm(benchmark::State& state) {
  operands<T> o(state);
  for (auto _ : state) {
    fg::rms_norm(o.stream, o.x, {state.range(1)}, o.weight, o.out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * o.x.bytes());
}
template <class T>
void fused_add_rms_norm(benchmark::State& state) {
  operands<T> o(state);
  for (auto _ : state) {
    fg::fused_add_rms_norm(o.stream, o.x, o.out, o.weight);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 4 * o.x.bytes());
}

void rows(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{1, 64, 4096}, {576, 4096}})->UseRealTime();
}
BENCHMARK_TEMPLATE(layer_norm, fg::f32)->Apply(rows);
BENCHMARK_TEMPLATE(layer_norm, fg::bf16)->Apply(rows);
BENCHMARK_TEMPLATE(rms_norm, fg::f32)->Apply(rows);
BENCHMARK_TEMPLATE(rms_norm, fg::bf16)->Apply(rows);
BENCHMARK_TEMPLATE(fused_add_rms_norm, fg::f32)->Apply(rows);

}  // namespace
