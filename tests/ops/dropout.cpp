// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/activation_backward.hpp>
#include <flaggems/ops/dropout.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

using fg::philox_generator;
using fg::u64;

template <class Case>
class dropout : public ::testing::Test {};
using dropout_cases =
    unless_reduced<cases<on_host<f32, bf16, f64>, on_chips<f32, bf16>, on_wide<f32>>>;
TYPED_TEST_SUITE(dropout, dropout_cases);

/// Which elements stay: what bernoulli_ draws with probability 1 - p.
template <class T, class D>
std::vector<double> kept(const shape& sizes, double p, philox_generator g) {
  test_tensor<T, D> mask(sizes);
  fg::bernoulli_(test_stream<D>(), mask.view(), 1 - p, g);
  return mask.read();
}

TYPED_TEST(dropout, of_elements) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    const shape sizes{6, 35};
    for (const auto how : {layout::contiguous, layout::strided, layout::transposed}) {
      SCOPED_TRACE(to_string(how));
      test_tensor<T, D> x(sizes, how, random_values(sizes, -2, 2)), out(sizes, how);
      test_tensor<bool, D> mask(sizes, how);
      philox_generator g{8, 3};
      const auto stays = kept<T, D>(sizes, 0.25, g);
      std::vector<double> want, alpha;
      const double slope = 1.7580993408473766;
      const double scale = 1 / std::sqrt((slope * slope * 0.25 + 1) * 0.75);
      for (std::size_t k = 0; k < stays.size(); ++k) {
        want.push_back(stays[k] * x.values()[k] / 0.75);
        alpha.push_back(scale *
                        (stays[k] != 0 ? x.values()[k] + slope * 0.25 : slope * (0.25 - 1)));
      }
      const double error = std::is_same_v<T, bf16> ? 8e-3 : 1e-6;
      const tolerance near{error, error};
      fg::native_dropout(stream, x.in(), 0.25, std::nullopt, g, out.view(), mask.view());
      expect_close<T>(out.read(), want, near);
      expect_equal(mask.read(), stays);
      EXPECT_TRUE(out.gaps_untouched() && mask.gaps_untouched() && x.untouched());
      const u64 all = sizeof(T) == 8 ? 2 : 4;
      EXPECT_EQ(g.offset, 3 + (210 + all - 1) / all);
      const auto dx = fg::masked_scale(stream, x.in(), mask.in(), 1 / 0.75);  // of the gradient x
      EXPECT_EQ(values_of(dx), out.read());

      g.offset = 3;
      EXPECT_EQ(values_of(fg::dropout(stream, x.in(), 0.25, true, g)), out.read());
      EXPECT_EQ(g.offset, 3 + (210 + all - 1) / all);
      g.offset = 3;
      expect_close<T>(values_of(fg::alpha_dropout(stream, x.in(), 0.25, true, g)), alpha, near);
      const auto before = g;
      EXPECT_EQ(values_of(fg::dropout(stream, x.in(), 0.25, false, g)), x.values());
      EXPECT_EQ(values_of(fg::alpha_dropout(stream, x.in(), 0, true, g)), x.values());
      EXPECT_EQ(g.offset, before.offset);
      const auto [same, true_mask] = fg::native_dropout(stream, x.in(), 0.25, false, g);
      EXPECT_EQ(values_of(same), x.values());
      EXPECT_EQ(values_of(true_mask), std::vector<double>(210, 1));
      for (const double v : values_of(fg::dropout(stream, x.in(), 1, true, g))) EXPECT_EQ(v, 0);
      for (const double v : values_of(fg::alpha_dropout(stream, x.in(), 1, true, g)))
        EXPECT_EQ(v, 0);
      g.offset = 3;
      test_tensor<T, D> other(sizes, how, x.values());
      fg::alpha_dropout_(stream, other.view(), 0.25, true, g);
      expect_close<T>(other.read(), alpha, near);
      g.offset = 3;
      fg::dropout_(stream, x.view(), 0.25, true, g);
      EXPECT_EQ(x.read(), out.read());
    }
  });
}

TYPED_TEST(dropout, of_features) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    const shape sizes{4, 9, 3, 2};
    test_tensor<T, D> x(sizes, layout::contiguous, std::vector<double>(216, 1));
    philox_generator g{8, 3};
    const auto stays = kept<T, D>({4, 9, 1, 1}, 0.5, g);
    const auto got = values_of(fg::feature_dropout(stream, x.in(), 0.5, true, g));
    EXPECT_EQ(g.offset, 3U + (sizeof(T) == 8 ? 18U : 9U));
    g.offset = 3;
    test_tensor<T, D> changed(sizes, layout::transposed, x.values());
    fg::feature_dropout_(stream, changed.view(), 0.5, true, g);
    EXPECT_EQ(changed.read(), got);
    g.offset = 3;
    const auto alpha = values_of(fg::feature_alpha_dropout(stream, x.in(), 0.5, true, g));
    test_tensor<T, D> other(sizes, layout::strided, x.values());
    g.offset = 3;
    fg::feature_alpha_dropout_(stream, other.view(), 0.5, true, g);
    EXPECT_EQ(other.read(), alpha);
    for (std::size_t k = 0; k < 216; ++k) {
      EXPECT_EQ(got[k], 2 * stays[k / 6]) << k;
      EXPECT_EQ(alpha[k], alpha[k / 6 * 6]);
      EXPECT_EQ(alpha[k] > 0, stays[k / 6] != 0);
    }
  });
}

