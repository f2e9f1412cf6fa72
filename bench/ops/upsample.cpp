// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of images at twice their size.
#include <support.hpp>

#include <flaggems/ops/upsample.hpp>

namespace flaggems_bench {
namespace {

void upsample_nearest2d(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({1, 8, n, n});
  auto out = fg::upsample_nearest2d(stream(), x, {2 * n, 2 * n});
  for (auto _ : state) {
    fg::upsample_nearest2d(stream(), x, out, {2 * n, 2 * n});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 row = i / (2 * n) / 2, column = i % (2 * n) / 2;
    return number(x.data()[row * n + column]);
  });
}
BENCHMARK(upsample_nearest2d)->Arg(32)->Arg(112)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
