// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The rows of the pointwise table as types, each with its reference in double.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/pointwise.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <support/ops.hpp>
#include <support/pointwise_reference.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace flaggems_test {

// ---- rows
#define FLAGGEMS_ROW(operator_name, rule_name, operands) \
  struct operator_name##_row {                           \
    static constexpr const char* name = #operator_name;  \
    static constexpr int arity = operands;               \
    using rule = fg::detail::rule_name;                  \
    template <class... X>                                \
    static auto expression(const X&... x) {              \
      return fg::operator_name(x...);                    \
    }                                                    \
    template <class S, class... X>                       \
    static auto eager(const S& stream, X&&... x) {       \
      return fg::operator_name(stream, x...);            \
    }                                                    \
    template <class S, class... X>                       \
    static void in_place(const S& stream, X&&... x) {    \
      fg::operator_name##_(stream, x...);                \
    }                                                    \
    template <class... X>                                \
    static double want(X... x) {                         \
      return reference::operator_name(x...);             \
    }                                                    \
  };
#define FLAGGEMS_UNARY_ROW(name, rule, formula) FLAGGEMS_ROW(name, rule, 1)
#define FLAGGEMS_BINARY_ROW(name, rule, formula) FLAGGEMS_ROW(name, rule, 2)
#define FLAGGEMS_TERNARY_ROW(name, rule, formula) FLAGGEMS_ROW(name, rule, 3)
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY_ROW, FLAGGEMS_BINARY_ROW, FLAGGEMS_TERNARY_ROW)
#undef FLAGGEMS_UNARY_ROW
#undef FLAGGEMS_BINARY_ROW
#undef FLAGGEMS_TERNARY_ROW
#undef FLAGGEMS_ROW

template <class Skipped, class... Rows>
struct row_list {
  static constexpr int size = sizeof...(Rows);
  template <class F>
  static void for_each(F&& f) {
    (f(Rows{}), ...);
  }
  /// Calls f<Row, place in the list>() for each.
  template <class F>
  static void for_each_place(F&& f) {
    [&]<int... K>(std::integer_sequence<int, K...>) { (f.template operator()<Rows, K>(), ...); }
    (std::make_integer_sequence<int, size>{});
  }
};
#if FLAGGEMS_TEST_REDUCED
// The others differ in what they compute of an element, not in how they reach it.
using unary_rows = row_list<void, abs_row, exp_row, gelu_tanh_row>;
using binary_rows = row_list<void, add_row, div_row, eq_row>;
using ternary_rows = row_list<void, clamp_row>;
#else
#define FLAGGEMS_NOTHING(name, rule, formula)
#define FLAGGEMS_LISTED(name, rule, formula) , name##_row
using unary_rows =
    row_list<void FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_LISTED, FLAGGEMS_NOTHING, FLAGGEMS_NOTHING)>;
using binary_rows =
    row_list<void FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_NOTHING, FLAGGEMS_LISTED, FLAGGEMS_NOTHING)>;
using ternary_rows =
    row_list<void FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_NOTHING, FLAGGEMS_NOTHING, FLAGGEMS_LISTED)>;
#undef FLAGGEMS_LISTED
#undef FLAGGEMS_NOTHING
#endif

/// Whether a row takes tensors of T.
template <class Row, class T>
inline constexpr bool takes =
    std::is_same_v<typename Row::rule, fg::detail::arithmetic> ? !std::is_same_v<T, bool>
    : std::is_same_v<typename Row::rule, fg::detail::floating>
        ? fg::detail::kind_of<T> == fg::detail::kind::floating
    : std::is_same_v<typename Row::rule, fg::detail::whole_number>
        ? fg::detail::kind_of<T> == fg::detail::kind::integer
    : std::is_same_v<typename Row::rule, fg::detail::bits>
        ? fg::detail::kind_of<T> != fg::detail::kind::floating
        : true;
/// The dtype of a row's result for operands that promote to T.
template <class Row, class T>
using result_of = typename Row::rule::template result<T>;
/// Rows whose results may have either sign where they are zero.
template <class Row>
inline constexpr bool any_zero =
    std::is_same_v<Row, relu_row> || std::is_same_v<Row, maximum_row> ||
    std::is_same_v<Row, minimum_row> || std::is_same_v<Row, clamp_row>;

