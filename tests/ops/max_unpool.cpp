// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/max_unpool.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class unpooled : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(unpooled, devices);

TYPED_TEST(unpooled, all) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    const shape sizes{2, 3, 2, 2};
    std::vector<double> places;
    for (int k = 0; k < 24; ++k) places.push_back(k % 4 * 4 + k % 3);
    test_tensor<f32, D> x(sizes, how, random_values(sizes));
    test_tensor<i64, D> index(sizes, how, places);
    std::vector<double> want(2 * 3 * 16, 0);
    for (std::size_t k = 0; k < 24; ++k)
      want[k / 4 * 16 + static_cast<std::size_t>(places[k])] = x.values()[k];
    expect_equal(values_of(fg::max_unpool2d(s, x.in(), index.in(), {2, 8})), want);
    expect_equal(values_of(fg::max_unpool3d(s, x.in().unsqueeze(2), index.in().unsqueeze(2),
                                            {4, 2, 2}, {2}, {0})),
                 want);
  }
  test_tensor<bf16, D> none({0, 2, 3}), empty({1, 0, 2});
  test_tensor<i64, D> no_index({0, 2, 3}), no_places({1, 0, 2});
  EXPECT_EQ(fg::max_unpool2d(s, none.in(), no_index.in(), {4, 4}).shape_of(), (shape{0, 4, 4}));
  for (const double v : values_of(fg::max_unpool2d(s, empty.in(), no_places.in(), {2, 2})))
    EXPECT_EQ(v, 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(max_unpool, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 2});
  test_tensor<i64> index({1, 2, 2}, layout::contiguous, {0, 1, 2, 16}), few({1, 2, 1});
  const char* op = "max_unpool2d";
  EXPECT_RAISES((void)fg::max_unpool2d(s, x.in(), few.in(), {4, 4}), shape_mismatch, op);
  EXPECT_RAISES((void)fg::max_unpool2d(s, x.in(), index.in(), {4}), invalid_argument, op);
  EXPECT_RAISES((void)fg::max_unpool2d(s, x.in(), index.in(), {0, 4}), invalid_argument, op);
  EXPECT_RAISES((void)fg::max_unpool2d(s, x.in(), index.in(), {4, 4}), out_of_range, op);
  EXPECT_RAISES((void)fg::max_unpool3d(s, x.in(), index.in(), {1, 4, 4}, {0}, {0}),
                invalid_argument, "max_unpool3d");
}
#endif

}  // namespace
}  // namespace flaggems_test
