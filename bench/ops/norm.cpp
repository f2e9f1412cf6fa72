// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the norms over rows, from the first cache to memory.
#include <support.hpp>

#include <flaggems/ops/norm.hpp>

namespace flaggems_bench {
namespace {

constexpr double eps = 1e-5;

template <class T>
struct operands {
  fg::tensor<T> x, weight, out;
  explicit operands(const benchmark::State& state)
      : x(random<T>({state.range(0), state.range(1)}, -1, 9)),
        weight(random<T>({state.range(1)}, 0, 1, 2)),
        out(random<T>({state.range(0), state.range(1)}, -1, 1, 3)) {}
};

/// Element i of the norm of rows of n elements, element(i) being those of the input.
template <class T, class Element>
double normalized(const fg::tensor<T>& weight, i64 i, bool centred, const Element& element) {
  const i64 n = weight.numel(), row = i / n * n;
  double mean = 0, squares = 0;
  for (i64 k = row; k < row + n && centred; ++k) mean += element(k) / static_cast<double>(n);
  for (i64 k = row; k < row + n; ++k) squares += (element(k) - mean) * (element(k) - mean);
  const double w = number(weight.data()[i % n]);
  const double scale = std::sqrt(squares / static_cast<double>(n) + eps);
  return (element(i) - mean) / scale * w + (centred ? w : 0);
}

template <class T>
void layer_norm(benchmark::State& state) {
  operands<T> o(state);
  for (auto _ : state) {
    fg::layer_norm(stream(), o.x, {state.range(1)}, o.weight, o.weight, o.out, eps);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * o.x.bytes());
  const auto want = [&](i64 i) {
    return normalized(o.weight, i, true, [&](i64 k) { return number(o.x.data()[k]); });
  };
  check(state, o.out, want, state.range(1));
}
template <class T>
void rms_norm(benchmark::State& state) {
  operands<T> o(state);
  for (auto _ : state) {
    fg::rms_norm(stream(), o.x, {state.range(1)}, o.weight, o.out, eps);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * o.x.bytes());
  const auto want = [&](i64 i) {
    return normalized(o.weight, i, false, [&](i64 k) { return number(o.x.data()[k]); });
  };
  check(state, o.out, want, state.range(1));
}
template <class T>
void fused_add_rms_norm(benchmark::State& state) {
  operands<T> o(state), given(state);
  for (auto _ : state) {
    fg::fused_add_rms_norm(stream(), o.x, o.out, o.weight, eps);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 4 * o.x.bytes());
  // In place, so what is checked is another call.
  operands<T> once(state);
  fg::fused_add_rms_norm(stream(), once.x, once.out, once.weight, eps);
  const auto want = [&](i64 i) {
    return normalized(o.weight, i, false, [&](i64 k) {
      return number(given.x.data()[k]) + number(given.out.data()[k]);
    });
  };
  check(state, once.x, want, state.range(1));
}

void rows(benchmark::internal::Benchmark* b) {
  b->ArgsProduct({{1, 64, 4096}, {576, 4096}})->UseRealTime();
}
BENCHMARK_TEMPLATE(layer_norm, f32)->Apply(rows);
BENCHMARK_TEMPLATE(layer_norm, bf16)->Apply(rows);
BENCHMARK_TEMPLATE(rms_norm, f32)->Apply(rows);
BENCHMARK_TEMPLATE(rms_norm, bf16)->Apply(rows);
BENCHMARK_TEMPLATE(fused_add_rms_norm, f32)->Apply(rows);

}  // namespace
}  // namespace flaggems_bench
