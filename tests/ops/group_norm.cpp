// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/group_norm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

struct expected {
  values out, mean, rstd;
  expected(const values& x, const shape& sizes, i64 groups, const values& w, const values& b,
           double eps) {
    i64 own = 1;
    for (int d = 2; d < sizes.rank(); ++d) own *= sizes[d];
    const i64 length = sizes[1] / groups * own;
    for (i64 row = 0; row < sizes[0] * groups; ++row) {
      const auto at = [&](i64 k) { return x[static_cast<std::size_t>(row * length + k)]; };
      double m = 0, v = 0;
      for (i64 k = 0; k < length; ++k) m += at(k) / static_cast<double>(length);
      for (i64 k = 0; k < length; ++k) v += (at(k) - m) * (at(k) - m) / static_cast<double>(length);
      mean.push_back(m);
      rstd.push_back(1 / std::sqrt(v + eps));
      for (i64 k = 0; k < length; ++k) {
        const auto c = static_cast<std::size_t>(row % groups * (sizes[1] / groups) + k / own);
        out.push_back((at(k) - m) * rstd.back() * (w.empty() ? 1 : w[c]) + (b.empty() ? 0 : b[c]));
      }
    }
  }
};

template <class T>
tolerance near() {
  tolerance tol = tolerance_of<T>();
  if (sizeof(T) == 4) tol = {4e-6, 4e-6};
  if (sizeof(T) == 8) tol = {1e-12, 1e-12};
  return tol;
}

enum class given { both, weight, none };

template <class D, class T, class W = T>
void check(const shape& sizes, i64 groups, layout in, layout to, given what = given::both) {
  SCOPED_TRACE(std::string(to_string(in)) + ", to " + to_string(to) + ", sizes " +
               fg::to_string(sizes) + ", groups " + std::to_string(groups));
  const auto& stream = test_stream<D>();
  const shape channels{sizes[1]};
  test_tensor<T, D> x(sizes, in, random_values(sizes, -1, 3)), out(sizes, to), again(sizes, to);
  test_tensor<W, D> w(channels, in, random_values(channels)),
      b(channels, to, random_values(channels));
  using M = fg::detail::saved_type<T>;
  test_tensor<M, D> mean({sizes[0], groups}, to), rstd({sizes[0], groups});
  const std::optional weight = what != given::none ? std::optional(w.in()) : std::nullopt;
  const std::optional bias = what == given::both ? std::optional(b.in()) : std::nullopt;
  i64 own = 1;
  for (int d = 2; d < sizes.rank(); ++d) own *= sizes[d];
  fg::native_group_norm(stream, x.in(), weight, bias, sizes[0], sizes[1], own, groups, out.view(),
                        mean.view(), rstd.view(), 1e-3);
  const expected want(x.values(), sizes, groups, weight ? w.values() : values(),
                      bias ? b.values() : values(), 1e-3);
  expect_close<T>(out.read(), want.out, near<T>());
  expect_close<M>(mean.read(), want.mean, near<M>());
  expect_close<M>(rstd.read(), want.rstd, near<M>());
  fg::group_norm(stream, x.in(), groups, weight, bias, again.view(), 1e-3);
  expect_equal(again.read(), out.read());
  EXPECT_TRUE(out.gaps_untouched());
  EXPECT_TRUE(mean.gaps_untouched());
  EXPECT_TRUE(x.untouched());
  EXPECT_TRUE(w.untouched());
}

template <class Case>
class group_norm : public ::testing::Test {};
TYPED_TEST_SUITE(group_norm, float_cases);

// Channels of one element, of fewer than an access has, and of other than a multiple of that.
TYPED_TEST(group_norm, sizes_of_channels) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  at_every_level<D>([] {
    for (const i64 n : {1, 3, 8, 49, 64, 301})
      for (const given what : {given::both, given::weight, given::none})
        check<D, T>({2, 12, n}, n == 8 ? 12 : 3, layout::contiguous, layout::contiguous, what);
    check<D, T>({2, 12}, 4, layout::contiguous, layout::contiguous);
    check<D, T>({1, 8, 3, 5, 2}, 1, layout::contiguous, layout::contiguous);
  });
}

