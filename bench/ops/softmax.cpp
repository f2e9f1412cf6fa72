// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of softmax over rows, from the first cache to memory.
#include <support.hpp>

#include <flaggems/ops/softmax.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void softmax(benchmark::State& state) {
  const i64 n = state.range(1);
  const auto x = random<T>({state.range(0), n}, -3, 9);
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    fg::softmax(stream(), x, out, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  // Times n: of the order of 1, so that small probabilities count.
  auto scaled = fg::empty<f32>(stream(), x.shape_of());
  for (i64 i = 0; i < x.numel(); ++i)
    scaled.data()[i] = static_cast<f32>(number(out.data()[i]) * static_cast<double>(n));
  const auto want = [&](i64 i) {
    double sum = 0;
    for (i64 k = i / n * n; k < i / n * n + n; ++k)
      sum += std::exp(number(x.data()[k]) - number(x.data()[i]));
    return static_cast<double>(n) / sum;
  };
  check(state, scaled, want, 16 * n, tolerance<T>);
}
BENCHMARK_TEMPLATE(softmax, f32)->ArgsProduct({{1, 64, 4096}, {64, 1024, 16384}})->UseRealTime();
BENCHMARK_TEMPLATE(softmax, bf16)->ArgsProduct({{64, 4096}, {1024}})->UseRealTime();

template <class T>
void softmax_backward(benchmark::State& state) {
  const i64 n = state.range(1);
  const auto grad = random<T>({state.range(0), n}, -1, 1), y = random<T>({state.range(0), n}, 0, 1);
  auto out = fg::empty_like(stream(), grad);
  for (auto _ : state) {
    fg::softmax_backward(stream(), grad, y, out, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * grad.bytes());
  const auto want = [&](i64 i) {
    double sum = 0;
    for (i64 k = i / n * n; k < i / n * n + n; ++k)
      sum += number(grad.data()[k]) * number(y.data()[k]);
    return number(y.data()[i]) * (number(grad.data()[i]) - sum);
  };
  check(state, out, want, 4 * n, tolerance<T>);
}
BENCHMARK_TEMPLATE(softmax_backward, f32)->ArgsProduct({{64, 4096}, {1024}})->UseRealTime();
BENCHMARK_TEMPLATE(softmax_backward, bf16)->ArgsProduct({{64, 4096}, {1024}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
