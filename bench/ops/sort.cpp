// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements and bytes per second of sorting rows.
#include <support.hpp>

#include <flaggems/ops/sort.hpp>

namespace flaggems_bench {
namespace {

/// Checks that indices[i] is the element that as many are in front of as i says.
template <class T>
void check_order(benchmark::State& state, const fg::tensor<T>& x, const fg::tensor<i64>& indices) {
  const i64 n = x.size(1);
  const auto want = [&](i64 i) {
    const T* const row = x.data() + i / n * n;
    const i64 given = indices.data()[i];
    if (given < 0 || given >= n) return -1.0;
    i64 before = 0;
    for (i64 k = 0; k < n; ++k)
      before += row[k] < row[given] || (row[k] == row[given] && k < given) ? 1 : 0;
    return before == i % n ? static_cast<double>(given) : -1.0;
  };
  check(state, indices, want, n);
}

template <class T>
void sort(benchmark::State& state) {
  const i64 n = state.range(1);
  const auto x = random<T>({state.range(0), n}, -128, 128);
  auto values = fg::empty_like(stream(), x);
  auto indices = fg::empty<i64>(stream(), x.shape_of());
  for (auto _ : state) {
    fg::sort(stream(), x, values, indices);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  state.SetBytesProcessed(state.iterations() * (2 * x.bytes() + indices.bytes()));
  check_order(state, x, indices);
  if (!state.error_occurred())
    check(
        state, values, [&](i64 i) { return number(x.data()[i / n * n + indices.data()[i]]); }, 1,
        0);
}
BENCHMARK_TEMPLATE(sort, f32)->ArgsProduct({{1, 256}, {16, 48, 256, 4096, 100000}})->UseRealTime();
BENCHMARK_TEMPLATE(sort, bf16)->Args({1, 100000})->UseRealTime();
BENCHMARK_TEMPLATE(sort, i64)->Args({1, 100000})->UseRealTime();

template <class T>
void argsort(benchmark::State& state) {
  const auto x = random<T>({state.range(0), state.range(1)}, -128, 128);
  auto indices = fg::empty<i64>(stream(), x.shape_of());
  for (auto _ : state) {
    fg::argsort(stream(), x, indices);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * x.numel());
  state.SetBytesProcessed(state.iterations() * (x.bytes() + indices.bytes()));
  check_order(state, x, indices);
}
BENCHMARK_TEMPLATE(argsort, f32)->Args({1, 100000})->Args({1, 10000000})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
