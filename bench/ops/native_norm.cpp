// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the gradients of norms.
#include <support.hpp>

#include <flaggems/ops/native_norm.hpp>

namespace flaggems_bench {
namespace {

constexpr double eps = 1e-5;

/// The gradient of x, its kept statistics, and the forward pass that gave these.
template <class T>
void native_layer_norm_backward(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  const auto x = random<T>({rows, n}, -1, 2), grad = random<T>({rows, n}, -1, 1, 2),
             w = random<T>({n}, 0, 1, 3);
  const auto kept = fg::native_layer_norm(stream(), x, {n}, w, std::nullopt, eps);
  auto out = fg::empty_like(stream(), x), of_weight = fg::empty_like(stream(), w),
       of_bias = fg::empty_like(stream(), w);
  for (auto _ : state) {
    fg::native_layer_norm_backward(stream(), grad, x, {n}, kept.mean, kept.rstd, w, std::nullopt,
                                   out, of_weight, of_bias);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * x.bytes());
  const auto want = [&](i64 i) {
    const i64 row = i / n * n;
    const double m = number(kept.mean.data()[i / n]), s = number(kept.rstd.data()[i / n]);
    double sum = 0, product = 0;
    for (i64 k = 0; k < n; ++k) {
      const double h = number(grad.data()[row + k]) * number(w.data()[k]);
      sum += h / static_cast<double>(n);
      product += h * (number(x.data()[row + k]) - m) * s / static_cast<double>(n);
    }
    const double h = number(grad.data()[i]) * number(w.data()[i - row]);
    return s * (h - sum - (number(x.data()[i]) - m) * s * product);
  };
  check(state, out, want, n);
}
BENCHMARK_TEMPLATE(native_layer_norm_backward, f32)
    ->ArgsProduct({{64, 4096}, {1024}})
    ->UseRealTime();
BENCHMARK_TEMPLATE(native_layer_norm_backward, bf16)
    ->ArgsProduct({{64, 4096}, {1024}})
    ->UseRealTime();

template <class T>
void fused_rms_norm_backward(benchmark::State& state) {
  const i64 rows = state.range(0), n = state.range(1);
  const auto x = random<T>({rows, n}, -1, 2), grad = random<T>({rows, n}, -1, 1, 2),
             w = random<T>({n}, 0, 1, 3);
  const auto kept = fg::fused_rms_norm(stream(), x, {n}, w, eps);
  auto out = fg::empty_like(stream(), x), of_weight = fg::empty_like(stream(), w);
  for (auto _ : state) {
    fg::fused_rms_norm_backward(stream(), grad, x, {n}, kept.rstd, w, out, of_weight);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * x.bytes());
  const auto want = [&](i64 i) {
    const i64 row = i / n * n;
    const double s = number(kept.rstd.data()[i / n]);
    double product = 0;
    for (i64 k = 0; k < n; ++k)
      product += number(grad.data()[row + k]) * number(w.data()[k]) * number(x.data()[row + k]) *
                 s / static_cast<double>(n);
    return s *
           (number(grad.data()[i]) * number(w.data()[i - row]) - number(x.data()[i]) * s * product);
  };
  check(state, out, want, n);
}
BENCHMARK_TEMPLATE(fused_rms_norm_backward, f32)->ArgsProduct({{64, 4096}, {1024}})->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
