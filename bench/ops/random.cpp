// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers and bytes per second of drawing from distributions.
#include <support.hpp>

#include <flaggems/ops/random.hpp>

namespace flaggems_bench {
namespace {

/// `draw(x, generator)` of n numbers; `mean` is what the distribution's is.
template <class T, class F>
void measure(benchmark::State& state, double mean, const F& draw) {
  const i64 n = state.range(0);
  auto x = fg::empty<T>(stream(), {n});
  fg::philox_generator generator;
  for (auto _ : state) {
    draw(x, generator);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * n);
  state.SetBytesProcessed(state.iterations() * x.bytes());
  double sum = planted() ? static_cast<double>(n) : 0, squares = 0;
  for (i64 k = 0; k < n; ++k) {
    const double v = number(x.data()[k]);
    sum += v, squares += v * v;
  }
  const double got = sum / static_cast<double>(n);
  const double spread = std::sqrt(squares / static_cast<double>(n) / static_cast<double>(n));
  report(state, std::fabs(got - mean) < 8 * spread,
         "the mean is " + std::to_string(got) + ", not " + std::to_string(mean));
}

template <class T>
void uniform(benchmark::State& state) {
  measure<T>(state, 0.5, [](auto& x, auto& g) { fg::uniform_(stream(), x, 0, 1, g); });
}
template <class T>
void normal(benchmark::State& state) {
  measure<T>(state, 0, [](auto& x, auto& g) { fg::normal_(stream(), x, 0, 1, g); });
}
template <class T>
void exponential(benchmark::State& state) {
  measure<T>(state, 1, [](auto& x, auto& g) { fg::exponential_(stream(), x, 1, g); });
}
template <class T>
void bernoulli(benchmark::State& state) {
  measure<T>(state, 0.5, [](auto& x, auto& g) { fg::bernoulli_(stream(), x, 0.5, g); });
}
template <class T>
void integers(benchmark::State& state) {
  measure<T>(state, 49.5, [](auto& x, auto& g) { fg::random_(stream(), x, 0, 100, g); });
}
BENCHMARK_TEMPLATE(uniform, f32)->Arg(1 << 12)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(uniform, bf16)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(normal, f32)->Arg(1 << 12)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(normal, f64)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(exponential, f32)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(bernoulli, f32)->Arg(1 << 22)->UseRealTime();
BENCHMARK_TEMPLATE(integers, i64)->Arg(1 << 22)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
