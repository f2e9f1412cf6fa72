// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of four residual streams that are mixed behind a layer, and tokens per second of
// mixes that are made before one.
#include <support.hpp>

#include <flaggems/ops/hyper_connections.hpp>

namespace flaggems_bench {
namespace {

void mhc_post(benchmark::State& state) {
  const i64 tokens = state.range(0), n = 4, width = 1024;
  const auto x = random<bf16>({tokens, width});
  const auto streams = random<bf16>({tokens, n, width}, -1, 1, 2);
  const auto post = random<f32>({tokens, n, 1}, 0, 1, 3),
             comb = random<f32>({tokens, n, n}, 0, 1, 4);
  auto out = fg::empty<bf16>(stream(), {tokens, n, width});
  for (auto _ : state) {
    fg::mhc_post(stream(), x, streams, post, comb, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (x.bytes() + 2 * out.bytes()));
  check(state, out, [&](i64 i) {
    const i64 h = i % width, row = i / width, token = row / n, own = row % n;
    double sum = number(post.data()[row]) * number(x.data()[token * width + h]);
    for (i64 j = 0; j < n; ++j)
      sum += number(comb.data()[(token * n + j) * n + own]) *
             number(streams.data()[(token * n + j) * width + h]);
    return sum;
  });
}
BENCHMARK(mhc_post)->Arg(1)->Arg(256)->UseRealTime();

void sinkhorn_forward(benchmark::State& state) {
  const i64 tokens = state.range(0), n = 4;
  const auto m = random<f32>({tokens, n, n});
  auto out = fg::empty<f32>(stream(), {tokens, n, n}), powers = fg::empty_like(stream(), out);
  for (auto _ : state) {
    fg::sinkhorn_forward(stream(), m, out, powers);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * tokens);
  check(state, powers, [&](i64 i) { return std::exp(number(m.data()[i])); });
  auto sums = fg::empty<f32>(stream(), {tokens, n});
  for (i64 k = 0; k < tokens * n; ++k) {
    sums.data()[k] = 0;
    for (i64 j = 0; j < n; ++j) sums.data()[k] += out.data()[k * n + j];
  }
  check(state, sums, [](i64) { return 1.0; });
}
BENCHMARK(sinkhorn_forward)->Arg(64)->Arg(8192)->UseRealTime();

void mhc_pre(benchmark::State& state) {
  const i64 tokens = state.range(0), n = 4, width = 512, mixes = 24;
  const auto x = random<bf16>({tokens, n, width});
  const auto fn = random<f32>({mixes, n * width}, -0.1, 0.1, 2);
  const auto scale = random<f32>({3}, 0, 1, 3), base = random<f32>({mixes}, -1, 1, 4);
  for (auto _ : state) benchmark::DoNotOptimize(fg::mhc_pre(stream(), x, fn, scale, base));
  state.SetItemsProcessed(state.iterations() * tokens);
  const auto made = fg::mhc_pre(stream(), x, fn, scale, base);
  check(state, std::get<0>(made), [&](i64 i) {
    const i64 token = i / n, row = n + i % n;
    double sum = 0, squares = 0;
    for (i64 k = 0; k < n * width; ++k) {
      const double v = number(x.data()[token * n * width + k]);
      sum += v * number(fn.data()[row * n * width + k]);
      squares += v * v;
    }
    const double m = sum / std::sqrt(squares / static_cast<double>(n * width) + 1e-6);
    return 2 / (1 + std::exp(-(m * number(scale.data()[1]) + number(base.data()[row]))));
  });
}
BENCHMARK(mhc_pre)->Arg(1)->Arg(128)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
