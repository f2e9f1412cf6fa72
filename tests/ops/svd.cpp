// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/svd.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class svds : public ::testing::Test {};
TYPED_TEST_SUITE(svds, factor_cases);

/// u diag(s) vh.
stack put_together(const stack& u, const std::vector<double>& s, const stack& vh) {
  const i64 count = u.count(), k = static_cast<i64>(s.size()) / count;
  stack r(u.rows, vh.columns,
          std::vector<double>(static_cast<std::size_t>(count * u.rows * vh.columns)));
  for (i64 b = 0; b < count; ++b)
    for (i64 i = 0; i < r.rows; ++i)
      for (i64 j = 0; j < r.columns; ++j)
        for (i64 l = 0; l < k; ++l)
          r.at(b, i, j) += u.at(b, i, l) * s[static_cast<std::size_t>(b * k + l)] * vh.at(b, l, j);
  return r;
}
template <class T>
void expect_factors(const stack& u, const std::vector<double>& s, const stack& vh,
                    const std::vector<double>& x, double scale = 1) {
  const i64 count = u.count(), n = (std::max)(u.rows, vh.columns);
  auto close = factor_tolerance<T>(n);
  expect_close<T>((u.transposed() * u).values, identity(u.columns, count).values, close);
  expect_close<T>((vh * vh.transposed()).values, identity(vh.rows, count).values, close);
  close.atol *= scale;
  expect_close<T>(put_together(u, s, vh).values, x, close);
  const std::size_t k = s.size() / static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < s.size(); ++i) {
    EXPECT_GE(s[i], 0);
    if (i % k != 0) {
      EXPECT_LE(s[i], s[i - 1]);
    }
  }
}

TYPED_TEST(svds, factors) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const auto& [m, n] : {std::pair<i64, i64>{4, 4}, {5, 3}, {3, 5}, {1, 1}, {1, 4}, {12, 9}})
      for (const layout how : output_layouts)
        for (const bool full : {false, true}) {
          const i64 k = (std::min)(m, n), p = full ? m : k, q = full ? n : k;
          test_tensor<T, D> x({2, m, n}, how, random_values({2, m, n})), u({2, m, p}, how),
              values({2, k}, how), vh({2, q, n}, how);
          fg::linalg_svd(s, x.in(), u.view(), values.view(), vh.view(), full);
          EXPECT_TRUE(u.gaps_untouched() && values.gaps_untouched() && vh.gaps_untouched());
          expect_factors<T>({m, p, u.read()}, values.read(), {q, n, vh.read()}, x.values());
          const auto all = fg::linalg_svd(s, x.in(), full);
          expect_close<T>(values_of(all.s), values.read(), factor_tolerance<T>(n));
          expect_factors<T>(stack::of(all.u), values_of(all.s), stack::of(all.vh), x.values());
          expect_close<T>(values_of(fg::linalg_svdvals(s, x.in())), values.read(),
                          factor_tolerance<T>(n));
          const auto [left, sizes, right] = fg::svd(s, x.in(), !full);
          expect_factors<T>(stack::of(left), values_of(sizes), stack::of(right).transposed(),
                            x.values());
        }
  });
}

TYPED_TEST(svds, of_lower_rank) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  std::vector<double> ones(20, 1), none(20), repeated(20);
  for (std::size_t i = 0; i < 20; ++i) repeated[i] = static_cast<double>(i / 5 + i % 5);
  for (const auto& x : {ones, none, repeated})
    for (const shape& sizes : {shape{4, 5}, shape{5, 4}}) {
      test_tensor<T, D> a(sizes, layout::contiguous, x);
      const auto all = fg::linalg_svd(s, a.in());
      expect_factors<T>(stack::of(all.u), values_of(all.s), stack::of(all.vh), x, 8);
    }
  test_tensor<T, D> a({4, 5}, layout::contiguous, ones);
  expect_close<T>(values_of(fg::linalg_svdvals(s, a.in())), {std::sqrt(20.0), 0, 0, 0},
                  factor_tolerance<T>(5));
}

TYPED_TEST(svds, of_large_and_small_numbers) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const double scale : {1e-30, 1e30}) {
    auto x = random_values({5, 3});
    test_tensor<T, D> a({5, 3}, layout::contiguous, x);
    const auto want = values_of(fg::linalg_svdvals(s, a.in()));
    for (double& v : x) v *= scale;
    test_tensor<T, D> b({5, 3}, layout::contiguous, x);
    auto got = values_of(fg::linalg_svdvals(s, b.in()));
    for (double& v : got) v /= scale;
    expect_close<T>(got, want, factor_tolerance<T>(5));
  }
}

