// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/attention_backward.hpp>
#include <flaggems/ops/attention_forms.hpp>
#include <flaggems/ops/attention_fused.hpp>
#include <flaggems/ops/attention_latent.hpp>
#include <flaggems/ops/attention_logits.hpp>
#include <flaggems/ops/attention_varlen.hpp>
#include <flaggems/ops/attention_varlen_backward.hpp>

#include <flaggems/registry/bind.hpp>
#include <flaggems/registry/dtypes.hpp>

namespace flaggems {

/// The options that ATen has.
inline attention_options options_of(std::type_identity<attention_options>, f64 dropout_p,
                                    bool is_causal, std::optional<f64> scale, bool enable_gqa) {
  return {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale, .enable_gqa = enable_gqa};
}

/// The options that FlagGems has; those that nothing here serves raise not_supported.
template <class T, class D>
varlen_attention_options<D> options_of(
    std::type_identity<varlen_attention_options<D>>,
    const std::optional<tensor_view<const T, D>>& q_v, f64 dropout_p,
    std::optional<f64> softmax_scale, bool causal, int_list window_size, f64 softcap,
    const std::optional<tensor_view<const f32, D>>& alibi_slopes, bool return_attn_probs,
    const std::optional<tensor_view<const i32, D>>& block_table,
    const std::optional<tensor_view<const f32, D>>& q_descale,
    const std::optional<tensor_view<const f32, D>>& k_descale,
    const std::optional<tensor_view<const f32, D>>& v_descale,
    const std::optional<tensor_view<const T, D>>& s_aux, i64 cp_world_size,
    const std::optional<tensor_view<const i32, D>>& cp_tot_seqused_k, i64 fa_version) {
  constexpr const char* op = "flash_attn_varlen_func";
  const auto refuse = [](bool is_given, const char* expected, const char* got) {
    if (is_given) [[unlikely]]
      raise(errc::not_supported, op, expected, got);
  };
  refuse(q_v.has_value(), "no q_v", "q_v");
  refuse(return_attn_probs, "return_attn_probs = False", "True");
  refuse(q_descale || k_descale || v_descale, "no q_descale, k_descale or v_descale", "one");
  refuse(s_aux.has_value(), "no s_aux", "s_aux");
  refuse(cp_world_size != 1 || cp_tot_seqused_k, "cp_world_size = 1", "several");
  refuse(fa_version != 2, "fa_version = 2", "another");
  if (window_size.size() != 0 && window_size.size() != 2) [[unlikely]]
    raise(errc::shape_mismatch, op, "a window_size of two", to_string(window_size));
  return {.dropout_p = dropout_p,
          .softmax_scale = softmax_scale,
          .causal = causal,
          .window_left = window_size.size() == 0 ? -1 : window_size[0],
          .window_right = window_size.size() == 0 ? -1 : window_size[1],
          .softcap = softcap,
          .alibi_slopes = alibi_slopes,
          .block_table = block_table};
}

/// The options that ATen has.
template <class D>
flash_attention_options<D> options_of(std::type_identity<flash_attention_options<D>>, f64 dropout_p,
                                      bool is_causal, std::optional<f64> scale,
                                      std::optional<i64> window_size_left,
                                      std::optional<i64> window_size_right,
                                      const std::optional<tensor_view<const i32, D>>& seqused_k,
                                      const std::optional<tensor_view<const f32, D>>& alibi_slopes,
                                      const std::optional<tensor_view<const i32, D>>& block_table) {
  return {.dropout_p = dropout_p,
          .is_causal = is_causal,
          .scale = scale,
          .window_size_left = window_size_left,
          .window_size_right = window_size_right,
          .seqused_k = seqused_k,
          .alibi_slopes = alibi_slopes,
          .block_table = block_table};
}

/// The options that ATen has.
inline flash_attention_backward_options options_of(
    std::type_identity<flash_attention_backward_options>, f64 dropout_p, bool is_causal,
    std::optional<f64> scale, std::optional<i64> window_size_left,
    std::optional<i64> window_size_right) {
  return {.dropout_p = dropout_p,
          .is_causal = is_causal,
          .scale = scale,
          .window_size_left = window_size_left,
          .window_size_right = window_size_right};
}

/// The options that change our plan, of those that FlagGems has.
template <class D>
scheduler_options<D> options_of(std::type_identity<scheduler_options<D>>,
                                const std::optional<tensor_view<const i32, D>>& cu_seqlens_q,
                                const std::optional<tensor_view<const i32, D>>&,
                                const std::optional<tensor_view<const i32, D>>& cu_seqlens_k_new,
                                const std::optional<tensor_view<const i32, D>>& seqused_q,
                                const std::optional<tensor_view<const i32, D>>& leftpad_k,
                                std::optional<i64>, i64 max_seqlen_k_new, bool, i64, i64, bool,
                                i64 num_splits, std::optional<bool> pack_gqa, i64 sm_margin) {
  return {.cu_seqlens_q = cu_seqlens_q,
          .cu_seqlens_k_new = cu_seqlens_k_new,
          .seqused_q = seqused_q,
          .leftpad_k = leftpad_k,
          .max_seqlen_k_new = max_seqlen_k_new,
          .num_splits = num_splits,
          .pack_gqa = pack_gqa.value_or(true),
          .sm_margin = sm_margin};
}

}  // namespace flaggems

