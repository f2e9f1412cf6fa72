// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/pad_backward.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class pad_gradients : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(pad_gradients, devices);

/// Pads the elements' indices on the host, and adds up gradients where they went.
template <class T, class D, class Forward, class Backward>
void check(const shape& sizes, const std::vector<i64>& padding, layout in, layout to,
           const Forward& forward, const Backward& backward) {
  const fg::int_list pad(padding.data(), static_cast<int>(padding.size()));
  std::vector<double> count(static_cast<std::size_t>(sizes.numel()));
  for (std::size_t k = 0; k < count.size(); ++k) count[k] = static_cast<double>(k);
  test_tensor<f64> own(sizes, layout::contiguous, count);
  const auto went = forward(test_stream<host>(), own.in(), pad);
  test_tensor<T, D> x(sizes), g(went.shape_of(), in, random_integers(went.shape_of(), -9, 9)),
      out(sizes, to);
  std::vector<double> want(count.size(), 0);
  const auto places = values_of(went);
  for (std::size_t k = 0; k < places.size(); ++k)
    want[static_cast<std::size_t>(places[k])] += g.values()[k];
  backward(test_stream<D>(), g.in(), x.in(), out.view(), pad);
  expect_equal(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
}
#define FLAGGEMS_BOTH_WAYS(name) \
  [](auto&&... a) { return fg::name(a...); }, [](auto&&... a) { fg::name##_backward(a...); }

TYPED_TEST(pad_gradients, all) {
  using D = TypeParam;
  at_every_level<D>([] {
    const layout c = layout::contiguous;
    for (const layout how : output_layouts) {
      check<f32, D>({2, 3, 4, 5}, {2, 1, 1, 3}, how, c, FLAGGEMS_BOTH_WAYS(reflection_pad2d));
      check<f32, D>({2, 3, 4, 5}, {2, 1, 1, 3}, c, how, FLAGGEMS_BOTH_WAYS(replication_pad2d));
    }
    check<bf16, D>({3, 5}, {4, 4}, c, c, FLAGGEMS_BOTH_WAYS(reflection_pad1d));
    check<bf16, D>({3, 5}, {7, 2}, c, c, FLAGGEMS_BOTH_WAYS(replication_pad1d));
    check<f32, D>({2, 1, 3}, {-1, 1}, c, c, FLAGGEMS_BOTH_WAYS(reflection_pad1d));
    check<f32, D>({2, 1, 3}, {2, -1}, c, c, FLAGGEMS_BOTH_WAYS(replication_pad1d));
    check<f32, D>({2, 1, 3}, {-3, 2}, c, c, FLAGGEMS_BOTH_WAYS(replication_pad1d));
    check<f32, D>({2, 1, 1}, {2, 1}, c, c, FLAGGEMS_BOTH_WAYS(replication_pad1d));
    check<f32, D>({1, 2, 3, 3, 4}, {1, 2, 2, 0, 1, 1}, c, c, FLAGGEMS_BOTH_WAYS(reflection_pad3d));
    check<f32, D>({2, 3, 2, 4}, {1, 2, 2, 0, 1, 3}, c, c, FLAGGEMS_BOTH_WAYS(replication_pad3d));
  });
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(pad_gradient, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), g({2, 5}), many({2, 2, 2, 2});
  EXPECT_RAISES(fg::reflection_pad1d_backward(s, g.in(), x.in(), {1, 2}), shape_mismatch,
                "reflection_pad1d_backward");
  EXPECT_RAISES(fg::reflection_pad1d_backward(s, g.in(), x.in(), {3, -1}), shape_mismatch,
                "reflection_pad1d_backward");
  EXPECT_RAISES(fg::replication_pad1d_backward(s, many.in(), many.in(), {0, 0}), shape_mismatch,
                "replication_pad1d_backward");
  EXPECT_RAISES(fg::replication_pad1d_backward(s, g.in(), x.in(), g.view().narrow(1, 0, 3), {1, 1}),
                overlap, "replication_pad1d_backward");
  EXPECT_TRUE(g.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
