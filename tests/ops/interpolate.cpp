// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/interpolate.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class interpolated : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(interpolated, devices);

enum class kind { line, cubic, smooth_line, smooth_cubic };

/// A filter at distance d from its middle: a tent, or Keys' cubic of slope a.
double filter(bool cubic, double a, double d) {
  d = std::abs(d);
  if (!cubic) return std::max(0.0, 1 - d);
  if (d >= 2) return 0;
  return d < 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
               : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
}

using matrix = std::vector<std::vector<double>>;
/// The weights of n elements in each of m results.
matrix weights(kind by, i64 n, i64 m, bool align_corners, double given) {
  const bool cubic = by == kind::cubic || by == kind::smooth_cubic;
  const double scale = align_corners
                           ? (m > 1 ? static_cast<double>(n - 1) / static_cast<double>(m - 1) : 0)
                       : given > 0 ? 1 / given
                                   : static_cast<double>(n) / static_cast<double>(m);
  matrix r(static_cast<std::size_t>(m), std::vector<double>(static_cast<std::size_t>(n)));
  for (i64 o = 0; o < m; ++o) {
    auto& row = r[static_cast<std::size_t>(o)];
    const auto at = [&](i64 i) -> double& {
      return row[static_cast<std::size_t>(std::clamp(i, i64{0}, n - 1))];
    };
    if (by == kind::line || by == kind::cubic) {
      double place = align_corners ? scale * static_cast<double>(o)
                                   : scale * (static_cast<double>(o) + 0.5) - 0.5;
      if (!cubic) place = std::clamp(place, 0.0, static_cast<double>(n - 1));
      const i64 first = static_cast<i64>(std::floor(place));
      for (i64 i = first - 1; i <= first + 2; ++i)
        at(i) += filter(cubic, -0.75, place - static_cast<double>(i));
    } else {
      const double center = scale * (static_cast<double>(o) + 0.5), wide = std::max(scale, 1.0);
      double total = 0;
      for (i64 i = 0; i < n; ++i) {
        const double w = filter(cubic, -0.5, (static_cast<double>(i) + 0.5 - center) / wide);
        at(i) += w, total += w;
      }
      for (double& w : row) w /= total;
    }
  }
  return r;
}

