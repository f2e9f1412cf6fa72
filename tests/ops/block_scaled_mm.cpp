// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements are small integers and scales powers of two, so that every result is exact before it is
// rounded.
#include <flaggems/ops/block_scaled_mm.hpp>
#include <support/gemm.hpp>

#include <string>
#include <vector>

namespace flaggems_test {
namespace {

using fg::f8e4m3, fg::i8;

std::vector<double> integers(i64 n, int seed) {
  std::vector<double> r(index(n));
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = static_cast<int>((i * 7 + i / 5 * 3 + static_cast<std::size_t>(seed)) % 5) - 2;
  return r;
}
std::vector<double> powers(i64 n, int seed) {
  std::vector<double> r(index(n));
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = std::ldexp(1, static_cast<int>((i + static_cast<std::size_t>(seed)) % 4) - 2);
  return r;
}
template <class T>
double rounded(double x) {
  return fg::kernels::number_cast<f64>(fg::kernels::number_cast<T>(static_cast<f32>(x)));
}
i64 parts(i64 n, i64 block) { return (n + block - 1) / block; }

template <class Device>
class block_scaled_mm : public ::testing::Test {};
TYPED_TEST_SUITE(block_scaled_mm, all_devices);

/// x [b, m, k] times y [b, n, k] with scales.
template <class T>
std::vector<double> products(const std::vector<double>& x, const std::vector<double>& xs,
                             const std::vector<double>& y, const std::vector<double>& ys, i64 batch,
                             i64 m, i64 n, i64 k, i64 lines, i64 terms) {
  std::vector<double> want;
  const i64 across = parts(k, terms), down = parts(n, lines);
  for (i64 b = 0; b < batch; ++b)
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) {
        double sum = 0;
        for (i64 q = 0; q < k; ++q)
          sum += x[index((b * m + i) * k + q)] * y[index((b * n + j) * k + q)] *
                 xs[index((b * m + i) * across + q / terms)] *
                 ys[index((b * down + j / lines) * across + q / terms)];
        want.push_back(rounded<T>(sum));
      }
  return want;
}

template <class D, class T>
void check_matmul(i64 m, i64 n, i64 k, i64 lines, i64 terms, layout of_a, layout of_out) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k, lines, terms}));
  test_tensor<f8e4m3, D> a({m, k}, of_a, integers(m * k, 1)),
      b({n, k}, layout::transposed, integers(n * k, 2));
  test_tensor<f32, D> as({m, parts(k, terms)}, layout::strided, powers(m * parts(k, terms), 1)),
      bs({parts(n, lines), parts(k, terms)}, layout::negative,
         powers(parts(n, lines) * parts(k, terms), 2));
  test_tensor<T, D> out({m, n}, of_out);
  fg::w8a8_block_fp8_matmul(test_stream<D>(), a.in(), b.in(), as.in(), bs.in(), out.view(),
                            {lines, terms});
  EXPECT_EQ(out.read(), products<T>(a.values(), as.values(), b.values(), bs.values(), 1, m, n, k,
                                    lines, terms));
  EXPECT_TRUE(out.gaps_untouched() && a.untouched() && b.untouched());
}
TYPED_TEST(block_scaled_mm, blocks_of_any_size) {
  using D = TypeParam;
  check_matmul<D, bf16>(5, 7, 12, 3, 4, layout::contiguous, layout::contiguous);
  check_matmul<D, f32>(3, 8, 33, 4, 16, layout::strided, layout::transposed);
  check_matmul<D, f16>(2, 3, 5, 64, 64, layout::negative, layout::strided);
  check_matmul<D, bf16>(40, 136, 144, 128, 128, layout::contiguous, layout::contiguous);
  const auto& s = test_stream<D>();
  test_tensor<f8e4m3, D> none({0, 8}), w({4, 8}), no_terms({2, 0});
  test_tensor<f32, D> by_none({0, 2}), by_w({2, 2}), by_terms({2, 0}), by_one({1, 0});
  EXPECT_EQ(
      fg::w8a8_block_fp8_matmul(s, none.in(), w.in(), by_none.in(), by_w.in(), {2, 4}).numel(), 0);
  EXPECT_EQ(values_of(fg::w8a8_block_fp8_matmul<f32>(s, no_terms.in(), no_terms.in(), by_terms.in(),
                                                     by_one.in(), {2, 4})),
            std::vector<double>(4));
}

