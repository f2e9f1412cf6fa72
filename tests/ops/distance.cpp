// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/distance.hpp>
#include <support/ops.hpp>

#include <limits>

namespace flaggems_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double norm_of(const std::vector<double>& x, double p) {
  double sum = 0, most = 0;
  for (const double v : x) {
    most = std::fmax(most, std::fabs(v));
    sum += p == 0 ? (v != 0 ? 1 : 0) : std::pow(std::fabs(v), p);
  }
  return std::isinf(p) ? most : p == 0 ? sum : std::pow(sum, 1 / p);
}

template <class Case>
class distances : public ::testing::Test {};
using few_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(distances, few_cases);

TYPED_TEST(distances, of_all_rows) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 rows = 5, others = 3, length = 7;
  test_tensor<T, D> a({2, rows, length}, layout::transposed, random_values({2, rows, length})),
      b({others, length}, layout::strided, random_values({others, length}, -3, 1));
  const auto x = a.values(), y = b.values();
  for (const double p : {0.0, 1.0, 2.0, 3.0, infinity}) {
    std::vector<double> want, pairs;
    for (i64 i = 0; i < 2 * rows; ++i)
      for (i64 j = 0; j < others; ++j) {
        std::vector<double> d;
        for (i64 k = 0; k < length; ++k)
          d.push_back(x[static_cast<std::size_t>(i * length + k)] -
                      y[static_cast<std::size_t>(j * length + k)]);
        want.push_back(norm_of(d, p));
      }
    for (i64 i = 0; i < others; ++i)
      for (i64 j = i + 1; j < others; ++j) {
        std::vector<double> d;
        for (i64 k = 0; k < length; ++k)
          d.push_back(y[static_cast<std::size_t>(i * length + k)] -
                      y[static_cast<std::size_t>(j * length + k)]);
        pairs.push_back(norm_of(d, p));
      }
    test_tensor<T, D> out({2, rows, others}, layout::negative), few({3}, layout::strided);
    fg::cdist(s, a.in(), b.in(), out.view(), p);
    expect_close<T>(out.read(), want, tolerance_of<T>(length));
    expect_equal(values_of(fg::cdist(s, a.in(), b.in(), p, 1)), out.read());
    fg::pdist(s, b.in(), few.view(), p);
    expect_close<T>(few.read(), pairs, tolerance_of<T>(length));
    EXPECT_TRUE(out.gaps_untouched() && few.gaps_untouched() && a.untouched() && b.untouched());
  }
  EXPECT_RAISES(fg::cdist(s, a.in(), b.in(), -1), invalid_argument, "cdist");
  EXPECT_RAISES(fg::cdist(s, a.in(), b.in().narrow(1, 0, 6)), shape_mismatch, "cdist");
  EXPECT_RAISES(fg::pdist(s, a.in()), shape_mismatch, "pdist");
}

// Against differences of the sums of grad times distances, in double.
TYPED_TEST(distances, gradients) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> a({2, 3}, layout::transposed, {0.5, -1, 2, 1.5, 0.25, -0.75}),
      b({2, 3}, layout::strided, {1, 0, -2, 0.5, -1, 2}),  // its second row is a's first
      g({2, 2}, layout::negative, {1, -2, 0.5, 3}), out({2, 3}, layout::strided);
  const auto x = a.values(), y = b.values(), grad = g.values();
  const auto loss = [&](const std::vector<double>& at, double p) {
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        if (i != 0 || j != 1)  // where it is 0, and has no derivative
          sum += grad[i * 2 + j] * norm_of({at[i * 3] - y[j * 3], at[i * 3 + 1] - y[j * 3 + 1],
                                            at[i * 3 + 2] - y[j * 3 + 2]},
                                           p);
    return sum;
  };
  for (const double p : {0.0, 1.0, 1.5, 2.0, 3.0, infinity}) {
    std::vector<double> want;
    for (std::size_t k = 0; k < 6; ++k) {
      auto above = x, below = x;
      above[k] += 1e-5, below[k] -= 1e-5;
      want.push_back(p == 0 ? 0 : (loss(above, p) - loss(below, p)) / 2e-5);
    }
    const auto z = fg::cdist(s, a.in(), b.in(), p);
    fg::cdist_backward(s, g.in(), a.in(), b.in(), p, z, out.view());
    tolerance tol = tolerance_of<T>(3);
    tol.atol = (std::max)(tol.atol, 2e-2 * (sizeof(T) < 4));
    expect_close<T>(out.read(), want, tol);
    expect_equal(values_of(fg::cdist_backward(s, g.in(), a.in(), b.in(), p, z)), out.read());
  }
  EXPECT_RAISES(fg::cdist_backward(s, g.in().narrow(0, 0, 1), a.in(), b.in(), 2, g.in()),
                shape_mismatch, "cdist_backward");
}

