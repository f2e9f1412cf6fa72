// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every binary and ternary row of the pointwise table in f32: layouts, broadcasting, special
// values, numbers, in place, on every device. The rows are never named here.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

template <class D>
class pointwise_binary : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(pointwise_binary, devices);

/// Calls f(row) for the rows with two and three operands.
template <class F>
void for_each_row(F&& f) {
  binary_rows::for_each(f);
  ternary_rows::for_each(f);
}
/// Compares a row on a and b; the third operand of a ternary row is contiguous.
template <class Row, class D>
void check(const shape& sizes, layout to, test_tensor<f32, D>& a, test_tensor<f32, D>& b) {
  if constexpr (Row::arity == 2) {
    row_check<Row, f32, D>::run(sizes, to, a, b);
  } else {
    test_tensor<f32, D> c(sizes, layout::contiguous, operand_values<Row, f32>(sizes, 2));
    row_check<Row, f32, D>::run(sizes, to, a, b, c);
  }
}

TYPED_TEST(pointwise_binary, layouts) {
  using D = TypeParam;
  const shape sizes{2, 3, 19};
  at_every_level<D>([&] {
    for_each_row([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      const auto va = operand_values<Row, f32>(sizes, 0), vb = operand_values<Row, f32>(sizes, 1);
      int turn = 0;
      for (const layout la : input_layouts)
        for (const layout lb : input_layouts) {
          const layout to = output_layouts[turn++ % 5];
          SCOPED_TRACE(std::string(to_string(la)) + ", " + to_string(lb) + " to " + to_string(to));
          test_tensor<f32, D> a(sizes, la, va), b(sizes, lb, vb);
          check<Row>(sizes, to, a, b);
        }
    });
  });
}

TYPED_TEST(pointwise_binary, broadcast) {
  using D = TypeParam;
  const struct {
    shape a, b, out;
  } cases[] = {{{2, 1, 19}, {3, 1}, {2, 3, 19}},
               {{}, {4, 5}, {4, 5}},
               {{4, 5}, {}, {4, 5}},
               {{}, {}, {}},
               {{1}, {17}, {17}},
               {{17}, {1, 1}, {1, 17}},
               {{5, 1}, {1, 7}, {5, 7}},
               {{0}, {1}, {0}},
               {{3, 1}, {3, 0}, {3, 0}},
               {{33}, {33}, {2, 33}},
               {{2, 2, 2, 2, 2, 2, 2, 3}, {3}, {2, 2, 2, 2, 2, 2, 2, 3}}};
  at_every_level<D>([&] {
    for_each_row([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      for (const auto& [sa, sb, out] : cases) {
        SCOPED_TRACE(fg::to_string(sa) + " with " + fg::to_string(sb));
        test_tensor<f32, D> a(sa, layout::contiguous, operand_values<Row, f32>(sa, 0));
        test_tensor<f32, D> b(sb, layout::contiguous, operand_values<Row, f32>(sb, 1));
        check<Row>(out, layout::contiguous, a, b);
      }
    });
  });
}

TYPED_TEST(pointwise_binary, special_values) {
  using D = TypeParam;
  const std::vector<double> values = special_values();
  const i64 n = static_cast<i64>(values.size());
  at_every_level<D>([&] {
    for_each_row([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      test_tensor<f32, D> a({n, 1}, layout::contiguous, values), b({n}, layout::contiguous, values);
      check<Row>({n, n}, layout::contiguous, a, b);
    });
  });
}

TYPED_TEST(pointwise_binary, in_place) {
  using D = TypeParam;
  const shape sizes{5, 21};
  binary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    SCOPED_TRACE(Row::name);
    if constexpr (!std::is_same_v<typename Row::rule, fg::detail::to_bool>) {
      for (const layout how : output_layouts) {
        SCOPED_TRACE(to_string(how));
        test_tensor<f32, D> a(sizes, how, operand_values<Row, f32>(sizes, 0));
        test_tensor<f32, D> b({21}, layout::strided, operand_values<Row, f32>({21}, 1));
        const auto want = row_check<Row, f32, D>::want(std::array{&a, &b}, sizes);
        Row::in_place(test_stream<D>(), a.view(), b.in());
        expect_close<f32>(a.read(), want, tolerance_for<Row, f32>());
        EXPECT_TRUE(a.gaps_untouched());
        // Both operands are the output.
        test_tensor<f32, D> x(sizes, how, operand_values<Row, f32>(sizes, 0));
        const auto twice = row_check<Row, f32, D>::want(std::array{&x, &x}, sizes);
        Row::in_place(test_stream<D>(), x.view(), x.in());
        expect_close<f32>(x.read(), twice, tolerance_for<Row, f32>());
      }
    }
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(pointwise_binary_numbers, either_side) {
  const shape sizes{3, 17};
  binary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    SCOPED_TRACE(Row::name);
    test_tensor<f32> x(sizes, layout::strided, operand_values<Row, f32>(sizes, 0));
    test_tensor<result_of<Row, f32>> left(sizes), right(sizes);
    Row::eager(test_stream<host>(), 1.5, x.in(), left.view());
    Row::eager(test_stream<host>(), x.in(), 2, right.view());
    std::vector<double> want_left, want_right;
    for (const double v : x.values()) {
      want_left.push_back(Row::want(1.5, v));
      want_right.push_back(Row::want(v, 2.0));
    }
    expect_close<result_of<Row, f32>>(left.read(), want_left,
                                      tolerance_for<Row, result_of<Row, f32>>());
    expect_close<result_of<Row, f32>>(right.read(), want_right,
                                      tolerance_for<Row, result_of<Row, f32>>());
  });
}

TEST(pointwise_binary_errors, nothing_is_written) {
  binary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    const auto& stream = test_stream<host>();
    test_tensor<f32> a({4, 6}, layout::contiguous, random_values({4, 6})), b({5});
    test_tensor<result_of<Row, f32>> out({4, 6});
    EXPECT_RAISES(Row::eager(stream, a.in(), b.in(), out.view()), shape_mismatch, Row::name);
    EXPECT_RAISES((void)Row::eager(stream, a.in(), b.in()), shape_mismatch, Row::name);
    EXPECT_RAISES(Row::eager(stream, a.in(), a.in(), out.view().narrow(0, 0, 1)), shape_mismatch,
                  Row::name);
    EXPECT_RAISES(Row::eager(stream, a.in(), a.in(), out.view().narrow(0, 0, 1).expand({4, 6})),
                  overlap, Row::name);
    EXPECT_TRUE(out.untouched());
    EXPECT_TRUE(a.untouched());
  });
}

#endif

}  // namespace
}  // namespace flaggems_test
