// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/convolution_backward.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class second_gradients : public ::testing::Test {};
TYPED_TEST_SUITE(second_gradients, wide_float_cases);

/// A convolution of two dimensions, whose terms are visited: f(output, input, weight), their
/// places.
struct terms {
  shape x, w, out;
  i64 stride[2], padding[2], dilation[2], groups;
  bool transposed;

  template <class F>
  void each(const F& f) const {
    // Of a transposed convolution the output is in the input's place.
    const shape& from = transposed ? out : x;
    const shape& to = transposed ? x : out;
    const i64 channels = w[1], features = w[0] / groups;
    const auto at = [](const shape& s, i64 a, i64 b, i64 c, i64 d) {
      return static_cast<std::size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d);
    };
    for (i64 n = 0; n < to[0]; ++n)
      for (i64 o = 0; o < to[1]; ++o)
        for (i64 y = 0; y < to[2]; ++y)
          for (i64 z = 0; z < to[3]; ++z)
            for (i64 c = 0; c < channels; ++c)
              for (i64 i = 0; i < w[2]; ++i)
                for (i64 j = 0; j < w[3]; ++j) {
                  const i64 r = y * stride[0] + i * dilation[0] - padding[0];
                  const i64 q = z * stride[1] + j * dilation[1] - padding[1];
                  if (r < 0 || q < 0 || r >= from[2] || q >= from[3]) continue;
                  const std::size_t a = at(to, n, o, y, z),
                                    b = at(from, n, o / features * channels + c, r, q);
                  f(transposed ? b : a, transposed ? a : b, at(w, o, c, i, j));
                }
  }
};

template <class T, class D>
void check(const terms& t, layout in) {
  const auto& s = test_stream<D>();
  const auto made = [&](const shape& sizes) {
    return test_tensor<T, D>(sizes, in, random_integers(sizes, -2, 2));
  };
  auto x = made(t.x), by_x = made(t.x), w = made(t.w), by_w = made(t.w), g = made(t.out),
       by_b = made({t.out[1]});
  std::vector<double> out(g.values().size()), of_x(x.values().size()), of_w(w.values().size());
  t.each([&](std::size_t o, std::size_t i, std::size_t k) {
    out[o] += by_x.values()[i] * w.values()[k] + x.values()[i] * by_w.values()[k];
    of_x[i] += g.values()[o] * by_w.values()[k];
    of_w[k] += g.values()[o] * by_x.values()[i];
  });
  const i64 plane = t.out[2] * t.out[3];
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] += by_b.values()[static_cast<std::size_t>(static_cast<i64>(k) / plane % t.out[1])];
  const i64 more[] = {t.transposed ? t.stride[0] - 1 : 0, 0};
  const auto run = [&](const auto& a, const auto& b, const auto& c) {
    return fg::convolution_double_backward(s, a, b, c, g.in(), w.in(), x.in(), t.stride, t.padding,
                                           t.dilation, t.transposed, more, t.groups);
  };
  const auto all = run(by_x.in(), by_w.in(), by_b.in());
  const tolerance tol = std::is_same_v<T, bf16> ? tolerance{0.03, 1} : tolerance_of<T>(10);
  expect_close<T>(values_of(*all.grad_output), out, tol);
  expect_close<T>(values_of(*all.input), of_x, tol);
  expect_close<T>(values_of(*all.weight), of_w, tol);
  const auto one = run(std::nullopt, by_w.in(), std::nullopt);
  EXPECT_FALSE(one.weight);
  expect_close<T>(values_of(*one.input), of_x, tol);
  const auto none = run(std::nullopt, std::nullopt, std::nullopt);
  EXPECT_FALSE(none.grad_output || none.input || none.weight);
}

TYPED_TEST(second_gradients, of_convolutions) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  for (const layout in : {layout::contiguous, layout::transposed, layout::negative}) {
    check<T, D>({{2, 4, 7, 6}, {6, 2, 3, 2}, {2, 6, 4, 4}, {2, 1}, {1, 0}, {1, 2}, 2, false}, in);
    check<T, D>({{2, 3, 8, 5}, {4, 3, 3, 3}, {2, 4, 3, 2}, {3, 2}, {1, 0}, {1, 1}, 1, false}, in);
    check<T, D>({{2, 4, 3, 4}, {4, 2, 3, 2}, {2, 4, 6, 6}, {2, 1}, {1, 0}, {1, 2}, 2, true}, in);
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(convolution_backward, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 5}), w({3, 2, 2}), g({1, 3, 4}), flat({2, 5}), b({2});
  const auto run = [&](auto& by_x, auto& grad, auto& input, auto& bias) {
    (void)fg::convolution_double_backward(s, by_x.in(), std::nullopt, bias.in(), grad.in(), w.in(),
                                          input.in(), {1}, {0}, {1}, false, {0}, 1);
  };
  test_tensor<f32> right({3});
  run(x, g, x, right);
  EXPECT_RAISES(run(x, x, x, right), shape_mismatch, "convolution_double_backward");
  EXPECT_RAISES(run(g, g, x, right), shape_mismatch, "convolution_double_backward");
  EXPECT_RAISES(run(x, g, flat, right), shape_mismatch, "convolution_double_backward");
  EXPECT_RAISES(run(x, g, x, b), shape_mismatch, "convolution_double_backward");
}
#endif

}  // namespace
}  // namespace flaggems_test
