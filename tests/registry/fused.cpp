// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/fused.hpp>
#include <registry/support.hpp>

#include <array>
#include <tuple>
#include <vector>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::fused, flaggems::host, flaggems::f32,
                         flaggems::i32, flaggems::i8, flaggems::u8);

namespace flaggems_test {
namespace {

TEST(registry_fused, norms) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4}), b = numbers({2, 4}, -2, 2, 2), c = numbers({4}, -2, 2, 3);
  const view<host> x(a), residual(b), weight(c);
  check("flaggems::skip_layer_norm", {x, residual, fg::int_list{4}, weight},
        [&] { return fg::skip_layer_norm(s, a, b, {4}, c); });
  check("flaggems::gemma_rms_norm", {x, weight}, [&] { return fg::gemma_rms_norm(s, a, c); });
  check("flaggems::add_rms_norm", {x, residual, fg::int_list{4}, weight},
        [&] { return fg::add_rms_norm(s, a, b, {4}, c); });
  check("flaggems::rmsnorm", {x, weight, 1e-3}, [&] { return fg::rmsnorm(s, a, c, 1e-3); });
  check("flaggems::fused_q_kv_rmsnorm", {x, residual, weight, weight, 1e-3},
        [&] { return fg::fused_q_kv_rmsnorm(s, a, b, c, c, 1e-3); });
  check("flaggems::act_quant", {x, 2, "ue8m0"},
        [&] { return fg::act_quant(s, a, 2, fg::scale_format::ue8m0); });
  fg::any_tensor<host> two[2];
  EXPECT_ERROR(fg::registry<host>::at("flaggems::act_quant").call(s, {x, 2, "e4"}, two),
               invalid_argument, "e4");
}

TEST(registry_fused, sequences) {
  const auto& s = stream_of<host>();
  const auto a = numbers({4, 3}), by = numbers({2}, 1, 2, 5);
  const auto l = fg::from_values<i64>(s, {1, 3}), at = fg::from_values<i64>(s, {0, 1, 4}),
             three = fg::from_values<i64>(s, {3, 2});
  const view<host> x(a), lengths(l), offsets(at), ends(three), penalties(by);
  const view<host> list[] = {offsets};
  const std::array typed{fg::tensor_view<const i64>(at)};
  check("_jagged_to_padded_dense_forward",
        {x, std::span<const view<host>>(list), fg::int_list{2}, -1.0},
        [&] { return fg::jagged_to_padded_dense_forward(s, a, typed, {2}, -1); });
  check("flaggems::pack_seq", {x, lengths, 7.0}, [&] { return fg::pack_seq(s, a, l, 7); });
  const auto packed = fg::pack_seq(s, a, l, 7);
  check("flaggems::unpack_seq", {view<host>(packed), lengths},
        [&] { return fg::unpack_seq(s, packed, l); });
  const auto run = [&](const char* key, const arguments<host>& given) {
    const auto& op = fg::registry<host>::at(key);
    note(op);
    op.call(s, given, {});
  };
  auto places = fg::zeros<i64>(s, {2, 2}), want = fg::zeros<i64>(s, {2, 2});
  const view<host> indices(places.view());
  const auto rows = a.view().narrow(0, 0, 2);
  run("flaggems::top_k_per_row_prefill", {x.narrow(0, 0, 2), lengths, ends, indices});
  fg::top_k_per_row_prefill(s, rows, l, three, want);
  expect_same(indices, view<host>(want), "indices");
  run("flaggems::top_k_per_row_decode", {x.narrow(0, 0, 2), 1, ends, indices});
  fg::top_k_per_row_decode(s, rows, 1, three, want);
  expect_same(indices, view<host>(want), "indices");
  const auto mask = fg::evaluate(s, rows > 0.5), none = fg::full<bool>(s, {2, 3}, false);
  const auto boxed = copy_of(x.narrow(0, 0, 2)), own = copy_of(x.narrow(0, 0, 2));
  run("flaggems::apply_repetition_penalties",
      {boxed, view<host>(mask), view<host>(none), penalties});
  fg::apply_repetition_penalties(s, own.as<f32>(), mask, none, by);
  expect_same(boxed.view(), own.view(), "logits");
}

