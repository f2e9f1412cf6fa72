// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention over latent keys, as multi-head latent attention has them: one line a token, whose
// first numbers are its value; over all keys of a paged cache, or over those that each query lists.
// DeepSeek-AI: DeepSeek-V2, 2024 (arXiv:2405.04434).
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/attention_varlen.hpp>
#include <flaggems/ops/dispatch/attention/sparse.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace flaggems {

namespace operators {
struct flash_mla_sparse_fwd;
}  // namespace operators

/// What flash_mla_sparse_fwd gives.
template <class T, class Device>
struct sparse_attention_results {
  tensor<T, Device> out;
  tensor<attention_log_type<T>, Device> max_logits, lse;
  [[nodiscard]] auto tie() { return std::tie(out, max_logits, lse); }
};

/// The options of flash_mla_with_kvcache on a device.
template <class Device>
struct latent_attention_options {
  std::optional<f64> softmax_scale{};  ///< of the scores; 1 / sqrt(head size) if there is none
  bool causal = false;                 ///< without lists: a query sees the keys up to its own
  bool is_fp8_kvcache = false;         ///< the cache has bytes (flash_mla_with_kvcache says which)
  /// [batch, queries, count]: the keys that each query sees, page * keys of a page + place.
  std::optional<tensor_view<const i32, Device>> indices{};
  /// [heads]: exp(sink) is added to the sum of exponentials.
  std::optional<tensor_view<const f32, Device>> attn_sink{};
  /// Another cache of bytes, and its keys that each query sees besides.
  std::optional<tensor_view<const u8, Device>> extra_k_cache{};
  std::optional<tensor_view<const i32, Device>> extra_indices_in_kvcache{};
  /// [batch]: how many of its lists count; all if there is none.
  std::optional<tensor_view<const i32, Device>> topk_length{}, extra_topk_length{};
};

