// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/attention/attention.hpp>
#include <flaggems/kernel/family/attention/rules.hpp>
#include <flaggems/ops/dispatch/attention/attention.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/plan/attention.hpp>
#include <flaggems/tensor/optional.hpp>

#include <optional>

namespace flaggems {

namespace operators {
struct scaled_dot_product_attention;
struct scaled_dot_product_flash_attention;
}  // namespace operators

/// The keys that a position sees under `is_causal`, for `queries` positions and `keys` keys.
enum class causal_alignment {
  top_left,     ///< position i sees the keys j <= i, as in ATen
  bottom_right  ///< j <= i + keys - queries: the last position sees all, as a KV cache needs
};

/// The options of scaled_dot_product_attention.
struct attention_options {
  f64 dropout_p = 0;  ///< 0: there is no dropout
  bool is_causal = false;
  causal_alignment alignment = causal_alignment::top_left;
  std::optional<f64> scale{};  ///< of the scores; 1 / sqrt(head size) if there is none
  bool enable_gqa = false;     ///< several heads of the queries share one of keys and values
};

/// A mask for the forms that return a tensor: scaled_dot_product_attention(stream, query, key,
/// value, with_mask(m)).
template <class View>
struct mask_operand {
  View value;
};
/// Marks `attn_mask` as the mask of the forms that return a tensor.
template <tensor_like X>
[[nodiscard]] auto with_mask(const X& attn_mask) {
  return mask_operand<detail::view_of<const X&>>{as_view(attn_mask)};
}

/// A rule of the scores, where a mask could be.
template <class Rule>
struct score_operand {
  Rule value;
};
/// Marks `rule` as what makes of each score the one that is used: a trivially copyable functor with
/// a default, V operator()(const V& score, i64 head, i64 query, const J& key) const, where V is a
/// number or a vector of numbers and J as many i32; -inf hides a key. `head` counts the heads of
/// all batches. soft_cap, attention_window and alibi are such rules
/// (kernel/family/attention/rules.hpp).
template <class Rule>
[[nodiscard]] auto with_score(const Rule& rule) {
  static_assert(std::is_trivially_copyable_v<Rule> && std::is_default_constructible_v<Rule>,
                "flaggems: a rule of scores is trivially copyable and has a default");
  return score_operand<Rule>{rule};
}

namespace detail {

template <class Mask>
inline constexpr bool is_rule = false;
template <class Rule>
inline constexpr bool is_rule<score_operand<Rule>> = true;

struct no_mask_view {};
struct no_logs_view {};

/// Raises unless there is no dropout.
inline void check_dropout(const char* op, const attention_options& options) {
  if (!(options.dropout_p >= 0 && options.dropout_p <= 1)) [[unlikely]]
    raise(errc::invalid_argument, op, "a dropout_p from 0 to 1", text(options.dropout_p));
  if (options.dropout_p > 0) [[unlikely]]
    raise(errc::not_supported, op, "a dropout_p of 0: there is no dropout",
          text(options.dropout_p));
}
/// What scores are multiplied by.
template <class C>
C attention_scale(const attention_options& options, i64 head_size) {
  return static_cast<C>(options.scale ? *options.scale
                                      : 1 / __builtin_sqrt(static_cast<f64>(head_size)));
}
/// Whether key and value have the same heads, fewer than query.
template <class Q, class K, class V>
bool shares_heads(const Q& q, const K& k, const V& v) {
  return q.rank() >= 3 && k.rank() == q.rank() && v.rank() == q.rank() &&
         k.size(-3) == v.size(-3) && k.size(-3) < q.size(-3);
}

/// Query, key and value of one rank: their batch sizes broadcast, but for the heads where
/// `enable_gqa` shares them. The rest is checked by attention_call.
template <class T, class Key, class Value, class D>
struct attention_inputs {
  tensor_view<const T, D> q;
  tensor_view<const Key, D> k;
  tensor_view<const Value, D> v;

