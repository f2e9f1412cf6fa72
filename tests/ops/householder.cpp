// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/householder.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class householders : public ::testing::Test {};
TYPED_TEST_SUITE(householders, factor_cases);

/// The product of reflectors by definition.
stack product_of(const stack& v, const std::vector<double>& tau) {
  const i64 m = v.rows, count = v.count(), k = static_cast<i64>(tau.size()) / count;
  stack q = identity(m, count);
  for (i64 i = 0; i < k; ++i) {
    stack h = identity(m, count);
    for (i64 b = 0; b < count; ++b)
      for (i64 r = i; r < m; ++r)
        for (i64 c = i; c < m; ++c)
          h.at(b, r, c) -= tau[static_cast<std::size_t>(b * k + i)] * (r == i ? 1 : v.at(b, r, i)) *
                           (c == i ? 1 : v.at(b, c, i));
    q = q * h;
  }
  return q;
}

TYPED_TEST(householders, products) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const auto& [m, n, k] : {std::array<i64, 3>{5, 3, 3}, {4, 4, 2}, {40, 3, 1}, {3, 2, 0}})
      for (const layout how : output_layouts) {
        test_tensor<T, D> v({2, m, n}, how, random_values({2, m, n}, -1, 1)),
            tau({2, k}, how, random_values({2, k}, 0, 1)), out({2, m, n}, how);
        const stack q = k == 0 ? identity(m, 2) : product_of({m, n, v.values()}, tau.values());
        fg::linalg_householder_product(s, v.in(), tau.in(), out.view());
        EXPECT_TRUE(out.gaps_untouched());
        stack want(m, n, out.read());
        want = want.with([](i64, i64, double) { return 0.0; });
        for (i64 b = 0; b < 2; ++b)
          for (i64 i = 0; i < m; ++i)
            for (i64 j = 0; j < n; ++j) want.at(b, i, j) = q.at(b, i, j);
        auto close = factor_tolerance<T>(m * 4);
        expect_close<T>(out.read(), want.values, close);
        expect_equal(values_of(fg::linalg_householder_product(s, v.in(), tau.in())), out.read());
        for (const bool left : {false, true})
          for (const bool transposed : {false, true}) {
            const i64 r = left ? m : 2, c = left ? 2 : m;
            test_tensor<T, D> x({2, r, c}, how, random_values({2, r, c})), y({2, r, c}, how);
            const stack by = transposed ? q.transposed() : q, given(r, c, x.values());
            fg::ormqr(s, v.in(), tau.in(), x.in(), y.view(), left, transposed);
            EXPECT_TRUE(y.gaps_untouched());
            auto loose = close;
            loose.atol *= 4;
            expect_close<T>(y.read(), (left ? by * given : given * by).values, loose);
            expect_equal(values_of(fg::ormqr(s, v.in(), tau.in(), x.in(), left, transposed)),
                         y.read());
            fg::ormqr(s, v.in(), tau.in(), x.in(), x.view(), left, transposed);
            expect_equal(x.read(), y.read());
          }
      }
  });
}

TYPED_TEST(householders, of_wide_reflectors_and_of_nothing) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> v({2, 3}, layout::contiguous, {5, 5, 5, 1, 5, 5}),
      tau({1}, layout::contiguous, {1}), x({2, 1}, layout::contiguous, {1, 2}), none({0, 3, 2}),
      no_tau({0, 2}), no_columns({2, 0});
  expect_equal(values_of(fg::ormqr(s, v.in(), tau.in(), x.in())), {-2, -1});
  EXPECT_EQ(fg::linalg_householder_product(s, none.in(), no_tau.in()).numel(), 0);
  EXPECT_EQ(fg::ormqr(s, v.in(), tau.in(), no_columns.in()).numel(), 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(householders_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> wide({2, 3}), v({3, 2}), tau({2}), many({3}), x({2, 2}), out({3, 2});
  EXPECT_RAISES(fg::linalg_householder_product(s, wide.in(), tau.in()), invalid_argument,
                "linalg_householder_product");
  EXPECT_RAISES(fg::linalg_householder_product(s, v.in(), many.in()), shape_mismatch,
                "linalg_householder_product");
  EXPECT_RAISES(fg::linalg_householder_product(s, v.in(), tau.in(), v.view()), overlap,
                "linalg_householder_product");
  EXPECT_RAISES(fg::ormqr(s, v.in(), tau.in(), x.in()), shape_mismatch, "ormqr");
  EXPECT_RAISES(fg::ormqr(s, v.in(), tau.in(), out.in(), v.view()), overlap, "ormqr");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
