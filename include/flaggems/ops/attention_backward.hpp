// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/dispatch/attention/backward.hpp>
#include <flaggems/ops/reduce.hpp>

#include <optional>
#include <tuple>

namespace flaggems {

namespace operators {
struct scaled_dot_product_flash_attention_backward;
}

/// What scaled_dot_product_flash_attention_backward gives.
template <class T, class Device>
struct attention_gradients {
  tensor<T, Device> query, key, value;
  [[nodiscard]] auto tie() { return std::tie(query, key, value); }
};

namespace detail {

template <class T, class... Others>
inline constexpr bool are_all = (std::is_same_v<T, Others> && ...);

/// The gradients of attention in T, whose logarithms are of C; a mask or no_mask_view.
template <class T, class D, class Mask, bool HasWindows = false>
struct attention_backward_call {
  using C = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  using view = tensor_view<const T, D>;
  using written = tensor_view<T, D>;
  using forward = attention_call<view, view, view, written, Mask>;
  static constexpr bool masked = forward::masked;

  view grad_out, q, k, v, out;
  tensor_view<const C, D> logs;
  Mask mask;
  written grad_q, grad_k, grad_v;
  const char* op = "scaled_dot_product_flash_attention_backward";
  /// Keys before and behind a position's own that it sees; below 0: all.
  i64 window_left = -1, window_right = -1;

  /// Raises unless all have the sizes that query, key and value say; returns those of the scores.
  shape check(const attention_options& options) const {
    const shape result = forward::check(q, k, v, options);
    check_sizes(op, grad_out, result);
    check_sizes(op, out, result);
    const int rank = q.rank();
    check_sizes(op, logs, shape(q.sizes().first(static_cast<std::size_t>(rank - 1))));
    const auto check_batches = [&](const view& x) {
      for (int d = 0; d < rank - 2; ++d)
        if (x.size(d) != q.size(d) && !(options.enable_gqa && d == rank - 3)) [[unlikely]]
          raise(errc::shape_mismatch, op, "key and value of query's batch sizes, not broadcast",
                to_string(x.shape_of()));
    };
    check_batches(k);
    check_batches(v);
    check_gradient(grad_q, q);
    check_gradient(grad_k, k);
    check_gradient(grad_v, v);
    check_separate_output(op, grad_q, grad_k, grad_v);
    check_separate_output(op, grad_k, grad_v);
    shape scores = q.shape_of();
    scores[rank - 1] = k.size(-2);
    if constexpr (masked) {
      if (options.is_causal) [[unlikely]]
        raise(errc::invalid_argument, op, "either attn_mask or is_causal", "both");
      check_broadcasts(op, mask, scores);
    }
    return scores;
  }

  template <class S>
  void run(const S& stream, const attention_options& options) const {
    const shape scores = check(options);
    const auto absent_or_mask = [&] {
      if constexpr (masked)
        return mask;
      else
        return std::nullopt;
    }();
    if (replaced<operators::scaled_dot_product_flash_attention_backward>(
            op, stream, grad_out, q, k, v, out, logs, absent_or_mask, grad_q, grad_k, grad_v,
            options))
      return;
    // Where sums of a query's grad_out * out would be, if a kernel asks for them.
    const tensor_view<const C, D> dots(unchecked_t{}, nullptr, logs.shape_of(),
                                       contiguous_strides(logs.shape_of()));
    attention_batches batches(q, k, options.enable_gqa);
    batches.add_by_queries(q);
    batches.add_by_keys(k);
    batches.add_by_keys(v);
    batches.add_by_queries(grad_out);
    batches.add_by_queries(logs);
    batches.add_by_queries(out);
    batches.add_by_queries(dots);
    batches.add_by_queries(grad_q);
    batches.add_by_keys(grad_k);
    batches.add_by_keys(grad_v);
    const auto whole_mask = [&] {
      if constexpr (masked) {
        const auto whole = mask.expand(scores);
        batches.add_by_queries(whole);
        return whole;
      } else {
        return 0;
      }
    }();
    batches.collapse();
    attention_gradient_args<T, C> x;
    batches.place(0, x.q, q);
    batches.place(1, x.k, k);
    batches.place(2, x.v, v);
    batches.place(3, x.grad_out, grad_out);
    batches.place(4, x.logs, logs);
    batches.place(5, x.out, out);
    batches.place(6, x.dots, dots);
    batches.place(7, x.grad_q, grad_q);
    batches.place(8, x.grad_k, grad_k);
    batches.place(9, x.grad_v, grad_v);
    const auto kernel_mask = [&] {
      if constexpr (masked) {
        kernels::attention_mask<typename Mask::value_type> to{};
        batches.place(10, to, whole_mask);
        return to;
      } else {
        return kernels::no_mask{};
      }
    }();
    x.scale = attention_scale<C>(options, q.size(-1));
    const auto sum_dots = [&] {
      auto sums = empty<C>(stream, logs.shape_of(), op);
      const i64 last = -1;
      reduce_values<operators::sum, kernels::sum_of, C>(op, stream, mul(grad_out, out), sums.view(),
                                                        int_list(&last, 1), false,
                                                        reduction_result::total);
      return sums;
    };
    const i64 queries = q.size(-2), keys = k.size(-2);
    const i64 shift = options.alignment == causal_alignment::top_left ? 0 : keys - queries;
    i64 diagonal = options.is_causal ? shift : keys, left = queries;
    if constexpr (HasWindows) {
      if (window_right >= 0)
        diagonal = kernels::min_of(diagonal, shift + kernels::min_of(window_right, keys + queries));
      if (window_left >= 0) left = kernels::min_of(window_left, keys + queries) - shift;
    }
    const kernels::attention_gradient_problem problem{batches.space_of(q, k, v, diagonal), left};
    launch_attention_backward<HasWindows>(op, stream, problem, x, kernel_mask, sum_dots);
  }

