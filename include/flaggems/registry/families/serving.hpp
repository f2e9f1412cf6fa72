// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/hyper_connections.hpp>
#include <flaggems/ops/latent_gather.hpp>
#include <flaggems/ops/latent_queries.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/sequence_batches.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

using served_types = type_list<f32, bf16, f16>;
using paged_types = type_list<u8>;
/// Where no operand has the operator's dtype, it is f32.
using no_operands = type_list<f32>;

/// What servers of language models fuse: streams of residuals, and caches of sparse attention.
struct serving {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::mrope, floating_types, "flaggems::mrope(Tensor(a!) query, Tensor(b!) key, Tensor cos_sin_cache, Tensor positions, int section_t, int section_h, int section_w, int head_size, int rotary_dim, bool is_interleaved=False, bool is_interleaved_glm=False, bool is_neox_style=True, Tensor? axis_map=None) -> ()"),
        FLAGGEMS_BIND(flaggems::mhc_pre, served_types, line("flaggems::mhc_pre(Tensor residual, Tensor fn, Tensor hc_scale, Tensor hc_base, float rms_eps, float hc_pre_eps, float hc_sinkhorn_eps, float hc_post_mult_value, int sinkhorn_repeat, int n_splits=1) -> (Tensor post_mix, Tensor comb_mix, Tensor layer_input)").keeps("fn", "hc_scale", "hc_base").options_from("rms_eps").without_out()),
        FLAGGEMS_BIND(flaggems::mhc_post, served_types, line("flaggems::mhc_post(Tensor x, Tensor residual, Tensor post_layer_mix, Tensor comb_res_mix) -> Tensor").keeps("post_layer_mix", "comb_res_mix")),
        FLAGGEMS_BIND(flaggems::mhc_bwd, part_types, line("flaggems::mhc_bwd(Tensor out, Tensor dout, int? cg_iters=None) -> Tensor").also("mhc_bwd_ref").without_out()),
        FLAGGEMS_BIND(flaggems::sinkhorn_forward, part_types, "flaggems::sinkhorn_forward(Tensor M, int iters=20) -> (Tensor, Tensor)"),
        FLAGGEMS_BIND(flaggems::hc_head_fused_kernel, served_types, line("flaggems::hc_head_fused_kernel(Tensor hs_flat, Tensor fn, Tensor hc_scale, Tensor hc_base, Tensor(a!) out, int hidden_size, float rms_eps, float hc_eps, int hc_mult) -> Tensor(a!)").keeps("fn", "hc_scale", "hc_base").also("hc_head_fused_kernel_ref")),
        FLAGGEMS_BIND_IN_PLACE(flaggems::beam_search_score, floating_types, line("flaggems::beam_search_score(Tensor log_probs, Tensor beam_scores) -> Tensor").promotes()),
        FLAGGEMS_BIND(flaggems::bucket_sort_topk, floating_types, line("flaggems::bucket_sort_topk(Tensor inputs, Tensor starts, Tensor ends, int topk) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::indexer_k_quant_and_cache, served_types, line("flaggems::indexer_k_quant_and_cache(Tensor k, Tensor(a!) kv_cache, Tensor slot_mapping, int quant_block_size, str scale_fmt) -> ()").bytes_in("kv_cache")),
        FLAGGEMS_BIND(flaggems::cp_gather_indexer_k_quant_cache, paged_types, "flaggems::cp_gather_indexer_k_quant_cache(Tensor k_cache, Tensor(a!) k_fp8, Tensor(b!) k_fp8_scale, Tensor block_table, Tensor cu_seqlen) -> ()"),
        FLAGGEMS_BIND(flaggems::dequantize_and_gather_k_cache, served_types, line("flaggems::dequantize_and_gather_k_cache(Tensor(a!) out, Tensor k_cache, Tensor seq_lens, Tensor? gather_lens, Tensor block_table, int block_size, int offset=0, int rope_dim=64, int? nope_dim=None, int? scale_slots=None) -> ()").bytes_in("k_cache")),
        FLAGGEMS_BIND(flaggems::compute_global_topk_indices_and_lens, no_operands, line("flaggems::compute_global_topk_indices_and_lens(Tensor topk_indices, Tensor token_to_req_indices, Tensor block_table, int block_size, Tensor? is_valid_token=None) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::combine_topk_swa_indices, no_operands, line("flaggems::combine_topk_swa_indices(Tensor topk_indices, Tensor query_start_loc, Tensor seq_lens, Tensor gather_lens, int window_size, int compress_ratio, int topk, int M, int N) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_insert, served_types, line("flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_insert(Tensor(a!) q, Tensor kv, Tensor(b!) k_cache, Tensor slot_mapping, Tensor position_ids, Tensor cos_sin_cache, float eps=1e-06, int cache_block_size=16) -> ()").keeps("cos_sin_cache")),
        FLAGGEMS_BIND(flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert, served_types, line("flaggems::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(Tensor(a!) q, Tensor kv, Tensor(b!) k_cache, Tensor slot_mapping, Tensor position_ids, Tensor cos_sin_cache, float eps, int cache_block_size) -> ()").keeps("cos_sin_cache").bytes_in("k_cache")),
        FLAGGEMS_BIND(flaggems::fused_indexer_q_rope_quant, served_types, line("flaggems::fused_indexer_q_rope_quant(Tensor positions, Tensor index_q, Tensor index_q_cos_sin_cache, Tensor index_weights, float index_weights_softmax_scale, float index_weights_head_scale) -> (Tensor, Tensor)").keeps("index_q_cos_sin_cache").without_out()),
        FLAGGEMS_BIND(flaggems::fused_indexer_q_rope_quant_mxfp4, served_types, line("flaggems::fused_indexer_q_rope_quant_mxfp4(Tensor positions, Tensor index_q, Tensor index_q_cos_sin_cache, Tensor index_weights, float index_weights_softmax_scale, float index_weights_head_scale) -> (Tensor, Tensor, Tensor)").keeps("index_q_cos_sin_cache").without_out()),
        FLAGGEMS_BIND(flaggems::fused_inv_rope_fp8_quant, served_types, line("flaggems::fused_inv_rope_fp8_quant(Tensor o, Tensor positions, Tensor cos_sin_cache, int n_groups, int heads_per_group, int nope_dim=448, int rope_dim=64, int quant_group_size=128, float eps=1e-10) -> (Tensor, Tensor)").keeps("cos_sin_cache")),
        FLAGGEMS_BIND(flaggems::fused_inv_rope_fp8_quant_packed, served_types, line("flaggems::fused_inv_rope_fp8_quant_packed(Tensor o, Tensor positions, Tensor cos_sin_cache, int n_groups, int heads_per_group, int nope_dim=448, int rope_dim=64, int quant_group_size=128, float eps=1e-10) -> (Tensor, Tensor)").keeps("cos_sin_cache").without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
