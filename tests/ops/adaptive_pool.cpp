// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/adaptive_pool.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class adaptive_pools : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(adaptive_pools, devices);

/// Whether window o of m holds element i of n.
bool holds(i64 o, i64 m, i64 i, i64 n) {
  const auto size = static_cast<double>(n) / static_cast<double>(m);
  return static_cast<double>(i) >= std::floor(static_cast<double>(o) * size) &&
         static_cast<double>(i) < std::ceil(static_cast<double>(o + 1) * size);
}

/// Means and greatest elements, and their gradients, against the definition; x [N, C, ...].
template <class T, class D>
void check(const shape& in, const std::vector<i64>& sizes, layout from, layout to) {
  SCOPED_TRACE(fg::to_string(in));
  const auto& s = test_stream<D>();
  const std::size_t dims = sizes.size();
  const fg::int_list output(sizes.data(), static_cast<int>(dims));
  shape out{in[0], in[1]};
  for (const i64 n : sizes) out.push_back(n);
  test_tensor<T, D> x(in, from, random_integers(in, -3, 3)), mean(out, to), most(out, to),
      g(out, from, random_values(out)), g_mean(in, to), g_most(in, to);
  test_tensor<i64, D> index(out, to);
  const grid source{in, x.values()}, gradient{out, g.values()};
  std::vector<double> greatest, places, of_mean(x.values().size(), 0), of_most(of_mean);
  i64 plane = 1;
  for (std::size_t d = 0; d < dims; ++d) plane *= in[static_cast<int>(d) + 2];
  const auto want = filled_by(out, [&](const std::vector<i64>& o) {
    std::vector<std::size_t> own;
    std::size_t k = 0;
    double sum = 0;
    filled_by(in, [&](const std::vector<i64>& i) {
      bool is_in = o[0] == i[0] && o[1] == i[1];
      for (std::size_t d = 2; d < i.size(); ++d)
        is_in = is_in && holds(o[d], out[static_cast<int>(d)], i[d], in[static_cast<int>(d)]);
      if (is_in) own.push_back(k), sum += source.at(i);
      ++k;
      return 0.0;
    });
    std::size_t best = own[0];
    for (const std::size_t i : own)
      if (x.values()[i] > x.values()[best]) best = i;
    for (const std::size_t i : own) of_mean[i] += gradient.at(o) / static_cast<double>(own.size());
    of_most[best] += gradient.at(o);
    greatest.push_back(x.values()[best]);
    places.push_back(static_cast<double>(static_cast<i64>(best) % plane));
    return sum / static_cast<double>(own.size());
  });
  if (dims == 1) fg::adaptive_avg_pool1d(s, x.in(), mean.view(), output);
  if (dims == 2) fg::adaptive_avg_pool2d(s, x.in(), mean.view(), output);
  if (dims == 3) fg::adaptive_avg_pool3d(s, x.in(), mean.view(), output);
  expect_close<T>(mean.read(), want);
  if (dims == 1) fg::adaptive_max_pool1d(s, x.in(), most.view(), index.view(), output);
  if (dims == 2) fg::adaptive_max_pool2d(s, x.in(), most.view(), index.view(), output);
  if (dims == 3) fg::adaptive_max_pool3d(s, x.in(), most.view(), index.view(), output);
  expect_equal(most.read(), greatest);
  expect_equal(index.read(), places);
  EXPECT_TRUE(mean.gaps_untouched() && most.gaps_untouched() && index.gaps_untouched());
  if (dims == 1) return;
  if (dims == 2) {
    fg::adaptive_avg_pool2d_backward(s, g.in(), x.in(), g_mean.view());
    fg::adaptive_max_pool2d_backward(s, g.in(), x.in(), index.in(), g_most.view());
  } else {
    fg::adaptive_avg_pool3d_backward(s, g.in(), x.in(), g_mean.view());
    fg::adaptive_max_pool3d_backward(s, g.in(), x.in(), index.in(), g_most.view());
  }
  expect_close<T>(g_mean.read(), of_mean, tolerance_of<T>(4));
  expect_close<T>(g_most.read(), of_most, tolerance_of<T>(4));
  EXPECT_TRUE(g_mean.gaps_untouched() && g_most.gaps_untouched());
}

