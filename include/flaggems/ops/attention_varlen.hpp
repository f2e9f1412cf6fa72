// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over sequences of several lengths, as servers of models call it.
#pragma once

#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/attention/sequences.hpp>

#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace flaggems {

namespace operators {
struct flash_attn_varlen_func;
}  // namespace operators

/// The options of flash_attn_varlen_func on a device.
template <class Device>
struct varlen_attention_options {
  f64 dropout_p = 0;                   ///< 0: there is no dropout
  std::optional<f64> softmax_scale{};  ///< of the scores; 1 / sqrt(head size) if there is none
  bool causal = false;
  /// Keys before and behind a position's own that it sees; below 0: all. With `causal` none behind.
  i64 window_left = -1, window_right = -1;
  f64 softcap = 0;  ///< scores s become softcap * tanh(s / softcap); 0: they stay
  /// [heads] or [sequences, heads]: times the distance of a key, taken from its score.
  std::optional<tensor_view<const f32, Device>> alibi_slopes{};
  /// [sequences, most pages]: which pages of the cache hold a sequence's keys and values.
  std::optional<tensor_view<const i32, Device>> block_table{};
};

namespace detail {

/// Attention of sequences, as views: checks, and launches.
template <class T, class Key, class O, class D>
struct varlen_attention_call {
  using C = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  using numbers = tensor_view<const i32, D>;
  static_assert(kernels::is_floating<T> && kernels::is_floating<Key> && kernels::is_floating<O> &&
                    std::is_same_v<T, f64> == std::is_same_v<Key, f64> &&
                    std::is_same_v<T, f64> == std::is_same_v<O, f64>,
                "flaggems: flash_attn_varlen_func is of floating point, of f64 if q is");

  tensor_view<const T, D> q;
  tensor_view<const Key, D> k, v;
  numbers starts;
  std::optional<numbers> key_starts, used;
  varlen_attention_options<D> options;
  const char* op;
  bool has_all_rows = false;  // each row is of a sequence

  bool is_paged() const { return options.block_table.has_value(); }
  i64 count() const { return starts.numel() - 1; }
  i64 key_heads() const { return k.size(-2); }
  /// Keys that a sequence may have.
  i64 most_keys() const {
    return is_paged() ? options.block_table->size(1) * k.size(1) : k.size(0);
  }
  shape result() const { return {q.size(0), q.size(1), v.size(-1)}; }
  shape logs() const { return {q.size(1), q.size(0)}; }

  /// Raises unless all fit together.
  void check() const {
    check_dropout(op, {.dropout_p = options.dropout_p});
    if (!(options.softcap >= 0 && options.softcap <= (std::numeric_limits<f32>::max)()))
        [[unlikely]]
      raise(errc::invalid_argument, op, "a softcap of 0 or more that f32 holds",
            text(options.softcap));
    const int rank = is_paged() ? 4 : 3;
    if (q.rank() != 3 || k.rank() != rank || v.rank() != rank) [[unlikely]]
      raise(errc::shape_mismatch, op,
            is_paged() ? "q of rank 3, k and v of rank 4" : "q, k and v of rank 3",
            "ranks " + to_string(shape{q.rank(), k.rank(), v.rank()}));
    check_size(op, "a k whose last size is", q.size(2), k.size(-1));
    for (int d = 0; d < rank - 1; ++d)
      check_size(op, d == rank - 2 ? "v with k's heads:" : "v with as many as k:", k.size(d),
                 v.size(d));
    if (q.size(1) > 0 && (key_heads() == 0 || q.size(1) % key_heads() != 0)) [[unlikely]]
      raise(errc::shape_mismatch, op, "heads of q that are a multiple of k's " + text(key_heads()),
            text(q.size(1)));
    if (is_paged() ? !used && !key_starts : !key_starts) [[unlikely]]
      raise(errc::invalid_argument, op,
            is_paged() ? "cu_seqlens_k or seqused_k" : "cu_seqlens_k where there is no block_table",
            "none");
    if (starts.rank() != 1 || starts.empty()) [[unlikely]]
      raise(errc::shape_mismatch, op, "cu_seqlens_q [sequences + 1]", to_string(starts.shape_of()));
    if (key_starts) check_sizes(op, *key_starts, {count() + 1}, "cu_seqlens_k");
    if (used) check_sizes(op, *used, {count()}, "seqused_k");
    if (is_paged()) {
      const numbers& table = *options.block_table;
      if (table.rank() != 2 || table.size(0) != count()) [[unlikely]]
        raise(errc::shape_mismatch, op, "a block_table [" + text(count()) + ", pages]",
              to_string(table.shape_of()));
    }
    if (const auto& slopes = options.alibi_slopes)
      if (!(slopes->rank() == 1 || (slopes->rank() == 2 && slopes->size(0) == count())) ||
          slopes->size(-1) != q.size(1)) [[unlikely]]
        raise(errc::shape_mismatch, op, "alibi_slopes [heads] or [sequences, heads]",
              to_string(slopes->shape_of()));
  }

