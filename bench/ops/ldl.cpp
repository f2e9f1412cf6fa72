// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of symmetric factors with the pivoting of Bunch and Kaufman.
#include <support.hpp>

#include <flaggems/ops/ldl.hpp>

namespace flaggems_bench {
namespace {

void linalg_ldl_factor_ex(benchmark::State& state) {
  // Numbers below the diagonal so small that no rows are exchanged.
  const i64 n = state.range(0);
  auto ld = random<f32>({n, n}, -0.25, 0.25);
  for (i64 i = 0; i < n; ++i)
    for (i64 j = i; j < n; ++j) ld.data()[i * n + j] = i == j ? 2.0F : 0.0F;
  auto a = fg::empty<f32>(stream(), {n, n});
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 k = 0; k <= (std::min)(i, j); ++k)
        sum += 2 * (i == k ? 1 : number(ld.data()[i * n + k])) *
               (j == k ? 1 : number(ld.data()[j * n + k]));
      a.data()[i * n + j] = static_cast<f32>(sum);
    }
  auto out = fg::linalg_ldl_factor_ex(stream(), a);
  for (auto _ : state) {
    fg::linalg_ldl_factor_ex(stream(), a, out.ld, out.pivots, out.info);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n * n * n / 3);
  const auto rows = fg::contiguous(stream(), out.ld);
  check(
      state, rows, [&](i64 i) { return number(ld.data()[i]); }, 1, 1e-3);
}
BENCHMARK(linalg_ldl_factor_ex)->Arg(32)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