  template <class Q, class K, class V>
  attention_inputs(const Q& query, const K& key, const V& value, const attention_options& options,
                   const char* op = "scaled_dot_product_attention")
      : q(as_view(query)), k(as_view(key)), v(as_view(value)) {
    check_dropout(op, options);
    const int rank = kernels::max_of(kernels::max_of(q.rank(), k.rank()), v.rank());
    const int heads = options.enable_gqa ? rank - 3 : -1;
    if (kernels::min_of(kernels::min_of(q.rank(), k.rank()), v.rank()) < (heads >= 0 ? 3 : 2))
      return;
    bool same = q.rank() == rank && k.rank() == rank && v.rank() == rank;
    shape batch;
    for (int d = 0; d < rank - 2; ++d) {
      const i64 sizes[] = {size(q, d - rank), size(k, d - rank), size(v, d - rank)};
      i64 all = 1;
      for (const i64 n : sizes)
        if (n != 1) all = n;  // sizes that differ are refused later
      batch.push_back(all);
      same = same && (d == heads || sizes[0] == all);
    }
    if (same) return;
    spread(q, batch, heads);
    spread(k, batch, heads);
    spread(v, batch, heads);
  }

 private:
  template <class View>
  static i64 size(const View& x, int d) {
    return -d <= x.rank() ? x.size(d) : 1;
  }
  template <class View>
  static void spread(View& x, const shape& batch, int heads) {
    const int rank = batch.rank() + 2;
    shape sizes = batch;
    for (int d = 0; d < batch.rank(); ++d) {
      const i64 n = size(x, d - rank);
      if (d == heads || n != 1) sizes[d] = n;
    }
    sizes.push_back(x.size(-2));
    sizes.push_back(x.size(-1));
    x = x.expand(sizes);
  }
};
template <class Q, class K, class V>
attention_inputs(const Q&, const K&, const V&, const attention_options&, const char* = nullptr)
    -> attention_inputs<value_t<const Q&>, value_t<const K&>, value_t<const V&>,
                        device_t<const Q&>>;

template <class Q, class K, class V, class Out, class Mask>
struct attention_call {
  static constexpr const char* op = "scaled_dot_product_attention";
  using T = typename Q::value_type;
  using Key = typename K::value_type;
  using O = typename Out::value_type;
  using C = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  static constexpr bool has_rule = is_rule<Mask>;
  static constexpr bool masked = !std::is_same_v<Mask, no_mask_view> && !has_rule;
  static_assert(kernels::is_floating<T> && kernels::is_floating<Key> &&
                    std::is_same_v<Key, typename V::value_type> &&
                    std::is_same_v<T, f64> == std::is_same_v<Key, f64>,
                "flaggems: scaled_dot_product_attention takes key and value of one floating-point "
                "type, of f64 if query is");
  static_assert(kernels::is_floating<O> && std::is_same_v<T, f64> == std::is_same_v<O, f64>,
                "flaggems: the result of scaled_dot_product_attention is of floating point, of f64 "
                "if the inputs are");

