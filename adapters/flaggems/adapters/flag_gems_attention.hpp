// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Of FlagGems' C++ interface: attention over sequences of several lengths, its caches, and RWKV,
// without kernels of their own. They are made of the operators of flag_gems.hpp, and of ATen's for
// masks; sequences and slots are read by the host.
#pragma once

#include <flaggems/adapters/flag_gems.hpp>

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace flag_gems {

/// Row i of key and value into the slots slot_mapping[i] of the caches [blocks, block, heads,
/// size]; those below 0 are skipped. Raises not_supported for a cache of another dtype than "auto".
inline void reshape_and_cache_flash(const at::Tensor& key, const at::Tensor& value,
                                    at::Tensor& key_cache, at::Tensor& value_cache,
                                    const at::Tensor& slot_mapping,
                                    const std::string& kv_cache_dtype,
                                    const std::optional<at::Tensor>& /*k_scale*/,
                                    const std::optional<at::Tensor>& /*v_scale*/) {
  constexpr const char* op = "flag_gems::reshape_and_cache_flash";
  flaggems::check(kv_cache_dtype == "auto", flaggems::errc::not_supported, op,
                  "a cache of the keys' dtype (auto)", kv_cache_dtype.c_str());
  const auto slots = slot_mapping.to(at::kCPU, at::kLong).contiguous();
  const int64_t block = key_cache.size(1), most = key_cache.size(0) * block;
  for (int64_t i = 0; i < slots.numel(); ++i)
    flaggems::check(slots.data_ptr<int64_t>()[i] < most, flaggems::errc::out_of_range, op,
                    "slots of the cache");
  for (int64_t i = 0; i < slots.numel(); ++i) {
    const int64_t slot = slots.data_ptr<int64_t>()[i];
    if (slot < 0) continue;
    at::Tensor k = key_cache.select(0, slot / block).select(0, slot % block);
    at::Tensor v = value_cache.select(0, slot / block).select(0, slot % block);
    copy_(k, key.select(0, i)), copy_(v, value.select(0, i));
  }
}

/// softmax(q k^T) v of each sequence, in f32: q [tokens, heads, size]; k, v the same, of as many or
/// fewer heads, or with a block_table [blocks, block, heads, size]. Position i of n queries sees
/// the keys up to i + keys - n if causal. The second result is there if return_softmax_lse. Raises
/// not_supported for dropout, q_v, scales of quantised tensors, s_aux and several ranks.
inline std::tuple<at::Tensor, at::Tensor> flash_attn_varlen_func(
    const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t /*max_seqlen_q*/,
    const at::Tensor& cu_seqlens_q, int64_t /*max_seqlen_k*/,
    const std::optional<at::Tensor>& cu_seqlens_k = std::nullopt,
    const std::optional<at::Tensor>& seqused_k = std::nullopt,
    const std::optional<at::Tensor>& q_v = std::nullopt, double dropout_p = 0.0,
    const std::optional<double>& softmax_scale = std::nullopt, bool causal = false,
    c10::optional<at::IntArrayRef> window_size = c10::nullopt, double softcap = 0.0,
    const std::optional<at::Tensor>& alibi_slopes = std::nullopt, bool /*deterministic*/ = false,
    bool return_attn_probs = false, const std::optional<at::Tensor>& block_table = std::nullopt,
    bool return_softmax_lse = false, std::optional<at::Tensor> out = std::nullopt,
    const std::optional<at::Tensor>& /*scheduler_metadata*/ = std::nullopt,
    const std::optional<at::Tensor>& q_descale = std::nullopt,
    const std::optional<at::Tensor>& k_descale = std::nullopt,
    const std::optional<at::Tensor>& v_descale = std::nullopt,
    std::optional<at::Tensor> s_aux = std::nullopt, int64_t /*num_splits*/ = 0,
    int64_t cp_world_size = 1, int64_t /*cp_rank*/ = 0,
    std::optional<at::Tensor> /*cp_tot_seqused_k*/ = std::nullopt, int64_t /*fa_version*/ = 2) {
  constexpr const char* op = "flag_gems::flash_attn_varlen_func";
  flaggems::check(dropout_p == 0 && !return_attn_probs && !q_v && !q_descale && !k_descale &&
                      !v_descale && !s_aux && cp_world_size == 1,
                  flaggems::errc::not_supported, op,
                  "no dropout, probabilities, q_v, scales, s_aux or ranks");
  flaggems::check(seqused_k || cu_seqlens_k, flaggems::errc::invalid_argument, op,
                  "cu_seqlens_k or seqused_k");
  const auto numbers = [](const at::Tensor& t) {
    const at::Tensor c = t.to(at::kCPU, at::kLong).contiguous();
    return std::vector<int64_t>(c.data_ptr<int64_t>(), c.data_ptr<int64_t>() + c.numel());
  };
  const auto starts = numbers(cu_seqlens_q);
  const auto key_starts = cu_seqlens_k ? numbers(*cu_seqlens_k) : std::vector<int64_t>();
  const auto used = seqused_k ? numbers(*seqused_k) : std::vector<int64_t>();
  const int64_t heads = q.size(1), key_heads = k.size(-2), size = q.size(2);
  flaggems::check(block_table || !key_starts.empty(), flaggems::errc::invalid_argument, op,
                  "cu_seqlens_k or a block_table");
  flaggems::check(key_heads > 0 && heads % key_heads == 0, flaggems::errc::shape_mismatch, op,
                  "a multiple of the keys' heads");
  const double scale = softmax_scale ? *softmax_scale : 1 / std::sqrt(static_cast<double>(size));
  int64_t left = -1, right = -1;
  if (window_size.has_value()) left = (*window_size)[0], right = (*window_size)[1];
  if (causal) right = 0;

  at::Tensor result = out ? *out : flaggems_call(op, "empty_like", {q}).one();
  std::vector<at::Tensor> sums;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const int64_t n = starts[s + 1] - starts[s];
    const int64_t keys = seqused_k ? used[s] : key_starts[s + 1] - key_starts[s];
    // [heads, keys, size] in f32, of the sequence's rows or blocks
    const auto gathered = [&](const at::Tensor& all) {
      at::Tensor rows;
      if (block_table) {
        const int64_t count = (keys + all.size(1) - 1) / all.size(1);
        const at::Tensor blocks =
            block_table->select(0, static_cast<int64_t>(s)).narrow(0, 0, count);
        rows = flaggems_call(op, "index_select", {all, int64_t{0}, blocks}).one().flatten(0, 1);
        rows = rows.narrow(0, 0, keys);
      } else {
        rows = all.narrow(0, key_starts[s], keys);
      }
      const at::Tensor wide = to_copy(rows, c10::kFloat).transpose(0, 1).unsqueeze(1);
      return wide.expand({key_heads, heads / key_heads, keys, size}).reshape({heads, keys, size});
    };
    const at::Tensor mine = to_copy(q.narrow(0, starts[s], n), c10::kFloat).transpose(0, 1);
    at::Tensor scores = flag_gems::bmm(mine, gathered(k).transpose(1, 2));
    scores = flaggems_call(op, "mul.Scalar", {scores, scale}).one();
    if (softcap > 0) {
      scores = flaggems_call(op, "tanh", {flaggems_call(op, "div.Scalar", {scores, softcap}).one()})
                   .one();
      scores = flaggems_call(op, "mul.Scalar", {scores, softcap}).one();
    }
    const auto positions = at::TensorOptions(at::kLong).device(q.device());
    const at::Tensor away =
        at::arange(keys, positions) - (at::arange(n, positions).unsqueeze(1) + (keys - n));
    at::Tensor hidden = at::zeros({n, keys}, positions.dtype(at::kBool));
    if (right >= 0) hidden = hidden.logical_or(away > right);
    if (left >= 0) hidden = hidden.logical_or(away < -left);
    at::Tensor bias = at::zeros({n, keys}, positions.dtype(at::kFloat));
    if (alibi_slopes) {
      at::Tensor slope = alibi_slopes->dim() == 2 ? alibi_slopes->select(0, static_cast<int64_t>(s))
                                                  : *alibi_slopes;
      bias = away.abs() * slope.to(at::kFloat).view({heads, 1, 1}) * -1;
    }
    bias = bias.masked_fill(hidden, -std::numeric_limits<double>::infinity());
    scores = add_tensor(scores, bias);
    if (return_softmax_lse) sums.push_back(at::logsumexp(scores, -1));
    at::Tensor p = flag_gems::softmax(scores, -1, false);
    p.masked_fill_(hidden.all(-1, true), 0);  // who sees nothing gets zeros
    at::Tensor rows = result.narrow(0, starts[s], n);
    copy_(rows, flag_gems::bmm(p, gathered(v)).transpose(0, 1));
  }
  return {result, sums.empty() ? at::Tensor() : at::cat(sums, 1)};
}

