// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Bytes per second of the rows of a pointwise table:
//   FLAGGEMS_ROUNDING_TABLE(BENCH_UNARY, BENCH_BINARY)
#pragma once

#include <support.hpp>

#include <flaggems/ops/forms.hpp>
#include <support/pointwise_reference.hpp>

namespace flaggems_bench {

/// out = row(x...) for `operands` operands of n elements of T; a row with options has its defaults,
/// or 0.75 and 1.25.
template <class T, class Row>
void pointwise_row(benchmark::State& state) {
  constexpr int operands = Row::operands;
  const fg::shape n{state.range(0)};
  constexpr flaggems_test::row_facts facts = flaggems_test::facts_of(Row::title);
  const double top = std::is_integral_v<T> ? 20
                     : facts.low >= 1      ? facts.high
                                           : 1,
               low = std::is_integral_v<T> || facts.low >= 1 ? 1 : 0.01;
  const auto a = random<T>(n, low, top), b = random<T>(n, low, top, 2), c = random<T>(n, 0.3, 1, 3);
  auto out = fg::empty<typename Row::rule::template result<T>>(stream(), n);
  for (auto _ : state) {
    if constexpr (operands == 1) Row::run(a, out);
    if constexpr (operands == 2) Row::run(a, b, out);
    if constexpr (operands == 3) Row::run(a, b, c, out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * (operands * a.bytes() + out.bytes()));
  check(state, out, [&](i64 i) {
    const double x = number(a.data()[i]), y = number(b.data()[i]), z = number(c.data()[i]);
    if constexpr (operands == 1) return Row::want(x);
    if constexpr (operands == 2) return Row::want(x, y);
    if constexpr (operands == 3) return Row::want(x, y, z);
  });
}

/// f32, or i32 where a rule takes integers only.
template <class Rule>
using benched_type = std::conditional_t<std::is_same_v<Rule, fg::detail::whole_number> ||
                                            std::is_same_v<Rule, fg::detail::bits>,
                                        fg::i32, f32>;

#define BENCH_ROW(name, rule_name, operand_count, sizes, ...)                                      \
  struct name##_row {                                                                              \
    static constexpr const char* title = #name;                                                    \
    using rule = fg::detail::rule_name;                                                            \
    static constexpr int operands = operand_count;                                                 \
    template <class... X>                                                                          \
    static void run(X&... x) {                                                                     \
      fg::name(stream(), x... __VA_ARGS__);                                                        \
    }                                                                                              \
    template <class... X>                                                                          \
    static double want(X... x) {                                                                   \
      return flaggems_test::reference::name(x... __VA_ARGS__);                                     \
    }                                                                                              \
  };                                                                                               \
  const auto* const name##_benchmark =                                                             \
      benchmark::RegisterBenchmark("pointwise/" #name,                                             \
                                   pointwise_row<benched_type<fg::detail::rule_name>, name##_row>) \
          sizes->UseRealTime();
#define BENCH_ONE_SIZE ->Arg(1 << 17)
#define BENCH_OPTIONS1 , 0.75
#define BENCH_OPTIONS2 , 0.75, 1.25
#define BENCH_OPTIONS3 , 0.75, 1.25, 0.5
#define BENCH_UNARY(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_ONE_SIZE, )
#define BENCH_UNARY1(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_ONE_SIZE, BENCH_OPTIONS1)
#define BENCH_UNARY2(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_ONE_SIZE, BENCH_OPTIONS2)
#define BENCH_UNARY3(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_ONE_SIZE, BENCH_OPTIONS3)
#define BENCH_BINARY(name, rule, ...) BENCH_ROW(name, rule, 2, BENCH_ONE_SIZE, )
#define BENCH_BINARY1(name, rule, ...) BENCH_ROW(name, rule, 2, BENCH_ONE_SIZE, BENCH_OPTIONS1)
#define BENCH_BINARY2(name, rule, ...) BENCH_ROW(name, rule, 2, BENCH_ONE_SIZE, BENCH_OPTIONS2)
#define BENCH_TERNARY(name, rule, ...) BENCH_ROW(name, rule, 3, BENCH_ONE_SIZE, )

}  // namespace flaggems_bench
