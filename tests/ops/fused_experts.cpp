// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/fused_experts.hpp>
#include <support/experts.hpp>

namespace flaggems_test {
namespace {

using fg::f8e4m3, fg::i32, fg::i8, fg::u8;

template <class Case>
class fused_experts : public ::testing::Test {};
using expert_cases = cases<on_host<f32, bf16>, on_chips<f32, bf16>, on_wide<f32>>;
TYPED_TEST_SUITE(fused_experts, expert_cases);

constexpr i64 n = 12, k = 16;

/// Rounded twice between sums, of T.
template <class T>
constexpr tolerance loose = std::is_same_v<T, f32> ? tolerance{1e-5, 1e-5} : tolerance{0.05, 0.1};

/// A layer's operands on a device.
template <class T, class D>
struct layer {
  routing r;
  test_tensor<T, D> x, w1, w2;
  test_tensor<f32, D> weights;
  test_tensor<i32, D> ids;
  layer(const routing& given, layout how = layout::contiguous)
      : r(given),
        x({r.tokens, k}, how, random_values({r.tokens, k}, -1, 1)),
        w1({r.experts, 2 * n, k}, how, random_values({r.experts, 2 * n, k}, -1, 1)),
        w2({r.experts, k, n}, how, random_values({r.experts, k, n}, -1, 1)),
        weights({r.tokens, r.choices}, how, random_values({r.tokens, r.choices}, 0, 1)),
        ids({r.tokens, r.choices}, how, r.ids) {}
  [[nodiscard]] numbers want(bool weighs_first = false) const {
    return mixture(r, x.values(), w1.values(), w2.values(), weights.values(), n, k, weighs_first);
  }
};

TYPED_TEST(fused_experts, of_numbers) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  for (const routing& r : some_routings())
    for (const layout how : {layout::contiguous, layout::strided}) {
      layer<T, D> l(r, how);
      const auto got =
          fg::fused_experts_impl(s, l.x.in(), l.w1.in(), l.w2.in(), l.weights.in(), l.ids.in());
      expect_close<T>(values_of(got), l.want(), loose<T>);
      fg::fused_experts_options<D> options;
      options.apply_router_weight_on_input = true;
      fg::inplace_fused_experts(s, l.x.view(), l.w1.in(), l.w2.in(), l.weights.in(), l.ids.in(),
                                "silu", options);
      expect_close<T>(l.x.read(), l.want(true), loose<T>);
      EXPECT_TRUE(l.x.gaps_untouched());
    }
  const routing none{3, 0, 2, {}};
  layer<T, D> l(none);
  expect_equal(values_of(fg::fused_experts_impl(s, l.x.in(), l.w1.in(), l.w2.in(), l.weights.in(),
                                                l.ids.in())),
               numbers(3 * k, 0));
}

TYPED_TEST(fused_experts, some_elsewhere_and_biased) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const numbers names{-1, 2, 0, -1, 1};
  const routing all = some_routings()[0];
  routing here = all;
  here.experts = 3;
  for (double& e : here.ids) e = names[static_cast<std::size_t>(e)];
  layer<T, D> l(here);
  test_tensor<i32, D> ids({all.tokens, all.choices}, layout::contiguous, all.ids),
      map({5}, layout::strided, names);
  test_tensor<T, D> b1({3, 2 * n}, layout::contiguous, random_values({3, 2 * n}, -1, 1)),
      b2({3, k}, layout::strided, random_values({3, k}, -1, 1));
  fg::fused_experts_options<D> options;
  options.global_num_experts = 5;
  options.expert_map = map.in();
  options.w1_bias = b1.in();
  options.w2_bias = b2.in();
  const auto got = fg::fused_experts_impl(s, l.x.in(), l.w1.in(), l.w2.in(), l.weights.in(),
                                          ids.in(), "silu", options);
  expect_close<T>(values_of(got),
                  mixture(here, l.x.values(), l.w1.values(), l.w2.values(), l.weights.values(), n,
                          k, false, 0, b1.values(), b2.values()),
                  loose<T>);
}

