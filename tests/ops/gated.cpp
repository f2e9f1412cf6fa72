// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gated activations of the halves of one tensor, and their gradients.
#include <flaggems/ops/gated.hpp>
#include <support/ops.hpp>
#include <support/pointwise_reference.hpp>

#include <functional>

namespace flaggems_test {
namespace {

template <class Case>
class gated : public ::testing::Test {};
TYPED_TEST_SUITE(gated, wide_float_cases);

using values = std::vector<double>;
using gate = double (*)(double, double);

TYPED_TEST(gated, halves) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  const auto tol = tolerance_of<T>();
  at_every_level<D>([&] {
    const shape sizes{3, 4, 10};
    test_tensor<T, D> x(sizes, layout::strided, random_values(sizes));
    for (const i64 dim : {i64{1}, i64{-1}}) {
      const i64 inner = dim == 1 ? 10 : 1, n = dim == 1 ? 4 : 10;
      const shape out_sizes = dim == 1 ? shape{3, 2, 10} : shape{3, 4, 5};
      test_tensor<T, D> g(out_sizes, layout::transposed, random_values(out_sizes)), out(out_sizes);
      test_tensor<T, D> dx(sizes, layout::negative);
      // Element k of the result is made of elements first(k) and first(k) + n / 2 along dim.
      const auto first = [&](i64 k) {
        const i64 row = k / (n / 2 * inner), rest = k % (n / 2 * inner);
        return row * n * inner + rest;
      };
      const auto check = [&](gate f, double slack) {
        values want, want_dx(120, 0);
        for (i64 k = 0; k < 60; ++k) {
          const auto at = static_cast<std::size_t>(first(k));
          const auto other = at + static_cast<std::size_t>(n / 2 * inner);
          const double a = x.values()[at], b = x.values()[other], h = 1e-5;
          const double grad = g.values()[static_cast<std::size_t>(k)];
          want.push_back(f(a, b));
          want_dx[at] = grad * (f(a + h, b) - f(a - h, b)) / (2 * h);
          want_dx[other] = grad * (f(a, b + h) - f(a, b - h)) / (2 * h);
        }
        expect_close<T>(out.read(), want, {tol.rtol, tol.atol + 1e-6});
        expect_close<T>(dx.read(), want_dx, {slack * tol.rtol, tol.atol + 1e-6});
      };
      fg::glu(stream, x.in(), out.view(), dim);
      fg::glu_backward(stream, g.in(), x.in(), dx.view(), dim);
      check([](double a, double b) { return a * reference::sigmoid(b); }, 2);
      fg::swiglu(stream, x.in(), out.view(), dim);
      fg::dswiglu(stream, g.in(), x.in(), dx.view(), dim);
      check([](double a, double b) { return reference::silu(a) * b; }, 2);
      fg::geglu(stream, x.in(), out.view(), dim);
      fg::dgeglu(stream, g.in(), x.in(), dx.view(), dim);
      check([](double a, double b) { return reference::gelu_tanh(a) * b; }, 2);
      fg::reglu(stream, x.in(), out.view(), dim);
      fg::dreglu(stream, g.in(), x.in(), dx.view(), dim);
      check([](double a, double b) { return reference::relu(a) * b; }, 2);
      EXPECT_TRUE(out.gaps_untouched() && dx.gaps_untouched() && x.untouched());
    }
  });
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(gated_forms, new_tensors_and_errors) {
  const auto& stream = test_stream<host>();
  test_tensor<f32> x({2, 6}, layout::contiguous, random_values({2, 6})), g({2, 3}), out({2, 3});
  EXPECT_EQ(fg::glu(stream, x.in()).shape_of(), (shape{2, 3}));
  EXPECT_EQ(fg::glu(stream, x.in(), 0).shape_of(), (shape{1, 6}));
  EXPECT_EQ(fg::dswiglu(stream, g.in(), x.in()).shape_of(), (shape{2, 6}));
  EXPECT_EQ(fg::swiglu(stream, test_tensor<f32>({0, 4}).in()).shape_of(), (shape{0, 2}));
  EXPECT_RAISES((void)fg::glu(stream, x.in().narrow(1, 0, 5)), invalid_argument, "glu");
  EXPECT_RAISES((void)fg::glu(stream, x.in(), 2), out_of_range, "glu");
  EXPECT_RAISES((void)fg::reglu(stream, test_tensor<f32>({}).in()), out_of_range, "reglu");
  EXPECT_RAISES(fg::geglu(stream, x.in(), out.view().narrow(0, 0, 1)), shape_mismatch, "geglu");
  EXPECT_RAISES(fg::glu_backward(stream, g.in(), x.in(), x.view()), overlap, "glu_backward");
  EXPECT_RAISES(fg::dgeglu(stream, x.in(), x.in(), test_tensor<f32>({2, 6}).view()), shape_mismatch,
                "dgeglu");
  EXPECT_TRUE(out.untouched() && x.untouched());
}

#endif

}  // namespace
}  // namespace flaggems_test