namespace flaggems::operator_families {

/// A mask is of bool or has the dtype of the query.
template <const char* Name>
struct mask_choice {
  static constexpr std::string_view parameter = Name;
  template <class T, class D>
  using example = std::optional<tensor_view<const T, D>>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& mask, const F& f) {
    if (mask.is_none())
      f(std::optional<tensor_view<const T, D>>());
    else
      visit<bool, T>(
          mask.view().dtype(),
          [&](auto type) {
            using M = typename decltype(type)::type;
            f(std::optional(mask.view().template as<const M>()));
          },
          "scaled_dot_product_attention");
  }
};
inline constexpr char attn_mask[] = "attn_mask", attn_bias[] = "attn_bias", bias[] = "bias";
using masked_types = bindings::with_choice<floating_types, mask_choice<attn_mask>>;
using biased_types = bindings::with_choice<floating_types, mask_choice<attn_bias>>;
using plain_biased_types = bindings::with_choice<floating_types, mask_choice<bias>>;
/// Those of attention over sequences.
using sequence_types = type_list<f32, bf16, f16>;

/// A cache of bytes, or of the query's dtype.
template <const char* Name>
struct cache_choice {
  static constexpr std::string_view parameter = Name;
  template <class T, class D>
  using example = tensor_view<const T, D>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& cache, const F& f) {
    visit<u8, T>(
        cache.view().dtype(),
        [&](auto type) { f(cache.view().template as<const typename decltype(type)::type>()); },
        Name);
  }
};
/// Queries of f8e4m3, or of four bits in bytes.
template <const char* Name>
struct query_choice {
  static constexpr std::string_view parameter = Name;
  template <class, class D>
  using example = tensor_view<const f8e4m3, D>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& query, const F& f) {
    visit<f8e4m3, u8>(
        query.view().dtype(),
        [&](auto type) { f(query.view().template as<const typename decltype(type)::type>()); },
        Name);
  }
};
inline constexpr char k_cache[] = "k_cache", coded_query[] = "q";
using cached_types = bindings::with_choice<sequence_types, cache_choice<k_cache>>;
using logit_types = type_list<f32>;
using coded_types = bindings::with_choice<logit_types, query_choice<coded_query>>;

