// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of every row of the basic table, of a fused expression, and of strided and
// broadcast operands. The rows are never named here.
#include <flaggems/ops/pointwise.hpp>
#include <pointwise_rows.hpp>

namespace flaggems_bench {
namespace {

#define SIZES ->Arg(1 << 10)->Arg(1 << 17)->Arg(1 << 24)
#define UNARY(name, rule, ...) BENCH_ROW(name, rule, 1, SIZES, )
#define BINARY(name, rule, ...) BENCH_ROW(name, rule, 2, SIZES, )
#define TERNARY(name, rule, ...) BENCH_ROW(name, rule, 3, SIZES, )
FLAGGEMS_POINTWISE_TABLE(UNARY, BINARY, TERNARY)

void add_bf16(benchmark::State& state) { pointwise_row<bf16, add_row>(state); }
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