  /// Raises out_of_range, where the host reads them, unless the numbers say rows and pages that
  /// are there.
  template <class S>
  void check_numbers(const S& stream) const {
    if constexpr (host_reads<D>) {
      if constexpr (!is_synchronous<D>) ref(stream).synchronize();
      const auto among = [&](bool is_right, const char* expected, i64 got) {
        if (!is_right) [[unlikely]]
          raise(errc::out_of_range, op, expected, text(got));
      };
      const auto at = [](const numbers& x, i64 i) { return i64{x.data()[i * x.stride(0)]}; };
      i64 last = 0;
      for (i64 s = 0; s <= count(); ++s) {
        const i64 start = at(starts, s);
        among(start >= last && start <= q.size(0), "a cu_seqlens_q that increases to q's rows",
              start);
        last = start;
      }
      for (i64 s = 0; s < count(); ++s) {
        const i64 first = key_starts ? at(*key_starts, s) : 0;
        const i64 n = used ? at(*used, s) : at(*key_starts, s + 1) - first;
        among(first >= 0 && n >= 0, "sequences that begin at 0 or later and end behind",
              n < 0 ? n : first);
        among(n <= most_keys() - (is_paged() ? 0 : first), "sequences among the keys", n);
        if (!is_paged()) continue;
        const numbers& table = *options.block_table;
        for (i64 p = 0; p * k.size(1) < n; ++p) {
          const i64 page = table.data()[s * table.stride(0) + p * table.stride(1)];
          among(page >= 0 && page < k.size(0), "a block_table of the cache's pages", page);
        }
      }
    }
  }

  template <class S>
  void run(const S& stream, const tensor_view<O, D>& out,
           const std::optional<tensor_view<C, D>>& sums) const {
    check();
    check_sizes(op, out, result());
    check_separate_output(op, out, q, k, v, starts);
    if (sums) {
      check_sizes(op, *sums, logs(), "softmax_lse");
      check_separate_output(op, *sums, q, k, v, starts, out);
    }
    for (const auto& other : {key_starts, used, options.block_table})
      if (other) {
        check_separate_output(op, out, *other);
        if (sums) check_separate_output(op, *sums, *other);
      }
    if (const auto& slopes = options.alibi_slopes) {
      check_separate_output(op, out, *slopes);
      if (sums) check_separate_output(op, *sums, *slopes);
    }
    check_numbers(stream);
    if (count() == 0 || (out.empty() && (!sums || sums->empty()))) return;
    if (replaced<operators::flash_attn_varlen_func>(op, stream, q, k, v, starts, key_starts, used,
                                                    out, sums, options))
      return;
    start(stream, out, sums);
  }

  /// The problem, as kernels take it.
  kernels::sequence_space space() const {
    kernels::sequence_space r;
    r.count = count();
    r.key_heads = key_heads();
    r.group = group();
    r.total_queries = q.size(0);
    r.total_keys = most_keys();
    r.head_size = q.size(2);
    r.value_size = v.size(-1);
    const i64 all = q.size(0) + most_keys();  // no window is wider
    r.left = kernels::min_of(options.window_left, all);
    r.right = options.causal ? 0 : kernels::min_of(options.window_right, all);
    r.starts = numbers_of(starts);
    r.key_starts = numbers_of(key_starts);
    r.used = numbers_of(used);
    r.table = numbers_of(options.block_table);
    r.table_row = is_paged() ? options.block_table->stride(0) : 0;
    r.page = is_paged() ? k.size(1) : 0;
    r.blocks = k.size(0);
    r.has_all_rows = has_all_rows;
    return r;
  }
  i64 group() const { return q.size(1) / key_heads(); }
  /// Operands by the rows of queries, [rows, heads, size], and of keys, and the logarithms.
  template <class X>
  kernels::attention_arg<X> queries_of(const tensor_view<X, D>& x) const {
    return rows_of(x, x.stride(0), x.stride(0), x.stride(1), group(), x.stride(2));
  }
  template <class X>
  kernels::attention_arg<X> keys_of(const tensor_view<X, D>& x) const {
    return rows_of(x, x.stride(0), x.stride(-3), x.stride(-2), 1, x.stride(-1));
  }
  template <class X>
  kernels::attention_arg<X> logs_of(const tensor_view<X, D>& x) const {
    return rows_of(x, x.stride(1), x.stride(1), x.stride(0), group(), 0);
  }