/// The same as that of all rows, whose pairs come twice.
TYPED_TEST(distances, gradients_of_pairs) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const i64 n : {1, 2, 5}) {
    const i64 count = n * (n - 1) / 2;
    test_tensor<T, D> x({n, 3}, layout::transposed, random_values({n, 3})),
        g({count}, layout::negative, random_values({count})), out({n, 3}, layout::strided);
    std::vector<double> both(static_cast<std::size_t>(n * n));
    for (i64 i = 0, k = 0; i < n; ++i)
      for (i64 j = i + 1; j < n; ++j, ++k)
        both[static_cast<std::size_t>(i * n + j)] = both[static_cast<std::size_t>(j * n + i)] =
            g.values()[static_cast<std::size_t>(k)];
    test_tensor<T, D> all({n, n}, layout::contiguous, both);
    for (const double p : {0.0, 1.0, 1.5, 2.0, infinity}) {
      fg::pdist_backward(s, g.in(), x.in(), p, fg::pdist(s, x.in(), p), out.view());
      const auto want =
          fg::cdist_backward(s, all.in(), x.in(), x.in(), p, fg::cdist(s, x.in(), x.in(), p));
      expect_close<T>(out.read(), values_of(want), tolerance_of<T>(10));
      EXPECT_TRUE(out.gaps_untouched());
    }
  }
  test_tensor<T, D> x({3, 2}), few({2});
  EXPECT_RAISES((void)fg::pdist_backward(s, few.in(), x.in(), 2, few.in()), shape_mismatch,
                "pdist_backward");
}

TYPED_TEST(distances, of_pairs) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> a({2, 3}, layout::transposed, {0, 1, 2, 3, 4, 5}),
      b({3}, layout::strided, {1, 1, 1}), out({2}, layout::strided), kept({2, 1});
  fg::pairwise_distance(s, a.in(), b.in(), out.view(), 2, 0);
  expect_close<T>(out.read(), {std::sqrt(2.0), std::sqrt(29.0)}, tolerance_of<T>(3));
  fg::pairwise_distance(s, a.in(), b.in(), kept.view(), 1, 0.5, true);
  expect_close<T>(kept.read(), {0.5 + 0.5 + 1.5, 2.5 + 3.5 + 4.5}, tolerance_of<T>(3));
  EXPECT_RAISES(fg::pairwise_distance(s, a.in(), b.in(), a.view().select(1, 0)), overlap,
                "pairwise_distance");
  EXPECT_RAISES(fg::pairwise_distance(s, a.in(), b.in(), b.view()), shape_mismatch,
                "pairwise_distance");
}

TYPED_TEST(distances, renorm) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 2}, layout::transposed, {3, 1, 4, 1}), out({2, 2}, layout::negative);
  fg::renorm(s, x.in(), out.view(), 2, 1, 2.5);  // columns (3, 4) and (1, 1)
  expect_close<T>(out.read(), {1.5, 1, 2, 1}, tolerance_of<T>(2));
  EXPECT_RAISES(fg::renorm(s, x.in(), out.view(), 0, 1, 2), invalid_argument, "renorm");
  EXPECT_RAISES(fg::renorm(s, x.in(), out.view(), 2, 2, 2), out_of_range, "renorm");
  fg::renorm_(s, x.view(), 1, 0, 2.0);
  expect_close<T>(x.read(), {1.5, 0.5, 1.6, 0.4}, tolerance_of<T>(2));
}

