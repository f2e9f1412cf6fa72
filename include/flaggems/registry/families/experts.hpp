// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/mega_moe.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems::operator_families {

/// Mixtures of experts, whose weights are of any dtype.
struct experts {
  using token_types = type_list<f32, bf16, f16>;
  using coded_token_types = type_list<f8e4m3>;
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::dispatch_fused_moe_kernel, token_types, line("flaggems::dispatch_fused_moe_kernel(Tensor A, Tensor B, Tensor(a!) C, Tensor? A_scale, Tensor? B_scale, Tensor? B_zp, Tensor? topk_weights, Tensor? sorted_token_ids, Tensor expert_ids, Tensor num_tokens_post_padded, bool mul_routed_weight, int top_k, int block_size_m, bool use_fp8_w8a8=False, bool use_int8_w8a8=False, bool use_int8_w8a16=False, bool use_int4_w4a16=False, bool per_channel_quant=False, int[]? block_shape=None, Tensor? B_bias=None, bool FUSE_SILU=False, bool direct_sum=False, int out_top_k=1) -> ()").options_from("use_fp8_w8a8").takes_any("A B A_scale B_scale B_zp topk_weights sorted_token_ids expert_ids num_tokens_post_padded B_bias")),
        FLAGGEMS_BIND(flaggems::invoke_fused_moe_triton_kernel, token_types, line("flaggems::invoke_fused_moe_triton_kernel(Tensor A, Tensor B, Tensor(a!) C, Tensor? A_scale, Tensor? B_scale, Tensor? topk_weights, Tensor? sorted_token_ids, Tensor expert_ids, Tensor num_tokens_post_padded, bool mul_routed_weight, int top_k, int block_size_m, bool use_fp8_w8a8=False, bool use_int8_w8a8=False, bool use_int8_w8a16=False, bool use_int4_w4a16=False, bool per_channel_quant=False, int[]? block_shape=None, Tensor? B_bias=None, bool FUSE_SILU=False, bool direct_sum=False, int out_top_k=1) -> ()").options_from("use_fp8_w8a8").takes_any("A B A_scale B_scale topk_weights sorted_token_ids expert_ids num_tokens_post_padded B_bias")),
        FLAGGEMS_BIND(flaggems::fused_experts_impl, token_types, line("flaggems::fused_experts_impl(Tensor hidden_states, Tensor w1, Tensor w2, Tensor topk_weights, Tensor topk_ids, str activation='silu', bool apply_router_weight_on_input=False, bool use_fp8_w8a8=False, bool use_int8_w8a8=False, bool use_int8_w8a16=False, bool use_int4_w4a16=False, str ocp_mx_scheme='none', bool per_channel_quant=False, int global_num_experts=-1, Tensor? expert_map=None, Tensor? w1_scale=None, Tensor? w2_scale=None, Tensor? w1_zp=None, Tensor? w2_zp=None, Tensor? a1_scale=None, Tensor? a2_scale=None, int[]? block_shape=None, Tensor? w1_bias=None, Tensor? w2_bias=None) -> Tensor").also("outplace_fused_experts").options_from("apply_router_weight_on_input").outputs_after(5).takes_any("w1 w2 topk_weights topk_ids expert_map w1_scale w2_scale w1_zp w2_zp a1_scale a2_scale w1_bias w2_bias")),
        FLAGGEMS_BIND(flaggems::inplace_fused_experts, token_types, line("flaggems::inplace_fused_experts(Tensor(a!) hidden_states, Tensor w1, Tensor w2, Tensor topk_weights, Tensor topk_ids, str activation='silu', bool apply_router_weight_on_input=False, bool use_fp8_w8a8=False, bool use_int8_w8a8=False, bool use_int8_w8a16=False, bool use_int4_w4a16=False, str ocp_mx_scheme='none', bool per_channel_quant=False, int global_num_experts=-1, Tensor? expert_map=None, Tensor? w1_scale=None, Tensor? w2_scale=None, Tensor? w1_zp=None, Tensor? w2_zp=None, Tensor? a1_scale=None, Tensor? a2_scale=None, int[]? block_shape=None, Tensor? w1_bias=None, Tensor? w2_bias=None) -> ()").options_from("apply_router_weight_on_input").takes_any("w1 w2 topk_weights topk_ids expert_map w1_scale w2_scale w1_zp w2_zp a1_scale a2_scale w1_bias w2_bias")),
        FLAGGEMS_BIND(flaggems::fused_marlin_moe, token_types, line("flaggems::fused_marlin_moe(Tensor hidden_states, Tensor w1, Tensor w2, Tensor? bias1, Tensor? bias2, Tensor w1_scale, Tensor w2_scale, Tensor topk_weights, Tensor topk_ids, int quant_type_id, bool apply_router_weight_on_input=False, int global_num_experts=-1, Tensor? expert_map=None, float? clamp_limit=None, int group_size=128) -> Tensor").options_from("apply_router_weight_on_input").outputs_after(9).takes_any("w1 w2 bias1 bias2 w1_scale w2_scale topk_weights topk_ids expert_map")),
        FLAGGEMS_BIND(flaggems::fused_marlin_moe_w4a16_int4, token_types, line("flaggems::fused_marlin_moe_w4a16_int4(Tensor hidden_states, Tensor w1, Tensor w2, Tensor w1_scale, Tensor w2_scale, Tensor topk_weights, Tensor topk_ids, int group_size=128, bool apply_router_weight_on_input=False) -> Tensor").without_out().takes_any("w1 w2 w1_scale w2_scale topk_weights topk_ids")),
        FLAGGEMS_BIND(flaggems::fused_marlin_moe_w4a16_mxfp4, token_types, line("flaggems::fused_marlin_moe_w4a16_mxfp4(Tensor hidden_states, Tensor w1, Tensor w2, Tensor w1_scale, Tensor w2_scale, Tensor topk_weights, Tensor topk_ids, bool apply_router_weight_on_input=False) -> Tensor").without_out().takes_any("w1 w2 w1_scale w2_scale topk_weights topk_ids")),
        FLAGGEMS_BIND(flaggems::fused_moe, token_types, line("flaggems::fused_moe(Tensor x, Tensor w1, Tensor? w2, Tensor? w3, Tensor topk_weights, Tensor topk_ids, Tensor? w1_scales=None, Tensor? w1_zeros=None, Tensor? w2_scales=None, Tensor? w2_zeros=None, Tensor? w3_scales=None, Tensor? w3_zeros=None) -> Tensor").options_from("w1_scales").outputs_after(6).takes_any("w1 w2 w3 topk_weights topk_ids w1_scales w1_zeros w2_scales w2_zeros w3_scales w3_zeros")),
        FLAGGEMS_BIND(flaggems::fp8_fp4_mega_moe, coded_token_types, line("flaggems::fp8_fp4_mega_moe(Tensor x_fp8, Tensor x_scale, Tensor topk_idx, Tensor topk_weights, Tensor l1_weights, Tensor l1_scales, Tensor l2_weights, Tensor l2_scales, float? activation_clamp=None) -> Tensor").takes_any("x_scale topk_idx topk_weights l1_weights l1_scales l2_weights l2_scales")),
        FLAGGEMS_BIND(flaggems::fp8_fp4_mega_moe_torch_ref, coded_token_types, line("flaggems::fp8_fp4_mega_moe_torch_ref(Tensor x_fp8, Tensor x_scale, Tensor topk_idx, Tensor topk_weights, Tensor l1_weights, Tensor l1_scales, Tensor l2_weights, Tensor l2_scales, float? activation_clamp=None) -> Tensor").without_out().takes_any("x_scale topk_idx topk_weights l1_weights l1_scales l2_weights l2_scales")),
        FLAGGEMS_BIND(flaggems::stage_deepseek_v4_mega_moe_inputs, token_types, line("flaggems::stage_deepseek_v4_mega_moe_inputs(Tensor hidden_states, Tensor topk_weights, Tensor topk_ids, Tensor(a!) x_fp8, Tensor(b!) x_sf, Tensor(c!) topk_idx_out, Tensor(d!) topk_weights_out) -> ()").keeps("topk_weights_out").encodes("x_fp8", {}).takes_any("topk_weights topk_ids")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
