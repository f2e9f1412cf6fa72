// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/convolution.hpp>
#include <support/moves.hpp>

#include <array>

namespace flaggems_test {
namespace {

/// A convolution of up to three dimensions; sizes of absent ones are 1.
struct conv_case {
  int dims;
  i64 batch, channels, features, groups;
  std::array<i64, 3> size, kernel, stride, padding, dilation;
  bool same = false, has_bias = true;
};

/// Its sizes, and its result in f64 by the definition.
struct conv_reference {
  shape x, w, out;
  std::vector<double> values;

  conv_reference(const conv_case& c, const std::vector<double>& input,
                 const std::vector<double>& weight, const std::vector<double>& bias)
      : conv_reference(c) {
    const i64 own = c.channels / c.groups, filters = c.features / c.groups;
    for (i64 n = 0; n < c.batch; ++n)
      for (i64 f = 0; f < c.features; ++f)
        for_places(result, [&](const std::array<i64, 3>& at) {
          double sum = c.has_bias ? bias[static_cast<std::size_t>(f)] : 0;
          for (i64 k = 0; k < own; ++k)
            for_places(c.kernel, [&](const std::array<i64, 3>& in) {
              i64 from = n * c.channels + f / filters * own + k, by = f * own + k;
              for (std::size_t d = 0; d < 3; ++d) {
                const i64 place = at[d] * c.stride[d] + in[d] * c.dilation[d] - before[d];
                if (place < 0 || place >= c.size[d]) return;
                from = from * c.size[d] + place;
                by = by * c.kernel[d] + in[d];
              }
              sum += input[static_cast<std::size_t>(from)] * weight[static_cast<std::size_t>(by)];
            });
          values.push_back(sum);
        });
  }
  explicit conv_reference(const conv_case& c)
      : x{c.batch, c.channels}, w{c.features, c.channels / c.groups}, out{c.batch, c.features} {
    for (std::size_t d = 0; d < 3; ++d) {
      const i64 reach = (c.kernel[d] - 1) * c.dilation[d];
      const i64 around = c.same ? reach : 2 * c.padding[d];
      before[d] = c.same ? reach / 2 : c.padding[d];
      result[d] = (c.size[d] + around - reach - 1) / c.stride[d] + 1;
      if (static_cast<int>(d) >= c.dims) continue;
      x.push_back(c.size[d]);
      w.push_back(c.kernel[d]);
      out.push_back(result[d]);
    }
  }

 private:
  std::array<i64, 3> result{}, before{};

