// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the gradient of padding rows by their mirrored edges.
#include <support.hpp>

#include <flaggems/ops/pad_backward.hpp>

namespace flaggems_bench {
namespace {

void reflection_pad1d_backward(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n}), grad = random<f32>({64, n + 2});
  auto out = fg::reflection_pad1d_backward(stream(), grad, x, {1, 1});
  for (auto _ : state) {
    fg::reflection_pad1d_backward(stream(), grad, x, out, {1, 1});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (grad.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 k = i % n;
    const f32* const row = grad.data() + i / n * (n + 2);
    return number(row[k + 1]) + (k == 1 ? number(row[0]) : 0) +
           (k == n - 2 ? number(row[n + 1]) : 0);
  });
}
BENCHMARK(reflection_pad1d_backward)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
