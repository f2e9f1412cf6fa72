// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/rwkv.hpp>
#include <support/moves.hpp>

#include <cmath>
#include <limits>

namespace flaggems_test {
namespace {

template <class Device>
class rwkv : public ::testing::Test {};
TYPED_TEST_SUITE(rwkv, all_devices);

template <class T, class D>
void check_keys(const shape& sizes, i64 heads, i64 n, layout in) {
  const auto& s = test_stream<D>();
  const i64 columns = heads * n, rows = sizes.numel() / columns;
  test_tensor<T, D> k(sizes, in, random_integers(sizes, -4, 4)),
      a(sizes, in, random_integers(sizes, -4, 4)),
      kk({columns}, in, random_integers({columns}, 1, 4)),
      ka({columns}, in, random_integers({columns}, -4, 4));
  std::vector<double> kept, directions, gated;
  for (i64 r = 0; r < rows; ++r)
    for (i64 c = 0; c < columns; ++c) {
      const auto at = [&](const auto& v, i64 i) { return v.values()[static_cast<std::size_t>(i)]; };
      double sum = 1e-12;
      for (i64 i = c / n * n; i < c / n * n + n; ++i)
        sum += std::pow(at(k, r * columns + i) * at(kk, i), 2);
      const double x = at(k, r * columns + c), gate = at(a, r * columns + c);
      kept.push_back(x * (1 + (gate - 1) * at(ka, c)));
      directions.push_back(x * at(kk, c) / std::sqrt(sum));
      gated.push_back(directions.back() * gate);
    }
  const auto out = fg::rwkv_ka_fusion(s, k.in(), kk.in(), a.in(), ka.in(), heads, n);
  EXPECT_EQ(out.k.shape_of(), sizes);
  expect_close<T>(values_of(out.k), kept);
  expect_close<T>(values_of(out.kk), directions);
  expect_close<T>(values_of(out.kka), gated);
}

TYPED_TEST(rwkv, keys) {
  using D = TypeParam;
  for (const layout in : input_layouts) check_keys<f32, D>({3, 24}, 2, 12, in);
  check_keys<f32, D>({24}, 3, 8, layout::contiguous);
  check_keys<f64, D>({2, 24}, 3, 8, layout::contiguous);
  check_keys<bf16, D>({2, 24}, 3, 8, layout::contiguous);
  check_keys<f16, D>({2, 24}, 3, 8, layout::contiguous);
  const auto& s = test_stream<D>();
  test_tensor<f32, D> none({0, 8}), weight({8});
  const auto out = fg::rwkv_ka_fusion(s, none.in(), weight.in(), none.in(), weight.in(), 2, 4);
  EXPECT_EQ(out.kk.shape_of(), (shape{0, 8}));
}

TYPED_TEST(rwkv, products_with_zeros) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  test_tensor<f32, D> k({4}, layout::contiguous, {2, 0, -3, 0}),
      v({4, 3}, layout::strided, {1, 2, 3, infinity, nan, 1, 4, 5, 6, nan, 0, 0}), none({0}),
      of_none({0, 2});
  expect_equal(values_of(fg::rwkv_mm_sparsity(s, k.in(), v.in())), {-10, -11, -12});
  expect_equal(values_of(fg::rwkv_mm_sparsity(s, none.in(), of_none.in())), {0, 0});
  test_tensor<f32, D> out({3}, layout::strided);
  fg::rwkv_mm_sparsity(s, k.in(), v.in(), out.view());
  expect_equal(out.read(), {-10, -11, -12});
  EXPECT_TRUE(out.gaps_untouched());
  const shape large{70, 37};
  test_tensor<bf16, D> a({70}, layout::contiguous, random_integers({70}, 0, 2)),
      b(large, layout::contiguous, random_integers(large, -1, 1));
  const grid g{large, b.values()};
  expect_equal(values_of(fg::rwkv_mm_sparsity(s, a.in(), b.in())),
               filled_by({37}, [&](const std::vector<i64>& at) {
                 double sum = 0;
                 for (i64 i = 0; i < 70; ++i)
                   sum += a.values()[static_cast<std::size_t>(i)] * g.at({i, at[0]});
                 return sum;
               }));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(rwkv_arguments, are_checked) {
  const auto& s = test_stream<host>();
  test_tensor<f32> k({2, 8}), w({8}), few({7}), a({8}), cube({2, 2, 8}), out({2, 8}), one({2, 8});
  const auto run = [&](auto& x, auto& weight, auto& gate, i64 heads) {
    (void)fg::rwkv_ka_fusion(s, x.in(), weight.in(), gate.in(), w.in(), heads, 4);
  };
  EXPECT_RAISES(run(k, w, k, 3), shape_mismatch, "rwkv_ka_fusion");
  EXPECT_RAISES(run(k, w, k, -2), shape_mismatch, "rwkv_ka_fusion");
  EXPECT_RAISES(run(cube, w, cube, 2), shape_mismatch, "rwkv_ka_fusion");
  EXPECT_RAISES(run(k, few, k, 2), shape_mismatch, "rwkv_ka_fusion");
  EXPECT_RAISES(run(k, w, a, 2), shape_mismatch, "rwkv_ka_fusion");
  EXPECT_RAISES(fg::rwkv_ka_fusion(s, k.in(), w.in(), k.in(), w.in(), out.view(), one.view(),
                                   out.view(), 2, 4),
                overlap, "rwkv_ka_fusion");
  EXPECT_RAISES(fg::rwkv_mm_sparsity(s, a.in(), k.in()), shape_mismatch, "rwkv_mm_sparsity");
  EXPECT_RAISES(fg::rwkv_mm_sparsity(s, a.in(), a.in()), invalid_argument, "rwkv_mm_sparsity");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
