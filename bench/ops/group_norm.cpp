// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of group_norm.
#include <support.hpp>

#include <flaggems/ops/group_norm.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void group_norm(benchmark::State& state) {
  const i64 channels = state.range(0), own = state.range(1), groups = 8;
  const auto x = random<T>({2, channels, own}, -1, 2), w = random<T>({channels}, 0, 1, 2);
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    fg::group_norm(stream(), x, groups, w, w, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  const i64 n = channels / groups * own;
  const auto want = [&](i64 i) {
    const i64 row = i / n * n;
    double mean = 0, squares = 0;
    for (i64 k = row; k < row + n; ++k) mean += number(x.data()[k]) / static_cast<double>(n);
    for (i64 k = row; k < row + n; ++k)
      squares += (number(x.data()[k]) - mean) * (number(x.data()[k]) - mean);
    const double v = number(w.data()[i / own % channels]);
    return (number(x.data()[i]) - mean) / std::sqrt(squares / static_cast<double>(n) + 1e-5) * v +
           v;
  };
  check(state, out, want, n);
}
BENCHMARK_TEMPLATE(group_norm, f32)->ArgsProduct({{64, 320}, {49, 4096}})->UseRealTime();
BENCHMARK_TEMPLATE(group_norm, bf16)->ArgsProduct({{320}, {4096}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
