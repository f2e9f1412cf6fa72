// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gradients of attention with windows, and of sequences of several lengths.
#pragma once

#include <flaggems/ops/attention_backward.hpp>
#include <flaggems/ops/attention_varlen.hpp>

#include <optional>

namespace flaggems {

namespace operators {
struct flash_attention_backward;
}

/// The options of flash_attention_backward: those of the forward pass.
struct flash_attention_backward_options {
  f64 dropout_p = 0;  ///< 0: there is no dropout
  bool is_causal = false;
  std::optional<f64> scale{};  ///< of the scores; 1 / sqrt(head size) if there is none
  /// Keys before and behind a position's own that it sees; below 0, or none: all.
  std::optional<i64> window_size_left{}, window_size_right{};
};

namespace detail {

/// The gradients of attention of sequences in T.
template <class T, class D>
struct varlen_attention_backward_call {
  using forward = varlen_attention_call<T, T, T, D>;
  using C = typename forward::C;
  using view = tensor_view<const T, D>;
  using written = tensor_view<T, D>;

  forward of;
  view grad_out, out;
  tensor_view<const C, D> logs;
  written grad_q, grad_k, grad_v;

  /// Raises unless all have the sizes that query, key and value say.
  void check() const {
    of.check();
    check_sizes(of.op, grad_out, of.result(), "grad_out");
    check_sizes(of.op, out, of.result(), "out");
    check_sizes(of.op, logs, of.logs(), "logsumexp");
    check_gradient(grad_q, of.q);
    check_gradient(grad_k, of.k);
    check_gradient(grad_v, of.v);
    check_separate_output(of.op, grad_q, grad_k, grad_v);
    check_separate_output(of.op, grad_k, grad_v);
  }

  template <class S>
  void run(const S& stream) const {
    check();
    of.check_numbers(stream);
    if (of.count() == 0 || of.key_heads() == 0 ||
        (grad_q.empty() && grad_k.empty() && grad_v.empty()))
      return;
    if (replaced<operators::flash_attention_backward>(of.op, stream, grad_out, of.q, of.k, of.v,
                                                      out, logs, of.starts, *of.key_starts, grad_q,
                                                      grad_k, grad_v, of.options))
      return;
    kernels::sequence_gradient_problem problem{of.space()};
    const i64 most = problem.total_queries + problem.total_keys;
    problem.left = kernels::min_of(problem.left, most);
    problem.right = kernels::min_of(problem.right, most);
    // Sums of grad_out * out, if a kernel asks for them: [rows, heads].
    const shape rows{of.q.size(0), of.q.size(1), 1};
    const tensor_view<const C, D> dots(unchecked_t{}, nullptr, rows, contiguous_strides(rows));
    const attention_gradient_args<T, C> x{
        of.queries_of(of.q),
        of.keys_of(of.k),
        of.keys_of(of.v),
        of.queries_of(grad_out),
        of.queries_of(out),
        of.logs_of(logs),
        of.queries_of(dots),
        of.queries_of(grad_q),
        of.keys_of(grad_k),
        of.keys_of(grad_v),
        attention_scale<C>({.scale = of.options.softmax_scale}, problem.head_size)};
    const auto sum_dots = [&] {
      auto sums = empty<C>(stream, rows, of.op);
      const i64 last = -1;
      reduce_values<operators::sum, kernels::sum_of, C>(of.op, stream, mul(grad_out, out),
                                                        sums.view(), int_list(&last, 1), true,
                                                        reduction_result::total);
      return sums;
    };
    launch_attention_backward<true>(of.op, stream, problem, x, kernels::no_mask{}, sum_dots);
  }