TEST(registry_fused, training) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 3}), step = fg::full<f32>(s, {}, 2), one = fg::full<f32>(s, {1}, 1);
  const view<host> x(a), steps[] = {view<host>(step)}, scale(one);
  std::vector<fg::any_tensor<host>> mine, theirs;
  for (unsigned k = 0; k < 4; ++k) {
    const auto values = numbers({2, 3}, 0, 1, k + 1);
    mine.push_back(copy_of(view<host>(values)));
    theirs.push_back(copy_of(view<host>(values)));
  }
  const view<host> lists[] = {mine[0].view(), mine[1].view(), mine[2].view(), mine[3].view()};
  const auto list = [&](std::size_t k) { return std::span<const view<host>>(&lists[k], 1); };
  const auto run = [&](const char* key, const arguments<host>& given) {
    const auto& op = fg::registry<host>::at(key);
    note(op);
    op.call(s, given, {});
  };
  run("_fused_adam_", {list(0), list(1), list(2), list(3), std::span<const view<host>>(),
                       std::span<const view<host>>(steps), 0.1, 0.9, 0.99, 0.0, 1e-8, false, true,
                       scale, std::nullopt});
  const auto typed = [&](std::size_t k) { return std::array{theirs[k].as<f32>()}; };
  fg::fused_adam_(s, typed(0), typed(1), typed(2), typed(3), std::vector<fg::tensor_view<f32>>(),
                  std::array{step.view()}, 0.1, 0.9, 0.99, 0, 1e-8, false, true, one);
  for (std::size_t k = 0; k < 4; ++k) expect_same(lists[k], theirs[k].view(), "adam");
  auto found = fg::zeros(s, {}), by = fg::full<f32>(s, {}, 8);
  auto tracker = fg::zeros<fg::i32>(s, {});
  const view<host> wrong(found.view()), scales(by.view()), count(tracker.view());
  run("_amp_foreach_non_finite_check_and_unscale_", {list(0), wrong, scale});
  expect_same(lists[0], theirs[0].view(), "times one");
  run("_amp_update_scale_", {scales, count, wrong, 2.0, 0.5, 1});
  EXPECT_EQ(by.data()[0], 16);
}

TEST(registry_fused, quantized) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4}), by = numbers({2}, 0.1, 1, 2), one = fg::full<f32>(s, {1}, 0.25);
  const auto z = fg::from_values<fg::i32>(s, {1, -1});
  const auto w = fg::from_values<fg::i8>(s, {1, -2, 3, 4, 5, 6, 7, -8}, {2, 4});
  const view<host> x(a), scale(by), zero(z), single(one), weights(w);
  check("fake_quantize_per_channel_affine", {x, scale, zero, 0, -3, 4},
        [&] { return fg::fake_quantize_per_channel_affine(s, a, by, z, 0, -3, 4); });
  check("fake_quantize_per_channel_affine_cachemask", {x, scale, zero, 0, -3, 4},
        [&] { return fg::fake_quantize_per_channel_affine_cachemask(s, a, by, z, 0, -3, 4); });
  check("_fake_quantize_learnable_per_tensor_affine", {x, single, single, -3, 4},
        [&] { return fg::fake_quantize_learnable_per_tensor_affine(s, a, one, one, -3, 4); });
  check("flaggems::per_token_group_quant_fp8", {x, 2, 1e-10, true},
        [&] { return fg::per_token_group_quant_fp8(s, a, 2, 1e-10, true); });
  check("_weight_int8pack_mm", {x, weights, scale},
        [&] { return fg::weight_int8pack_mm(s, a, w, by); });
}

