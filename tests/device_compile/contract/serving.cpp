// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/ops/hyper_connections.hpp>
#include <flaggems/ops/latent_cache.hpp>
#include <flaggems/ops/latent_gather.hpp>
#include <flaggems/ops/latent_queries.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/sequence_batches.hpp>

#include "contract.hpp"

namespace contract {

void served() {
  each(types<f32, bf16, f16>{}, [](auto& x) {
    const auto& numbers = some<f32>();
    const auto& slots = some<i64>();
    const auto& bytes = some<u8>();
    const auto& pages = some<i32>();
    (void)fg::mhc_pre(s, x, numbers, numbers, numbers);
    (void)fg::mhc_post(s, x, x, numbers, numbers);
    fg::hc_head_fused_kernel(s, x, numbers, numbers, numbers, x, 8, 0, 0, 4);
    fg::indexer_k_quant_and_cache(s, x, some<u8>(), slots, 8);
    fg::fused_deepseek_v4_qnorm_rope_kv_rope_insert(s, x, x, x, slots, slots, numbers);
    fg::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(s, x, x, some<u8>(), slots, slots,
                                                          numbers, 0, 16);
    (void)fg::fused_indexer_q_rope_quant(s, slots, x, numbers, x, 1, 1);
    (void)fg::fused_indexer_q_rope_quant_mxfp4(s, slots, x, numbers, x, 1, 1);
    (void)fg::fused_inv_rope_fp8_quant(s, x, slots, numbers, 1, 1);
    (void)fg::fused_inv_rope_fp8_quant_packed(s, x, slots, numbers, 1, 1);
    fg::dequantize_and_gather_k_cache(s, x, bytes, slots, std::nullopt, pages, 16);
  });
  each(types<f32, f64>{}, [](auto& x) {
    (void)fg::sinkhorn_forward(s, x);
    (void)fg::mhc_bwd(s, x, x);
  });
  each(types<f32, bf16, f64, f16>{}, [](auto& x) {
    fg::mrope(s, x, x, x, some<i64>(), 1, 1, 1, 8, 6);
    (void)fg::beam_search_score(s, x, x);
    (void)fg::bucket_sort_topk(s, x, some<i64>(), some<i64>(), 2);
  });
  each(index_types{}, [](auto& places) {
    const auto& pages = some<i32>();
    (void)fg::compute_global_topk_indices_and_lens(s, places, pages, pages, 16);
    (void)fg::combine_topk_swa_indices(s, places, pages, places, pages, 8, 4, 8, 64, 32);
  });
  fg::cp_gather_indexer_k_quant_cache(s, some<u8>(), some<f8e4m3>(), some<u8>(), some<i32>(),
                                      some<i32>());
}

}  // namespace contract