/// Weights in codes, and activations.
TYPED_TEST(fused_experts, of_codes) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  const routing r = some_routings()[0];
  layer<T, D> l(r);
  const i64 e = r.experts, wide = 32, inner = 32;  // terms of both products
  test_tensor<T, D> x({r.tokens, wide}, layout::contiguous, random_values({r.tokens, wide}, -1, 1));
  const auto small = [](numbers scales) {
    for (double& v : scales) v /= 16;
    return scales;
  };
  const auto compare = [&](const auto& got, const numbers& w1, const numbers& w2, tolerance tol,
                           double limit = 0) {
    expect_close<T>(values_of(got),
                    mixture(r, x.values(), w1, w2, l.weights.values(), inner, wide, false, limit),
                    tol);
  };
  {  // pairs of 4 bits, and of e2m1
    coded a(e, 2 * inner, wide, 1, 16, 0, 15), b(e, wide, inner, 1, 16, 0, 15);
    a.scales = small(a.scales), b.scales = small(b.scales);
    test_tensor<u8, D> w1({e, 2 * inner, wide / 2}, layout::contiguous, a.pairs()),
        w2({e, wide, inner / 2}, layout::contiguous, b.pairs());
    test_tensor<T, D> s1(a.of_scales(), layout::contiguous, a.scales),
        s2(b.of_scales(), layout::contiguous, b.scales);
    compare(fg::fused_marlin_moe_w4a16_int4(s, x.in(), w1.in(), w2.in(), s1.in(), s2.in(),
                                            l.weights.in(), l.ids.in(), 16),
            a.values(8), b.values(8), loose<T>);
    fg::fused_marlin_options<D> clamped;
    clamped.group_size = 16;
    clamped.clamp_limit = 0.25;
    compare(fg::fused_marlin_moe(s, x.in(), w1.in(), w2.in(), {}, {}, s1.in(), s2.in(),
                                 l.weights.in(), l.ids.in(), 0, clamped),
            a.values(8), b.values(8), loose<T>, 0.25);
    fg::fused_experts_options<D> options;
    options.use_int4_w4a16 = true;
    const std::array<i64, 2> shares{0, 16};
    options.block_shape = shares;
    options.w1_scale = s1.in();
    options.w2_scale = s2.in();
    compare(fg::fused_experts_impl(s, x.in(), w1.in(), w2.in(), l.weights.in(), l.ids.in(), "silu",
                                   options),
            a.values(8), b.values(8), loose<T>);
    coded f(e, 2 * inner, wide, 1, 32, 0, 15), g(e, wide, inner, 1, 32, 0, 15);
    const auto exponents = [](const numbers& scales) {
      numbers bytes;
      for (const double v : scales) bytes.push_back(std::log2(v) + 127);
      return bytes;
    };
    f.scales = small(f.scales), g.scales = small(g.scales);
    test_tensor<u8, D> m1({e, 2 * inner, wide / 2}, layout::contiguous, f.pairs()),
        m2({e, wide, inner / 2}, layout::contiguous, g.pairs()),
        e1(f.of_scales(), layout::contiguous, exponents(f.scales)),
        e2(g.of_scales(), layout::contiguous, exponents(g.scales));
    for (coded* c : {&f, &g})
      for (double& code : c->codes) code = number_of_e2m1(code);
    compare(fg::fused_marlin_moe_w4a16_mxfp4(s, x.in(), m1.in(), m2.in(), e1.in(), e2.in(),
                                             l.weights.in(), l.ids.in()),
            f.values(0), g.values(0), loose<T>);
    options = {};
    options.ocp_mx_scheme = "w_mxfp4";
    options.w1_scale = e1.in();
    options.w2_scale = e2.in();
    compare(fg::fused_experts_impl(s, x.in(), m1.in(), m2.in(), l.weights.in(), l.ids.in(), "silu",
                                   options),
            f.values(0), g.values(0), loose<T>);
  }
  {  // bytes less 128, and 8-bit floats
    coded a(e, 2 * inner, wide, 1, 16, 120, 136), b(e, wide, inner, 1, 16, 120, 136);
    a.scales = small(a.scales), b.scales = small(b.scales);
    test_tensor<u8, D> w1({e, 2 * inner, wide}, layout::contiguous, a.codes),
        w2({e, wide, inner}, layout::contiguous, b.codes);
    test_tensor<f32, D> s1(a.of_scales(), layout::contiguous, a.scales),
        s2(b.of_scales(), layout::contiguous, b.scales);
    fg::fused_marlin_options<D> options;
    options.group_size = 16;
    compare(fg::fused_marlin_moe(s, x.in(), w1.in(), w2.in(), {}, {}, s1.in(), s2.in(),
                                 l.weights.in(), l.ids.in(), 1, options),
            a.values(128), b.values(128), loose<T>);
  }
  const auto both = [&]<class C>(std::type_identity<C>) {
    for (const int kind : {0, 1, 2}) {
      const i64 lines = kind == 1 ? 1 : 8, terms = kind == 2 ? 16 : 32;
      coded a(e, 2 * inner, wide, kind == 0 ? 2 * inner : lines, terms, -8, 8),
          b(e, wide, inner, kind == 0 ? wide : lines, terms, -8, 8);
      a.scales = small(a.scales), b.scales = small(b.scales);
      test_tensor<C, D> w1({e, 2 * inner, wide}, layout::contiguous, a.codes),
          w2({e, wide, inner}, layout::contiguous, b.codes);
      test_tensor<f32, D> s1(a.of_scales(), layout::contiguous, a.scales),
          s2(b.of_scales(), layout::contiguous, b.scales), one({1}, layout::contiguous, {0.02});
      fg::fused_experts_options<D> options;
      (std::is_same_v<C, i8> ? options.use_int8_w8a8 : options.use_fp8_w8a8) = true;
      options.per_channel_quant = kind == 1;
      const std::array<i64, 2> shares{8, 16};
      if (kind == 2) options.block_shape = shares;
      options.w1_scale = s1.in();
      options.w2_scale = s2.in();
      if (kind == 0) options.a1_scale = one.in();
      const auto encode = [&](const numbers& rows, double scale = 0) {
        const std::size_t share = kind == 0 ? rows.size() : kind == 1 ? 32 : 16;
        return encoded<C>(rows, share, std::is_same_v<C, i8> ? 127 : 448, scale);
      };
      const auto got = fg::fused_experts_impl(s, x.in(), w1.in(), w2.in(), l.weights.in(),
                                              l.ids.in(), "silu", options);
      const auto want = mixture(r, encode(x.values(), kind == 0 ? 0.02F : 0), a.values(0),
                                b.values(0), l.weights.values(), inner, wide, false, 0, {}, {},
                                [&](const numbers& rows) { return encode(rows); });
      // A number that is rounded the other way is off by a step: of bf16 many are.
      if (std::is_same_v<T, f32>) expect_close<T>(values_of(got), want, {0.05, 0.02});
      if (kind != 1) continue;
      options = {};
      options.use_int8_w8a16 = true;
      options.per_channel_quant = true;
      options.w1_scale = s1.in();
      options.w2_scale = s2.in();
      if constexpr (std::is_same_v<C, i8>)
        compare(fg::fused_experts_impl(s, x.in(), w1.in(), w2.in(), l.weights.in(), l.ids.in(),
                                       "silu", options),
                a.values(0), b.values(0), loose<T>);
    }
  };
  both(std::type_identity<f8e4m3>{});
  both(std::type_identity<i8>{});
}

