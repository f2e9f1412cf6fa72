// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of factors of Cholesky, and of solutions by them.
#include <support.hpp>

#include <flaggems/ops/cholesky.hpp>

namespace flaggems_bench {
namespace {

/// A lower triangle with numbers of at most 1 / 2, and 2 on its diagonal.
fg::tensor<f32> triangle(i64 n) {
  auto l = random<f32>({n, n}, -0.5, 0.5);
  for (i64 i = 0; i < n; ++i)
    for (i64 j = i; j < n; ++j) l.data()[i * n + j] = i == j ? 2.0F : 0.0F;
  return l;
}

/// x y, or x y^T.
fg::tensor<f32> product(const fg::tensor<f32>& x, const fg::tensor<f32>& y, bool transposed) {
  const i64 n = x.size(0);
  auto out = fg::empty<f32>(stream(), {n, n});
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 k = 0; k < n; ++k)
        sum += number(x.data()[i * n + k]) * number(y.data()[transposed ? j * n + k : k * n + j]);
      out.data()[i * n + j] = static_cast<f32>(sum);
    }
  return out;
}

void linalg_cholesky(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto l = triangle(n);
  const auto a = product(l, l, true);
  auto out = fg::linalg_cholesky(stream(), a);
  for (auto _ : state) {
    fg::linalg_cholesky(stream(), a, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n * n * n / 3);
  const auto rows = fg::contiguous(stream(), out);
  check(
      state, rows, [&](i64 i) { return number(l.data()[i]); }, 1, 1e-3);
}
BENCHMARK(linalg_cholesky)->Arg(32)->Arg(256)->UseRealTime();

void cholesky_solve(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto l = triangle(n);
  const auto b = product(l, l, true);
  auto out = fg::cholesky_solve(stream(), b, l);
  for (auto _ : state) {
    fg::cholesky_solve(stream(), b, l, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * n * n * n);
  check(
      state, out, [&](i64 i) { return i % n == i / n ? 1.0 : 0.0; }, 1, 1e-3);
}
BENCHMARK(cholesky_solve)->Arg(32)->Arg(128)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