TEST(registry_fused, rwkv) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 8}), b = numbers({2, 8}, -2, 2, 2), c = numbers({8}, -2, 2, 3),
             d = numbers({8}, -2, 2, 4), e = numbers({2}, -2, 2, 5);
  const view<host> k(a), gate(b), kk(c), ka(d), few(e);
  check("flaggems::rwkv_ka_fusion", {k, kk, gate, ka, 2, 4},
        [&] { return fg::rwkv_ka_fusion(s, a, c, b, d, 2, 4); });
  check("flaggems::rwkv_mm_sparsity", {few, k}, [&] { return fg::rwkv_mm_sparsity(s, e, a); });
}

TEST(registry_fused, caches) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 1, 4});
  const auto slots = fg::from_values<i64>(s, {3, 0});
  const view<host> x(a), places(slots);
  for (const bool flash : {false, true}) {
    const shape keys = flash ? shape{2, 2, 1, 4} : shape{2, 1, 2, 2, 2},
                values = flash ? shape{2, 2, 1, 4} : shape{2, 1, 4, 2};
    auto k = fg::zeros(s, keys), v = fg::zeros(s, values), k2 = fg::zeros(s, keys),
         v2 = fg::zeros(s, values);
    const auto& op = fg::registry<host>::at(flash ? "flaggems::reshape_and_cache_flash"
                                                  : "flaggems::reshape_and_cache");
    note(op);
    const view<host> to_keys(k.view()), to_values(v.view());
    op.call(s, {x, x, to_keys, to_values, places, "auto"}, {});
    if (flash)
      fg::reshape_and_cache_flash(s, a, a, k2, v2, slots);
    else
      fg::reshape_and_cache(s, a, a, k2, v2, slots);
    expect_same(to_keys, view<host>(k2.view()), "keys");
    expect_same(to_values, view<host>(v2.view()), "values");
    EXPECT_ERROR(op.call(s, {x, x, to_keys, to_values, places, "fp8"}, {}), not_supported, "fp8");
  }
}

TEST(registry_fused, latent_cache) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 4}), b = numbers({2, 3});
  const auto slots = fg::from_values<i64>(s, {3, 0});
  auto got = fg::zeros(s, {2, 2, 7}), want = fg::zeros(s, {2, 2, 7});
  const auto& op = fg::registry<host>::at("flaggems::concat_and_cache_mla");
  note(op);
  const view<host> to(got.view());
  op.call(s, {view<host>(a), view<host>(b), to, view<host>(slots), "auto"}, {});
  fg::concat_and_cache_mla(s, a, b, want, slots);
  expect_same(to, view<host>(want.view()), "cache");
}

TEST(registry_fused, experts) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 5}), x = numbers({3, 2, 4});
  auto w = fg::zeros(s, {3, 2}), w2 = fg::zeros(s, {3, 2});
  auto i = fg::zeros<i64>(s, {3, 2}), i2 = fg::zeros<i64>(s, {3, 2}), t = fg::zeros<i64>(s, {3, 2}),
       t2 = fg::zeros<i64>(s, {3, 2});
  const auto& op = fg::registry<host>::at("flaggems::topk_softmax");
  note(op);
  const view<host> weights(w.view()), indices(i.view()), places(t.view());
  op.call(s, {weights, indices, places, view<host>(a), true}, {});
  fg::topk_softmax(s, w2, i2, t2, a, true);
  expect_same(weights, view<host>(w2.view()), "weights");
  expect_same(indices, view<host>(i2.view()), "indices");
  expect_same(places, view<host>(t2.view()), "places");
  // Of another dtype they are written through copies.
  auto i3 = fg::zeros<fg::i32>(s, {3, 2}), t3 = fg::zeros<fg::i32>(s, {3, 2});
  const view<host> narrow(i3.view()), narrow_places(t3.view());
  op.call(s, {weights, narrow, narrow_places, view<host>(a), true}, {});
  for (int k = 0; k < 6; ++k) {
    EXPECT_EQ(i3.data()[k], i2.data()[k]);
    EXPECT_EQ(t3.data()[k], t2.data()[k]);
  }
  {
    const arguments<host> twice{weights, narrow, narrow, view<host>(a), true};
    EXPECT_ERROR(op.call(s, twice, {}), overlap, "share no memory");
    // Also with one that is written as it is.
    const view<host> other(
        fg::tensor_view<i64>(static_cast<i64*>(static_cast<void*>(i3.data())), {3, 1}));
    const arguments<host> mixed{weights, other, narrow, view<host>(a), true};
    EXPECT_ERROR(op.call(s, mixed, {}), overlap, "share no memory");
  }
  auto got = fg::zeros(s, {3, 4}), want = fg::zeros(s, {3, 4});
  const auto& total = fg::registry<host>::at("flaggems::moe_sum");
  note(total);
  const view<host> to(got.view());
  total.call(s, {view<host>(x), to}, {});
  fg::moe_sum(s, x, want);
  expect_same(to, view<host>(want.view()), "sum");
}

