// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/normed_cumsum.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class normed_cumsums : public ::testing::Test {};
TYPED_TEST_SUITE(normed_cumsums, all_devices);

TYPED_TEST(normed_cumsums, all) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 4}, how, {1, 3, 0, 4, 2, 2, 2, 2}), out({2, 4}, how);
      fg::normed_cumsum(s, x.in(), out.view());
      expect_close<f32>(out.read(), {0.125, 0.5, 0.5, 1, 0.25, 0.5, 0.75, 1});
      EXPECT_TRUE(out.gaps_untouched());
      fg::normed_cumsum(s, x.in(), x.view(), 0);
      expect_close<f32>(x.read(), {1.0 / 3, 0.6, 0, 4.0 / 6, 1, 1, 1, 1});
    }
  });
  test_tensor<bf16, D> one({}, layout::contiguous, {3}), none({2, 0}),
      zeros({2}, layout::contiguous, {0, 0});
  expect_equal(values_of(fg::normed_cumsum(s, one.in())), {1});
  EXPECT_EQ(fg::normed_cumsum(s, none.in()).shape_of(), (shape{2, 0}));
  for (const double v : values_of(fg::normed_cumsum(s, zeros.in()))) EXPECT_TRUE(std::isnan(v));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(normed_cumsum, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 4}), out({4, 2});
  EXPECT_RAISES(fg::normed_cumsum(s, x.in(), 2), out_of_range, "normed_cumsum");
  EXPECT_RAISES(fg::normed_cumsum(s, x.in(), out.view()), shape_mismatch, "normed_cumsum");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
