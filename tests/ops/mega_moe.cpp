// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/mega_moe.hpp>
#include <support/experts.hpp>

namespace flaggems_test {
namespace {

using fg::f8e4m3, fg::i32, fg::u8;

template <class Device>
class mega_moe : public ::testing::Test {};
using devices = elementwise_devices<chip32, simt64>;
TYPED_TEST_SUITE(mega_moe, devices);

TYPED_TEST(mega_moe, of_4_and_8_bits) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 n = 32, k = 64;
  for (const std::size_t which : {0u, 3u}) {
    routing r = some_routings()[which];
    coded x(1, r.tokens, k, 1, 32, -4, 4), a(r.experts, 2 * n, k, 1, 32, 0, 15),
        b(r.experts, k, n, 1, 32, 0, 15);
    for (coded* c : {&x, &a, &b})
      for (double& v : c->scales) v /= 16;
    const auto exponents = [](const coded& c) {
      numbers bytes;
      for (const double v : c.scales) bytes.push_back(std::log2(v) + 127);
      return bytes;
    };
    test_tensor<f8e4m3, D> codes({r.tokens, k}, layout::contiguous, x.codes);
    test_tensor<f32, D> by({r.tokens, k / 32}, layout::strided, x.scales),
        f1(a.of_scales(), layout::contiguous, a.scales),
        f2(b.of_scales(), layout::contiguous, b.scales),
        weights({r.tokens, r.choices}, layout::contiguous,
                random_values({r.tokens, r.choices}, 0, 1));
    test_tensor<u8, D> l1({r.experts, 2 * n, k / 2}, layout::contiguous, a.pairs()),
        l2({r.experts, k, n / 2}, layout::contiguous, b.pairs()),
        e1(a.of_scales(), layout::contiguous, exponents(a)),
        e2(b.of_scales(), layout::contiguous, exponents(b)),
        ex({r.tokens, k / 32}, layout::contiguous, exponents(x));
    test_tensor<i64, D> ids({r.tokens, r.choices}, layout::contiguous, r.ids);
    for (coded* c : {&a, &b})
      for (double& code : c->codes) code = number_of_e2m1(code);
    const numbers want = mixture(r, x.values(0), a.values(0), b.values(0), weights.values(), n, k);
    const auto got = fg::fp8_fp4_mega_moe_torch_ref(s, codes.in(), by.in(), ids.in(), weights.in(),
                                                    l1.in(), f1.in(), l2.in(), f2.in());
    expect_close<f32>(values_of(got), want, {1e-5, 1e-4});
    const auto narrow = fg::fp8_fp4_mega_moe(s, codes.in(), ex.in(), ids.in(), weights.in(),
                                             l1.in(), e1.in(), l2.in(), e2.in());
    expect_close<bf16>(values_of(narrow), want, {0.016, 1e-3});
    const auto clamped = fg::fp8_fp4_mega_moe_torch_ref(
        s, codes.in(), by.in(), ids.in(), weights.in(), l1.in(), f1.in(), l2.in(), f2.in(), 1e3);
    expect_equal(values_of(clamped), values_of(got));  // nothing is beyond
    EXPECT_RAISES(
        static_cast<void>(fg::fp8_fp4_mega_moe(s, codes.in(), ex.in(), ids.in(), weights.in(),
                                               l1.in(), e1.in(), l1.in(), e2.in())),
        shape_mismatch, "fp8_fp4_mega_moe");
  }
}

TYPED_TEST(mega_moe, staged_inputs) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 tokens = 3, k = 256, groups = k / 32;
  numbers values = random_values({tokens, k}, -3, 3);
  for (std::size_t at = 0; at < 32; ++at) values[at] = 0;
  for (std::size_t at = 32; at < 64; ++at) values[at] *= 1e4;
  test_tensor<f32, D> x({tokens, k}, layout::strided, values),
      weights({tokens, 2}, layout::contiguous, random_values({tokens, 2}, 0, 1)),
      kept({tokens, 2}, layout::negative);
  test_tensor<i32, D> ids({tokens, 2}, layout::contiguous, {1, 2, 3, 4, -1, 0}),
      exponents({tokens, groups / 4}, layout::strided);
  test_tensor<f8e4m3, D> codes({tokens, k}, layout::transposed);
  test_tensor<i64, D> wide({tokens, 2}, layout::strided);
  fg::stage_deepseek_v4_mega_moe_inputs(s, x.in(), weights.in(), ids.in(), codes.view(),
                                        exponents.view(), wide.view(), kept.view());
  numbers want, packed;
  for (i64 t = 0; t < tokens; ++t)
    for (i64 g = 0; g < groups; ++g) {
      double peak = 1e-4;
      for (i64 e = 0; e < 32; ++e)
        peak = std::max(peak, std::abs(x.values()[place(t * k + g * 32 + e)]));
      const int exponent = static_cast<int>(std::ceil(std::log2(peak / 448)));
      for (i64 e = 0; e < 32; ++e)
        want.push_back(x.values()[place(t * k + g * 32 + e)] / std::exp2(exponent));
      if (g % 4 == 0) packed.push_back(0);
      packed.back() += (exponent + 127) * std::exp2(8.0 * static_cast<double>(g % 4));
    }
  for (double& p : packed)
    if (p >= 0x1p31) p -= 0x1p32;
  expect_close<f8e4m3>(codes.read(), want, {0, 0});
  expect_equal(exponents.read(), packed);
  expect_equal(wide.read(), ids.values());
  expect_equal(kept.read(), weights.values());
  EXPECT_TRUE(codes.gaps_untouched() && exponents.gaps_untouched() && wide.gaps_untouched() &&
              kept.gaps_untouched());
  test_tensor<f32, D> odd({3, 100});
  EXPECT_RAISES(
      fg::stage_deepseek_v4_mega_moe_inputs(s, odd.in(), weights.in(), ids.in(), codes.view(),
                                            exponents.view(), wide.view(), kept.view()),
      shape_mismatch, "stage_deepseek_v4_mega_moe_inputs");
}

