// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Other forms of attention that ATen and FlagGems have: with the probabilities, with what a
// backward pass of theirs expects, and in the order of their arguments.
#pragma once

#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/attention_backward.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/triangle.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace flaggems {

/// What scaled_dot_product_efficient_attention gives. Without dropout the seed is 0, as is the
/// offset.
template <class T, class Device>
struct efficient_attention_results {
  tensor<T, Device> out;
  tensor<attention_log_type<T>, Device> log_sumexp;
  tensor<i64, Device> philox_seed, philox_offset;
  [[nodiscard]] auto tie() { return std::tie(out, log_sumexp, philox_seed, philox_offset); }
};

namespace detail {

/// scores = q k^T, where several heads of q share one of k with enable_gqa.
template <class S, class T, class Key, class C, class D>
void multiply_by_keys(const char* op, const S& stream, const tensor_view<const T, D>& q,
                      const tensor_view<const Key, D>& k, const tensor_view<C, D>& scores,
                      const attention_options& options) {
  const int heads = q.rank() - 3;
  if (options.enable_gqa && q.size(heads) != k.size(heads)) {
    const i64 key_heads = k.size(heads), group = q.size(heads) / key_heads;
    shape sizes = k.shape_of();
    sizes.insert(heads + 1, group);
    gemm(op, stream, q.unflatten(heads, {key_heads, group}), k.unsqueeze(heads + 1).expand(sizes),
         scores.unflatten(heads, {key_heads, group}), no_bias_view{}, 1, 0, nullptr);
  } else {
    gemm(op, stream, q, k, scores, no_bias_view{}, 1, 0, nullptr);
  }
}
/// to = exp(scale * q k^T + mask - logs), 0 where a row sees no key; hidden keys too.
template <class S, class T, class Key, class O, class C, class D, class Mask>
void weigh_keys(const char* op, const S& stream, const tensor_view<const T, D>& q,
                const tensor_view<const Key, D>& k, const tensor_view<const C, D>& logs,
                const Mask& mask, const tensor_view<O, D>& to, const attention_options& options) {
  if (to.empty()) return;
  auto scores = empty<C>(stream, to.shape_of(), op);
  multiply_by_keys<S, T, Key, C, D>(op, stream, q, k, scores.view(), options);
  const auto sums = logs.unsqueeze(-1);
  const auto assign_weights = [&](const auto& x) {
    assign_node(op, stream, to,
                cast<O>(where(eq(sums, kernels::lowest<C>()), C(0), exp(sub(x, sums)))).node);
  };
  const auto scaled = mul(scores, attention_scale<C>(options, q.size(-1)));
  if constexpr (std::is_same_v<Mask, no_mask_view>)
    assign_weights(scaled);
  else if constexpr (std::is_same_v<typename Mask::value_type, bool>)
    assign_weights(where(mask, scaled, kernels::lowest<C>()));
  else
    assign_weights(add(scaled, cast<C>(mask)));
  if (options.is_causal)
    tril_(stream, to,
          options.alignment == causal_alignment::top_left ? 0 : k.size(-2) - q.size(-2));
}

/// Raises unless enable_gqa allows key and value fewer heads than query has, if they have.
template <class Q, class K, class V>
void check_shared(const char* op, const Q& q, const K& k, const V& v, bool enable_gqa) {
  if (!enable_gqa && shares_heads(q, k, v) && k.size(-3) != 1) [[unlikely]]
    raise(errc::shape_mismatch, op, "as many heads of key and value as of query, or enable_gqa",
          to_string(k.shape_of()));
}

}  // namespace detail

/// out = weights * value, weights = softmax(scale * query * key^T + attn_mask).
///
/// As scaled_dot_product_attention; weights [..., heads, queries, keys] are of a floating-point
/// dtype, too, and 0 for what a position does not see. A dropout_mask has no effect, as there is no
/// dropout. weights shares no memory with out or an input. Raises the same.
/// aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor?
/// attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float?
/// scale=None, bool enable_gqa=False) -> (Tensor, Tensor)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor Mask,
          tensor_like Out, tensor_like Weights, optional_tensor DropoutMask = std::nullopt_t>
