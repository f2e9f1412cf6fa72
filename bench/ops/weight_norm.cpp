// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of weight_norm.
#include <support.hpp>

#include <flaggems/ops/weight_norm.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void weight_norm_interface(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  const auto v = random<T>({rows, n}, -1, 1), g = random<T>({rows, 1}, 0.5, 2, 2);
  auto out = fg::empty_like(stream(), v), norms = fg::empty_like(stream(), g);
  for (auto _ : state) {
    fg::weight_norm_interface(stream(), v, g, out, norms);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * v.bytes());
  const auto want = [&](i64 i) {
    double squares = 0;
    for (i64 k = i / n * n; k < i / n * n + n; ++k)
      squares += number(v.data()[k]) * number(v.data()[k]);
    return number(g.data()[i / n]) * number(v.data()[i]) / std::sqrt(squares);
  };
  check(state, out, want, n);
}
BENCHMARK_TEMPLATE(weight_norm_interface, f32)->ArgsProduct({{64, 4096}, {1024}})->UseRealTime();
BENCHMARK_TEMPLATE(weight_norm_interface, bf16)->ArgsProduct({{4096}, {1024}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
