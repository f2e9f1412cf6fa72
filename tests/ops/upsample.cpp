// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/upsample.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class resampled : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(resampled, devices);

/// Forward and backward against the definition; `scales` of 0 are not given.
template <class T, class D, class Forward, class Backward>
void check(bool exact, const shape& in, const std::vector<i64>& sizes,
           const std::vector<double>& scales, layout from, layout to, const Forward& forward,
           const Backward& backward) {
  const fg::int_list output(sizes.data(), static_cast<int>(sizes.size()));
  shape out{in[0], in[1]};
  for (const i64 n : sizes) out.push_back(n);
  test_tensor<T, D> x(in, from, random_integers(in, -9, 9)), y(out, to),
      g(out, from, random_integers(out, -9, 9)), gx(in, to);
  const grid gradient{out, g.values()};
  std::vector<double> sums(x.values().size(), 0);
  const auto want = filled_by(out, [&](const std::vector<i64>& at) {
    std::size_t k = static_cast<std::size_t>(at[0] * in[1] + at[1]);
    for (int d = 2; d < in.rank(); ++d) {
      const auto own = static_cast<std::size_t>(d);
      const float scale = scales[own - 2] > 0
                              ? static_cast<float>(1 / scales[own - 2])
                              : static_cast<float>(in[d]) / static_cast<float>(out[d]);
      const float place = (static_cast<float>(at[own]) + (exact ? 0.5F : 0.0F)) * scale;
      k = k * static_cast<std::size_t>(in[d]) +
          static_cast<std::size_t>((std::min)(static_cast<i64>(std::floor(place)), in[d] - 1));
    }
    sums[k] += gradient.at(at);
    return x.values()[k];
  });
  forward(test_stream<D>(), x.in(), y.view(), output);
  expect_equal(y.read(), want);
  backward(test_stream<D>(), g.in(), gx.view(), output, fg::int_list(in));
  expect_equal(gx.read(), sums);
  EXPECT_TRUE(y.gaps_untouched() && gx.gaps_untouched());
}
#define FLAGGEMS_BOTH_WAYS(name, ...)                             \
  [](auto&&... a) { fg::name(a... __VA_OPT__(, ) __VA_ARGS__); }, \
      [](auto&&... a) { fg::name##_backward(a... __VA_OPT__(, ) __VA_ARGS__); }

TYPED_TEST(resampled, all) {
  using D = TypeParam;
  at_every_level<D>([] {
    const layout c = layout::contiguous;
    for (const layout how : output_layouts) {
      check<f32, D>(false, {2, 3, 4, 5}, {7, 8}, {0, 0}, how, c,
                    FLAGGEMS_BOTH_WAYS(upsample_nearest2d));
      check<f32, D>(true, {2, 3, 4, 5}, {7, 3}, {0, 0}, c, how,
                    FLAGGEMS_BOTH_WAYS(upsample_nearest_exact2d));
    }
    check<bf16, D>(false, {1, 2, 7}, {17}, {0}, c, c, FLAGGEMS_BOTH_WAYS(upsample_nearest1d));
    check<bf16, D>(true, {1, 2, 7}, {3}, {0}, c, c, FLAGGEMS_BOTH_WAYS(upsample_nearest_exact1d));
    check<f32, D>(false, {1, 2, 7}, {17}, {2.5}, c, c, FLAGGEMS_BOTH_WAYS(upsample_nearest1d, 2.5));
    check<f32, D>(true, {1, 2, 7}, {9}, {3}, c, c,
                  FLAGGEMS_BOTH_WAYS(upsample_nearest_exact1d, 3.0));
    check<f32, D>(false, {2, 1, 2, 3, 4}, {3, 7, 2}, {0, 0, 0}, c, c,
                  FLAGGEMS_BOTH_WAYS(upsample_nearest3d));
    check<f32, D>(true, {1, 2, 2, 3, 4}, {4, 2, 9}, {0, 1.5, 0}, c, c,
                  FLAGGEMS_BOTH_WAYS(upsample_nearest_exact3d, std::nullopt, 1.5, std::nullopt));
  });
  const auto& s = test_stream<D>();
  test_tensor<fg::u8, D> x({1, 1, 2}, layout::contiguous, {200, 100});
  test_tensor<f32, D> none({0, 2, 3}), zero({1, 1, 1}, layout::contiguous, {-0.0});
  expect_equal(values_of(fg::upsample_nearest1d(s, x.in(), {4})), {200, 200, 100, 100});
  EXPECT_EQ(fg::upsample_nearest1d(s, none.in(), {5}).shape_of(), (shape{0, 2, 5}));
  EXPECT_TRUE(std::signbit(values_of(fg::upsample_nearest1d(s, zero.in(), {2}))[1]));
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(upsample, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4}), out({1, 2, 8}), none({1, 2, 0});
  EXPECT_RAISES(fg::upsample_nearest1d(s, x.in(), out.view(), {7}), shape_mismatch,
                "upsample_nearest1d");
  EXPECT_RAISES(fg::upsample_nearest1d(s, x.in(), {0}), shape_mismatch, "upsample_nearest1d");
  EXPECT_RAISES(fg::upsample_nearest1d(s, none.in(), {2}), shape_mismatch, "upsample_nearest1d");
  EXPECT_RAISES(fg::upsample_nearest2d(s, x.in(), {2, 2}), shape_mismatch, "upsample_nearest2d");
  EXPECT_RAISES(fg::upsample_nearest1d(s, x.in(), {std::numeric_limits<i64>::max()}),
                invalid_argument, "upsample_nearest1d");
  EXPECT_RAISES(fg::upsample_nearest1d(s, x.in(), {2, 2}), invalid_argument, "upsample_nearest1d");
  EXPECT_RAISES(fg::upsample_nearest1d(s, x.in(), x.view(), {4}), overlap, "upsample_nearest1d");
  EXPECT_RAISES(fg::upsample_nearest1d_backward(s, out.in(), {8}, {1, 3, 4}), shape_mismatch,
                "upsample_nearest1d_backward");
  EXPECT_TRUE(x.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