void scaled_dot_product_attention_math(
    const S& stream, const Q& query, const K& key, const V& value, const Mask& attn_mask, Out&& out,
    Weights&& weights, f64 dropout_p = 0, bool is_causal = false,
    [[maybe_unused]] const DropoutMask& dropout_mask = std::nullopt, std::optional<f64> scale = {},
    bool enable_gqa = false) {
  same_device<S, Q, K, V, Out, Weights>();
  constexpr const char* op = "scaled_dot_product_attention_math";
  using D = device_of<S>;
  using T = value_t<const Q&>;
  using C = attention_log_type<T>;
  const attention_options options{
      .dropout_p = dropout_p, .is_causal = is_causal, .scale = scale, .enable_gqa = enable_gqa};
  const detail::attention_inputs in(query, key, value, options, op);
  const auto to = as_view(out);
  const auto shares = as_view(weights);
  using call = detail::attention_call_of<decltype(in), decltype(to), detail::no_mask_view>;
  call::check(in.q, in.k, in.v, options);
  shape sizes = in.q.shape_of();
  sizes[in.q.rank() - 1] = in.k.size(-2);
  detail::check_sizes(op, shares, sizes, "weights");
  detail::check_separate_output(op, shares, in.q, in.k, in.v, to);
  if (enable_gqa && in.q.rank() == max_rank) [[unlikely]]
    raise(errc::not_supported, op, "at most 7 dimensions with enable_gqa", "8");
  auto sums = empty<C>(stream, shape(in.q.sizes().first(std::size_t(in.q.rank() - 1))), op);
  const auto run = [&](const auto& mask, const auto& view) {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(view)>, detail::no_mask_view>)
      detail::check_separate_output(op, shares, view);
    detail::attend_with_logs(op, stream, query, key, value, mask, to, sums.view(), options);
    detail::weigh_keys<S, T, value_t<const K&>, value_t<Weights>, C, D>(
        op, stream, in.q, in.k, sums.view(), view, shares, options);
  };
  if constexpr (tensor_like<const Mask&>) {
    run(attn_mask, as_view(attn_mask));
  } else {
    if constexpr (!std::is_same_v<Mask, std::nullopt_t>)
      if (attn_mask.has_value()) return run(*attn_mask, as_view(*attn_mask));
    run(std::nullopt, detail::no_mask_view{});
  }
}
/// The same in new tensors of query's dtype.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Mask = std::nullopt_t, optional_tensor DropoutMask = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_attention_math(const S& stream, const Q& query, const K& key,
                                                     const V& value,
                                                     const Mask& attn_mask = std::nullopt,
                                                     f64 dropout_p = 0, bool is_causal = false,
                                                     const DropoutMask& dropout_mask = std::nullopt,
                                                     std::optional<f64> scale = {},
                                                     bool enable_gqa = false) {
  same_device<S, Q, K, V>();
  constexpr const char* op = "scaled_dot_product_attention_math";
  using T = value_t<const Q&>;
  const attention_options options{
      .dropout_p = dropout_p, .is_causal = is_causal, .scale = scale, .enable_gqa = enable_gqa};
  const detail::attention_inputs in(query, key, value, options, op);
  const shape sizes =
      detail::attention_call_of<decltype(in), tensor_view<T, device_of<S>>,
                                detail::no_mask_view>::check(in.q, in.k, in.v, options);
  shape scores = sizes;
  scores[scores.rank() - 1] = in.k.size(-2);
  std::pair result(empty<T>(stream, sizes, op), empty<T>(stream, scores, op));
  scaled_dot_product_attention_math(stream, query, key, value, attn_mask, result.first,
                                    result.second, dropout_p, is_causal, dropout_mask, scale,
                                    enable_gqa);
  return result;
}

