// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/ldl.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class ldls : public ::testing::Test {};
TYPED_TEST_SUITE(ldls, factor_cases);

/// A random symmetric matrix whose diagonal is small, so that there are blocks of two rows.
stack symmetric(i64 n) {
  const stack x = random_stack(2, n, n);
  return (x.lower() * identity(n)).with([](i64 i, i64 j, double v) {
    return i == j ? v / 16 : j < i ? v : 0;
  });
}
stack mirrored(const stack& lower) {
  stack r = lower;
  for (i64 b = 0; b < r.count(); ++b)
    for (i64 i = 0; i < r.rows; ++i)
      for (i64 j = i + 1; j < r.rows; ++j) r.at(b, i, j) = r.at(b, j, i);
  return r;
}

TYPED_TEST(ldls, factors_and_solves) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {i64{1}, i64{6}, i64{30}})
      for (const layout how : output_layouts) {
        const stack a = mirrored(symmetric(n)), b = random_stack(2, n, 3);
        test_tensor<T, D> x({2, n, n}, how, a.values), ld({2, n, n}, how),
            y({2, n, 3}, how, b.values), out({2, n, 3}, how);
        test_tensor<fg::i32, D> pivots({2, n}, how), info({2}, how);
        fg::linalg_ldl_factor_ex(s, x.in(), ld.view(), pivots.view(), info.view(), false, true);
        expect_equal(info.read(), {0, 0});
        EXPECT_TRUE(ld.gaps_untouched() && pivots.gaps_untouched());
        if (n > 1) {
          bool pairs = false;
          for (const double p : pivots.read()) pairs = pairs || p < 0;
          EXPECT_TRUE(pairs);
        }
        fg::linalg_ldl_solve(s, ld.in(), pivots.in(), y.in(), out.view());
        EXPECT_TRUE(out.gaps_untouched());
        const stack got(n, 3, out.read());
        double size = 1;
        for (const double v : got.values) size = (std::max)(size, std::abs(v));
        auto close = factor_tolerance<T>(n);
        close.atol *= 4 * size;
        expect_close<T>((a * got).values, b.values, close);
        const auto f = fg::linalg_ldl_factor(s, x.in());
        expect_equal(values_of(f.ld), ld.read());
        expect_equal(values_of(f.pivots), pivots.read());
        expect_equal(values_of(fg::linalg_ldl_solve(s, f.ld, f.pivots, y.in())), got.values);
      }
  });
}

TYPED_TEST(ldls, pivots_of_lapack) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 4, 4}, layout::contiguous,
                      {0, 9, 9, 9, 1, 0, 9, 9, 2, 4, 0, 9, 3, 5, 6, 0,  // above: not read
                       4, 9, 9, 9, 2, 5, 9, 9, 0, 0, 1, 9, 0, 0, 8, 1});
  const auto f = fg::linalg_ldl_factor_ex(s, x.in());
  expect_equal(values_of(f.pivots), {-4, -4, 3, 4, 1, 2, -4, -4});
  expect_close<T>(values_of(f.ld),
                  {0, 0, 0, 0, 3,   0, 0, 0, 2, 2. / 3, -8, 0, 5. / 3, 1. / 3, 1. / 6, -28. / 9,
                   4, 0, 0, 0, 0.5, 4, 0, 0, 0, 0,      1,  0, 0,      0,      8,      1},
                  factor_tolerance<T>(4));
}

TYPED_TEST(ldls, says_where_it_fails) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 2, 2}, layout::contiguous, {0, 0, 0, 1, 1, 0, 1, 1}), none({2, 0, 0});
  expect_equal(values_of(fg::linalg_ldl_factor_ex(s, x.in()).info), {1, 2});
  EXPECT_RAISES(fg::linalg_ldl_factor(s, x.in()), invalid_argument, "linalg_ldl_factor");
  expect_equal(values_of(fg::linalg_ldl_factor_ex(s, none.in()).info), {0, 0});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(ldls_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), a({3, 3}), b({4, 2}), out({3, 3});
  test_tensor<fg::i32> pivots({3}, layout::contiguous, {1, 2, 3}), few({2}), info({});
  EXPECT_RAISES(fg::linalg_ldl_factor(s, x.in()), shape_mismatch, "linalg_ldl_factor");
  EXPECT_RAISES(fg::linalg_ldl_factor_ex(s, a.in(), out.view(), few.view(), info.view()),
                shape_mismatch, "linalg_ldl_factor_ex");
  EXPECT_RAISES(fg::linalg_ldl_solve(s, a.in(), pivots.in(), b.in()), shape_mismatch,
                "linalg_ldl_solve");
  EXPECT_RAISES(fg::linalg_ldl_solve(s, a.in(), few.in(), a.in()), shape_mismatch,
                "linalg_ldl_solve");
  EXPECT_RAISES(fg::linalg_ldl_solve(s, a.in(), pivots.in(), out.in(), a.view()), overlap,
                "linalg_ldl_solve");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
