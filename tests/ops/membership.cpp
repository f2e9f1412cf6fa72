// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/membership.hpp>
#include <support/ops.hpp>

#include <algorithm>

namespace flaggems_test {
namespace {

template <class Device>
class membership : public ::testing::Test {};
TYPED_TEST_SUITE(membership, all_devices);

TYPED_TEST(membership, isin) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout in : input_layouts) {
      const layout to = in == layout::broadcast ? layout::contiguous : in;
      test_tensor<fg::i32, D> x({3, 7}, in, random_integers({3, 7}, 0, 9)),
          tests({2, 2}, in, random_integers({2, 2}, 0, 9));
      test_tensor<bool, D> out({3, 7}, to);
      std::vector<double> in_it, not_in_it;
      for (const double v : x.values()) {
        const auto& t = tests.values();
        in_it.push_back(std::find(t.begin(), t.end(), v) != t.end());
        not_in_it.push_back(1 - in_it.back());
      }
      fg::isin(s, x.in(), tests.in(), out.view());
      expect_equal(out.read(), in_it);
      EXPECT_TRUE(out.gaps_untouched());
      expect_equal(values_of(fg::isin(s, x.in(), tests.in(), true, true)), not_in_it);
    }
  });
  test_tensor<f32, D> x({2}, layout::contiguous, {std::nan(""), 1}), none({0}),
      one({}, layout::contiguous, {1});
  expect_equal(values_of(fg::isin(s, x.in(), x.in())), {0, 1});
  expect_equal(values_of(fg::isin(s, x.in(), none.in())), {0, 0});
  expect_equal(values_of(fg::isin(s, x.in(), none.in(), false, true)), {1, 1});
  expect_equal(values_of(fg::isin(s, one.in(), x.in())), {1});
  EXPECT_EQ(fg::isin(s, none.in(), x.in()).shape_of(), (shape{0}));
}

TYPED_TEST(membership, one_hot) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<i64, D> x({2, 2}, layout::transposed, {0, 2, 1, 0}), none({0}), zero(shape{});
  const auto got = fg::one_hot(s, x.in());
  EXPECT_EQ(got.shape_of(), (shape{2, 2, 3}));
  expect_equal(values_of(got), {1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0});
  EXPECT_EQ(fg::one_hot(s, x.in(), 5).shape_of(), (shape{2, 2, 5}));
  EXPECT_EQ(fg::one_hot(s, none.in(), 5).shape_of(), (shape{0, 5}));
  expect_equal(values_of(fg::one_hot(s, zero.in(), 2)), {1, 0});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(membership_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<i64> x({2}, layout::contiguous, {0, 3}), none({0}),
      less({1}, layout::contiguous, {-1});
  test_tensor<bool> out({3});
  EXPECT_RAISES(fg::isin(s, x.in(), x.in(), out.view()), shape_mismatch, "isin");
  EXPECT_RAISES(fg::one_hot(s, x.in(), 3), out_of_range, "one_hot");
  EXPECT_RAISES(fg::one_hot(s, less.in(), 3), out_of_range, "one_hot");
  EXPECT_RAISES(fg::one_hot(s, x.in(), -2), invalid_argument, "one_hot");
  EXPECT_RAISES(fg::one_hot(s, none.in()), invalid_argument, "one_hot");
  EXPECT_RAISES(fg::one_hot(s, fg::from_values<i64>(s, {-5, -2})), out_of_range, "one_hot");
  EXPECT_RAISES(fg::one_hot(s, fg::from_values<i64>(s, {0, std::numeric_limits<i64>::max()})),
                invalid_argument, "one_hot");
  test_tensor<i64> deep({1, 1, 1, 1, 1, 1, 1, 1}, layout::contiguous, {0});
  EXPECT_RAISES(fg::one_hot(s, deep.in()), invalid_argument, "one_hot");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
