// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of batch norms.
#include <support.hpp>

#include <flaggems/ops/batch_norm.hpp>

namespace flaggems_bench {
namespace {

constexpr double eps = 1e-5;

/// By the statistics of the batch if `Training`, else by running ones of 0.5.
template <class T, bool Training>
void native_batch_norm(benchmark::State& state) {
  const i64 channels = state.range(0), own = state.range(1), batch = 8;
  const auto x = random<T>({batch, channels, own}, -1, 2), w = random<T>({channels}, 0, 1, 2);
  auto running = fg::full<T>(stream(), {channels}, 0.5), out = fg::empty_like(stream(), x),
       mean = fg::empty_like(stream(), running), rstd = fg::empty_like(stream(), running),
       var = fg::full<T>(stream(), {channels}, 0.5);
  for (auto _ : state) {
    fg::native_batch_norm(stream(), x, w, w, running, var, out, mean, rstd, Training, 0.1, eps);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * x.bytes());
  const auto want = [&](i64 i) {
    const i64 channel = i / own % channels;
    const auto each = [&](const auto& f) {
      for (i64 n = 0; n < batch; ++n)
        for (i64 k = 0; k < own; ++k) f(number(x.data()[(n * channels + channel) * own + k]));
    };
    const auto count = static_cast<double>(batch * own);
    double m = Training ? 0 : 0.5, squares = Training ? 0 : 0.5 * count;
    if (Training) {
      each([&](double v) { m += v / count; });
      each([&](double v) { squares += (v - m) * (v - m); });
    }
    const double scale = number(w.data()[channel]);
    return (number(x.data()[i]) - m) / std::sqrt(squares / count + eps) * scale + scale;
  };
  check(state, out, want, batch * own);
}
BENCHMARK_TEMPLATE(native_batch_norm, f32, true)->ArgsProduct({{64}, {49, 3136}})->UseRealTime();
BENCHMARK_TEMPLATE(native_batch_norm, bf16, true)->ArgsProduct({{64}, {3136}})->UseRealTime();
BENCHMARK_TEMPLATE(native_batch_norm, f32, false)->ArgsProduct({{64}, {3136}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
