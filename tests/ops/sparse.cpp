// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/sparse.hpp>
#include <support/ops.hpp>

#include <limits>
#include <vector>

namespace flaggems_test {
namespace {

using fg::i16;

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

template <class Case>
class sparse : public ::testing::Test {};
using few_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(sparse, few_cases);

TYPED_TEST(sparse, sampled_products) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 m = 4, n = 5;
  for (const i64 k : {0, 1, 7, 70}) {
    // Rows with entries, without, and full ones.
    test_tensor<i64, D> starts({m + 1}, layout::strided, {0, 2, 2, 7, 8}),
        columns({8}, layout::negative, {1, 4, 0, 1, 2, 3, 4, 0});
    test_tensor<T, D> a({m, k}, layout::transposed, random_values({m, k})),
        b({k, n}, layout::strided, random_values({k, n})),
        values({8}, layout::strided, random_values({8})), out({8}, layout::negative);
    const std::vector<i64> rows{0, 0, 2, 2, 2, 2, 2, 3};
    std::vector<double> want;
    for (i64 e = 0; e < 8; ++e) {
      double sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += a.values()[at(rows[at(e)] * k + q)] *
               b.values()[at(q * n) + static_cast<std::size_t>(columns.values()[at(e)])];
      want.push_back(0.5 * values.values()[at(e)] + 2 * sum);
    }
    fg::sparse_sampled_addmm(s, starts.in(), columns.in(), values.in(), a.in(), b.in(), out.view(),
                             {.beta = 0.5, .alpha = 2});
    expect_close<T>(out.read(), want, tolerance_of<T>(static_cast<double>(k + 1)));
    EXPECT_TRUE(out.gaps_untouched() && values.untouched());
    fg::sparse_sampled_addmm(s, starts.in(), columns.in(), values.in(), a.in(), b.in(),
                             values.view(), {.beta = 0.5, .alpha = 2});
    expect_equal(values.read(), out.read());
  }
  // Not read for beta = 0.
  test_tensor<i64, D> starts({2}, layout::contiguous, {0, 1}),
      columns({1}, layout::contiguous, {0});
  test_tensor<T, D> one({1, 1}, layout::contiguous, {3}),
      nan({1}, layout::contiguous, {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(values_of(fg::sparse_sampled_addmm(s, starts.in(), columns.in(), nan.in(), one.in(),
                                               one.in(), {.beta = 0})),
            std::vector<double>{9});
}

/// A matrix of which half is stored, with its places in CUTLASS's order.
struct semi_structured {
  std::vector<double> dense, stored, meta;
};
semi_structured make(i64 m, i64 k, bool wide) {
  static constexpr int pairs[6][2] = {{0, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}, {2, 3}};
  semi_structured r;
  r.dense.assign(at(m * k), 0);
  const i64 group = wide ? 2 : 4, words = k / (4 * group);
  std::vector<unsigned> bits(at(m * words), 0);
  for (i64 i = 0; i < m; ++i)
    for (i64 g = 0; g < k / group; ++g) {
      const auto kind = static_cast<std::size_t>((i * 5 + g * 7) % 6);
      const int first = wide ? static_cast<int>(kind % 2) : pairs[kind][0], second = pairs[kind][1];
      const auto put = [&](int place) {
        const double x = static_cast<double>((i * 3 + g * 11 + place) % 7) - 3;
        r.dense[at(i * k + g * group + place)] = x;
        r.stored.push_back(x);
      };
      put(first);
      if (!wide) put(second);
      const unsigned own = wide
                               ? (first == 0 ? 4U : 14U)
                               : static_cast<unsigned>(first) | static_cast<unsigned>(second) << 2U;
      bits[at(i * words + g / 4)] |= own << static_cast<unsigned>(g % 4 * 4);
    }
  r.meta.assign(bits.size(), 0);
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < words; ++j) {
      i64 row = i / 32 * 32 + i % 8 * 4 + i % 32 / 8, column = j;
      const bool right = row % 2 == 0 && column % 2 == 1, left = row % 2 == 1 && column % 2 == 0;
      row += (right ? 1 : 0) - (left ? 1 : 0);
      column -= (right ? 1 : 0) - (left ? 1 : 0);
      r.meta[at(column / 2 * m * 2 + row * 2 + column % 2)] =
          static_cast<double>(static_cast<i16>(bits[at(i * words + j)]));
    }
  return r;
}

TYPED_TEST(sparse, semi_structured_products) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  constexpr bool wide = sizeof(T) == 4;
  for (const auto& [m, k, n] : {std::array<i64, 3>{32, 32, 8}, {64, 96, 5}, {32, 64, 1}}) {
    const auto given = make(m, k, wide);
    test_tensor<T, D> a({m, k / 2}, layout::strided, given.stored),
        b({k, n}, layout::transposed, random_values({k, n})), out({m, n}, layout::strided);
    test_tensor<i16, D> meta({m, k / (wide ? 8 : 16)}, layout::contiguous, given.meta);
    std::vector<double> want;
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q) sum += given.dense[at(i * k + q)] * b.values()[at(q * n + j)];
        want.push_back(sum);
      }
    fg::sparse_semi_structured_mm(s, a.in(), meta.in(), b.in(), out.view());
    expect_close<T>(out.read(), want, tolerance_of<T>(static_cast<double>(k)));
    EXPECT_TRUE(out.gaps_untouched() && a.untouched() && meta.untouched());
    expect_equal(values_of(fg::sparse_semi_structured_mm(s, a.in(), meta.in(), b.in())),
                 out.read());
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(sparse, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<i64> starts({3}, layout::contiguous, {0, 1, 2}),
      columns({2}, layout::contiguous, {0, 3}), outside({2}, layout::contiguous, {0, 4});
  test_tensor<f32> a({2, 3}), b({3, 4}), values({2}), out({2}), three({3});
  const auto sample = [&](auto& from, auto& to, auto& before, auto& second) {
    fg::sparse_sampled_addmm(s, from.in(), to.in(), before.in(), a.in(), second.in(), out.view());
  };
  EXPECT_RAISES(sample(columns, columns, values, b), shape_mismatch, "sparse_sampled_addmm");
  EXPECT_RAISES(sample(starts, starts, values, b), shape_mismatch, "sparse_sampled_addmm");
  EXPECT_RAISES(sample(starts, columns, three, b), shape_mismatch, "sparse_sampled_addmm");
  EXPECT_RAISES(sample(starts, columns, values, a), shape_mismatch, "sparse_sampled_addmm");
  EXPECT_RAISES(sample(starts, outside, values, b), out_of_range, "sparse_sampled_addmm");
  for (const auto& wrong :
       {std::vector<double>{0, 2, 1}, {0, 1, 1}, {1, 1, 2}, {0, 1, 3}, {-9, 9e18, 2}}) {
    test_tensor<i64> from({3}, layout::contiguous, wrong);
    EXPECT_RAISES(sample(from, columns, values, b), invalid_argument, "sparse_sampled_addmm");
  }
  test_tensor<i64> nowhere({1});
  test_tensor<f32> no_rows({0, 3});
  EXPECT_RAISES(fg::sparse_sampled_addmm(s, nowhere.in(), columns.in(), values.in(), no_rows.in(),
                                         b.in(), out.view()),
                invalid_argument, "sparse_sampled_addmm");
  test_tensor<bf16> x({32, 16}), odd({31, 16}), y({32, 4}), z({16, 4}), to({32, 4});
  test_tensor<i16> meta({32, 2}), turned({32, 2}, layout::transposed), wide({32, 4});
  const auto multiply = [&](auto& first, auto& places, auto& second) {
    fg::sparse_semi_structured_mm(s, first.in(), places.in(), second.in(), to.view());
  };
  EXPECT_RAISES(multiply(odd, meta, y), shape_mismatch, "sparse_semi_structured_mm");
  EXPECT_RAISES(multiply(x, wide, y), shape_mismatch, "sparse_semi_structured_mm");
  EXPECT_RAISES(multiply(x, meta, z), shape_mismatch, "sparse_semi_structured_mm");
  EXPECT_RAISES(multiply(x, turned, y), invalid_argument, "sparse_semi_structured_mm");
  EXPECT_TRUE(out.untouched() && to.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
