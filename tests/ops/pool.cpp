// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/pool.hpp>
#include <support/moves.hpp>

#include <array>
#include <limits>

namespace flaggems_test {
namespace {

using three = std::array<i64, 3>;

/// A pool over the last `dims` of three dimensions; sizes of absent ones are 1.
struct pool_case {
  int dims;
  i64 batch, channels;
  three size, kernel, stride, padding, dilation;
  bool ceil_mode = false, count_include_pad = true;
  std::optional<i64> divisor = {};

  [[nodiscard]] three result() const {
    three r{};
    for (std::size_t d = 0; d < 3; ++d) {
      // The windows that begin in the input or the padding before it, and end within the padding.
      const i64 reach = (kernel[d] - 1) * dilation[d] + 1;
      for (i64 begin = -padding[d];; begin += stride[d]) {
        const bool ends = begin + reach <= size[d] + padding[d];
        const bool cut = ceil_mode && begin + reach - stride[d] < size[d] + padding[d];
        if (!ends && !(cut && begin < size[d])) break;
        ++r[d];
      }
    }
    return r;
  }
  [[nodiscard]] shape sizes(const three& of) const {
    shape r{batch, channels};
    for (std::size_t d = static_cast<std::size_t>(3 - dims); d < 3; ++d) r.push_back(of[d]);
    return r;
  }
  [[nodiscard]] fg::int_list list(const three& of) const { return {of.data() + 3 - dims, dims}; }
};

template <class F>
void for_places(const three& sizes, const F& f) {
  three at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) f(at);
}
std::size_t index_in(const three& sizes, const three& at) {
  return static_cast<std::size_t>((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]);
}
/// f(output, place, divisor of a mean) for all windows' elements of a plane.
template <class F>
void for_windows(const pool_case& c, const F& f) {
  for_places(c.result(), [&](const three& o) {
    i64 area = 0, inside = 0;
    for (int pass = 0; pass < 2; ++pass)
      for_places(c.kernel, [&](const three& k) {
        three at{};
        bool is_inside = true, is_near = true;
        for (std::size_t d = 0; d < 3; ++d) {
          at[d] = o[d] * c.stride[d] + k[d] * c.dilation[d] - c.padding[d];
          is_inside = is_inside && at[d] >= 0 && at[d] < c.size[d];
          is_near = is_near && at[d] < c.size[d] + c.padding[d];
        }
        if (pass == 0) area += is_near ? 1 : 0, inside += is_inside ? 1 : 0;
        if (pass == 1 && is_inside)
          f(o, at, c.divisor.value_or(c.count_include_pad ? area : inside));
      });
  });
}

template <class D, class... A>
void run_mean(int dims, const A&... a) {
  const auto& s = test_stream<D>();
  if (dims == 1) fg::avg_pool1d(s, a...);
  if (dims == 2) fg::avg_pool2d(s, a...);
  if (dims == 3) fg::avg_pool3d(s, a...);
}

template <class T, class D>
void check_mean(const pool_case& c, layout in, layout to) {
  const shape whole = c.sizes(c.size), pooled = c.sizes(c.result());
  const auto plane = static_cast<std::size_t>(c.size[0] * c.size[1] * c.size[2]);
  const auto places = index_in(c.result(), {c.result()[0], 0, 0});
  test_tensor<T, D> x(whole, in, random_values(whole)), out(pooled, to);
  run_mean<D>(c.dims, x.in(), out.view(), c.list(c.kernel), c.list(c.stride), c.list(c.padding),
              c.ceil_mode, c.count_include_pad, c.divisor);
  std::vector<double> want(out.values().size(), 0), gradient(x.values().size(), 0);
  test_tensor<T, D> g(pooled, in, random_values(pooled)), gx(whole, to);
  const auto planes = static_cast<std::size_t>(c.batch * c.channels);
  for (std::size_t p = 0; p < planes; ++p)
    for_windows(c, [&](const three& o, const three& at, i64 divisor) {
      const std::size_t i = p * places + index_in(c.result(), o),
                        k = p * plane + index_in(c.size, at);
      want[i] += x.values()[k] / static_cast<double>(divisor);
      gradient[k] += g.values()[i] / static_cast<double>(divisor);
    });
  expect_close<T>(out.read(), want);
  EXPECT_TRUE(out.gaps_untouched());
  if (c.dims == 1) return;
  const auto backward = [&](const auto& run) {
    run(test_stream<D>(), g.in(), x.in(), gx.view(), c.list(c.kernel), c.list(c.stride),
        c.list(c.padding), c.ceil_mode, c.count_include_pad, c.divisor);
  };
  if (c.dims == 2) backward([](const auto&... a) { fg::avg_pool2d_backward(a...); });
  if (c.dims == 3) backward([](const auto&... a) { fg::avg_pool3d_backward(a...); });
  expect_close<T>(gx.read(), gradient);
  EXPECT_TRUE(gx.gaps_untouched());
}

template <class T, class D>
void check_max(const pool_case& c, layout in, layout to, bool with_nan = false) {
  const shape whole = c.sizes(c.size), pooled = c.sizes(c.result());
  const auto plane = static_cast<std::size_t>(c.size[0] * c.size[1] * c.size[2]);
  const auto places = index_in(c.result(), {c.result()[0], 0, 0});
  auto given = random_integers(whole, -3, 3);  // with ties
  if (with_nan) given[given.size() / 2] = given[given.size() / 3] = std::nan("");
  test_tensor<T, D> x(whole, in, given), values(pooled, to), g(pooled, in, random_values(pooled)),
      gx(whole, to);
  test_tensor<i64, D> indices(pooled, to);
  std::vector<double> best(values.values().size(), 0), at_best(best.size(), -1),
      gradient(x.values().size(), 0);
  for (std::size_t p = 0; p < static_cast<std::size_t>(c.batch * c.channels); ++p) {
    for_windows(c, [&](const three& o, const three& at, i64) {
      const std::size_t i = p * places + index_in(c.result(), o);
      const double v = x.values()[p * plane + index_in(c.size, at)];
      if (at_best[i] >= 0 && v <= best[i]) return;
      if (at_best[i] >= 0 && std::isnan(best[i]) && !std::isnan(v)) return;
      best[i] = v;
      at_best[i] = static_cast<double>(index_in(c.size, at));
    });
    for (std::size_t i = p * places; i < (p + 1) * places; ++i)
      gradient[p * plane + static_cast<std::size_t>(at_best[i])] += g.values()[i];
  }
  const auto run = [&](const auto& forward, const auto& backward) {
    forward(test_stream<D>(), x.in(), values.view(), indices.view(), c.list(c.kernel),
            c.list(c.stride), c.list(c.padding), c.list(c.dilation), c.ceil_mode);
    backward(test_stream<D>(), g.in(), x.in(), c.list(c.kernel), c.list(c.stride),
             c.list(c.padding), c.list(c.dilation), c.ceil_mode, indices.in(), gx.view());
  };
  if (c.dims == 2)
    run([](auto&&... a) { fg::max_pool2d_with_indices(a...); },
        [](auto&&... a) { fg::max_pool2d_with_indices_backward(a...); });
  else
    run([](auto&&... a) { fg::max_pool3d_with_indices(a...); },
        [](auto&&... a) { fg::max_pool3d_with_indices_backward(a...); });
  expect_equal(indices.read(), at_best);
  expect_equal(values.read(), best);
  expect_close<T>(gx.read(), gradient);
  EXPECT_TRUE(values.gaps_untouched() && indices.gaps_untouched() && gx.gaps_untouched());
  const auto by_name = [&] {
    const auto& s = test_stream<D>();
    if (c.dims == 2)
      return fg::max_pool2d_backward(s, g.in(), x.in(), c.list(c.kernel), c.list(c.stride),
                                     c.list(c.padding), c.list(c.dilation), c.ceil_mode);
    return fg::max_pool3d_backward(s, g.in(), x.in(), indices.in(), c.list(c.kernel),
                                   c.list(c.stride), c.list(c.padding), c.list(c.dilation),
                                   c.ceil_mode);
  };
  expect_equal(values_of(by_name()), gx.read());
}

template <class Device>
class pools : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(pools, devices);

const three one{1, 1, 1}, none{0, 0, 0};

TYPED_TEST(pools, means) {
  using D = TypeParam;
  at_every_level<D>([] {
    const pool_case plain{2, 2, 3, {1, 5, 7}, {1, 3, 2}, {1, 2, 2}, {0, 1, 0}, one};
    for (const layout in : input_layouts) check_mean<f32, D>(plain, in, layout::contiguous);
    for (const layout to : output_layouts) check_mean<f32, D>(plain, layout::contiguous, to);
    const layout c = layout::contiguous;
    check_mean<f32, D>({1, 2, 3, {1, 1, 9}, {1, 1, 4}, {1, 1, 3}, {0, 0, 2}, one, true}, c, c);
    check_mean<f32, D>({1, 1, 2, {1, 1, 9}, {1, 1, 4}, {1, 1, 4}, {0, 0, 1}, one, true, false}, c,
                       c);
    check_mean<bf16, D>({2, 1, 2, {1, 6, 6}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, one, true, false}, c,
                        c);
    check_mean<f16, D>({2, 1, 2, {1, 6, 6}, {1, 3, 3}, {1, 1, 2}, {0, 1, 1}, one, false, true, 5},
                       c, c);
    check_mean<f32, D>({3, 2, 1, {3, 4, 5}, {2, 3, 2}, {1, 2, 2}, {1, 0, 1}, one, true, false}, c,
                       c);
  });
}
TYPED_TEST(pools, greatest) {
  using D = TypeParam;
  at_every_level<D>([] {
    const pool_case plain{2, 2, 3, {1, 5, 7}, {1, 3, 2}, {1, 2, 1}, {0, 1, 1}, {1, 1, 2}};
    const layout c = layout::contiguous;
    for (const layout in : input_layouts) check_max<f32, D>(plain, in, c);
    for (const layout to : output_layouts) check_max<f32, D>(plain, c, to);
    check_max<bf16, D>({2, 1, 2, {1, 6, 6}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, one, true}, c, c);
    check_max<f32, D>({3, 2, 1, {3, 4, 5}, {2, 3, 2}, {1, 2, 2}, {1, 0, 1}, {1, 1, 2}, true}, c, c);
    check_max<f32, D>(plain, c, c, true);
  });
}
// Rows longer than are walked at a time; more taps along them, or lines, than are kept.
TYPED_TEST(pools, of_long_rows_and_large_windows) {
  using D = TypeParam;
  const layout c = layout::contiguous;
  check_mean<f32, D>({2, 1, 2, {1, 5, 150}, {1, 2, 3}, {1, 2, 1}, {0, 0, 1}, one}, c, c);
  check_mean<f32, D>({1, 1, 2, {1, 1, 90}, {1, 1, 11}, {1, 1, 1}, {0, 0, 0}, one}, c, c);
  check_mean<f32, D>({3, 1, 1, {7, 7, 3}, {5, 5, 2}, {1, 1, 1}, {1, 0, 0}, one}, c, c);
  check_max<f32, D>({2, 1, 2, {1, 5, 150}, {1, 3, 3}, {1, 1, 2}, {0, 1, 1}, one}, c, c);
}
TYPED_TEST(pools, without_a_batch_and_empty) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({1, 2, 4}, layout::contiguous, {1, 2, 3, 4, 5, 6, 7, 8}), empty({0, 1, 4});
  expect_equal(values_of(fg::avg_pool2d(s, x.in(), {2})), {3.5, 5.5});
  expect_equal(values_of(fg::avg_pool1d(s, x.in(), {2}, {1})), {1.5, 2.5, 3.5, 5.5, 6.5, 7.5});
  const auto most = fg::max_pool2d_with_indices(s, x.in(), {2, 3}, {1});
  expect_equal(values_of(most.values), {7, 8});
  expect_equal(values_of(most.indices), {6, 7});
  EXPECT_EQ(fg::avg_pool1d(s, empty.in(), {2}).shape_of(), (shape{0, 1, 2}));
  // Steps beyond all elements; a window whose elements are all padding.
  const i64 most_step = std::numeric_limits<i64>::max();
  expect_equal(values_of(fg::avg_pool1d(s, x.in(), {3}, {most_step}, {0}, true)), {2, 6});
  test_tensor<f32, D> point({1, 1, 1}, layout::contiguous, {3});
  const auto outside = fg::max_pool2d_with_indices(s, point.in(), {1, 2}, {1}, {0, 2}, {1, 4});
  expect_equal(values_of(outside.values), {-std::numeric_limits<f64>::infinity()});
  expect_equal(values_of(outside.indices), {-1});
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(pool, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4, 4}), flat({4}), out({1, 2, 2, 2}), small({1, 2, 1, 2});
  test_tensor<i64> indices({1, 2, 2, 2});
  const auto mean = [&](fg::int_list kernel, fg::int_list stride, fg::int_list padding) {
    fg::avg_pool2d(s, x.in(), out.view(), kernel, stride, padding);
  };
  EXPECT_RAISES(mean({0}, {}, {0}), invalid_argument, "avg_pool2d");
  EXPECT_RAISES(mean({2, 2, 2}, {}, {0}), invalid_argument, "avg_pool2d");
  EXPECT_RAISES(mean({2}, {0}, {0}), invalid_argument, "avg_pool2d");
  EXPECT_RAISES(mean({2}, {}, {2}), invalid_argument, "avg_pool2d");
  EXPECT_RAISES(mean({2}, {}, {-1}), invalid_argument, "avg_pool2d");
  EXPECT_RAISES(mean({5}, {}, {0}), shape_mismatch, "avg_pool2d");
  EXPECT_RAISES(fg::avg_pool2d(s, x.in(), small.view(), {2}), shape_mismatch, "avg_pool2d");
  EXPECT_RAISES(fg::avg_pool2d(s, flat.in(), {2}), shape_mismatch, "avg_pool2d");
  EXPECT_RAISES(fg::avg_pool2d(s, x.in(), out.view(), {2}, {}, {0}, false, true, 0),
                invalid_argument, "avg_pool2d");
  EXPECT_RAISES(fg::avg_pool2d(s, x.in(), x.view().narrow(2, 0, 2).narrow(3, 0, 2), {2}), overlap,
                "avg_pool2d");
  EXPECT_RAISES(fg::avg_pool2d_backward(s, x.in(), x.in(), {2}, {}, {0}, false, true, {}),
                shape_mismatch, "avg_pool2d_backward");
  EXPECT_RAISES(
      fg::max_pool2d_with_indices(s, x.in(), out.view(), indices.view(), {2}, {}, {0}, {0}),
      invalid_argument, "max_pool2d_with_indices");
  EXPECT_TRUE(out.untouched() && x.untouched() && indices.untouched());
}

TEST(pool, keeps_channels_last) {
  const auto& s = test_stream<host>();
  const auto x = fg::empty<f32>(s, {2, 3, 4, 4});
  const auto last = fg::contiguous(s, x, fg::memory_format::channels_last);
  const auto out = fg::avg_pool2d(s, last, {2});
  EXPECT_EQ(shape(out.strides()), (shape{12, 1, 6, 3}));
}
#endif

}  // namespace
}  // namespace flaggems_test
