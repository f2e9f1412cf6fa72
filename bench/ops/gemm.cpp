// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products: square ones, and layers of a model.
#include <support.hpp>

#include <flaggems/ops/gemm.hpp>

#include <algorithm>

namespace flaggems_bench {
namespace {

void count(benchmark::State& state, double flops, i64 bytes) {
  state.counters["flops"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// Of k products of numbers in [-1, 1], added one after the other in f32.
double sum_tolerance(i64 k) {
  return (std::max)(tolerance<float>, static_cast<double>(k) * 0x1p-26);
}

/// A linear layer: m rows, n x k weights of type W.
template <class W>
void linear(benchmark::State& state) {
  const i64 m = state.range(0), n = state.range(1), k = state.range(2);
  const auto x = random<float>({m, k});
  const auto w = random<W>({n, k}, -1, 1, 2);
  auto out = fg::empty<float>(stream(), {m, n});
  for (auto _ : state) fg::linear(stream(), x, w, out);
  count(state, 2.0 * static_cast<double>(m * n) * static_cast<double>(k), w.bytes());
  check(
      state, out, [&](i64 i) { return linear_element(x, w, i); }, k, sum_tolerance(k));
}
BENCHMARK(linear<float>)->ArgsProduct({{1, 4, 64}, {576, 4096}, {576, 4096}});
BENCHMARK(linear<bf16>)->ArgsProduct({{1, 4, 64}, {576, 4096}, {576, 4096}});
BENCHMARK(linear<f16>)->Args({1, 4096, 4096});

template <class T>
void mm(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto a = random<T>({n, n}), b = random<T>({n, n}, -1, 1, 2);
  auto out = fg::empty<T>(stream(), {n, n});
  for (auto _ : state) fg::mm(stream(), a, b, out);
  const auto d = static_cast<double>(n);
  count(state, 2 * d * d * d, 3 * out.bytes());
  const auto want = [&](i64 i) {
    double sum = 0;
    for (i64 j = 0; j < n; ++j)
      sum += number(a.data()[i / n * n + j]) * number(b.data()[j * n + i % n]);
    return sum;
  };
  check(state, out, want, n);
}
BENCHMARK(mm<float>)->RangeMultiplier(4)->Range(16, 1024);
BENCHMARK(mm<bf16>)->RangeMultiplier(4)->Range(16, 256);
BENCHMARK(mm<double>)->RangeMultiplier(4)->Range(16, 256);

}  // namespace
}  // namespace flaggems_bench
