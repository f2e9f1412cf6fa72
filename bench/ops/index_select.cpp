// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of index_select along rows and along columns.
#include <support.hpp>

#include <flaggems/ops/index_select.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void index_select(benchmark::State& state) {
  const i64 dim = state.range(0), n = state.range(1);
  const auto x = random<T>({n, n});
  const auto index = random<i64>({n / 2}, 0, static_cast<double>(n));
  auto out = fg::index_select(stream(), x, dim, index);
  for (auto _ : state) {
    fg::index_select(stream(), x, dim, index, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) {
    const i64 row = i / out.size(1), column = i % out.size(1);
    return number(dim == 0 ? x.data()[index.data()[row] * n + column]
                           : x.data()[row * n + index.data()[column]]);
  });
}
BENCHMARK_TEMPLATE(index_select, f32)->ArgsProduct({{0, 1}, {64, 1024, 4096}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
