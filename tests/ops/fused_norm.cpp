// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/fused_norm.hpp>
#include <support/ops.hpp>

namespace flaggems_test {
namespace {

template <class Case>
class fused_norms : public ::testing::Test {};
using norm_cases = cases<on_host<f32, bf16>, on_chips<bf16>, on_wide<bf16>>;
TYPED_TEST_SUITE(fused_norms, norm_cases);

TYPED_TEST(fused_norms, sums_and_weights_from_one) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 rows = 5, n = 70;
  at_every_level<D>([&] {
    for (const layout in : {layout::contiguous, layout::transposed, layout::negative}) {
      test_tensor<T, D> x({rows, n}, in, random_values({rows, n})),
          y({rows, n}, in, random_values({rows, n})), w({n}, in, random_values({n})),
          b({n}, in, random_values({n})), out({rows, n}, in);
      std::vector<double> skip, gemma;
      for (i64 r = 0; r < rows; ++r) {
        double sum = 0, squares = 0, variance = 0;
        const auto element = [&](const auto& t, i64 k) {
          return t.values()[static_cast<std::size_t>(r * n + k)];
        };
        for (i64 k = 0; k < n; ++k) {
          sum += element(x, k) + element(y, k);
          squares += element(x, k) * element(x, k);
        }
        const double mean = sum / static_cast<double>(n);
        for (i64 k = 0; k < n; ++k)
          variance += std::pow(element(x, k) + element(y, k) - mean, 2) / static_cast<double>(n);
        for (i64 k = 0; k < n; ++k) {
          const double weight = w.values()[static_cast<std::size_t>(k)];
          skip.push_back((element(x, k) + element(y, k) - mean) / std::sqrt(variance + 1e-5) *
                             weight +
                         b.values()[static_cast<std::size_t>(k)]);
          gemma.push_back(element(x, k) / std::sqrt(squares / static_cast<double>(n) + 1e-6) *
                          (1 + weight));
        }
      }
      fg::skip_layer_norm(s, x.in(), y.in(), {n}, w.in(), b.in(), out.view());
      expect_close<T>(out.read(), skip, tolerance_of<T>(2));
      EXPECT_TRUE(out.gaps_untouched());
      fg::gemma_rms_norm(s, x.in(), w.in(), out.view());
      expect_close<T>(out.read(), gemma, tolerance_of<T>(2));
      EXPECT_TRUE(out.gaps_untouched());
    }
  });
}

TYPED_TEST(fused_norms, other_names) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const shape sizes{5, 24};
  for (const layout in : {layout::contiguous, layout::strided}) {
    test_tensor<T, D> x(sizes, in, random_values(sizes)), y(sizes, in, random_values(sizes)),
        w({24}, in, random_values({24})), out(sizes, in);
    const auto normed = [&](const auto& of) {
      std::vector<double> r;
      for (std::size_t row = 0; row < 5; ++row) {
        double squares = 0;
        for (std::size_t k = 0; k < 24; ++k) squares += of(row * 24 + k) * of(row * 24 + k) / 24;
        for (std::size_t k = 0; k < 24; ++k)
          r.push_back(of(row * 24 + k) / std::sqrt(squares + 1e-3) * w.values()[k]);
      }
      return r;
    };
    const auto want = normed([&](std::size_t k) { return x.values()[k]; });
    fg::add_rms_norm(s, x.in(), y.in(), {24}, w.in(), out.view(), 1e-3);
    expect_close<T>(out.read(),
                    normed([&](std::size_t k) { return x.values()[k] + y.values()[k]; }),
                    tolerance_of<T>(2));
    EXPECT_TRUE(out.gaps_untouched());
    expect_close<T>(values_of(fg::rmsnorm(s, x.in(), w.in(), 1e-3)), want, tolerance_of<T>(2));
    const auto both = fg::fused_q_kv_rmsnorm(s, y.in(), x.in(), w.in(), w.in(), 1e-3);
    expect_close<T>(values_of(both.second), want, tolerance_of<T>(2));
  }
}

