// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations of the rows of a pointwise table, by the names that the table gives them:
//   FLAGGEMS_ROUNDING_TABLE(BENCH_UNARY, BENCH_BINARY)
// A row's options have their defaults, or 0.75, 1.25 and 0.5; a row of integers takes i32.
#pragma once

#include "bridge.hpp"

#include <flaggems/ops/forms.hpp>

#include <utility>

namespace bridge {

/// f(T{}) for the type of the operands of a row of `Rule`.
template <class Rule, class F>
void with_operand(const call& c, F&& f) {
  if constexpr (std::is_same_v<Rule, fg::detail::whole_number> ||
                std::is_same_v<Rule, fg::detail::bits>)
    f(fg::i32{});
  else
    with_float(c, 0, f);
}
/// f(operands..., result) of a row.
template <class Rule, class T, std::size_t... K, class F>
void with_views(const call& c, std::index_sequence<K...>, F&& f) {
  f(c.view<const T>(K)..., c.view<typename Rule::template result<T>>(sizeof...(K)));
}

#define BENCH_ROW(name, rule_name, operands, ...)                                       \
  const entry row_##name(#name, [](const call& c) {                                     \
    using rule = fg::detail::rule_name;                                                 \
    with_operand<rule>(c, [&]<class T>(T) {                                             \
      with_views<rule, T>(c, std::make_index_sequence<operands>(),                      \
                          [&](const auto&... x) { fg::name(c.on, x... __VA_ARGS__); }); \
    });                                                                                 \
  });
#define BENCH_OPTIONS1 , 0.75
#define BENCH_OPTIONS2 , 0.75, 1.25
#define BENCH_OPTIONS3 , 0.75, 1.25, 0.5
#define BENCH_UNARY(name, rule, ...) BENCH_ROW(name, rule, 1, )
#define BENCH_UNARY1(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_OPTIONS1)
#define BENCH_UNARY2(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_OPTIONS2)
#define BENCH_UNARY3(name, rule, ...) BENCH_ROW(name, rule, 1, BENCH_OPTIONS3)
#define BENCH_BINARY(name, rule, ...) BENCH_ROW(name, rule, 2, )
#define BENCH_BINARY1(name, rule, ...) BENCH_ROW(name, rule, 2, BENCH_OPTIONS1)
#define BENCH_BINARY2(name, rule, ...) BENCH_ROW(name, rule, 2, BENCH_OPTIONS2)
#define BENCH_TERNARY(name, rule, ...) BENCH_ROW(name, rule, 3, )

}  // namespace bridge
