// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of stacking three matrices along either dimension.
#include <support.hpp>

#include <flaggems/ops/stack.hpp>

namespace flaggems_bench {
namespace {

void stack(benchmark::State& state) {
  const i64 dim = state.range(0), n = state.range(1);
  const fg::tensor<f32> x[] = {random<f32>({n, n}), random<f32>({n, n}, -1, 1, 2),
                               random<f32>({n, n}, -1, 1, 3)};
  auto out = fg::stack(stream(), {x[0].view(), x[1].view(), x[2].view()}, dim);
  for (auto _ : state) {
    fg::stack(stream(), {x[0].view(), x[1].view(), x[2].view()}, out, dim);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) {
    const i64 from = dim == 0 ? i / (n * n) : i / n % 3;
    return number(x[from].data()[dim == 0 ? i % (n * n) : i / (3 * n) * n + i % n]);
  });
}
BENCHMARK(stack)->ArgsProduct({{0, 1}, {64, 512, 2048}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
