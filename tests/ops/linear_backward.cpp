// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/linear_backward.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class linear_gradients : public ::testing::Test {};
TYPED_TEST_SUITE(linear_gradients, wide_float_cases);

TYPED_TEST(linear_gradients, all) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const layout in : input_layouts)
    for (const shape& leading : {shape{4}, shape{2, 3}, shape{}, shape{0}}) {
      shape inputs = leading, outputs = leading;
      inputs.push_back(5), outputs.push_back(3);
      test_tensor<T, D> x(inputs, in, random_integers(inputs, -3, 3)),
          g(outputs, in, random_integers(outputs, -3, 3)),
          w({3, 5}, in, random_integers({3, 5}, -3, 3));
      const std::size_t rows = static_cast<std::size_t>(leading.numel());
      std::vector<double> by_x(rows * 5), by_w(15), by_b(3);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t n = 0; n < 3; ++n) {
          const double grad = g.values()[r * 3 + n];
          by_b[n] += grad;
          for (std::size_t k = 0; k < 5; ++k) {
            by_x[r * 5 + k] += grad * w.values()[n * 5 + k];
            by_w[n * 5 + k] += grad * x.values()[r * 5 + k];
          }
        }
      const auto all = fg::linear_backward(s, x.in(), g.in(), w.in());
      expect_equal(values_of(*all.input), by_x);
      expect_equal(values_of(*all.weight), by_w);
      expect_equal(values_of(*all.bias), by_b);
      const auto one = fg::linear_backward(s, x.in(), g.in(), w.in(), {false, false, true});
      EXPECT_FALSE(one.input || one.weight);
      expect_equal(values_of(*one.bias), by_b);
    }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(linear_backward, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({4, 5}), g({4, 3}), w({3, 5}), flat({5}), other({3, 4});
  EXPECT_RAISES((void)fg::linear_backward(s, x.in(), g.in(), flat.in()), shape_mismatch,
                "linear_backward");
  EXPECT_RAISES((void)fg::linear_backward(s, x.in(), g.in(), other.in()), shape_mismatch,
                "linear_backward");
  EXPECT_RAISES((void)fg::linear_backward(s, x.in(), x.in(), w.in()), shape_mismatch,
                "linear_backward");
}
#endif

}  // namespace
}  // namespace flaggems_test