TYPED_TEST(mega_moe, gates_and_values_apart) {
  using D = TypeParam;
  const auto& s = test_stream<D>();
  const i64 n = 12, k = 32;
  const routing r = some_routings()[0];
  coded g(r.experts, n, k, 1, 16, 0, 7), u(r.experts, n, k, 1, 16, 0, 7),
      d(r.experts, k, n, 1, n, 0, 7);
  for (coded* c : {&g, &u, &d}) {
    c->zeros = whole(c->of_scales().numel(), -3, 0, 8);
    for (double& v : c->scales) v /= 4;
  }
  test_tensor<f32, D> x({r.tokens, k}, layout::contiguous, whole(r.tokens * k, -1, 1, 1)),
      weights({r.tokens, r.choices}, layout::contiguous, powers({r.tokens, r.choices}, 2));
  test_tensor<i64, D> ids({r.tokens, r.choices}, layout::contiguous, r.ids);
  const auto tensors = [](const coded& c) {
    return std::tuple(test_tensor<u8, D>({c.experts, c.n, c.k}, layout::contiguous, c.codes),
                      test_tensor<f32, D>(c.of_scales(), layout::contiguous, c.scales),
                      test_tensor<f32, D>(c.of_scales(), layout::contiguous, c.zeros));
  };
  auto first = tensors(g), third = tensors(u), second = tensors(d);
  auto &w1 = std::get<0>(first), &w3 = std::get<0>(third), &w2 = std::get<0>(second);
  fg::fused_moe_options<D> options;
  options.w1_scales = std::get<1>(first).in(), options.w1_zeros = std::get<2>(first).in();
  options.w2_scales = std::get<1>(second).in(), options.w2_zeros = std::get<2>(second).in();
  options.w3_scales = std::get<1>(third).in(), options.w3_zeros = std::get<2>(third).in();
  const auto opt = [](auto& t) { return std::optional<fg::any_view<D>>(t.in()); };
  const numbers gates =
                    expert_rows(x.values(), g.values(0, true), r.ids, r.experts, n, k, r.choices),
                ups = expert_rows(x.values(), u.values(0, true), r.ids, r.experts, n, k, r.choices);
  const auto summed = [&](const numbers& rows, i64 width) {
    numbers out(place(r.tokens * width));
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const std::size_t choice = at / place(width);
      out[choice / place(r.choices) * place(width) + at % place(width)] +=
          rows[at] * weights.values()[choice];
    }
    return out;
  };
  expect_equal(
      values_of(fg::fused_moe(s, x.in(), w1.in(), {}, {}, weights.in(), ids.in(), options)),
      summed(gates, n));
  numbers both, one;
  for (std::size_t at = 0; at < gates.size(); ++at) {
    both.push_back(silu_of(gates[at]) * ups[at]);
    one.push_back(silu_of(gates[at]));
  }
  const auto down = [&](const numbers& rows) {
    return summed(expert_rows(rows, d.values(0, true), r.ids, r.experts, k, n, 1), k);
  };
  expect_close<f32>(values_of(fg::fused_moe(s, x.in(), w1.in(), opt(w2), opt(w3), weights.in(),
                                            ids.in(), options)),
                    down(both), {1e-5, 1e-3});
  expect_close<f32>(
      values_of(fg::fused_moe(s, x.in(), w1.in(), opt(w2), {}, weights.in(), ids.in(), options)),
      down(one), {1e-5, 1e-3});
  EXPECT_RAISES(static_cast<void>(fg::fused_moe(s, x.in(), w1.in(), {}, opt(w3), weights.in(),
                                                ids.in(), options)),
                shape_mismatch, "fused_moe");
  EXPECT_RAISES(
      static_cast<void>(fg::fused_moe(s, x.in(), w1.in(), {}, {}, weights.in(), ids.in())),
      dtype_mismatch, "fused_moe");
}

}  // namespace
}  // namespace flaggems_test