 private:
  static kernels::sequence_numbers numbers_of(const std::optional<numbers>& x) {
    if (!x) return {nullptr, 0};
    return {x->data(), x->stride(-1)};
  }
  template <class X>
  static kernels::attention_arg<X> rows_of(const tensor_view<X, D>& x, i64 row, i64 position,
                                           i64 head, i64 heads, i64 element) {
    kernels::attention_arg<X> r{};
    r.data = x.data();
    r.batch[0] = row;
    r.batch[1] = head * heads;
    r.head = head;
    r.position = position;
    r.element = element;
    return r;
  }

  template <class S>
  void start(const S& stream, const tensor_view<O, D>& out,
             const std::optional<tensor_view<C, D>>& sums) const {
    const kernels::sequence_space all = space();
    kernels::attention_arg<C> logarithms{};
    if (sums) logarithms = logs_of(*sums);
    const C scale = attention_scale<C>({.scale = options.softmax_scale}, all.head_size);
    const auto attend = [&](const auto& mask) {
      launch_sequence_attention(op, stream, all, queries_of(q), keys_of(k), keys_of(v), mask,
                                queries_of(out), logarithms, scale, out.numel());
    };
    const auto& slopes = options.alibi_slopes;
    if (options.softcap == 0 && options.window_left < 0 && !slopes)
      return attend(kernels::no_mask{});
    kernels::sequence_rule rule{};
    rule.group = group();
    rule.rule.cap.limit = static_cast<f32>(options.softcap);
    rule.rule.window.left = static_cast<i32>(kernels::min_of(options.window_left, most_keys()));
    if (!slopes) return attend(rule);
    rule.rule.slopes.heads = q.size(1);
    rule.sequence_step = slopes->rank() == 2 ? q.size(1) : 0;
    if (slopes->is_contiguous()) {
      rule.rule.slopes.slopes = slopes->data();
      return attend(rule);
    }
    const auto copy = contiguous(stream, *slopes);
    rule.rule.slopes.slopes = copy.data();
    attend(rule);
  }
};

template <class Q, class K, class V, class Starts, class KeyStarts, class Used, class O, class D>
varlen_attention_call<value_t<const Q&>, value_t<const K&>, O, D> varlen_attention(
    const char* op, const Q& q, const K& k, const V& v, const Starts& cu_seqlens_q,
    const KeyStarts& cu_seqlens_k, const Used& seqused_k,
    const varlen_attention_options<D>& options) {
  static_assert(std::is_same_v<value_t<const K&>, value_t<const V&>>,
                "flaggems: flash_attn_varlen_func takes k and v of one dtype");
  static_assert(std::is_same_v<value_t<const Starts&>, i32>,
                "flaggems: flash_attn_varlen_func takes lengths and starts of i32");
  return {as_view(q),
          as_view(k),
          as_view(v),
          as_view(cu_seqlens_q),
          optional_view<i32, D>(cu_seqlens_k),
          optional_view<i32, D>(seqused_k),
          options,
          op};
}

}  // namespace detail