/// Forward and backward against the definition; `scales` of 0 are not given.
template <class T, class D, class Forward, class Backward>
void check(kind by, const shape& in, const std::vector<i64>& sizes, bool align_corners,
           const std::vector<double>& scales, layout from, layout to, const Forward& forward,
           const Backward& backward) {
  SCOPED_TRACE(fg::to_string(in));
  const fg::int_list output(sizes.data(), static_cast<int>(sizes.size()));
  shape out{in[0], in[1]};
  std::vector<matrix> by_axis;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    out.push_back(sizes[d]);
    by_axis.push_back(weights(by, in[static_cast<int>(d) + 2], sizes[d], align_corners, scales[d]));
  }
  test_tensor<T, D> x(in, from, random_values(in)), y(out, to), g(out, from, random_values(out)),
      gx(in, to);
  const grid source{in, x.values()};
  std::vector<double> sums(x.values().size(), 0);
  const grid gradient{out, g.values()};
  const auto want = filled_by(out, [&](const std::vector<i64>& o) {
    double sum = 0;
    std::size_t k = 0;
    filled_by(in, [&](const std::vector<i64>& i) {
      double w = o[0] == i[0] && o[1] == i[1] ? 1 : 0;
      for (std::size_t d = 0; d < sizes.size(); ++d)
        w *= by_axis[d][static_cast<std::size_t>(o[d + 2])][static_cast<std::size_t>(i[d + 2])];
      sum += w * source.at(i);
      sums[k++] += w * gradient.at(o);
      return 0.0;
    });
    return sum;
  });
  forward(test_stream<D>(), x.in(), y.view(), output, align_corners);
  expect_close<T>(y.read(), want, tolerance_of<T>(8));
  backward(test_stream<D>(), g.in(), gx.view(), output, fg::int_list(in), align_corners);
  expect_close<T>(gx.read(), sums, tolerance_of<T>(32));
  EXPECT_TRUE(y.gaps_untouched() && gx.gaps_untouched());
}
#define FLAGGEMS_BOTH_WAYS(name, ...)                             \
  [](auto&&... a) { fg::name(a... __VA_OPT__(, ) __VA_ARGS__); }, \
      [](auto&&... a) { fg::name##_backward(a... __VA_OPT__(, ) __VA_ARGS__); }

TYPED_TEST(interpolated, all) {
  using D = TypeParam;
  const layout c = layout::contiguous;
  for (const bool corners : {false, true}) {
    for (const std::vector<i64>& to : std::vector<std::vector<i64>>{{7, 8}, {2, 3}, {1, 5}}) {
      check<f32, D>(kind::line, {1, 2, 4, 5}, to, corners, {0, 0}, c, c,
                    FLAGGEMS_BOTH_WAYS(upsample_bilinear2d));
      check<f32, D>(kind::cubic, {1, 2, 4, 5}, to, corners, {0, 0}, c, c,
                    FLAGGEMS_BOTH_WAYS(upsample_bicubic2d));
      check<f32, D>(kind::smooth_line, {1, 2, 6, 5}, to, corners, {0, 0}, c, c,
                    FLAGGEMS_BOTH_WAYS(upsample_bilinear2d_aa));
      check<f32, D>(kind::smooth_cubic, {1, 2, 6, 5}, to, corners, {0, 0}, c, c,
                    FLAGGEMS_BOTH_WAYS(upsample_bicubic2d_aa));
    }
    check<f32, D>(kind::line, {2, 1, 7}, {17}, corners, {0}, c, c,
                  FLAGGEMS_BOTH_WAYS(upsample_linear1d));
    check<f32, D>(kind::line, {1, 2, 2, 3, 4}, {4, 2, 6}, corners, {0, 0, 0}, c, c,
                  FLAGGEMS_BOTH_WAYS(upsample_trilinear3d));
  }
  for (const layout how : output_layouts)
    check<f32, D>(kind::line, {1, 2, 4, 5}, {6, 3}, false, {0, 0}, how, how,
                  FLAGGEMS_BOTH_WAYS(upsample_bilinear2d));
  check<bf16, D>(kind::line, {1, 1, 7}, {12}, false, {1.5}, c, c,
                 FLAGGEMS_BOTH_WAYS(upsample_linear1d, 1.5));
  check<f64, D>(kind::cubic, {1, 1, 4, 4}, {7, 9}, false, {2, 0}, c, c,
                FLAGGEMS_BOTH_WAYS(upsample_bicubic2d, 2.0));
}

// Rows of several parts, more taps than a part holds, and channels that are neighbours.
TYPED_TEST(interpolated, long_rows_many_taps_and_channels) {
  using D = TypeParam;
  const layout c = layout::contiguous, t = layout::transposed;
  at_every_level<D>([&] {
    check<f32, D>(kind::line, {1, 1, 2, 30}, {3, 150}, false, {0, 0}, c, c,
                  FLAGGEMS_BOTH_WAYS(upsample_bilinear2d));
    check<bf16, D>(kind::cubic, {1, 2, 4, 11}, {6, 20}, true, {0, 0}, c, layout::strided,
                   FLAGGEMS_BOTH_WAYS(upsample_bicubic2d));
    for (const layout how : {c, t})
      for (const bool wide : {false, true}) {
        const i64 channels = how == t ? 19 : 1;
        check<f32, D>(kind::smooth_line, {1, channels, wide ? 3 : 22, wide ? 22 : 3},
                      {2, wide ? 3 : 2}, false, {0, 0}, how, how,
                      FLAGGEMS_BOTH_WAYS(upsample_bilinear2d_aa));
      }
    check<f32, D>(kind::line, {1, 19, 3, 4}, {5, 6}, false, {0, 0}, t, t,
                  FLAGGEMS_BOTH_WAYS(upsample_bilinear2d));
    check<bf16, D>(kind::line, {1, 37, 2, 2, 3}, {4, 2, 2}, false, {0, 0, 0}, t, t,
                   FLAGGEMS_BOTH_WAYS(upsample_trilinear3d));
    for (const i64 deep : {5, 14})
      check<f32, D>(kind::line, {2, 1, 2, 2, 3}, {deep, 3, 2}, false, {0, 0, 0}, c, c,
                    FLAGGEMS_BOTH_WAYS(upsample_trilinear3d));
  });
}

TYPED_TEST(interpolated, special_values) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double infinity = std::numeric_limits<double>::infinity();
  test_tensor<f32, D> none({0, 2, 3}), one({1, 1, 1}, layout::contiguous, {infinity}),
      x({1, 1, 2}, layout::contiguous, {1, infinity});
  EXPECT_EQ(fg::upsample_linear1d(s, none.in(), {5}, false).shape_of(), (shape{0, 2, 5}));
  expect_equal(values_of(fg::upsample_linear1d(s, one.in(), {2}, true)), {infinity, infinity});
  EXPECT_EQ(values_of(fg::upsample_linear1d(s, x.in(), {3}, true))[1], infinity);
  // Places that are no i64 are at the end.
  test_tensor<f32, D> image({1, 1, 2, 2}, layout::contiguous, {1, 2, 3, 4});
  for (const double scale : {1e-30, 1e-300}) {
    expect_equal(values_of(fg::upsample_bicubic2d(s, image.in(), {1, 2}, false, scale, scale)),
                 {4, 4});
    expect_equal(values_of(fg::upsample_bilinear2d(s, image.in(), {1, 2}, false, scale, scale)),
                 {4, 4});
  }
  for (const double y :
       values_of(fg::upsample_bilinear2d_aa(s, image.in(), {1, 1}, false, 1e-30, 1e-30)))
    EXPECT_EQ(y, 2.5);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(interpolate, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4}), out({1, 2, 8}), none({1, 2, 0});
  const char* op = "upsample_linear1d";
  EXPECT_RAISES(fg::upsample_linear1d(s, x.in(), out.view(), {7}, false), shape_mismatch, op);
  EXPECT_RAISES((void)fg::upsample_linear1d(s, x.in(), {0}, false), shape_mismatch, op);
  EXPECT_RAISES((void)fg::upsample_linear1d(s, none.in(), {2}, true), shape_mismatch, op);
  EXPECT_RAISES((void)fg::upsample_bilinear2d(s, x.in(), {2, 2}, false), shape_mismatch,
                "upsample_bilinear2d");
  EXPECT_RAISES((void)fg::upsample_linear1d(s, x.in(), {2, 2}, false), invalid_argument, op);
  EXPECT_RAISES(fg::upsample_linear1d(s, x.in(), x.view(), {4}, false), overlap, op);
  EXPECT_RAISES((void)fg::upsample_linear1d_backward(s, out.in(), {8}, {1, 3, 4}, false),
                shape_mismatch, "upsample_linear1d_backward");
  EXPECT_TRUE(x.untouched() && out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
