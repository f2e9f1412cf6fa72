// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of every row of the pointwise table, of a fused expression, and of strided and
// broadcast operands. The rows are never named here.
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace {

namespace fg = flaggems;

const fg::stream<fg::host>& stream() {
  static const fg::stream<fg::host> s;
  return s;
}
template <class T>
auto operand(const fg::shape& sizes) {
  auto x = fg::empty<T>(stream(), sizes);
  for (fg::i64 k = 0; k < x.numel(); ++k) x.data()[k] = T(static_cast<float>(k % 97 + 1) / 97.0F);
  return x;
}

/// out = row(x...) for `operands` operands of n elements of T.
template <class T, class Row, int Operands>
void row(benchmark::State& state) {
  const fg::i64 n = state.range(0);
  const auto a = operand<T>({n}), b = operand<T>({n}), c = operand<T>({n});
  const auto run = [&](auto& out) {
    if constexpr (Operands == 1) Row::run(a, out);
    if constexpr (Operands == 2) Row::run(a, b, out);
    if constexpr (Operands == 3) Row::run(a, b, c, out);
  };
  auto out = Row::output(a);
  for (auto _ : state) {
    run(out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (Operands * a.bytes() + out.bytes()));
}

#define FLAGGEMS_ROW(name, rule, operands)                                                        \
  struct name##_row {                                                                             \
    template <class... X>                                                                         \
    static void run(X&... x) {                                                                    \
      fg::name(stream(), x...);                                                                   \
    }                                                                                             \
    template <class T>                                                                            \
    static auto output(const fg::tensor<T, fg::host>& x) {                                        \
      return fg::empty<fg::detail::rule::template result<T>>(stream(), {x.numel()});              \
    }                                                                                             \
  };                                                                                              \
  const auto* const name##_benchmark =                                                            \
      benchmark::RegisterBenchmark("pointwise/" #name "/f32", row<fg::f32, name##_row, operands>) \
          ->Arg(1 << 10)                                                                          \
          ->Arg(1 << 17)                                                                          \
          ->Arg(1 << 24)                                                                          \
          ->UseRealTime();
#define FLAGGEMS_UNARY(name, rule, formula) FLAGGEMS_ROW(name, rule, 1)
#define FLAGGEMS_BINARY(name, rule, formula) FLAGGEMS_ROW(name, rule, 2)
#define FLAGGEMS_TERNARY(name, rule, formula) FLAGGEMS_ROW(name, rule, 3)
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY, FLAGGEMS_TERNARY)

void add_bf16(benchmark::State& state) { row<fg::bf16, add_row, 2>(state); }
BENCHMARK(add_bf16)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();

/// Nothing but the cost of a call: one element.
void call(benchmark::State& state) {
  auto x = operand<fg::f32>({1});
  for (auto _ : state) fg::add(stream(), x, x, x);
}
BENCHMARK(call);

/// silu(x) * y + 1 in one pass.
void fused(benchmark::State& state) {
  const fg::i64 n = state.range(0);
  const auto x = operand<fg::f32>({n}), y = operand<fg::f32>({n});
  auto out = operand<fg::f32>({n});
  for (auto _ : state) {
    fg::assign(stream(), out, fg::silu(x) * y + 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * out.bytes());
}
BENCHMARK(fused)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();

/// A row and a column, broadcast to a matrix.
void outer_sum(benchmark::State& state) {
  const fg::i64 n = state.range(0);
  const auto x = operand<fg::f32>({n}), y = operand<fg::f32>({n, 1});
  auto out = operand<fg::f32>({n, n});
  for (auto _ : state) {
    fg::add(stream(), x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * out.bytes());
}
BENCHMARK(outer_sum)->Arg(300)->Arg(4000)->UseRealTime();

/// An operand that is read across its rows.
void add_transposed(benchmark::State& state) {
  const fg::i64 n = state.range(0);
  const auto x = operand<fg::f32>({n, n});
  auto out = operand<fg::f32>({n, n});
  for (auto _ : state) {
    fg::add(stream(), x.view().t(), 1, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
}
BENCHMARK(add_transposed)->Arg(300)->Arg(4000)->UseRealTime();

}  // namespace
