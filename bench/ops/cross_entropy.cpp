// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of cross_entropy_loss over classes.
#include <support.hpp>

#include <flaggems/ops/cross_entropy.hpp>

namespace flaggems_bench {
namespace {

template <class T>
void cross_entropy_loss(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  const auto x = random<T>({rows, n}, -3, 3);
  auto target = fg::empty<i64>(stream(), {rows});
  for (i64 r = 0; r < rows; ++r) target.data()[r] = r * 7919 % n;
  auto out = fg::empty<f32>(stream(), {rows});
  for (auto _ : state) {
    fg::cross_entropy_loss(stream(), x, target, std::nullopt, out, {fg::reduction::none});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * x.bytes());
  const auto want = [&](i64 r) {
    double sum = 0;
    for (i64 k = 0; k < n; ++k) sum += std::exp(number(x.data()[r * n + k]));
    return std::log(sum) - number(x.data()[r * n + target.data()[r]]);
  };
  check(state, out, want, n);
}
BENCHMARK_TEMPLATE(cross_entropy_loss, f32)->ArgsProduct({{64}, {1024, 32000}})->UseRealTime();
BENCHMARK_TEMPLATE(cross_entropy_loss, bf16)->ArgsProduct({{64}, {32000}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