namespace detail {

/// Attention of q [batch, queries, heads, e] over a paged cache [pages, page, key heads, e].
template <class S, class T, class Key, class O, class C, class D>
void attend_pages(const char* op, const S& stream, const tensor_view<const T, D>& q,
                  const tensor_view<const Key, D>& cache, i64 value_size,
                  const tensor_view<const i32, D>& table, const tensor_view<const i32, D>& lengths,
                  const tensor_view<O, D>& out, const std::optional<tensor_view<C, D>>& lse,
                  bool causal, std::optional<f64> scale) {
  if (q.rank() != 4 || cache.rank() != 4) [[unlikely]]
    raise(errc::shape_mismatch, op, "q and a cache of rank 4",
          to_string(q.shape_of()) + ", " + to_string(cache.shape_of()));
  if (value_size < 0 || value_size > cache.size(3)) [[unlikely]]
    raise(errc::shape_mismatch, op, "values of at most a key's " + text(cache.size(3)) + " numbers",
          text(value_size));
  const i64 batch = q.size(0), queries = q.size(1), heads = q.size(2);
  check_sizes(op, out, {batch, queries, heads, value_size});
  check_separate_output(op, out, q, cache, table, lengths);
  check_sizes(op, lengths, {batch}, "cache_seqlens");
  if (lse) {
    check_sizes(op, *lse, {batch, heads, queries}, "lse");
    check_separate_output(op, *lse, q, cache, table, lengths, out);
  }
  const i64 rows = batch * queries;
  if (rows > (std::numeric_limits<i32>::max)() - 1) [[unlikely]]
    raise(errc::invalid_argument, op, "fewer than 2^31 queries", text(rows));
  // Sequences of `queries` rows each; rows in other orders go by memory in this one.
  const auto starts =
      arange<i32>(stream, 0, queries == 0 ? 1 : rows + 1, queries == 0 ? 1 : queries);
  const auto is_in_rows = [&](const auto& x) {
    return x.size(0) <= 1 || x.size(1) <= 1 || x.stride(0) == x.size(1) * x.stride(1);
  };
  const auto in_rows = [&](const auto& x) {
    return x.size(0) <= 1 ? x.select(0, 0) : x.size(1) == 1 ? x.select(1, 0) : x.flatten(0, 1);
  };
  varlen_attention_options<D> options{
      .softmax_scale = scale, .causal = causal, .block_table = table};
  const auto attend = [&](const tensor_view<const T, D>& from, const tensor_view<O, D>& to,
                          const std::optional<tensor_view<C, D>>& sums) {
    varlen_attention_call<T, Key, O, D>{from,    cache,        cache.narrow(-1, 0, value_size),
                                        starts,  std::nullopt, lengths,
                                        options, op,           true}
        .run(stream, to, sums);
  };
  if (rows == 0) {
    varlen_attention_call<T, Key, O, D>{
        q.select(0, 0), cache, cache.narrow(-1, 0, value_size), starts, std::nullopt, lengths,
        options,        op}
        .check();
    return;
  }
  tensor<T, D> own_q;
  tensor<O, D> own_out;
  tensor<C, D> own_sums;
  tensor_view<const T, D> from = q;
  tensor_view<O, D> to = out;
  std::optional<tensor_view<C, D>> sums;
  if (!is_in_rows(q)) own_q = contiguous(stream, q), from = own_q.view();
  if (!is_in_rows(out)) own_out = empty<O>(stream, out.sizes(), op), to = own_out.view();
  if (lse && queries == 1) {
    sums = lse->select(2, 0).transpose(0, 1);
  } else if (lse) {
    own_sums = empty<C>(stream, {heads, rows}, op);
    sums = own_sums.view();
  }
  attend(in_rows(from), in_rows(to), sums);
  if (!is_in_rows(out)) copy_(stream, out, own_out);
  if (lse && queries != 1)
    copy_(stream, *lse, own_sums.view().unflatten(1, {batch, queries}).transpose(0, 1));
}

/// Attention of q [batch, queries, heads, e], by lists [batch, queries, key heads, count], over
/// keys [batch, n, key heads, e], or [pages, page, key heads, e] for all batches; values are the
/// first numbers of keys. Checks, and launches; an implementation of a device is given all of it.
template <class T, class Key, class O, class D>
struct sparse_attention_call {
  using C = attention_log_type<T>;
  static_assert(kernels::is_floating<T> && kernels::is_floating<Key> && kernels::is_floating<O> &&
                    std::is_same_v<T, f64> == std::is_same_v<Key, f64> &&
                    std::is_same_v<T, f64> == std::is_same_v<O, f64>,
                "flaggems: attention by lists is of floating point, of f64 if q is");
  const char* op;
  tensor_view<const T, D> q;
  tensor_view<const Key, D> keys;
  tensor_view<const i32, D> lists;
  tensor_view<O, D> out;
  bool is_paged = false, is_causal = false;
  std::optional<f64> scale{};
  std::optional<tensor_view<const i32, D>> lengths{};  // [batch, queries]
  std::optional<tensor_view<const f32, D>> sinks{};
  std::optional<tensor_view<C, D>> largest{}, logs{};  // [batch, queries, heads]
  C log_of_none = kernels::lowest<C>();

  i64 key_heads() const { return keys.size(2); }
  i64 group() const { return q.size(2) / key_heads(); }

