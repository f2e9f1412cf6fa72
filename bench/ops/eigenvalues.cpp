// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices per second whose eigenvalues are found.
#include <support.hpp>

#include <flaggems/ops/eigenvalues.hpp>

namespace flaggems_bench {
namespace {

/// A matrix of the eigenvalues 1 .. n: a reflected diagonal.
fg::tensor<f32> reflected(i64 n) {
  const auto v = random<f32>({n}, 0.5, 1);
  double square = 0;
  for (i64 i = 0; i < n; ++i) square += number(v.data()[i]) * number(v.data()[i]);
  auto a = fg::empty<f32>(stream(), {n, n});
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 k = 0; k < n; ++k)
        sum += ((i == k ? 1 : 0) - 2 * number(v.data()[i]) * number(v.data()[k]) / square) *
               static_cast<double>(k + 1) *
               ((j == k ? 1 : 0) - 2 * number(v.data()[j]) * number(v.data()[k]) / square);
      a.data()[i * n + j] = static_cast<f32>(sum);
    }
  return a;
}

void linalg_eigvals(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto a = reflected(n);
  auto out = fg::linalg_eigvals(stream(), a);
  for (auto _ : state) {
    fg::linalg_eigvals(stream(), a, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  auto sorted = fg::empty<f32>(stream(), {n});
  for (i64 i = 0; i < n; ++i) sorted.data()[i] = out.data()[i].re;
  std::sort(sorted.data(), sorted.data() + n);
  check(
      state, sorted, [&](i64 i) { return static_cast<double>(i + 1); }, 1, 1e-3);
}
BENCHMARK(linalg_eigvals)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
