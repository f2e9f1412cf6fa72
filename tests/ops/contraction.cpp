// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/contraction.hpp>
#include <support/ops.hpp>

#include <bit>

namespace flaggems_test {
namespace {

template <class Case>
class contractions : public ::testing::Test {};
using few_cases = cases<on_host<f32, bf16>, on_chips<f32>, on_wide<f32>>;
TYPED_TEST_SUITE(contractions, few_cases);

std::size_t at(i64 i) { return static_cast<std::size_t>(i); }

TYPED_TEST(contractions, addbmm) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 batch = 3, m = 4, k = 5, n = 2;
  test_tensor<T, D> a({batch, m, k}, layout::transposed, random_values({batch, m, k})),
      b({batch, k, n}, layout::strided, random_values({batch, k, n})),
      c({n}, layout::strided, {1, -2}), out({m, n}, layout::negative);
  const auto x = a.values(), y = b.values();
  std::vector<double> want;
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 p = 0; p < batch; ++p)
        for (i64 q = 0; q < k; ++q) sum += x[at((p * m + i) * k + q)] * y[at((p * k + q) * n + j)];
      want.push_back(0.5 * c.values()[at(j)] + 2 * sum);
    }
  fg::addbmm(s, c.in(), a.in(), b.in(), out.view(), {.beta = 0.5, .alpha = 2});
  expect_close<T>(out.read(), want, tolerance_of<T>(batch * k));
  expect_equal(values_of(fg::addbmm(s, c.in(), a.in(), b.in(), {.beta = 0.5, .alpha = 2})),
               out.read());
  EXPECT_TRUE(out.gaps_untouched() && a.untouched() && b.untouched());
  const auto one = a.in().select(0, 1), other = b.in().select(0, 1);
  test_tensor<T, D> sum({m, n});
  fg::matmuladd(s, one, other, c.in(), sum.view());
  expect_equal(sum.read(), values_of(fg::addmm(s, c.in(), one, other)));
  expect_equal(values_of(fg::matmuladd(s, one, other, c.in())), sum.read());
  EXPECT_RAISES(fg::addbmm(s, c.in(), a.in(), a.in()), shape_mismatch, "addbmm");
  EXPECT_RAISES(fg::addbmm(s, c.in(), a.in(), b.in(), c.view()), shape_mismatch, "addbmm");
}

TYPED_TEST(contractions, bilinear) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 rows = 6, first = 3, second = 4, outputs = 2;
  test_tensor<T, D> x({2, 3, first}, layout::transposed, random_values({rows, first})),
      y({2, 3, second}, layout::strided, random_values({rows, second})),
      w({outputs, first, second}, layout::negative, random_values({outputs, first, second})),
      bias({outputs}, layout::strided, {1, -2}), out({2, 3, outputs}, layout::strided);
  const auto a = x.values(), b = y.values(), c = w.values();
  std::vector<double> want;
  for (i64 r = 0; r < rows; ++r)
    for (i64 o = 0; o < outputs; ++o) {
      double sum = 0;
      for (i64 i = 0; i < first; ++i)
        for (i64 j = 0; j < second; ++j)
          sum += a[at(r * first + i)] * c[at((o * first + i) * second + j)] * b[at(r * second + j)];
      want.push_back(sum);
    }
  fg::bilinear(s, x.in(), y.in(), w.in(), std::nullopt, out.view());
  expect_close<T>(out.read(), want, tolerance_of<T>(first * second));
  for (std::size_t i = 0; i < want.size(); ++i) want[i] += i % 2 == 0 ? 1 : -2;
  expect_close<T>(values_of(fg::bilinear(s, x.in(), y.in(), w.in(), bias.in())), want,
                  tolerance_of<T>(first * second));
  EXPECT_RAISES(fg::bilinear(s, y.in(), x.in(), w.in()), shape_mismatch, "bilinear");
  EXPECT_RAISES(fg::bilinear(s, x.in(), y.in(), w.in(), bias.in().narrow(0, 0, 1)), shape_mismatch,
                "bilinear");
}