 private:
  void check_gradient(const written& grad, const view& of) const {
    check_sizes(op, grad, of.shape_of());
    check_separate_output(op, grad, grad_out, q, k, v, out, logs);
    if constexpr (masked) check_separate_output(op, grad, mask);
  }
};

/// The gradients under the name of an operator; `options.enable_gqa` is set here.
template <class S, class G, class Q, class K, class V, class O, class Logs, class GradQ,
          class GradK, class GradV, class Mask>
void differentiate(const char* op, const S& stream, const G& grad_out, const Q& query, const K& key,
                   const V& value, const O& out, const Logs& logsumexp, GradQ&& grad_query,
                   GradK&& grad_key, GradV&& grad_value, const Mask& attn_mask,
                   attention_options options) {
  using T = value_t<const Q&>;
  using D = device_of<S>;
  static_assert(are_all<T, value_t<const G&>, value_t<const K&>, value_t<const V&>,
                        value_t<const O&>, value_t<GradQ>, value_t<GradK>, value_t<GradV>>,
                "flaggems: query, key, value, out and all gradients are of one dtype");
  static_assert(std::is_same_v<value_t<const Logs&>, attention_log_type<T>>,
                "flaggems: logsumexp is of f32, of f64 if the inputs are");
  check_dropout(op, options);
  const tensor_view<const T, D> q = as_view(query), k = as_view(key), v = as_view(value);
  options.enable_gqa = shares_heads(q, k, v);
  const auto run = [&](const auto& mask) {
    attention_backward_call<T, D, std::remove_cvref_t<decltype(mask)>>{as_view(grad_out),
                                                                       q,
                                                                       k,
                                                                       v,
                                                                       as_view(out),
                                                                       as_view(logsumexp),
                                                                       mask,
                                                                       as_view(grad_query),
                                                                       as_view(grad_key),
                                                                       as_view(grad_value),
                                                                       op}
        .run(stream, options);
  };
  if constexpr (tensor_like<const Mask&>) {
    run(as_view(attn_mask));
  } else {
    if constexpr (!std::is_same_v<Mask, std::nullopt_t>)
      if (attn_mask.has_value()) return run(as_view(*attn_mask));
    run(no_mask_view{});
  }
}

}  // namespace detail

/// The gradients of scaled_dot_product_flash_attention, given that of its output.
///
/// query, grad_query [..., heads, queries, e]; key, grad_key [..., heads, keys, e]; value,
/// grad_value [..., heads, keys, ev]; grad_out, and out and logsumexp of the forward pass, with the
/// same options: [..., heads, queries, ev] and [..., heads, queries]. All but logsumexp are of one
/// dtype. Batch sizes are equal; key and value may have fewer heads, a divisor of query's, and
/// their gradients are then sums over the heads that share them. Any strides. attn_mask as in the
/// forward pass; it gets no gradient. A position that sees no key gives 0, as does a hidden key.
/// The same input gives the same bits: each gradient is summed by one block in one order. Gradients
/// share no memory with each other or an input. Raises shape_mismatch, invalid_argument,
/// not_supported or overlap before anything is written.
/// aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor
/// key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor?
/// attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, tensor_like GradQ, tensor_like GradK, tensor_like GradV,
          optional_tensor Mask = std::nullopt_t>
void scaled_dot_product_flash_attention_backward(const S& stream, const G& grad_out, const Q& query,
                                                 const K& key, const V& value, const O& out,
                                                 const Logs& logsumexp, GradQ&& grad_query,
                                                 GradK&& grad_key, GradV&& grad_value,
                                                 f64 dropout_p = 0, bool is_causal = false,
                                                 const Mask& attn_mask = std::nullopt,
                                                 std::optional<f64> scale = {}) {
  same_device<S, G, Q, K, V, O, Logs, GradQ, GradK, GradV>();
  detail::differentiate("scaled_dot_product_flash_attention_backward", stream, grad_out, query, key,
                        value, out, logsumexp, grad_query, grad_key, grad_value, attn_mask,
                        {.dropout_p = dropout_p, .is_causal = is_causal, .scale = scale});
}
/// The same in new tensors.
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, optional_tensor Mask = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_flash_attention_backward(
    const S& stream, const G& grad_out, const Q& query, const K& key, const V& value, const O& out,
    const Logs& logsumexp, f64 dropout_p = 0, bool is_causal = false,
    const Mask& attn_mask = std::nullopt, std::optional<f64> scale = {}) {
  same_device<S, G, Q, K, V, O, Logs>();
  using T = value_t<const Q&>;
  const char* const op = "scaled_dot_product_flash_attention_backward";
  attention_gradients<T, device_of<S>> r{empty<T>(stream, as_view(query).sizes(), op),
                                         empty<T>(stream, as_view(key).sizes(), op),
                                         empty<T>(stream, as_view(value).sizes(), op)};
  scaled_dot_product_flash_attention_backward(stream, grad_out, query, key, value, out, logsumexp,
                                              r.query, r.key, r.value, dropout_p, is_causal,
                                              attn_mask, scale);
  return r;
}

}  // namespace flaggems
