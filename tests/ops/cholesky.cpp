// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/cholesky.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class choleskys : public ::testing::Test {};
TYPED_TEST_SUITE(choleskys, factor_cases);

TYPED_TEST(choleskys, factors) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const i64 n : {i64{1}, i64{5}, i64{40}})
      for (const layout how :
           n == 5 ? std::vector<layout>(std::begin(output_layouts), std::end(output_layouts))
                  : std::vector<layout>{layout::contiguous})
        for (const bool upper : {false, true}) {
          const stack a = random_stack(2, n, n).definite();
          test_tensor<T, D> x({2, n, n}, how, a.values), out({2, n, n}, how);
          test_tensor<fg::i32, D> info({2}, how);
          fg::linalg_cholesky_ex(s, x.in(), out.view(), info.view(), upper, true);
          EXPECT_TRUE(out.gaps_untouched());
          expect_equal(info.read(), {0, 0});
          const stack l(n, n, out.read());
          expect_equal(l.values, (upper ? l.upper() : l.lower()).values);
          const stack whole = upper ? l.transposed() * l : l * l.transposed();
          expect_close<T>(whole.values, x.values(), factor_tolerance<T>(n));
          expect_equal(values_of(fg::linalg_cholesky(s, x.in(), upper)), l.values);
        }
  });
}

TYPED_TEST(choleskys, in_place_of_one_triangle) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 2}, layout::contiguous, {4, -7, 2, 10});
  fg::linalg_cholesky(s, x.in(), x.view());
  expect_equal(x.read(), {2, 0, 1, 3});
}

TYPED_TEST(choleskys, says_where_it_fails) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const double nan = std::nan("");
  test_tensor<T, D> x({4, 2, 2}, layout::contiguous,
                      {1, 0, 0, 1, 1, 0, 0, -1, 0, 0, 0, 1, nan, 0, 0, 1});
  const auto out = fg::linalg_cholesky_ex(s, x.in());
  expect_equal(values_of(out.info), {0, 2, 1, 1});
  EXPECT_RAISES(fg::linalg_cholesky(s, x.in()), invalid_argument, "linalg_cholesky");
  EXPECT_RAISES(fg::linalg_cholesky_ex(s, x.in(), false, true), invalid_argument,
                "linalg_cholesky_ex");
}

TYPED_TEST(choleskys, solves_and_inverts) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts)
      for (const bool upper : {false, true}) {
        const stack a = random_stack(2, 5, 5).definite(), b = random_stack(2, 5, 3);
        test_tensor<T, D> x({2, 5, 5}, layout::contiguous, a.values), y({2, 5, 3}, how, b.values),
            out({2, 5, 3}, how), inverse({2, 5, 5}, how);
        const auto factor = fg::linalg_cholesky(s, x.in(), upper);
        fg::cholesky_solve(s, y.in(), factor, out.view(), upper);
        expect_close<T>((a * stack(5, 3, out.read())).values, b.values, factor_tolerance<T>(5));
        EXPECT_TRUE(out.gaps_untouched());
        expect_equal(values_of(fg::cholesky_solve_helper(s, y.in(), factor, upper)), out.read());
        fg::cholesky_inverse(s, factor, inverse.view(), upper);
        expect_close<T>((a * stack(5, 5, inverse.read())).values, identity(5, 2).values,
                        factor_tolerance<T>(5));
        // One matrix for all right sides, and one right side for all matrices.
        const auto one = fg::cholesky_solve(s, y.in(), factor.view().select(0, 0), upper);
        const stack first(5, 5, {a.values.begin(), a.values.begin() + 25});
        const stack solved = stack::of(one);
        EXPECT_EQ(one.stride(-2), 1);
        expect_close<T>((stack(5, 5, {first.values}) *
                         stack(5, 3, {solved.values.begin(), solved.values.begin() + 15}))
                            .values,
                        {b.values.begin(), b.values.begin() + 15}, factor_tolerance<T>(5));
        EXPECT_EQ(fg::cholesky_solve(s, y.in().select(0, 0), factor, upper).numel(), 30);
      }
  });
}

