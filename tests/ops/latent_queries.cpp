// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/latent_queries.hpp>
#include <support/latent.hpp>

#include <limits>

namespace flaggems_test {
namespace {

using values = std::vector<double>;

template <class Case>
class latent_queries : public ::testing::Test {};
using head_cases = cases<on_host<f32, bf16, f16>, on_chips<bf16>, on_wide<f32>>;
TYPED_TEST_SUITE(latent_queries, head_cases);

/// The code of f4e2m1 nearest to x, of two the even one.
unsigned nearest_f4(double x) {
  const double all[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  unsigned best = 0;
  for (unsigned k = 1; k < 8; ++k) {
    const double before = std::fabs(std::fabs(x) - all[best]),
                 own = std::fabs(std::fabs(x) - all[k]);
    if (own < before || (own == before && k % 2 == 0)) best = k;
  }
  return best + (std::signbit(x) ? 8 : 0);
}

TYPED_TEST(latent_queries, of_an_indexer) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  at_every_level<D>([&] {
    for (const auto& [size, rotary] : {std::pair<i64, i64>{64, 32}, {32, 6}, {96, 0}})
      for (const layout in : {layout::contiguous, layout::strided, layout::negative}) {
        const shape sizes{3, 2, size}, of_table{7, rotary};
        test_tensor<T, D> q(sizes, in, coarse_values(sizes)),
            weights({3, 2}, in, coarse_values({3, 2}));
        test_tensor<i64, D> ids({3}, in, {6, 0, 2});
        test_tensor<f32, D> table(of_table, in, quarter_turns(of_table));
        const auto f8 = fg::fused_indexer_q_rope_quant(s, ids.in(), q.in(), table.in(),
                                                       weights.in(), 0.5, 0.25);
        const auto f4 = fg::fused_indexer_q_rope_quant_mxfp4(s, ids.in(), q.in(), table.in(),
                                                             weights.in(), 0.5, 0.25);
        values codes, scaled, small, exponents, plain;
        const auto all = static_cast<std::size_t>(size), turned = static_cast<std::size_t>(rotary);
        for (std::size_t row = 0; row < 6; ++row) {
          const double* angles =
              table.values().data() + static_cast<std::size_t>(ids.values()[row / 2]) * turned;
          auto x = turned_head(part_of(q.values(), row * all, all), angles, turned);
          for (float& v : x) v = static_cast<float>(T(v));
          const float scale = scale_of_f8(x, 1e-4F, true);
          for (const float v : x) codes.push_back(double(float(fg::f8e4m3(v / scale))));
          scaled.push_back(weights.values()[row] * scale * 0.125);
          plain.push_back(weights.values()[row] * 0.125);
          for (std::size_t g = 0; g < all; g += 32) {
            float most = 1e-37F;
            for (std::size_t e = g; e < g + 32; ++e) most = std::max(most, std::fabs(x[e]));
            const double power = std::ceil(std::log2(most / 6));
            exponents.push_back(power + 127);
            for (std::size_t e = g; e < g + 32; e += 2)
              small.push_back(nearest_f4(x[e] / std::exp2(power)) +
                              16 * nearest_f4(x[e + 1] / std::exp2(power)));
          }
        }
        expect_equal(values_of(f8.first), codes);
        expect_close<f32>(values_of(f8.second), scaled);
        expect_equal(values_of(std::get<0>(f4)), small);
        expect_equal(values_of(std::get<1>(f4)), exponents);
        expect_close<f32>(values_of(std::get<2>(f4)), plain);
        EXPECT_TRUE(q.untouched());
      }
  });
}

TYPED_TEST(latent_queries, rotated_back) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const i64 groups = 2, heads = 2, nope = 24, rope = 8, group = 8;
  const shape sizes{3, groups * heads, nope + rope};
  at_every_level<D>([&] {
    for (const layout how : output_layouts) {
      test_tensor<T, D> o(sizes, how, coarse_values(sizes));
      test_tensor<i64, D> ids({3}, how, {6, 0, 2});
      test_tensor<f32, D> table({7, rope}, how, quarter_turns({7, rope})),
          by({3, groups, heads * 4}, how);
      test_tensor<fg::f8e4m3, D> codes({3, groups, heads * (nope + rope)}, how);
      test_tensor<fg::i32, D> words({3, groups, heads}, how);
      values want, scales, packed, wide;
      for (std::size_t row = 0; row < 12; ++row) {
        const double* angles =
            table.values().data() + static_cast<std::size_t>(ids.values()[row / 4]) * 8;
        const auto x = turned_head(part_of(o.values(), row * 32, 32), angles, 8, true);
        unsigned word = 0;
        for (std::size_t g = 0; g < 4; ++g) {
          const std::vector<float> own(x.begin() + static_cast<std::ptrdiff_t>(8 * g),
                                       x.begin() + static_cast<std::ptrdiff_t>(8 * g + 8));
          const float scale = scale_of_f8(own, 1e-10F, false),
                      power = scale_of_f8(own, 1e-10F, true);
          scales.push_back(scale);
          word |= static_cast<unsigned>(std::log2(power) + 127) << (8 * g);
          for (const float v : own) want.push_back(double(float(fg::f8e4m3(v / scale))));
          for (const float v : own) wide.push_back(double(float(fg::f8e4m3(v / power))));
        }
        packed.push_back(static_cast<double>(static_cast<fg::i32>(word)));
      }
      fg::fused_inv_rope_fp8_quant(s, o.in(), ids.in(), table.in(), codes.view(), by.view(), groups,
                                   heads, nope, rope, group);
      expect_equal(codes.read(), want);
      expect_close<f32>(by.read(), scales);
      EXPECT_TRUE(codes.gaps_untouched() && by.gaps_untouched());
      fg::fused_inv_rope_fp8_quant(s, o.in(), ids.in(), table.in(), codes.view(), words.view(),
                                   groups, heads, nope, rope, group);
      expect_equal(codes.read(), wide);
      expect_equal(words.read(), packed);
      EXPECT_TRUE(words.gaps_untouched());
      const auto made = fg::fused_inv_rope_fp8_quant(s, o.in(), ids.in(), table.in(), groups, heads,
                                                     nope, rope, group);
      expect_equal(values_of(made.first), want);
      EXPECT_EQ(made.first.view().stride(1), 3 * heads * (nope + rope));
      EXPECT_EQ(made.second.view().stride(0), 1);
      const auto both = fg::fused_inv_rope_fp8_quant_packed(s, o.in(), ids.in(), table.in(), groups,
                                                            heads, nope, rope, group);
      expect_equal(values_of(both.second), packed);
    }
  });
}

template <class Device>
class latent_edges : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(latent_edges, devices);

TYPED_TEST(latent_edges, numbers) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  values x(96, 0.0);
  x[1] = nan, x[32] = inf;  // and a group of zeros
  test_tensor<f32, D> q({1, 1, 96}, layout::contiguous, x), table({1, 0}),
      one({1, 1}, layout::contiguous, {1});
  test_tensor<i64, D> ids({1});
  const auto f4 =
      fg::fused_indexer_q_rope_quant_mxfp4(s, ids.in(), q.in(), table.in(), one.in(), 1, 1);
  expect_equal(values_of(std::get<1>(f4)), {255, 255, 1});
  const auto f8 = fg::fused_inv_rope_fp8_quant(s, q.in(), ids.in(), table.in(), 1, 1, 96, 0, 32);
  const auto codes = values_of(f8.first), scales = values_of(f8.second);
  EXPECT_TRUE(std::isnan(scales[0]) && std::isnan(codes[0]) && std::isinf(scales[1]));
  EXPECT_EQ(codes[64], 0);
  test_tensor<f32, D> none({0, 2, 32}), weights({0, 2});
  test_tensor<i64, D> nothing({0});
  EXPECT_EQ(
      fg::fused_indexer_q_rope_quant(s, nothing.in(), none.in(), table.in(), weights.in(), 1, 1)
          .first.numel(),
      0);
  EXPECT_EQ(fg::fused_inv_rope_fp8_quant(s, none.in(), nothing.in(), table.in(), 1, 2, 32, 0, 32)
                .second.numel(),
            0);
}