TYPED_TEST(adaptive_pools, all) {
  using D = TypeParam;
  const layout c = layout::contiguous;
  for (const std::vector<i64>& to : std::vector<std::vector<i64>>{{3, 4}, {1, 1}, {7, 9}, {5, 6}})
    check<f32, D>({2, 2, 5, 6}, to, c, c);
  for (const layout how : output_layouts) check<f32, D>({1, 2, 5, 4}, {3, 3}, how, how);
  check<bf16, D>({2, 3, 10}, {4}, c, c);
  check<f32, D>({1, 2, 3, 4, 5}, {2, 3, 3}, c, c);
}

TYPED_TEST(adaptive_pools, special_values) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  test_tensor<f32, D> x({1, 4}, layout::contiguous, {1, nan, 3, 4}), none({0, 2, 3, 4}),
      y({2, 3, 4}, layout::contiguous, random_values({2, 3, 4}));
  const auto most = fg::adaptive_max_pool1d(s, x.in(), {2});
  EXPECT_TRUE(std::isnan(values_of(most.values)[0]));
  expect_equal(values_of(most.indices), {1, 3});
  EXPECT_TRUE(std::isnan(values_of(fg::adaptive_avg_pool1d(s, x.in(), {2}))[0]));
  EXPECT_EQ(fg::adaptive_avg_pool2d(s, none.in(), {2}).shape_of(), (shape{0, 2, 2, 2}));
  EXPECT_EQ(fg::adaptive_avg_pool2d(s, y.in(), {0, 2}).shape_of(), (shape{2, 0, 2}));
  const auto empty = fg::adaptive_avg_pool2d(s, y.in(), {0, 2});
  for (const double v : values_of(fg::adaptive_avg_pool2d_backward(s, empty, y.in())))
    EXPECT_EQ(v, 0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(adaptive_pool, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4, 4}), out({1, 2, 2, 2}), few({1, 2, 2, 3}), none({1, 2, 0, 4});
  test_tensor<i64> index({1, 2, 2, 2}), other({1, 2, 2, 1});
  const char* op = "adaptive_avg_pool2d";
  EXPECT_RAISES(fg::adaptive_avg_pool2d(s, x.in(), out.view(), {3}), shape_mismatch, op);
  EXPECT_RAISES((void)fg::adaptive_avg_pool2d(s, x.in(), {-1}), invalid_argument, op);
  EXPECT_RAISES((void)fg::adaptive_avg_pool2d(s, x.in(), {1, 2, 3}), invalid_argument, op);
  constexpr i64 most = std::numeric_limits<i64>::max();
  EXPECT_RAISES((void)fg::adaptive_avg_pool2d(s, x.in(), {most}), invalid_argument, op);
  EXPECT_RAISES((void)fg::adaptive_avg_pool2d(s, x.in(), {i64{1} << 32, i64{1} << 32}),
                invalid_argument, op);
  const auto named = error_of([&] { (void)fg::adaptive_avg_pool2d(s, x.in(), {0, i64{1} << 62}); });
  EXPECT_EQ(named.got(), "[0, 4611686018427387904]");
  EXPECT_RAISES((void)fg::adaptive_avg_pool2d(s, none.in(), {1}), shape_mismatch, op);
  EXPECT_RAISES((void)fg::adaptive_avg_pool1d(s, x.in(), {1}), shape_mismatch,
                "adaptive_avg_pool1d");
  EXPECT_RAISES(fg::adaptive_avg_pool2d(s, x.in(), x.view(), {4}), overlap, op);
  EXPECT_RAISES(fg::adaptive_max_pool2d(s, x.in(), out.view(), other.view(), {2}), shape_mismatch,
                "adaptive_max_pool2d");
  test_tensor<f32> one({});
  test_tensor<i64> place({});
  EXPECT_RAISES((void)fg::adaptive_avg_pool2d_backward(s, one.in(), one.in()), shape_mismatch,
                "adaptive_avg_pool2d_backward");
  EXPECT_RAISES((void)fg::adaptive_max_pool2d_backward(s, one.in(), one.in(), place.in()),
                shape_mismatch, "adaptive_max_pool2d_backward");
  EXPECT_RAISES((void)fg::adaptive_max_pool2d_backward(s, few.in(), x.in(), index.in()),
                shape_mismatch, "adaptive_max_pool2d_backward");
  EXPECT_TRUE(x.untouched() && out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
