// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/fused_norm.hpp>
#include <flaggems/ops/kv_cache.hpp>
#include <flaggems/ops/moe.hpp>
#include <flaggems/ops/moe_routing.hpp>
#include <flaggems/ops/rwkv.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

using quantized_types = type_list<f32, bf16, f16>;
using expert_types = type_list<i32, i64>;

/// What models of language fuse.
struct fused {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::skip_layer_norm, floating_types, line("flaggems::skip_layer_norm(Tensor x, Tensor residual, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor").outputs_after(5)),
        FLAGGEMS_BIND(flaggems::add_rms_norm, floating_types, line("flaggems::add_rms_norm(Tensor x1, Tensor x2, SymInt[] normalized_shape, Tensor? weight=None, float eps=1e-05) -> Tensor").outputs_after(4)),
        FLAGGEMS_BIND(flaggems::rmsnorm, floating_types, "flaggems::rmsnorm(Tensor input, Tensor weight, float eps) -> Tensor"),
        FLAGGEMS_BIND(flaggems::fused_q_kv_rmsnorm, floating_types, line("flaggems::fused_q_kv_rmsnorm(Tensor qr, Tensor kv, Tensor q_weight, Tensor kv_weight, float eps) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::gemma_rms_norm, floating_types, "flaggems::gemma_rms_norm(Tensor input, Tensor weight, float epsilon=1e-06) -> Tensor"),
        FLAGGEMS_BIND(flaggems::act_quant, quantized_types, "flaggems::act_quant(Tensor x, int block_size=128, str scale_fmt='none') -> (Tensor, Tensor)"),
        FLAGGEMS_BIND(flaggems::rwkv_ka_fusion, floating_types, line("flaggems::rwkv_ka_fusion(Tensor k, Tensor kk, Tensor a, Tensor ka, int H, int N) -> (Tensor, Tensor, Tensor)").outputs_after(4)),
        FLAGGEMS_BIND(flaggems::rwkv_mm_sparsity, floating_types, "flaggems::rwkv_mm_sparsity(Tensor k, Tensor v) -> Tensor"),
        FLAGGEMS_BIND(flaggems::topk_softmax, floating_types, line("flaggems::topk_softmax(Tensor(a!) topk_weights, Tensor(b!) topk_indices, Tensor(c!) token_expert_indices, Tensor gating_output, bool renormalize=False) -> ()").keeps("topk_weights")),
        FLAGGEMS_BIND(flaggems::moe_sum, floating_types, "flaggems::moe_sum(Tensor input, Tensor(a!) output) -> ()"),
        FLAGGEMS_BIND(flaggems::grouped_topk, floating_types, line("flaggems::grouped_topk(Tensor scores, int n_group, int topk_group, int topk, bool renormalize, float routed_scaling_factor, Tensor bias, int scoring_func=0) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::topk_softplus_sqrt, floating_types, line("flaggems::topk_softplus_sqrt(Tensor(a!) topk_weights, Tensor(b!) topk_indices, Tensor(c!) token_expert_indices, Tensor gating_output, bool renormalize, float routed_scaling_factor, Tensor? correction_bias=None, Tensor? input_ids=None, Tensor? tid2eid=None) -> ()").keeps("topk_weights")),
        FLAGGEMS_BIND(flaggems::moe_align_block_size, expert_types, line("flaggems::moe_align_block_size(Tensor topk_ids, int block_size, int num_experts, Tensor? expert_map=None, bool pad_sorted_ids=False) -> (Tensor, Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::moe_align_block_size_triton, expert_types, "flaggems::moe_align_block_size_triton(Tensor topk_ids, int num_experts, int block_size, Tensor(a!) sorted_token_ids, Tensor(b!) expert_ids, Tensor(c!) num_tokens_post_pad) -> ()"),
        FLAGGEMS_BIND(flaggems::router_gemm, floating_types, line("flaggems::router_gemm(Tensor x, Tensor weight) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::concat_and_cache_mla, floating_types, "flaggems::concat_and_cache_mla(Tensor kv_c, Tensor k_pe, Tensor(a!) kv_cache, Tensor slot_mapping, str kv_cache_dtype='auto') -> ()"),
        FLAGGEMS_BIND(flaggems::reshape_and_cache, floating_types, "flaggems::reshape_and_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slot_mapping, str kv_cache_dtype='auto') -> ()"),
        FLAGGEMS_BIND(flaggems::reshape_and_cache_flash, floating_types, "flaggems::reshape_and_cache_flash(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slot_mapping, str kv_cache_dtype='auto') -> ()"));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