/// out = softmax(softmax_scale * q * k^T) * v for each of several sequences, whose rows stand one
/// after another: those of sequence s from cu_seqlens_q[s] to cu_seqlens_q[s + 1].
///
/// q [rows, heads, e]; k [key rows, key heads, e], v [key rows, key heads, ev], whose heads divide
/// q's; out [rows, heads, ev]; softmax_lse [heads, rows] of f32 (f64 for f64), or std::nullopt: the
/// logarithms of the sums of exponentials. The keys of sequence s begin at cu_seqlens_k[s] and are
/// seqused_k[s] many, or end at cu_seqlens_k[s + 1]. With a block_table k and v are a cache
/// [pages, page, key heads, size], and key j of sequence s is in page block_table[s, j / page].
/// Numbers of sequences are i32; all may have any strides. k and v have one dtype, which may differ
/// from q's, except for f64. Any lengths, 0 too; max_seqlen_q and max_seqlen_k need not be right.
///
/// Of n queries and m keys, query i has the key i + m - n as its own: causal hides what is behind
/// it, and windows and slopes count from there. The cap is applied to scores first, then slopes. A
/// position that sees no key gives 0, and -inf as its logarithm. Rows of no sequence stay as they
/// are. Hidden keys have weight 0, so an infinity or NaN in their values may give NaN. Outputs
/// share no memory with each other or an input. Raises shape_mismatch, invalid_argument,
/// not_supported, overlap, or, where the host can read the numbers, out_of_range, before anything
/// is written; elsewhere wrong numbers read nothing outside the operands.
/// flag_gems::flash_attn_varlen_func(Tensor q, Tensor k, Tensor v, int max_seqlen_q, Tensor
/// cu_seqlens_q, int max_seqlen_k, Tensor? cu_seqlens_k=None, Tensor? seqused_k=None, ...)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, tensor_like Starts,
          optional_tensor KeyStarts, optional_tensor Used, tensor_like Out, optional_tensor Logs>
void flash_attn_varlen_func(const S& stream, const Q& q, const K& k, const V& v,
                            [[maybe_unused]] i64 max_seqlen_q, const Starts& cu_seqlens_q,
                            [[maybe_unused]] i64 max_seqlen_k, const KeyStarts& cu_seqlens_k,
                            const Used& seqused_k, Out&& out, Logs&& softmax_lse,
                            const varlen_attention_options<device_of<S>>& options = {}) {
  same_device<S, Q, K, V, Starts, Out>();
  using D = device_of<S>;
  using O = value_t<Out>;
  using C = attention_log_type<value_t<const Q&>>;
  std::optional<tensor_view<C, D>> sums;
  if constexpr (tensor_like<Logs>)
    sums = as_view(softmax_lse);
  else if constexpr (!std::is_same_v<std::remove_cvref_t<Logs>, std::nullopt_t>)
    if (softmax_lse.has_value()) sums = as_view(*softmax_lse);
  const tensor_view<O, D> to = as_view(out);
  detail::varlen_attention<Q, K, V, Starts, KeyStarts, Used, O, D>(
      "flash_attn_varlen_func", q, k, v, cu_seqlens_q, cu_seqlens_k, seqused_k, options)
      .run(stream, to, sums);
}
/// The same in new tensors, of q's dtype and of f32 or f64.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, tensor_like Starts,
          optional_tensor KeyStarts, optional_tensor Used = std::nullopt_t>
[[nodiscard]] auto flash_attn_varlen_func(
    const S& stream, const Q& q, const K& k, const V& v, i64 max_seqlen_q,
    const Starts& cu_seqlens_q, i64 max_seqlen_k, const KeyStarts& cu_seqlens_k,
    const Used& seqused_k = std::nullopt,
    const varlen_attention_options<device_of<S>>& options = {}) {
  same_device<S, Q, K, V, Starts>();
  using T = value_t<const Q&>;
  const auto call = detail::varlen_attention<Q, K, V, Starts, KeyStarts, Used, T, device_of<S>>(
      "flash_attn_varlen_func", q, k, v, cu_seqlens_q, cu_seqlens_k, seqused_k, options);
  call.check();
  std::pair result(empty<T>(stream, call.result(), call.op),
                   empty<attention_log_type<T>>(stream, call.logs(), call.op));
  flash_attn_varlen_func(stream, q, k, v, max_seqlen_q, cu_seqlens_q, max_seqlen_k, cu_seqlens_k,
                         seqused_k, result.first, result.second, options);
  return result;
}

/// The options of flash_attention_forward on a device.
template <class Device>
struct flash_attention_options {
  f64 dropout_p = 0;  ///< 0: there is no dropout
  bool is_causal = false;
  std::optional<f64> scale{};  ///< of the scores; 1 / sqrt(head size) if there is none
  /// Keys before and behind a position's own that it sees; below 0, or none: all.
  std::optional<i64> window_size_left{}, window_size_right{};
  std::optional<tensor_view<const i32, Device>> seqused_k{};  ///< keys of each sequence
  /// [heads] or [batch, heads]: times the distance of a key, taken from its score.
  std::optional<tensor_view<const f32, Device>> alibi_slopes{};
  /// [sequences, most pages]: which pages of a cache hold a sequence's keys and values.
  std::optional<tensor_view<const i32, Device>> block_table{};
};

