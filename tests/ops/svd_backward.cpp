// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/svd_backward.hpp>
#include <support/differences.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class singular_gradients : public ::testing::Test {};
TYPED_TEST_SUITE(singular_gradients, factor_cases);

TYPED_TEST(singular_gradients, of_singular_values) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  for (const auto& [rows, columns] : {std::pair<i64, i64>{3, 3}, {5, 3}, {2, 4}}) {
    const i64 m = rows, n = columns, k = (std::min)(m, n);
    const shape sizes{2, m, n}, of_u{2, m, k}, of_s{2, k}, of_v{2, k, n};
    const row a = random_stack(2, m, n)
                      .with([](i64 i, i64 j, double x) {
                        return i == j ? x + 3 * static_cast<double>(i + 1) : x;
                      })
                      .values;
    const row gu = random_values(of_u), gs = random_values(of_s), gv = random_values(of_v);
    const auto first = fg::linalg_svd(exactly, exact(sizes, a), false);
    const row u0 = values_of(first.u), s0 = values_of(first.s), v0 = values_of(first.vh);
    // Vectors with the signs of the first ones: u, s and vh together.
    const auto factors = [&](const row& x) {
      const auto f = fg::linalg_svd(exactly, exact(sizes, x), false);
      stack u = stack::of(f.u), v = stack::of(f.vh);
      const stack known(m, k, u0);
      for (i64 b = 0; b < 2; ++b)
        for (i64 j = 0; j < k; ++j) {
          double same = 0;
          for (i64 i = 0; i < m; ++i) same += u.at(b, i, j) * known.at(b, i, j);
          if (same > 0) continue;
          for (i64 i = 0; i < m; ++i) u.at(b, i, j) *= -1;
          for (i64 i = 0; i < n; ++i) v.at(b, j, i) *= -1;
        }
      row all = u.values;
      const row values = values_of(f.s);
      all.insert(all.end(), values.begin(), values.end());
      all.insert(all.end(), v.values.begin(), v.values.end());
      return all;
    };
    test_tensor<T, D> u(of_u, layout::transposed, u0), values(of_s, layout::strided, s0),
        vh(of_v, layout::contiguous, v0), grad_u(of_u, layout::negative, gu),
        grad_s(of_s, layout::transposed, gs), grad_v(of_v, layout::strided, gv);
    const auto check = [&](const auto& by_u, const auto& by_s, const auto& by_v) {
      row weights(gu.size() + gs.size() + gv.size());
      auto to = weights.begin();
      const auto put = [&](bool is_given, const row& g) {
        if (is_given) std::copy(g.begin(), g.end(), to);
        to += static_cast<std::ptrdiff_t>(g.size());
      };
      using none = std::nullopt_t;
      put(!std::is_same_v<std::remove_cvref_t<decltype(by_u)>, none>, gu);
      put(!std::is_same_v<std::remove_cvref_t<decltype(by_s)>, none>, gs);
      put(!std::is_same_v<std::remove_cvref_t<decltype(by_v)>, none>, gv);
      expect_close<T>(
          values_of(fg::linalg_svd_backward(s, by_u, by_s, by_v, u.in(), values.in(), vh.in())),
          differences(factors, a, weights), close_to_differences<T>);
    };
    check(std::nullopt, grad_s.in(), std::nullopt);
    check(grad_u.in(), std::nullopt, std::nullopt);
    check(std::nullopt, std::nullopt, grad_v.in());
    check(grad_u.in(), grad_s.in(), grad_v.in());
  }
  test_tensor<T, D> x({3, 3}), y({2}), z({3, 2});
  EXPECT_RAISES(static_cast<void>(fg::linalg_svd_backward(s, std::nullopt, y.in(), std::nullopt,
                                                          x.in(), y.in(), x.in())),
                shape_mismatch, "linalg_svd_backward");
  EXPECT_RAISES(static_cast<void>(fg::linalg_svd_backward(s, std::nullopt, std::nullopt,
                                                          std::nullopt, z.in(), y.in(), x.in())),
                shape_mismatch, "linalg_svd_backward");
}

TYPED_TEST(singular_gradients, of_determinants) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  const shape sizes{3, 3, 3};
  row a = random_values(sizes);
  for (std::size_t i = 0; i < 3; ++i) a[i * 3] = a[i * 3 + 1];  // the first one is singular
  const row g{0.5, -2, 3};
  test_tensor<T, D> x(sizes, layout::transposed, a), grad({3}, layout::negative, g),
      none({3, 0, 0});
  const auto det = [&](const row& y) {
    return values_of(fg::linalg_det(exactly, exact(sizes, y)));
  };
  expect_close<T>(values_of(fg::linalg_det_backward(s, grad.in(), x.in())), differences(det, a, g),
                  close_to_differences<T>);
  EXPECT_EQ(fg::linalg_det_backward(s, grad.in(), none.in()).numel(), 0);
  EXPECT_RAISES(static_cast<void>(fg::linalg_det_backward(s, grad.in().narrow(0, 0, 2), x.in())),
                shape_mismatch, "linalg_det_backward");
}

TYPED_TEST(singular_gradients, of_least_squares) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const auto& exactly = test_stream<host>();
  const auto check = [&](const shape& of_a, const shape& of_b, const shape& of_x) {
    const row a = random_values(of_a), b = random_values(of_b), g = random_values(of_x);
    const auto solve = [&](const row& m, const row& y) {
      return values_of(fg::linalg_lstsq(exactly, exact(of_a, m), exact(of_b, y)).solution);
    };
    test_tensor<T, D> matrix(of_a, layout::transposed, a), sides(of_b, layout::strided, b),
        grad(of_x, layout::negative, g), x(of_x, layout::contiguous, solve(a, b));
    const auto r = fg::linalg_lstsq_backward(s, grad.in(), matrix.in(), sides.in(), x.in());
    EXPECT_EQ(r.self->shape_of(), of_a);
    EXPECT_EQ(r.other->shape_of(), of_b);
    expect_close<T>(values_of(*r.self),
                    differences([&](const row& m) { return solve(m, b); }, a, g),
                    close_to_differences<T>);
    expect_close<T>(values_of(*r.other),
                    differences([&](const row& y) { return solve(a, y); }, b, g),
                    close_to_differences<T>);
  };
  check({2, 3, 3}, {2, 3, 2}, {2, 3, 2});
  check({2, 5, 3}, {5, 2}, {2, 3, 2});     // more equations; the right sides broadcast
  check({2, 2, 4}, {2, 2, 1}, {2, 4, 1});  // more unknowns
  check({2, 4, 2}, {2, 4}, {2, 2});        // vectors
  test_tensor<T, D> x({4, 2}), y({4, 1});
  EXPECT_RAISES(static_cast<void>(fg::linalg_lstsq_backward(s, y.in(), x.in(), y.in(), y.in())),
                shape_mismatch, "linalg_lstsq_backward");
}

}  // namespace
}  // namespace flaggems_test
