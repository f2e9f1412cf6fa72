// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/vendors/host.hpp>

#include <algorithm>

namespace {

namespace fg = flaggems;
using fg::i64;

template <class T>
fg::tensor<T> filled(const fg::stream<fg::host>& s, const fg::shape& sizes) {
  auto x = fg::empty<T>(s, sizes);
  std::fill_n(x.data(), x.numel(), T(0.5F));
  return x;
}
void count(benchmark::State& state, double flops, i64 bytes) {
  state.counters["flops"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// A linear layer: m rows, n x k weights of type W.
template <class W>
void linear(benchmark::State& state) {
  const fg::stream<fg::host> s;
  const i64 m = state.range(0), n = state.range(1), k = state.range(2);
  const auto x = filled<float>(s, {m, k});
  const auto w = filled<W>(s, {n, k});
  auto out = fg::empty<float>(s, {m, n});
  for (auto _ : state) fg::linear(s, x, w, out);
  count(state, 2.0 * static_cast<double>(m * n) * static_cast<double>(k), w.bytes());
}
BENCHMARK(linear<float>)->ArgsProduct({{1, 4, 64}, {576, 4096}, {576, 4096}});
BENCHMARK(linear<fg::bf16>)->ArgsProduct({{1, 4, 64}, {576, 4096}, {576, 4096}});
BENCHMARK(linear<fg::f16>)->Args({1, 4096, 4096});

template <class T>
void mm(benchmark::State& state) {
  const fg::stream<fg::host> s;
  const i64 n = state.range(0);
  const auto a = filled<T>(s, {n, n}), b = filled<T>(s, {n, n});
  auto out = fg::empty<T>(s, {n, n});
  for (auto _ : state) fg::mm(s, a, b, out);
  const auto d = static_cast<double>(n);
  count(state, 2 * d * d * d, 3 * out.bytes());
}
BENCHMARK(mm<float>)->RangeMultiplier(4)->Range(16, 1024);
BENCHMARK(mm<fg::bf16>)->RangeMultiplier(4)->Range(16, 256);
BENCHMARK(mm<double>)->RangeMultiplier(4)->Range(16, 256);

}  // namespace
