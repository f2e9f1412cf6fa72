// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/histogram.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class histograms : public ::testing::Test {};
TYPED_TEST_SUITE(histograms, all_devices);

TYPED_TEST(histograms, of_integers) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<fg::i32, D> x({5}, how, {1, 4, 1, 0, 4});
      test_tensor<f32, D> w({5}, how, {0.5, 1, 2, 3, 0.25});
      expect_equal(values_of(fg::bincount(s, x.in())), {1, 2, 0, 0, 2});
      expect_equal(values_of(fg::bincount(s, x.in(), std::nullopt, 7)), {1, 2, 0, 0, 2, 0, 0});
      expect_equal(values_of(fg::bincount(s, x.in(), w.in())), {3, 2.5, 0, 0, 1.25});
    }
  });
  test_tensor<fg::u8, D> none({0}), few({2}, layout::contiguous, {255, 0});
  test_tensor<i64, D> w({2}, layout::contiguous, {7, -2});
  expect_equal(values_of(fg::bincount(s, none.in(), std::nullopt, 2)), {0, 0});
  const auto sums = fg::bincount(s, few.in(), w.in());
  static_assert(std::is_same_v<fg::value_t<decltype(sums)&>, f64>);
  EXPECT_EQ(sums.numel(), 256);
  EXPECT_EQ(values_of(sums)[255], 7);
}

TYPED_TEST(histograms, of_intervals) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 4}, how, {1, 2, 2.5, 3, 0, 5, std::nan(""), 1.25}), out({4}, how);
      fg::histc(s, x.in(), out.view(), 4, 1, 3);
      expect_equal(out.read(), {2, 0, 1, 2});
      EXPECT_TRUE(out.gaps_untouched());
    }
  });
  test_tensor<f32, D> x({4}, layout::contiguous, {0, 4, 1, 4}),
      same({2}, layout::contiguous, {2, 2}), none({0});
  expect_equal(values_of(fg::histc(s, x.in(), 4)), {1, 1, 0, 2});
  expect_equal(values_of(fg::histc(s, same.in(), 4)), {0, 0, 2, 0});
  expect_equal(values_of(fg::histc(s, none.in(), 2)), {0, 0});
  // max - min is no f32.
  test_tensor<f32, D> far({3}, layout::contiguous, {-3e38, 3e38, 0});
  expect_equal(values_of(fg::histc(s, far.in(), 4)), {1, 0, 1, 1});
  // A 16-bit sum of ones would end at 256.
  test_tensor<fg::bf16, D> many({1000});
  expect_equal(values_of(fg::histc(s, many.in(), 1, -1, 1)), {1000});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(histograms_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<i64> x({2}, layout::contiguous, {1, -1}), matrix({1, 2}), ones({3});
  EXPECT_RAISES(fg::bincount(s, x.in()), invalid_argument, "bincount");
  EXPECT_RAISES(fg::bincount(s, matrix.in()), invalid_argument, "bincount");
  EXPECT_RAISES(fg::bincount(s, x.in(), ones.in()), shape_mismatch, "bincount");
  EXPECT_RAISES(fg::bincount(s, ones.in(), std::nullopt, -1), invalid_argument, "bincount");
  constexpr i64 most = std::numeric_limits<i64>::max();
  const auto huge = fg::from_values<i64>(s, {0, most});
  EXPECT_RAISES(fg::bincount(s, huge), invalid_argument, "bincount");
  EXPECT_RAISES(fg::bincount(s, fg::from_values<fg::u64>(s, {~fg::u64(0)})), invalid_argument,
                "bincount");
  test_tensor<f32> y({2}, layout::contiguous, {1, std::nan("")}), out({3});
  EXPECT_RAISES(fg::histc(s, y.in(), out.view(), 2), shape_mismatch, "histc");
  EXPECT_RAISES(fg::histc(s, y.in(), out.view(), 3), invalid_argument, "histc");
  EXPECT_RAISES(fg::histc(s, y.in(), out.view(), 3, 2, 1), invalid_argument, "histc");
  EXPECT_RAISES(fg::histc(s, y.in(), 0), invalid_argument, "histc");
  EXPECT_RAISES(fg::histc(s, y.in(), 4, -1e300, 1e300), invalid_argument, "histc");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