  void check() const {
    if (q.rank() != 4 || keys.rank() != 4 || lists.rank() != 4) [[unlikely]]
      raise(errc::shape_mismatch, op, "queries, keys and lists of one rank",
            "sizes " + to_string(q.shape_of()) + ", " + to_string(keys.shape_of()) + ", " +
                to_string(lists.shape_of()));
    check_size(op, "keys whose last size is", q.size(3), keys.size(3));
    if (!is_paged) check_size(op, "keys of as many batches as q:", q.size(0), keys.size(0));
    if (q.size(2) > 0 && (key_heads() == 0 || q.size(2) % key_heads() != 0)) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "heads of q that are a multiple of the keys' " + text(key_heads()), text(q.size(2)));
    check_sizes(op, lists, {q.size(0), q.size(1), key_heads(), lists.size(3)}, "indices");
    if (out.rank() != 4 || out.size(3) > keys.size(3)) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "values of at most a key's " + text(keys.size(3)) + " numbers",
            to_string(out.shape_of()));
    check_sizes(op, out, {q.size(0), q.size(1), q.size(2), out.size(3)});
    if (count_of_keys() > (std::numeric_limits<i32>::max)()) [[unlikely]]
      raise(errc::invalid_argument, op, "fewer than 2^31 keys", text(count_of_keys()));
    if (lengths) check_sizes(op, *lengths, {q.size(0), q.size(1)}, "topk_length");
    if (sinks) check_sizes(op, *sinks, {q.size(2)}, "attn_sink");
    const auto separate = [&](const auto& x, const auto&... others) {
      check_separate_output(op, x, q, keys, lists, others...);
      if (lengths) check_separate_output(op, x, *lengths);
      if (sinks) check_separate_output(op, x, *sinks);
    };
    separate(out);
    for (const auto& x : {largest, logs})
      if (x) {
        check_sizes(op, *x, {q.size(0), q.size(1), q.size(2)}, "a number for each row");
        separate(*x, out);
      }
    if (largest && logs) check_separate_output(op, *largest, *logs);
  }

  template <class S>
  void run(const S& stream) const {
    check();
    if (q.size(0) * q.size(1) * q.size(2) == 0) return;
    if (replaced<operators::flash_mla_sparse_fwd>(op, stream, *this)) return;
    kernels::sparse_space space{};
    space.batches = q.size(0);
    space.queries = q.size(1);
    space.groups = key_heads();
    space.group = group();
    space.count = lists.size(3);
    space.keys = count_of_keys();
    space.head_size = q.size(3);
    space.value_size = out.size(3);
    space.page = is_paged ? keys.size(1) : 0;
    space.is_causal = is_causal;
    space.lists = {lists.data(),
                   lists.stride(0),
                   lists.stride(1),
                   lists.stride(2),
                   lists.stride(3),
                   lengths ? lengths->data() : nullptr,
                   lengths ? lengths->stride(0) : 0,
                   lengths ? lengths->stride(1) : 0};
    kernels::attention_arg<const Key> k{};
    k.data = keys.data();
    k.batch[0] = is_paged ? 0 : keys.stride(0);
    k.batch[1] = is_paged ? keys.stride(0) : 0;
    k.batch[2] = keys.stride(2);
    k.position = keys.stride(1);
    k.element = keys.stride(3);
    kernels::sparse_sums<C> sums{};
    if (logs) sums.logs = by_query(*logs, 0);
    if (largest) sums.largest = by_query(*largest, 0);
    if (sinks) sums.sinks = sinks->data(), sums.sink_step = sinks->stride(0);
    sums.group = group();
    sums.empty = log_of_none;
    launch_sparse_attention(
        op, stream, space, by_query(q, q.stride(3)), k, k, by_query(out, out.stride(3)),
        attention_scale<C>({.scale = scale}, space.head_size), sums, out.numel());
  }

 private:
  i64 count_of_keys() const { return is_paged ? keys.size(0) * keys.size(1) : keys.size(1); }
  template <class X>
  kernels::attention_arg<X> by_query(const tensor_view<X, D>& x, i64 element) const {
    kernels::attention_arg<X> r{};
    r.data = x.data();
    r.batch[0] = x.stride(0);
    r.batch[1] = x.stride(1);
    r.batch[2] = x.stride(2) * group();
    r.head = x.stride(2);
    r.element = element;
    return r;
  }
};

/// A cache of bytes, [pages, page, 1, 584] or [pages, bytes of a page], and its lists.
template <class D>
kernels::latent_cache latent_cache_of(const char* op, const tensor_view<const u8, D>& cache,
                                      const tensor_view<const i32, D>& lists,
                                      const std::optional<tensor_view<const i32, D>>& lengths,
                                      const shape& queries) {
  using line = kernels::latent_cache;
  const bool is_dense = cache.rank() == 4 && cache.size(2) == 1 && cache.size(3) == line::bytes &&
                        (cache.empty() || (cache.stride(3) == 1 &&
                                           (cache.size(1) == 1 || cache.stride(1) == line::bytes)));
  const bool is_flat = cache.rank() == 2 && cache.size(1) % line::bytes == 0 &&
                       (cache.empty() || cache.stride(1) == 1);
  if (!is_dense && !is_flat) [[unlikely]]
    raise(errc::shape_mismatch, op, "a cache [pages, page, 1, 584] of pages in one line",
          to_string(cache.shape_of()));
  const auto is_odd = [](auto x) { return (x & 1) != 0; };
  if (is_odd(reinterpret_cast<std::uintptr_t>(cache.data())) || is_odd(cache.stride(0)))
      [[unlikely]]
    raise(errc::invalid_argument, op, "pages of a cache at even bytes", "odd ones");
  if (lists.rank() != 3 || lists.size(0) != queries[0] || lists.size(1) != queries[1]) [[unlikely]]
    raise(errc::shape_mismatch, op, "indices [batch, queries, count]", to_string(lists.shape_of()));
  if (lengths) check_sizes(op, *lengths, {queries[0]}, "topk_length");
  return {cache.data(),
          cache.size(0),
          is_flat ? cache.size(1) / line::bytes : cache.size(1),
          cache.stride(0),
          lists.data(),
          lists.stride(0),
          lists.stride(1),
          lists.stride(2),
          lengths ? lengths->data() : nullptr,
          lengths ? lengths->stride(0) : 0,
          lists.size(2)};
}

