// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/factor_backward.hpp>
#include <support/differences.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class factor_gradients : public ::testing::Test {};
TYPED_TEST_SUITE(factor_gradients, factor_cases);

TYPED_TEST(factor_gradients, of_cholesky) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  const shape sizes{2, 4, 4};
  const row a = random_stack(2, 4, 4).definite().values, g = random_values(sizes);
  for (const bool upper : {false, true})
    for (const layout how : {layout::contiguous, layout::transposed, layout::negative}) {
      const auto factor = [&](const row& x) {
        return values_of(fg::linalg_cholesky(exactly, exact(sizes, x), upper));
      };
      const row l = factor(a);
      row beside = l;  // the other triangle is not read
      for (std::size_t i = 0; i < beside.size(); ++i)
        if (const auto down = i / 4 % 4, right = i % 4; upper ? down > right : down < right)
          beside[i] = 7;
      test_tensor<T, D> grad(sizes, how, g), factors(sizes, how, beside);
      expect_close<T>(values_of(fg::cholesky_backward(s, grad.in(), factors.in(), upper)),
                      differences(factor, a, g, 4), close_to_differences<T>);
      const auto inverse = [&](const row& x) {
        return values_of(fg::cholesky_inverse(exactly, exact(sizes, x), upper));
      };
      test_tensor<T, D> inverses(sizes, how, inverse(l));
      expect_close<T>(values_of(fg::cholesky_inverse_backward(s, grad.in(), factors.in(),
                                                              inverses.in(), upper)),
                      differences(inverse, l, g), close_to_differences<T>);
    }
  test_tensor<T, D> x({2, 3}), y({3, 3}), none({0, 3, 3});
  EXPECT_RAISES(static_cast<void>(fg::cholesky_backward(s, x.in(), x.in())), shape_mismatch,
                "cholesky_backward");
  EXPECT_RAISES(static_cast<void>(fg::cholesky_backward(s, x.in(), y.in())), shape_mismatch,
                "cholesky_backward");
  EXPECT_EQ(fg::cholesky_backward(s, none.in(), none.in()).shape_of(), (shape{0, 3, 3}));
}

TYPED_TEST(factor_gradients, of_solutions) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  // The matrix's batch and the right sides' broadcast.
  const shape of_a{2, 1, 3, 3}, of_b{3, 3, 2}, of_x{2, 3, 3, 2};
  const row a = random_stack(2, 3, 3)
                    .with([](i64 i, i64 j, double x) { return i == j ? 3 + x : x; })
                    .values,
            b = random_values(of_b), g = random_values(of_x);
  test_tensor<T, D> matrix(of_a, layout::transposed, a), sides(of_b, layout::strided, b),
      grad(of_x, layout::negative, g);
  for (const bool upper : {false, true}) {
    const auto solve = [&](const row& l, const row& y) {
      return values_of(fg::cholesky_solve(exactly, exact(of_b, y), exact(of_a, l), upper));
    };
    test_tensor<T, D> result(of_x, layout::contiguous, solve(a, b));
    const auto r =
        fg::cholesky_solve_backward(s, grad.in(), sides.in(), matrix.in(), result.in(), upper);
    EXPECT_EQ(r.self->shape_of(), of_b);
    EXPECT_EQ(r.other->shape_of(), of_a);
    expect_close<T>(values_of(*r.self),
                    differences([&](const row& y) { return solve(a, y); }, b, g),
                    close_to_differences<T>);
    expect_close<T>(values_of(*r.other),
                    differences([&](const row& l) { return solve(l, b); }, a, g),
                    close_to_differences<T>);
    const auto one = fg::cholesky_solve_backward(s, grad.in(), sides.in(), matrix.in(), result.in(),
                                                 upper, {true, false});
    EXPECT_TRUE(one.self.has_value() && !one.other.has_value());
  }
  for (const bool upper : {false, true})
    for (const bool left : {true, false})
      for (const bool unit : {false, true}) {
        const shape right_of = left ? of_b : shape{3, 2, 3}, x_of = left ? of_x : shape{2, 3, 2, 3};
        const auto solve = [&](const row& m, const row& y) {
          return values_of(fg::linalg_solve_triangular(exactly, exact(of_a, m), exact(right_of, y),
                                                       upper, left, unit));
        };
        test_tensor<T, D> result(x_of, layout::contiguous, solve(a, b)),
            right(right_of, layout::transposed, b), given(x_of, layout::strided, g);
        const auto r = fg::linalg_solve_triangular_backward(s, given.in(), matrix.in(), right.in(),
                                                            result.in(), upper, left, unit);
        expect_close<T>(values_of(*r.self),
                        differences([&](const row& m) { return solve(m, b); }, a, g),
                        close_to_differences<T>);
        expect_close<T>(values_of(*r.other),
                        differences([&](const row& y) { return solve(a, y); }, b, g),
                        close_to_differences<T>);
      }
  test_tensor<T, D> x({3, 2}), y({2, 3});
  EXPECT_RAISES(static_cast<void>(
                    fg::linalg_solve_triangular_backward(s, x.in(), y.in(), x.in(), x.in(), true)),
                shape_mismatch, "linalg_solve_triangular_backward");
}

