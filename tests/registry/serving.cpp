// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/registry/families/serving.hpp>
#include <registry/support.hpp>

FLAGGEMS_REGISTRY_FAMILY(flaggems::operator_families::serving, flaggems::host, flaggems::f32,
                         flaggems::u8);

namespace flaggems_test {
namespace {

using fg::i32;
using fg::u8;

void run(const char* key, const arguments<host>& given) {
  const auto& op = fg::registry<host>::at(key);
  note(op);
  op.call(stream_of<host>(), given, {});
}

TEST(registry_serving, hyper_connections) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 4, 5}), w = numbers({24, 20}, -1, 1, 2), three = numbers({3}, 0, 1, 3),
             b = numbers({24}, -1, 1, 4), y = numbers({3, 5}, -1, 1, 5);
  const view<host> streams(a), fn(w), scale(three), base(b), x(y);
  check("flaggems::mhc_pre", {streams, fn, scale, base, 1e-6, 1e-3, 1e-6, 2.0, 3}, [&] {
    return fg::mhc_pre(s, a, w, three, b, fg::hyper_connection_options{1e-6, 1e-3, 1e-6, 2, 3});
  });
  const auto p = numbers({3, 4, 1}), c = numbers({3, 4, 4});
  const view<host> post(p), comb(c);
  check("flaggems::mhc_post", {x, streams, post, comb},
        [&] { return fg::mhc_post(s, y, a, p, c); });
  check("flaggems::sinkhorn_forward", {comb, 4}, [&] { return fg::sinkhorn_forward(s, c, 4); });
  check("flaggems::mhc_bwd", {comb, comb}, [&] { return fg::mhc_bwd(s, c, c); });
  check("flaggems::mhc_bwd_ref", {comb, comb, 3}, [&] { return fg::mhc_bwd(s, c, c, 3); });
  const auto rows = w.view().narrow(0, 0, 4), bases = b.view().narrow(0, 0, 4),
             one = three.view().narrow(0, 0, 1);
  auto made = fg::zeros(s, {3, 5}), want = fg::zeros(s, {3, 5});
  const view<host> into(made.view());
  fg::hc_head_fused_kernel(s, a, rows, one, bases, want, 5, 1e-6, 1e-3, 4);
  for (const char* key : {"flaggems::hc_head_fused_kernel", "flaggems::hc_head_fused_kernel_ref"}) {
    fg::fill_(s, made, 0);
    run(key, {streams, fn.narrow(0, 0, 4), scale.narrow(0, 0, 1), base.narrow(0, 0, 4), into, 5,
              1e-6, 1e-3, 4});
    expect_same(into, view<host>(want), key);
  }
}

TEST(registry_serving, choices_and_rotations) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 8}), b = numbers({3}, -1, 1, 2);
  const view<host> x(a), scores(b);
  check("flaggems::beam_search_score", {x, scores}, [&] { return fg::beam_search_score(s, a, b); });
  const auto first = fg::from_values<i64>(s, {0, 1, 2}), end = fg::from_values<i64>(s, {8, 4, 2});
  check("flaggems::bucket_sort_topk", {x, view<host>(first), view<host>(end), 3},
        [&] { return fg::bucket_sort_topk(s, a, first, end, 3); });
  const auto table = numbers({5, 4}, -1, 1, 3);
  const auto ids = fg::from_values<i64>(s, {0, 1, 2, 3, 4, 0, 1, 2, 3}, {3, 3});
  const auto q = copy_of(x), k = copy_of(x.narrow(1, 0, 4)), q2 = copy_of(x),
             k2 = copy_of(x.narrow(1, 0, 4));
  run("flaggems::mrope", {q, k, view<host>(table), view<host>(ids), 1, 1, 0, 4, 4});
  fg::mrope(s, q2.as<f32>(), k2.as<f32>(), table, ids, 1, 1, 0, 4, 4);
  expect_same(q.view(), q2.view(), "query");
  expect_same(k.view(), k2.view(), "key");
}