TYPED_TEST(contractions, linalg_cross) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  test_tensor<T, D> a({2, 3}, layout::transposed, {1, 2, 3, 4, 5, 6}),
      b({1, 3}, layout::strided, {1, 0, 2}), out({2, 3}, layout::negative),
      turned({3, 2}, layout::strided);
  fg::linalg_cross(s, a.in(), b.in(), out.view());
  const std::vector<double> want{4, 1, -2, 10, -2, -5};
  expect_equal(out.read(), want);
  fg::linalg_cross(s, a.in().transpose(0, 1), b.in().transpose(0, 1), turned.view(), 0);
  expect_equal(values_of(fg::linalg_cross(s, a.in(), b.in())), want);
  expect_equal(turned.read(), {4, 10, 1, -2, -2, -5});
  EXPECT_RAISES(fg::linalg_cross(s, a.in(), b.in(), out.view(), 0), shape_mismatch, "linalg_cross");
  EXPECT_RAISES(fg::linalg_cross(s, a.in(), b.in(), a.view()), overlap, "linalg_cross");
}

TYPED_TEST(contractions, hadamard_transform) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const int n : {1, 8, 12}) {
    test_tensor<T, D> x({3, n}, layout::transposed, random_values({3, n})),
        out({3, n}, layout::strided);
    const auto v = x.values();
    std::vector<double> want;
    for (i64 r = 0; r < 3; ++r)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0;
        for (i64 i = 0; i < n; ++i)
          sum += std::popcount(static_cast<unsigned>(i & j)) % 2 == 0 ? v[at(r * n + i)]
                                                                      : -v[at(r * n + i)];
        want.push_back(sum * 0.5);
      }
    fg::hadamard_transform(s, x.in(), out.view(), 0.5);
    expect_close<T>(out.read(), want, tolerance_of<T>(n));
    fg::hadamard_transform(s, x.in(), x.view(), 0.5);
    expect_equal(x.read(), out.read());
  }
  test_tensor<T, D> none({2, 0}), zero(shape{});
  EXPECT_EQ(fg::hadamard_transform(s, none.in()).numel(), 0);
  EXPECT_RAISES(fg::hadamard_transform(s, zero.in()), shape_mismatch, "hadamard_transform");
}

TYPED_TEST(contractions, matmul_bias_activation) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 m = 5, k = 7, n = 6;
  test_tensor<T, D> a({m, k}, layout::transposed, random_values({m, k})),
      b({k, n}, layout::strided, random_values({k, n})),
      bias({n}, layout::negative, random_values({n})), out({m, n}, layout::strided);
  std::vector<double> want;
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = bias.values()[at(j)];
      for (i64 q = 0; q < k; ++q) sum += a.values()[at(i * k + q)] * b.values()[at(q * n + j)];
      want.push_back(sum > 0 ? sum : 0);
    }
  fg::matmul_bias_activation(s, a.in(), b.in(), bias.in(), out.view());
  expect_close<T>(out.read(), want, tolerance_of<T>(k));
  expect_equal(values_of(fg::matmul_bias_activation(s, a.in(), b.in(), bias.in())), out.read());
  EXPECT_TRUE(out.gaps_untouched());
}