TYPED_TEST(fused_experts, refused) {
  using D = typename TypeParam::device;
  using T = typename TypeParam::type;
  const auto& s = test_stream<D>();
  constexpr const char* op = "inplace_fused_experts";
  layer<T, D> l(some_routings()[1]);
  const auto run = [&](std::string_view activation, const fg::fused_experts_options<D>& options) {
    fg::inplace_fused_experts(s, l.x.view(), l.w1.in(), l.w2.in(), l.weights.in(), l.ids.in(),
                              activation, options);
  };
  const numbers before = l.x.read();
  fg::fused_experts_options<D> options;
  EXPECT_RAISES(run("gelu", options), not_supported, op);
  options.ocp_mx_scheme = "w_mxfp6_e3m2";
  EXPECT_RAISES(run("silu", options), not_supported, op);
  options = {};
  options.use_fp8_w8a8 = true;
  EXPECT_RAISES(run("silu", options), dtype_mismatch, op);
  options = {};
  options.expert_map = l.ids.in();
  EXPECT_RAISES(run("silu", options), shape_mismatch, op);
  options = {};
  options.w1_bias = l.weights.in();
  EXPECT_RAISES(run("silu", options), shape_mismatch, op);
  options.w1_bias = l.x.in();
  EXPECT_RAISES(run("silu", options), overlap, op);
  // Blocks of so many columns and terms that 32 bits do not hold them have one scale.
  const i64 most[] = {i64{1} << 32, i64{1} << 32};
  test_tensor<i8, D> c1(l.w1.sizes()), c2(l.w2.sizes());
  test_tensor<f32, D> by({l.w1.sizes()[0], 1, 1});
  options = {};
  options.use_int8_w8a16 = true;
  options.block_shape = most;
  options.w1_scale = options.w2_scale = by.in();
  EXPECT_RAISES(static_cast<void>(fg::fused_experts_impl(
                    s, l.x.in(), c1.in(), c2.in(), l.weights.in(), l.ids.in(), "silu", options)),
                shape_mismatch, "fused_experts_impl");
  EXPECT_RAISES(static_cast<void>(fg::fused_experts_impl(s, l.x.in(), l.w2.in(), l.w1.in(),
                                                         l.weights.in(), l.ids.in())),
                shape_mismatch, "fused_experts_impl");
  EXPECT_RAISES(fg::fused_experts_impl(s, l.x.in(), l.w1.in(), l.w2.in(), l.weights.in(),
                                       l.ids.in(), l.w1.view().select(0, 0).narrow(0, 0, 9)),
                overlap, "fused_experts_impl");
  EXPECT_RAISES(static_cast<void>(fg::fused_marlin_moe(s, l.x.in(), l.w1.in(), l.w2.in(), {}, {},
                                                       l.weights.in(), l.weights.in(),
                                                       l.weights.in(), l.ids.in(), 3)),
                not_supported, "fused_marlin_moe");
  expect_equal(l.x.read(), before);
}

}  // namespace
}  // namespace flaggems_test