  template <class F>
  static void for_places(const std::array<i64, 3>& sizes, const F& f) {
    std::array<i64, 3> at{};
    for (at[0] = 0; at[0] < sizes[0]; ++at[0])
      for (at[1] = 0; at[1] < sizes[1]; ++at[1])
        for (at[2] = 0; at[2] < sizes[2]; ++at[2]) f(at);
  }
};

template <class D, class... A>
void convolve(int dims, const A&... a) {
  const auto& s = test_stream<D>();
  if (dims == 1) fg::conv1d(s, a...);
  if (dims == 2) fg::conv2d(s, a...);
  if (dims == 3) fg::conv3d(s, a...);
}

template <class T, class D>
void check(const conv_case& c, layout in = layout::contiguous, layout to = layout::contiguous) {
  SCOPED_TRACE(std::string(to_string(in)) + " to " + to_string(to));
  const conv_reference sizes(c);
  test_tensor<T, D> x(sizes.x, in, random_integers(sizes.x, -4, 4)),
      w(sizes.w, in, random_integers(sizes.w, -4, 4)),
      b({c.features}, in, random_integers({c.features}, -4, 4)), out(sizes.out, to);
  const conv_reference want(c, x.values(), w.values(), b.values());
  SCOPED_TRACE(fg::to_string(sizes.x) + " and " + fg::to_string(sizes.w));
  const auto first = [&](const std::array<i64, 3>& all) {
    return fg::int_list(all.data(), c.dims);
  };
  const auto run = [&](const auto& bias) {
    if (c.same)
      convolve<D>(c.dims, x.in(), w.in(), bias, out.view(), first(c.stride), fg::conv_padding::same,
                  first(c.dilation), c.groups);
    else
      convolve<D>(c.dims, x.in(), w.in(), bias, out.view(), first(c.stride), first(c.padding),
                  first(c.dilation), c.groups);
  };
  if (c.has_bias)
    run(b.in());
  else
    run(std::nullopt);
  // Sums of small integers are exact in f32; f16 and bf16 round the result.
  std::vector<double> rounded;
  for (const double v : want.values) rounded.push_back(static_cast<double>(static_cast<T>(v)));
  expect_equal(out.read(), rounded);
  EXPECT_TRUE(out.gaps_untouched());
}

template <class Device>
class convolution : public ::testing::Test {};
TYPED_TEST_SUITE(convolution, all_devices);

TYPED_TEST(convolution, one_dimension) {
  using D = TypeParam;
  check<f32, D>({1, 2, 6, 8, 1, {9, 1, 1}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 1, 1}});
  check<f32, D>({1, 2, 6, 8, 2, {11, 1, 1}, {3, 1, 1}, {2, 1, 1}, {2, 0, 0}, {3, 1, 1}});
  check<f32, D>({1, 2, 6, 8, 1, {9, 1, 1}, {4, 1, 1}, {1, 1, 1}, {0, 0, 0}, {2, 1, 1}, true});
  check<f32, D>(
      {1, 1, 6, 8, 1, {9, 1, 1}, {1, 1, 1}, {2, 1, 1}, {0, 0, 0}, {1, 1, 1}, false, false});
  // Depthwise, with and without a bias.
  check<f32, D>({1, 2, 6, 6, 6, {9, 1, 1}, {4, 1, 1}, {1, 1, 1}, {3, 0, 0}, {1, 1, 1}});
  check<f32, D>(
      {1, 2, 6, 6, 6, {9, 1, 1}, {4, 1, 1}, {2, 1, 1}, {3, 0, 0}, {1, 1, 1}, false, false});
  const conv_case plain{1, 2, 3, 5, 1, {7, 1, 1}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 1, 1}};
  const conv_case deep{1, 2, 4, 4, 4, {7, 1, 1}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 1, 1}};
  for (const conv_case& c : {plain, deep}) {
    for (const layout in : input_layouts) check<f32, D>(c, in);
    for (const layout to : output_layouts) check<f32, D>(c, layout::contiguous, to);
    check<bf16, D>(c);
    check<f16, D>(c);
    check<f64, D>(c);
  }
}
#if FLAGGEMS_TEST_HOST  // about the host
// Windows that lie next to each other: a product for each of their elements.
TEST(convolution_host, shifted_images) {
  at_every_level<host>([] {
    const conv_case line{1, 2, 32, 16, 1, {40, 1, 1}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 1, 1}};
    const conv_case image{2, 2, 32, 48, 2, {9, 11, 1}, {3, 2, 1}, {1, 1, 1}, {2, 1, 0}, {2, 1, 1}};
    for (const conv_case& c : {line, image}) {
      for (const layout in : input_layouts) check<f32, host>(c, in);
      for (const layout to : output_layouts) check<f32, host>(c, layout::contiguous, to);
      check<f64, host>(c);
    }
  });
  // More places than are taken at a time, no bias, and lines of one window.
  check<f32, host>(
      {2, 1, 16, 16, 1, {45, 50, 1}, {3, 3, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, true, false});
  check<f32, host>({2, 1, 16, 16, 1, {9, 4, 1}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 1, 1}});
  check<f32, host>({3, 1, 16, 16, 1, {4, 5, 6}, {2, 3, 2}, {1, 1, 1}, {1, 1, 0}, {1, 1, 2}});
}
#endif

