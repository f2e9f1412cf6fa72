// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Systems of equations per second that are solved by least squares.
#include <support.hpp>

#include <flaggems/ops/lstsq.hpp>

namespace flaggems_bench {
namespace {

void linalg_lstsq(benchmark::State& state) {
  const i64 m = 2 * state.range(0), n = state.range(0);
  auto a = random<f32>({m, n}, -0.25, 0.25);
  for (i64 i = 0; i < n; ++i) a.data()[i * n + i] += 4.0F;
  const auto x = random<f32>({n, 4}, -1, 1, 2);
  auto b = fg::empty<f32>(stream(), {m, 4});
  for (i64 i = 0; i < m * 4; ++i) {
    double sum = 0;
    for (i64 k = 0; k < n; ++k)
      sum += number(a.data()[i / 4 * n + k]) * number(x.data()[k * 4 + i % 4]);
    b.data()[i] = static_cast<f32>(sum);
  }
  auto out = fg::linalg_lstsq(stream(), a, b);
  for (auto _ : state) {
    fg::linalg_lstsq(stream(), a, b, out.solution, out.residuals, out.rank, out.singular_values);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  const auto rows = fg::contiguous(stream(), out.solution);
  check(
      state, rows, [&](i64 i) { return number(x.data()[i]); }, 1, 1e-3);
}
BENCHMARK(linalg_lstsq)->Arg(8)->Arg(32)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