  /// Raises unless the sizes are compatible; returns the sizes of the result.
  static shape check(const Q& q, const K& k, const V& v, const attention_options& options) {
    const int rank = q.rank();
    if (rank < 2 || k.rank() != rank || v.rank() != rank) [[unlikely]]
      raise(errc::shape_mismatch, op, "query, key and value of one rank, 2 or more",
            "ranks " + to_string(shape{rank, k.rank(), v.rank()}));
    check_size(op, "a key whose last size is", q.size(-1), k.size(-1));
    check_size(op, "values as many as keys:", k.size(-2), v.size(-2));
    const int heads = options.enable_gqa ? rank - 3 : -1;
    if (options.enable_gqa && rank < 3) [[unlikely]]
      raise(errc::shape_mismatch, op, "a dimension of heads for enable_gqa", "rank 2");
    for (int d = 0; d < rank - 2; ++d) {
      const auto fits = [&](i64 size) {
        if (d == heads) return size > 0 && q.size(d) % size == 0 && k.size(d) == v.size(d);
        return size == q.size(d) || size == 1;
      };
      if (!fits(k.size(d)) || !fits(v.size(d))) [[unlikely]]
        raise(errc::shape_mismatch, op,
              d == heads
                  ? "heads of the query that are a multiple of those of key and value"
                  : "key and value with the query's heads and batch sizes, or 1 (enable_gqa: "
                    "a divisor of the heads)",
              to_string(q.shape_of()) + ", " + to_string(k.shape_of()) + ", " +
                  to_string(v.shape_of()));
    }
    shape result = q.shape_of();
    result[rank - 1] = v.size(-1);
    return result;
  }