 private:
  void check_gradient(const written& grad, const view& x) const {
    check_sizes(of.op, grad, x.shape_of());
    check_separate_output(of.op, grad, grad_out, of.q, of.k, of.v, out, logs, of.starts,
                          *of.key_starts);
  }
};

/// flash_attention_backward of one length of queries and one of keys: [batch, n, heads, size].
template <class T, class D, class S, class C>
void differentiate_dense(const S& stream, const tensor_view<const T, D>& grad_out,
                         const tensor_view<const T, D>& query, const tensor_view<const T, D>& key,
                         const tensor_view<const T, D>& value, const tensor_view<const T, D>& out,
                         const tensor_view<const C, D>& logs, const tensor_view<T, D>& grad_query,
                         const tensor_view<T, D>& grad_key, const tensor_view<T, D>& grad_value,
                         const flash_attention_backward_options& options) {
  constexpr const char* op = "flash_attention_backward";
  for (const int rank : {grad_out.rank(), query.rank(), key.rank(), value.rank(), out.rank(),
                         grad_query.rank(), grad_key.rank(), grad_value.rank()})
    if (rank != 4) [[unlikely]]
      raise(errc::shape_mismatch, op, "tensors of rank 4 without cum_seq_q", text(rank));
  const auto heads_first = [](const auto& x) { return x.transpose(1, 2); };
  const auto q = heads_first(query), k = heads_first(key), v = heads_first(value);
  attention_backward_call<T, D, no_mask_view, true>{heads_first(grad_out),
                                                    q,
                                                    k,
                                                    v,
                                                    heads_first(out),
                                                    logs,
                                                    {},
                                                    heads_first(grad_query),
                                                    heads_first(grad_key),
                                                    heads_first(grad_value),
                                                    op,
                                                    options.window_size_left.value_or(-1),
                                                    options.window_size_right.value_or(-1)}
      .run(stream, {.is_causal = options.is_causal,
                    .alignment = causal_alignment::bottom_right,
                    .scale = options.scale,
                    .enable_gqa = shares_heads(q, k, v)});
}

}  // namespace detail

/// The gradients of flash_attention_forward, given that of its output.
///
/// All as there, with the same options: query, grad_query, key, grad_key, value and grad_value;
/// grad_out, and out and logsumexp of the forward pass. With cum_seq_q and cum_seq_k (i32, both or
/// std::nullopt) they are sequences, whose rows stand one after another. All but logsumexp are of
/// one dtype. Gradients of keys and values are sums over the heads that share them. A position that
/// sees no key gives 0, as does a key that no position sees; rows of no sequence stay as they are.
/// The same input gives the same bits: each gradient is summed by one block in one order. max_q and
/// max_k need not be right; rng_state and unused have no effect, as there is no dropout. Gradients
/// share no memory with each other or an input. Raises as the forward pass does.
/// aten::_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor
/// out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float
/// dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt?
/// window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, optional_tensor CumQ, optional_tensor CumK, tensor_like GradQ,
          tensor_like GradK, tensor_like GradV>
void flash_attention_backward(const S& stream, const G& grad_out, const Q& query, const K& key,
                              const V& value, const O& out, const Logs& logsumexp,
                              const CumQ& cum_seq_q, const CumK& cum_seq_k,
                              [[maybe_unused]] i64 max_q, [[maybe_unused]] i64 max_k,
                              GradQ&& grad_query, GradK&& grad_key, GradV&& grad_value,
                              const flash_attention_backward_options& options = {}) {
  same_device<S, G, Q, K, V, O, Logs, GradQ, GradK, GradV>();
  using T = value_t<const Q&>;
  using C = attention_log_type<T>;
  using D = device_of<S>;
  constexpr const char* op = "flash_attention_backward";
  static_assert(detail::are_all<T, value_t<const G&>, value_t<const K&>, value_t<const V&>,
                                value_t<const O&>, value_t<GradQ>, value_t<GradK>, value_t<GradV>>,
                "flaggems: query, key, value, out and all gradients are of one dtype");
  static_assert(std::is_same_v<value_t<const Logs&>, C>,
                "flaggems: logsumexp is of f32, of f64 if the inputs are");
  detail::check_dropout(op, {.dropout_p = options.dropout_p});
  const auto starts = detail::optional_view<i32, D>(cum_seq_q);
  const auto key_starts = detail::optional_view<i32, D>(cum_seq_k);
  detail::check_both(op, starts, key_starts);
  if (!starts)
    return detail::differentiate_dense<T, D, S, C>(
        stream, as_view(grad_out), as_view(query), as_view(key), as_view(value), as_view(out),
        as_view(logsumexp), as_view(grad_query), as_view(grad_key), as_view(grad_value), options);
  detail::varlen_attention_backward_call<T, D>{
      {as_view(query),
       as_view(key),
       as_view(value),
       *starts,
       key_starts,
       std::nullopt,
       {.softmax_scale = options.scale,
        .causal = options.is_causal,
        .window_left = options.window_size_left.value_or(-1),
        .window_right = options.window_size_right.value_or(-1)},
       op},
      as_view(grad_out),
      as_view(out),
      as_view(logsumexp),
      as_view(grad_query),
      as_view(grad_key),
      as_view(grad_value)}
      .run(stream);
}
/// The same in new tensors.
template <stream_like S, tensor_like G, tensor_like Q, tensor_like K, tensor_like V, tensor_like O,
          tensor_like Logs, optional_tensor CumQ, optional_tensor CumK>
[[nodiscard]] auto flash_attention_backward(const S& stream, const G& grad_out, const Q& query,
                                            const K& key, const V& value, const O& out,
                                            const Logs& logsumexp, const CumQ& cum_seq_q,
                                            const CumK& cum_seq_k, i64 max_q, i64 max_k,
                                            const flash_attention_backward_options& options = {}) {
  same_device<S, G, Q, K, V, O, Logs>();
  using T = value_t<const Q&>;
  constexpr const char* op = "flash_attention_backward";
  attention_gradients<T, device_of<S>> r{empty<T>(stream, as_view(query).sizes(), op),
                                         empty<T>(stream, as_view(key).sizes(), op),
                                         empty<T>(stream, as_view(value).sizes(), op)};
  flash_attention_backward(stream, grad_out, query, key, value, out, logsumexp, cum_seq_q,
                           cum_seq_k, max_q, max_k, r.query, r.key, r.value, options);
  return r;
}

}  // namespace flaggems