/// k v of a row k [n], of which many elements are 0, and v [n, m]
inline at::Tensor rwkv_mm_sparsity(const at::Tensor& k, const at::Tensor& v) {
  return mm_tensor(k.unsqueeze(0), v).squeeze(0);
}
/// k (1 + (a - 1) ka); k kk with each head of N elements divided by its length; and that times a.
/// k, a [tokens, H N]; kk, ka [H N].
inline std::tuple<at::Tensor, at::Tensor, at::Tensor> rwkv_ka_fusion(const at::Tensor& k,
                                                                     const at::Tensor& kk,
                                                                     const at::Tensor& a,
                                                                     const at::Tensor& ka,
                                                                     int64_t H, int64_t N) {
  const auto times = [](const at::Tensor& x, const at::Tensor& y) {
    return flaggems_call("flag_gems::rwkv_ka_fusion", "mul.Tensor", {x, y}).one();
  };
  const at::Tensor gate = add_scalar(times(add_scalar(a, -1), ka), 1);
  const at::Tensor product = times(k, kk), heads = product.view({-1, H, N});
  const at::Tensor squares = sum_dim(times(heads, heads), at::IntArrayRef{-1}, true);
  const at::Tensor length =
      flaggems_call("flag_gems::rwkv_ka_fusion", "pow.Tensor_Scalar", {squares, 0.5}).one();
  const at::Tensor divisor =
      flaggems_call("flag_gems::rwkv_ka_fusion", "clamp", {length, 1e-12, c10::IValue()}).one();
  const at::Tensor normal = true_div(heads, divisor).view(product.sizes());
  return {times(k, gate), normal, times(normal, a)};
}

}  // namespace flag_gems