  template <class S, class Logs = no_logs_view>
  static void run(const S& stream, const Q& q, const K& k, const V& v, const Mask& mask,
                  const Out& out, const attention_options& options, const Logs& logs = {},
                  const char* called = nullptr) {
    constexpr bool has_logs = !std::is_same_v<Logs, no_logs_view>;
    const char* const name = called != nullptr ? called
                             : has_logs        ? "scaled_dot_product_flash_attention"
                                               : op;
    check_sizes(name, out, check(q, k, v, options));
    check_separate_output(name, out, q, k, v);
    const int rank = q.rank();
    const auto scores = [&] {
      shape sizes = q.shape_of();
      sizes[rank - 1] = k.size(-2);
      return sizes;
    };
    if constexpr (masked) {
      if (options.is_causal) [[unlikely]]
        raise(errc::invalid_argument, name, "either attn_mask or is_causal", "both");
      check_broadcasts(name, mask, scores());
      check_separate_output(name, out, mask);
    }
    if constexpr (has_logs) {
      check_sizes(name, logs, shape(q.sizes().first(static_cast<std::size_t>(rank - 1))),
                  "logsumexp");
      check_separate_output(name, logs, q, k, v, out);
      if constexpr (masked) check_separate_output(name, logs, mask);
    }
    if (out.empty() && (!has_logs || q.empty())) return;
    const auto absent_or_mask = [&] {
      if constexpr (masked || has_rule)
        return mask;
      else
        return std::nullopt;
    }();
    if constexpr (has_logs) {
      if (replaced<operators::scaled_dot_product_flash_attention>(
              name, stream, q, k, v, absent_or_mask, out, logs, options))
        return;
    } else if (replaced<operators::scaled_dot_product_attention>(name, stream, q, k, v,
                                                                 absent_or_mask, out, options)) {
      return;
    }

    attention_batches batches(q, k, options.enable_gqa);
    batches.add_by_queries(out);
    batches.add_by_queries(q);
    batches.add_by_keys(k);
    batches.add_by_keys(v);
    const auto whole_mask = [&] {
      if constexpr (masked) {
        const auto whole = mask.expand(scores());
        batches.add_by_queries(whole);
        return whole;
      } else if constexpr (has_rule) {
        // The index of a head is that of an element of a tensor that has one for each.
        shape heads(q.sizes().first(static_cast<std::size_t>(rank - 2)));
        heads.push_back(1);
        heads.push_back(1);
        const tensor_view<const bool, typename Q::device_type> index(unchecked_t{}, nullptr, heads,
                                                                     contiguous_strides(heads));
        batches.add_by_queries(index);
        return index;
      } else {
        return 0;
      }
    }();
    if constexpr (has_logs) batches.add_by_queries(logs);
    batches.collapse();

    const kernels::attention_space space = batches.space_of(
        q, k, v,
        !options.is_causal                                ? k.size(-2)
        : options.alignment == causal_alignment::top_left ? 0
                                                          : k.size(-2) - q.size(-2));
    kernels::attention_arg<O> kernel_out;
    kernels::attention_arg<const T> kernel_q;
    kernels::attention_arg<const Key> kernel_k, kernel_v;
    batches.place(0, kernel_out, out);
    batches.place(1, kernel_q, q);
    batches.place(2, kernel_k, k);
    batches.place(3, kernel_v, v);
    auto kernel_mask = [&] {
      if constexpr (masked) {
        kernels::attention_mask<typename Mask::value_type> to{};
        batches.place(4, to, whole_mask);
        return to;
      } else if constexpr (has_rule) {
        kernels::attention_rule<decltype(mask.value)> to{};
        batches.place(4, to, whole_mask);
        to.rule = mask.value;
        return to;
      } else {
        return kernels::no_mask{};
      }
    }();
    kernels::attention_arg<C> kernel_logs{};
    if constexpr (has_logs) batches.place(masked || has_rule ? 5 : 4, kernel_logs, logs);
    const C scale = attention_scale<C>(options, space.head_size);
    launch_attention(name, stream, space, kernel_q, kernel_k, kernel_v, kernel_mask, kernel_out,
                     kernel_logs, scale, out.numel());
  }
};

template <class In, class Out, class Mask>
using attention_call_of =
    attention_call<decltype(In::q), decltype(In::k), decltype(In::v), Out, Mask>;

template <class S, class In, class Out, class Mask>
void attend(const S& stream, const In& in, const Mask& mask, const Out& out,
            const attention_options& options) {
  if constexpr (is_rule<Mask>) {
    attention_call_of<In, Out, Mask>::run(stream, in.q, in.k, in.v, mask, out, options);
  } else if constexpr (tensor_like<const Mask&>) {
    static_assert(
        std::is_same_v<value_t<const Mask&>, bool> || kernels::is_floating<value_t<const Mask&>>,
        "flaggems: attn_mask is of bool or of a floating-point type");
    attention_call_of<In, Out, view_of<const Mask&>>::run(stream, in.q, in.k, in.v, as_view(mask),
                                                          out, options);
  } else {
    if constexpr (!std::is_same_v<Mask, std::nullopt_t>)
      if (mask.has_value()) return attend(stream, in, *mask, out, options);
    attention_call_of<In, Out, no_mask_view>::run(stream, in.q, in.k, in.v, {}, out, options);
  }
}

template <class S, class Q, class K, class V, class Mask>
auto attended(const S& stream, const Q& query, const K& key, const V& value, const Mask& mask,
              const attention_options& options) {
  using T = value_t<const Q&>;
  const attention_inputs in(query, key, value, options);
  auto out =
      empty<T>(stream,
               attention_call_of<decltype(in), tensor_view<T, device_of<S>>, no_mask_view>::check(
                   in.q, in.k, in.v, options),
               "scaled_dot_product_attention");
  attend(stream, in, mask, as_view(out), options);
  return out;
}

template <class>
inline constexpr bool says_what_the_tensor_behind_value_is = false;

}  // namespace detail

/// out = softmax(scale * query * key^T + attn_mask) * value.
///
/// query [..., heads, queries, e], key [..., heads, keys, e], value [..., heads, keys, ev],
/// out [..., heads, queries, ev]; any strides (so views of a KV cache), any e and ev, rank 2 and
/// more; the dimensions before the last two broadcast. attn_mask is std::nullopt or broadcasts to
/// [..., heads, queries, keys]: of bool it says whether a key takes part, numbers are added to the
/// scores. It cannot be combined with is_causal. With enable_gqa, key and value may have fewer
/// heads, a divisor of query's: head h uses theirs h / (heads / theirs). Key and value have one
/// dtype, which may differ from query's (a cache in 16 bits), except for f64. is_causal hides the
/// keys after a position; `alignment` says which those are. Sums are in f32 (f64 for f64); memory
/// besides the operands does not depend on the lengths. A dropout_p above 0 raises not_supported.
///
/// A position whose scores are all -inf (masked, hidden or computed), or that has no keys, gives 0,
/// as in PyTorch since 2.5. Hidden keys have weight 0, so an infinity or NaN in their values may
/// give NaN; with few queries on a SIMT device, so may any infinity in values. out shares no memory
/// with an input. Raises shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor?
/// attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool
/// enable_gqa=False)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor Mask,
          tensor_like Out>
void scaled_dot_product_attention(const S& stream, const Q& query, const K& key, const V& value,
                                  const Mask& attn_mask, Out&& out,
                                  const attention_options& options = {}) {
  if constexpr (tensor_like<const Mask&>)
    same_device<S, Q, K, V, Mask, Out>();
  else
    same_device<S, Q, K, V, Out>();
  detail::attend(stream, detail::attention_inputs(query, key, value, options), attn_mask,
                 as_view(out), options);
}

/// The attention without a mask in a new tensor of query's dtype.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V>
[[nodiscard]] auto scaled_dot_product_attention(const S& stream, const Q& query, const K& key,
                                                const V& value,
                                                const attention_options& options = {}) {
  same_device<S, Q, K, V>();
  return detail::attended(stream, query, key, value, std::nullopt, options);
}

/// The same with a mask, given as with_mask(m).
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, class Mask>
[[nodiscard]] auto scaled_dot_product_attention(const S& stream, const Q& query, const K& key,
                                                const V& value, const mask_operand<Mask>& attn_mask,
                                                const attention_options& options = {}) {
  same_device<S, Q, K, V, Mask>();
  return detail::attended(stream, query, key, value, attn_mask.value, options);
}

/// The same with a mask that may be absent: an optional, or std::nullopt.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, optional_tensor Mask>
requires(!tensor_like<Mask>)
    [[nodiscard]] auto scaled_dot_product_attention(const S& stream, const Q& query, const K& key,
                                                    const V& value, const Mask& attn_mask,
                                                    const attention_options& options = {}) {
  same_device<S, Q, K, V>();
  return detail::attended(stream, query, key, value, attn_mask, options);
}

/// out = softmax(rule(scale * query * key^T)) * value, with a rule of the scores in the mask's
/// place: with_score(rule). It may be combined with is_causal.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, class Rule, tensor_like Out>
void scaled_dot_product_attention(const S& stream, const Q& query, const K& key, const V& value,
                                  const score_operand<Rule>& rule, Out&& out,
                                  const attention_options& options = {}) {
  same_device<S, Q, K, V, Out>();
  detail::attend(stream, detail::attention_inputs(query, key, value, options), rule, as_view(out),
                 options);
}
/// The same in a new tensor of query's dtype.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, class Rule>
[[nodiscard]] auto scaled_dot_product_attention(const S& stream, const Q& query, const K& key,
                                                const V& value, const score_operand<Rule>& rule,
                                                const attention_options& options = {}) {
  same_device<S, Q, K, V>();
  return detail::attended(stream, query, key, value, rule, options);
}

/// Does not compile: one tensor after value could be the mask or the output.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, tensor_like X>
void scaled_dot_product_attention(const S&, const Q&, const K&, const V&, X&&,
                                  const attention_options& = {}) {
  static_assert(detail::says_what_the_tensor_behind_value_is<X>,
                "flaggems: one tensor behind value may be the mask or the output: give "
                "with_mask(mask) for a new tensor, or std::nullopt and the output");
}

/// The dtype of the logarithms of attention in T: f64 for f64, else f32.
template <class T>
using attention_log_type = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;

namespace detail {

/// Attends, and gives the logarithms.
template <class S, class Q, class K, class V, class Mask, class Out, class Logs>
void attend_with_logs(const char* op, const S& stream, const Q& query, const K& key, const V& value,
                      const Mask& attn_mask, Out&& out, Logs&& logsumexp,
                      const attention_options& options) {
  static_assert(std::is_same_v<value_t<Logs>, attention_log_type<value_t<const Q&>>>,
                "flaggems: logsumexp is of f32, of f64 if the inputs are");
  const attention_inputs in(query, key, value, options, op);
  const auto attend = [&](const auto& mask) {
    attention_call_of<decltype(in), decltype(as_view(out)),
                      std::remove_cvref_t<decltype(mask)>>::run(stream, in.q, in.k, in.v, mask,
                                                                as_view(out), options,
                                                                as_view(logsumexp), op);
  };
  if constexpr (tensor_like<const Mask&>) {
    attend(as_view(attn_mask));
  } else {
    if constexpr (!std::is_same_v<Mask, std::nullopt_t>)
      if (attn_mask.has_value()) return attend(as_view(*attn_mask));
    attend(no_mask_view{});
  }
}
/// New tensors for it.
template <class S, class Q, class K, class V>
auto make_with_logs(const char* op, const S& stream, const Q& query, const K& key, const V& value,
                    const attention_options& options) {
  using T = value_t<const Q&>;
  const attention_inputs in(query, key, value, options, op);
  const shape sizes =
      attention_call_of<decltype(in), tensor_view<T, device_of<S>>, no_mask_view>::check(
          in.q, in.k, in.v, options);
  const shape rows(in.q.sizes().first(static_cast<std::size_t>(in.q.rank() - 1)));
  return std::pair(empty<T>(stream, sizes, op), empty<attention_log_type<T>>(stream, rows, op));
}

}  // namespace detail

/// out = softmax(scale * query * key^T + attn_mask) * value, and logsumexp = log(sum(exp(scale *
/// query * key^T + attn_mask))) over the keys, which a backward pass needs.
///
/// As scaled_dot_product_attention; key and value may have the same fewer heads, as with
/// enable_gqa. logsumexp [..., heads, queries] is of f32, of f64 for f64; -inf where a position
/// sees no key. The options stand one by one, as in the schema. Raises the same.
/// aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float
/// dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor
/// output, Tensor logsumexp)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V, tensor_like Out,
          tensor_like Logs, optional_tensor Mask = std::nullopt_t>
void scaled_dot_product_flash_attention(const S& stream, const Q& query, const K& key,
                                        const V& value, Out&& out, Logs&& logsumexp,
                                        f64 dropout_p = 0, bool is_causal = false,
                                        const Mask& attn_mask = std::nullopt,
                                        std::optional<f64> scale = {}) {
  same_device<S, Q, K, V, Out, Logs>();
  detail::attend_with_logs(
      "scaled_dot_product_flash_attention", stream, query, key, value, attn_mask, out, logsumexp,
      {.dropout_p = dropout_p,
       .is_causal = is_causal,
       .scale = scale,
       .enable_gqa = detail::shares_heads(as_view(query), as_view(key), as_view(value))});
}
/// The same in new tensors, of query's dtype and of f32 or f64.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like V,
          optional_tensor Mask = std::nullopt_t>
[[nodiscard]] auto scaled_dot_product_flash_attention(const S& stream, const Q& query, const K& key,
                                                      const V& value, f64 dropout_p = 0,
                                                      bool is_causal = false,
                                                      const Mask& attn_mask = std::nullopt,
                                                      std::optional<f64> scale = {}) {
  same_device<S, Q, K, V>();
  auto result = detail::make_with_logs(
      "scaled_dot_product_flash_attention", stream, query, key, value,
      {.dropout_p = dropout_p,
       .is_causal = is_causal,
       .scale = scale,
       .enable_gqa = detail::shares_heads(as_view(query), as_view(key), as_view(value))});
  scaled_dot_product_flash_attention(stream, query, key, value, result.first, result.second,
                                     dropout_p, is_causal, attn_mask, scale);
  return result;
}

}  // namespace flaggems