/// What flash_attention_forward gives. Without dropout rng_state is 0, and there are no numbers in
/// `unused` and debug_attn_mask.
template <class T, class Device>
struct flash_attention_results {
  tensor<T, Device> out;
  tensor<attention_log_type<T>, Device> softmax_logsumexp;
  tensor<i64, Device> rng_state, unused;
  tensor<T, Device> debug_attn_mask;
  [[nodiscard]] auto tie() {
    return std::tie(out, softmax_logsumexp, rng_state, unused, debug_attn_mask);
  }
};

namespace detail {

/// flash_attention_forward of one length of queries and one of keys: [batch, n, heads, size].
template <class T, class D, class S, class O, class C>
void attend_dense(const S& stream, const tensor_view<const T, D>& query,
                  const tensor_view<const T, D>& key, const tensor_view<const T, D>& value,
                  const tensor_view<O, D>& out, const tensor_view<C, D>& logs,
                  const flash_attention_options<D>& options) {
  constexpr const char* op = "flash_attention_forward";
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4 || out.rank() != 4) [[unlikely]]
    raise(errc::shape_mismatch, op, "query, key, value and out of rank 4 without cum_seq_q",
          "ranks " + to_string(shape{query.rank(), key.rank(), value.rank(), out.rank()}));
  if (options.seqused_k || options.block_table) [[unlikely]]
    raise(errc::not_supported, op, "seqused_k and block_table with cum_seq_q only",
          options.seqused_k ? "seqused_k alone" : "block_table alone");
  const auto q = query.transpose(1, 2), k = key.transpose(1, 2), v = value.transpose(1, 2);
  const auto to = out.transpose(1, 2);
  const attention_options plain{.dropout_p = options.dropout_p,
                                .is_causal = options.is_causal,
                                .alignment = causal_alignment::bottom_right,
                                .scale = options.scale,
                                .enable_gqa = shares_heads(q, k, v)};
  check_dropout(op, plain);
  const auto attend = [&](const auto& mask) {
    attention_call<decltype(q), decltype(k), decltype(v), decltype(to),
                   std::remove_cvref_t<decltype(mask)>>::run(stream, q, k, v, mask, to, plain, logs,
                                                             op);
  };
  const auto& slopes = options.alibi_slopes;
  const auto limit = [&](const std::optional<i64>& given) {
    return static_cast<i32>(
        kernels::min_of(kernels::max_of(given.value_or(-1), i64{-1}), q.size(2) + k.size(2)));
  };
  flash_rule rule;
  rule.window = {limit(options.window_size_left),
                 options.is_causal ? -1 : limit(options.window_size_right),
                 static_cast<i32>(k.size(2) - q.size(2))};
  if (rule.window.left < 0 && rule.window.right < 0 && !slopes) return attend(no_mask_view{});
  if (!slopes) return attend(with_score(rule));
  if (!(slopes->rank() == 1 || (slopes->rank() == 2 && slopes->size(0) == q.size(0))) ||
      slopes->size(-1) != q.size(1)) [[unlikely]]
    raise(errc::shape_mismatch, op, "alibi_slopes [heads] or [batch, heads]",
          to_string(slopes->shape_of()));
  check_separate_output(op, out, *slopes);
  check_separate_output(op, logs, *slopes);
  rule.slopes = {slopes->data(), slopes->numel(), rule.window.shift};
  if (slopes->is_contiguous() || slopes->empty()) return attend(with_score(rule));
  const auto copy = contiguous(stream, *slopes);
  rule.slopes.slopes = copy.data();
  attend(with_score(rule));
}

template <class D>
varlen_attention_options<D> as_varlen(const flash_attention_options<D>& options) {
  return {.dropout_p = options.dropout_p,
          .softmax_scale = options.scale,
          .causal = options.is_causal,
          .window_left = options.window_size_left.value_or(-1),
          .window_right = options.window_size_right.value_or(-1),
          .alibi_slopes = options.alibi_slopes,
          .block_table = options.block_table};
}
template <class CumQ, class CumK>
void check_both(const char* op, const CumQ& of_queries, const CumK& of_keys,
                bool is_paged = false) {
  if (of_queries.has_value() ? !of_keys && !is_paged : of_keys.has_value()) [[unlikely]]
    raise(errc::invalid_argument, op, "both of cum_seq_q and cum_seq_k", "one");
}

}  // namespace detail

