// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/trigonometric.hpp>
#include <support/pointwise_tables.hpp>

namespace flaggems_test {
namespace {

FLAGGEMS_TRIGONOMETRIC_TABLE(TEST_UNARY, TEST_PREDICATE, TEST_BINARY)
using rows = row_list<void FLAGGEMS_TRIGONOMETRIC_TABLE(TEST_LISTED, TEST_LISTED, TEST_LISTED)>;

template <class D>
class trigonometric : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(trigonometric, devices);

TYPED_TEST(trigonometric, rows) { check_table<TypeParam, rows>(); }

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(trigonometric_names, of_other_libraries) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({3}, layout::contiguous, {0.25, -0.5, 1}), y({3}, layout::strided, {-1, 0, 2});
  EXPECT_EQ(values_of(fg::arcsin(stream, x.in())), values_of(fg::asin(stream, x.in())));
  EXPECT_EQ(values_of(fg::arctan2(stream, x.in(), y.in())),
            values_of(fg::atan2(stream, x.in(), y.in())));
  const auto want = values_of(fg::acos(stream, x.in()));
  fg::arccos_(stream, x.view());
  EXPECT_EQ(x.read(), want);
}

#endif

}  // namespace
}  // namespace flaggems_test
