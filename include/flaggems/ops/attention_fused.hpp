// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention in the forms that ATen has for fused kernels, and gradients that may include the
// bias's.
#pragma once

#include <flaggems/ops/attention_forms.hpp>
#include <flaggems/ops/native_norm.hpp>

#include <optional>
#include <tuple>

namespace flaggems {

/// What the forms of ATen for fused kernels give. There are no sequences, so cum_seq_q and
/// cum_seq_k are absent, and max_q and max_k are the numbers of queries and keys. Without dropout
/// the seed is 0, as is the offset, and debug_attn_mask is absent.
template <class T, class Device>
struct fused_attention_results {
  tensor<T, Device> out;
  tensor<attention_log_type<T>, Device> logsumexp;
  std::optional<tensor<i32, Device>> cum_seq_q, cum_seq_k;
  i64 max_q, max_k;
  tensor<i64, Device> philox_seed, philox_offset;
  std::optional<tensor<T, Device>> debug_attn_mask;
  [[nodiscard]] auto tie() {
    return std::tie(out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset,
                    debug_attn_mask);
  }
};

/// Gradients of attention; those not asked for are absent.
template <class T, class Device>
struct biased_attention_gradients {
  std::optional<tensor<T, Device>> query, key, value, bias;
  [[nodiscard]] auto tie() { return std::tie(query, key, value, bias); }
};

namespace detail {

/// The result and the logarithms, of no queries unless `has_logs`; with a dimension of 1 behind if
/// `has_column`.
template <class S, class Q, class K, class V, class Bias>
fused_attention_results<value_t<const Q&>, device_of<S>> attend_fused(
    const char* op, const S& stream, const Q& query, const K& key, const V& value,
    const Bias& attn_bias, bool has_logs, bool has_column, attention_options options) {
  same_device<S, Q, K, V>();
  using T = value_t<const Q&>;
  using C = attention_log_type<T>;
  options.enable_gqa = shares_heads(as_view(query), as_view(key), as_view(value));
  const attention_inputs in(query, key, value, options, op);
  auto out =
      empty<T>(stream,
               attention_call_of<decltype(in), tensor_view<T, device_of<S>>, no_mask_view>::check(
                   in.q, in.k, in.v, options),
               op);
  shape rows(in.q.sizes().first(static_cast<std::size_t>(in.q.rank() - 1)));
  if (!has_logs) rows[rows.rank() - 1] = 0;
  if (has_column) rows.push_back(1);
  auto logs = empty<C>(stream, rows, op);
  if (has_logs)
    attend_with_logs(op, stream, query, key, value, attn_bias, out,
                     has_column ? logs.view().select(-1, 0) : logs.view(), options);
  else
    attend(stream, in, attn_bias, as_view(out), options);
  return {std::move(out),         std::move(logs),        std::nullopt,
          std::nullopt,           in.q.size(-2),          in.k.size(-2),
          zeros<i64>(stream, {}), zeros<i64>(stream, {}), std::nullopt};
}

/// to = the gradient of a bias, which is added to the scores: that of the scores, summed over the
/// dimensions in which the bias is broadcast.
template <class S, class T, class C, class D>
void differentiate_bias(const char* op, const S& stream, const tensor_view<const T, D>& grad_out,
                        const tensor_view<const T, D>& q, const tensor_view<const T, D>& k,
                        const tensor_view<const T, D>& v, const tensor_view<const T, D>& out,
                        const tensor_view<const C, D>& logs, const tensor_view<const T, D>& bias,
                        const tensor_view<T, D>& to, const attention_options& options) {
  shape scores = q.shape_of();
  const int rank = scores.rank();
  scores[rank - 1] = k.size(-2);
  auto weights = empty<C>(stream, scores, op), slopes = empty<C>(stream, scores, op);
  weigh_keys<S, T, T, C, C, D>(op, stream, q, k, logs, bias, weights.view(), options);
  multiply_by_keys<S, T, T, C, D>(op, stream, grad_out, v, slopes.view(), options);
  shape rows = scores;
  rows[rank - 1] = 1;
  auto dots = empty<C>(stream, rows, op);
  const i64 last = -1;
  reduce_values<operators::sum, kernels::sum_of, C>(op, stream, mul(grad_out, out), dots.view(),
                                                    int_list(&last, 1), true,
                                                    reduction_result::total);
  const auto changes = mul(weights, sub(slopes, dots));
  tensor_view<T, D> whole = to;
  while (whole.rank() < rank) whole = whole.unsqueeze(0);
  i64 summed[max_rank];
  int count = 0;
  for (int d = 0; d < rank; ++d)
    if (whole.size(d) != scores[d]) summed[count++] = d;
  if (count == 0) return assign_node(op, stream, whole, cast<T>(changes).node);
  reduce_values<operators::sum, kernels::sum_of, C>(
      op, stream, changes, whole, int_list(summed, count), true, reduction_result::total);
}

/// Raises not_supported for a bias of bool whose gradient is asked for.
template <class T, class Bias>
void check_bias_gradient(const char* op, const Bias&, bool is_wanted) {
  if constexpr (std::is_same_v<T, bool>)
    if (is_wanted) [[unlikely]]
      raise(errc::not_supported, op, "a bias of numbers for its gradient", "bool");
}

/// The order of an operand's dimensions, and its inverse: heads behind positions as before them.
struct heads_first {
  template <class View>
  View operator()(const View& x) const {
    return x.transpose(1, 2);
  }
};
struct as_they_are {
  template <class View>
  View operator()(const View& x) const {
    return x;
  }
};

/// The gradients that `wanted` says, the bias's last, of operands in an order.
template <class Order, class S, class G, class Q, class K, class V, class O, class Logs, class Bias>
biased_attention_gradients<value_t<const Q&>, device_of<S>> differentiate_with_bias(
    const char* op, const S& stream, const G& grad_out, const Q& query, const K& key,
    const V& value, const Bias& attn_bias, const O& out, const Logs& logsumexp,
    const gradient_mask<4>& wanted, attention_options options) {
  same_device<S, G, Q, K, V, O, Logs>();
  using T = value_t<const Q&>;
  using D = device_of<S>;
  using C = attention_log_type<T>;
  check_dropout(op, options);
  constexpr Order order{};
  const tensor_view<const T, D> q = order(as_view(query)), k = order(as_view(key)),
                                v = order(as_view(value)), grad_to = order(as_view(grad_out)),
                                made = order(as_view(out));
  tensor_view<const C, D> logs = as_view(logsumexp);
  // Of ATen's kernels they are padded.
  if (logs.rank() == q.rank() - 1 && q.rank() >= 2 && logs.size(-1) > q.size(-2))
    logs = logs.narrow(-1, 0, q.size(-2));
  options.enable_gqa = shares_heads(q, k, v);
  biased_attention_gradients<T, D> r;
  const auto run = [&](const auto& bias) {
    using B = std::remove_cvref_t<decltype(bias)>;
    if constexpr (!std::is_same_v<B, no_mask_view>)
      check_bias_gradient<typename B::value_type>(op, bias, wanted[3]);
    auto grad_q = empty<T>(stream, as_view(query).sizes(), op),
         grad_k = empty<T>(stream, as_view(key).sizes(), op),
         grad_v = empty<T>(stream, as_view(value).sizes(), op);
    const attention_backward_call<T, D, B> call{grad_to,
                                                q,
                                                k,
                                                v,
                                                made,
                                                logs,
                                                bias,
                                                order(grad_q.view()),
                                                order(grad_k.view()),
                                                order(grad_v.view()),
                                                op};
    if (wanted[0] || wanted[1] || wanted[2])
      call.run(stream, options);
    else
      call.check(options);
    if constexpr (!std::is_same_v<B, no_mask_view>)
      if constexpr (std::is_same_v<typename B::value_type, T>)
        if (wanted[3]) {
          if (options.enable_gqa && q.rank() == max_rank) [[unlikely]]
            raise(errc::not_supported, op, "at most 7 dimensions where heads share keys", "8");
          r.bias = empty<T>(stream, bias.sizes(), op);
          differentiate_bias<S, T, C, D>(op, stream, grad_to, q, k, v, made, logs, bias,
                                         r.bias->view(), options);
        }
    if (wanted[0]) r.query = std::move(grad_q);
    if (wanted[1]) r.key = std::move(grad_k);
    if (wanted[2]) r.value = std::move(grad_v);
  };
  if constexpr (tensor_like<const Bias&>) {
    run(as_view(attn_bias));
    return r;
  } else {
    if constexpr (!std::is_same_v<Bias, std::nullopt_t>)
      if (attn_bias.has_value()) return run(as_view(*attn_bias)), std::move(r);
    run(no_mask_view{});
    return r;
  }
}

/// Raises not_supported for sequences.
template <class... Numbers>
void check_no_sequences(const char* op, const Numbers&... given) {
  const auto is_given = [](const auto& x) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, std::nullopt_t>)
      return false;
    else
      return x.has_value() && !as_view(*x).empty();
  };
  if ((is_given(given) || ...)) [[unlikely]]
    raise(errc::not_supported, op, "no starts or lengths of sequences (flash_attn_varlen_func)",
          "some");
}

}  // namespace detail

