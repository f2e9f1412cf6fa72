// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of elements scattered, and added, along either dimension.
#include <support.hpp>

#include <flaggems/ops/scatter.hpp>

#include <vector>

namespace flaggems_bench {
namespace {

void scatter_add(benchmark::State& state) {
  const i64 dim = state.range(0), n = state.range(1);
  const auto x = random<f32>({n, n}), src = random<f32>({n, n}, -1, 1, 2);
  auto index = random<i64>({n, n}, 0, static_cast<double>(n));
  for (i64 k = 0; k < n * n; ++k)  // each place once
    index.data()[k] = ((dim == 0 ? k / n : k % n) * 3 + 1) % n;
  auto out = fg::scatter_add(stream(), x, dim, index, src);
  for (auto _ : state) {
    fg::scatter_add(stream(), x, dim, index, src, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (3 * out.bytes() + index.bytes()));
  std::vector<i64> from(static_cast<std::size_t>(n));
  for (i64 k = 0; k < n; ++k) from[static_cast<std::size_t>((k * 3 + 1) % n)] = k;
  check(state, out, [&](i64 i) {
    const i64 row = i / n, column = i % n;
    const i64 k = from[static_cast<std::size_t>(dim == 0 ? row : column)];
    return number(x.data()[i]) + number(src.data()[dim == 0 ? k * n + column : row * n + k]);
  });
}
BENCHMARK(scatter_add)->ArgsProduct({{0, 1}, {64, 1024}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
