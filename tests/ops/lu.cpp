// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/lu.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class lus : public ::testing::Test {};
TYPED_TEST_SUITE(lus, factor_cases);

/// L of factors in one matrix.
stack unit_lower(const stack& lu, i64 k) {
  stack r(lu.rows, k, std::vector<double>(static_cast<std::size_t>(lu.count() * lu.rows * k)));
  for (i64 b = 0; b < lu.count(); ++b)
    for (i64 i = 0; i < lu.rows; ++i)
      for (i64 j = 0; j < (std::min)(k, i + 1); ++j) r.at(b, i, j) = i == j ? 1 : lu.at(b, i, j);
  return r;
}
stack upper_part(const stack& lu, i64 k) {
  stack r(k, lu.columns,
          std::vector<double>(static_cast<std::size_t>(lu.count() * k * lu.columns)));
  for (i64 b = 0; b < lu.count(); ++b)
    for (i64 i = 0; i < k; ++i)
      for (i64 j = i; j < lu.columns; ++j) r.at(b, i, j) = lu.at(b, i, j);
  return r;
}

TYPED_TEST(lus, factors) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const auto& [m, n] : {std::pair<i64, i64>{5, 5}, {4, 7}, {7, 4}, {1, 1}, {33, 20}})
      for (const layout how : output_layouts) {
        const i64 k = (std::min)(m, n);
        test_tensor<T, D> x({2, m, n}, how, random_values({2, m, n})), lu({2, m, n}, how);
        test_tensor<fg::i32, D> pivots({2, k}, how), info({2}, how);
        fg::linalg_lu_factor_ex(s, x.in(), lu.view(), pivots.view(), info.view(), true, true);
        expect_equal(info.read(), {0, 0});
        EXPECT_TRUE(lu.gaps_untouched() && pivots.gaps_untouched() && info.gaps_untouched());
        const stack factors(m, n, lu.read());
        const stack l = unit_lower(factors, k), u = upper_part(factors, k);
        for (const double v : l.values) EXPECT_LE(std::abs(v), 1);
        // The rows that were exchanged, back again.
        stack whole = l * u;
        const auto places = pivots.read();
        for (i64 b = 0; b < 2; ++b)
          for (i64 i = k - 1; i >= 0; --i) {
            const i64 p = static_cast<i64>(places[static_cast<std::size_t>(b * k + i)]) - 1;
            for (i64 j = 0; j < n; ++j) std::swap(whole.at(b, i, j), whole.at(b, p, j));
          }
        expect_close<T>(whole.values, x.values(), factor_tolerance<T>(k));
        const auto parts = fg::linalg_lu(s, x.in());
        expect_equal(values_of(parts.l), l.values);
        expect_equal(values_of(parts.u), u.values);
        expect_close<T>((stack::of(parts.p) * l * u).values, x.values(), factor_tolerance<T>(k));
        test_tensor<T, D> p({2, m, m}, how), lower({2, m, k}, how), upper({2, k, n}, how);
        fg::lu_unpack(s, lu.in(), pivots.in(), p.view(), lower.view(), upper.view());
        expect_equal(p.read(), values_of(parts.p));
        expect_equal(lower.read(), l.values);
        expect_equal(upper.read(), u.values);
        EXPECT_TRUE(p.gaps_untouched() && lower.gaps_untouched() && upper.gaps_untouched());
      }
  });
}

TYPED_TEST(lus, without_pivots) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 2}, layout::contiguous, {2, 1, 4, 5}),
      y({2, 2}, layout::contiguous, {0, 1, 2, 5});
  const auto f = fg::linalg_lu_factor(s, x.in(), false);
  expect_equal(values_of(f.lu), {2, 1, 2, 3});
  expect_equal(values_of(f.pivots), {1, 2});
  const auto parts = fg::linalg_lu(s, x.in(), false);
  EXPECT_EQ(parts.p.numel(), 0);
  expect_equal(values_of(parts.l), {1, 0, 2, 1});
  expect_equal(values_of(fg::linalg_lu_factor_ex(s, y.in(), false).info), {1});
  expect_equal(values_of(fg::linalg_lu_factor_ex(s, y.in()).info), {0});
  EXPECT_RAISES(fg::linalg_lu_factor(s, y.in(), false), invalid_argument, "linalg_lu_factor");
}

