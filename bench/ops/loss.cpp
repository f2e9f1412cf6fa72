// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of a loss that one pass computes and reduces, and of its gradient.
#include <flaggems/ops/loss.hpp>
#include <support.hpp>

namespace flaggems_bench {
namespace {

void mse_loss(benchmark::State& state) {
  const auto x = random<f32>({state.range(0)}), t = random<f32>({state.range(0)}, -1, 1, 2);
  auto out = fg::empty<f32>(stream(), {});
  for (auto _ : state) {
    fg::mse_loss(stream(), x, t, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  check(
      state, out,
      [&](i64) {
        double sum = 0;
        for (i64 k = 0; k < x.numel(); ++k) {
          const double d = number(x.data()[k]) - number(t.data()[k]);
          sum += d * d;
        }
        return sum / static_cast<double>(x.numel());
      },
      x.numel());
}
void smooth_l1_loss_backward(benchmark::State& state) {
  const auto x = random<f32>({state.range(0)}), t = random<f32>({state.range(0)}, -1, 1, 2);
  const auto grad = random<f32>({state.range(0)}, -1, 1, 3);
  auto out = fg::empty_like(stream(), x);
  for (auto _ : state) {
    fg::smooth_l1_loss_backward(stream(), grad, x, t, out, fg::reduction::none, 0.5);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 4 * x.bytes());
  check(state, out, [&](i64 i) {
    const double d = (number(x.data()[i]) - number(t.data()[i])) / 0.5;
    return number(grad.data()[i]) * std::clamp(d, -1.0, 1.0);
  });
}
BENCHMARK(mse_loss)->Arg(1 << 10)->Arg(1 << 20)->UseRealTime();
BENCHMARK(smooth_l1_loss_backward)->Arg(1 << 10)->Arg(1 << 20)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
