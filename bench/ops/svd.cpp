// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices per second whose singular values are found.
#include <support.hpp>

#include <flaggems/ops/svd.hpp>

namespace flaggems_bench {
namespace {

/// A matrix of the singular values 1 .. n: reflections of a diagonal.
fg::tensor<f32> reflected(i64 n) {
  const auto v = random<f32>({n}, 0.5, 1), w = random<f32>({n}, 0.5, 1, 2);
  double v_square = 0, w_square = 0;
  for (i64 i = 0; i < n; ++i) {
    v_square += number(v.data()[i]) * number(v.data()[i]);
    w_square += number(w.data()[i]) * number(w.data()[i]);
  }
  auto a = fg::empty<f32>(stream(), {n, n});
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 k = 0; k < n; ++k)
        sum += ((i == k ? 1 : 0) - 2 * number(v.data()[i]) * number(v.data()[k]) / v_square) *
               static_cast<double>(k + 1) *
               ((j == k ? 1 : 0) - 2 * number(w.data()[j]) * number(w.data()[k]) / w_square);
      a.data()[i * n + j] = static_cast<f32>(sum);
    }
  return a;
}

void linalg_svdvals(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto a = reflected(n);
  auto out = fg::linalg_svdvals(stream(), a);
  for (auto _ : state) {
    fg::linalg_svdvals(stream(), a, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  check(
      state, out, [&](i64 i) { return static_cast<double>(n - i); }, 1, 1e-3);
}
BENCHMARK(linalg_svdvals)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