/// Raises if a result shares memory with what is looked up in caches of bytes.
template <class D, class Out, class Logs, class Cache>
void check_inputs_of_listed(const char* op, const Out& out, const Logs& lse, const Cache& cache,
                            const latent_attention_options<D>& options) {
  const auto separate = [&](const auto& x) {
    check_separate_output(op, x, cache);
    const auto from = [&](const auto& other) {
      if (other) check_separate_output(op, x, *other);
    };
    from(options.indices), from(options.extra_k_cache), from(options.extra_indices_in_kvcache);
    from(options.topk_length), from(options.extra_topk_length);
  };
  separate(out), separate(lse);
}

/// flash_mla_with_kvcache by lists.
template <class S, class T, class Key, class O, class C, class D>
void attend_listed(const char* op, const S& stream, const tensor_view<const T, D>& q,
                   const tensor_view<const Key, D>& cache, const tensor_view<O, D>& out,
                   const tensor_view<C, D>& lse, const latent_attention_options<D>& options) {
  if (q.rank() != 4 || options.indices->rank() != 3) [[unlikely]]
    raise(errc::shape_mismatch, op, "q of rank 4 and indices of rank 3",
          to_string(q.shape_of()) + ", " + to_string(options.indices->shape_of()));
  const auto attend = [&]<class K>(const tensor_view<const K, D>& keys,
                                   const tensor_view<const i32, D>& lists,
                                   const std::optional<tensor_view<const i32, D>>& lengths) {
    return sparse_attention_call<T, K, O, D>{.op = op,
                                             .q = q,
                                             .keys = keys,
                                             .lists = lists.unsqueeze(2),
                                             .out = out,
                                             .is_paged = true,
                                             .scale = options.softmax_scale,
                                             .lengths = lengths,
                                             .sinks = options.attn_sink,
                                             .logs = lse.transpose(1, 2)};
  };
  const bool has_more = options.extra_k_cache.has_value();
  if (has_more != options.extra_indices_in_kvcache.has_value()) [[unlikely]]
    raise(errc::invalid_argument, op, "extra_k_cache and extra_indices_in_kvcache, or neither",
          "one of them");
  if constexpr (std::is_same_v<Key, u8>) {
    using line = kernels::latent_cache;
    check_size(op, "q whose last size is", line::size, q.size(3));
    line one = latent_cache_of<D>(op, cache, *options.indices, options.topk_length, q.shape_of());
    line other{};
    if (has_more)
      other = latent_cache_of<D>(op, *options.extra_k_cache, *options.extra_indices_in_kvcache,
                                 options.extra_topk_length, q.shape_of());
    // The keys of the lists as numbers, and where they are: pages of a query each.
    const i64 batch = q.size(0), queries = q.size(1), count = one.count + other.count;
    auto keys = empty<bf16>(stream, {batch * queries, count, 1, i64{line::size}}, op);
    auto lists = empty<i32>(stream, {batch, queries, count}, op);
    const auto call = attend(tensor_view<const bf16, D>(keys.view()),
                             tensor_view<const i32, D>(lists.view()), std::nullopt);
    call.check();
    for (const auto& x : {one, other})
      if (x.count > 0 && x.pages * x.page > (std::numeric_limits<i32>::max)()) [[unlikely]]
        raise(errc::invalid_argument, op, "fewer than 2^31 keys", text(x.pages * x.page));
    check_inputs_of_listed<D>(op, out, lse, cache, options);
    if (!out.empty() && count > 0)
      launch_latent_rows<S, bf16>(op, stream, batch, queries, one, other, keys.data(),
                                  lists.data());
    call.run(stream);
  } else {
    if (has_more) [[unlikely]]
      raise(errc::not_supported, op, "extra_k_cache with is_fp8_kvcache only", "another cache");
    std::optional<tensor_view<const i32, D>> lengths;
    if (options.topk_length) {
      check_sizes(op, *options.topk_length, {q.size(0)}, "topk_length");
      lengths = options.topk_length->unsqueeze(1).expand({q.size(0), q.size(1)});
    }
    attend(cache, *options.indices, lengths).run(stream);
  }
}

}  // namespace detail

