// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations per second of products of 8-bit floats with scales of blocks.
#include <support.hpp>

#include <flaggems/ops/block_scaled_mm.hpp>
#include <flaggems/ops/creation.hpp>

namespace flaggems_bench {
namespace {

void w8a8_block_fp8_matmul(benchmark::State& state) {
  const i64 m = 16, n = 128, k = state.range(0);
  const auto x = random<fg::f8e4m3>({m, k}), y = random<fg::f8e4m3>({n, k}, -1, 1, 2);
  const auto xs = fg::full<f32>(stream(), {m, k / 64}, 0.5),
             ys = fg::full<f32>(stream(), {n / 64, k / 64}, 2);
  auto out = fg::w8a8_block_fp8_matmul<f32>(stream(), x, y, xs, ys, {64, 64});
  for (auto _ : state) {
    fg::w8a8_block_fp8_matmul(stream(), x, y, xs, ys, out, {64, 64});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 2 * m * n * k);
  check(
      state, out,
      [&](i64 at) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q)
          sum += number(x.data()[at / n * k + q]) * number(y.data()[at % n * k + q]);
        return sum;
      },
      k, 1e-4);
}
BENCHMARK(w8a8_block_fp8_matmul)->Arg(64)->Arg(512)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
