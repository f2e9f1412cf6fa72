// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/safe_softmax.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class safe_softmaxes : public ::testing::Test {};
TYPED_TEST_SUITE(safe_softmaxes, all_devices);

TYPED_TEST(safe_softmaxes, rows_of_nothing_are_zero) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> values{-inf, -inf, -inf, 0, -inf, 0, nan, -inf, 1};
  const std::vector<double> want{0, 0, 0, 0.5, 0, 0.5, nan, nan, nan};
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({3, 3}, how, values), out({3, 3}, how);
      fg::safe_softmax(s, x.in(), out.view(), 1);
      expect_close<f32>(out.read(), want);
      EXPECT_TRUE(out.gaps_untouched());
      fg::safe_softmax(s, x.in(), x.view(), -1);
      expect_close<f32>(x.read(), want);
    }
  });
  test_tensor<bf16, D> columns({2, 2}, layout::contiguous, {-inf, 1, -inf, 1}), none({0, 2}),
      one({}, layout::contiguous, {4});
  expect_equal(values_of(fg::safe_softmax(s, columns.in(), 0)), {0, 0.5, 0, 0.5});
  EXPECT_EQ(fg::safe_softmax(s, none.in(), 0).shape_of(), (shape{0, 2}));
  expect_equal(values_of(fg::safe_softmax<f32>(s, one.in(), 0)), {1});
}

TYPED_TEST(safe_softmaxes, scaled) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double e = std::exp(1.0), p = e / (1 + e), q = 1 / (1 + e);
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<f32, D> x({2, 2}, how, {2, 0, 0, 2}), out({2, 2}, how), grad({2, 2}, how);
      fg::scaled_softmax_forward(s, x.in(), out.view(), 0.5);
      expect_close<f32>(out.read(), {p, q, q, p});
      fg::scaled_softmax_backward(s, x.in(), out.in(), grad.view(), 0.5);
      expect_close<f32>(grad.read(), {p * q, -p * q, -p * q, p * q});
      EXPECT_TRUE(out.gaps_untouched() && grad.gaps_untouched());
    }
  });
  test_tensor<bf16, D> none({0, 2});
  EXPECT_EQ(fg::scaled_softmax_forward(s, none.in(), 2).shape_of(), (shape{0, 2}));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(safe_softmax, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 3}), out({3, 2});
  EXPECT_RAISES(fg::safe_softmax(s, x.in(), 2), out_of_range, "safe_softmax");
  EXPECT_RAISES(fg::safe_softmax(s, x.in(), out.view(), 1), shape_mismatch, "safe_softmax");
  EXPECT_RAISES(fg::scaled_softmax_forward(s, x.in(), out.view(), 2), shape_mismatch,
                "scaled_softmax_forward");
  EXPECT_RAISES(fg::scaled_softmax_backward(s, x.in(), x.in(), out.view(), 2), shape_mismatch,
                "scaled_softmax_backward");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
