// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/fused_norm.hpp>
#include <flaggems/ops/kv_cache.hpp>
#include <flaggems/ops/moe.hpp>
#include <flaggems/ops/moe_routing.hpp>
#include <flaggems/ops/observers.hpp>
#include <flaggems/ops/optimizer.hpp>
#include <flaggems/ops/quantize.hpp>
#include <flaggems/ops/rwkv.hpp>
#include <flaggems/ops/sequence_batches.hpp>
#include <flaggems/ops/sparse.hpp>
#include <flaggems/ops/weight_packing.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

#include <span>
#include <vector>

namespace flaggems {
/// Of offsets whose dtype is known at run time, i64.
template <class S, class X, class D>
auto jagged_to_padded_dense_forward(const S& stream, const X& values,
                                    std::span<const any_view<D>> offsets, int_list max_lengths,
                                    f64 padding_value) {
  std::vector<tensor_view<const i64, D>> list;
  for (const any_view<D>& one : offsets) list.push_back(one.template as<const i64>());
  return jagged_to_padded_dense_forward(stream, values, list, max_lengths, padding_value);
}
}  // namespace flaggems

namespace flaggems::operator_families {

using quantized_types = type_list<f32, bf16, f16>;
using expert_types = type_list<i32, i64>;

/// A tensor of one dtype, E, whatever the operator's.
template <const char* Name, class E>
struct always_of {
  static constexpr std::string_view parameter = Name;
  template <class T, class D>
  using example = tensor_view<const E, D>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& x, const F& f) {
    f(x.view().template as<const E>());
  }
};
inline constexpr char mat2_name[] = "mat2", places_name[] = "mat1_meta";
using multiplied_types = bindings::with_choice<quantized_types, always_of<mat2_name, i8>>;
using packed_types = bindings::with_choice<quantized_types, always_of<mat2_name, u8>>;
using half_stored_types = bindings::with_choice<quantized_types, always_of<places_name, i16>>;

/// What models fuse, and steps of their training.
struct fused {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::fused_adam_, floating_types, line("_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()").keeps("state_steps", "grad_scale", "found_inf")),
        FLAGGEMS_BIND(flaggems::amp_update_scale_, type_list<f32>, "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)"),
        FLAGGEMS_BIND(flaggems::amp_foreach_non_finite_check_and_unscale_, quantized_types, line("_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()").keeps("found_inf", "inv_scale")),
        FLAGGEMS_BIND(flaggems::fake_quantize_per_channel_affine, quantized_types, line("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor").keeps("scale").without_out()),
        FLAGGEMS_BIND(flaggems::fake_quantize_per_channel_affine_cachemask, quantized_types, line("fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)").keeps("scale").without_out()),
        FLAGGEMS_BIND(flaggems::fake_quantize_learnable_per_tensor_affine, quantized_types, line("_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.0) -> Tensor").keeps("scale", "zero_point").without_out()),
        FLAGGEMS_BIND(flaggems::per_token_group_quant_fp8, quantized_types, line("flaggems::per_token_group_quant_fp8(Tensor x, int group_size, float eps=1e-10, bool column_major_scales=False, bool scale_ue8m0=False) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::weight_int8pack_mm, multiplied_types, "_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor"),
        FLAGGEMS_BIND(flaggems::convert_weight_to_int4pack, type_list<i32>, line("_convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::weight_int4pack_mm_with_scales_and_zeros, packed_types, line("_weight_int4pack_mm_with_scales_and_zeros(Tensor self, Tensor mat2, int qGroupSize, Tensor qScale, Tensor qZeros) -> Tensor").keeps("qScale", "qZeros")),
        FLAGGEMS_BIND(flaggems::dyn_quant_pack_4bit_weight, type_list<u8>, line("_dyn_quant_pack_4bit_weight(Tensor weights, Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int out_features) -> Tensor").keeps("scales_zeros", "bias").without_out()),
        FLAGGEMS_BIND(flaggems::gather_block_quantized, type_list<i8>, line("flaggems::gather_block_quantized(Tensor quantized_data, Tensor scales, Tensor? indices=None, int block_size=128) -> Tensor").keeps("scales")),
        FLAGGEMS_BIND(flaggems::choose_qparams_optimized, type_list<f32>, line("choose_qparams_optimized(Tensor input, int numel, int n_bins, float ratio, int bit_width) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::fused_moving_avg_obs_fq_helper, quantized_types, line("_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)").keeps("running_min", "running_max", "scale").without_out()),
        FLAGGEMS_BIND(flaggems::sparse_sampled_addmm, floating_types, line("flaggems::sparse_sampled_addmm(Tensor crow_indices, Tensor col_indices, Tensor values, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor").options_from("beta")),
        FLAGGEMS_BIND(flaggems::sparse_semi_structured_mm, half_stored_types, line("_sparse_semi_structured_mm(Tensor mat1, Tensor mat1_meta, Tensor mat2, *, ScalarType? out_dtype=None) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::jagged_to_padded_dense_forward, numeric_types, line("_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0.) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::pack_seq, floating_types, line("flaggems::pack_seq(Tensor x, Tensor lengths, float pad_value) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::unpack_seq, floating_types, line("flaggems::unpack_seq(Tensor packed_tensor, Tensor lengths) -> Tensor").without_out()),
        FLAGGEMS_BIND(flaggems::top_k_per_row_prefill, floating_types, "flaggems::top_k_per_row_prefill(Tensor logits, Tensor row_starts, Tensor row_ends, Tensor(a!) indices) -> ()"),
        FLAGGEMS_BIND(flaggems::top_k_per_row_decode, floating_types, "flaggems::top_k_per_row_decode(Tensor logits, int next_n, Tensor seq_lens, Tensor(a!) indices) -> ()"),
        FLAGGEMS_BIND(flaggems::apply_repetition_penalties, floating_types, "flaggems::apply_repetition_penalties(Tensor(a!) logits, Tensor prompt_mask, Tensor output_mask, Tensor repetition_penalties) -> ()"),
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
