// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the gradient of a lookup of rows.
#include <support.hpp>

#include <flaggems/ops/index_backward.hpp>

namespace flaggems_bench {
namespace {

void index_select_backward(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto grad = random<f32>({n, 64});
  auto index = fg::empty<i64>(stream(), {n});
  for (i64 k = 0; k < n; ++k) index.data()[k] = k / 2;
  auto out = fg::index_select_backward(stream(), grad, {n, 64}, 0, index);
  for (auto _ : state) {
    out = fg::index_select_backward(stream(), grad, {n, 64}, 0, index);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (grad.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 row = i / 64, column = i % 64;
    if (row >= n / 2) return 0.0;
    const f32* const first = grad.data() + 2 * row * 64 + column;
    return number(first[0]) + number(first[64]);
  });
}
BENCHMARK(index_select_backward)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