/// The elements of `values` (of sizes `own`, row-major) broadcast to `sizes`.
inline std::vector<double> broadcast_values(const std::vector<double>& values, const shape& own,
                                            const shape& sizes) {
  shape strides = sizes;
  i64 step = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    const int k = d - (sizes.rank() - own.rank());
    strides[d] = k < 0 || own[k] == 1 ? 0 : step;
    if (k >= 0) step *= own[k];
  }
  std::vector<double> result;
  for_each_offset(sizes, strides,
                  [&](i64 offset) { result.push_back(values[static_cast<std::size_t>(offset)]); });
  return result;
}

/// Half a unit in the last place for the rounding, the rest for the function: two units in f32 and
/// f64, none beyond the rounding in the 16-bit types (but where f32's error tips it).
template <class T>
tolerance pointwise_tolerance() {
  if (std::is_same_v<T, f64>) return {1e-14, 1e-323};
  if (std::is_same_v<T, f32>) return {3.6e-7, 3e-45};
  if (std::is_same_v<T, f16>) return {0x1p-10, 0x1p-24};
  if (std::is_same_v<T, bf16>) return {0x1p-7, 1e-40};
  return {0, 0};
}

/// The values that arithmetic treats as special, finite ones of every size among them.
inline std::vector<double> special_values() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return {0.0,       -0.0,         1.0,        -1.0,           inf,
          -inf,      std::nan(""), 0x1p-149,   -0x1p-149,      0x1p-130,
          -0x1p-130, 0x1p-126,     -0x1p-126,  0x1.fffffep127, -0x1.fffffep127,
          0.5,       -0.5,         2.0,        -2.0,           3.0,
          -3.0,      88.5,         -88.5,      104.0,          -104.0,
          1e-8,      -1e-8,        1e10,       -1e10,          16777215.0,
          1.5,       -1.5,         0.99999994, 1.0000001};
}

/// How much more than that a row may err: where the function amplifies the error of an intermediate
/// result (an exponent of about 10, say), more digits are not to be had in its own type. gelu may
/// err by 6 units in f32 (math_functions.hpp).
template <class Row, class T>
constexpr double slack() {
  if (std::is_same_v<Row, gelu_tanh_row>) return 8;
  return std::is_same_v<Row, gelu_none_row> && std::is_same_v<T, f32> ? 2 : 1;
}
template <class Row, class T>
tolerance tolerance_for() {
  tolerance tol = pointwise_tolerance<T>();
  if (sizeof(T) >= 4) tol.rtol *= slack<Row, T>();
  return tol;
}

/// Evaluates a row on operands and compares with its reference.
template <class Row, class T, class D = host>
struct row_check {
  using result = result_of<Row, T>;

  template <std::size_t N>
  static std::vector<double> want(const std::array<test_tensor<T, D>*, N>& x, const shape& sizes) {
    std::array<std::vector<double>, N> in;
    for (std::size_t k = 0; k < N; ++k)
      in[k] = broadcast_values(x[k]->values(), x[k]->sizes(), sizes);
    std::vector<double> y(static_cast<std::size_t>(sizes.numel()));
    for (std::size_t i = 0; i < y.size(); ++i) {
      if constexpr (N == 1) y[i] = Row::want(in[0][i]);
      if constexpr (N == 2) y[i] = Row::want(in[0][i], in[1][i]);
      if constexpr (N == 3) y[i] = Row::want(in[0][i], in[1][i], in[2][i]);
      if constexpr (std::is_integral_v<result> && !std::is_same_v<result, bool>)
        y[i] = static_cast<double>(static_cast<result>(static_cast<i64>(y[i])));  // modulo 2^n
    }
    return y;
  }
  /// out = row(x...), out of the given layout.
  template <class... X>
  static void run(const shape& sizes, layout to, X&... x) {
    test_tensor<result, D> out(sizes, to);
    Row::eager(test_stream<D>(), x.in()..., out.view());
    const std::vector<double> got = out.read();
    const std::vector<double> expected =
        want(std::array<test_tensor<T, D>*, sizeof...(X)>{&x...}, sizes);
    expect_close<result>(got, expected, tolerance_for<Row, result>());
    if constexpr (fg::detail::kind_of<result> == fg::detail::kind::floating && !any_zero<Row>)
      for (std::size_t k = 0; k < got.size() && k < expected.size(); ++k) {
        const bool zeros = expected[k] == 0 && got[k] == 0;
        EXPECT_TRUE(!zeros || std::signbit(got[k]) == std::signbit(expected[k]))
            << "the zero at element " << k << " is " << got[k];
      }
    EXPECT_TRUE(out.gaps_untouched());
    EXPECT_TRUE((x.untouched() && ...));
  }
};