TYPED_TEST(lus, parts_that_are_asked_for) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> lu({2, 2}, layout::contiguous, {2, 1, 0.5, 3});
  test_tensor<fg::i32, D> pivots({2}, layout::contiguous, {2, 2});
  const auto p = fg::lu_unpack(s, lu.in(), pivots.in(), false);
  expect_equal(values_of(p.p), {0, 1, 1, 0});
  EXPECT_EQ(p.l.numel() + p.u.numel(), 0);
  const auto triangles = fg::lu_unpack(s, lu.in(), pivots.in(), true, false);
  EXPECT_EQ(triangles.p.numel(), 0);
  expect_equal(values_of(triangles.u), {2, 1, 0, 3});
}

TYPED_TEST(lus, determinants) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<T, D> x({3, 2, 2}, how, {1, 2, 3, 4, 0, 2, -3, 0, 1, 2, 2, 4}), out({3}, how),
          sign({3}, how), log({3}, how);
      fg::linalg_det(s, x.in(), out.view());
      expect_close<T>(out.read(), {-2, 6, 0}, factor_tolerance<T>(2));
      fg::linalg_slogdet(s, x.in(), sign.view(), log.view());
      expect_equal(sign.read(), {-1, 1, 0});
      expect_close<T>(log.read(), {std::log(2.0), std::log(6.0), -HUGE_VAL},
                      factor_tolerance<T>(2));
      EXPECT_TRUE(out.gaps_untouched() && sign.gaps_untouched() && log.gaps_untouched());
    }
    // Of many factors, and of none.
    test_tensor<T, D> large({40, 40}, layout::contiguous,
                            identity(40)
                                .with([](i64 i, i64 j, double x) {
                                  return j == i + 1 ? 3 : i == 7 ? -x : x;
                                })
                                .values),
        none({2, 0, 0});
    expect_equal(values_of(fg::linalg_det(s, large.in())), {-1});
    expect_equal(values_of(fg::linalg_slogdet(s, large.in()).sign), {-1});
    expect_equal(values_of(fg::linalg_det(s, none.in())), {1, 1});
    expect_equal(values_of(fg::linalg_slogdet(s, none.in()).logabsdet), {0, 0});
  });
}

TYPED_TEST(lus, of_singular_matrices) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 3, 3}, layout::contiguous,
                      {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 2, 4, 6, 1, 1, 1});
  const auto f = fg::linalg_lu_factor_ex(s, x.in());
  expect_equal(values_of(f.info), {1, 3});
  EXPECT_RAISES(fg::linalg_lu_factor_ex(s, x.in(), true, true), invalid_argument,
                "linalg_lu_factor_ex");
}

TYPED_TEST(lus, of_nothing) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> none({0, 3, 3}), flat({2, 0, 3}), thin({2, 3, 0});
  EXPECT_EQ(fg::linalg_lu(s, none.in()).l.numel(), 0);
  EXPECT_EQ(fg::linalg_lu_factor(s, flat.in()).pivots.numel(), 0);
  expect_equal(values_of(fg::linalg_lu(s, thin.in()).p), identity(3, 2).values);
}

#if FLAGGEMS_TEST_HOST  // about the host
/// Matrices of several panels, and as many as are factored side by side.
template <class T>
void expect_host_factors(i64 count, i64 m, i64 n, layout how) {
  const auto& s = test_stream<host>();
  SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(m) + " x " + std::to_string(n));
  const i64 k = (std::min)(m, n);
  test_tensor<T> x({count, m, n}, how, random_values({count, m, n})), lu({count, m, n}, how);
  const auto given = x.values();
  test_tensor<fg::i32> pivots({count, k}, how), info({count}, how);
  fg::linalg_lu_factor_ex(s, x.in(), lu.view(), pivots.view(), info.view(), true, true);
  EXPECT_TRUE(lu.gaps_untouched() && pivots.gaps_untouched() && info.gaps_untouched());
  const stack factors(m, n, lu.read());
  const stack l = unit_lower(factors, k), u = upper_part(factors, k);
  for (const double v : l.values) EXPECT_LE(std::abs(v), 1);
  const auto parts = fg::linalg_lu(s, x.in());
  expect_equal(values_of(parts.l), l.values);
  expect_equal(values_of(parts.u), u.values);
  expect_close<T>((stack::of(parts.p) * l * u).values, given, factor_tolerance<T>(k));
  fg::linalg_lu_factor(s, x.in(), x.view(), pivots.view());
  expect_equal(x.read(), factors.values);
}
TEST(lus_host, of_several_panels_and_side_by_side) {
  at_every_level<host>([&] {
    for (const layout how : output_layouts) {
      expect_host_factors<f32>(1, 37, 35, how);
      expect_host_factors<f32>(19, 4, 7, how);
      expect_host_factors<f64>(9, 18, 17, how);
    }
    expect_host_factors<f32>(1, 100, 70, layout::contiguous);
    expect_host_factors<f64>(2, 50, 90, layout::contiguous);
    expect_host_factors<f32>(33, 16, 16, layout::contiguous);
  });
}