TYPED_TEST(convolution, two_and_three_dimensions) {
  using D = TypeParam;
  check<f32, D>({2, 2, 3, 4, 1, {5, 6, 1}, {3, 2, 1}, {1, 2, 1}, {1, 0, 0}, {1, 1, 1}});
  check<f32, D>({2, 1, 4, 4, 4, {5, 6, 1}, {3, 2, 1}, {1, 2, 1}, {1, 1, 0}, {2, 1, 1}});
  check<f32, D>({2, 1, 2, 4, 1, {5, 6, 1}, {3, 2, 1}, {1, 1, 1}, {0, 0, 0}, {1, 2, 1}, true});
  check<f32, D>({2, 2, 3, 4, 1, {5, 6, 1}, {3, 2, 1}, {1, 2, 1}, {1, 0, 0}, {1, 1, 1}},
                layout::contiguous, layout::transposed);
  check<f32, D>({3, 2, 2, 4, 2, {4, 3, 5}, {2, 1, 3}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}});
}
/// Windows that overlap in memory along the last dimension or not, lines whose pitch is no multiple
/// of the stride, filters of one element, and more filters than places.
TYPED_TEST(convolution, ways_to_read_windows) {
  using D = TypeParam;
  check<f32, D>({2, 2, 3, 8, 1, {6, 9, 1}, {3, 4, 1}, {2, 2, 1}, {1, 1, 0}, {1, 1, 1}});
  check<f32, D>({2, 2, 3, 8, 1, {6, 9, 1}, {3, 4, 1}, {1, 3, 1}, {1, 2, 0}, {1, 2, 1}});
  check<f32, D>({2, 1, 3, 40, 1, {4, 4, 1}, {3, 3, 1}, {1, 2, 1}, {0, 1, 0}, {1, 1, 1}});
  check<f32, D>({2, 2, 4, 8, 2, {4, 5, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}});
  check<f32, D>({2, 2, 4, 8, 1, {4, 5, 1}, {1, 1, 1}, {2, 2, 1}, {0, 1, 0}, {1, 1, 1}});
  check<f32, D>({3, 1, 2, 40, 1, {3, 3, 4}, {2, 2, 2}, {1, 1, 2}, {0, 1, 1}, {2, 1, 2}});
  check<f32, D>({3, 2, 2, 4, 1, {3, 4, 7}, {1, 1, 3}, {1, 1, 2}, {1, 0, 1}, {1, 1, 1}},
                layout::negative, layout::strided);
}
/// Windows that lie in the lines of images as they are, and every second place of images.
TYPED_TEST(convolution, windows_in_pieces) {
  using D = TypeParam;
  const conv_case plain{2, 2, 16, 20, 1, {7, 9, 1}, {3, 3, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}};
  const conv_case apart{2, 2, 16, 20, 1, {8, 9, 1}, {3, 2, 1}, {1, 3, 1}, {2, 0, 0}, {2, 1, 1}};
  const conv_case column{2,         1,         32,        20,        1,     {8, 5, 1},
                         {2, 1, 1}, {1, 1, 1}, {0, 1, 0}, {1, 4, 1}, false, false};
  const conv_case wide{2, 3, 32, 70, 1, {6, 9, 1}, {3, 2, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 1}};
  const conv_case zeros{2, 2, 32, 20, 1, {3, 4, 1}, {2, 2, 1}, {1, 1, 1}, {3, 3, 0}, {1, 1, 1}};
  const conv_case skips{2, 2, 16, 20, 1, {7, 9, 1}, {1, 1, 1}, {2, 2, 1}, {0, 0, 0}, {1, 1, 1}};
  for (const conv_case& c : {plain, apart, column, wide, zeros, skips}) {
    check<f32, D>(c);
    check<f32, D>(c, layout::negative, layout::strided);
    check<bf16, D>(c);
  }
  check<f16, D>(wide, layout::transposed, layout::transposed);
}
TYPED_TEST(convolution, depthwise_by_its_own_name) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const shape sizes{2, 3, 5, 6}, filters{6, 1, 3, 2};
  test_tensor<f32, D> x(sizes, layout::contiguous, random_integers(sizes, -4, 4)),
      w(filters, layout::contiguous, random_integers(filters, -4, 4)),
      b({6}, layout::contiguous, {1, 2, 3, 4, 5, 6}), out({2, 6, 5, 3});
  fg::conv_depthwise2d(s, x.in(), w.in(), {3, 2}, b.in(), out.view(), {1, 2}, {1, 0}, {1});
  const auto want = values_of(fg::conv2d(s, x.in(), w.in(), b.in(), {1, 2}, {1, 0}, {1}, 3));
  expect_equal(out.read(), want);
  expect_equal(
      values_of(fg::conv_depthwise2d(s, x.in(), w.in(), {3, 2}, b.in(), {1, 2}, {1, 0}, {1})),
      want);
  EXPECT_RAISES(fg::conv_depthwise2d(s, x.in(), w.in(), {3, 3}, std::nullopt, {1}, {0}, {1}),
                shape_mismatch, "conv_depthwise2d");
  test_tensor<f32, D> square({2, 1, 2, 2}), image({2, 3, 3});
  EXPECT_EQ(
      fg::conv_depthwise2d(s, image.in(), square.in(), {2}, std::nullopt, {1}, {0}, {1}).shape_of(),
      (shape{2, 2, 2}));
  EXPECT_RAISES(
      fg::conv_depthwise2d(s, image.in(), square.in(), {2, 2, 2}, std::nullopt, {1}, {0}, {1}),
      invalid_argument, "conv_depthwise2d");
}
TYPED_TEST(convolution, of_the_weights_dimensions) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 4, 9}, layout::contiguous, random_integers({2, 4, 9}, -4, 4)),
      w({4, 2, 3}, layout::contiguous, random_integers({4, 2, 3}, -4, 4)),
      b({4}, layout::contiguous, {1, 2, 3, 4}), out({2, 4, 5}, layout::strided), flat({4, 2});
  expect_equal(
      values_of(
          fg::convolution_mode(s, x.in(), w.in(), b.in(), {1}, fg::conv_padding::same, {2}, 2)),
      values_of(fg::conv1d(s, x.in(), w.in(), b.in(), {1}, fg::conv_padding::same, {2}, 2)));
  fg::cudnn_convolution(s, x.in(), w.in(), out.view(), {1}, {2}, {1}, 2);
  expect_equal(out.read(),
               values_of(fg::conv1d(s, x.in(), w.in(), std::nullopt, {2}, {1}, {1}, 2)));
  EXPECT_TRUE(out.gaps_untouched());
  expect_equal(values_of(fg::cudnn_convolution(s, x.in(), w.in(), {1}, {2}, {1}, 2)), out.read());
  EXPECT_RAISES((void)fg::cudnn_convolution(s, x.in(), flat.in(), {1}, {2}, {1}, 2), shape_mismatch,
                "cudnn_convolution");
}