/// Numbers for a row of dtype T: small integers for an integer type, so that no result leaves it.
template <class Row, class T>
std::vector<double> operand_values(const shape& sizes, int operand) {
  constexpr bool is_pow = std::is_same_v<Row, pow_row>;
  if constexpr (fg::detail::kind_of<T> == fg::detail::kind::floating) {
    if (is_pow) return random_values(sizes, operand == 0 ? 0.1 : -3, 3);
    return random_values(sizes, -4, 4);
  } else {
    if (is_pow) return random_integers(sizes, 0, operand == 0 ? 3 : 4);
    return random_integers(sizes, std::is_signed_v<T> ? -9 : 0, std::is_same_v<T, bool> ? 1 : 9);
  }
}

/// Every unary row that takes T, on contiguous and unaligned operands.
template <class D, class T>
void check_unary_rows() {
  SCOPED_TRACE(std::string(fg::to_string(fg::dtype_of<T>)) + " on " + D::name);
  at_every_level<D>([] {
    unary_rows::for_each([](auto row) {
      using Row = decltype(row);
      if constexpr (takes<Row, T>) {
        SCOPED_TRACE(Row::name);
        for (const i64 n : {1, 15, 16, 77}) {
          const shape sizes{n};
          test_tensor<T, D> x(sizes, layout::contiguous, operand_values<Row, T>(sizes, 0));
          row_check<Row, T, D>::run(sizes, layout::contiguous, x);
        }
        if constexpr (fg::detail::kind_of<T> == fg::detail::kind::floating) {
          std::vector<double> values = special_values();
          const shape sizes{static_cast<i64>(values.size())};
          test_tensor<T, D> x(sizes, layout::strided, values);
          row_check<Row, T, D>::run(sizes, layout::offset, x);
        }
      }
    });
  });
}

/// Every binary and ternary row that takes T.
template <class D, class T>
void check_binary_rows() {
  SCOPED_TRACE(std::string(fg::to_string(fg::dtype_of<T>)) + " on " + D::name);
  constexpr bool floating = fg::detail::kind_of<T> == fg::detail::kind::floating;
  const auto check = [](auto row) {
    using Row = decltype(row);
    if constexpr (takes<Row, T>) {
      SCOPED_TRACE(Row::name);
      for (const shape& sizes : {shape{1}, shape{15}, shape{16}, shape{3, 29}}) {
        test_tensor<T, D> a(sizes, layout::contiguous, operand_values<Row, T>(sizes, 0));
        test_tensor<T, D> b(sizes, layout::offset, operand_values<Row, T>(sizes, 1));
        test_tensor<T, D> c(sizes, layout::transposed, operand_values<Row, T>(sizes, 2));
        if constexpr (Row::arity == 2)
          row_check<Row, T, D>::run(sizes, layout::contiguous, a, b);
        else
          row_check<Row, T, D>::run(sizes, layout::contiguous, a, b, c);
      }
      if constexpr (floating && Row::arity == 2) {
        std::vector<double> values = special_values();
        const i64 n = static_cast<i64>(values.size());
        test_tensor<T, D> a({n, 1}, layout::contiguous, values), b({n}, layout::negative, values);
        row_check<Row, T, D>::run({n, n}, layout::contiguous, a, b);
      }
    }
  };
  at_every_level<D>([&] {
    binary_rows::for_each(check);
    ternary_rows::for_each(check);
  });
}

}  // namespace flaggems_test
