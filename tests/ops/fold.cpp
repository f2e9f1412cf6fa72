// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/fold.hpp>
#include <support/moves.hpp>

namespace flaggems_test {
namespace {

template <class Device>
class folds : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(folds, devices);

struct fold_case {
  shape image;  // C, H, W
  i64 kernel[2], dilation[2], padding[2], stride[2];
  i64 batch = 0;  // 0: none

  [[nodiscard]] i64 windows(int d) const {
    return (image[1 + d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
  }
  [[nodiscard]] shape images() const {
    shape r = image;
    if (batch > 0) r.insert(0, batch);
    return r;
  }
  [[nodiscard]] shape columns() const {
    shape r{image[0] * kernel[0] * kernel[1], windows(0) * windows(1)};
    if (batch > 0) r.insert(0, batch);
    return r;
  }
};

/// f(index of the column's element, index of the image's or -1) for all elements of the columns.
template <class F>
void for_elements(const fold_case& c, const F& f) {
  const shape all = c.columns();
  const i64 h = c.image[1], w = c.image[2], window = c.kernel[0] * c.kernel[1];
  for (i64 k = 0; k < all.numel(); ++k) {
    const i64 places = all[all.rank() - 1], place = k % places, row = k / places;
    const i64 tap = row % window;
    const i64 y = place / c.windows(1) * c.stride[0] + tap / c.kernel[1] * c.dilation[0];
    const i64 x = place % c.windows(1) * c.stride[1] + tap % c.kernel[1] * c.dilation[1];
    const i64 at_y = y - c.padding[0], at_x = x - c.padding[1];
    const bool is_inside = at_y >= 0 && at_y < h && at_x >= 0 && at_x < w;
    f(static_cast<std::size_t>(k), is_inside ? (row / window * h + at_y) * w + at_x : -1);
  }
}

template <class T, class D>
void check(const fold_case& c, layout in, layout to) {
  const auto& s = test_stream<D>();
  const fg::int_list kernel(c.kernel, 2), dilation(c.dilation, 2), padding(c.padding, 2),
      stride(c.stride, 2);
  test_tensor<T, D> image(c.images(), in, random_integers(c.images(), -9, 9)), out(c.columns(), to),
      column(c.columns(), in, random_integers(c.columns(), -9, 9)), sums(c.images(), to);
  std::vector<double> columns(out.values().size(), 0), images(image.values().size(), 0);
  for_elements(c, [&](std::size_t k, i64 at) {
    if (at < 0) return;
    columns[k] = image.values()[static_cast<std::size_t>(at)];
    images[static_cast<std::size_t>(at)] += column.values()[k];
  });
  fg::im2col(s, image.in(), out.view(), kernel, dilation, padding, stride);
  expect_equal(out.read(), columns);
  EXPECT_TRUE(out.gaps_untouched());
  fg::col2im(s, column.in(), sums.view(), {c.image[1], c.image[2]}, kernel, dilation, padding,
             stride);
  expect_equal(sums.read(), images);
  EXPECT_TRUE(sums.gaps_untouched());
}

TYPED_TEST(folds, columns) {
  using D = TypeParam;
  at_every_level<D>([] {
    const fold_case plain{{2, 5, 6}, {3, 2}, {1, 2}, {1, 0}, {2, 1}, 2};
    for (const layout in : input_layouts) check<f32, D>(plain, in, layout::contiguous);
    for (const layout to : output_layouts) check<f32, D>(plain, layout::contiguous, to);
    check<bf16, D>({{1, 4, 4}, {2, 2}, {1, 1}, {0, 3}, {1, 1}}, layout::contiguous,
                   layout::contiguous);
    check<f32, D>({{3, 4, 5}, {4, 5}, {1, 1}, {0, 0}, {7, 1}}, layout::contiguous,
                  layout::contiguous);
  });
}

TYPED_TEST(folds, unfolded) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const layout how : output_layouts)
      for (const i64 step : {i64{1}, i64{2}, i64{4}}) {
        const i64 size = 3, places = (8 - size) / step + 1;
        const shape unfolded{2, places, 3, size};
        test_tensor<f32, D> g(unfolded, how, random_integers(unfolded, -9, 9)), out({2, 8, 3}, how);
        std::vector<double> want(48, 0);
        filled_by(unfolded, [&](const std::vector<i64>& at) {
          const auto to = static_cast<std::size_t>((at[0] * 8 + at[1] * step + at[3]) * 3 + at[2]);
          want[to] += grid{unfolded, g.values()}.at(at);
          return 0;
        });
        fg::unfold_backward(s, g.in(), out.view(), {2, 8, 3}, 1, size, step);
        expect_equal(out.read(), want);
        EXPECT_TRUE(out.gaps_untouched());
      }
  });
  test_tensor<bf16, D> g({3, 2}, layout::contiguous, {1, 2, 4, 8, 16, 32}), none({0, 2, 2});
  expect_equal(values_of(fg::unfold_backward(s, g.in(), {4}, -1, 2, 1)), {1, 6, 24, 32});
  EXPECT_EQ(fg::unfold_backward(s, none.in(), {0, 3}, 1, 2, 1).shape_of(), (shape{0, 3}));
  test_tensor<f32, D> one({1}, layout::contiguous, {5}), number(shape{});
  for (const i64 dim : {0, -1}) {
    fg::unfold_backward(s, one.in(), number.view(), {}, dim, 1, 3);
    expect_equal(number.read(), {5});
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(fold, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 2, 4, 4}), out({1, 8, 9}), flat({4, 4}), image({2, 4, 4});
  EXPECT_RAISES(fg::im2col(s, flat.in(), {2}, {1}, {0}, {1}), shape_mismatch, "im2col");
  EXPECT_RAISES(fg::im2col(s, x.in(), out.view(), {2}, {1}, {0}, {2}), shape_mismatch, "im2col");
  EXPECT_RAISES(fg::im2col(s, x.in(), out.view(), {2}, {0}, {0}, {1}), invalid_argument, "im2col");
  EXPECT_RAISES(fg::im2col(s, x.in(), out.view(), {6}, {1}, {0}, {1}), shape_mismatch, "im2col");
  EXPECT_RAISES(fg::col2im(s, out.in(), {4}, {2}, {1}, {0}, {1}), invalid_argument, "col2im");
  EXPECT_RAISES(fg::col2im(s, out.in(), {4, 4}, {3}, {1}, {0}, {1}), shape_mismatch, "col2im");
  EXPECT_RAISES(fg::col2im(s, out.in(), {5, 4}, {2}, {1}, {0}, {1}), shape_mismatch, "col2im");
  EXPECT_RAISES(fg::col2im(s, x.in(), {4, 4}, {2}, {1}, {0}, {1}), shape_mismatch, "col2im");
  EXPECT_RAISES(fg::unfold_backward(s, flat.in(), {5}, 0, 4, 0), invalid_argument,
                "unfold_backward");
  EXPECT_RAISES(fg::unfold_backward(s, flat.in(), {5}, 1, 4, 1), out_of_range, "unfold_backward");
  EXPECT_RAISES(fg::unfold_backward(s, flat.in().select(0, 0), {}, 1, 1, 1), out_of_range,
                "unfold_backward");
  EXPECT_RAISES(fg::unfold_backward(s, flat.in(), {8}, 0, 4, 1), shape_mismatch, "unfold_backward");
  const auto said = [&](i64 dilation, i64 padding) {
    const auto e = error_of([&] { (void)fg::im2col(s, x.in(), {2}, {dilation}, {padding}, {1}); });
    return std::string(e.got());
  };
  constexpr i64 most = std::numeric_limits<i64>::max();
  EXPECT_EQ(said(most, 0), "2 elements with dilation 9223372036854775807");
  EXPECT_EQ(said(1, most), "4 elements with padding 9223372036854775807");
  EXPECT_NE(said(1, i64{1} << 40).find("2199023255555 times 2199023255555"), std::string::npos);
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