/// out = softmax(q * k^T / sqrt(d)) * v over latent keys in pages: key j of sequence i is line j %
/// page of page block_table[i, j / page] of blocked_k, and its first dv numbers are its value.
///
/// q [b, s_q, h_q, d], blocked_k [pages, page, h_kv, d] of one dtype, block_table [b, most pages]
/// and cache_seqlens [b], the keys of each sequence, of i32; out [b, s_q, h_q, dv]. h_kv divides
/// h_q. With causal, query i sees the keys up to i + keys - s_q. Any strides. max_seqlen_pad and
/// block_size need not be right. A query that sees no key gives 0. out shares no memory with an
/// input. Raises shape_mismatch, overlap or, where the host can read the numbers, out_of_range
/// before anything is written; elsewhere wrong numbers read nothing outside the cache.
/// flag_gems::flash_mla(Tensor q, Tensor block_table, Tensor blocked_k, int max_seqlen_pad, int
/// block_size, int b, int s_q, Tensor cache_seqlens, int h_q, int h_kv, int d, int dv, bool causal)
template <stream_like S, tensor_like Q, tensor_like Table, tensor_like K, tensor_like Lengths,
          tensor_like Out>
void flash_mla(const S& stream, const Q& q, const Table& block_table, const K& blocked_k,
               [[maybe_unused]] i64 max_seqlen_pad, [[maybe_unused]] i64 block_size, i64 b, i64 s_q,
               const Lengths& cache_seqlens, i64 h_q, i64 h_kv, i64 d, i64 dv, bool causal,
               Out&& out) {
  same_device<S, Q, Table, K, Lengths, Out>();
  constexpr const char* op = "flash_mla";
  using T = value_t<const Q&>;
  using D = device_of<S>;
  detail::check_sizes(op, as_view(q), {b, s_q, h_q, d}, "q");
  const tensor_view<const value_t<const K&>, D> cache = as_view(blocked_k);
  if (cache.rank() == 4) {
    detail::check_size(op, "a blocked_k whose heads are", h_kv, cache.size(2));
    detail::check_size(op, "a blocked_k whose last size is", d, cache.size(3));
  }
  detail::attend_pages<S, T, value_t<const K&>, value_t<Out>, attention_log_type<T>, D>(
      op, stream, as_view(q), cache, dv, as_view(block_table), as_view(cache_seqlens), as_view(out),
      std::nullopt, causal, std::nullopt);
}
/// The same in a new tensor of q's dtype.
template <stream_like S, tensor_like Q, tensor_like Table, tensor_like K, tensor_like Lengths>
[[nodiscard]] auto flash_mla(const S& stream, const Q& q, const Table& block_table,
                             const K& blocked_k, i64 max_seqlen_pad, i64 block_size, i64 b, i64 s_q,
                             const Lengths& cache_seqlens, i64 h_q, i64 h_kv, i64 d, i64 dv,
                             bool causal) {
  constexpr const char* op = "flash_mla";
  for (const i64 n : {b, s_q, h_q, dv})
    if (n < 0) [[unlikely]]
      raise(errc::invalid_argument, op, "sizes of 0 or more", detail::text(n));
  auto out = empty<value_t<const Q&>>(stream, {b, s_q, h_q, dv}, op);
  flash_mla(stream, q, block_table, blocked_k, max_seqlen_pad, block_size, b, s_q, cache_seqlens,
            h_q, h_kv, d, dv, causal, out);
  return out;
}