TYPED_TEST(convolution, without_a_batch_and_empty) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  test_tensor<f32, D> x({2, 4}, layout::contiguous, {1, 2, 3, 4, 5, 6, 7, 8}),
      w({1, 2, 2}, layout::contiguous, {1, 0, 0, 1}), none({0, 2, 4}), no_channels({2, 0, 4}),
      of_none({4, 0, 2}), b({4}, layout::contiguous, {1, 2, 3, 4});
  const auto out = fg::conv1d(s, x.in(), w.in());
  EXPECT_EQ(out.shape_of(), (shape{1, 3}));
  expect_equal(values_of(out), {7, 9, 11});
  EXPECT_EQ(fg::conv1d(s, none.in(), w.in()).shape_of(), (shape{0, 1, 3}));
  expect_equal(values_of(fg::conv1d(s, no_channels.in(), of_none.in(), b.in())),
               {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  test_tensor<f32, D> odd({1, 1, 3}, layout::contiguous,
                          {1, std::numeric_limits<f64>::quiet_NaN(), 2}),
      id({4, 1, 1}, layout::contiguous, {1, 1, 1, 1});
  const auto spread = values_of(fg::conv1d(s, odd.in(), id.in()));
  EXPECT_TRUE(spread[0] == 1 && std::isnan(spread[1]) && spread[2] == 2);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(conv, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({2, 4, 9}), w({6, 2, 3}), b({6}), flat({9}), other({6, 3, 3}), none({6, 4, 0}),
      out({2, 6, 7}), small({2, 6, 6}), few({5});
  const auto run = [&](auto... options) {
    fg::conv1d(s, x.in(), w.in(), b.in(), out.view(), options...);
  };
  using list = fg::int_list;
  const i64 one[] = {1}, zero[] = {0}, less[] = {-1}, two[] = {1, 1};
  EXPECT_RAISES(run(list(one), list(zero), list(one), i64{1}), shape_mismatch, "conv1d");
  EXPECT_RAISES(run(list(one), list(zero), list(one), i64{0}), invalid_argument, "conv1d");
  EXPECT_RAISES(run(list(one), list(zero), list(one), i64{4}), invalid_argument, "conv1d");
  EXPECT_RAISES(run(list(zero), list(zero), list(one), i64{2}), invalid_argument, "conv1d");
  EXPECT_RAISES(run(list(one), list(less), list(one), i64{2}), invalid_argument, "conv1d");
  EXPECT_RAISES(run(list(one), list(zero), list(zero), i64{2}), invalid_argument, "conv1d");
  EXPECT_RAISES(run(list(two), list(zero), list(one), i64{2}), invalid_argument, "conv1d");
  const i64 far_apart[] = {5}, stride[] = {2};
  EXPECT_RAISES(run(list(one), list(zero), list(far_apart), i64{2}), shape_mismatch, "conv1d");
  EXPECT_RAISES(run(list(stride), fg::conv_padding::same, list(one), i64{2}), invalid_argument,
                "conv1d");
  EXPECT_RAISES(fg::conv1d(s, flat.in(), w.in()), shape_mismatch, "conv1d");
  EXPECT_RAISES(fg::conv1d(s, x.in(), other.in()), shape_mismatch, "conv1d");
  EXPECT_RAISES(fg::conv1d(s, x.in(), none.in()), invalid_argument, "conv1d");
  EXPECT_RAISES(fg::conv1d(s, x.in(), w.in(), b.in(), small.view(), {1}, {0}, {1}, 2),
                shape_mismatch, "conv1d");
  EXPECT_RAISES(fg::conv1d(s, x.in(), w.in(), few.in(), out.view(), {1}, {0}, {1}, 2),
                shape_mismatch, "conv1d");
  EXPECT_RAISES(spelled("full", std::type_identity<fg::conv_padding>{}), invalid_argument, "conv");
  const i64 most[] = {std::numeric_limits<i64>::max()};
  EXPECT_EQ(error_of([&] { run(list(one), list(zero), list(most), i64{2}); }).got(),
            "3 elements with dilation 9223372036854775807");
  EXPECT_TRUE(out.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
