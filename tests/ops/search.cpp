// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/search.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

const double nan = std::nan("");

template <class Device>
class searches : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(searches, devices);

TYPED_TEST(searches, sequences) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const layout how : output_layouts) {
    test_tensor<f32, D> x({2, 4}, how, {1, 3, 3, 5, 0, 2, 4, 9}),
        v({2, 3}, how, {3, 6, nan, -1, 2.5, 4});
    expect_equal(values_of(fg::searchsorted(s, x.in(), v.in())), {1, 4, 4, 0, 2, 2});
    expect_equal(values_of(fg::searchsorted(s, x.in(), v.in(), true)), {3, 4, 4, 0, 2, 3});
    test_tensor<fg::i32, D> out({2, 3}, how);
    fg::searchsorted(s, x.in(), v.in(), out.view(), false, fg::search_side::right);
    expect_equal(out.read(), {3, 4, 4, 0, 2, 3});
    EXPECT_TRUE(out.gaps_untouched());
    // Sequences that are not sorted, and the order of each.
    test_tensor<f32, D> mixed({2, 4}, how, {5, 3, 1, 3, 4, 0, 9, 2});
    test_tensor<i64, D> sorter({2, 4}, how, {2, 1, 3, 0, 1, 3, 0, 2});
    expect_equal(values_of(fg::searchsorted(s, mixed.in(), v.in(), false, {}, sorter.in())),
                 {1, 4, 4, 0, 2, 2});
    test_tensor<fg::i16, D> borders({3}, how, {1, 3, 5});
    expect_equal(values_of(fg::bucketize(s, v.in(), borders.in())), {1, 3, 3, 0, 1, 2});
    expect_equal(values_of(fg::bucketize<fg::i32>(s, v.in(), borders.in(), true)),
                 {2, 3, 3, 0, 1, 2});
    expect_equal(values_of(fg::bucketize(s, 2.5, borders.in())), {1});
    expect_equal(values_of(fg::searchsorted(s, borders.in(), 100000)), {3});
  }
  test_tensor<fg::bf16, D> none({0}), one({}, layout::contiguous, {2}),
      two({2}, layout::contiguous, {1, 3});
  expect_equal(values_of(fg::searchsorted(s, none.in(), two.in())), {0, 0});
  EXPECT_EQ(fg::searchsorted(s, two.in(), none.in()).shape_of(), (shape{0}));
  expect_equal(values_of(fg::searchsorted(s, two.in(), one.in())), {1});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(searches_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 4}), v({3, 3}), row({4});
  test_tensor<i64> out({4}), wrong({4}, layout::contiguous, {0, 1, 4, 2});
  EXPECT_RAISES(fg::searchsorted(s, x.in(), v.in()), shape_mismatch, "searchsorted");
  EXPECT_RAISES(fg::searchsorted(s, x.in(), 1.0), shape_mismatch, "searchsorted");
  EXPECT_RAISES(fg::searchsorted(s, row.in(), row.in(), true, fg::search_side::left),
                invalid_argument, "searchsorted");
  EXPECT_RAISES(fg::searchsorted(s, row.in(), row.in(), out.view(), false, {}, wrong.in()),
                out_of_range, "searchsorted");
  EXPECT_RAISES(fg::bucketize(s, row.in(), x.in()), invalid_argument, "bucketize");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
