// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/fractional_pool.hpp>
#include <support/ops.hpp>

#include <cmath>

namespace flaggems_test {
namespace {

template <class Case>
class fractional_pools : public ::testing::Test {};
TYPED_TEST_SUITE(fractional_pools, wide_float_cases);

/// Where window i begins; sums are exact, as samples and sizes are chosen.
i64 begin_of(double sample, i64 i, i64 size, i64 kernel, i64 result) {
  if (i == result - 1) return size - kernel;
  const double step = static_cast<double>(size - kernel) / static_cast<double>(result - 1);
  return static_cast<i64>((static_cast<double>(i) + sample) * step) -
         static_cast<i64>(sample * step);
}

TYPED_TEST(fractional_pools, and_gradients) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 height = 11, width = 8, rows = 5, columns = 4;
  const shape sizes{2, 3, height, width}, small{2, 3, rows, columns};
  for (const layout in : input_layouts) {
    std::vector<double> values = random_integers(sizes, -60, 60);
    values[13] = std::nan("");
    test_tensor<T, D> x(sizes, in, values),
        u({2, 3, 2}, layout::strided,
          {0, 0.5, 0.25, 0.75, 0.5, 0.125, 0.875, 0.25, 0, 0, 0.625, 0.375}),
        out(small, layout::transposed);
    test_tensor<i64, D> indices(small, layout::strided);
    std::vector<double> want, places;
    for (i64 plane = 0; plane < 6; ++plane)
      for (i64 r = 0; r < rows; ++r)
        for (i64 c = 0; c < columns; ++c) {
          const auto sample = [&](i64 k) {
            return u.values()[static_cast<std::size_t>(2 * plane + k)];
          };
          const i64 left = begin_of(sample(0), c, width, 2, columns);
          const i64 top = begin_of(sample(1), r, height, 3, rows);
          double best = -INFINITY;
          i64 at = -1;
          for (i64 y = top; y < top + 3; ++y)
            for (i64 z = left; z < left + 2; ++z) {
              const i64 k = y * width + z;
              const double v = x.values()[static_cast<std::size_t>(plane * height * width + k)];
              if (v > best || std::isnan(v)) best = v, at = k;
            }
          want.push_back(best), places.push_back(static_cast<double>(at));
        }
    fg::fractional_max_pool2d(s, x.in(), {3, 2}, {rows, columns}, u.in(), out.view(),
                              indices.view());
    expect_equal(out.read(), want);
    expect_equal(indices.read(), places);
    EXPECT_TRUE(out.gaps_untouched() && indices.gaps_untouched());

    test_tensor<T, D> grad(small, in, random_integers(small, -3, 3)), by_x(sizes, layout::strided);
    std::vector<double> sums(static_cast<std::size_t>(sizes.numel()));
    for (std::size_t k = 0; k < places.size(); ++k)
      sums[k / 20 * 88 + static_cast<std::size_t>(places[k])] += grad.values()[k];
    fg::fractional_max_pool2d_backward(s, grad.in(), x.in(), {3, 2}, {rows, columns}, indices.in(),
                                       by_x.view());
    expect_equal(by_x.read(), sums);
    EXPECT_TRUE(by_x.gaps_untouched());
  }
  test_tensor<T, D> one({1, 4, 4}), sample({1, 1, 2}), none({0, 1, 4, 4}), no_sample({0, 1, 2});
  const auto r = fg::fractional_max_pool2d(s, one.in(), {2, 2}, {1, 3}, sample.in());
  EXPECT_EQ(r.first.shape_of(), (shape{1, 1, 3}));
  EXPECT_EQ(fg::fractional_max_pool2d(s, none.in(), {2, 2}, {1, 3}, no_sample.in()).first.size(0),
            0);
  // Samples outside of [0, 1) are taken as they are, but lead to no place outside; NaN is as 0.
  const shape square{1, 9, 9};
  test_tensor<T, D> image(square, layout::contiguous, random_values(square));
  const auto of = [&](double u) {
    test_tensor<T, D> samples({1, 1, 2}, layout::contiguous, {u, u});
    const auto pooled = fg::fractional_max_pool2d(s, image.in(), {1, 1}, {5, 5}, samples.in());
    return values_of(pooled.second);
  };
  for (const double u : {-1.0, -0.75, 1.0, 2.0, 4.875}) {
    std::vector<double> want;
    for (i64 y = 0; y < 5; ++y)
      for (i64 z = 0; z < 5; ++z)
        want.push_back(static_cast<double>(9 * begin_of(u, y, 9, 1, 5) + begin_of(u, z, 9, 1, 5)));
    expect_equal(of(u), want);
  }
  for (const double u : {-double{INFINITY}, double{INFINITY}, double{NAN}})
    expect_equal(of(u), of(0));
  for (const double u : {-6e4, 6e4})
    for (const double at : of(u)) EXPECT_TRUE(at >= 0 && at < 81) << u;
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(fractional_pool_arguments, are_checked) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4, 5}), u({1, 2, 2}), few({1, 1, 2}), flat({4, 5}), out({1, 2, 3, 3}),
      grad({1, 2, 3, 3}), by_x({1, 2, 4, 5});
  test_tensor<i64> at({1, 2, 3, 3}), outside({1, 2, 3, 3}, layout::contiguous, {20});
  const auto run = [&](auto& input, auto& samples, fg::int_list kernel, fg::int_list sizes) {
    fg::fractional_max_pool2d(s, input.in(), kernel, sizes, samples.in(), out.view(), at.view());
  };
  EXPECT_RAISES(run(flat, u, {2, 2}, {3, 3}), invalid_argument, "fractional_max_pool2d");
  EXPECT_RAISES(run(x, few, {2, 2}, {3, 3}), shape_mismatch, "fractional_max_pool2d");
  EXPECT_RAISES(run(x, u, {0, 2}, {3, 3}), invalid_argument, "fractional_max_pool2d");
  EXPECT_RAISES(run(x, u, {3, 2}, {3, 3}), shape_mismatch, "fractional_max_pool2d");
  EXPECT_RAISES(fg::fractional_max_pool2d_backward(s, grad.in(), x.in(), {2, 2}, {3, 3},
                                                   outside.in(), by_x.view()),
                out_of_range, "fractional_max_pool2d_backward");
  EXPECT_TRUE(out.untouched() && at.untouched() && by_x.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