TYPED_TEST(block_scaled_mm, batches) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const auto& [m, n, k, lines, terms] :
       {std::tuple<i64, i64, i64, i64, i64>{3, 5, 12, 4, 8}, {40, 136, 144, 128, 128}}) {
    const i64 batch = 2;
    test_tensor<f8e4m3, D> x({batch, m, k}, layout::contiguous, integers(batch * m * k, 1)),
        y({batch, n, k}, layout::contiguous, integers(batch * n * k, 3));
    const shape of_x{batch, m, parts(k, terms)}, of_y{batch, parts(n, lines), parts(k, terms)};
    test_tensor<f32, D> xs(of_x, layout::strided, powers(of_x.numel(), 1)),
        ys(of_y, layout::contiguous, powers(of_y.numel(), 2));
    test_tensor<bf16, D> out({batch, m, n}, layout::strided);
    fg::w8a8_block_fp8_bmm(s, x.in(), y.in(), xs.in(), ys.in(), out.view(), {lines, terms});
    const auto want = products<bf16>(x.values(), xs.values(), y.values(), ys.values(), batch, m, n,
                                     k, lines, terms);
    EXPECT_EQ(out.read(), want);
    EXPECT_TRUE(out.gaps_untouched());
    // The same through einsum: [m, batch, k] and [m, batch, n].
    const auto turned =
        values_of(fg::fp8_einsum<bf16>(s, "bhr,hdr->bhd", x.in().transpose(0, 1),
                                       xs.in().transpose(0, 1), y.in(), ys.in(), {lines, terms}));
    ASSERT_EQ(turned.size(), want.size());
    for (i64 e = 0; e < batch * m * n; ++e)
      EXPECT_EQ(turned[index((e / n % m * batch + e / (m * n)) * n + e % n)], want[index(e)]) << e;
  }
}