/// out = softmax(scale * query * key^T + attn_bias) * value, and logsumexp, as
/// scaled_dot_product_flash_attention has it, with a dimension of 1 behind.
///
/// Key and value may have the same fewer heads. logsumexp [..., heads, queries, 1], or [..., heads,
/// 0, 1] unless compute_log_sumexp. Raises the same.
/// aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor?
/// attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, bool
/// return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor
/// cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor
/// philox_offset, Tensor debug_attn_mask)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Bias = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_cudnn_attention(const S& stream, const Q& query, const K& key,
                                                      const V& value,
                                                      const Bias& attn_bias = std::nullopt,
                                                      bool compute_log_sumexp = false,
                                                      f64 dropout_p = 0, bool is_causal = false,
                                                      std::optional<f64> scale = {}) {
  return detail::attend_fused("scaled_dot_product_cudnn_attention", stream, query, key, value,
                              attn_bias, compute_log_sumexp, true,
                              {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
}

/// scaled_dot_product_cudnn_attention; starts and lengths of sequences, and pages, raise
/// not_supported, and max_q and max_k need not be right.
/// aten::_cudnn_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_bias,
/// Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, bool compute_log_sumexp, float
/// dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None, Tensor?
/// seqused_k=None, Tensor? block_table=None)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor Bias,
          optional_tensor CumQ, optional_tensor CumK, optional_tensor Used = std::nullopt_t,
          optional_tensor Table = std::nullopt_t>
[[nodiscard]] auto cudnn_attention_forward(const S& stream, const Q& query, const K& key,
                                           const V& value, const Bias& attn_bias,
                                           const CumQ& cum_seq_q, const CumK& cum_seq_k,
                                           [[maybe_unused]] i64 max_q, [[maybe_unused]] i64 max_k,
                                           bool compute_log_sumexp, f64 dropout_p = 0,
                                           bool is_causal = false, std::optional<f64> scale = {},
                                           const Used& seqused_k = std::nullopt,
                                           const Table& block_table = std::nullopt) {
  constexpr const char* op = "cudnn_attention_forward";
  detail::check_no_sequences(op, cum_seq_q, cum_seq_k, seqused_k, block_table);
  return detail::attend_fused(op, stream, query, key, value, attn_bias, compute_log_sumexp, true,
                              {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
}

/// As scaled_dot_product_cudnn_attention, with logsumexp [..., heads, queries]: what PyTorch calls
/// on devices that have a kernel of their own.
/// aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value,
/// Tensor? attn_bias=None, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False,
/// *, float? scale=None)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Bias = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_fused_attention_overrideable(
    const S& stream, const Q& query, const K& key, const V& value,
    const Bias& attn_bias = std::nullopt, f64 dropout_p = 0, bool is_causal = false,
    std::optional<f64> scale = {}) {
  return detail::attend_fused("scaled_dot_product_fused_attention_overrideable", stream, query, key,
                              value, attn_bias, true, false,
                              {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
}

/// The gradients of scaled_dot_product_cudnn_attention, given that of its output: as
/// scaled_dot_product_flash_attention_backward. logsumexp may have its dimension of 1 or not;
/// starts of sequences raise not_supported, and max_q and max_k need not be right.
/// aten::_scaled_dot_product_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor key,
/// Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, Tensor
/// attn_bias, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool
/// is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, optional_tensor Bias = std::nullopt_t,
          optional_tensor CumQ = std::nullopt_t, optional_tensor CumK = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_cudnn_attention_backward(
    const S& stream, const G& grad_out, const Q& query, const K& key, const V& value, const O& out,
    const Logs& logsumexp, const Bias& attn_bias = std::nullopt,
    const CumQ& cum_seq_q = std::nullopt, const CumK& cum_seq_k = std::nullopt,
    [[maybe_unused]] i64 max_q = 0, [[maybe_unused]] i64 max_k = 0, f64 dropout_p = 0,
    bool is_causal = false, std::optional<f64> scale = {}) {
  same_device<S, G, Q, K, V, O, Logs>();
  constexpr const char* op = "scaled_dot_product_cudnn_attention_backward";
  using T = value_t<const Q&>;
  detail::check_no_sequences(op, cum_seq_q, cum_seq_k);
  tensor_view<const attention_log_type<T>, device_of<S>> logs = as_view(logsumexp);
  if (logs.rank() == as_view(query).rank() && logs.size(-1) == 1) logs = logs.select(-1, 0);
  attention_gradients<T, device_of<S>> r{empty<T>(stream, as_view(query).sizes(), op),
                                         empty<T>(stream, as_view(key).sizes(), op),
                                         empty<T>(stream, as_view(value).sizes(), op)};
  detail::differentiate(op, stream, grad_out, query, key, value, out, logs, r.query, r.key, r.value,
                        attn_bias,
                        {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
  return r;
}

/// The gradients of scaled_dot_product_efficient_attention, given that of its output: as
/// scaled_dot_product_flash_attention_backward, and the bias's.
///
/// grad_input_mask says which are wanted: of query, key, value and attn_bias. The bias's has its
/// sizes and needs twice the memory of all scores in f32. logsumexp [..., heads, queries or more].
/// Raises not_supported for the gradient of a bias of bool, else as there.
/// aten::_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor
/// key, Tensor value, Tensor attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor
/// philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float?
/// scale=None) -> (Tensor, Tensor, Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Bias, tensor_like O, tensor_like Logs>
[[nodiscard]] auto scaled_dot_product_efficient_attention_backward(
    const S& stream, const G& grad_out, const Q& query, const K& key, const V& value,
    const Bias& attn_bias, const O& out, const Logs& logsumexp, f64 dropout_p = 0,
    gradient_mask<4> grad_input_mask = {true, true, true, true}, bool is_causal = false,
    std::optional<f64> scale = {}) {
  return detail::differentiate_with_bias<detail::as_they_are>(
      "scaled_dot_product_efficient_attention_backward", stream, grad_out, query, key, value,
      attn_bias, out, logsumexp, grad_input_mask,
      {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
}

/// The gradients of scaled_dot_product_fused_attention_overrideable: as
/// scaled_dot_product_efficient_attention_backward.
/// aten::_scaled_dot_product_fused_attention_overrideable_backward(Tensor grad_out, Tensor query,
/// Tensor key, Tensor value, Tensor attn_bias, bool[4] grad_input_mask, Tensor out, Tensor
/// logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool
/// is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor
/// grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_attn_bias)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Bias, tensor_like O, tensor_like Logs,
          optional_tensor CumQ = std::nullopt_t, optional_tensor CumK = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_fused_attention_overrideable_backward(
    const S& stream, const G& grad_out, const Q& query, const K& key, const V& value,
    const Bias& attn_bias, gradient_mask<4> grad_input_mask, const O& out, const Logs& logsumexp,
    const CumQ& cum_seq_q = std::nullopt, const CumK& cum_seq_k = std::nullopt,
    [[maybe_unused]] i64 max_q = 0, [[maybe_unused]] i64 max_k = 0, f64 dropout_p = 0,
    bool is_causal = false, std::optional<f64> scale = {}) {
  constexpr const char* op = "scaled_dot_product_fused_attention_overrideable_backward";
  detail::check_no_sequences(op, cum_seq_q, cum_seq_k);
  return detail::differentiate_with_bias<detail::as_they_are>(
      op, stream, grad_out, query, key, value, attn_bias, out, logsumexp, grad_input_mask,
      {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
}

/// What a position sees in efficient_attention_backward: ATen's numbers.
enum class efficient_mask : i64 {
  none,          ///< all keys
  causal,        ///< the keys j <= i
  causal_behind  ///< j <= i + keys - queries
};

/// The gradients of efficient attention, given that of its output, with heads behind positions: as
/// scaled_dot_product_efficient_attention_backward.
///
/// query, grad_query [batch, queries, heads, e], key, value and their gradients [batch, keys,
/// heads, e or ev], out and grad_out [batch, queries, heads, ev], bias of [batch, heads, queries,
/// keys] or broadcast to it, logsumexp [batch, heads, queries or more]; the bias's gradient where
/// there is a bias and bias_requires_grad. custom_mask_type is one of efficient_mask. Starts of
/// sequences, and a window, raise not_supported.
/// aten::_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value,
/// Tensor? bias, Tensor out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q,
/// SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed, Tensor
/// philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? scale=None, int?
/// num_splits_key=None, int? window_size=None, bool shared_storage_dqdkdv=False) -> (Tensor,
/// Tensor, Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Bias, tensor_like O, optional_tensor CumQ, optional_tensor CumK,
          tensor_like Logs>
[[nodiscard]] auto efficient_attention_backward(
    const S& stream, const G& grad_out, const Q& query, const K& key, const V& value,
    const Bias& bias, const O& out, const CumQ& cu_seqlens_q, const CumK& cu_seqlens_k,
    [[maybe_unused]] i64 max_seqlen_q, [[maybe_unused]] i64 max_seqlen_k, const Logs& logsumexp,
    f64 dropout_p, i64 custom_mask_type, bool bias_requires_grad, std::optional<f64> scale = {},
    std::optional<i64> window_size = {}) {
  constexpr const char* op = "efficient_attention_backward";
  detail::check_no_sequences(op, cu_seqlens_q, cu_seqlens_k);
  if (window_size && *window_size > 0) [[unlikely]]
    raise(errc::not_supported, op, "no window_size", detail::text(*window_size));
  if (custom_mask_type < 0 || custom_mask_type > 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a custom_mask_type from 0 to 2",
          detail::text(custom_mask_type));
  for (const int rank : {as_view(grad_out).rank(), as_view(query).rank(), as_view(key).rank(),
                         as_view(value).rank(), as_view(out).rank()})
    if (rank != 4) [[unlikely]]
      raise(errc::shape_mismatch, op, "operands of rank 4", "rank " + detail::text(rank));
  const auto kind = static_cast<efficient_mask>(custom_mask_type);
  return detail::differentiate_with_bias<detail::heads_first>(
      op, stream, grad_out, query, key, value, bias, out, logsumexp,
      {true, true, true, bias_requires_grad},
      {.dropout_p = dropout_p,
       .is_causal = kind != efficient_mask::none,
       .alignment = kind == efficient_mask::causal_behind ? causal_alignment::bottom_right
                                                          : causal_alignment::top_left,
       .scale = scale});
}

}  // namespace flaggems
