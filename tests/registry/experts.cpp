// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/experts.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::experts, flaggems::host, flaggems::f32,
                         flaggems::f8e4m3);

namespace flaggems_test {
namespace {

using fg::u8;

/// What the layers of these tests share: 5 tokens of 32 numbers, 2 of 3 experts each.
struct operands {
  const fg::stream<host>& s = stream_of<host>();
  fg::tensor<f32> x = numbers({5, 32}), w1 = numbers({3, 64, 32}, -1, 1, 2),
                  w2 = numbers({3, 32, 32}, -1, 1, 3), weights = numbers({5, 2}, 0, 1, 4);
  fg::tensor<fg::i64> ids = fg::from_values<fg::i64>(s, {0, 1, 2, 0, 1, 1, -1, 2, 0, 2}, {5, 2});
  fg::tensor<u8> c1 = bytes({3, 64, 16}), c2 = bytes({3, 32, 16});
  [[nodiscard]] fg::tensor<u8> bytes(const fg::shape& sizes, int from = 0) const {
    auto r = fg::empty<u8>(s, sizes);
    for (i64 k = 0; k < r.numel(); ++k)
      r.data()[k] = static_cast<u8>(from + (from == 0 ? k * 37 % 256 : k % 5));
    return r;
  }
};

TEST(registry_experts, layers) {
  operands o;
  const auto& s = o.s;
  const view<host> x(o.x), w1(o.w1), w2(o.w2), weights(o.weights), ids(o.ids), c1(o.c1), c2(o.c2);
  const auto run = [&] { return fg::fused_experts_impl(s, o.x, w1, w2, weights, ids); };
  check("flaggems::fused_experts_impl", {x, w1, w2, weights, ids}, run);
  check("flaggems::outplace_fused_experts", {x, w1, w2, weights, ids, "silu", false}, run);
  fg::fused_experts_options<host> options;
  const auto map = fg::from_values<fg::i32>(s, {1, -1, 0});
  const view<host> names(map);
  options.apply_router_weight_on_input = true;
  options.global_num_experts = 3;
  options.expert_map = names;
  check(
      "flaggems::fused_experts_impl",
      {x, w1, w2, weights, ids, "silu", true, false, false, false, false, "none", false, 3, names},
      [&] { return fg::fused_experts_impl(s, o.x, w1, w2, weights, ids, "silu", options); });
  const auto same = copy_of(x);
  const auto& in_place = fg::registry<host>::at("flaggems::inplace_fused_experts");
  note(in_place);
  in_place.call(s, {same, w1, w2, weights, ids}, {});
  const auto want = run();
  expect_same(same.view(), view<host>(want), "hidden_states");

  const auto f1 = numbers({3, 64, 2}, 0.1, 0.2), f2 = numbers({3, 32, 2}, 0.1, 0.2, 2);
  const view<host> s1(f1), s2(f2);
  check("flaggems::fused_marlin_moe",
        {x, c1, c2, std::nullopt, std::nullopt, s1, s2, weights, ids, 0, false, -1, std::nullopt,
         0.5, 16},
        [&] {
          fg::fused_marlin_options<host> marlin;
          marlin.clamp_limit = 0.5;
          marlin.group_size = 16;
          return fg::fused_marlin_moe(s, o.x, c1, c2, {}, {}, s1, s2, weights, ids, 0, marlin);
        });
  check("flaggems::fused_marlin_moe_w4a16_int4", {x, c1, c2, s1, s2, weights, ids, 16},
        [&] { return fg::fused_marlin_moe_w4a16_int4(s, o.x, c1, c2, s1, s2, weights, ids, 16); });
  const auto b1 = o.bytes({3, 64, 1}, 120), b2 = o.bytes({3, 32, 1}, 120);
  const view<host> e1(b1), e2(b2);
  check("flaggems::fused_marlin_moe_w4a16_mxfp4", {x, c1, c2, e1, e2, weights, ids},
        [&] { return fg::fused_marlin_moe_w4a16_mxfp4(s, o.x, c1, c2, e1, e2, weights, ids); });
  const auto square = numbers({3, 32, 32}, -1, 1, 6);
  const view<host> up(square);
  check("flaggems::fused_moe", {x, up, w2, up, weights, ids},
        [&] { return fg::fused_moe(s, o.x, up, w2, up, weights, ids); });
}

TEST(registry_experts, products) {
  operands o;
  const auto& s = o.s;
  const auto blocks = fg::from_values<fg::i32>(s, {0, 1, 2, 0, 1, 1, -1, 2, 0, 2});
  const auto count = fg::from_values<fg::i32>(s, {10});
  auto c = fg::zeros(s, {5, 2, 64}), want = fg::zeros(s, {5, 2, 64});
  const view<host> x(o.x), w1(o.w1), weights(o.weights), experts(blocks), places(count),
      to(c.view());
  const auto run = [&](const char* key, const arguments<host>& given) {
    const auto& op = fg::registry<host>::at(key);
    note(op);
    op.call(s, given, {});
    expect_same(to, view<host>(want), "C");
  };
  const auto none = std::nullopt;
  fg::dispatch_fused_moe_kernel(s, x, w1, want, {}, {}, {}, weights, {}, experts, places, true, 2,
                                16);
  run("flaggems::dispatch_fused_moe_kernel",
      {x, w1, to, none, none, none, weights, none, experts, places, true, 2, 16});
  run("flaggems::invoke_fused_moe_triton_kernel",
      {x, w1, to, none, none, weights, none, experts, places, true, 2, 16});
}

TEST(registry_experts, of_4_and_8_bits) {
  operands o;
  const auto& s = o.s;
  const auto codes = fg::evaluate(s, fg::cast<fg::f8e4m3>(o.x.view()));
  const auto by = numbers({5, 1}, 0.5, 1), f1 = numbers({3, 64, 1}, 0.1, 0.2),
             f2 = numbers({3, 32, 1}, 0.1, 0.2);
  const view<host> x(codes), scale(by), ids(o.ids), weights(o.weights), l1(o.c1), s1(f1), l2(o.c2),
      s2(f2);
  check("flaggems::fp8_fp4_mega_moe", {x, scale, ids, weights, l1, s1, l2, s2, 2.0},
        [&] { return fg::fp8_fp4_mega_moe(s, codes, scale, ids, weights, l1, s1, l2, s2, 2); });
  check("flaggems::fp8_fp4_mega_moe_torch_ref", {x, scale, ids, weights, l1, s1, l2, s2}, [&] {
    return fg::fp8_fp4_mega_moe_torch_ref(s, codes, scale, ids, weights, l1, s1, l2, s2);
  });
  const auto tokens = numbers({5, 128});
  auto a = fg::zeros<fg::f8e4m3>(s, {5, 128}), b = fg::zeros<fg::f8e4m3>(s, {5, 128});
  auto p = fg::zeros<fg::i32>(s, {5, 1}), q = fg::zeros<fg::i32>(s, {5, 1});
  auto i = fg::zeros<fg::i64>(s, {5, 2}), j = fg::zeros<fg::i64>(s, {5, 2});
  auto v = fg::zeros(s, {5, 2}), w = fg::zeros(s, {5, 2});
  const view<host> hidden(tokens), staged(a.view()), exponents(p.view()), indices(i.view()),
      kept(v.view());
  const auto& op = fg::registry<host>::at("flaggems::stage_deepseek_v4_mega_moe_inputs");
  note(op);
  op.call(s, {hidden, weights, ids, staged, exponents, indices, kept}, {});
  fg::stage_deepseek_v4_mega_moe_inputs(s, tokens, weights, ids, b, q, j, w);
  expect_same(staged, view<host>(b), "x_fp8");
  expect_same(exponents, view<host>(q), "x_sf");
  expect_same(indices, view<host>(j), "topk_idx_out");
  expect_same(kept, view<host>(w), "topk_weights_out");
}

}  // namespace
}  // namespace flaggems_test
