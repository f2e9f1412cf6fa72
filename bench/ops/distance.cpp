// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the distances of all rows from each other, counting the result.
#include <support.hpp>

#include <flaggems/ops/distance.hpp>

#include <cmath>

namespace flaggems_bench {
namespace {

void cdist(benchmark::State& state) {
  const i64 n = state.range(0), length = 64;
  const auto x = random<f32>({n, length}), y = random<f32>({n, length}, -1, 1, 2);
  auto out = fg::cdist(stream(), x, y);
  for (auto _ : state) {
    fg::cdist(stream(), x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * out.bytes());
  check(state, out, [&](i64 at) {
    double sum = 0;
    for (i64 k = 0; k < length; ++k) {
      const double d =
          number(x.data()[at / n * length + k]) - number(y.data()[at % n * length + k]);
      sum += d * d;
    }
    return std::sqrt(sum);
  });
}
BENCHMARK(cdist)->Arg(64)->Arg(256)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
