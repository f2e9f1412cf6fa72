// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A linear layer with bias, activation and residual: in one pass, and as separate operators.
#include <support.hpp>

#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/pointwise.hpp>

namespace flaggems_bench {
namespace {

template <bool Fused>
void layer(benchmark::State& state) {
  const i64 m = state.range(0), n = 1024, k = 256;
  const auto x = random<float>({m, k}), w = random<float>({n, k}, -1, 1, 2);
  const auto bias = random<float>({n}, -1, 1, 3), residual = random<float>({m, n}, -1, 1, 4);
  auto out = fg::empty<float>(stream(), {m, n});
  for (auto _ : state) {
    if constexpr (Fused) {
      fg::linear(stream(), x, w, out, fg::epilogue(fg::maximum(fg::product + bias, 0) + residual));
    } else {
      fg::linear(stream(), x, w, out);
      fg::assign(stream(), out, fg::maximum(out + bias, 0) + residual);
    }
  }
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                               benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 i) {
    double sum = number(bias.data()[i % n]);
    for (i64 j = 0; j < k; ++j)
      sum += number(x.data()[i / n * k + j]) * number(w.data()[i % n * k + j]);
    return (sum > 0 ? sum : 0) + number(residual.data()[i]);
  };
  check(state, out, want, k);
}
BENCHMARK(layer<true>)->Arg(1)->Arg(64)->Arg(512);
BENCHMARK(layer<false>)->Arg(1)->Arg(64)->Arg(512);

/// A layer of 8-bit integers whose sums become floats by scales of the rows and columns.
void quantised(benchmark::State& state) {
  const i64 m = state.range(0), n = 1024, k = 1024;
  auto x = fg::empty<fg::i8>(stream(), {m, k}), w = fg::empty<fg::i8>(stream(), {n, k});
  for (i64 i = 0; i < m * k; ++i) x.data()[i] = static_cast<fg::i8>(i * 37 % 251 - 125);
  for (i64 i = 0; i < n * k; ++i) w.data()[i] = static_cast<fg::i8>(i * 91 % 253 - 126);
  const auto row = random<float>({m, 1}), column = random<float>({n}, -1, 1, 2);
  auto out = fg::empty<float>(stream(), {m, n});
  for (auto _ : state) fg::linear(stream(), x, w, out, fg::epilogue(fg::product * row * column));
  state.counters["flops"] = benchmark::Counter(2.0 * static_cast<double>(m * n * k),
                                               benchmark::Counter::kIsIterationInvariantRate);
  const auto want = [&](i64 i) {
    i64 sum = 0;
    for (i64 j = 0; j < k; ++j) sum += x.data()[i / n * k + j] * w.data()[i % n * k + j];
    return static_cast<double>(sum) * number(row.data()[i / n]) * number(column.data()[i % n]);
  };
  check(state, out, want, k);
}
BENCHMARK(quantised)->Arg(1)->Arg(64)->Arg(512);

}  // namespace
}  // namespace flaggems_bench