/// out = softmax(scale * query * key^T + attn_bias) * value, and log_sumexp, as
/// scaled_dot_product_flash_attention has it; of no queries unless compute_log_sumexp.
///
/// Key and value may have the same fewer heads. log_sumexp [..., heads, queries] or [..., heads,
/// 0]. Raises the same. aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key,
/// Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool
/// is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed,
/// Tensor philox_offset)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Bias = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_efficient_attention(const S& stream, const Q& query,
                                                          const K& key, const V& value,
                                                          const Bias& attn_bias = std::nullopt,
                                                          bool compute_log_sumexp = false,
                                                          f64 dropout_p = 0, bool is_causal = false,
                                                          std::optional<f64> scale = {}) {
  same_device<S, Q, K, V>();
  constexpr const char* op = "scaled_dot_product_efficient_attention";
  using T = value_t<const Q&>;
  const attention_options options{
      .dropout_p = dropout_p,
      .is_causal = is_causal,
      .scale = scale,
      .enable_gqa = detail::shares_heads(as_view(query), as_view(key), as_view(value))};
  auto [out, logs] = detail::make_with_logs(op, stream, query, key, value, options);
  if (compute_log_sumexp) {
    detail::attend_with_logs(op, stream, query, key, value, attn_bias, out, logs, options);
  } else {
    scaled_dot_product_attention(stream, query, key, value, attn_bias, out, options);
    shape none = logs.shape_of();
    none[none.rank() - 1] = 0;
    logs = empty<attention_log_type<T>>(stream, none, op);
  }
  return efficient_attention_results<T, device_of<S>>{
      std::move(out), std::move(logs), zeros<i64>(stream, {}), zeros<i64>(stream, {})};
}

/// scaled_dot_product_flash_attention with the arguments in the order of
/// scaled_dot_product_attention: the result, and the logarithms of the sums of exponentials.
///
/// As those two; key and value have fewer heads than query with enable_gqa only.
/// flag_gems::scaled_dot_product_attention_forward(Tensor query, Tensor key, Tensor value, Tensor?
/// attn_mask=None, float dropout_p=0.0, bool is_causal=False, float? scale=None, bool
/// enable_gqa=False); with scaled_dot_product_attention_backward it is
/// flag_gems::ScaleDotProductAttention.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor Mask,
          tensor_like Out, tensor_like Logs>
void scaled_dot_product_attention_forward(const S& stream, const Q& query, const K& key,
                                          const V& value, const Mask& attn_mask, Out&& out,
                                          Logs&& logsumexp, const attention_options& options = {}) {
  same_device<S, Q, K, V, Out, Logs>();
  detail::attend_with_logs("scaled_dot_product_attention_forward", stream, query, key, value,
                           attn_mask, out, logsumexp, options);
}
/// The same in new tensors, of query's dtype and of f32 or f64.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Mask = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_attention_forward(const S& stream, const Q& query,
                                                        const K& key, const V& value,
                                                        const Mask& attn_mask = std::nullopt,
                                                        const attention_options& options = {}) {
  same_device<S, Q, K, V>();
  auto result = detail::make_with_logs("scaled_dot_product_attention_forward", stream, query, key,
                                       value, options);
  scaled_dot_product_attention_forward(stream, query, key, value, attn_mask, result.first,
                                       result.second, options);
  return result;
}

/// The gradients of scaled_dot_product_attention_forward, given that of its output: as
/// scaled_dot_product_flash_attention_backward.
///
/// flag_gems::scaled_dot_product_attention_backward(Tensor do, Tensor query, Tensor key, Tensor
/// value, Tensor o, Tensor M, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False,
/// float? scale=None, bool enable_gqa=False)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, optional_tensor Mask, tensor_like GradQ, tensor_like GradK,
          tensor_like GradV>
void scaled_dot_product_attention_backward(const S& stream, const G& grad_out, const Q& query,
                                           const K& key, const V& value, const O& out,
                                           const Logs& logsumexp, const Mask& attn_mask,
                                           GradQ&& grad_query, GradK&& grad_key, GradV&& grad_value,
                                           const attention_options& options = {}) {
  detail::check_shared("scaled_dot_product_attention_backward", as_view(query), as_view(key),
                       as_view(value), options.enable_gqa);
  scaled_dot_product_flash_attention_backward(stream, grad_out, query, key, value, out, logsumexp,
                                              grad_query, grad_key, grad_value, options.dropout_p,
                                              options.is_causal, attn_mask, options.scale);
}
/// The same in new tensors.
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, optional_tensor Mask = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_attention_backward(const S& stream, const G& grad_out,
                                                         const Q& query, const K& key,
                                                         const V& value, const O& out,
                                                         const Logs& logsumexp,
                                                         const Mask& attn_mask = std::nullopt,
                                                         const attention_options& options = {}) {
  detail::check_shared("scaled_dot_product_attention_backward", as_view(query), as_view(key),
                       as_view(value), options.enable_gqa);
  return scaled_dot_product_flash_attention_backward(stream, grad_out, query, key, value, out,
                                                     logsumexp, options.dropout_p,
                                                     options.is_causal, attn_mask, options.scale);
}

}  // namespace flaggems
