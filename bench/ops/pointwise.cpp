// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of every row of the pointwise table, of a fused expression, and of strided and
// broadcast operands. The rows are never named here.
#include <support.hpp>

#include <flaggems/ops/pointwise.hpp>
#include <support/pointwise_reference.hpp>

namespace flaggems_bench {
namespace {

/// out = row(x...) for `operands` operands of n elements of T.
template <class T, class Row, int Operands>
void row(benchmark::State& state) {
  const fg::shape n{state.range(0)};
  const auto a = random<T>(n, 0.01, 1), b = random<T>(n, 0.01, 1, 2), c = random<T>(n, 0.3, 1, 3);
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
  check(state, out, [&](i64 i) {
    const double x = number(a.data()[i]), y = number(b.data()[i]), z = number(c.data()[i]);
    if constexpr (Operands == 1) return Row::want(x);
    if constexpr (Operands == 2) return Row::want(x, y);
    if constexpr (Operands == 3) return Row::want(x, y, z);
  });
}

#define FLAGGEMS_ROW(name, rule, operands)                                                    \
  struct name##_row {                                                                         \
    template <class... X>                                                                     \
    static void run(X&... x) {                                                                \
      fg::name(stream(), x...);                                                               \
    }                                                                                         \
    template <class... X>                                                                     \
    static double want(X... x) {                                                              \
      return flaggems_test::reference::name(x...);                                            \
    }                                                                                         \
    template <class T>                                                                        \
    static auto output(const fg::tensor<T, fg::host>& x) {                                    \
      return fg::empty<fg::detail::rule::template result<T>>(stream(), {x.numel()});          \
    }                                                                                         \
  };                                                                                          \
  const auto* const name##_benchmark =                                                        \
      benchmark::RegisterBenchmark("pointwise/" #name "/f32", row<f32, name##_row, operands>) \
          ->Arg(1 << 10)                                                                      \
          ->Arg(1 << 17)                                                                      \
          ->Arg(1 << 24)                                                                      \
          ->UseRealTime();
#define FLAGGEMS_UNARY(name, rule, formula) FLAGGEMS_ROW(name, rule, 1)
#define FLAGGEMS_BINARY(name, rule, formula) FLAGGEMS_ROW(name, rule, 2)
#define FLAGGEMS_TERNARY(name, rule, formula) FLAGGEMS_ROW(name, rule, 3)
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY, FLAGGEMS_TERNARY)

void add_bf16(benchmark::State& state) { row<bf16, add_row, 2>(state); }
BENCHMARK(add_bf16)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();

/// Nothing but the cost of a call: one element.
void call(benchmark::State& state) {
  const auto x = random<f32>({1});
  auto out = random<f32>({1});
  for (auto _ : state) fg::add(stream(), x, x, out);
  check(state, out, [&](i64 i) { return 2 * number(x.data()[i]); });
}
BENCHMARK(call);

/// silu(x) * y + 1 in one pass.
void fused(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n}, -4, 4), y = random<f32>({n}, -1, 1, 2);
  auto out = random<f32>({n});
  for (auto _ : state) {
    fg::assign(stream(), out, fg::silu(x) * y + 1);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 3 * out.bytes());
  check(state, out, [&](i64 i) {
    return flaggems_test::reference::silu(number(x.data()[i])) * number(y.data()[i]) + 1;
  });
}
BENCHMARK(fused)->Arg(1 << 17)->Arg(1 << 24)->UseRealTime();

/// A row and a column, broadcast to a matrix.
void outer_sum(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n}), y = random<f32>({n, 1}, -1, 1, 2);
  auto out = random<f32>({n, n});
  for (auto _ : state) {
    fg::add(stream(), x, y, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * out.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i % n]) + number(y.data()[i / n]); });
}
BENCHMARK(outer_sum)->Arg(300)->Arg(4000)->UseRealTime();

/// An operand that is read across its rows.
void add_transposed(benchmark::State& state) {
  const i64 n = state.range(0);
  const auto x = random<f32>({n, n});
  auto out = random<f32>({n, n});
  for (auto _ : state) {
    fg::add(stream(), x.view().t(), 1, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * out.bytes());
  check(state, out, [&](i64 i) { return number(x.data()[i % n * n + i / n]) + 1; });
}
BENCHMARK(add_transposed)->Arg(300)->Arg(4000)->UseRealTime();

}  // namespace
}  // namespace flaggems_bench
