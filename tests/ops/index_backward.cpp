// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/index_backward.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class index_gradients : public ::testing::Test {};
TYPED_TEST_SUITE(index_gradients, all_devices);

TYPED_TEST(index_gradients, of_indices) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> g({2, 3}, how, {1, 2, 4, 8, 16, 32}), x({2, 4});
      test_tensor<i64, D> row({3}, how, {2, 0, 2}), index({2, 3}, how, {2, 0, 2, 1, 1, 3});
      expect_equal(values_of(fg::index_select_backward(s, g.in(), {2, 4}, -1, row.in())),
                   {2, 0, 5, 0, 16, 0, 40, 0});
      expect_equal(values_of(fg::gather_backward(s, g.in(), x.in(), 1, index.in(), false)),
                   {2, 0, 5, 0, 0, 24, 0, 32});
      expect_equal(values_of(fg::cummaxmin_backward(s, g.in(), x.in(), index.in(), 1)),
                   {2, 0, 5, 0, 0, 24, 0, 32});
      test_tensor<i64, D> chosen({3}, how, {1, 0, 1});
      const auto first = g.in().select(0, 1);
      const auto lacks =
          fg::value_selecting_reduction_backward(s, first, 0, chosen.in(), {2, 3}, false);
      expect_equal(values_of(lacks), {0, 16, 0, 8, 0, 32});
      const auto keeps = fg::value_selecting_reduction_backward(
          s, first.unsqueeze(0), 0, chosen.in().unsqueeze(0), {2, 3}, true);
      expect_equal(values_of(keeps), {0, 16, 0, 8, 0, 32});
    }
  });
  test_tensor<bf16, D> one({}, layout::contiguous, {3}), none({2, 0});
  test_tensor<i64, D> zero({}, layout::contiguous, {0}), nothing({0});
  expect_equal(values_of(fg::index_select_backward(s, one.in(), {}, 0, zero.in())), {3});
  expect_equal(
      values_of(fg::value_selecting_reduction_backward(s, one.in(), 0, zero.in(), {}, false)), {3});
  expect_equal(values_of(fg::index_select_backward(s, none.in(), {2, 1}, 1, nothing.in())), {0, 0});
}

TYPED_TEST(index_gradients, of_masks) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> g({2, 3}, layout::transposed, {1, 2, 3, 4, 5, 6});
  test_tensor<bool, D> mask({2, 3}, layout::contiguous, {0, 1, 1, 0, 0, 1}),
      row({3}, layout::contiguous, {1, 0, 0});
  expect_equal(values_of(fg::masked_scatter_backward(s, g.in(), mask.in(), {2, 2})), {2, 3, 6, 0});
  expect_equal(values_of(fg::masked_scatter_backward(s, g.in(), row.in(), {2})), {1, 4});
  EXPECT_EQ(
      code_of([&] { static_cast<void>(fg::masked_scatter_backward(s, g.in(), mask.in(), {2})); }),
      fg::errc::shape_mismatch);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(index_gradient, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> g({2, 3}), x({2, 4});
  test_tensor<i64> row({3}, layout::contiguous, {4, 0, 2}), index({2, 3});
  EXPECT_RAISES(fg::index_select_backward(s, g.in(), {2, 4}, 1, row.in()), out_of_range,
                "index_select_backward");
  EXPECT_RAISES(fg::index_select_backward(s, g.in(), {3, 5}, 1, row.in()), shape_mismatch,
                "index_select_backward");
  EXPECT_RAISES(fg::gather_backward(s, g.in(), x.in(), 2, index.in(), false), out_of_range,
                "gather_backward");
  EXPECT_RAISES(fg::value_selecting_reduction_backward(s, g.in(), 0, index.in(), {2, 3}, false),
                shape_mismatch, "value_selecting_reduction_backward");
}
#endif

}  // namespace
}  // namespace flaggems_test
