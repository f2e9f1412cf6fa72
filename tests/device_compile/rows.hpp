// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every row of a pointwise table as an instance `<row>_row` (instances.py knows their names), in
// f32 or, where it takes integers only, in i32: in the kernel of contiguous operands that moves
// single elements, which compiles in a third of the time of those that chips run.
#pragma once

#include <flaggems/kernel/family/pointwise/simt/pointwise.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace rows {

namespace fk = flaggems::kernels;

// What the rules of the tables read and give.
template <class Operand, class Result>
struct types {
  using result = Result;
  using read = fk::flat_arg<Operand, Operand>;
  template <class F>
  using unary = fk::node<Result, F, read>;
  template <class F>
  using binary = fk::node<Result, F, read, read>;
  template <class F>
  using ternary = fk::node<Result, F, read, read, read>;
};
using numeric = types<float, float>;
using arithmetic = numeric;
using integral = numeric;
using to_float = numeric;
using floating = numeric;
using to_bool = types<float, bool>;
using whole_number = types<int, int>;
using bits = whole_number;
using to_f64 = types<double, double>;
using parts = types<float, flaggems::c64>;

}  // namespace rows

#define FLAGGEMS_ROW(name, rule, ...)                                                            \
  FLAGGEMS_INSTANCE(name##_row, fk::pointwise_flat<rows::rule::result, rows::rule::__VA_ARGS__>, \
                    flaggems::i64, bool, fk::global_ptr<rows::rule::result>,                     \
                    rows::rule::__VA_ARGS__)
#define FLAGGEMS_UNARY_ROW(name, rule, ...) FLAGGEMS_ROW(name, rule, unary<fk::name##_fn>)
#define FLAGGEMS_BINARY_ROW(name, rule, ...) FLAGGEMS_ROW(name, rule, binary<fk::name##_fn>)
#define FLAGGEMS_TERNARY_ROW(name, rule, ...) FLAGGEMS_ROW(name, rule, ternary<fk::name##_fn>)
// With options.
#define FLAGGEMS_UNARY_ROW_OF(name, rule, ...) FLAGGEMS_ROW(name, rule, unary<fk::name##_fn<float>>)
#define FLAGGEMS_BINARY_ROW_OF(name, rule, ...) \
  FLAGGEMS_ROW(name, rule, binary<fk::name##_fn<float>>)
