// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Of FlagGems' C++ interface: attention over sequences of several lengths, its caches, and RWKV.
#pragma once

#include <flaggems/adapters/flag_gems.hpp>

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace flag_gems {

/// Row i of key and value into the slots slot_mapping[i] of the caches [blocks, block, heads,
/// size]; -1 is skipped. Raises not_supported for a cache of another dtype than "auto".
/// flaggems::reshape_and_cache_flash
inline void reshape_and_cache_flash(const at::Tensor& key, const at::Tensor& value,
                                    at::Tensor& key_cache, at::Tensor& value_cache,
                                    const at::Tensor& slot_mapping,
                                    const std::string& kv_cache_dtype,
                                    const std::optional<at::Tensor>& /*k_scale*/,
                                    const std::optional<at::Tensor>& /*v_scale*/) {
  flaggems_call("flag_gems::reshape_and_cache_flash", "flaggems::reshape_and_cache_flash",
                {key, value, key_cache, value_cache, slot_mapping, kv_cache_dtype});
}

/// flaggems::flash_attn_varlen_func. The second result is there if return_softmax_lse. Raises
/// not_supported for dropout, probabilities, q_v, scales of quantised tensors, s_aux, several ranks
/// and other versions than 2.
inline std::tuple<at::Tensor, at::Tensor> flash_attn_varlen_func(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t max_seqlen_q,
    const at::Tensor& cu_seqlens_q, int64_t max_seqlen_k,
    const std::optional<at::Tensor>& cu_seqlens_k = std::nullopt,
    const std::optional<at::Tensor>& seqused_k = std::nullopt,
    const std::optional<at::Tensor>& q_v = std::nullopt, double dropout_p = 0.0,
    const std::optional<double>& softmax_scale = std::nullopt, bool causal = false,
    c10::optional<at::IntArrayRef> window_size = c10::nullopt, double softcap = 0.0,
    const std::optional<at::Tensor>& alibi_slopes = std::nullopt, bool deterministic = false,
    bool return_attn_probs = false, const std::optional<at::Tensor>& block_table = std::nullopt,
    bool return_softmax_lse = false, std::optional<at::Tensor> out = std::nullopt,
    const std::optional<at::Tensor>& scheduler_metadata = std::nullopt,
    const std::optional<at::Tensor>& q_descale = std::nullopt,
    const std::optional<at::Tensor>& k_descale = std::nullopt,
    const std::optional<at::Tensor>& v_descale = std::nullopt,
    std::optional<at::Tensor> s_aux = std::nullopt, int64_t num_splits = 0,
    int64_t cp_world_size = 1, int64_t cp_rank = 0,
    std::optional<at::Tensor> cp_tot_seqused_k = std::nullopt, int64_t fa_version = 2) {
  constexpr const char* op = "flag_gems::flash_attn_varlen_func";
  const auto maybe = [](const std::optional<at::Tensor>& x) {
    return flaggems::detail::flag_gems_optional(x);
  };
  // Lengths, starts and pages of other integers become i32.
  const auto lengths = [&](const std::optional<at::Tensor>& x) {
    return x && x->defined() ? c10::IValue(x->to(at::kInt)) : c10::IValue();
  };
  const c10::IValue scale = softmax_scale ? c10::IValue(*softmax_scale) : c10::IValue();
  const c10::IValue window =
      window_size.has_value() ? flaggems::detail::flag_gems_ints(*window_size) : c10::IValue();
  const auto call = [&](const char* key, const auto&... outputs) {
    return flaggems_call(op, key,
                         {q,
                          k,
                          v,
                          max_seqlen_q,
                          lengths(cu_seqlens_q),
                          max_seqlen_k,
                          lengths(cu_seqlens_k),
                          lengths(seqused_k),
                          maybe(q_v),
                          dropout_p,
                          scale,
                          causal,
                          window,
                          softcap,
                          maybe(alibi_slopes),
                          deterministic,
                          return_attn_probs,
                          lengths(block_table),
                          return_softmax_lse,
                          maybe(scheduler_metadata),
                          maybe(q_descale),
                          maybe(k_descale),
                          maybe(v_descale),
                          maybe(s_aux),
                          num_splits,
                          cp_world_size,
                          cp_rank,
                          maybe(cp_tot_seqused_k),
                          fa_version,
                          outputs...});
  };
  const auto with_sums = [&](const at::Tensor& result, const at::Tensor& sums) {
    return std::tuple(result, return_softmax_lse ? sums : at::Tensor());
  };
  if (!out) {
    const auto [result, sums] = call("flaggems::flash_attn_varlen_func").all<2>();
    return with_sums(result, sums);
  }
  flaggems::check(q.dim() == 3, flaggems::errc::shape_mismatch, op, "q of three dimensions");
  const at::Tensor sums = at::empty({q.size(1), q.size(0)}, q.options().dtype(at::kFloat));
  call("flaggems::flash_attn_varlen_func.out", *out, sums);
  return with_sums(*out, sums);
}

/// flaggems::rwkv_mm_sparsity
inline at::Tensor rwkv_mm_sparsity(const at::Tensor& k, const at::Tensor& v) {
  return flaggems_call("flag_gems::rwkv_mm_sparsity", "flaggems::rwkv_mm_sparsity", {k, v}).one();
}
/// flaggems::rwkv_ka_fusion
inline std::tuple<at::Tensor, at::Tensor, at::Tensor> rwkv_ka_fusion(const at::Tensor& k,
                                                                     const at::Tensor& kk,
                                                                     const at::Tensor& a,
                                                                     const at::Tensor& ka,
                                                                     int64_t H, int64_t N) {
  return flaggems_call("flag_gems::rwkv_ka_fusion", "flaggems::rwkv_ka_fusion",
                       {k, kk, a, ka, H, N})
      .all<3>();
}

}  // namespace flag_gems
