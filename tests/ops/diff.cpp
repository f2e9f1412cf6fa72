// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/diff.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class differences : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(differences, devices);

TYPED_TEST(differences, all) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 4}, how, {1, 4, 9, 16, 0, -2, 5, 5}), y({2, 1}, how, {7, 8});
      expect_equal(values_of(fg::diff(s, x.in())), {3, 5, 7, -2, 7, 0});
      expect_equal(values_of(fg::diff(s, x.in(), 2)), {2, 2, 9, -7});
      expect_equal(values_of(fg::diff(s, x.in(), 1, 0)), {-1, -6, -4, -11});
      expect_equal(values_of(fg::diff(s, x.in(), 1, 1, y.in(), y.in())),
                   {-6, 3, 5, 7, -9, -8, -2, 7, 0, 3});
      expect_equal(values_of(fg::diff(s, x.in(), 0)), x.values());
      expect_equal(values_of(fg::diff(s, x.in(), 0, 1, y.in())), x.values());  // as ATen
      EXPECT_EQ(fg::diff(s, x.in(), 9).shape_of(), (shape{2, 0}));
    }
  });
  test_tensor<bool, D> flags({4}, layout::contiguous, {1, 1, 0, 1});
  test_tensor<fg::u8, D> bytes({2}, layout::contiguous, {3, 1});
  test_tensor<f32, D> none({0, 3});
  expect_equal(values_of(fg::diff(s, flags.in())), {0, 1, 1});
  expect_equal(values_of(fg::diff(s, bytes.in())), {254});
  EXPECT_EQ(fg::diff(s, none.in(), 1, 0).shape_of(), (shape{0, 3}));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(difference, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 4}), one({}), other({3, 1});
  EXPECT_RAISES(fg::diff(s, one.in()), invalid_argument, "diff");
  EXPECT_RAISES(fg::diff(s, x.in(), -1), invalid_argument, "diff");
  EXPECT_RAISES(fg::diff(s, x.in(), 1, 2), out_of_range, "diff");
  EXPECT_RAISES(fg::diff(s, x.in(), 1, 1, other.in()), shape_mismatch, "cat");
}
#endif

}  // namespace
}  // namespace flaggems_test
