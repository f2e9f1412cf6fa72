// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/unique.hpp>
#include <support/ops.hpp>

#include <map>

namespace flaggems_test {
namespace {

template <class Device>
class uniques : public ::testing::Test {};
TYPED_TEST_SUITE(uniques, all_devices);

template <class R>
void expect_unique(const R& got, const std::vector<double>& values,
                   const std::vector<double>& inverse, const std::vector<double>& counts) {
  expect_equal(values_of(got.values), values);
  expect_equal(values_of(got.inverse), inverse);
  expect_equal(values_of(got.counts), counts);
}

TYPED_TEST(uniques, elements) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<fg::i32, D> x({2, 4}, how, {3, 3, -1, 7, 7, 7, 3, -1});
      const auto got = fg::unique2(s, x.in(), true, true, true);
      EXPECT_EQ(got.inverse.shape_of(), (shape{2, 4}));
      expect_unique(got, {-1, 3, 7}, {1, 1, 0, 2, 2, 2, 1, 0}, {2, 3, 3});
      expect_unique(fg::unique2(s, x.in()), {-1, 3, 7}, {}, {});
      expect_unique(fg::unique_consecutive(s, x.in(), true, true), {3, -1, 7, 3, -1},
                    {0, 0, 1, 2, 2, 2, 3, 4}, {2, 1, 3, 1, 1});
    }
  });
  const double nan = std::nan("");
  test_tensor<f32, D> x({5}, layout::contiguous, {nan, 0, -0.0, nan, 2}), one({}), none({0, 2});
  expect_unique(fg::unique2(s, x.in(), true, true, true), {0, 2, nan, nan}, {2, 0, 0, 3, 1},
                {2, 1, 1, 1});
  expect_unique(fg::unique2(s, one.in(), false, true, true), {0}, {0}, {1});
  EXPECT_EQ(fg::unique2(s, none.in(), true, true).inverse.shape_of(), (shape{0, 2}));
  EXPECT_EQ(fg::unique_consecutive(s, none.in(), true).values.shape_of(), (shape{0}));
  test_tensor<bool, D> flags({3}, layout::contiguous, {1, 0, 1});
  expect_unique(fg::unique2(s, flags.in(), true, true, true), {0, 1}, {1, 0, 1}, {1, 2});
}

TYPED_TEST(uniques, many) {
  using D = TypeParam;
  std::vector<double> values(5000), keys, counts;
  std::map<double, double> wanted;
  for (std::size_t k = 0; k < values.size(); ++k)
    wanted[values[k] = static_cast<double>(k * k * 31 % 601)] += 1;
  for (const auto& [key, count] : wanted) keys.push_back(key), counts.push_back(count);
  test_tensor<fg::i64, D> x({5000}, layout::contiguous, values);
  const auto got = fg::unique2(test_stream<D>(), x.in(), true, true, true);
  expect_equal(values_of(got.values), keys);
  expect_equal(values_of(got.counts), counts);
  std::vector<double> again;
  for (const double k : values_of(got.inverse)) again.push_back(keys[static_cast<std::size_t>(k)]);
  expect_equal(again, values);
}

TYPED_TEST(uniques, slices) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    test_tensor<f32, D> x({4, 2}, how, {2, 1, 0, 5, 2, 1, 2, 0});
    const auto got = fg::unique_dim(s, x.in(), 0, true, true, true);
    EXPECT_EQ(got.values.shape_of(), (shape{3, 2}));
    expect_unique(got, {0, 5, 2, 0, 2, 1}, {2, 0, 2, 1}, {1, 1, 2});
    test_tensor<f32, D> y({2, 2, 4}, how, {1, 1, 3, 3, 2, 2, 4, 4, 5, 5, 7, 8, 6, 6, 0, 0});
    const auto consecutive = fg::unique_consecutive(s, y.in(), true, true, 2);
    EXPECT_EQ(consecutive.values.shape_of(), (shape{2, 2, 3}));
    expect_unique(consecutive, {1, 3, 3, 2, 4, 4, 5, 7, 8, 6, 0, 0}, {0, 0, 1, 2}, {2, 1, 1});
  }
  test_tensor<f32, D> none({0, 2});
  const auto got = fg::unique_dim(s, none.in(), 0, true, true, true);
  EXPECT_EQ(got.values.shape_of(), (shape{0, 2}));
  EXPECT_EQ(got.inverse.shape_of(), (shape{0}));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(uniques_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), none({2, 0});
  EXPECT_RAISES(fg::unique_dim(s, x.in(), 2), out_of_range, "unique_dim");
  EXPECT_RAISES(fg::unique_dim(s, none.in(), 0), invalid_argument, "unique_dim");
  EXPECT_RAISES(fg::unique_consecutive(s, x.in(), false, false, -3), out_of_range,
                "unique_consecutive");
}
#endif

}  // namespace
}  // namespace flaggems_test
