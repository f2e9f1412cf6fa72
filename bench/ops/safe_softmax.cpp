// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of softmax that takes rows of -inf.
#include <support.hpp>

#include <flaggems/ops/safe_softmax.hpp>

#include <cmath>

namespace flaggems_bench {
namespace {

void safe_softmax(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n});
  auto out = fg::safe_softmax(stream(), x, 1);
  for (auto _ : state) {
    fg::safe_softmax(stream(), x, out, 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    double sum = 0;
    for (i64 k = 0; k < n; ++k) sum += std::exp(number(x.data()[i / n * n + k]));
    return std::exp(number(x.data()[i])) / sum;
  });
}
BENCHMARK(safe_softmax)->Arg(64)->Arg(1024)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
