// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of LU factors with pivoting.
#include <support.hpp>

#include <flaggems/ops/lu.hpp>

namespace flaggems_bench {
namespace {

/// L U of numbers below 1 under the diagonal, so that no rows are exchanged.
fg::tensor<f32> factors(i64 n) {
  auto lu = random<f32>({n, n}, -0.25, 0.25);
  for (i64 i = 0; i < n; ++i) lu.data()[i * (n + 1)] = 2.0F;
  return lu;
}

void linalg_lu_factor_ex(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto lu = factors(n);
  auto a = fg::empty<f32>(stream(), {n, n});
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = i <= j ? number(lu.data()[i * n + j]) : 0;
      for (i64 k = 0; k < (std::min)(i, j + 1); ++k)
        sum += number(lu.data()[i * n + k]) * number(lu.data()[k * n + j]);
      a.data()[i * n + j] = static_cast<f32>(sum);
    }
  auto out = fg::linalg_lu_factor_ex(stream(), a);
  for (auto _ : state) {
    fg::linalg_lu_factor_ex(stream(), a, out.lu, out.pivots, out.info);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * n * n * n / 3);
  const auto rows = fg::contiguous(stream(), out.lu);
  check(
      state, rows, [&](i64 i) { return number(lu.data()[i]); }, 1, 1e-3);
}
BENCHMARK(linalg_lu_factor_ex)->Arg(32)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