/// out = softmax(scale * query * key^T) * value, and the logarithms of the sums of exponentials,
/// with query and key in the order [batch, position, head, element], or of sequences.
///
/// Without cum_seq_q: query [batch, queries, heads, e], key [batch, keys, key heads, e], value
/// [batch, keys, key heads, ev], out [batch, queries, heads, ev], softmax_logsumexp [batch, heads,
/// queries]; key heads divide heads. With cum_seq_q and cum_seq_k (i32) as flash_attn_varlen_func,
/// where seqused_k may say how many keys are used, and a block_table which pages of a cache hold
/// them, in the place of cum_seq_k. One dtype; the logarithms are of f32 (f64 for
/// f64). is_causal hides the keys behind a position's own, i + keys - queries. max_q and max_k need
/// not be right. Raises the same; a dropout_p above 0 is not_supported.
/// aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q,
/// Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool
/// return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt?
/// window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor?
/// block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor
/// rng_state, Tensor unused, Tensor debug_attn_mask)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor CumQ,
          optional_tensor CumK, tensor_like Out, tensor_like Logs>
void flash_attention_forward(const S& stream, const Q& query, const K& key, const V& value,
                             const CumQ& cum_seq_q, const CumK& cum_seq_k,
                             [[maybe_unused]] i64 max_q, [[maybe_unused]] i64 max_k, Out&& out,
                             Logs&& softmax_logsumexp,
                             const flash_attention_options<device_of<S>>& options = {}) {
  same_device<S, Q, K, V, Out, Logs>();
  using D = device_of<S>;
  using T = value_t<const Q&>;
  static_assert(std::is_same_v<T, value_t<const K&>> && std::is_same_v<T, value_t<const V&>>,
                "flaggems: flash_attention_forward takes one dtype");
  static_assert(std::is_same_v<value_t<Logs>, attention_log_type<T>>,
                "flaggems: softmax_logsumexp is of f32, of f64 if the inputs are");
  const auto starts = detail::optional_view<i32, D>(cum_seq_q);
  const auto key_starts = detail::optional_view<i32, D>(cum_seq_k);
  detail::check_both("flash_attention_forward", starts, key_starts,
                     options.block_table.has_value());
  if (starts)
    detail::varlen_attention<Q, K, V, decltype(*starts), CumK,
                             std::optional<tensor_view<const i32, D>>, value_t<Out>, D>(
        "flash_attention_forward", query, key, value, *starts, cum_seq_k, options.seqused_k,
        detail::as_varlen(options))
        .run(stream, as_view(out),
             tensor_view<attention_log_type<T>, D>(as_view(softmax_logsumexp)));
  else
    detail::attend_dense<T, D>(stream, as_view(query), as_view(key), as_view(value), as_view(out),
                               as_view(softmax_logsumexp), options);
}
/// The same in new tensors.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor CumQ,
          optional_tensor CumK>
[[nodiscard]] auto flash_attention_forward(
    const S& stream, const Q& query, const K& key, const V& value, const CumQ& cum_seq_q,
    const CumK& cum_seq_k, i64 max_q, i64 max_k,
    const flash_attention_options<device_of<S>>& options = {}) {
  same_device<S, Q, K, V>();
  using D = device_of<S>;
  using T = value_t<const Q&>;
  constexpr const char* op = "flash_attention_forward";
  const tensor_view<const T, D> q = as_view(query);
  const auto v = as_view(value);
  const bool of_sequences = detail::optional_view<i32, D>(cum_seq_q).has_value();
  const bool has_pages = of_sequences && options.block_table.has_value();
  if (q.rank() != (of_sequences ? 3 : 4) || v.rank() != q.rank() + (has_pages ? 1 : 0)) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "query and value of rank 4, of 3 with cum_seq_q, and a value of 4 with block_table",
          "ranks " + to_string(shape{q.rank(), v.rank()}));
  shape sizes = q.shape_of();
  sizes[q.rank() - 1] = v.size(-1);
  const shape rows =
      of_sequences ? shape{q.size(1), q.size(0)} : shape{q.size(0), q.size(2), q.size(1)};
  flash_attention_results<T, D> r{
      empty<T>(stream, sizes, op), empty<attention_log_type<T>>(stream, rows, op),
      zeros<i64>(stream, {2}), empty<i64>(stream, {0}, op), empty<T>(stream, {0}, op)};
  flash_attention_forward(stream, query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, r.out,
                          r.softmax_logsumexp, options);
  return r;
}

}  // namespace flaggems
