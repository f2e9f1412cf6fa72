// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of gradients summed for the rows of a table.
#include <support.hpp>

#include <flaggems/ops/embedding_backward.hpp>

namespace flaggems_bench {
namespace {

void embedding_dense_backward(benchmark::State& state) {
  const i64 n = state.range(0), e = 256, classes = 2 * n;
  const auto grad = random<f32>({n, e});
  auto index = random<i64>({n}, 0, 1);
  for (i64 k = 0; k < n; ++k) index.data()[k] = 2 * k;
  auto out = fg::embedding_dense_backward(stream(), grad, index, classes);
  for (auto _ : state) {
    fg::embedding_dense_backward(stream(), grad, index, out, classes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (grad.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 row = i / e;
    return row % 2 == 0 ? number(grad.data()[row / 2 * e + i % e]) : 0.0;
  });
}
BENCHMARK(embedding_dense_backward)->Arg(64)->Arg(2048)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