template <class Device>
class group_norm_layouts : public ::testing::Test {};
using devices = all_devices;
TYPED_TEST_SUITE(group_norm_layouts, devices);

TYPED_TEST(group_norm_layouts, all) {
  at_every_level<TypeParam>([] {
    for (const layout in : input_layouts)
      for (const layout to : output_layouts) check<TypeParam, f32>({2, 6, 4, 5}, 3, in, to);
  });
  check<TypeParam, bf16, f32>({2, 6, 35}, 2, layout::contiguous, layout::contiguous);
}

TYPED_TEST(group_norm_layouts, channels_last) {
  const shape sizes{2, 8, 3, 5}, stored{2, 3, 5, 8};
  test_tensor<f32, TypeParam> x(stored, layout::contiguous, random_values(stored)), out(stored);
  test_tensor<f32, TypeParam> w({8}, layout::contiguous, random_values({8}));
  const auto last = [](const auto& v) { return v.permute({0, 3, 1, 2}); };
  fg::group_norm(test_stream<TypeParam>(), last(x.in()), 4, w.in(), std::nullopt, last(out.view()),
                 1e-3);
  values in_order;
  for (i64 n = 0; n < 2; ++n)
    for (i64 c = 0; c < 8; ++c)
      for (i64 k = 0; k < 15; ++k)
        in_order.push_back(x.values()[static_cast<std::size_t>((n * 15 + k) * 8 + c)]);
  const expected want(in_order, sizes, 4, w.values(), {}, 1e-3);
  const values got = out.read();
  values sorted;
  for (i64 n = 0; n < 2; ++n)
    for (i64 c = 0; c < 8; ++c)
      for (i64 k = 0; k < 15; ++k)
        sorted.push_back(got[static_cast<std::size_t>((n * 15 + k) * 8 + c)]);
  expect_close<f32>(sorted, want.out, near<f32>());
}

// A block holds all of one row, of another a cluster of blocks does not.
TYPED_TEST(group_norm_layouts, long_rows) {
  check<TypeParam, f32>({2, 4, 3001}, 2, layout::contiguous, layout::contiguous);
  check<TypeParam, f32>({1, 4, 20001}, 2, layout::contiguous, layout::contiguous);
}

TYPED_TEST(group_norm_layouts, empty) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> none({2, 4, 0}), no_rows({0, 4, 3});
  const auto r =
      fg::native_group_norm(stream, none.in(), std::nullopt, std::nullopt, 2, 4, 0, 2, 1e-5);
  for (const double v : values_of(r.mean)) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(fg::group_norm(stream, no_rows.in(), 2).numel(), 0);
}

/// The gradients by their formulas, of [n, c, hw] in `groups`.
struct expected_gradients {
  values input, weight, bias;
  expected_gradients(const values& grad, const values& x, const values& w, i64 n, i64 c, i64 hw,
                     i64 groups, double eps)
      : input(x.size()), weight(static_cast<std::size_t>(c)), bias(static_cast<std::size_t>(c)) {
    const i64 own = c / groups * hw;
    const auto count = static_cast<double>(own);
    for (i64 row = 0; row < n * groups; ++row) {
      double mean = 0, square = 0, sum = 0, product = 0;
      const auto each = [&](const auto& f) {
        for (i64 k = 0; k < own; ++k)
          f(static_cast<std::size_t>(row * own + k),
            static_cast<std::size_t>(row % groups * (c / groups) + k / hw));
      };
      each([&](std::size_t at, std::size_t) { mean += x[at] / count; });
      each([&](std::size_t at, std::size_t) { square += (x[at] - mean) * (x[at] - mean) / count; });
      const double rstd = 1 / std::sqrt(square + eps);
      each([&](std::size_t at, std::size_t channel) {
        const double normal = (x[at] - mean) * rstd, g = grad[at] * w[channel];
        sum += g / count, product += g * normal / count;
        weight[channel] += grad[at] * normal, bias[channel] += grad[at];
      });
      each([&](std::size_t at, std::size_t channel) {
        input[at] = rstd * (grad[at] * w[channel] - sum - (x[at] - mean) * rstd * product);
      });
    }
  }
};