template <class D, class E, class T>
void check_cutlass(i64 m, i64 n, i64 k, bool by_row, bool by_column, bool has_bias) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k, by_row, by_column, has_bias}));
  test_tensor<E, D> a({m, k}, layout::contiguous, integers(m * k, 1)),
      b({k, n}, layout::transposed, integers(n * k, 2));
  const shape of_a = by_row ? shape{m, 1} : shape{1}, of_b = by_column ? shape{n} : shape{};
  test_tensor<f32, D> by_a(of_a, layout::strided, powers(of_a.numel(), 1)),
      by_b(of_b, layout::contiguous, powers(of_b.numel(), 2));
  test_tensor<T, D> bias({n}, layout::negative, integers(n, 3)), c({m, n}, layout::strided);
  if (has_bias)
    fg::cutlass_scaled_mm(test_stream<D>(), c.view(), a.in(), b.in(), by_a.in(), by_b.in(),
                          bias.in());
  else
    fg::cutlass_scaled_mm(test_stream<D>(), c.view(), a.in(), b.in(), by_a.in(), by_b.in());
  std::vector<double> want;
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += a.values()[index(i * k + q)] * b.values()[index(q * n + j)];
      sum *= by_a.values()[index(by_row ? i : 0)] * by_b.values()[index(by_column ? j : 0)];
      want.push_back(rounded<T>(sum + (has_bias ? bias.values()[index(j)] : 0)));
    }
  EXPECT_EQ(c.read(), want);
  EXPECT_TRUE(c.gaps_untouched());
}
TYPED_TEST(block_scaled_mm, scales_of_lines) {
  using D = TypeParam;
  check_cutlass<D, f8e4m3, bf16>(4, 6, 16, true, true, true);
  check_cutlass<D, f8e4m3, f16>(3, 5, 7, false, false, false);
  check_cutlass<D, i8, bf16>(4, 6, 16, true, true, true);
  check_cutlass<D, i8, f32>(20, 12, 32, false, true, false);
}
TYPED_TEST(block_scaled_mm, scales_of_blocks) {
  using D = TypeParam;
  const i64 m = 3, n = 130, k = 140;
  test_tensor<f8e4m3, D> a({m, k}, layout::contiguous, integers(m * k, 1)),
      b({k, n}, layout::contiguous, integers(n * k, 2));
  test_tensor<f32, D> by_a({m, 2}, layout::contiguous, powers(m * 2, 1)),
      by_b({2, 2}, layout::contiguous, powers(4, 2));
  test_tensor<bf16, D> c({m, n}, layout::contiguous);
  fg::cutlass_scaled_mm(test_stream<D>(), c.view(), a.in(), b.in(), by_a.in(), by_b.in());
  std::vector<double> want;
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += a.values()[index(i * k + q)] * b.values()[index(q * n + j)] *
               by_a.values()[index(i * 2 + q / 128)] * by_b.values()[index(q / 128 * 2 + j / 128)];
      want.push_back(rounded<bf16>(sum));
    }
  EXPECT_EQ(c.read(), want);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(block_scaled_mm, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f8e4m3> a({4, 8}), b({6, 8}), x({2, 4, 8}), y({2, 6, 8});
  test_tensor<f32> as({4, 2}), bs({3, 2}), xs({2, 4, 2}), ys({2, 3, 2}), bias({6}), one({1});
  test_tensor<bf16> out({4, 6}), outs({2, 4, 6});
  const auto matmul = [&](auto& first, auto& of_first, fg::int_list blocks, auto& to) {
    fg::w8a8_block_fp8_matmul(s, first.in(), b.in(), of_first.in(), bs.in(), to.view(), blocks);
  };
  EXPECT_RAISES(matmul(a, as, {2, 4, 1}, out), invalid_argument, "w8a8_block_fp8_matmul");
  EXPECT_RAISES(matmul(a, as, {2, 0}, out), invalid_argument, "w8a8_block_fp8_matmul");
  EXPECT_RAISES(matmul(a, bs, {2, 4}, out), shape_mismatch, "w8a8_block_fp8_matmul");
  EXPECT_RAISES(matmul(a, as, {3, 4}, out), shape_mismatch, "w8a8_block_fp8_matmul");
  EXPECT_RAISES(matmul(a, as, {2, 4}, outs), shape_mismatch, "w8a8_block_fp8_matmul");
  EXPECT_RAISES(fg::w8a8_block_fp8_bmm(s, x.in(), y.in(), xs.in(), xs.in(), outs.view(), {2, 4}),
                shape_mismatch, "w8a8_block_fp8_bmm");
  EXPECT_RAISES(fg::w8a8_block_fp8_bmm(s, x.in(), b.in(), xs.in(), ys.in(), outs.view(), {2, 4}),
                shape_mismatch, "w8a8_block_fp8_bmm");
  EXPECT_RAISES(static_cast<void>(fg::fp8_einsum(s, "ij,jk->ik", x.in(), xs.in(), y.in(), ys.in())),
                not_supported, "fp8_einsum");
  EXPECT_RAISES(
      fg::cutlass_scaled_mm(s, out.view(), a.in(), b.in().t(), as.in(), one.in(), bias.in()),
      shape_mismatch, "cutlass_scaled_mm");
  // As many scales as rows, but in two dimensions, with strides that would lead beyond them.
  test_tensor<f32> square({2, 2}, layout::transposed);
  EXPECT_RAISES(fg::cutlass_scaled_mm(s, out.view(), a.in(), b.in().t(), square.in(), one.in()),
                shape_mismatch, "cutlass_scaled_mm");
  EXPECT_RAISES(fg::cutlass_scaled_mm(s, out.view(), a.in(), b.in(), one.in(), one.in()),
                shape_mismatch, "cutlass_scaled_mm");
  EXPECT_TRUE(out.untouched() && outs.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
