// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/conv_transpose.hpp>
#include <support/moves.hpp>

#include <array>

namespace flaggems_test {
namespace {

template <class Device>
class transposed_conv : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(transposed_conv, devices);

using numbers = std::vector<i64>;

/// A transposed convolution over as many dimensions as `size` has.
struct conv_case {
  i64 batch, channels, features, groups;  // features of a group
  numbers size, kernel, stride, padding, more, dilation;

  [[nodiscard]] shape sizes(i64 first, i64 second, const numbers& rest) const {
    shape r{first, second};
    for (const i64 n : rest) r.push_back(n);
    return r;
  }
  [[nodiscard]] numbers result() const {
    numbers r;
    for (std::size_t d = 0; d < size.size(); ++d)
      r.push_back((size[d] - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel[d] - 1) +
                  more[d] + 1);
    return r;
  }
};
fg::int_list list(const numbers& of) { return {of.data(), static_cast<int>(of.size())}; }

/// Against the definition: each element of the input goes to a window of the output.
template <class T, class D>
void check(const conv_case& c, layout how, bool biased, i64 most = 3) {
  const shape in = c.sizes(c.batch, c.channels, c.size),
              filters = c.sizes(c.channels, c.features, c.kernel),
              out = c.sizes(c.batch, c.groups * c.features, c.result());
  SCOPED_TRACE(fg::to_string(in));
  test_tensor<T, D> x(in, how, random_integers(in, -most, most)),
      w(filters, how, random_integers(filters, -most, most)),
      b({out[1]}, how, random_integers({out[1]}, -9, 9)), y(out, how);
  const grid source{in, x.values()}, weight{filters, w.values()};
  std::vector<double> want(y.values().size(), 0);
  std::size_t k = 0;
  const i64 own = c.channels / c.groups;
  filled_by(out, [&](const std::vector<i64>& o) {
    double sum = biased ? b.values()[static_cast<std::size_t>(o[1])] : 0;
    filled_by(filters, [&](const std::vector<i64>& at) {
      const bool is_own = at[0] / own == o[1] / c.features && at[1] == o[1] % c.features;
      std::vector<i64> i{o[0], at[0]};
      bool meets = is_own;
      for (std::size_t d = 0; meets && d < c.size.size(); ++d) {
        const i64 step = o[d + 2] + c.padding[d] - at[d + 2] * c.dilation[d];
        meets = step >= 0 && step % c.stride[d] == 0 && step / c.stride[d] < c.size[d];
        i.push_back(step / c.stride[d]);
      }
      if (meets) sum += source.at(i) * weight.at(at);
      return 0.0;
    });
    want[k++] = sum;
    return 0.0;
  });
  const auto& s = test_stream<D>();
  const std::optional bias = biased ? std::optional(b.in()) : std::nullopt;
  const auto run = [&](const auto& conv) {
    conv(s, x.in(), w.in(), bias, y.view(), list(c.stride), list(c.padding), list(c.more), c.groups,
         list(c.dilation));
  };
  if (c.size.size() == 1) run([](const auto&... a) { fg::conv_transpose1d(a...); });
  if (c.size.size() == 2) run([](const auto&... a) { fg::conv_transpose2d(a...); });
  if (c.size.size() == 3) run([](const auto&... a) { fg::conv_transpose3d(a...); });
  // Sums of integers are exact in f32; 16 bits round the result.
  for (double& v : want) v = static_cast<double>(static_cast<T>(v));
  expect_equal(y.read(), want);
  EXPECT_TRUE(y.gaps_untouched());
}

TYPED_TEST(transposed_conv, all) {
  using D = TypeParam;
  const layout c = layout::contiguous;
  check<f32, D>({2, 4, 3, 1, {3, 4}, {3, 2}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, c, false);
  for (const layout how : {layout::contiguous, layout::strided, layout::transposed})
    check<f32, D>({2, 4, 3, 2, {3, 4}, {3, 2}, {2, 3}, {1, 0}, {1, 2}, {1, 2}}, how, true);
  check<bf16, D>({1, 2, 1, 2, {5}, {4}, {3}, {2}, {1}, {1}}, c, true);
  check<bf16, D>({1, 3, 2, 1, {5}, {4}, {1}, {1}, {0}, {1}}, c, true, 120);
  check<f32, D>({1, 2, 2, 1, {2, 2, 3}, {2, 1, 2}, {2, 1, 1}, {0, 0, 1}, {0, 0, 0}, {1, 1, 2}}, c,
                true);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(conv_transpose, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({1, 4, 3}), w({4, 2, 3}), b({2}), few({3}), out({1, 2, 5}), none({1, 4, 0});
  const char* op = "conv_transpose1d";
  EXPECT_EQ(fg::conv_transpose1d(s, x.in(), w.in()).shape_of(), (shape{1, 2, 5}));
  EXPECT_RAISES(fg::conv_transpose1d(s, x.in(), w.in(), few.in(), out.view()), shape_mismatch, op);
  EXPECT_RAISES(fg::conv_transpose1d(s, x.in(), w.in(), b.in(), out.view(), {2}), shape_mismatch,
                op);
  EXPECT_RAISES((void)fg::conv_transpose1d(s, x.in(), w.in(), b.in(), {1}, {0}, {0}, 3),
                shape_mismatch, op);
  EXPECT_RAISES((void)fg::conv_transpose1d(s, x.in(), w.in(), b.in(), {1}, {0}, {1}),
                invalid_argument, op);
  EXPECT_RAISES((void)fg::conv_transpose1d(s, x.in(), w.in(), b.in(), {0}), invalid_argument, op);
  EXPECT_RAISES((void)fg::conv_transpose1d(s, x.in(), w.in(), b.in(), {1}, {3}), shape_mismatch,
                op);
  EXPECT_RAISES((void)fg::conv_transpose1d(s, none.in(), w.in()), shape_mismatch, op);
  EXPECT_RAISES((void)fg::conv_transpose2d(s, x.in(), w.in()), shape_mismatch, "conv_transpose2d");
  EXPECT_TRUE(out.untouched());
}

TEST(conv_transpose, refuses_sizes_beyond_2_63) {
  const auto& s = test_stream<host>();
  constexpr i64 most = std::numeric_limits<i64>::max();
  test_tensor<f32> x({1, 0, 3}), w({0, 2, 2}), many({0, 8, 2}), y({1, 1, 3}), v({1, 1, 2});
  const char* op = "conv_transpose1d";
  EXPECT_RAISES((void)fg::conv_transpose1d(s, x.in(), w.in(), std::nullopt, {1}, {0}, {0}, most),
                invalid_argument, op);
  EXPECT_RAISES((void)fg::conv_transpose1d(s, x.in(), many.in(), std::nullopt, {1}, {0}, {0},
                                           (i64{1} << 61) + 1),
                invalid_argument, op);
  const auto said = [&](i64 stride, i64 padding, i64 dilation) {
    const auto e = error_of([&] {
      (void)fg::conv_transpose1d(s, y.in(), v.in(), std::nullopt, {stride}, {padding}, {0}, 1,
                                 {dilation});
    });
    return std::string(e.got());
  };
  EXPECT_NE(said(most, 0, 1).find("stride 9223372036854775807"), std::string::npos);
  EXPECT_NE(said(1, 0, most).find("dilation 9223372036854775807"), std::string::npos);
  EXPECT_EQ(said(1, most, 1), "9223372036854775807");
}
#endif

}  // namespace
}  // namespace flaggems_test