/// Attention over latent keys in pages, and the logarithms of the sums of exponentials: of all keys
/// of a sequence, or of those that `options.indices` lists for each query.
///
/// q [batch, queries, heads, e]; k_cache [pages, page, key heads, e], the first head_dim_v numbers
/// of each line being the value; out [batch, queries, heads, head_dim_v], lse [batch, heads,
/// queries] of f32, f64 for f64. Without lists as flash_mla, by block_table [batch, most pages] and
/// cache_seqlens [batch] of i32. With lists [batch, queries, count], number n is line n % page of
/// page n / page, and what is below 0 or in no page is of no key; block_table, cache_seqlens and
/// causal then have no effect, and there is one key head. With is_fp8_kvcache, and lists, k_cache
/// is of u8, [pages, page, 1, 584] or a line a page: of each key 448 numbers of f8e4m3 and 64 of
/// bf16, and behind those of the page 8 bytes of each, 7 of them exponents of scales of 64 numbers,
/// plus 127; e and head_dim_v are 512. A sink changes out alone. A query that sees no key gives 0,
/// and -inf as its logarithm. The plans of other libraries, tile_scheduler_metadata and num_splits,
/// have no effect. Raises as flash_mla does, invalid_argument and not_supported.
/// flag_gems::flash_mla_with_kvcache(Tensor q, Tensor k_cache, Tensor? block_table, Tensor?
/// cache_seqlens, int head_dim_v, Tensor? tile_scheduler_metadata, Tensor? num_splits=None, ...)
template <stream_like S, tensor_like Q, tensor_like K, optional_tensor Table,
          optional_tensor Lengths, tensor_like Out, tensor_like Logs>
void flash_mla_with_kvcache(const S& stream, const Q& q, const K& k_cache, const Table& block_table,
                            const Lengths& cache_seqlens, i64 head_dim_v, Out&& out, Logs&& lse,
                            const latent_attention_options<device_of<S>>& options = {}) {
  same_device<S, Q, K, Out, Logs>();
  constexpr const char* op = "flash_mla_with_kvcache";
  using T = value_t<const Q&>;
  using Key = value_t<const K&>;
  using O = value_t<Out>;
  using D = device_of<S>;
  using C = attention_log_type<T>;
  const tensor_view<const T, D> from = as_view(q);
  const tensor_view<O, D> to = as_view(out);
  const tensor_view<C, D> logs = as_view(lse);
  if (options.is_fp8_kvcache != std::is_same_v<Key, u8>) [[unlikely]]
    raise(errc::invalid_argument, op, "a cache of u8 if is_fp8_kvcache, and only then",
          to_string(dtype_of<Key>));
  if (to.rank() != 4 || to.size(3) != head_dim_v) [[unlikely]]
    raise(errc::shape_mismatch, op, "an out of rank 4 of head_dim_v numbers",
          to_string(to.shape_of()));
  if (from.rank() == 4)
    detail::check_sizes(op, logs, {from.size(0), from.size(2), from.size(1)}, "lse");
  if (options.indices)
    return detail::attend_listed<S, T, Key, O, C, D>(op, stream, from, as_view(k_cache), to, logs,
                                                     options);
  const auto table = detail::optional_view<i32, D>(block_table);
  const auto lengths = detail::optional_view<i32, D>(cache_seqlens);
  if (!table || !lengths) [[unlikely]]
    raise(errc::invalid_argument, op, "block_table and cache_seqlens, or indices", "neither");
  if (options.attn_sink || options.topk_length || options.extra_k_cache) [[unlikely]]
    raise(errc::not_supported, op, "attn_sink, topk_length and extra_k_cache with indices only",
          "no indices");
  if constexpr (std::is_same_v<Key, u8>)
    raise(errc::not_supported, op, "is_fp8_kvcache with indices only", "no indices");
  else
    detail::attend_pages<S, T, Key, O, C, D>(op, stream, from, as_view(k_cache), head_dim_v, *table,
                                             *lengths, to, std::optional(logs), options.causal,
                                             options.softmax_scale);
}
/// The same in new tensors, of q's dtype and of f32 or f64.
template <stream_like S, tensor_like Q, tensor_like K, optional_tensor Table,
          optional_tensor Lengths>
