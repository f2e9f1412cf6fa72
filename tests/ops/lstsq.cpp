// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/lstsq.hpp>
#include <support/matrices.hpp>

namespace flaggems_test {
namespace {

using by = fg::lstsq_driver;

template <class Case>
class lstsqs : public ::testing::Test {};
TYPED_TEST_SUITE(lstsqs, factor_cases);

TYPED_TEST(lstsqs, solutions) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const auto& [m, n] : {std::pair<i64, i64>{4, 4}, {7, 3}, {3, 5}})
      for (const layout how : output_layouts)
        for (const auto driver : {by::gels, by::gelsy, by::gelsd, by::gelss}) {
          const i64 k = (std::min)(m, n);
          const stack a =
              random_stack(2, m, n).with([](i64 i, i64 j, double x) { return i == j ? x + 6 : x; });
          test_tensor<T, D> x({2, m, n}, how, a.values),
              b({2, m, 2}, how, random_values({2, m, 2}));
          const stack given(m, n, x.values()), sides(m, 2, b.values());
          const auto out = fg::linalg_lstsq(s, x.in(), b.in(), std::nullopt, driver);
          const stack got = stack::of(out.solution), image = given * got;
          stack rest = image;
          for (std::size_t i = 0; i < rest.values.size(); ++i) rest.values[i] -= sides.values[i];
          auto close = factor_tolerance<T>(8);
          close.atol *= 8;
          // What remains is orthogonal to the columns; of a wide matrix nothing remains.
          expect_close<T>((given.transposed() * rest).values,
                          std::vector<double>(static_cast<std::size_t>(2 * n * 2)), close);
          if (m <= n) expect_close<T>(image.values, sides.values, close);
          const bool has_rest = m > n && driver != by::gelsy;
          ASSERT_EQ(out.residuals.numel(), has_rest ? 4 : 0);
          if (has_rest) {
            std::vector<double> squares;
            for (i64 c = 0; c < 2; ++c)
              for (i64 j = 0; j < 2; ++j) {
                double sum = 0;
                for (i64 i = 0; i < m; ++i) sum += rest.at(c, i, j) * rest.at(c, i, j);
                squares.push_back(sum);
              }
            expect_close<T>(values_of(out.residuals), squares, close);
          }
          const double full = static_cast<double>(k);
          expect_equal(values_of(out.rank), driver == by::gels ? std::vector<double>{}
                                                               : std::vector<double>{full, full});
          EXPECT_EQ(out.singular_values.numel(),
                    driver == by::gelsd || driver == by::gelss ? 2 * k : 0);
          if (driver != by::gelsd || m <= n) continue;
          test_tensor<T, D> solution({2, n, 2}, how), residuals({2, 2}, how), values({2, k}, how);
          test_tensor<i64, D> rank({2}, how);
          fg::linalg_lstsq(s, x.in(), b.in(), solution.view(), residuals.view(), rank.view(),
                           values.view(), std::nullopt, driver);
          expect_equal(solution.read(), got.values);
          expect_equal(values.read(), values_of(out.singular_values));
          EXPECT_TRUE(solution.gaps_untouched() && residuals.gaps_untouched() &&
                      rank.gaps_untouched() && values.gaps_untouched());
        }
  });
}

TYPED_TEST(lstsqs, of_vectors_and_lower_rank) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> a({3, 2}, layout::contiguous, {1, 1, 1, 1, 1, 1}),
      b({3}, layout::contiguous, {1, 2, 6});
  const auto out = fg::linalg_lstsq(s, a.in(), b.in(), std::nullopt, by::gelsd);
  const auto close = factor_tolerance<T>(8);
  expect_close<T>(values_of(out.solution), {1.5, 1.5}, close);
  expect_close<T>(values_of(out.residuals), {14}, close);
  expect_equal(values_of(out.rank), {1});
  // Singular values of 2 and 1, of which one is cut off.
  test_tensor<T, D> d({2, 2}, layout::contiguous, {2, 0, 0, 1}), y({2}, layout::contiguous, {4, 4});
  expect_close<T>(values_of(fg::linalg_lstsq(s, d.in(), y.in(), 0.75).solution), {2, 0}, close);
  expect_close<T>(values_of(fg::linalg_lstsq(s, d.in(), y.in(), 0.25).solution), {2, 4}, close);
  // One matrix for several right sides, and none at all.
  test_tensor<T, D> many({3, 2, 1}, layout::contiguous, {2, 1, 4, 2, 6, 3}), none({2, 0});
  expect_close<T>(values_of(fg::linalg_lstsq(s, d.in().unsqueeze(0), many.in()).solution),
                  {1, 1, 2, 2, 3, 3}, close);
  EXPECT_EQ(fg::linalg_lstsq(s, none.in(), d.in()).solution.numel(), 0);
  expect_equal(values_of(fg::linalg_lstsq(s, none.in(), d.in(), std::nullopt, by::gels).residuals),
               {4, 1});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(lstsqs_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> row({3}), a({3, 3}), b({4, 2}), out({3, 3}), none({0});
  test_tensor<i64> rank({});
  EXPECT_RAISES(fg::linalg_lstsq(s, row.in(), row.in()), invalid_argument, "linalg_lstsq");
  EXPECT_RAISES(fg::linalg_lstsq(s, a.in(), b.in()), shape_mismatch, "linalg_lstsq");
  EXPECT_RAISES(
      fg::linalg_lstsq(s, a.in(), out.in(), out.view(), none.view(), rank.view(), none.view()),
      overlap, "linalg_lstsq");
  EXPECT_TRUE(out.untouched() && rank.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
