// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/grid_sample.hpp>
#include <support/moves.hpp>

#include <utility>

namespace flaggems_test {
namespace {

template <class Device>
class sampled : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(sampled, devices);

/// A place that stands for `at` of n elements: reflected until it is inside, then at an edge.
double padded(double at, i64 n, int padding, bool corners) {
  if (padding == 0) return at;
  const auto last = static_cast<double>(n - 1);
  if (padding == 2) {
    const double low = corners ? 0 : -0.5, high = corners ? last : last + 0.5;
    if (low == high) return 0;
    while (at < low || at > high) at = at < low ? 2 * low - at : 2 * high - at;
  }
  return std::clamp(at, 0.0, last);
}
/// The elements about a coordinate and their weights.
std::vector<std::pair<i64, double>> taps(double x, i64 n, int mode, int padding, bool corners) {
  const auto size = static_cast<double>(n);
  const double place = corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2;
  std::vector<std::pair<i64, double>> r;
  const auto put = [&](double at, double weight) {
    if (at >= 0 && at < size) r.emplace_back(static_cast<i64>(at), weight);
  };
  if (mode == 1) {
    put(std::nearbyint(padded(place, n, padding, corners)), 1);
  } else if (mode == 0) {
    const double at = padded(place, n, padding, corners), first = std::floor(at);
    put(first, first + 1 - at);
    put(first + 1, at - first);
  } else {
    for (int k = -1; k <= 2; ++k) {
      const double a = -0.75, at = std::floor(place) + k, d = std::abs(place - at);
      put(padded(at, n, padding, corners), d <= 1
                                               ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                                               : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a);
    }
  }
  return r;
}

template <class T, class D>
void check(const shape& in, const std::vector<i64>& of, int mode, int padding, bool corners,
           layout how) {
  SCOPED_TRACE(std::to_string(mode) + ", padding " + std::to_string(padding) +
               (corners ? ", corners" : ""));
  const int dims = in.rank() - 2;
  shape places{in[0]}, out{in[0], in[1]};
  for (const i64 n : of) places.push_back(n), out.push_back(n);
  places.push_back(dims);
  test_tensor<T, D> x(in, how, random_values(in)), g(places, how, random_values(places, -1.7, 1.7)),
      y(out, how);
  const grid where{places, g.values()};
  const auto sampled_at = [&](const std::vector<i64>& o, const std::vector<double>& by_axis,
                              const auto& each) {  // each(index of the element, its weight)
    std::vector<std::vector<std::pair<i64, double>>> by;
    for (int d = 0; d < dims; ++d)
      by.push_back(taps(by_axis[static_cast<std::size_t>(d)], in[2 + d], mode, padding, corners));
    if (dims == 2) by.insert(by.begin(), {{0, 1.0}});
    const i64 deep = dims == 3 ? in[2] : 1, high = in[dims], wide = in[dims + 1];
    for (const auto& [a, wa] : by[0])
      for (const auto& [b, wb] : by[1])
        for (const auto& [c, wc] : by[2])
          each(static_cast<std::size_t>((((o[0] * in[1] + o[1]) * deep + a) * high + b) * wide + c),
               wa * wb * wc);
  };
  const auto place_of = [&](const std::vector<i64>& o) {
    std::vector<double> by_axis;
    for (int d = 0; d < dims; ++d) {
      std::vector<i64> at{o[0]};
      at.insert(at.end(), o.begin() + 2, o.end());
      at.push_back(dims - 1 - d);
      by_axis.push_back(where.at(at));
    }
    return by_axis;
  };
  const auto value = [&](const std::vector<i64>& o, const std::vector<double>& by_axis) {
    double sum = 0;
    sampled_at(o, by_axis, [&](std::size_t k, double w) { sum += w * x.values()[k]; });
    return sum;
  };
  const auto want =
      filled_by(out, [&](const std::vector<i64>& o) { return value(o, place_of(o)); });
  const auto& s = test_stream<D>();
  if (dims == 2) fg::grid_sampler_2d(s, x.in(), g.in(), y.view(), mode, padding, corners);
  if (dims == 3) fg::grid_sampler_3d(s, x.in(), g.in(), y.view(), mode, padding, corners);
  expect_close<T>(y.read(), want, tolerance_of<T>(32));
  EXPECT_TRUE(y.gaps_untouched());
  // The gradients: of the input by the weights, of the grid by differences.
  test_tensor<T, D> grad(out, how, random_values(out));
  const grid gradient{out, grad.values()};
  std::vector<double> of_input(x.values().size(), 0), of_grid(g.values().size(), 0);
  filled_by(out, [&](const std::vector<i64>& o) {
    const auto at = place_of(o);
    sampled_at(o, at, [&](std::size_t k, double w) { of_input[k] += w * gradient.at(o); });
    std::size_t place = static_cast<std::size_t>(o[0]);
    for (int d = 0; d < dims; ++d)
      place = place * static_cast<std::size_t>(of[static_cast<std::size_t>(d)]) +
              static_cast<std::size_t>(o[static_cast<std::size_t>(d) + 2]);
    for (int d = 0; d < dims; ++d) {
      constexpr double step = 1e-6;
      auto before = at, after = at;
      before[static_cast<std::size_t>(d)] -= step, after[static_cast<std::size_t>(d)] += step;
      of_grid[place * static_cast<std::size_t>(dims) + static_cast<std::size_t>(dims - 1 - d)] +=
          gradient.at(o) * (value(o, after) - value(o, before)) / (2 * step);
    }
    return 0.0;
  });
  const auto got =
      dims == 2
          ? fg::grid_sampler_2d_backward(s, grad.in(), x.in(), g.in(), mode, padding, corners)
          : fg::grid_sampler_3d_backward(s, grad.in(), x.in(), g.in(), mode, padding, corners);
  expect_close<T>(values_of(*got.input), of_input, {1e-4, 1e-4});
  if (mode != 1) expect_close<T>(values_of(*got.grid), of_grid, {1e-3, 1e-3});
}

TYPED_TEST(sampled, all) {
  using D = TypeParam;
  const layout c = layout::contiguous;
  for (int mode = 0; mode < 3; ++mode)
    for (int padding = 0; padding < 3; ++padding)
      for (const bool corners : {false, true}) {
        check<f32, D>({2, 2, 4, 5}, {3, 4}, mode, padding, corners, c);
        check<f32, D>({1, 2, 2, 3, 4}, {2, 3, 2}, mode, padding, corners, c);
      }
  for (const layout how : output_layouts) check<f32, D>({2, 2, 4, 5}, {3, 4}, 0, 2, false, how);
  check<f64, D>({1, 1, 1, 3}, {2, 2}, 0, 2, true, c);
}

TYPED_TEST(sampled, special_values) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double nan = std::numeric_limits<double>::quiet_NaN(), distant = 1e30;
  test_tensor<f32, D> x({1, 1, 1, 2}, layout::contiguous, {3, 5}), none({0, 1, 2, 2}),
      no_places({0, 3, 4, 2}),
      g({1, 1, 3, 2}, layout::contiguous, {distant, 0, -distant, 0, nan, 0});
  expect_equal(values_of(fg::grid_sampler(s, x.in(), g.in(), 1, 0, false)), {0, 0, 0});
  const auto edges = values_of(fg::grid_sampler(s, x.in(), g.in(), 1, 1, false));
  EXPECT_EQ(edges[0], 5);
  EXPECT_EQ(edges[1], 3);
  EXPECT_EQ(fg::grid_sampler(s, none.in(), no_places.in(), 0, 0, false).shape_of(),
            (shape{0, 1, 3, 4}));
  test_tensor<f32, D> grad({1, 1, 1, 3}, layout::contiguous, {1, 1, 1});
  const auto one =
      fg::grid_sampler_2d_backward(s, grad.in(), x.in(), g.in(), 1, 0, false, {false, true});
  EXPECT_FALSE(one.input);
  expect_equal(values_of(*one.grid), {0, 0, 0, 0, 0, 0});
}

TYPED_TEST(sampled, affine_grids) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  for (const int dims : {2, 3})
    for (const bool corners : {false, true}) {
      const shape maps{2, dims, dims + 1};
      const std::vector<i64> size =
          dims == 2 ? std::vector<i64>{2, 5, 3, 4} : std::vector<i64>{2, 5, 2, 1, 4};
      test_tensor<f32, D> theta(maps, layout::strided, random_values(maps));
      const grid by{maps, theta.values()};
      shape out{2};
      for (int d = 0; d < dims; ++d) out.push_back(size[static_cast<std::size_t>(d) + 2]);
      out.push_back(dims);
      const auto want = filled_by(out, [&](const std::vector<i64>& at) {
        double sum = by.at({at[0], at.back(), dims});
        for (int d = 0; d < dims; ++d) {
          const i64 n = out[dims - d];  // x goes along the last dimension
          const auto k = static_cast<double>(at[static_cast<std::size_t>(dims - d)]);
          const auto count = static_cast<double>(n);
          const double place = n == 1    ? 0
                               : corners ? 2 * k / (count - 1) - 1
                                         : (2 * k + 1) / count - 1;
          sum += by.at({at[0], at.back(), d}) * place;
        }
        return sum;
      });
      const fg::int_list sizes(size.data(), dims + 2);
      expect_close<f32>(values_of(fg::affine_grid_generator(s, theta.in(), sizes, corners)), want);
      test_tensor<f32, D> to(out, layout::transposed);
      fg::affine_grid_generator(s, theta.in(), to.view(), sizes, corners);
      expect_close<f32>(to.read(), want);
      EXPECT_TRUE(to.gaps_untouched());
    }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(grid_sample, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4, 4}), g({1, 3, 3, 2}), three({1, 3, 3, 3}), out({1, 2, 3, 3}),
      none({1, 2, 0, 4}), deep({1, 2, 2, 2, 2}), deep_grid({1, 2, 2, 2, 3}), theta({1, 2, 3});
  const char* op = "grid_sampler_2d";
  EXPECT_RAISES((void)fg::grid_sampler_2d(s, x.in(), three.in(), 0, 0, false), shape_mismatch, op);
  EXPECT_RAISES((void)fg::grid_sampler_2d(s, none.in(), g.in(), 0, 0, false), shape_mismatch, op);
  EXPECT_RAISES((void)fg::grid_sampler_2d(s, x.in(), g.in(), 3, 0, false), invalid_argument, op);
  EXPECT_RAISES((void)fg::grid_sampler_2d(s, x.in(), g.in(), 0, -1, false), invalid_argument, op);
  EXPECT_RAISES((void)fg::grid_sampler_3d(s, deep.in(), deep_grid.in(), 3, 0, false),
                invalid_argument, "grid_sampler_3d");
  EXPECT_RAISES(fg::grid_sampler_2d(s, x.in(), g.in(), x.view(), 0, 0, false), shape_mismatch, op);
  EXPECT_RAISES((void)fg::grid_sampler_2d_backward(s, x.in(), x.in(), g.in(), 0, 0, false),
                shape_mismatch, "grid_sampler_2d_backward");
  EXPECT_RAISES((void)fg::affine_grid_generator(s, theta.in(), {1, 1, 2}, false), shape_mismatch,
                "affine_grid_generator");
  EXPECT_RAISES((void)fg::affine_grid_generator(s, theta.in(), {1, 1, 0, 2}, false),
                invalid_argument, "affine_grid_generator");
  EXPECT_TRUE(x.untouched() && out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