TYPED_TEST(choleskys, solves_triangles) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts)
      for (int which = 0; which < 8; ++which) {
        const bool upper = (which & 1) != 0, left = (which & 2) != 0, unit = (which & 4) != 0;
        const i64 k = 6, m = left ? k : 3, n = left ? 3 : k;
        const stack all = random_stack(2, k, k).with(
            [&](i64 i, i64 j, double x) { return i == j ? (unit ? 9 : 2 + x * x) : x; });
        const stack used = (upper ? all.upper() : all.lower()).with([&](i64 i, i64 j, double x) {
          return i == j && unit ? 1 : x;
        });
        const stack b = random_stack(2, m, n);
        test_tensor<T, D> x({2, k, k}, how, all.values), y({2, m, n}, how, b.values),
            out({2, m, n}, how);
        fg::linalg_solve_triangular(s, x.in(), y.in(), out.view(), upper, left, unit);
        EXPECT_TRUE(out.gaps_untouched());
        const stack got(m, n, out.read());
        double size = 1;
        for (const double v : got.values) size = (std::max)(size, std::abs(v));
        auto close = factor_tolerance<T>(k);
        close.atol *= size;
        expect_close<T>((left ? used * got : got * used).values, b.values, close);
        expect_equal(values_of(fg::linalg_solve_triangular(s, x.in(), y.in(), upper, left, unit)),
                     got.values);
        fg::linalg_solve_triangular(s, x.in(), y.in(), y.view(), upper, left, unit);
        expect_equal(y.read(), got.values);
      }
  });
}

