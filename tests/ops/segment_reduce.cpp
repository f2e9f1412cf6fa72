// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/segment_reduce.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using by = fg::segment_reduction;
const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");

template <class Device>
class segments : public ::testing::Test {};
TYPED_TEST_SUITE(segments, all_devices);

TYPED_TEST(segments, reduce) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({4, 2}, how, {1, -2, 3, 4, 3, 0, 5, 6}), out({3, 2}, how);
      test_tensor<i64, D> lengths({3}, how, {1, 0, 3}), offsets({4}, how, {0, 1, 1, 4});
      const auto got = [&](by kind, std::optional<double> initial = {}) {
        fg::segment_reduce(s, x.in(), kind, lengths.in(), std::nullopt, std::nullopt, out.view(), 0,
                           false, initial);
        EXPECT_TRUE(out.gaps_untouched());
        return out.read();
      };
      expect_equal(got(by::sum), {1, -2, 0, 0, 11, 10});
      expect_equal(got(by::sum, 0.5), {1.5, -1.5, 0.5, 0.5, 11.5, 10.5});
      expect_close<f32>(got(by::mean), {1, -2, nan, nan, 11 / 3.0, 10 / 3.0});
      expect_equal(got(by::mean, 1), {2, -1, 1, 1, 4, 11 / 3.0F});
      expect_equal(got(by::max), {1, -2, -inf, -inf, 5, 6});
      expect_equal(got(by::min, 3), {1, -2, 3, 3, 3, 0});
      expect_equal(got(by::prod), {1, -2, 1, 1, 45, 0});
      expect_equal(values_of(fg::segment_reduce(s, x.in(), by::sum, std::nullopt, std::nullopt,
                                                offsets.in())),
                   {1, -2, 0, 0, 11, 10});
      // Along the second dimension, of which each row has segments of its own.
      test_tensor<i64, D> each({4, 2}, how, {2, 0, 1, 1, 0, 2, 1, 1});
      expect_equal(values_of(fg::segment_reduce(s, x.in(), by::sum, each.in(), std::nullopt,
                                                std::nullopt, 1)),
                   {-1, 0, 3, 4, 0, 3, 5, 6});
    }
  });
  test_tensor<bf16, D> none({0, 2});
  test_tensor<i64, D> nothing({1});
  expect_equal(values_of(fg::segment_reduce(s, none.in(), by::prod, nothing.in())), {1, 1});
}

TYPED_TEST(segments, gradients) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({5}, layout::negative, {2, 3, 3, 0, 4}), g({2}, layout::strided, {6, 10});
  test_tensor<i64, D> lengths({2}, layout::contiguous, {3, 2});
  const auto got = [&](by kind) {
    const auto y = fg::segment_reduce(s, x.in(), kind, lengths.in());
    return values_of(fg::segment_reduce_backward(s, g.in(), y, x.in(), kind, lengths.in()));
  };
  expect_equal(got(by::sum), {6, 6, 6, 10, 10});
  expect_equal(got(by::mean), {2, 2, 2, 5, 5});
  expect_equal(got(by::max), {0, 3, 3, 0, 10});
  expect_equal(got(by::min), {6, 0, 0, 10, 0});
  expect_close<f32>(got(by::prod), {54, 36, 36, 40, 0});
  // Lengths are not checked: elements behind all segments have no part in the result.
  test_tensor<i64, D> short_ones({2}, layout::contiguous, {1, 2});
  expect_equal(
      values_of(fg::segment_reduce_backward(s, g.in(), g.in(), x.in(), by::sum, short_ones.in())),
      {6, 10, 10, 0, 0});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(segments_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 2}), out({1, 2});
  test_tensor<i64> few({1}, layout::contiguous, {2}), less({2}, layout::contiguous, {4, -1}),
      deep({1, 1});
  const auto run = [&](const auto& lengths, i64 axis = 0) {
    fg::segment_reduce(s, x.in(), by::sum, lengths, std::nullopt, std::nullopt, out.view(), axis);
  };
  EXPECT_RAISES(run(few.in()), invalid_argument, "segment_reduce");
  EXPECT_RAISES(run(less.in()), invalid_argument, "segment_reduce");
  EXPECT_RAISES(run(deep.in()), shape_mismatch, "segment_reduce");
  EXPECT_RAISES(run(few.in(), 2), out_of_range, "segment_reduce");
  EXPECT_RAISES(fg::segment_reduce(s, x.in(), by::sum, few.in(), std::nullopt, few.in()),
                invalid_argument, "segment_reduce");
  EXPECT_RAISES(fg::segment_reduce(s, x.in(), by::sum, few.in(), few.in()), not_supported,
                "segment_reduce");
  EXPECT_TRUE(out.untouched());
  // Running sums that wrap around to what is there.
  constexpr i64 most = std::numeric_limits<i64>::max();
  test_tensor<f32> four({4});
  const auto of = [&](std::initializer_list<i64> list) {
    return fg::segment_reduce(s, four.in(), by::sum, fg::from_values<i64>(s, list));
  };
  EXPECT_RAISES(of({most, most, 6}), invalid_argument, "segment_reduce");
  EXPECT_RAISES(of({most, 5}), invalid_argument, "segment_reduce");
  EXPECT_RAISES(of({-300, 304}), invalid_argument, "segment_reduce");
  EXPECT_RAISES(of({}), invalid_argument, "segment_reduce");
  EXPECT_EQ(error_of([&] { (void)of({3, 3}); }).got(), "6");
  EXPECT_EQ(error_of([&] { (void)of({5, -1}); }).got(), "-1");
  EXPECT_RAISES(fg::segment_reduce(s, four.in(), by::sum, std::nullopt, std::nullopt,
                                   fg::from_values<i64>(s, {1, 5})),
                invalid_argument, "segment_reduce");
}
#endif

}  // namespace
}  // namespace flaggems_test
