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

/// Raises out_of_range unless sequences begin one after another in `rows` rows.
inline void flag_gems_check_starts(const char* op, const std::vector<int64_t>& starts,
                                   int64_t rows) {
  int64_t last = 0;
  for (const int64_t start : starts) {
    flaggems::check(start >= last && start <= rows, flaggems::errc::out_of_range, op,
                    "cu_seqlens that increase, of rows that are there");
    last = start;
  }
}

/// softmax(q k^T) v of each sequence, in f32: q [tokens, heads, size]; k, v the same, of as many or
/// fewer heads, or with a block_table [blocks, block, heads, size]. Position i of n queries sees
/// the keys up to i + keys - n if causal. The second result is there if return_softmax_lse. Raises
/// not_supported for dropout, q_v, scales of quantised tensors, s_aux and several ranks;
/// shape_mismatch, or out_of_range for sequences or blocks that are not among the rows. All before
/// anything is written.
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
  const int64_t rank = block_table ? 4 : 3;
  flaggems::check(
      q.dim() == 3 && k.dim() == rank && k.sizes() == v.sizes() && k.size(-1) == q.size(2),
      flaggems::errc::shape_mismatch, op,
      "q [tokens, heads, size]; k and v of equal sizes with 3 dimensions, 4 in blocks");
  const int64_t heads = q.size(1), key_heads = k.size(-2), size = q.size(2);
  flaggems::check(block_table || !key_starts.empty(), flaggems::errc::invalid_argument, op,
                  "cu_seqlens_k or a block_table");
  flaggems::check(key_heads > 0 && heads % key_heads == 0, flaggems::errc::shape_mismatch, op,
                  "a multiple of the keys' heads");
  const auto count = static_cast<int64_t>(starts.size()) - 1;
  const auto keys_of = [&](std::size_t s) {
    return seqused_k ? used[s] : key_starts[s + 1] - key_starts[s];
  };
  const auto fits = [&](bool is_right, const char* expected) {
    flaggems::check(is_right, flaggems::errc::shape_mismatch, op, expected);
  };
  fits(count >= 0, "a cu_seqlens_q of one element or more");
  fits(!cu_seqlens_k || key_starts.size() == starts.size(), "a cu_seqlens_k as cu_seqlens_q");
  fits(!seqused_k || static_cast<int64_t>(used.size()) == count, "a seqused_k of each sequence");
  fits(!window_size.has_value() || window_size->size() == 2, "a window_size of 2 elements");
  fits(!out || out->sizes() == q.sizes(), "an out of q's sizes");
  fits(!alibi_slopes || (alibi_slopes->size(-1) == heads &&
                         (alibi_slopes->dim() == 1 ||
                          (alibi_slopes->dim() == 2 && alibi_slopes->size(0) == count))),
       "alibi_slopes [heads] or [sequences, heads]");
  flag_gems_check_starts(op, starts, q.size(0));
  if (!key_starts.empty())
    flag_gems_check_starts(op, key_starts,
                           block_table ? std::numeric_limits<int64_t>::max() : k.size(0));
  const auto blocks = block_table ? numbers(*block_table) : std::vector<int64_t>();
  fits(!block_table || (block_table->dim() == 2 && block_table->size(0) == count && k.size(1) > 0),
       "a block_table with a row for each sequence");
  for (std::size_t s = 0; s < static_cast<std::size_t>(count); ++s) {
    const int64_t keys = keys_of(s);
    const auto among = [&](bool is_right, const char* expected) {
      flaggems::check(is_right, flaggems::errc::out_of_range, op, expected);
    };
    among(keys >= 0, "sequences of no keys or more");
    if (!block_table) {
      among(keys <= k.size(0) - key_starts[s], "sequences among the keys");
      continue;
    }
    const int64_t columns = block_table->size(1);
    among(keys / k.size(1) + (keys % k.size(1) != 0 ? 1 : 0) <= columns,
          "sequences of as many keys as block_table has place for");
    for (int64_t b = 0; b * k.size(1) < keys; ++b) {
      const int64_t block =
          blocks[s * static_cast<std::size_t>(columns) + static_cast<std::size_t>(b)];
      among(block >= 0 && block < k.size(0), "blocks of the cache");
    }
  }
  const double scale = softmax_scale ? *softmax_scale : 1 / std::sqrt(static_cast<double>(size));
  int64_t left = -1, right = -1;
  if (window_size.has_value()) left = (*window_size)[0], right = (*window_size)[1];
  if (causal) right = 0;

  at::Tensor result = out ? *out : flaggems_call(op, "empty_like", {q}).one();
  std::vector<at::Tensor> sums;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s) {
    const int64_t n = starts[s + 1] - starts[s];
    const int64_t keys = keys_of(s);
    // [heads, keys, size] in f32, of the sequence's rows or blocks
    const auto gathered = [&](const at::Tensor& all) {
      at::Tensor rows;
      if (block_table) {
        const at::Tensor its_blocks = block_table->select(0, static_cast<int64_t>(s))
                                          .narrow(0, 0, (keys + all.size(1) - 1) / all.size(1));
        rows = flaggems_call(op, "index_select", {all, int64_t{0}, its_blocks}).one();
        rows = rows.flatten(0, 1);
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
