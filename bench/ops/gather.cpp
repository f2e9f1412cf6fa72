// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of elements gathered along either dimension.
#include <support.hpp>

#include <flaggems/ops/gather.hpp>

namespace flaggems_bench {
namespace {

void gather(benchmark::State& state) {
  const i64 dim = state.range(0), n = state.range(1);
  const auto x = random<f32>({n, n});
  const auto index = random<i64>({n, n}, 0, static_cast<double>(n));
  auto out = fg::gather(stream(), x, dim, index);
  for (auto _ : state) {
    fg::gather(stream(), x, dim, index, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (2 * out.bytes() + index.bytes()));
  check(state, out, [&](i64 i) {
    const i64 k = index.data()[i];
    return number(x.data()[dim == 0 ? k * n + i % n : i / n * n + k]);
  });
}
BENCHMARK(gather)->ArgsProduct({{0, 1}, {64, 1024}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