TYPED_TEST(distances, matrix_norms) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> x({2, 3}, layout::transposed, {1, -2, 3, -4, 5, -6}), out(shape{}),
      kept({1, 1});
  const std::pair<double, double> all[] = {{1, 9}, {-1, 5}, {infinity, 15}, {-infinity, 6}};
  for (const auto& [ord, want] : all) {
    fg::linalg_matrix_norm(s, x.in(), out.view(), ord);
    expect_equal(out.read(), {want});
    fg::linalg_matrix_norm(s, x.in().transpose(0, 1), kept.view(), ord, {1, 0}, true);
    expect_equal(kept.read(), {want});
  }
  EXPECT_RAISES(fg::linalg_matrix_norm(s, x.in(), out.view(), 3), invalid_argument,
                "linalg_matrix_norm");
  using fg::matrix_norm_order;
  fg::linalg_matrix_norm(s, x.in(), out.view(), matrix_norm_order::fro);
  expect_close<T>(out.read(), {std::sqrt(91.0)}, tolerance_of<T>(6));
  // The singular values of x: the squares' sum is 91, the product's square the sum of the squares
  // of the determinants of two columns, 3, 3 and -6 (54).
  const double root = std::sqrt(91.0 * 91.0 - 4 * 54.0);
  const double greatest = std::sqrt((91 + root) / 2), least = std::sqrt((91 - root) / 2);
  const auto expect_norms = [&](auto ord, double want) {
    if constexpr (std::is_same_v<T, fg::f64> || std::is_same_v<T, fg::f32>) {
      fg::linalg_matrix_norm(s, x.in(), out.view(), ord);
      expect_close<T>(out.read(), {want}, tolerance_of<T>(6));
      fg::linalg_matrix_norm(s, x.in().transpose(0, 1), kept.view(), ord, {1, 0}, true);
      expect_close<T>(kept.read(), {want}, tolerance_of<T>(6));
      const auto made = fg::linalg_matrix_norm(s, x.in().unsqueeze(1), ord, {0, 2}, true);
      EXPECT_EQ(made.shape_of(), shape({1, 1, 1}));
    } else {
      EXPECT_RAISES(fg::linalg_matrix_norm(s, x.in(), out.view(), ord), not_supported,
                    "linalg_matrix_norm");
    }
  };
  expect_norms(2, greatest);
  expect_norms(-2, least);
  expect_norms(matrix_norm_order::nuc, greatest + least);
  EXPECT_RAISES(fg::linalg_matrix_norm(s, x.in(), out.view(), 1, {0, -2}), invalid_argument,
                "linalg_matrix_norm");
}

#if FLAGGEMS_TEST_HOST  // the rest is about the host

TEST(distances_of_nothing, are_zero) {
  const auto& s = test_stream<host>();
  test_tensor<f32> a({2, 0}), none({0, 3});
  expect_equal(values_of(fg::cdist(s, a.in(), a.in())), {0, 0, 0, 0});
  EXPECT_EQ(fg::cdist(s, none.in(), none.in()).numel(), 0);
  EXPECT_EQ(fg::pdist(s, none.in()).numel(), 0);
  EXPECT_EQ(fg::pairwise_distance(s, none.in(), none.in()).numel(), 0);
  EXPECT_TRUE(std::isnan(
      values_of(fg::cdist(s, test_tensor<f32>({1, 1}, layout::contiguous, {std::nan("")}).in(),
                          test_tensor<f32>({1, 1}).in()))[0]));
}

#endif

}  // namespace
}  // namespace flaggems_test