TYPED_TEST(dropout, rrelu) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& stream = test_stream<D>();
  at_every_level<D>([&] {
    const shape sizes{5, 21};
    test_tensor<T, D> x(sizes, layout::strided, random_values(sizes, -2, 2)), noise(sizes),
        out(sizes), slopes(sizes);
    philox_generator g{8, 3}, same{8, 3};
    fg::uniform_(stream, slopes.view(), 0.125, 0.5, same);
    fg::rrelu_with_noise(stream, x.in(), noise.view(), 0.125, 0.5, true, g, out.view());
    EXPECT_EQ(g.offset, same.offset);
    const auto slope = slopes.read(), got = noise.read();
    std::vector<double> want;
    for (std::size_t k = 0; k < got.size(); ++k) {
      EXPECT_EQ(got[k], x.values()[k] <= 0 ? slope[k] : 1) << k;
      want.push_back(got[k] * x.values()[k]);
    }
    const tolerance near{std::is_same_v<T, bf16> ? 8e-3 : 1e-6, 1e-6};
    expect_close<T>(out.read(), want, near);
    const auto dx =
        fg::rrelu_with_noise_backward(stream, x.in(), x.in(), noise.in(), 0.125, 0.5, true, false);
    EXPECT_EQ(values_of(dx), out.read());
    g.offset = 3;
    EXPECT_EQ(values_of(fg::rrelu_with_noise(stream, x.in(), slopes.view(), 0.125, 0.5, true, g)),
              out.read());
    g.offset = 3;
    const auto both = fg::rrelu_with_noise_functional(stream, x.in(), x.in(), 0.125, 0.5, true, g);
    EXPECT_EQ(values_of(both.first), out.read());
    EXPECT_EQ(values_of(both.second), got);
    g.offset = 3;
    expect_close<T>(values_of(fg::rrelu(stream, x.in(), 0.125, 0.5, true, g)), want, near);
    const auto tested = values_of(fg::leaky_relu(stream, x.in(), 0.3125));
    EXPECT_EQ(values_of(fg::rrelu(stream, x.in(), 0.125, 0.5, false, g)), tested);
    EXPECT_EQ(values_of(fg::rrelu_with_noise(stream, x.in(), noise.view(), 0.125, 0.5, false, g)),
              tested);
    EXPECT_EQ(noise.read(), got);
  });
}

TYPED_TEST(dropout, refuses) {
  using D = typename TypeParam::device;
  const auto& stream = test_stream<D>();
  philox_generator g{8, 3};
  test_tensor<f32, D> x({4, 3}), out({4, 3}), noise({4, 3});
  test_tensor<bool, D> mask({4, 3});
  for (const double no : {-0.5, 1.5, std::nan("")}) {
    EXPECT_RAISES(fg::dropout(stream, x.in(), no, true, g, out.view()), invalid_argument,
                  "dropout");
    EXPECT_RAISES(fg::alpha_dropout_(stream, x.view(), no, true, g), invalid_argument,
                  "alpha_dropout_");
    EXPECT_RAISES(fg::feature_dropout(stream, x.in(), no, false, g, out.view()), invalid_argument,
                  "feature_dropout");
    EXPECT_RAISES(fg::native_dropout(stream, x.in(), no, true, g, out.view(), mask.view()),
                  invalid_argument, "native_dropout");
  }
  EXPECT_RAISES(
      fg::feature_dropout(stream, x.in().select(0, 0), 0.5, true, g, out.view().select(0, 0)),
      invalid_argument, "feature_dropout");
  EXPECT_RAISES(fg::dropout(stream, x.in(), 0.5, true, g, out.view().narrow(0, 0, 2)),
                shape_mismatch, "dropout");
  EXPECT_RAISES(
      fg::native_dropout(stream, x.in(), 0.5, true, g, out.view(), mask.view().narrow(0, 0, 2)),
      shape_mismatch, "native_dropout");
  EXPECT_RAISES(fg::native_dropout(stream, x.in(), 0.5, true, g, out.view(),
                                   mask.view().narrow(0, 0, 1).expand({4, 3})),
                overlap, "native_dropout");
  EXPECT_RAISES(fg::rrelu_with_noise(stream, x.in(), noise.view(), 0.5, 0.25, true, g, out.view()),
                invalid_argument, "rrelu_with_noise");
  EXPECT_RAISES(fg::rrelu_with_noise(stream, x.in(), noise.view().narrow(0, 0, 2), 0.25, 0.5, true,
                                     g, out.view()),
                shape_mismatch, "rrelu_with_noise");
  EXPECT_RAISES(fg::rrelu_with_noise(stream, x.in(), x.view(), 0.25, 0.5, true, g, out.view()),
                overlap, "rrelu_with_noise");
  auto both = fg::zeros<f32>(stream, {4});
  auto slopes = fg::full<f32>(stream, {3}, 7);
  EXPECT_RAISES(fg::rrelu_with_noise(stream, both.view().narrow(0, 0, 3), slopes.view(), 0.25, 0.5,
                                     true, g, both.view().narrow(0, 1, 3)),
                overlap, "rrelu_with_noise");
  EXPECT_EQ(values_of(slopes), std::vector<double>(3, 7));
  EXPECT_TRUE(x.untouched() && out.untouched() && mask.untouched() && noise.untouched());
  EXPECT_EQ(g.offset, 3U);
}

}  // namespace
}  // namespace flaggems_test
