// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of Fourier transforms of rows.
#include <support.hpp>

#include <flaggems/ops/complex.hpp>
#include <flaggems/ops/fft.hpp>

namespace flaggems_bench {
namespace {

void fft_fft(benchmark::State& state) {
  const i64 rows = 16, n = state.range(0);
  const auto x = random<f32>({rows, n});
  auto parts = fg::empty<f32>(stream(), {rows, n, 2});
  const auto out = fg::view_as_complex(parts);
  fg::fft_fft(stream(), x, out);
  for (auto _ : state) {
    fg::fft_fft(stream(), x, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + parts.bytes()));
  check(
      state, parts,
      [&](i64 at) {
        double sum = 0;
        for (i64 j = 0; j < n; ++j) {
          const double angle = -2 * std::acos(-1.0) * static_cast<double>(at / 2 % n * j % n) /
                               static_cast<double>(n);
          sum += number(x.data()[at / 2 / n * n + j]) *
                 (at % 2 == 0 ? std::cos(angle) : std::sin(angle));
        }
        return sum;
      },
      n, 1e-4);
}
BENCHMARK(fft_fft)->Arg(64)->Arg(1000)->Arg(1009)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
