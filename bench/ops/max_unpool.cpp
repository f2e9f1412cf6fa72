// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of elements back in an image of twice their size.
#include <support.hpp>

#include <flaggems/ops/max_unpool.hpp>

namespace flaggems_bench {
namespace {

void max_unpool2d(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({8, n, n});
  auto indices = fg::empty<i64>(stream(), {8, n, n});
  for (i64 i = 0; i < indices.numel(); ++i)
    indices.data()[i] = i / n % n * 4 * n + i % n * 2;  // the first of each window of four
  auto out = fg::max_unpool2d(stream(), x, indices, {2 * n, 2 * n});
  for (auto _ : state) {
    out = fg::max_unpool2d(stream(), x, indices, {2 * n, 2 * n});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (3 * x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 row = i / (2 * n), column = i % (2 * n);
    return row % 2 + column % 2 != 0 ? 0.0 : number(x.data()[row / 2 * n + column / 2]);
  });
}
BENCHMARK(max_unpool2d)->Arg(32)->Arg(112)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