/// Attention.
struct attention {
  static constexpr auto lines() {
    using bindings::line;
    // clang-format off
    return std::tuple(
        FLAGGEMS_BIND(flaggems::scaled_dot_product_attention, masked_types, line("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor").options_from("dropout_p")),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_flash_attention, masked_types, line("_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_flash_attention_backward, masked_types, line("_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_attention_math, masked_types, line("_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_efficient_attention, biased_types, line("_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_attention_forward, masked_types, line("flaggems::scaled_dot_product_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, float? scale=None, bool enable_gqa=False) -> (Tensor output, Tensor logsumexp)").options_from("dropout_p").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_attention_backward, masked_types, line("flaggems::scaled_dot_product_attention_backward(Tensor do, Tensor query, Tensor key, Tensor value, Tensor o, Tensor M, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, float? scale=None, bool enable_gqa=False) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)").options_from("dropout_p").keeps("M").without_out()),
        FLAGGEMS_BIND(flaggems::flash_attention_forward, sequence_types, line("_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)").options_from("dropout_p").keeps("alibi_slopes").without_out().version(2)),
        FLAGGEMS_BIND(flaggems::flash_attention_backward, sequence_types, line("_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)").options_from("dropout_p").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::flash_attn_varlen_func, sequence_types, line("flaggems::flash_attn_varlen_func(Tensor q, Tensor k, Tensor v, SymInt max_seqlen_q, Tensor cu_seqlens_q, SymInt max_seqlen_k, Tensor? cu_seqlens_k=None, Tensor? seqused_k=None, Tensor? q_v=None, float dropout_p=0.0, float? softmax_scale=None, bool causal=False, SymInt[]? window_size=None, float softcap=0.0, Tensor? alibi_slopes=None, bool deterministic=False, bool return_attn_probs=False, Tensor? block_table=None, bool return_softmax_lse=False, *, Tensor? scheduler_metadata=None, Tensor? q_descale=None, Tensor? k_descale=None, Tensor? v_descale=None, Tensor? s_aux=None, int num_splits=0, int cp_world_size=1, int cp_rank=0, Tensor? cp_tot_seqused_k=None, int fa_version=2) -> (Tensor out, Tensor softmax_lse)").options_from("q_v").outputs_after(8).keeps("alibi_slopes", "q_descale", "k_descale", "v_descale").also("flash_attn_varlen_opt_func")),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_cudnn_attention, biased_types, line("_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)")),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_cudnn_attention_backward, biased_types, line("_scaled_dot_product_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, Tensor? attn_bias, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::cudnn_attention_forward, biased_types, line("_cudnn_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None, Tensor? seqused_k=None, Tensor? block_table=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)")),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_fused_attention_overrideable, biased_types, line("_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)")),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_fused_attention_overrideable_backward, biased_types, line("_scaled_dot_product_fused_attention_overrideable_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool[4] grad_input_mask, Tensor out, Tensor logsumexp, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_attn_bias)").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::scaled_dot_product_efficient_attention_backward, biased_types, line("_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::efficient_attention_backward, plain_biased_types, line("_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed, Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? scale=None, int? num_splits_key=None, int? window_size=None, bool shared_storage_dqdkdv=False) -> (Tensor, Tensor, Tensor, Tensor)").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::flash_mla, sequence_types, line("flaggems::flash_mla(Tensor q, Tensor block_table, Tensor blocked_k, int max_seqlen_pad, int block_size, int b, int s_q, Tensor cache_seqlens, int h_q, int h_kv, int d, int dv, bool causal) -> Tensor").outputs_after(13)),
        FLAGGEMS_BIND(flaggems::flash_mla_with_kvcache, cached_types, line("flaggems::flash_mla_with_kvcache(Tensor q, Tensor k_cache, Tensor? block_table, Tensor? cache_seqlens, int head_dim_v, Tensor? tile_scheduler_metadata=None, Tensor? num_splits=None, float? softmax_scale=None, bool causal=False, bool is_fp8_kvcache=False, Tensor? indices=None, Tensor? attn_sink=None, Tensor? extra_k_cache=None, Tensor? extra_indices_in_kvcache=None, Tensor? topk_length=None, Tensor? extra_topk_length=None) -> (Tensor out, Tensor lse)").options_from("softmax_scale").outputs_after(5).counts("indices").keeps("attn_sink").bytes_in("extra_k_cache")),
        FLAGGEMS_BIND(flaggems::flash_mla_sparse_fwd, sequence_types, line("flaggems::flash_mla_sparse_fwd(Tensor q, Tensor kv, Tensor indices, float sm_scale, int d_v=512, Tensor? attn_sink=None, Tensor? topk_length=None) -> (Tensor output, Tensor max_logits, Tensor lse)").counts("indices").keeps("attn_sink").without_out()),
        FLAGGEMS_BIND(flaggems::triton_sparse_mla_fwd_interface, sequence_types, line("flaggems::triton_sparse_mla_fwd_interface(Tensor q, Tensor kv, Tensor indices, float? sm_scale=None, bool return_p_sum=False, int d_v=512) -> (Tensor output, Tensor lse)").counts("indices").without_out()),
        FLAGGEMS_BIND(flaggems::sparse_attn_triton, sequence_types, line("flaggems::sparse_attn_triton(Tensor q, Tensor kv, Tensor attn_sink, Tensor topk_idxs, float softmax_scale) -> Tensor").keeps("attn_sink").outputs_after(5)),
        FLAGGEMS_BIND(flaggems::fp8_mqa_logits, logit_types, line("flaggems::fp8_mqa_logits(Tensor q, Tensor k, Tensor k_scale, Tensor weights, Tensor cu_seqlen_ks, Tensor cu_seqlen_ke, bool clean_logits) -> Tensor").encodes("q", "k")),
        FLAGGEMS_BIND(flaggems::fp8_fp4_mqa_logits, coded_types, line("flaggems::fp8_fp4_mqa_logits(Tensor q, Tensor? q_scale, Tensor k, Tensor k_scale, Tensor weights, Tensor cu_seqlen_ks, Tensor cu_seqlen_ke, bool clean_logits=True) -> Tensor").encodes("k").without_out()),
        FLAGGEMS_BIND(flaggems::bf16_paged_mqa_logits, sequence_types, line("flaggems::bf16_paged_mqa_logits(Tensor q, Tensor kv_cache, Tensor weights, Tensor context_lens, Tensor block_table, Tensor? schedule_metadata, int max_context_len, bool clean_logits=False) -> Tensor").keeps("weights").without_out()),
        FLAGGEMS_BIND(flaggems::fp8_paged_mqa_logits, logit_types, line("flaggems::fp8_paged_mqa_logits(Tensor q, Tensor kv_cache, Tensor weights, Tensor context_lens, Tensor block_tables, int max_model_len) -> Tensor").encodes("q").bytes_in("kv_cache").without_out()),
        FLAGGEMS_BIND(flaggems::fp8_fp4_paged_mqa_logits, coded_types, line("flaggems::fp8_fp4_paged_mqa_logits(Tensor q, Tensor? q_scale, Tensor kv_cache, Tensor weights, Tensor context_lens, Tensor block_tables, Tensor? schedule_metadata, int max_model_len, bool clean_logits=False) -> Tensor").bytes_in("kv_cache").without_out()),
        FLAGGEMS_BIND(flaggems::get_paged_mqa_logits_metadata, logit_types, line("flaggems::get_paged_mqa_logits_metadata(Tensor context_lens, int block_size, int num_sms) -> Tensor").without_out()),
        FLAGGEMS_BIND_RESULT(flaggems::get_scheduler_metadata, sequence_types, line("flaggems::get_scheduler_metadata(int batch_size, int max_seqlen_q, int max_seqlen_k, int num_heads, int num_heads_k, int headdim, int headdim_v, ScalarType qkv_dtype, Tensor seqused_k, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, Tensor? cu_seqlens_k_new=None, Tensor? seqused_q=None, Tensor? leftpad_k=None, int? page_size=None, int max_seqlen_k_new=0, bool is_causal=False, int window_size_left=-1, int window_size_right=-1, bool has_softcap=False, int num_splits=0, bool? pack_gqa=None, int sm_margin=0) -> Tensor").options_from("cu_seqlens_q").reads("num_splits").without_out()));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