[[nodiscard]] auto flash_mla_with_kvcache(
    const S& stream, const Q& q, const K& k_cache, const Table& block_table,
    const Lengths& cache_seqlens, i64 head_dim_v,
    const latent_attention_options<device_of<S>>& options = {}) {
  constexpr const char* op = "flash_mla_with_kvcache";
  using T = value_t<const Q&>;
  const auto from = as_view(q);
  if (from.rank() != 4 || head_dim_v < 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "q of rank 4, and values of 0 numbers or more",
          to_string(from.shape_of()) + ", " + detail::text(head_dim_v));
  std::pair r(empty<T>(stream, {from.size(0), from.size(1), from.size(2), head_dim_v}, op),
              empty<attention_log_type<T>>(stream, {from.size(0), from.size(2), from.size(1)}, op));
  flash_mla_with_kvcache(stream, q, k_cache, block_table, cache_seqlens, head_dim_v, r.first,
                         r.second, options);
  return r;
}

/// Attention in which each query lists its keys: out = softmax(sm_scale * q * k^T) * v over them,
/// the largest scores, and the logarithms of the sums of exponentials.
///
/// q [queries, heads, e]; kv [n, key heads, e], the first d_v numbers of each line being the value;
/// indices [queries, key heads, count] of i32; topk_length [queries], if given, says how many of a
/// query's count; out [queries, heads, d_v], max_logits and lse [queries, heads] of f32, f64 for
/// f64. An index below 0, or not below n, is of no key; one that stands twice counts twice. exp of
/// attn_sink [heads], of f32, is added to the sum that out is divided by, and changes nothing else.
/// A query that sees no key gives 0, -inf and, as its logarithm, inf. Raises shape_mismatch or
/// overlap before anything is written.
/// flag_gems::flash_mla_sparse_fwd(Tensor q, Tensor kv, Tensor indices, float sm_scale, int
/// d_v=512, Tensor? attn_sink=None, Tensor? topk_length=None)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Lists,
          optional_tensor Sink = std::nullopt_t, optional_tensor Lengths = std::nullopt_t>
[[nodiscard]] auto flash_mla_sparse_fwd(const S& stream, const Q& q, const K& kv,
                                        const Lists& indices, f64 sm_scale, i64 d_v = 512,
                                        const Sink& attn_sink = std::nullopt,
                                        const Lengths& topk_length = std::nullopt) {
  same_device<S, Q, K, Lists>();
  constexpr const char* op = "flash_mla_sparse_fwd";
  using T = value_t<const Q&>;
  using D = device_of<S>;
  using C = attention_log_type<T>;
  const tensor_view<const T, D> from = as_view(q);
  if (from.rank() != 3 || as_view(kv).rank() != 3 || as_view(indices).rank() != 3 || d_v < 0)
      [[unlikely]]
    raise(errc::shape_mismatch, op, "q, kv and indices of rank 3",
          to_string(from.shape_of()) + ", " + to_string(as_view(kv).shape_of()) + ", " +
              to_string(as_view(indices).shape_of()));
  sparse_attention_results<T, D> r{empty<T>(stream, {from.size(0), from.size(1), d_v}, op),
                                   empty<C>(stream, {from.size(0), from.size(1)}, op),
                                   empty<C>(stream, {from.size(0), from.size(1)}, op)};
  auto lengths = detail::optional_view<i32, D>(topk_length);
  if (lengths) lengths = lengths->unsqueeze(0);
  detail::sparse_attention_call<T, value_t<const K&>, T, D>{
      .op = op,
      .q = from.unsqueeze(0),
      .keys = as_view(kv).unsqueeze(0),
      .lists = as_view(indices).unsqueeze(0),
      .out = r.out.view().unsqueeze(0),
      .scale = sm_scale,
      .lengths = lengths,
      .sinks = detail::optional_view<f32, D>(attn_sink),
      .largest = r.max_logits.view().unsqueeze(0),
      .logs = r.lse.view().unsqueeze(0),
      .log_of_none = std::numeric_limits<C>::infinity()}
      .run(stream);
  return r;
}