TYPED_TEST(svds, of_what_is_not_finite_and_of_nothing) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> nan({2, 2}, layout::contiguous, {1, 2, std::nan(""), 3}),
      infinite({2, 2}, layout::contiguous, {1, 2, HUGE_VAL, 3}), flat({2, 0, 3}), none({0, 2, 2}),
      x({3, 2}, layout::contiguous, {1, 0, 0, 1, 0, 0});
  EXPECT_RAISES(fg::linalg_svd(s, nan.in()), invalid_argument, "linalg_svd");
  EXPECT_RAISES(fg::linalg_svdvals(s, infinite.in()), invalid_argument, "linalg_svdvals");
  const auto all = fg::linalg_svd(s, flat.in());
  EXPECT_EQ(all.u.numel() + all.s.numel(), 0);
  expect_equal(values_of(all.vh), identity(3, 2).values);
  EXPECT_EQ(fg::linalg_svd(s, none.in(), false).u.numel(), 0);
  const auto [u, sizes, v] = fg::svd(s, x.in(), true, false);
  expect_equal(values_of(u), std::vector<double>(9));
  expect_equal(values_of(sizes), {1, 1});
  expect_equal(values_of(v), std::vector<double>(4));
}

#if FLAGGEMS_TEST_HOST  // about the host
/// Values alone, by two diagonals, and those with vectors, by rotations of columns.
template <class T>
void expect_same_values(i64 m, i64 n, const std::vector<double>& x, layout how) {
  const auto& s = test_stream<host>();
  SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
  test_tensor<T> a({m, n}, how, x), values({(std::min)(m, n)}, how);
  fg::linalg_svdvals(s, a.in(), values.view());
  EXPECT_TRUE(values.gaps_untouched());
  const auto want = values_of(fg::linalg_svd(s, a.in(), false).s);
  auto close = factor_tolerance<T>(n);
  close.atol *= want[0];
  expect_close<T>(values.read(), want, close);
}
TEST(svds_host, values_alone) {
  at_every_level<host>([&] {
    for (const layout how : output_layouts) {
      expect_same_values<f32>(21, 18, random_values({21, 18}), how);
      expect_same_values<f64>(5, 18, random_values({5, 18}), how);
    }
    expect_same_values<f32>(40, 33, random_values({40, 33}), layout::contiguous);
    expect_same_values<f64>(33, 40, random_values({33, 40}), layout::contiguous);
    expect_same_values<f32>(66, 66, random_values({66, 66}), layout::contiguous);
    expect_same_values<f32>(50, 1, random_values({50, 1}), layout::contiguous);
  });
}

TEST(svds_host, values_of_graded_and_singular_matrices) {
  // What each element is multiplied by.
  double (*const factors[])(i64, i64) = {
      [](i64, i64 j) { return std::pow(10.0, static_cast<double>(-4 * j)); },  // small columns
      [](i64, i64 j) { return std::pow(10.0, static_cast<double>(4 * j - 30)); },
      [](i64 i, i64) { return std::pow(10.0, static_cast<double>(-4 * i)); },  // small rows
      [](i64 i, i64 j) { return i == 3 || j == 2 ? 0.0 : 1.0; },
      [](i64 i, i64 j) { return j == i + 1 || (j == i && j % 3 != 1) ? 1.0 : 0.0; },  // diagonals
      [](i64 i, i64 j) { return j == 0 && i > 0 ? 1e-22 : 1.0; },
      [](i64 i, i64 j) { return j == i       ? 1e30
                                : j == i + 1 ? 1e-30
                                             : 0.0; },
      [](i64, i64) { return 1e-36; },
  };
  for (const auto factor : factors) {
    const auto x = random_stack(1, 10, 9).with(
        [&](i64 i, i64 j, double v) { return (v + 0.1) * factor(i, j); });
    expect_same_values<f32>(10, 9, x.values, layout::contiguous);
    expect_same_values<f64>(10, 9, x.values, layout::contiguous);
  }
}

TEST(svds_host, values_of_many) {
  const auto& s = test_stream<host>();
  const stack a = random_stack(12, 6, 4);
  test_tensor<f32> x({3, 4, 6, 4}, layout::contiguous, a.values);
  expect_close<f32>(values_of(fg::linalg_svdvals(s, x.in())),
                    values_of(fg::linalg_svd(s, x.in()).s), factor_tolerance<f32>(6));
}

TEST(svds_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> row({3}), a({3, 3}), u({3, 3}), values({3}), few({2}), vh({3, 3});
  EXPECT_RAISES(fg::linalg_svd(s, row.in()), invalid_argument, "linalg_svd");
  EXPECT_RAISES(fg::svd(s, row.in()), invalid_argument, "svd");
  EXPECT_RAISES(fg::linalg_svd(s, a.in(), u.view(), few.view(), vh.view()), shape_mismatch,
                "linalg_svd");
  EXPECT_RAISES(fg::linalg_svd(s, a.in(), a.view(), values.view(), vh.view()), overlap,
                "linalg_svd");
  EXPECT_RAISES(fg::linalg_svd(s, a.in(), u.view(), values.view(), u.view()), overlap,
                "linalg_svd");
  EXPECT_TRUE(u.untouched() && values.untouched() && vh.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
