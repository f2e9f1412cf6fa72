// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices per second whose singular values and vectors are differentiated.
#include <support.hpp>

#include <flaggems/ops/svd_backward.hpp>

namespace flaggems_bench {
namespace {

void linalg_svd_backward(benchmark::State& state) {
  const i64 n = state.range(0);
  // Of the diagonal matrix n .. 1.
  const auto by_u = random<f32>({n, n}, -1, 1), by_s = random<f32>({n}, -1, 1, 2);
  auto one = fg::zeros<f32>(stream(), {n, n});
  auto s = fg::empty<f32>(stream(), {n});
  for (i64 i = 0; i < n; ++i) one.data()[i * n + i] = 1, s.data()[i] = static_cast<f32>(n - i);
  const auto run = [&] {
    return fg::linalg_svd_backward(stream(), by_u, by_s, std::nullopt, one, s, one);
  };
  auto out = run();
  for (auto _ : state) {
    out = run();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  check(
      state, out,
      [&](i64 k) {
        const i64 i = k / n, j = k % n;
        if (i == j) return number(by_s.data()[i]);
        const double a = number(s.data()[i]), b = number(s.data()[j]);
        return (number(by_u.data()[k]) - number(by_u.data()[j * n + i])) * b / (b * b - a * a);
      },
      1, 1e-4);
}
BENCHMARK(linalg_svd_backward)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
