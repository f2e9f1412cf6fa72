// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of images at twice their size, by lines between their elements.
#include <support.hpp>

#include <flaggems/ops/interpolate.hpp>

#include <algorithm>

namespace flaggems_bench {
namespace {

void upsample_bilinear2d(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({1, 8, n, n});
  auto out = fg::upsample_bilinear2d(stream(), x, {2 * n, 2 * n}, false);
  for (auto _ : state) {
    fg::upsample_bilinear2d(stream(), x, out, {2 * n, 2 * n}, false);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + out.bytes()));
  const auto at = [&](i64 plane, double row, double column) {
    const auto place = [&](double of) { return std::clamp(of, 0.0, static_cast<double>(n - 1)); };
    const double r = std::floor(row), c = std::floor(column);
    double sum = 0;
    for (const double i : {r, r + 1})
      for (const double j : {c, c + 1})
        sum += (1 - std::abs(i - row)) * (1 - std::abs(j - column)) *
               number(x.data()[(plane * n + static_cast<i64>(place(i))) * n +
                               static_cast<i64>(place(j))]);
    return sum;
  };
  check(state, out, [&](i64 i) {
    return at(i / (4 * n * n), static_cast<double>(i / (2 * n) % (2 * n)) / 2 - 0.25,
              static_cast<double>(i % (2 * n)) / 2 - 0.25);
  });
}
BENCHMARK(upsample_bilinear2d)->Arg(32)->Arg(112)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
