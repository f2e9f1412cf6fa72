// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Entries per second of products at the places of a sparse matrix.
#include <support.hpp>

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/sequences.hpp>
#include <flaggems/ops/sparse.hpp>

namespace flaggems_bench {
namespace {

void sparse_sampled_addmm(benchmark::State& state) {
  const i64 rows = 64, each = 8, n = 128, k = state.range(0);
  const auto a = random<f32>({rows, k}), b = random<f32>({k, n}, -1, 1, 2);
  const auto starts = fg::arange<i64>(stream(), 0, rows * each + 1, each);
  const auto columns = fg::remainder(stream(), fg::arange<i64>(stream(), rows * each), n);
  const auto values = random<f32>({rows * each}, -1, 1, 3);
  auto out = fg::sparse_sampled_addmm(stream(), starts, columns, values, a, b);
  for (auto _ : state) {
    fg::sparse_sampled_addmm(stream(), starts, columns, values, a, b, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * rows * each);
  check(
      state, out,
      [&](i64 e) {
        double sum = number(values.data()[e]);
        for (i64 q = 0; q < k; ++q)
          sum += number(a.data()[e / each * k + q]) * number(b.data()[q * n + e % n]);
        return sum;
      },
      k, 1e-4);
}
BENCHMARK(sparse_sampled_addmm)->Arg(32)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