/// Causal attention in which each query lists its keys, and the logarithms to base 2 of the sums of
/// exponentials.
///
/// q [batch, queries, heads, e]; kv [batch, n, key heads, e], the first d_v numbers of each line
/// being the value; indices [batch, queries, key heads, count] of i32; out [batch, queries, heads,
/// d_v], lse [batch, queries, heads] of q's dtype. Of its list, query i sees the keys up to i. A
/// sm_scale that is absent is 1 / sqrt(e). Else as flash_mla_sparse_fwd; a query that sees no key
/// gives 0 and -inf. flag_gems::triton_sparse_mla_fwd_interface(Tensor q, Tensor kv, Tensor
/// indices, float? sm_scale=None, bool return_p_sum=False, int d_v=512)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Lists>
[[nodiscard]] auto triton_sparse_mla_fwd_interface(const S& stream, const Q& q, const K& kv,
                                                   const Lists& indices,
                                                   std::optional<f64> sm_scale = {},
                                                   i64 d_v = 512) {
  same_device<S, Q, K, Lists>();
  constexpr const char* op = "triton_sparse_mla_fwd_interface";
  using T = value_t<const Q&>;
  using D = device_of<S>;
  using C = attention_log_type<T>;
  const tensor_view<const T, D> from = as_view(q);
  if (from.rank() != 4 || d_v < 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "q of rank 4, and values of 0 numbers or more",
          to_string(from.shape_of()) + ", " + detail::text(d_v));
  const shape rows{from.size(0), from.size(1), from.size(2)};
  std::pair r(empty<T>(stream, {rows[0], rows[1], rows[2], d_v}, op), empty<T>(stream, rows, op));
  auto logs = empty<C>(stream, rows, op);
  detail::sparse_attention_call<T, value_t<const K&>, T, D>{.op = op,
                                                            .q = from,
                                                            .keys = as_view(kv),
                                                            .lists = as_view(indices),
                                                            .out = r.first.view(),
                                                            .is_causal = true,
                                                            .scale = sm_scale,
                                                            .logs = logs.view()}
      .run(stream);
  constexpr C to_base_two = C(1.44269504088896340736);
  detail::assign_node(op, stream, r.second.view(), cast<T>(mul(logs, to_base_two)).node);
  return r;
}

/// out = softmax(softmax_scale * q * kv^T) * kv over the keys that each query lists, with a sink of
/// each head.
///
/// q, out [batch, queries, heads, e]; kv [batch, n, e]; attn_sink [heads] of f32; topk_idxs [batch,
/// queries, count] of i32. As flash_mla_sparse_fwd, with one key head whose lines are the values.
/// flag_gems::sparse_attn_triton(Tensor q, Tensor kv, Tensor attn_sink, Tensor topk_idxs, float
/// softmax_scale)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Sink, tensor_like Lists,
          tensor_like Out>
void sparse_attn_triton(const S& stream, const Q& q, const K& kv, const Sink& attn_sink,
                        const Lists& topk_idxs, f64 softmax_scale, Out&& out) {
  same_device<S, Q, K, Sink, Lists, Out>();
  constexpr const char* op = "sparse_attn_triton";
  if (as_view(kv).rank() != 3 || as_view(topk_idxs).rank() != 3) [[unlikely]]
    raise(errc::shape_mismatch, op, "kv and topk_idxs of rank 3",
          to_string(as_view(kv).shape_of()) + ", " + to_string(as_view(topk_idxs).shape_of()));
  detail::sparse_attention_call<value_t<const Q&>, value_t<const K&>, value_t<Out>, device_of<S>>{
      .op = op,
      .q = as_view(q),
      .keys = as_view(kv).unsqueeze(2),
      .lists = as_view(topk_idxs).unsqueeze(2),
      .out = as_view(out),
      .scale = softmax_scale,
      .sinks = as_view(attn_sink)}
      .run(stream);
}
/// The same in a new tensor of q's dtype.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Sink, tensor_like Lists>
[[nodiscard]] auto sparse_attn_triton(const S& stream, const Q& q, const K& kv,
                                      const Sink& attn_sink, const Lists& topk_idxs,
                                      f64 softmax_scale) {
  auto out = empty<value_t<const Q&>>(stream, as_view(q).sizes(), "sparse_attn_triton");
  sparse_attn_triton(stream, q, kv, attn_sink, topk_idxs, softmax_scale, out);
  return out;
}

}  // namespace flaggems