TYPED_TEST(group_norm_layouts, gradients) {
  const auto& s = test_stream<TypeParam>();
  const shape sizes{2, 6, 5};
  for (const layout how : output_layouts) {
    test_tensor<f32, TypeParam> x(sizes, how, random_values(sizes)),
        g(sizes, how, random_values(sizes)), w({6}, how, random_values({6}));
    const auto kept = fg::native_group_norm(s, x.in(), w.in(), std::nullopt, 2, 6, 5, 3, 1e-3);
    const auto got =
        fg::native_group_norm_backward(s, g.in(), x.in(), kept.mean, kept.rstd, w.in(), 2, 6, 5, 3);
    const expected_gradients want(g.values(), x.values(), w.values(), 2, 6, 5, 3, 1e-3);
    expect_close<f32>(values_of(*got.input), want.input, near<f32>());
    expect_close<f32>(values_of(*got.weight), want.weight, near<f32>());
    expect_close<f32>(values_of(*got.bias), want.bias, near<f32>());
  }
  test_tensor<bf16, TypeParam> x(sizes, layout::contiguous, random_values(sizes)), one({2, 3});
  const auto kept = fg::native_group_norm(s, x.in(), std::nullopt, std::nullopt, 2, 6, 5, 3, 1e-3);
  const auto got = fg::native_group_norm_backward(s, x.in(), x.in(), kept.mean, kept.rstd,
                                                  std::nullopt, 2, 6, 5, 3, {true, false, false});
  const expected_gradients want(x.values(), x.values(), values(6, 1), 2, 6, 5, 3, 1e-3);
  expect_close<bf16>(values_of(*got.input), want.input, {0.02, 0.02});
  EXPECT_FALSE(got.weight || got.bias);
  EXPECT_RAISES(static_cast<void>(fg::native_group_norm_backward(
                    s, x.in(), x.in(), kept.mean, kept.rstd, std::nullopt, 2, 6, 5, 2)),
                shape_mismatch, "native_group_norm_backward");
}

TYPED_TEST(group_norm_layouts, bad_input) {
  const auto& stream = test_stream<TypeParam>();
  test_tensor<f32, TypeParam> x({2, 6, 4}, layout::contiguous, random_values({2, 6, 4})),
      out({2, 6, 4}), w({6}), five({5});
  const auto run = [&](const auto& from, i64 groups, const auto& weight, const auto& to) {
    fg::group_norm(stream, from, groups, weight, std::nullopt, to);
  };
  EXPECT_RAISES(run(x.in(), 4, w.in(), out.view()), invalid_argument, "group_norm");
  EXPECT_RAISES(run(x.in(), 0, w.in(), out.view()), invalid_argument, "group_norm");
  EXPECT_RAISES(run(w.in(), 1, w.in(), w.view()), invalid_argument, "group_norm");
  EXPECT_RAISES(run(x.in(), 3, five.in(), out.view()), shape_mismatch, "group_norm");
  EXPECT_RAISES(run(x.in(), 3, w.in(), out.view().narrow(0, 0, 1)), shape_mismatch, "group_norm");
  EXPECT_RAISES(run(x.in(), 3, out.view().select(0, 0).select(1, 0), out.view()), overlap,
                "group_norm");
  EXPECT_RAISES((void)fg::native_group_norm(stream, x.in(), w.in(), w.in(), 2, 6, 5, 3, 1e-5),
                shape_mismatch, "native_group_norm");
  EXPECT_TRUE(out.untouched());
}

}  // namespace
}  // namespace flaggems_test
