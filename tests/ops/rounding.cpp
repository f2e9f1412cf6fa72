// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/rounding.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_ROUNDING_TABLE(TEST_UNARY, TEST_BINARY)
using rows = row_list<void FLAGGEMS_ROUNDING_TABLE(TEST_LISTED, TEST_LISTED)>;

template <class D>
class rounding : public ::testing::Test {};
using devices = elementwise_devices<chip32>;
TYPED_TEST_SUITE(rounding, devices);

TYPED_TEST(rounding, rows) { check_table<TypeParam, rows>(); }

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(rounding_decimals, both_sides_of_the_point) {
  const auto& stream = test_stream<host>();
  test_tensor<f64> x({6}, layout::strided, {1.25, -0.375, 149.5, -250, 0.5, 1e300}), out({6});
  fg::round(stream, x.in(), out.view(), 1);
  expect_close<f64>(out.read(), {1.2, -0.4, 149.5, -250, 0.5, 1e300}, {1e-15, 0});
  expect_equal(values_of(fg::round(stream, x.in(), -2)), {0, -0.0, 100, -200, 0, 1e300});
  expect_equal(values_of(fg::round(stream, x.in(), 0)), {1, -0.0, 150, -250, 0, 1e300});
  fg::round_(stream, x.view(), -1);
  expect_equal(x.read(), {0, -0.0, 150, -250, 0, 1e300});
}

TEST(rounding_names, of_other_libraries) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({4}, layout::contiguous, {1.5, -1.5, 0, -7});
  expect_equal(values_of(fg::fix(stream, x.in())), {1, -1, 0, -7});
  expect_equal(values_of(fg::evaluate(stream, fg::sgn(x.in()))), {1, -1, 0, -1});
  fg::fix_(stream, x.view());
  expect_equal(x.read(), {1, -1, 0, -7});
}

#endif

}  // namespace
}  // namespace flaggems_test