TYPED_TEST(factor_gradients, of_lu) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  for (const auto& [m, n] : {std::pair<i64, i64>{4, 4}, {3, 5}, {5, 3}}) {
    const i64 k = (std::min)(m, n);
    const shape sizes{2, m, n}, of_l{2, m, k}, of_u{2, k, n};
    // Pivots that small differences do not change.
    const row a = random_stack(2, m, n)
                      .with([](i64 i, i64 j, double x) { return j == (i + 1) % 3 ? 4 + x : x; })
                      .values;
    const row gl = random_values(of_l), gu = random_values(of_u), g = random_values(sizes);
    const auto parts = fg::linalg_lu(exactly, exact(sizes, a));
    test_tensor<T, D> p({2, m, m}, layout::contiguous, values_of(parts.p)),
        l(of_l, layout::transposed, values_of(parts.l)),
        u(of_u, layout::strided, values_of(parts.u)), grad_l(of_l, layout::negative, gl),
        grad_u(of_u, layout::transposed, gu);
    const auto lower = [&](const row& x) {
      return values_of(fg::linalg_lu(exactly, exact(sizes, x)).l);
    };
    const auto upper = [&](const row& x) {
      return values_of(fg::linalg_lu(exactly, exact(sizes, x)).u);
    };
    const row by_l = differences(lower, a, gl), by_u = differences(upper, a, gu);
    row both = by_l;
    for (std::size_t i = 0; i < both.size(); ++i) both[i] += by_u[i];
    const auto found = [&](const auto& x, const auto& y) {
      return values_of(fg::linalg_lu_backward(s, x, y, p.in(), l.in(), u.in()));
    };
    expect_close<T>(found(grad_l.in(), std::nullopt), by_l, close_to_differences<T>);
    expect_close<T>(found(std::nullopt, grad_u.in()), by_u, close_to_differences<T>);
    expect_close<T>(found(grad_l.in(), grad_u.in()), both, close_to_differences<T>);
    const auto packed = fg::linalg_lu_factor_ex(exactly, exact(sizes, a));
    test_tensor<T, D> lu(sizes, layout::transposed, values_of(packed.lu)),
        grad(sizes, layout::strided, g);
    test_tensor<fg::i32, D> pivots({2, k}, layout::contiguous, values_of(packed.pivots));
    const auto factor = [&](const row& x) {
      return values_of(fg::linalg_lu_factor_ex(exactly, exact(sizes, x)).lu);
    };
    expect_close<T>(values_of(fg::linalg_lu_factor_ex_backward(s, grad.in(), lu.in(), pivots.in())),
                    differences(factor, a, g), close_to_differences<T>);
  }
  // Without exchanges.
  const shape sizes{3, 3};
  const row a{4, 1, 2, 1, 5, 1, 2, 1, 6}, g = random_values(sizes);
  const auto factor = [&](const row& x) {
    return values_of(fg::linalg_lu_factor_ex(exactly, exact(sizes, x), false).lu);
  };
  test_tensor<T, D> lu(sizes, layout::contiguous, factor(a)), grad(sizes, layout::contiguous, g);
  test_tensor<fg::i32, D> pivots({3}, layout::contiguous, {1, 2, 3});
  expect_close<T>(
      values_of(fg::linalg_lu_factor_ex_backward(s, grad.in(), lu.in(), pivots.in(), false)),
      differences(factor, a, g), close_to_differences<T>);
  EXPECT_RAISES(static_cast<void>(fg::linalg_lu_factor_ex_backward(s, grad.in().narrow(0, 0, 2),
                                                                   lu.in(), pivots.in())),
                shape_mismatch, "linalg_lu_factor_ex_backward");
}

TYPED_TEST(factor_gradients, of_logarithms_of_determinants) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  const shape sizes{3, 3, 3};
  const row a =
      random_stack(3, 3, 3).with([](i64 i, i64 j, double x) { return i == j ? x - 3 : x; }).values;
  const row g{0.5, -2, 3};
  test_tensor<T, D> x(sizes, layout::transposed, a), grad({3}, layout::negative, g),
      none({3, 0, 0});
  const auto logarithm = [&](const row& y) {
    return values_of(fg::linalg_slogdet(exactly, exact(sizes, y)).logabsdet);
  };
  expect_close<T>(values_of(fg::linalg_slogdet_backward(s, grad.in(), x.in())),
                  differences(logarithm, a, g), close_to_differences<T>);
  EXPECT_EQ(fg::linalg_slogdet_backward(s, grad.in(), none.in()).numel(), 0);
  EXPECT_RAISES(
      static_cast<void>(fg::linalg_slogdet_backward(s, grad.in().narrow(0, 0, 2), x.in())),
      shape_mismatch, "linalg_slogdet_backward");
}

// Right sides of no columns, and matrices of no rows, have gradients of no numbers or of zeros.
TYPED_TEST(factor_gradients, of_nothing) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> l({2, 3, 3}, layout::contiguous, random_values({2, 3, 3})), none({2, 3, 0}),
      empty({2, 0, 0}), sides({2, 0, 4});
  const auto by_factor = fg::cholesky_solve_backward(s, none.in(), none.in(), l.in(), none.in());
  expect_equal(values_of(*by_factor.other), row(18));
  EXPECT_EQ(by_factor.self->numel(), 0);
  const auto by_triangle =
      fg::linalg_solve_triangular_backward(s, none.in(), l.in(), none.in(), none.in(), true);
  expect_equal(values_of(*by_triangle.self), row(18));
  EXPECT_EQ(
      fg::cholesky_solve_backward(s, sides.in(), sides.in(), empty.in(), sides.in()).other->numel(),
      0);
}

}  // namespace
}  // namespace flaggems_test
