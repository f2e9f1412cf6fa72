// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of differences along rows.
#include <support.hpp>

#include <flaggems/ops/diff.hpp>

namespace flaggems_bench {
namespace {

void diff(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n});
  auto out = fg::diff(stream(), x);
  for (auto _ : state) {
    out = fg::diff(stream(), x);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const f32* const at = x.data() + i / (n - 1) * n + i % (n - 1);
    return number(at[1]) - number(at[0]);
  });
}
BENCHMARK(diff)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