TYPED_TEST(choleskys, of_nothing) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> none({0, 3, 3}), empty({2, 0, 0}), sides({2, 0, 3});
  EXPECT_EQ(fg::linalg_cholesky(s, none.in()).numel(), 0);
  EXPECT_EQ(fg::linalg_cholesky(s, empty.in()).numel(), 0);
  expect_equal(values_of(fg::linalg_cholesky_ex(s, empty.in()).info), {0, 0});
  EXPECT_EQ(fg::cholesky_solve(s, sides.in(), empty.in()).numel(), 0);
  EXPECT_EQ(fg::cholesky_inverse(s, empty.in()).numel(), 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
/// Matrices of several panels, and as many as are factored side by side.
template <class T>
void expect_host_factors(i64 count, i64 n, layout how) {
  const auto& s = test_stream<host>();
  SCOPED_TRACE(std::to_string(count) + " of order " + std::to_string(n));
  for (const bool upper : {false, true}) {
    stack a = random_stack(count, n, n).definite();
    const auto all = a.values;
    // The triangle that is not read.
    a = a.with([&](i64 i, i64 j, double x) { return (upper ? j < i : i < j) ? std::nan("") : x; });
    test_tensor<T> x({count, n, n}, how, a.values), out({count, n, n}, how);
    test_tensor<fg::i32> info({count}, how);
    fg::linalg_cholesky_ex(s, x.in(), out.view(), info.view(), upper, true);
    EXPECT_TRUE(out.gaps_untouched() && info.gaps_untouched());
    const stack l(n, n, out.read());
    const stack whole = upper ? l.transposed() * l : l * l.transposed();
    expect_close<T>(whole.values, all, factor_tolerance<T>(n));
    expect_equal(values_of(fg::linalg_cholesky(s, x.in(), upper)), l.values);
    fg::linalg_cholesky(s, x.in(), x.view(), upper);
    expect_equal(x.read(), l.values);
  }
}
TEST(choleskys_host, of_several_panels_and_side_by_side) {
  at_every_level<host>([&] {
    for (const layout how : output_layouts) {
      expect_host_factors<f32>(1, 34, how);
      expect_host_factors<f32>(19, 3, how);
      expect_host_factors<f64>(9, 17, how);
    }
    expect_host_factors<f32>(2, 100, layout::contiguous);
    expect_host_factors<f64>(1, 83, layout::contiguous);
    expect_host_factors<f32>(33, 16, layout::contiguous);
  });
}

TEST(choleskys_host, solves_for_many_right_sides) {
  const auto& s = test_stream<host>();
  at_every_level<host>([&] {
    for (const i64 k : {i64{5}, i64{37}})
      for (const layout how : output_layouts)
        for (int which = 0; which < 8; ++which) {
          const bool upper = (which & 1) != 0, left = (which & 2) != 0, unit = (which & 4) != 0;
          const i64 sides = 9, m = left ? k : sides, n = left ? sides : k;
          const stack all = random_stack(2, k, k).with([&](i64 i, i64 j, double x) {
            if (i == j) return unit ? std::nan("") : 2 + x * x;
            return (j < i) == upper ? std::nan("") : x / static_cast<double>(k);
          });
          const stack used = all.with([&](i64 i, i64 j, double x) {
            return i == j && unit ? 1 : i != j && (j < i) == upper ? 0 : x;
          });
          const stack b = random_stack(2, m, n);
          test_tensor<f64> x({2, k, k}, how, all.values), y({2, m, n}, how, b.values),
              out({2, m, n}, how);
          fg::linalg_solve_triangular(s, x.in(), y.in(), out.view(), upper, left, unit);
          EXPECT_TRUE(out.gaps_untouched());
          const stack got(m, n, out.read());
          expect_close<f64>((left ? used * got : got * used).values, b.values,
                            factor_tolerance<f64>(k));
          // One matrix for all.
          const auto one =
              fg::linalg_solve_triangular(s, x.in().select(0, 0), y.in(), upper, left, unit);
          const auto first = static_cast<std::ptrdiff_t>(m * n);
          const auto shared = values_of(one);
          expect_equal({shared.begin(), shared.begin() + first},
                       {got.values.begin(), got.values.begin() + first});
        }
  });
}

TEST(choleskys_host, one_that_fails_leaves_the_others_alone) {
  const auto& s = test_stream<host>();
  at_every_level<host>([&] {
    for (const i64 n : {i64{3}, i64{70}}) {
      const i64 count = n == 3 ? 21 : 9;
      stack a = random_stack(count, n, n).definite();
      test_tensor<f64> good({count, n, n}, layout::contiguous, a.values);
      const stack want(n, n, values_of(fg::linalg_cholesky(s, good.in())));
      a.at(2, 1, 1) = -1;
      a.at(5, 2, 2) = std::nan("");
      a.at(7, 0, 0) = 0;
      test_tensor<f64> x({count, n, n}, layout::contiguous, a.values);
      const auto out = fg::linalg_cholesky_ex(s, x.in());
      std::vector<double> info(static_cast<std::size_t>(count));
      info[2] = 2, info[5] = 3, info[7] = 1;
      expect_equal(values_of(out.info), info);
      const stack got = stack::of(out.l);
      for (i64 b = 0; b < count; ++b)
        for (i64 i = 0; i < n; ++i)
          for (i64 j = 0; j < n; ++j)
            if (info[static_cast<std::size_t>(b)] == 0) {
              ASSERT_EQ(got.at(b, i, j), want.at(b, i, j)) << b << ": " << i << ", " << j;
            }
    }
  });
}

TEST(choleskys_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> row({4}), x({3, 4}), a({3, 3}), b({3, 2}), out({3, 3});
  EXPECT_RAISES(fg::linalg_cholesky(s, row.in()), invalid_argument, "linalg_cholesky");
  EXPECT_RAISES(fg::linalg_cholesky(s, x.in()), shape_mismatch, "linalg_cholesky");
  EXPECT_RAISES(fg::linalg_cholesky(s, a.in(), x.view()), shape_mismatch, "linalg_cholesky");
  EXPECT_RAISES(fg::linalg_cholesky(s, a.in(), a.view().transpose(0, 1)), overlap,
                "linalg_cholesky");
  EXPECT_RAISES(fg::cholesky_inverse(s, a.in(), a.view()), overlap, "cholesky_inverse");
  EXPECT_RAISES(fg::cholesky_solve(s, x.in().transpose(0, 1), a.in()), shape_mismatch,
                "cholesky_solve");
  EXPECT_RAISES(fg::linalg_solve_triangular(s, a.in(), b.in(), true, false), shape_mismatch,
                "linalg_solve_triangular");
  EXPECT_RAISES(fg::linalg_solve_triangular(s, a.in(), a.in(), a.view(), true), overlap,
                "linalg_solve_triangular");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