#if FLAGGEMS_TEST_HOST  // about the host
TEST(latent_queries_host, refuses_bad_arguments) {
  const auto& s = test_stream<host>();
  test_tensor<f32> q({2, 3, 8}), table({5, 4}), weights({2, 3}), other({3, 2}), by({2, 1, 6});
  test_tensor<fg::f8e4m3> codes({2, 1, 24});
  test_tensor<fg::i32> words({2, 1, 3});
  test_tensor<i64> ids({2}), far({2}, layout::contiguous, {0, 5}), three({3});
  constexpr const char* op = "fused_indexer_q_rope_quant";
  EXPECT_RAISES(fg::fused_indexer_q_rope_quant(s, far.in(), q.in(), table.in(), weights.in(), 1, 1),
                out_of_range, op);
  EXPECT_RAISES(
      fg::fused_indexer_q_rope_quant(s, three.in(), q.in(), table.in(), weights.in(), 1, 1),
      shape_mismatch, op);
  EXPECT_RAISES(fg::fused_indexer_q_rope_quant(s, ids.in(), q.in(), table.in(), other.in(), 1, 1),
                shape_mismatch, op);
  EXPECT_RAISES(
      fg::fused_indexer_q_rope_quant_mxfp4(s, ids.in(), q.in(), table.in(), weights.in(), 1, 1),
      shape_mismatch, op);
  const auto back = [&](const auto& to, const auto& scales, i64 nope, i64 group) {
    fg::fused_inv_rope_fp8_quant(s, q.in(), ids.in(), table.in(), to, scales, 1, 3, nope, 4, group);
  };
  constexpr const char* inverse = "fused_inv_rope_fp8_quant";
  EXPECT_RAISES(back(codes.view(), by.view(), 5, 4), shape_mismatch, inverse);
  EXPECT_RAISES(back(codes.view(), by.view(), 4, 3), shape_mismatch, inverse);
  EXPECT_RAISES(back(codes.view(), by.view(), 4, 8), shape_mismatch, inverse);
  EXPECT_RAISES(back(codes.view(), words.view(), 4, 4), not_supported, inverse);
  constexpr i64 most = (std::numeric_limits<i64>::max)();
  for (const i64 wild : {most, -most - 1, i64{1} << 62}) {  // whose products and sums are anything
    const auto made = [&](i64 groups, i64 heads, i64 nope, i64 rope) {
      (void)fg::fused_inv_rope_fp8_quant(s, q.in(), ids.in(), table.in(), groups, heads, nope, rope,
                                         4);
    };
    EXPECT_RAISES(made(wild, 3, 4, 4), shape_mismatch, inverse);
    EXPECT_RAISES(made(1, wild, 4, 4), shape_mismatch, inverse);
    EXPECT_RAISES(made(1, 3, wild, 4), shape_mismatch, inverse);
    EXPECT_RAISES(made(1, 3, 4, wild), shape_mismatch, inverse);
  }
  test_tensor<f32> no_elements({2, 3, 0}), no_angles({5, 0}), of_heads({2, 3});
  EXPECT_RAISES((void)fg::fused_indexer_q_rope_quant(s, ids.in(), no_elements.in(), no_angles.in(),
                                                     of_heads.in(), 1, 1),
                shape_mismatch, op);
  EXPECT_TRUE(codes.untouched() && by.untouched() && words.untouched());
}
#endif

}  // namespace
}  // namespace flaggems_test