TEST(registry_fused, routing) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 6}), b = numbers({6}), w = numbers({4, 6});
  const view<host> scores(a), bias(b);
  check("flaggems::grouped_topk", {scores, 3, 2, 2, true, 1.5, bias, 1},
        [&] { return fg::grouped_topk(s, a, 3, 2, 2, true, 1.5, b, 1); });
  check("flaggems::router_gemm", {scores, view<host>(w)}, [&] { return fg::router_gemm(s, a, w); });
  const auto ids = fg::from_values<fg::i32>(s, {0, 2, 1, 2});
  check("flaggems::moe_align_block_size", {view<host>(ids), 2, 3},
        [&] { return fg::moe_align_block_size(s, ids, 2, 3); });
  auto sorted = fg::zeros<fg::i32>(s, {7}), experts = fg::zeros<fg::i32>(s, {4}),
       count = fg::zeros<fg::i32>(s, {1}), sorted2 = fg::zeros<fg::i32>(s, {7}),
       experts2 = fg::zeros<fg::i32>(s, {4}), count2 = fg::zeros<fg::i32>(s, {1});
  const auto& align = fg::registry<host>::at("flaggems::moe_align_block_size_triton");
  note(align);
  const view<host> to(sorted.view()), of(experts.view()), total(count.view());
  align.call(s, {view<host>(ids), 3, 2, to, of, total}, {});
  fg::moe_align_block_size_triton(s, ids, 3, 2, sorted2, experts2, count2);
  expect_same(to, view<host>(sorted2.view()), "sorted");
  expect_same(of, view<host>(experts2.view()), "experts");
  expect_same(total, view<host>(count2.view()), "count");
  auto share = fg::zeros(s, {3, 2}), share2 = fg::zeros(s, {3, 2});
  auto i = fg::zeros<i64>(s, {3, 2}), i2 = fg::zeros<i64>(s, {3, 2}), t = fg::zeros<i64>(s, {3, 2}),
       t2 = fg::zeros<i64>(s, {3, 2});
  const auto& op = fg::registry<host>::at("flaggems::topk_softplus_sqrt");
  note(op);
  const view<host> weights(share.view()), indices(i.view()), places(t.view());
  op.call(s, {weights, indices, places, scores, true, 1.5, bias}, {});
  fg::topk_softplus_sqrt(s, share2, i2, t2, a, true, 1.5, b);
  expect_same(weights, view<host>(share2.view()), "weights");
  expect_same(indices, view<host>(i2.view()), "indices");
  expect_same(places, view<host>(t2.view()), "places");
}