TYPED_TEST(fused_norms, sums_that_are_far_from_zero) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const i64 n : {i64{1}, i64{9}, i64{1100}}) {
    test_tensor<T, D> x({3, n}, layout::contiguous, random_values({3, n}, 60, 61)),
        y({3, n}, layout::contiguous, random_values({3, n}, 60, 61));
    std::vector<double> sums(x.values()), want;
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += y.values()[k];
    for (auto row = sums.begin(); row != sums.end(); row += n) {
      double mean = 0, variance = 0;
      for (i64 k = 0; k < n; ++k) mean += row[k] / static_cast<double>(n);
      for (i64 k = 0; k < n; ++k) variance += std::pow(row[k] - mean, 2) / static_cast<double>(n);
      for (i64 k = 0; k < n; ++k) want.push_back((row[k] - mean) / std::sqrt(variance + 1e-5));
    }
    // Into the residual.
    fg::skip_layer_norm(s, x.in(), y.in(), {n}, std::nullopt, std::nullopt, y.view());
    expect_close<T>(y.read(), want, tolerance_of<T>(200));
  }
}

TYPED_TEST(fused_norms, quantized_blocks) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const shape sizes{3, 64};
  for (const layout in : {layout::contiguous, layout::transposed, layout::negative}) {
    auto given = random_values(sizes, -7, 7);
    for (std::size_t k = 16; k < 32; ++k) given[k] = 0;
    test_tensor<T, D> x(sizes, in, given);
    for (const bool rounded : {false, true}) {
      const auto format = rounded ? fg::scale_format::ue8m0 : fg::scale_format::none;
      const auto [got, by] = fg::act_quant(s, x.in(), 16, format);
      EXPECT_EQ(by.shape_of(), (shape{3, 4}));
      const auto scales = values_of(by), elements = values_of(got);
      for (std::size_t block = 0; block < 12; ++block) {
        float most = 1e-4F;
        for (std::size_t k = 0; k < 16; ++k)
          most = std::max(most, static_cast<float>(std::abs(x.values()[block * 16 + k])));
        double scale = static_cast<double>(most * (1.0F / 448.0F));
        if (rounded) scale = std::exp2(std::ceil(std::log2(scale)));
        EXPECT_EQ(scales[block], scale) << block;
        for (std::size_t k = 0; k < 16; ++k) {
          const float want =
              static_cast<float>(x.values()[block * 16 + k]) / static_cast<float>(scale);
          EXPECT_EQ(elements[block * 16 + k],
                    fg::kernels::number_cast<f64>(fg::kernels::number_cast<fg::f8e4m3>(want)));
        }
      }
    }
  }
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(fused_norm, keeps_weights) {
  const auto& s = test_stream<host>();
  test_tensor<bf16> x({1, 4}), memory({8});
  const auto weight = memory.in().narrow(0, 0, 4);
  const auto out = memory.view().narrow(0, 2, 4).unsqueeze(0);
  EXPECT_RAISES(fg::skip_layer_norm(s, x.in(), x.in(), {4}, weight, std::nullopt, out), overlap,
                "skip_layer_norm");
  EXPECT_RAISES(fg::skip_layer_norm(s, x.in(), x.in(), {4}, std::nullopt, weight, out), overlap,
                "skip_layer_norm");
  EXPECT_RAISES(fg::gemma_rms_norm(s, x.in(), weight, out), overlap, "gemma_rms_norm");
  EXPECT_TRUE(memory.untouched());
}

TEST(fused_norm, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> x({3, 4}), y({3, 5}), out({3, 4}), w({3}), scales({3, 2});
  test_tensor<fg::f8e4m3> small({3, 4});
  EXPECT_RAISES(fg::skip_layer_norm(s, x.in(), y.in(), {4}), shape_mismatch, "skip_layer_norm");
  EXPECT_RAISES(fg::skip_layer_norm(s, x.in(), x.in(), {3}), shape_mismatch, "skip_layer_norm");
  EXPECT_RAISES(fg::gemma_rms_norm(s, x.in(), w.in(), out.view()), shape_mismatch,
                "gemma_rms_norm");
  EXPECT_RAISES(fg::act_quant(s, x.in(), small.view(), scales.view(), 3), shape_mismatch,
                "act_quant");
  EXPECT_RAISES(fg::act_quant(s, x.in(), small.view(), scales.view(), 4), shape_mismatch,
                "act_quant");
  test_tensor<f32> deep({1, 1, 1, 1, 1, 1, 1, 4});
  EXPECT_RAISES(static_cast<void>(fg::act_quant(s, deep.in(), 4)), invalid_argument, "act_quant");
  EXPECT_TRUE(out.untouched() && small.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
