// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/attention_backward.hpp>
#include <flaggems/ops/attention_forms.hpp>
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
flash_attention_options<D> options_of(
    std::type_identity<flash_attention_options<D>>, f64 dropout_p, bool is_causal,
    bool return_debug_mask, std::optional<f64> scale, std::optional<i64> window_size_left,
    std::optional<i64> window_size_right, const std::optional<tensor_view<const i32, D>>& seqused_k,
    const std::optional<tensor_view<const f32, D>>& alibi_slopes) {
  if (return_debug_mask) [[unlikely]]
    raise(errc::not_supported, "flash_attention_forward", "return_debug_mask = False", "True");
  return {.dropout_p = dropout_p,
          .is_causal = is_causal,
          .scale = scale,
          .window_size_left = window_size_left,
          .window_size_right = window_size_right,
          .seqused_k = seqused_k,
          .alibi_slopes = alibi_slopes};
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
inline constexpr char attn_mask[] = "attn_mask", attn_bias[] = "attn_bias";
using masked_types = bindings::with_choice<floating_types, mask_choice<attn_mask>>;
using biased_types = bindings::with_choice<floating_types, mask_choice<attn_bias>>;
/// Those of attention over sequences.
using sequence_types = type_list<f32, bf16, f16>;

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
        FLAGGEMS_BIND(flaggems::flash_attention_forward, sequence_types, line("_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)").options_from("dropout_p").keeps("alibi_slopes").without_out()),
        FLAGGEMS_BIND(flaggems::flash_attention_backward, sequence_types, line("_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)").options_from("dropout_p").keeps("logsumexp").without_out()),
        FLAGGEMS_BIND(flaggems::flash_attn_varlen_func, sequence_types, line("flaggems::flash_attn_varlen_func(Tensor q, Tensor k, Tensor v, SymInt max_seqlen_q, Tensor cu_seqlens_q, SymInt max_seqlen_k, Tensor? cu_seqlens_k=None, Tensor? seqused_k=None, Tensor? q_v=None, float dropout_p=0.0, float? softmax_scale=None, bool causal=False, SymInt[]? window_size=None, float softcap=0.0, Tensor? alibi_slopes=None, bool deterministic=False, bool return_attn_probs=False, Tensor? block_table=None, bool return_softmax_lse=False, *, Tensor? scheduler_metadata=None, Tensor? q_descale=None, Tensor? k_descale=None, Tensor? v_descale=None, Tensor? s_aux=None, int num_splits=0, int cp_world_size=1, int cp_rank=0, Tensor? cp_tot_seqused_k=None, int fa_version=2) -> (Tensor out, Tensor softmax_lse)").options_from("q_v").outputs_after(8).keeps("alibi_slopes", "q_descale", "k_descale", "v_descale")));
    // clang-format on
  }
};

}  // namespace flaggems::operator_families