TEST(registry_serving, caches) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 72}), of_q = numbers({3, 2, 72}), angles = numbers({5, 8});
  const auto slots = fg::from_values<i64>(s, {5, -1, 0}), ids = fg::from_values<i64>(s, {0, 3, 4});
  const auto blocks = fg::from_values<i32>(s, {1, 0}, {1, 2}),
             starts = fg::from_values<i32>(s, {0, 3});
  const auto ends = fg::from_values<i64>(s, {3});
  const view<host> x(a), places(slots), positions(ids), table(blocks), begins(starts),
      cos_sin(angles);
  auto bytes = fg::zeros<u8>(s, {2, 4, 76}), bytes2 = fg::zeros<u8>(s, {2, 4, 76});
  const view<host> cache(bytes.view()), cache2(bytes2.view());
  run("flaggems::indexer_k_quant_and_cache", {x, cache, places, 72, "ue8m0"});
  fg::indexer_k_quant_and_cache(s, a, bytes2, slots, 72, fg::index_scales::ue8m0);
  expect_same(cache, cache2, "keys");
  EXPECT_ERROR(run("flaggems::indexer_k_quant_and_cache", {x, x, places, 72, "ue8m0"}),
               dtype_mismatch, "u8");

  auto codes = fg::zeros<u8>(s, {3, 72}), codes2 = fg::zeros<u8>(s, {3, 72});
  auto scales = fg::zeros<u8>(s, {3, 4}), scales2 = fg::zeros<u8>(s, {3, 4});
  run("flaggems::cp_gather_indexer_k_quant_cache",
      {cache, view<host>(codes.view()), view<host>(scales.view()), table, begins});
  fg::cp_gather_indexer_k_quant_cache(s, bytes, codes2, scales2, blocks, starts);
  expect_same(view<host>(codes), view<host>(codes2), "codes");
  expect_same(view<host>(scales), view<host>(scales2), "scales");

  const view<host> q0(of_q);
  auto q = copy_of(q0), q2 = copy_of(q0);
  auto kept = fg::zeros(s, {2, 4, 72}), kept2 = fg::zeros(s, {2, 4, 72});
  run("flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_insert",
      {q, x, view<host>(kept.view()), places, positions, cos_sin, 1e-6, 4});
  fg::fused_deepseek_v4_qnorm_rope_kv_rope_insert(s, q2.as<f32>(), a, kept2, slots, ids, angles,
                                                  1e-6, 4);
  expect_same(q.view(), q2.view(), "q");
  expect_same(view<host>(kept), view<host>(kept2), "cache");

  auto pages = fg::zeros<u8>(s, {2, 4 * 82}), pages2 = fg::zeros<u8>(s, {2, 4 * 82});
  run("flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert",
      {q, x, view<host>(pages.view()), places, positions, cos_sin, 1e-6, 4});
  fg::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(s, q2.as<f32>(), a, pages2, slots, ids,
                                                        angles, 1e-6, 4);
  expect_same(view<host>(pages), view<host>(pages2), "pages");
  auto out = fg::zeros(s, {1, 4, 72}), out2 = fg::zeros(s, {1, 4, 72});
  run("flaggems::dequantize_and_gather_k_cache",
      {view<host>(out.view()), view<host>(pages), view<host>(ends), std::nullopt, table, 4, 1, 8});
  fg::dequantize_and_gather_k_cache(s, out2, pages, ends, std::nullopt, blocks, 4, 1, 8);
  expect_same(view<host>(out), view<host>(out2), "out");
}

TEST(registry_serving, queries) {
  const auto& s = stream_of<host>();
  const auto a = numbers({3, 2, 32}), angles = numbers({5, 8}), w = numbers({3, 2});
  const auto ids = fg::from_values<i64>(s, {0, 3, 4});
  const view<host> q(a), cos_sin(angles), weights(w), positions(ids);
  check("flaggems::fused_indexer_q_rope_quant", {positions, q, cos_sin, weights, 0.5, 0.25},
        [&] { return fg::fused_indexer_q_rope_quant(s, ids, a, angles, w, 0.5, 0.25); });
  check("flaggems::fused_indexer_q_rope_quant_mxfp4", {positions, q, cos_sin, weights, 0.5, 0.25},
        [&] { return fg::fused_indexer_q_rope_quant_mxfp4(s, ids, a, angles, w, 0.5, 0.25); });
  check("flaggems::fused_inv_rope_fp8_quant", {q, positions, cos_sin, 1, 2, 24, 8, 8},
        [&] { return fg::fused_inv_rope_fp8_quant(s, a, ids, angles, 1, 2, 24, 8, 8); });
  check("flaggems::fused_inv_rope_fp8_quant_packed", {q, positions, cos_sin, 1, 2, 24, 8, 8},
        [&] { return fg::fused_inv_rope_fp8_quant_packed(s, a, ids, angles, 1, 2, 24, 8, 8); });
  const auto named = fg::from_values<i64>(s, {0, -1, 5, 2}, {2, 2});
  const auto blocks = fg::from_values<i32>(s, {7, 3}, {1, 2}), of = fg::from_values<i32>(s, {0, 0});
  const auto valid = fg::full<bool>(s, {2}, false);
  check("flaggems::compute_global_topk_indices_and_lens",
        {view<host>(named), view<host>(of), view<host>(blocks), 4, view<host>(valid)},
        [&] { return fg::compute_global_topk_indices_and_lens(s, named, of, blocks, 4, valid); });
  const auto starts = fg::from_values<i32>(s, {0, 2}), gathered = fg::from_values<i32>(s, {5});
  const auto ends = fg::from_values<i64>(s, {6});
  check("flaggems::combine_topk_swa_indices",
        {view<host>(named), view<host>(starts), view<host>(ends), view<host>(gathered), 3, 2, 2, 20,
         5},
        [&] {
          return fg::combine_topk_swa_indices(s, named, starts, ends, gathered, 3, 2, 2, 20, 5);
        });
}

}  // namespace
}  // namespace flaggems_test
