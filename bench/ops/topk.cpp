// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements and bytes per second of finding the k largest of rows: of a vocabulary, of experts.
#include <support.hpp>

#include <flaggems/ops/topk.hpp>

#include <random>

namespace flaggems_bench {
namespace {

template <class T>
void topk(benchmark::State& state) {
  const i64 n = state.range(1), most = state.range(2);
  auto x = fg::empty<T>(stream(), {state.range(0), n});
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 3);
  for (i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(normal(generator));
  auto values = fg::empty<T>(stream(), {state.range(0), most});
  auto indices = fg::empty<i64>(stream(), {state.range(0), most});
  for (auto _ : state) {
    fg::topk(stream(), x, most, values, indices);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  state.SetBytesProcessed(state.iterations() * (x.bytes() + values.bytes() + indices.bytes()));

  // As many as its place says are in front of an element.
  const auto want = [&](i64 i) {
    const T* const row = x.data() + i / most * n;
    const i64 given = indices.data()[i];
    if (given < 0 || given >= n) return -1.0;
    i64 before = 0;
    for (i64 k = 0; k < n; ++k) {
      const double a = number(row[k]), b = number(row[given]);
      before += a > b || (a == b && k < given) ? 1 : 0;
    }
    return before == i % most ? static_cast<double>(given) : -1.0;
  };
  check(state, indices, want, n);
  if (!state.error_occurred())
    check(
        state, values, [&](i64 i) { return number(x.data()[i / most * n + indices.data()[i]]); }, 1,
        0);
}
BENCHMARK_TEMPLATE(topk, f32)
    ->ArgsProduct({{1, 64}, {1024, 49152}, {1, 50, 1000}})
    ->Args({4096, 64, 8})
    ->UseRealTime();
BENCHMARK_TEMPLATE(topk, bf16)->Args({1, 49152, 50})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
