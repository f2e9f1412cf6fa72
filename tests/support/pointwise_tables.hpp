// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The test of a pointwise table: each row against its reference in double, on the host at every
// level in f32 and another dtype, which rotates over the rows, and on a chip; special values,
// layouts, sizes, options, forms, errors. (The basic table has tests of its own, which also cover
// what all rows share.)
//
//   FLAGGEMS_ROUNDING_TABLE(TEST_UNARY, TEST_BINARY)
//   using rows = row_list<void FLAGGEMS_ROUNDING_TABLE(TEST_LISTED, TEST_LISTED)>;
//   TYPED_TEST(rounding, rows) { check_table<TypeParam, rows>(); }
#pragma once

#include <support/pointwise.hpp>

#include <limits>
#include <sstream>

namespace flaggems_test {

#define TEST_ROW(row_name, rule_name, operands, option_count, defaults, in_place_form)  \
  struct row_name##_row {                                                               \
    static constexpr const char* name = #row_name;                                      \
    static constexpr int arity = operands, options = option_count;                      \
    static constexpr bool has_defaults = defaults;                                      \
    static constexpr bool has_in_place = sizeof(#in_place_form) > 1;                    \
    using rule = fg::detail::rule_name;                                                 \
    template <class... X>                                                               \
    static auto expression(const X&... x) {                                             \
      return fg::row_name(x...);                                                        \
    }                                                                                   \
    template <class S, class... X>                                                      \
    static auto eager(const S& stream, X&&... x) {                                      \
      return fg::row_name(stream, x...);                                                \
    }                                                                                   \
    template <class S, class... X>                                                      \
    static void in_place([[maybe_unused]] const S& stream, [[maybe_unused]] X&&... x) { \
      in_place_form;                                                                    \
    }                                                                                   \
    template <class... X>                                                               \
    static double want(X... x) {                                                        \
      return reference::row_name(x...);                                                 \
    }                                                                                   \
  };
#define TEST_UNARY(name, rule, ...) TEST_ROW(name, rule, 1, 0, true, fg::name##_(stream, x...))
#define TEST_PREDICATE(name, rule, ...) TEST_ROW(name, rule, 1, 0, true, )
#define TEST_BINARY(name, rule, ...) TEST_ROW(name, rule, 2, 0, true, fg::name##_(stream, x...))
#define TEST_PAIR(name, rule, ...) TEST_ROW(name, rule, 2, 0, true, )
#define TEST_TERNARY(name, rule, ...) TEST_ROW(name, rule, 3, 0, true, fg::name##_(stream, x...))
#define TEST_UNARY1(name, rule, p, p0, ...) \
  TEST_ROW(name, rule, 1, 1, (sizeof(#p0) > 1), fg::name##_(stream, x...))
#define TEST_UNARY2(name, rule, p, p0, q, q0, ...) \
  TEST_ROW(name, rule, 1, 2, (sizeof(#p0) > 1), fg::name##_(stream, x...))
#define TEST_UNARY3(name, rule, p, p0, q, q0, r, r0, ...) \
  TEST_ROW(name, rule, 1, 3, (sizeof(#p0) > 1), fg::name##_(stream, x...))
#define TEST_PAIR1(name, rule, p, p0, ...) TEST_ROW(name, rule, 2, 1, (sizeof(#p0) > 1), )
#define TEST_PAIR2(name, rule, p, p0, q, q0, ...) TEST_ROW(name, rule, 2, 2, (sizeof(#p0) > 1), )
#define TEST_LISTED(name, ...) , name##_row

/// Values of an operand: of a tensor of `n` elements, or all tuples of special values.
template <class Row, class T>
std::vector<double> table_values(i64 n, int operand, bool special) {
  constexpr row_facts facts = facts_of(Row::name);
  if (special) {
    const std::vector<double> all = special_values();
    const std::size_t count = all.size();
    constexpr double moderate[] = {
        -2, -1, -0.25, 0.5, 1, 3, std::numeric_limits<double>::quiet_NaN()};
    std::vector<double> values;
    for (std::size_t k = 0; k < (Row::arity == 1 ? count : count * count); ++k)
      values.push_back(operand == 0   ? (facts.moderate_first ? moderate[k % 7] : all[k % count])
                       : operand == 1 ? all[k / count]
                                      : all[(k + k / count) % count]);
    return values;
  }
  if constexpr (fg::detail::kind_of<T> == fg::detail::kind::floating)
    return random_values({n}, facts.low, facts.high);
  else
    return random_integers({n}, std::is_signed_v<T> ? -9 : 0, std::is_same_v<T, bool> ? 1 : 9);
}

/// A row on operands with options, against its reference; in all forms.
template <class Row, class T, class D>
struct table_check {
  using result = result_of<Row, T>;
  static constexpr row_facts facts = facts_of(Row::name);

  template <class... O>
  static double wanted(const std::vector<double> (&in)[3], std::size_t i, O... options) {
    double y = 0;
    if constexpr (Row::arity == 1) y = Row::want(in[0][i], options...);
    if constexpr (Row::arity == 2) y = Row::want(in[0][i], in[1][i], options...);
    if constexpr (Row::arity == 3) y = Row::want(in[0][i], in[1][i], in[2][i], options...);
    // Of integers a division by 0 gives 0, and so the dividend as the rest; numbers are modulo 2^n.
    if (fg::detail::kind_of<result> == fg::detail::kind::integer && std::isnan(y)) y = in[0][i];
    if constexpr (fg::detail::kind_of<result> == fg::detail::kind::integer)
      y = static_cast<double>(static_cast<result>(static_cast<i64>(y)));  // modulo 2^n
    return y;
  }
  template <class... O>
  static void compare(const std::vector<double>& got, const std::vector<double>& want,
                      const std::vector<double> (&in)[3], O... options) {
    tolerance tol = pointwise_tolerance<result>();
    tol.rtol *= facts.units;
    tol.atol = (std::max)(tol.atol, tol.rtol == 0 ? 0 : facts.atol * tol.rtol / 3.6e-7);
    expect_close<result>(got, want, tol, [&](std::size_t k) {
      std::ostringstream r;
      for (int j = 0; j < Row::arity; ++j) r << (j == 0 ? " for " : ", ") << in[j][k];
      ((r << "; " << options), ...);
      return r.str();
    });
    if (fg::detail::kind_of<result> != fg::detail::kind::floating || facts.any_zero) return;
    for (std::size_t k = 0; k < got.size() && k < want.size(); ++k) {
      const bool zeros = want[k] == 0 && got[k] == 0;
      EXPECT_TRUE(!zeros || std::signbit(got[k]) == std::signbit(want[k]))
          << "the zero at element " << k << " is " << got[k];
    }
  }
  /// f(operands...) of the row's number of operands.
  template <class F>
  static void with_operands(test_tensor<T, D> (&x)[3], F&& f) {
    if constexpr (Row::arity == 1) f(x[0].in());
    if constexpr (Row::arity == 2) f(x[0].in(), x[1].in());
    if constexpr (Row::arity == 3) f(x[0].in(), x[1].in(), x[2].in());
  }

  template <class... O>
  static void run(const shape& sizes, layout how, layout to, bool special, O... options) {
    const auto& stream = test_stream<D>();
    test_tensor<T, D> x[3] = {
        {sizes, how, table_values<Row, T>(sizes.numel(), 0, special)},
        {sizes, layout::contiguous, table_values<Row, T>(sizes.numel(), 1, special)},
        {sizes, how, table_values<Row, T>(sizes.numel(), 2, special)}};
    const std::vector<double> in[3] = {x[0].values(), x[1].values(), x[2].values()};
    std::vector<double> want;
    for (std::size_t i = 0; i < in[0].size(); ++i) want.push_back(wanted(in, i, options...));
    test_tensor<result, D> out(sizes, to);
    with_operands(x, [&](const auto&... a) {
      Row::eager(stream, a..., out.view(), options...);
      compare(out.read(), want, in, options...);
      EXPECT_TRUE(out.gaps_untouched() && x[0].untouched() && x[1].untouched());
      if (special) return;
      expect_equal(values_of(Row::eager(stream, a..., options...)), out.read());
      test_tensor<result, D> assigned(sizes);
      fg::assign(stream, assigned.view(), Row::expression(a..., options...));
      expect_equal(assigned.read(), out.read());
    });
    if constexpr (Row::has_in_place && std::is_same_v<result, T>) {
      if (special || how == layout::broadcast) return;
      if constexpr (Row::arity == 1) Row::in_place(stream, x[0].view(), options...);
      if constexpr (Row::arity == 2) Row::in_place(stream, x[0].view(), x[1].in(), options...);
      if constexpr (Row::arity == 3)
        Row::in_place(stream, x[0].view(), x[1].in(), x[2].in(), options...);
      expect_equal(x[0].read(), out.read());
    }
  }
  template <class... O>
  static void all(O... options) {
    run({77}, layout::contiguous, layout::contiguous, false, options...);
    run({3, 5, 7}, layout::transposed, layout::strided, false, options...);
    for (const shape& few : {shape{}, shape{0}, shape{1}})
      run(few, layout::contiguous, layout::contiguous, false, options...);
    if constexpr (fg::detail::kind_of<T> == fg::detail::kind::floating && facts.special) {
      const i64 n = static_cast<i64>(special_values().size());
      run({Row::arity == 1 ? n : n * n}, layout::contiguous, layout::contiguous, true, options...);
    }
  }
  static void run_all() {
    SCOPED_TRACE(std::string(Row::name) + " of " + std::string(fg::to_string(fg::dtype_of<T>)));
    at_every_level<D>([] {
      if constexpr (Row::options == 1) all(0.75);
      if constexpr (Row::options == 2) all(0.75, 1.25);
      if constexpr (Row::options == 3) all(0.75, 1.25, 0.5);
      if constexpr (Row::has_defaults) all();
    });
    refuses();
  }
  static void refuses() {
    const auto& stream = test_stream<D>();
    const shape sizes{4, 6};
    test_tensor<T, D> x[3] = {test_tensor<T, D>(sizes), test_tensor<T, D>(sizes),
                              test_tensor<T, D>(sizes)};
    test_tensor<result, D> out(sizes);
    const auto refused = [&](auto... options) {
      with_operands(x, [&](const auto&... a) {
        EXPECT_RAISES(Row::eager(stream, a..., out.view().narrow(1, 0, 5), options...),
                      shape_mismatch, Row::name);
        EXPECT_RAISES(
            Row::eager(stream, a..., out.view().narrow(0, 0, 1).expand({4, 6}), options...),
            overlap, Row::name);
      });
    };
    if constexpr (Row::options == 0) refused();
    if constexpr (Row::options == 1) refused(0.75);
    if constexpr (Row::options == 2) refused(0.75, 1.25);
    if constexpr (Row::options == 3) refused(0.75, 1.25, 0.5);
    EXPECT_TRUE(out.untouched());
  }
};

/// The first dtype of a list, from place K on, that a row takes.
template <class Row, int K, class... Ts>
struct taken_type {
  using all = std::tuple<Ts...>;
  static constexpr std::size_t place = [] {
    constexpr bool taken[] = {takes<Row, Ts>...};
    std::size_t k = K % sizeof...(Ts);
    while (!taken[k]) k = (k + 1) % sizeof...(Ts);
    return k;
  }();
  using type = std::tuple_element_t<place, all>;
};

/// Every row of a table on D.
template <class D, class Rows>
void check_table() {
  Rows::for_each_place([]<class Row, int K>() {
    using first = typename taken_type<Row, 0, f32, fg::i32>::type;
    using other = typename taken_type<Row, K, f64, bf16, fg::i64, f16, fg::u8, bool, fg::i16>::type;
    table_check<Row, first, D>::run_all();
    if constexpr (std::is_same_v<D, host>) table_check<Row, other, D>::run_all();
  });
}

}  // namespace flaggems_test