TYPED_TEST(contractions, linear_combination) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 m = 4, n = 3;
  for (const shape& rest : {shape{}, shape{5}, shape{2, 5}, shape{2, 3, 2}})
    for (const layout of_x : {layout::contiguous, layout::transposed})
      for (const layout of_out : {layout::contiguous, layout::transposed}) {
        shape in = rest, to = rest;
        in.insert(0, n), to.insert(0, m);
        test_tensor<T, D> x(in, of_x, random_values(in)),
            c({m, n}, layout::strided, random_values({m, n})), out(to, of_out);
        const i64 each = rest.numel();
        std::vector<double> want;
        for (i64 i = 0; i < m; ++i)
          for (i64 e = 0; e < each; ++e) {
            double sum = 0;
            for (i64 j = 0; j < n; ++j)
              sum += c.values()[at(i * n + j)] * x.values()[at(j * each + e)];
            want.push_back(sum);
          }
        fg::compute_linear_combination(s, x.in(), c.in(), out.view());
        expect_close<T>(out.read(), want, tolerance_of<T>(n));
        EXPECT_TRUE(out.gaps_untouched());
      }
  test_tensor<T, D> none({0, 4}), nothing({2, 0});
  EXPECT_EQ(values_of(fg::compute_linear_combination(s, none.in(), nothing.in())),
            std::vector<double>(8));
}

TYPED_TEST(contractions, hadamard_transforms_of_other_orders) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const int order : {12, 20, 28, 40}) {
    const auto run = [&](const auto& x, const auto&... out) {
      if constexpr (sizeof...(out) > 0) {
        order == 12   ? fg::hadamard_transform_12n(s, x, out..., 0.5)
        : order == 20 ? fg::hadamard_transform_20n(s, x, out..., 0.5)
        : order == 28 ? fg::hadamard_transform_28n(s, x, out..., 0.5)
                      : fg::hadamard_transform_40n(s, x, out..., 0.5);
      } else {
        return order == 12   ? fg::hadamard_transform_12n(s, x)
               : order == 20 ? fg::hadamard_transform_20n(s, x)
               : order == 28 ? fg::hadamard_transform_28n(s, x)
                             : fg::hadamard_transform_40n(s, x);
      }
    };
    // The rows of the matrix, from unit vectors: orthogonal.
    std::vector<double> units(at(order * order));
    for (int i = 0; i < order; ++i) units[at(i * order + i)] = 1;
    test_tensor<T, D> identity({order, order}, layout::contiguous, units);
    const auto h = values_of(run(identity.in()));
    for (int i = 0; i < order; ++i)
      for (int j = 0; j <= i; ++j) {
        double sum = 0;
        for (int k = 0; k < order; ++k) sum += h[at(i * order + k)] * h[at(j * order + k)];
        EXPECT_EQ(sum, i == j ? order : 0) << order << ": " << i << ", " << j;
      }
    for (const int n : {order, 4 * order, 2 * order - 3, 3}) {
      int whole = order;
      while (whole < n) whole *= 2;
      const int columns = whole / order;
      test_tensor<T, D> x({3, n}, layout::transposed, random_values({3, n})),
          out({3, n}, layout::strided);
      const auto v = x.values();
      std::vector<double> want;
      for (int r = 0; r < 3; ++r)
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int i = 0; i < n; ++i)
            sum += h[at(i / columns * order + j / columns)] *
                   (std::popcount(static_cast<unsigned>(i % columns & j % columns)) % 2 == 0 ? 1
                                                                                             : -1) *
                   v[at(r * n + i)];
          want.push_back(sum * 0.5);
        }
      run(x.in(), out.view());
      expect_close<T>(out.read(), want, tolerance_of<T>(n));
      EXPECT_TRUE(out.gaps_untouched());
      run(x.in(), x.view());
      expect_equal(x.read(), out.read());
    }
  }
  // First rows, by which an order is told from others.
  std::vector<double> unit(12);
  unit[2] = 1;
  test_tensor<T, D> third({12}, layout::contiguous, unit), none({2, 0}), zero(shape{});
  expect_equal(values_of(fg::hadamard_transform_12n(s, third.in())),
               {1, 1, 1, -1, 1, 1, -1, -1, -1, -1, 1, 1});
  EXPECT_EQ(fg::hadamard_transform_40n(s, none.in()).numel(), 0);
  EXPECT_RAISES(fg::hadamard_transform_20n(s, zero.in()), shape_mismatch, "hadamard_transform_20n");
}

}  // namespace
}  // namespace flaggems_test
