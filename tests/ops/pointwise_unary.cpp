// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Every unary row of the pointwise table in f32: layouts, shapes, special values, in place, on
// every device. The rows are never named here.
#include <support/pointwise.hpp>

namespace flaggems_test {
namespace {

template <class D>
class pointwise_unary : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(pointwise_unary, devices);

TYPED_TEST(pointwise_unary, layouts) {
  using D = TypeParam;
  const shape sizes{2, 3, 19};
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      const auto values = operand_values<Row, f32>(sizes, 0);
      for (const layout in : input_layouts)
        for (const layout to : output_layouts) {
          SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to));
          test_tensor<f32, D> x(sizes, in, values);
          row_check<Row, f32, D>::run(sizes, to, x);
        }
    });
  });
}

TYPED_TEST(pointwise_unary, shapes) {
  using D = TypeParam;
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      for (const shape& sizes :
           {shape{}, shape{0}, shape{3, 0, 2}, shape{1}, shape{1, 1, 1}, shape{7}, shape{16},
            shape{31}, shape{257}, shape{16385}, shape{2, 1, 2, 1, 2, 1, 2, 3}}) {
        SCOPED_TRACE(fg::to_string(sizes));
        test_tensor<f32, D> x(sizes, layout::contiguous, operand_values<Row, f32>(sizes, 0));
        row_check<Row, f32, D>::run(sizes, layout::contiguous, x);
      }
      test_tensor<f32, D> x({3, 1}, layout::strided, operand_values<Row, f32>({3, 1}, 0));
      row_check<Row, f32, D>::run({2, 3, 5}, layout::contiguous, x);  // the input broadcasts
    });
  });
}

TYPED_TEST(pointwise_unary, special_values) {
  using D = TypeParam;
  const std::vector<double> values = special_values();
  const shape sizes{static_cast<i64>(values.size())};
  at_every_level<D>([&] {
    unary_rows::for_each([&](auto row) {
      using Row = decltype(row);
      SCOPED_TRACE(Row::name);
      test_tensor<f32, D> x(sizes, layout::contiguous, values);
      row_check<Row, f32, D>::run(sizes, layout::contiguous, x);
    });
  });
}

TYPED_TEST(pointwise_unary, in_place) {
  using D = TypeParam;
  const shape sizes{5, 21};
  unary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    SCOPED_TRACE(Row::name);
    for (const layout how : output_layouts) {
      SCOPED_TRACE(to_string(how));
      test_tensor<f32, D> x(sizes, how, operand_values<Row, f32>(sizes, 0));
      const auto want = row_check<Row, f32, D>::want(std::array{&x}, sizes);
      Row::in_place(test_stream<D>(), x.view());
      expect_close<f32>(x.read(), want, tolerance_for<Row, f32>());
      EXPECT_TRUE(x.gaps_untouched());
    }
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(pointwise_unary_errors, nothing_is_written) {
  unary_rows::for_each([&](auto row) {
    using Row = decltype(row);
    const auto& stream = test_stream<host>();
    test_tensor<f32> x({4, 6}, layout::contiguous, random_values({4, 6})), out({4, 6});
    EXPECT_RAISES(Row::eager(stream, x.in(), out.view().narrow(1, 0, 5)), shape_mismatch,
                  Row::name);
    EXPECT_RAISES(Row::eager(stream, x.in(), out.view().narrow(0, 0, 1).expand({4, 6})), overlap,
                  Row::name);
    EXPECT_RAISES(Row::eager(stream, x.in().narrow(0, 0, 3), x.view().narrow(0, 1, 3)), overlap,
                  Row::name);
    EXPECT_TRUE(x.untouched());
    EXPECT_TRUE(out.untouched());
  });
}

#endif

}  // namespace
}  // namespace flaggems_test
