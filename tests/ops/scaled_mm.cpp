// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Products of quantised matrices. Elements are small integers and scales powers of two, so that
// every result is exact before it is rounded.
#include <flaggems/ops/scaled_mm.hpp>
#include <support/gemm.hpp>

#include <limits>
#include <string>
#include <vector>

namespace flaggems_test {
namespace {

using fg::f8e4m3, fg::f8e5m2, fg::i32, fg::i8, fg::u8;

std::vector<double> integers(i64 n, int seed, int low = -2) {
  std::vector<double> r(index(n));
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = static_cast<int>((i * 7 + i / 5 * 3 + static_cast<std::size_t>(seed)) % 5) + low;
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

int launches_by_warp_groups = 0;
fg::launch_hook others = nullptr;  // they see all launches too
/// Counts such launches meanwhile.
class watch {
 public:
  watch() {
    launches_by_warp_groups = 0;
    others = fg::set_launch_hook([](const fg::launch_event& e) {
      launches_by_warp_groups += e.kernel.find("gemm_warp_groups") != e.kernel.npos;
      if (others != nullptr) others(e);
    });
  }
  ~watch() { fg::set_launch_hook(others); }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  /// Whether there were some, where the device has warp groups; none where it has not.
  template <class D>
  [[nodiscard]] static bool is_right() {
    if constexpr (fg::detail::has_warp_groups<D>)
      return (launches_by_warp_groups > 0) == (D::warp_group_units(0) > 0);
    return launches_by_warp_groups == 0;
  }
};

template <class Device>
class scaled_mm_on : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(scaled_mm_on, devices);

template <class D, class A, class B>
void check_int_mm(i64 m, i64 n, i64 k, layout of_a, layout of_b, layout of_out) {
  SCOPED_TRACE(fg::to_string(shape{m, n, k}) + " " + to_string(of_a) + " " + to_string(of_b));
  const auto& s = test_stream<D>();
  test_tensor<A, D> a({m, k}, of_a, integers(m * k, 1, std::is_same_v<A, u8> ? 250 : -128));
  test_tensor<B, D> b({n, k}, of_b, integers(n * k, 2, std::is_same_v<B, u8> ? 250 : -128));
  test_tensor<i32, D> out({m, n}, of_out);
  fg::int_mm(s, a.in(), b.in().t(), out.view());
  EXPECT_EQ(out.read(), sums_of(a.values(), b.values(), m, n, k));
  EXPECT_TRUE(out.gaps_untouched());
}
TYPED_TEST(scaled_mm_on, integers) {
  using D = TypeParam;
  const watch meanwhile;
  check_int_mm<D, i8, i8>(3, 5, 7, layout::contiguous, layout::contiguous, layout::contiguous);
  check_int_mm<D, i8, i8>(40, 24, 64, layout::contiguous, layout::contiguous, layout::transposed);
  check_int_mm<D, u8, u8>(24, 40, 48, layout::contiguous, layout::contiguous, layout::strided);
  check_int_mm<D, i8, u8>(20, 24, 16, layout::strided, layout::negative, layout::contiguous);
  check_int_mm<D, i8, i8>(17, 19, 5, layout::transposed, layout::offset, layout::contiguous);
  // Copied to lines of whole vectors: one transposed, one of odd length.
  check_int_mm<D, i8, i8>(264, 200, 208, layout::transposed, layout::contiguous,
                          layout::contiguous);
  check_int_mm<D, i8, i8>(264, 200, 201, layout::contiguous, layout::transposed,
                          layout::contiguous);
  EXPECT_TRUE(meanwhile.template is_right<D>());
  test_tensor<i8, D> no_terms({2, 0}), no_rows({0, 3});
  const auto zeros = fg::int_mm(test_stream<D>(), no_terms.in(), no_terms.in().t());
  EXPECT_EQ(values_of(zeros), std::vector<double>(4));
  EXPECT_EQ(fg::int_mm(test_stream<D>(), no_rows.in(), no_rows.in().t()).numel(), 0);
}

/// What a case of scaled_mm has.
struct scaled_case {
  i64 m, n, k;
  bool by_row = false, by_column = false, has_bias = false, has_result = false, is_fast = false;
  layout of_a = layout::contiguous, of_b = layout::contiguous, of_out = layout::contiguous;
};
template <class D, class A, class B, class Out, class T = bf16>
void check_scaled(const scaled_case& c) {
  SCOPED_TRACE(fg::to_string(shape{c.m, c.n, c.k, c.by_row, c.by_column, c.has_bias, c.is_fast}));
  const auto& s = test_stream<D>();
  test_tensor<A, D> a({c.m, c.k}, c.of_a, integers(c.m * c.k, 1));
  test_tensor<B, D> b({c.n, c.k}, c.of_b, integers(c.n * c.k, 2));
  const shape of_rows = c.by_row ? shape{c.m, 1} : shape{},
              of_columns = c.by_column ? shape{1, c.n} : shape{1};
  test_tensor<f32, D> by_a(of_rows, layout::strided, powers(of_rows.numel(), 1));
  test_tensor<f32, D> by_b(of_columns, layout::contiguous, powers(of_columns.numel(), 2));
  test_tensor<f32, D> by({}, layout::contiguous, {0.5});
  test_tensor<T, D> bias({c.n}, layout::strided, integers(c.n, 3));
  test_tensor<Out, D> out({c.m, c.n}, c.of_out);
  std::optional<fg::tensor_view<const T, D>> added;
  std::optional<fg::tensor_view<const f32, D>> factor;
  if (c.has_bias) added = bias.in();
  if (c.has_result) factor = by.in();
  fg::scaled_mm(s, a.in(), b.in().t(), by_a.in(), by_b.in(), added, factor, out.view(), c.is_fast);
  std::vector<double> want = sums_of(a.values(), b.values(), c.m, c.n, c.k);
  for (std::size_t e = 0; e < want.size(); ++e) {
    const std::size_t i = e / index(c.n), j = e % index(c.n);
    want[e] *= by_a.values()[c.by_row ? i : 0] * by_b.values()[c.by_column ? j : 0];
    if (c.has_bias) want[e] += bias.values()[j];
    if (c.has_result && sizeof(Out) == 1) want[e] *= 0.5;
    want[e] = rounded<Out>(want[e]);
  }
  EXPECT_EQ(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
}
TYPED_TEST(scaled_mm_on, scales_of_tensors_rows_and_columns) {
  using D = TypeParam;
  check_scaled<D, f8e4m3, f8e4m3, bf16>({3, 5, 7});
  check_scaled<D, f8e4m3, f8e5m2, f32, f32>({4, 20, 48, true, true, true});
  check_scaled<D, f8e5m2, f8e4m3, f16, f16>({20, 4, 48, true, false, true});
  check_scaled<D, f8e5m2, f8e5m2, f8e4m3>({24, 33, 40, false, true, false, true});
  const watch meanwhile;
  check_scaled<D, f8e4m3, f8e4m3, bf16>({40, 72, 160, true, true, true});
  check_scaled<D, f8e4m3, f8e4m3, bf16>({72, 40, 144, false, false, true, false, true});
  EXPECT_TRUE(meanwhile.template is_right<D>());
}
TYPED_TEST(scaled_mm_on, any_strides) {
  using D = TypeParam;
  for (const layout in : input_layouts)
    check_scaled<D, f8e4m3, f8e4m3, bf16>(
        {20, 24, 32, true, true, true, false, false, in, layout::contiguous, layout::contiguous});
  for (const layout to : output_layouts)
    check_scaled<D, f8e4m3, f8e4m3, f32>(
        {24, 20, 32, true, true, true, false, false, layout::contiguous, layout::transposed, to});
  const watch meanwhile;  // copied first
  check_scaled<D, f8e4m3, f8e4m3, bf16>({264, 200, 208, true, false, false, false, false,
                                         layout::transposed, layout::contiguous,
                                         layout::transposed});
  EXPECT_TRUE(meanwhile.template is_right<D>());
}
TYPED_TEST(scaled_mm_on, special_values) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  std::vector<double> values = integers(20 * 16, 1);
  const std::vector<double> weights = integers(24 * 16, 2);
  values[5] = std::numeric_limits<double>::quiet_NaN();
  test_tensor<f8e4m3, D> a({20, 16}, layout::contiguous, values),
      b({24, 16}, layout::contiguous, weights);
  test_tensor<f32, D> one({}, layout::contiguous, {1}), two({1, 1}, layout::contiguous, {2});
  const auto got = values_of(fg::scaled_mm<bf16>(s, a.in(), b.in().t(), one.in(), two.in()));
  ASSERT_EQ(got.size(), 480U);
  for (std::size_t e = 0; e < 24; ++e) EXPECT_TRUE(std::isnan(got[e])) << e;
  for (std::size_t e = 24; e < 480; ++e) {
    double sum = 0;
    for (std::size_t q = 0; q < 16; ++q) sum += values[e / 24 * 16 + q] * weights[e % 24 * 16 + q];
    EXPECT_EQ(got[e], rounded<bf16>(2 * sum)) << e;
  }
  // Beyond the range of 8 bits: its ends.
  test_tensor<f32, D> much({}, layout::contiguous, {1e6});
  const auto ends = values_of(fg::scaled_mm(s, a.in(), b.in().t(), much.in(), two.in()));
  for (std::size_t e = 0; e < 480; ++e) {
    if (std::isnan(got[e]))
      EXPECT_TRUE(std::isnan(ends[e])) << e;
    else
      EXPECT_EQ(ends[e], got[e] > 0 ? 448 : got[e] < 0 ? -448 : 0) << e;
  }
  test_tensor<f8e4m3, D> none({0, 16}), no_terms({2, 0});
  EXPECT_EQ(fg::scaled_mm(s, none.in(), b.in().t(), one.in(), one.in()).numel(), 0);
  test_tensor<f32, D> bias({2}, layout::contiguous, {3, 4});
  const auto only_bias =
      fg::scaled_mm<f32>(s, no_terms.in(), no_terms.in().t(), one.in(), one.in(), bias.in());
  EXPECT_EQ(values_of(only_bias), (std::vector<double>{3, 4, 3, 4}));
}

/// a [..., k] of `rows`, b [n, k], scales of blocks.
template <class D, class Out>
void check_blocks(const shape& rows, i64 n, i64 k, layout of_a, layout of_b) {
  SCOPED_TRACE(fg::to_string(rows) + " " + std::to_string(n) + " " + std::to_string(k));
  const auto& s = test_stream<D>();
  const i64 m = rows.numel(), blocks = (k + 127) / 128, lines = (n + 127) / 128;
  const auto with = [&](i64 last) {
    shape r = rows;
    r.push_back(last);
    return r;
  };
  test_tensor<f8e4m3, D> a(with(k), of_a, integers(m * k, 1)), b({n, k}, of_b, integers(n * k, 2));
  test_tensor<f32, D> by_a(with(blocks), of_a, powers(m * blocks, 1));
  test_tensor<f32, D> by_b({lines, blocks}, of_b, powers(lines * blocks, 2));
  test_tensor<Out, D> out(with(n), layout::contiguous);
  fg::fp8_matmul(s, a.in(), by_a.in(), b.in(), by_b.in(), out.view());
  std::vector<double> want(index(m * n));
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < n; ++j) {
      double sum = 0;
      for (i64 q = 0; q < k; ++q)
        sum += a.values()[index(i * k + q)] * b.values()[index(j * k + q)] *
               by_a.values()[index(i * blocks + q / 128)] *
               by_b.values()[index(j / 128 * blocks + q / 128)];
      want[index(i * n + j)] = rounded<Out>(sum);
    }
  EXPECT_EQ(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
}
TYPED_TEST(scaled_mm_on, scales_of_blocks) {
  using D = TypeParam;
  const watch meanwhile;
  check_blocks<D, bf16>({40}, 200, 304, layout::contiguous, layout::contiguous);
  EXPECT_TRUE(meanwhile.template is_right<D>());
  check_blocks<D, bf16>({2, 3}, 128, 256, layout::contiguous, layout::transposed);
  check_blocks<D, f32>({3, 2}, 5, 130, layout::strided, layout::contiguous);
  check_blocks<D, f16>({2, 2}, 20, 33, layout::transposed, layout::negative);
  check_blocks<D, bf16>({}, 40, 128, layout::contiguous, layout::contiguous);
  const auto& s = test_stream<D>();
  test_tensor<f8e4m3, D> a({2, 0}), none({0, 8}), w({4, 8});
  test_tensor<f32, D> by_a({2, 0}), by_none({0, 1}), by_w({1, 1});
  EXPECT_EQ(fg::fp8_matmul(s, none.in(), by_none.in(), w.in(), by_w.in()).numel(), 0);
  test_tensor<f32, D> by_b({1, 0});
  EXPECT_EQ(values_of(fg::fp8_matmul(s, a.in(), by_a.in(), a.in(), by_b.in())),
            std::vector<double>(4));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(scaled_mm, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f8e4m3> a({4, 16}), b({16, 8}), odd({15, 8}), w({8, 16}),
      deep({1, 1, 1, 1, 1, 1, 1, 16});
  test_tensor<f32> one({1}), rows({4, 1}), columns({1, 8}), two({2}), out({4, 8}), by_a({4, 1}),
      by_w({1, 1});
  test_tensor<i8> x({4, 16}), y({15, 8});
  test_tensor<i32> sums({4, 8});
  const auto product = [&](auto& second, auto& of_a, auto& of_b, const auto& bias,
                           const auto& result, auto& to) {
    fg::scaled_mm(s, a.in(), second.in(), of_a.in(), of_b.in(), bias, result, to.view());
  };
  EXPECT_RAISES(product(odd, one, one, std::nullopt, std::nullopt, out), shape_mismatch,
                "scaled_mm");
  EXPECT_RAISES(product(b, columns, one, std::nullopt, std::nullopt, out), shape_mismatch,
                "scaled_mm");
  EXPECT_RAISES(product(b, one, rows, std::nullopt, std::nullopt, out), shape_mismatch,
                "scaled_mm");
  EXPECT_RAISES(product(b, one, one, two.in(), std::nullopt, out), shape_mismatch, "scaled_mm");
  EXPECT_RAISES(product(b, one, one, std::nullopt, two.in(), out), shape_mismatch, "scaled_mm");
  EXPECT_RAISES(product(b, one, one, std::nullopt, std::nullopt, rows), shape_mismatch,
                "scaled_mm");
  test_tensor<f32> memory({40});
  const auto to = memory.view().narrow(0, 0, 32).unflatten(0, {4, 8});
  EXPECT_RAISES(fg::scaled_mm(s, a.in(), b.in(), one.in(), memory.in().narrow(0, 31, 1),
                              std::nullopt, std::nullopt, to),
                overlap, "scaled_mm");
  EXPECT_RAISES(fg::int_mm(s, x.in(), y.in(), sums.view()), shape_mismatch, "int_mm");
  const auto blocks = [&](auto& first, auto& of_first, auto& of_second) {
    static_cast<void>(fg::fp8_matmul(s, first.in(), of_first.in(), w.in(), of_second.in()));
  };
  EXPECT_RAISES(blocks(b, by_a, by_w), shape_mismatch, "fp8_matmul");
  EXPECT_RAISES(blocks(a, two, by_w), shape_mismatch, "fp8_matmul");
  EXPECT_RAISES(blocks(a, by_a, two), shape_mismatch, "fp8_matmul");
  EXPECT_RAISES(blocks(deep, by_a, by_w), invalid_argument, "fp8_matmul");
  EXPECT_TRUE(out.untouched() && sums.untouched() && memory.untouched() && rows.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