TEST(lus_host, of_singular_matrices_and_nan_beside_others) {
  const auto& s = test_stream<host>();
  at_every_level<host>([&] {
    for (const i64 n : {i64{3}, i64{40}}) {
      const i64 count = n == 3 ? 21 : 9;
      stack a = random_stack(count, n, n);
      test_tensor<f64> good({count, n, n}, layout::contiguous, a.values);
      const auto want = fg::linalg_lu_factor_ex(s, good.in());
      const stack want_lu = stack::of(want.lu);
      const auto want_pivots = values_of(want.pivots);
      for (i64 i = 0; i < n; ++i) a.at(2, i, 1) = 0, a.at(5, i, 0) = i == 1 ? std::nan("") : 7;
      test_tensor<f64> x({count, n, n}, layout::contiguous, a.values);
      const auto out = fg::linalg_lu_factor_ex(s, x.in());
      std::vector<double> info(static_cast<std::size_t>(count));
      info[2] = 2;
      expect_equal(values_of(out.info), info);
      const stack got = stack::of(out.lu);
      const auto pivots = values_of(out.pivots);
      EXPECT_EQ(pivots[static_cast<std::size_t>(5 * n)], 2);  // NaN is the greatest
      for (i64 b = 0; b < count; ++b) {
        if (b == 2 || b == 5) continue;
        for (i64 i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(b * n + i);
          ASSERT_EQ(pivots[at], want_pivots[at]) << b << ": " << i;
          for (i64 j = 0; j < n; ++j)
            ASSERT_EQ(got.at(b, i, j), want_lu.at(b, i, j)) << b << ": " << i << ", " << j;
        }
      }
    }
  });
}

TEST(lus_host, without_pivots_side_by_side) {
  const auto& s = test_stream<host>();
  const stack a = random_stack(18, 5, 5).definite();
  test_tensor<f64> x({18, 5, 5}, layout::contiguous, a.values);
  const auto f = fg::linalg_lu_factor(s, x.in(), false);
  const stack lu = stack::of(f.lu);
  expect_close<f64>((unit_lower(lu, 5) * upper_part(lu, 5)).values, a.values,
                    factor_tolerance<f64>(5));
  const auto pivots = values_of(f.pivots);
  for (std::size_t k = 0; k < pivots.size(); ++k) EXPECT_EQ(pivots[k], k % 5 + 1);
}

TEST(lus_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> row({4}), x({3, 4}), a({3, 3}), p({3, 3}), l({3, 3}), u({3, 3});
  test_tensor<fg::i32> pivots({3}, layout::contiguous, {1, 4, 3}), few({2}), info({});
  EXPECT_RAISES(fg::linalg_lu_factor_ex(s, row.in()), invalid_argument, "linalg_lu_factor_ex");
  EXPECT_RAISES(fg::linalg_det(s, x.in()), shape_mismatch, "linalg_det");
  EXPECT_RAISES(fg::linalg_slogdet(s, x.in()), shape_mismatch, "linalg_slogdet");
  EXPECT_RAISES(fg::linalg_lu_factor_ex(s, a.in(), p.view(), few.view(), info.view()),
                shape_mismatch, "linalg_lu_factor_ex");
  EXPECT_RAISES(
      fg::linalg_lu_factor_ex(s, a.in(), a.view().transpose(0, 1), few.view(), info.view()),
      shape_mismatch, "linalg_lu_factor_ex");
  EXPECT_RAISES(fg::lu_unpack(s, a.in(), few.in()), shape_mismatch, "lu_unpack");
  EXPECT_RAISES(fg::lu_unpack(s, a.in(), pivots.in(), p.view(), l.view(), u.view()), out_of_range,
                "lu_unpack");
  EXPECT_RAISES(fg::linalg_lu(s, a.in(), p.view(), a.view(), u.view()), overlap, "linalg_lu");
  EXPECT_RAISES(fg::linalg_lu(s, a.in(), p.view(), p.view(), u.view()), overlap, "linalg_lu");
  EXPECT_TRUE(p.untouched() && l.untouched() && u.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
