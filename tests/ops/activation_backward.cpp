// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/activation_backward.hpp>
#include <support/pointwise_tables.hpp>

#include <functional>

namespace flaggems_test {
namespace {

FLAGGEMS_ACTIVATION_BACKWARD_TABLE(TEST_PAIR, TEST_PAIR1, TEST_PAIR2)
using rows =
    row_list<void FLAGGEMS_ACTIVATION_BACKWARD_TABLE(TEST_LISTED, TEST_LISTED, TEST_LISTED)>;

template <class D>
class activation_backward : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(activation_backward, devices);

TYPED_TEST(activation_backward, rows) { check_table<TypeParam, rows>(); }

using values = std::vector<double>;

/// Gradients against differences of the function in double.
TYPED_TEST(activation_backward, derivatives) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  const shape sizes{3, 17};
  at_every_level<D>([&] {
    test_tensor<f32, D> g(sizes, layout::transposed, random_values(sizes));
    test_tensor<f32, D> x(sizes, layout::strided, random_values(sizes, -4, 4)), out(sizes);
    const auto check = [&](const char* what, const std::function<double(double)>& f) {
      SCOPED_TRACE(what);
      values want;
      for (std::size_t k = 0; k < 51; ++k) {
        const double at = x.values()[k], h = 1e-5;
        want.push_back(g.values()[k] * (f(at + h) - f(at - h)) / (2 * h));
      }
      expect_close<f32>(out.read(), want, {1e-5, 2e-6});
    };
    fg::gelu_backward(stream, g.in(), x.in(), out.view());
    check("gelu", reference::gelu_none);
    fg::gelu_backward(stream, g.in(), x.in(), out.view(), fg::gelu_approximate::tanh);
    check("gelu by tanh", reference::gelu_tanh);
    const auto elu = [](double v) { return reference::elu(v, 0.75, 1.25, 0.5); };
    fg::elu_backward(stream, g.in(), 0.75, 1.25, 0.5, false, x.in(), out.view());
    check("elu", elu);
    test_tensor<f32, D> y(sizes);
    fg::elu(stream, x.in(), y.view(), 0.75, 1.25, 0.5);
    fg::elu_backward(stream, g.in(), 0.75, 1.25, 0.5, true, y.in(), out.view());
    check("elu of its result", elu);
    fg::leaky_relu_backward(stream, g.in(), x.in(), out.view(), 0.125, false);
    check("leaky_relu", [](double v) { return reference::leaky_relu(v, 0.125); });
    fg::log_sigmoid_backward(stream, g.in(), x.in(), y.in(), out.view());
    check("log_sigmoid", reference::log_sigmoid);
    fg::rrelu_with_noise_backward(stream, g.in(), x.in(), y.in(), out.view(), 0.25, 0.5, false,
                                  false);
    check("rrelu", [](double v) { return reference::leaky_relu(v, 0.375); });
  });
}

TYPED_TEST(activation_backward, by_hand) {
  using D = TypeParam;
  const auto& stream = test_stream<D>();
  test_tensor<f32, D> g({4}, layout::contiguous, {1, 2, -1, 3});
  test_tensor<f32, D> x({4}, layout::strided, {0.5, 0.25, -1, 0.9});
  expect_close<f32>(values_of(fg::logit_backward(stream, g.in(), x.in())),
                    {4, 2 / 0.1875, std::nan(""), 3 / (0.9 * 0.1)}, {1e-5, 0});
  expect_close<f32>(values_of(fg::logit_backward(stream, g.in(), x.in(), 0.3)), {4, 0, 0, 0},
                    {1e-6, 0});
  test_tensor<f32, D> noise({4}, layout::contiguous, {1, 0.5, 0.25, 2});
  expect_equal(values_of(fg::rrelu_with_noise_backward(stream, g.in(), x.in(), noise.in(), 0.25,
                                                       0.5, true, false)),
               {1, 1, -0.25, 6});
  const auto both = fg::prelu_kernel_backward(stream, g.in(), x.in(), noise.in());
  expect_equal(values_of(both.first), {1, 2, -0.25, 3});
  expect_equal(values_of(both.second), {0, 0, 1, 0});
  test_tensor<f32, D> dx({4}), dw({4});
  fg::prelu_kernel_backward(stream, g.in(), x.in(), noise.in(), dx.view(), dw.view());
  expect_equal(dx.read(), {1, 2, -0.25, 3});
  expect_equal(dw.read(), {0, 0, 1, 0});
  EXPECT_RAISES(fg::prelu_kernel_backward(stream, g.in(), x.in(), noise.in(), dx.view(), dx.view()),
                overlap, "prelu_kernel_backward");
  test_tensor<f32, D> first({4}), second({4});
  EXPECT_RAISES(fg::prelu_kernel_backward(stream, g.in(), x.in(), noise.in(), first.view(),
                                          second.view().narrow(0, 0, 3)),
                shape_mismatch, "prelu_kernel_backward");
  EXPECT_RAISES(
      fg::prelu_kernel_backward(stream, g.in(), x.in(), noise.in(), first.view(), noise.view()),
      overlap, "prelu_kernel_backward");
  EXPECT_RAISES(fg::prelu_kernel_backward(stream, g.in(), x.in(), noise.in(), first.view(),
                                          second.view().narrow(0, 0, 1).expand({4})),
                overlap, "prelu_kernel_backward");
  EXPECT_TRUE(first.untouched() && second.untouched());
  EXPECT_RAISES((void)fg::elu_backward(stream, g.in(), -1, 1, 1, true, x.in()), invalid_argument,
                "elu_backward");
  EXPECT_RAISES((void)fg::leaky_relu_backward(stream, g.in(), x.in(), -1, true), invalid_argument,
                "leaky_relu_backward");
  EXPECT_RAISES(fg::gelu_backward(stream, g.in(), x.in(), dx.view().narrow(0, 0, 3)),
                shape_mismatch, "gelu_backward");
}

}  // namespace
}  // namespace flaggems_test
