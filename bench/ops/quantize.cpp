// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of rounding to the steps of 8-bit integers.
#include <support.hpp>

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/quantize.hpp>

#include <algorithm>
#include <cmath>

namespace flaggems_bench {
namespace {

void fake_quantize_per_channel_affine(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({64, n}, -4, 4);
  const auto scale = fg::full<f32>(stream(), {64}, 0.03125);
  const auto zero = fg::zeros<fg::i32>(stream(), {64});
  auto out = fg::fake_quantize_per_channel_affine(stream(), x, scale, zero, 0, -128, 127);
  for (auto _ : state) {
    out = fg::fake_quantize_per_channel_affine(stream(), x, scale, zero, 0, -128, 127);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  check(state, out, [&](i64 i) {
    const double steps = std::nearbyint(number(x.data()[i]) * 32);
    return std::clamp(steps, -128.0, 127.0) / 32;
  });
}
BENCHMARK(fake_quantize_per_channel_affine)->Arg(64)->Arg(4096)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
