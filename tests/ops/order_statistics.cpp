// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/order_statistics.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using interpolation = fg::quantile_interpolation;
const double nan = std::nan("");

template <class Device>
class order_statistics : public ::testing::Test {};
TYPED_TEST_SUITE(order_statistics, all_devices);

template <class R>
void expect_choice(const R& got, const std::vector<double>& values,
                   const std::vector<double>& indices) {
  expect_equal(values_of(got.values), values);
  expect_equal(values_of(got.indices), indices);
}

TYPED_TEST(order_statistics, of_rows) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 5}, how, {3, 1, 1, 7, 3, -2, 9, 9, 9, 0});
      expect_choice(fg::kthvalue(s, x.in(), 2), {1, 0}, {2, 4});
      expect_choice(fg::median(s, x.in(), 1), {3, 9}, {0, 1});
      expect_choice(fg::nanmedian(s, x.in(), 0), {-2, 1, 1, 7, 0}, {1, 0, 0, 0, 1});
      expect_choice(fg::mode(s, x.in()), {1, 9}, {2, 3});
      test_tensor<f32, D> values({2, 1}, how);
      test_tensor<i64, D> indices({2, 1}, how);
      fg::kthvalue(s, x.in(), 5, values.view(), indices.view(), 1, true);
      expect_equal(values.read(), {7, 9});
      expect_equal(indices.read(), {3, 3});
      EXPECT_TRUE(values.gaps_untouched() && indices.gaps_untouched());
    }
  });
  // Rows that no block sorts by itself, and runs that are long.
  std::vector<double> many(5000);
  for (std::size_t k = 0; k < many.size(); ++k) many[k] = static_cast<double>(k * 7919 % 50);
  many[17] = many[23] = 3;
  test_tensor<fg::i32, D> x({5000}, layout::contiguous, many);
  EXPECT_EQ(values_of(fg::mode(s, x.in()).values), std::vector<double>{3});
  EXPECT_EQ(values_of(fg::median(s, x.in())), std::vector<double>{24});
}

TYPED_TEST(order_statistics, nan_and_few) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({3, 3}, layout::contiguous, {2, nan, 1, nan, nan, nan, 5, 4, 4});
  expect_choice(fg::median(s, x.in(), 1), {nan, nan, 4}, {1, 0, 2});
  expect_choice(fg::nanmedian(s, x.in(), 1), {1, nan, 4}, {2, 0, 2});
  expect_choice(fg::kthvalue(s, x.in(), 3, 1), {nan, nan, 5}, {1, 2, 0});
  expect_choice(fg::mode(s, x.in(), 1), {1, nan, 4}, {2, 0, 2});
  expect_equal(values_of(fg::median(s, x.in())), {nan});
  expect_equal(values_of(fg::nanmedian(s, x.in())), {4});
  test_tensor<fg::bf16, D> one({}, layout::contiguous, {7});
  expect_choice(fg::mode(s, one.in()), {7}, {0});
  expect_choice(fg::median(s, one.in(), 0, true), {7}, {0});
  test_tensor<bool, D> flags({3}, layout::contiguous, {1, 0, 1});
  expect_choice(fg::mode(s, flags.in()), {1}, {2});
  test_tensor<f32, D> none({0, 3});
  EXPECT_EQ(fg::median(s, none.in(), 1).values.shape_of(), (shape{0}));
  expect_equal(values_of(fg::median(s, none.in())), {nan});
}

TYPED_TEST(order_statistics, quantiles) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 4}, how, {4, 1, 3, 2, 10, 40, 20, 30}),
          q({3}, how, {0, 0.5, 0.875});
      test_tensor<f32, D> out({3, 2, 1}, how);
      fg::quantile(s, x.in(), q.in(), out.view(), 1, true);
      expect_equal(out.read(), {1, 10, 2.5, 25, 3.625, 36.25});
      EXPECT_TRUE(out.gaps_untouched());
      const auto by = [&](interpolation k) {
        return values_of(fg::quantile(s, x.in(), 0.5, 1, false, k));
      };
      expect_equal(by(interpolation::lower), {2, 20});
      expect_equal(by(interpolation::higher), {3, 30});
      expect_equal(by(interpolation::nearest), {3, 30});
      expect_equal(by(interpolation::midpoint), {2.5, 25});
      expect_equal(values_of(fg::quantile(s, x.in(), q.in(), 0)),
                   {4, 1, 3, 2, 7, 20.5, 11.5, 16, 9.25, 35.125, 17.875, 26.5});
    }
  });
  test_tensor<f64, D> x({2, 3}, layout::contiguous, {1, nan, 3, nan, nan, nan}),
      all({4}, layout::contiguous, {1, 2, 3, 4});
  expect_equal(values_of(fg::quantile(s, x.in(), 0.5, 1)), {nan, nan});
  expect_equal(values_of(fg::nanquantile(s, x.in(), 0.5, 1)), {2, nan});
  const auto kept = fg::nanquantile(s, x.in(), 0.25, {}, true);
  EXPECT_EQ(kept.shape_of(), (shape{1, 1}));
  expect_equal(values_of(kept), {1.5});
  expect_equal(values_of(fg::quantile(s, all.in(), 1)), {4});
  // The line between infinities has no numbers, as in ATen.
  const double infinity = std::numeric_limits<double>::infinity();
  test_tensor<f32, D> far({3}, layout::contiguous, {1, 2, infinity});
  expect_equal(values_of(fg::quantile(s, far.in(), 0.5)), {2});
  expect_equal(values_of(fg::quantile(s, far.in(), 1)), {std::nan("")});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(order_statistics_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), none({2, 0}), q({2}, layout::contiguous, {0, 2}), matrix({1, 1});
  test_tensor<f32> values({2});
  test_tensor<i64> indices({2}), wrong({3});
  EXPECT_RAISES(fg::kthvalue(s, x.in(), 0, values.view(), indices.view()), out_of_range,
                "kthvalue");
  test_tensor<f32> square({2, 300}, layout::contiguous, std::vector<double>(600, 0.5));
  EXPECT_RAISES(fg::quantile(s, x.in(), square.in(), values.view()), invalid_argument, "quantile");
  EXPECT_RAISES(fg::kthvalue(s, x.in(), 4, values.view(), indices.view()), out_of_range,
                "kthvalue");
  EXPECT_RAISES(fg::median(s, x.in(), values.view(), wrong.view(), 1), shape_mismatch, "median");
  EXPECT_RAISES(fg::mode(s, none.in(), values.view(), indices.view()), invalid_argument, "mode");
  EXPECT_RAISES(fg::mode(s, x.in(), 2), out_of_range, "mode");
  test_tensor<fg::i32> no_numbers({0});
  EXPECT_RAISES(fg::median(s, no_numbers.in()), invalid_argument, "median");
  EXPECT_RAISES(fg::quantile(s, x.in(), 1.5), invalid_argument, "quantile");
  EXPECT_RAISES(fg::quantile(s, x.in(), q.in()), invalid_argument, "quantile");
  EXPECT_RAISES(fg::quantile(s, x.in(), matrix.in()), invalid_argument, "quantile");
  EXPECT_RAISES(fg::quantile(s, none.in(), 0.5), invalid_argument, "quantile");
  test_tensor<f32> deep({1, 1, 1, 1, 1, 1, 1, 2});
  EXPECT_RAISES(fg::quantile(s, deep.in(), q.in(), 7, true), invalid_argument, "quantile");
  EXPECT_TRUE(values.untouched() && indices.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
