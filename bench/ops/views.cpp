// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of a copy of a transposed view.
#include <support.hpp>

#include <flaggems/ops/views.hpp>

namespace flaggems_bench {
namespace {

void permute_copy(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = fg::permute_copy(stream(), x, {1, 0});
  for (auto _ : state) {
    fg::permute_copy(stream(), x, out, {1, 0});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i % n * n + i / n]); });
}
BENCHMARK(permute_copy)->Arg(64)->Arg(2048)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