TEST(registry_fused, packed_weights_and_ranges) {
  using fg::i16, fg::i32, fg::i8, fg::u8;
  const auto& s = stream_of<host>();
  const auto whole = numbers<i32>({3, 8}, 0, 15);
  const auto a = numbers({2, 8}), by = numbers({2, 3}), zeros = numbers({2, 3}, 0, 15, 7),
             block = numbers({3}, 1, 2);
  const view<host> x(a), scale(by), zero(zeros), of_blocks(block);
  check("_convert_weight_to_int4pack", {view<host>(whole), 2},
        [&] { return fg::convert_weight_to_int4pack(s, whole, 2); });
  const auto weights = fg::convert_weight_to_int4pack(s, whole, 2);
  const view<host> packed(weights);
  check("_weight_int4pack_mm_with_scales_and_zeros", {x, packed, 4, scale, zero},
        [&] { return fg::weight_int4pack_mm_with_scales_and_zeros(s, a, weights, 4, by, zeros); });
  check("_dyn_quant_pack_4bit_weight", {packed, scale, of_blocks, 8, 8, 3},
        [&] { return fg::dyn_quant_pack_4bit_weight(s, weights, by, block, 8, 8, 3); });
  const auto bytes = numbers<i8>({3, 4}, -9, 9);
  const auto places = fg::from_values<i64>(s, {11, 0, 5});
  check("flaggems::gather_block_quantized", {view<host>(bytes), of_blocks, view<host>(places), 4},
        [&] { return fg::gather_block_quantized(s, bytes, block, places, 4); });
  check("choose_qparams_optimized", {x, 16, 20, 0.5, 4},
        [&] { return fg::choose_qparams_optimized(s, a, 16, 20, 0.5, 4); });
  const auto on = fg::from_values<i64>(s, {1});
  const auto state = [&] {
    return std::tuple(fg::from_values<f32>(s, {-1}), fg::from_values<f32>(s, {2}),
                      fg::from_values<f32>(s, {1}), fg::from_values<i32>(s, {0}));
  };
  auto [low, high, step, origin] = state();
  auto [other_low, other_high, other_step, other_origin] = state();
  const auto& observe = fg::registry<host>::at("_fused_moving_avg_obs_fq_helper");
  note(observe);
  fg::any_tensor<host> two[2];
  observe.call(s,
               {x, view<host>(on), view<host>(on), view<host>(low.view()), view<host>(high.view()),
                view<host>(step.view()), view<host>(origin.view()), 0.5, -8, 7, 0},
               two);
  const auto want = fg::fused_moving_avg_obs_fq_helper(s, a, on, on, other_low, other_high,
                                                       other_step, other_origin, 0.5, -8, 7, 0);
  expect_same(two[0], view<host>(want.first), "output");
  expect_same(two[1], view<host>(want.second), "mask");
  expect_same(view<host>(step), view<host>(other_step), "scale");
  expect_same(view<host>(origin), view<host>(other_origin), "zero_point");
}

TEST(registry_fused, sparse_products) {
  const auto& s = stream_of<host>();
  const auto a = numbers({2, 3}), b = numbers({3, 4}), v = numbers({3}), x = numbers({32, 8}),
             y = numbers({16, 2});
  const auto starts = fg::from_values<i64>(s, {0, 1, 3}),
             columns = fg::from_values<i64>(s, {3, 0, 2});
  check("flaggems::sparse_sampled_addmm",
        {view<host>(starts), view<host>(columns), view<host>(v), view<host>(a), view<host>(b), 0.5,
         2},
        [&] {
          return fg::sparse_sampled_addmm(s, starts, columns, v, a, b, {.beta = 0.5, .alpha = 2});
        });
  const auto meta = fg::from_values<fg::i16>(s, std::vector<fg::i16>(64, 0x4e4e), {32, 2});
  check("_sparse_semi_structured_mm", {view<host>(x), view<host>(meta), view<host>(y)},
        [&] { return fg::sparse_semi_structured_mm(s, x, meta, y); });
}

}  // namespace
}  // namespace flaggems_test
