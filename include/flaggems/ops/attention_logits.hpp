// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The logits by which an indexer chooses the keys that sparse attention looks at, and plans of work
// as servers of models ask for them. Logits are one product of all heads and keys, which matrix
// units compute, and a sum over heads; rows go in turns, so that scores stay in the cache.
// DeepSeek-AI: DeepSeek-V3.2, 2025 (the lightning indexer).
#pragma once

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/attention/logits.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

#include <limits>
#include <optional>

namespace flaggems {

namespace operators {
struct get_paged_mqa_logits_metadata;
struct get_scheduler_metadata;
}  // namespace operators

/// The options of get_scheduler_metadata on a device: those of FlagGems that change a plan.
template <class Device>
struct scheduler_options {
  using numbers = std::optional<tensor_view<const i32, Device>>;
  numbers cu_seqlens_q{};      ///< [sequences + 1]: where the queries of each begin
  numbers cu_seqlens_k_new{};  ///< [sequences + 1]: where new keys of each begin
  numbers seqused_q{};         ///< [sequences]: queries of each
  numbers leftpad_k{};         ///< [sequences]: keys before a sequence's first
  i64 max_seqlen_k_new = 0;    ///< new keys of each, where cu_seqlens_k_new does not say it
  i64 num_splits = 0;          ///< parts at most; 0: as many as pay
  bool pack_gqa = true;        ///< heads that share keys are rows of one tile
  i64 sm_margin = 0;           ///< units that others need
};

namespace detail {

/// Bytes of scores and of keys that are in memory at a time.
inline constexpr i64 logit_bytes = i64{64} << 20;

/// What is outside the bounds of logits.
inline f32 hidden_logit(bool is_clean) {
  return is_clean ? -std::numeric_limits<f32>::infinity() : 0.0F;
}

/// out[b, i, j] = sum over heads of relu(q[b, i, head] k[b, j] * scales[b, j]) * weights[b, i,
/// head], for q [b, rows, heads, size], k [b, n, size], out [b, rows, n].
template <class S, class T, class D, class Scales>
void sum_logits(const char* op, const S& stream, const tensor_view<const T, D>& q,
                const tensor_view<const T, D>& k, const Scales& scales,
                const tensor_view<const f32, D>& weights, const tensor_view<f32, D>& out) {
  if (out.empty()) return;
  const i64 rows = q.size(1), heads = q.size(2), n = k.size(1);
  const i64 at_once = kernels::max_of(
      i64{1},
      kernels::min_of(rows, logit_bytes / 4 / kernels::max_of(heads * n * q.size(0), i64{1})));
  auto memory = empty<f32>(stream, {q.size(0), at_once, heads, n}, op);
  for (i64 first = 0; first < rows; first += at_once) {
    const i64 some = kernels::min_of(at_once, rows - first);
    const auto scores = memory.view().narrow(1, 0, some);
    const auto from = q.narrow(1, first, some);
    if (some == 1 || q.stride(1) == heads * q.stride(2))  // all heads of all rows are one matrix
      gemm(op, stream, from.flatten(1, 2), k, scores.flatten(1, 2), no_bias_view{}, 1, 0, nullptr);
    else
      gemm(op, stream, from, k.unsqueeze(1).expand({q.size(0), some, n, q.size(3)}), scores,
           no_bias_view{}, 1, 0, nullptr);
    const auto by = weights.narrow(1, first, some).unsqueeze(3);
    const i64 dim = 2;
    const auto add_up = [&](const auto& x) {
      reduce_values<operators::sum, kernels::sum_of, f32>(
          op, stream, mul(relu(x), by), out.narrow(1, first, some), int_list(&dim, 1), false,
          reduction_result::total);
    };
    if constexpr (std::is_same_v<Scales, std::nullopt_t>)
      add_up(scores);
    else
      add_up(mul(scores, scales.unsqueeze(1).unsqueeze(1)));
  }
}

/// Logits of rows [rows, n] are hidden outside of [starts, ends), which are [rows].
template <class S, class D>
void hide_logits(const char* op, const S& stream, const tensor_view<f32, D>& out,
                 const std::optional<tensor_view<const i32, D>>& starts,
                 const tensor_view<const i32, D>& ends, f32 hidden) {
  if (out.empty()) return;
  const auto at = arange<i32>(stream, 0, out.size(1));
  const auto shown = where(lt(at, ends.unsqueeze(1)), out, hidden);
  if (starts)
    assign_node(op, stream, out, where(lt(at, starts->unsqueeze(1)), hidden, shown).node);
  else
    assign_node(op, stream, out, shown.node);
}

/// Numbers of f8e4m3 or, if `scales` are given, of e2m1 in bytes, [..., heads, size], as bf16,
/// which holds them exactly.
template <class S, class D>
tensor<bf16, D> decoded(const char* op, const S& stream, const tensor_view<const f8e4m3, D>& q,
                        const std::optional<tensor_view<const i32, D>>& scales) {
  if (scales) [[unlikely]]
    raise(errc::invalid_argument, op, "q of bytes if there is a q_scale, and only then", "f8e4m3");
  auto r = empty<bf16>(stream, q.sizes(), op);
  copy_into(op, stream, r.view(), q);
  return r;
}
template <class S, class D>
tensor<bf16, D> decoded(const char* op, const S& stream, const tensor_view<const u8, D>& q,
                        const std::optional<tensor_view<const i32, D>>& scales) {
  if (!scales) [[unlikely]]
    raise(errc::invalid_argument, op, "q of bytes if there is a q_scale, and only then", "u8");
  const i64 bytes = q.size(-1);
  if (bytes > 64) [[unlikely]]  // limit: a number of 32 bits has four exponents
    raise(errc::shape_mismatch, op, "at most 128 numbers of e2m1 a head", text(2 * bytes));
  shape heads = q.shape_of();
  heads.erase(heads.rank() - 1);
  check_sizes(op, *scales, heads, "q_scale");
  shape sizes = q.shape_of();
  sizes[sizes.rank() - 1] = 2 * bytes;
  auto r = empty<bf16>(stream, sizes, op);
  tensor<u8, D> own_q;
  tensor<i32, D> own_scales;
  launch_e2m1_lines<S, bf16>(op, stream, heads.numel(), bytes, as_row(op, stream, q, own_q).data(),
                             as_row(op, stream, *scales, own_scales).data(), r.data());
  return r;
}
template <class Q>
inline constexpr i64 numbers_of_element = std::is_same_v<value_t<const Q&>, u8> ? 2 : 1;

/// The logits of queries over keys in one piece; k [n, size], scales [n].
template <class S, class Q, class D>
void dense_logits(const char* op, const S& stream, const tensor_view<const Q, D>& q,
                  const std::optional<tensor_view<const i32, D>>& q_scale,
                  const tensor_view<const f8e4m3, D>& k, const tensor_view<const f32, D>& scales,
                  const tensor_view<const f32, D>& weights, const tensor_view<const i32, D>& starts,
                  const tensor_view<const i32, D>& ends, bool is_clean,
                  const tensor_view<f32, D>& out) {
  if (q.rank() != 3 || k.rank() != 2) [[unlikely]]
    raise(errc::shape_mismatch, op, "q of rank 3 and keys of rank 2",
          to_string(q.shape_of()) + ", " + to_string(k.shape_of()));
  const i64 rows = q.size(0), n = k.size(0);
  check_size(op, "keys whose last size is", q.size(2) * (std::is_same_v<Q, u8> ? 2 : 1), k.size(1));
  check_sizes(op, scales, {n}, "scales of keys");
  check_sizes(op, weights, {rows, q.size(1)}, "weights");
  check_sizes(op, starts, {rows}, "cu_seqlen_ks");
  check_sizes(op, ends, {rows}, "cu_seqlen_ke");
  check_sizes(op, out, {rows, n});
  check_separate_output(op, out, q, k, scales, weights, starts, ends);
  if (q_scale) check_separate_output(op, out, *q_scale);
  const auto queries = decoded<S, D>(op, stream, q, q_scale);
  const auto keys = decoded<S, D>(op, stream, k, std::nullopt);
  sum_logits<S, bf16, D>(op, stream, queries.view().unsqueeze(0), keys.view().unsqueeze(0),
                         scales.unsqueeze(0), weights.unsqueeze(0), out.unsqueeze(0));
  if (is_clean) hide_logits<S, D>(op, stream, out, starts, ends, hidden_logit(true));
}

/// A paged cache of T without scales, [pages, page, 1, size].
template <class T, class D>
kernels::paged_lines<T> lines_of(const char* op, const tensor_view<const T, D>& cache, i64 size) {
  if (cache.rank() != 4 || cache.size(2) != 1 || cache.size(3) != size) [[unlikely]]
    raise(errc::shape_mismatch, op, "a cache [pages, page, 1, " + text(size) + "]",
          to_string(cache.shape_of()));
  return {cache.data(),
          cache.stride(0),
          cache.stride(1),
          cache.stride(3),
          nullptr,
          0,
          0,
          nullptr,
          0,
          0,
          cache.size(0),
          cache.size(1),
          size};
}
/// One of bytes, [pages, page, 1, size + 4]: numbers of f8e4m3, and a scale behind each line or,
/// `in_pages`, all scales of a page behind its lines.
template <class D>
kernels::paged_lines<f8e4m3> lines_of_bytes(const char* op, const tensor_view<const u8, D>& cache,
                                            i64 size, bool in_pages) {
  if (cache.rank() != 4 || cache.size(2) != 1 || cache.size(3) != size + 4 ||
      (!cache.empty() &&
       (cache.stride(3) != 1 || (in_pages && cache.size(1) > 1 && cache.stride(1) != size + 4))))
      [[unlikely]]
    raise(errc::shape_mismatch, op,
          "a cache [pages, page, 1, " + text(size + 4) + "] of lines without gaps",
          to_string(cache.shape_of()));
  const auto* const first = reinterpret_cast<const f8e4m3*>(cache.data());
  const i64 page = cache.size(1);
  if (in_pages)
    return {first,
            cache.stride(0),
            size,
            1,
            cache.data() + page * size,
            cache.stride(0),
            4,
            nullptr,
            0,
            0,
            cache.size(0),
            page,
            size};
  return {first,
          cache.stride(0),
          cache.stride(1),
          1,
          cache.data() + size,
          cache.stride(0),
          cache.stride(1),
          nullptr,
          0,
          0,
          cache.size(0),
          page,
          size};
}

/// The logits of queries q [sequences, queries, heads, size] of T over the lines of a cache.
template <class S, class T, class From, class D>
void paged_logits(const char* op, const S& stream, const tensor_view<const T, D>& q,
                  kernels::paged_lines<From> lines, const tensor_view<const f32, D>& weights,
                  const tensor_view<const i32, D>& lengths, const tensor_view<const i32, D>& table,
                  bool is_clean, const tensor_view<f32, D>& out) {
  const i64 sequences = q.size(0), queries = q.size(1), heads = q.size(2), size = q.size(3);
  const f32 hidden = hidden_logit(is_clean);
  if (table.rank() != 2 || table.size(0) != sequences) [[unlikely]]
    raise(errc::shape_mismatch, op, "a block table [" + text(sequences) + ", pages]",
          to_string(table.shape_of()));
  check_sizes(op, weights, {sequences * queries, heads}, "weights");
  const bool is_of_all = lengths.rank() == 1;
  check_sizes(op, lengths, is_of_all ? shape{sequences} : shape{sequences, queries},
              "context_lens");
  if (out.rank() != 2 || out.size(0) != sequences * queries) [[unlikely]]
    raise(errc::shape_mismatch, op, "logits [" + text(sequences * queries) + ", most keys]",
          to_string(out.shape_of()));
  check_separate_output(op, out, q, weights, lengths, table);
  if (out.empty()) return;
  // The keys before which each row's end: of one length for all, the last query sees all of it.
  auto memory = empty<i32>(stream, {sequences, queries}, op);
  if (is_of_all) {
    const auto behind = arange<i32>(stream, 1 - queries, 1);
    assign_node(op, stream, memory.view(), add(lengths.unsqueeze(1), behind).node);
  } else {
    copy_into(op, stream, memory.view(), lengths);
  }
  const tensor_view<const i32, D> ends = memory.view().view({sequences * queries});
  const i64 n = lines.page == 0 || lines.pages == 0
                    ? 0
                    : kernels::min_of(out.size(1), table.size(1) * lines.page);
  if (n < out.size(1)) fill(op, stream, out.narrow(1, n, out.size(1) - n), hidden);
  if (n == 0) return;
  lines.table_row = table.stride(0);
  lines.table_step = table.stride(1);
  const i64 bytes = n * (size * i64{sizeof(T)} + heads * queries * 4);
  const i64 at_once = kernels::max_of(
      i64{1}, kernels::min_of(sequences, logit_bytes / kernels::max_of(bytes, i64{1})));
  const bool has_scales = lines.scales != nullptr;
  auto keys = empty<T>(stream, {at_once, n, size}, op);
  auto scales = empty<f32>(stream, {has_scales ? at_once : 0, n}, op);
  for (i64 first = 0; first < sequences; first += at_once) {
    const i64 some = kernels::min_of(at_once, sequences - first);
    lines.table = table.data() + first * table.stride(0);
    launch_paged_lines<S, From, T>(op, stream, some, n, lines, keys.data(), scales.data());
    const tensor_view<const T, D> own = keys.view().narrow(0, 0, some);
    const auto by =
        weights.narrow(0, first * queries, some * queries).unflatten(0, {some, queries});
    const auto to = out.narrow(0, first * queries, some * queries)
                        .narrow(1, 0, n)
                        .unflatten(0, {some, queries});
    const auto from = q.narrow(0, first, some);
    if (has_scales)
      sum_logits<S, T, D>(op, stream, from, own,
                          tensor_view<const f32, D>(scales.view().narrow(0, 0, some)), by, to);
    else
      sum_logits<S, T, D>(op, stream, from, own, std::nullopt, by, to);
  }
  hide_logits<S, D>(op, stream, out.narrow(1, 0, n), std::nullopt, ends, hidden);
}

template <class Q>
void check_rank_of_queries(const char* op, const Q& q) {
  if (q.rank() != 4) [[unlikely]]
    raise(errc::shape_mismatch, op, "q [sequences, queries, heads, size]", to_string(q.shape_of()));
}
inline void check_logits(const char* op, i64 most) {
  if (most < 0 || most > (std::numeric_limits<i32>::max)()) [[unlikely]]
    raise(errc::invalid_argument, op, "from 0 to 2^31 - 1 keys", text(most));
}

}  // namespace detail

/// logits[m, n] = sum over heads of relu(q[m, head] k[n] * k_scales[n]) * weights[m, head].
///
/// q [rows, heads, size] and k [keys, size] of f8e4m3; k_scales [keys] and weights [rows, heads] of
/// f32; cu_seqlen_ks and cu_seqlen_ke [rows] of i32; logits [rows, keys] of f32. With clean_logits
/// the keys of row m outside of [cu_seqlen_ks[m], cu_seqlen_ke[m]) have -inf. Any strides. Products
/// are exact, sums in f32. logits shares no memory with an input. Raises shape_mismatch or overlap
/// before anything is written.
/// flag_gems::fp8_mqa_logits(Tensor q, (Tensor, Tensor) kv, Tensor weights, Tensor cu_seqlen_ks,
/// Tensor cu_seqlen_ke, bool clean_logits)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Scales, tensor_like W,
          tensor_like Starts, tensor_like Ends, tensor_like Out>
void fp8_mqa_logits(const S& stream, const Q& q, const K& k, const Scales& k_scales,
                    const W& weights, const Starts& cu_seqlen_ks, const Ends& cu_seqlen_ke,
                    Out&& logits, bool clean_logits) {
  same_device<S, Q, K, Scales, W, Starts, Ends, Out>();
  detail::dense_logits<S, f8e4m3, device_of<S>>("fp8_mqa_logits", stream, as_view(q), std::nullopt,
                                                as_view(k), as_view(k_scales), as_view(weights),
                                                as_view(cu_seqlen_ks), as_view(cu_seqlen_ke),
                                                clean_logits, as_view(logits));
}
/// The same in a new tensor.
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Scales, tensor_like W,
          tensor_like Starts, tensor_like Ends>
[[nodiscard]] auto fp8_mqa_logits(const S& stream, const Q& q, const K& k, const Scales& k_scales,
                                  const W& weights, const Starts& cu_seqlen_ks,
                                  const Ends& cu_seqlen_ke, bool clean_logits) {
  constexpr const char* op = "fp8_mqa_logits";
  if (as_view(q).rank() != 3 || as_view(k).rank() != 2) [[unlikely]]
    raise(errc::shape_mismatch, op, "q of rank 3 and keys of rank 2",
          to_string(as_view(q).shape_of()) + ", " + to_string(as_view(k).shape_of()));
  auto logits = empty<f32>(stream, {as_view(q).size(0), as_view(k).size(0)}, op);
  fp8_mqa_logits(stream, q, k, k_scales, weights, cu_seqlen_ks, cu_seqlen_ke, logits, clean_logits);
  return logits;
}

/// fp8_mqa_logits, whose queries may be of four bits.
///
/// With q_scale, q [rows, heads, size / 2] is of u8: two numbers of e2m1 a byte, the first in its
/// low bits; size is at most 128, and byte k of q_scale [rows, heads], of i32, is the exponent,
/// plus 127, of the scale of numbers 32 k to 32 k + 31. flag_gems::fp8_fp4_mqa_logits((Tensor,
/// Tensor?) q, (Tensor, Tensor) kv, Tensor weights, Tensor cu_seqlen_ks, Tensor cu_seqlen_ke, bool
/// clean_logits=True)
template <stream_like S, tensor_like Q, optional_tensor QScale, tensor_like K, tensor_like Scales,
          tensor_like W, tensor_like Starts, tensor_like Ends>
[[nodiscard]] auto fp8_fp4_mqa_logits(const S& stream, const Q& q, const QScale& q_scale,
                                      const K& k, const Scales& k_scales, const W& weights,
                                      const Starts& cu_seqlen_ks, const Ends& cu_seqlen_ke,
                                      bool clean_logits = true) {
  same_device<S, Q, K, Scales, W, Starts, Ends>();
  constexpr const char* op = "fp8_fp4_mqa_logits";
  if (as_view(q).rank() != 3 || as_view(k).rank() != 2) [[unlikely]]
    raise(errc::shape_mismatch, op, "q of rank 3 and keys of rank 2",
          to_string(as_view(q).shape_of()) + ", " + to_string(as_view(k).shape_of()));
  auto logits = empty<f32>(stream, {as_view(q).size(0), as_view(k).size(0)}, op);
  detail::dense_logits<S, value_t<const Q&>, device_of<S>>(
      op, stream, as_view(q), detail::optional_view<i32, device_of<S>>(q_scale), as_view(k),
      as_view(k_scales), as_view(weights), as_view(cu_seqlen_ks), as_view(cu_seqlen_ke),
      clean_logits, logits.view());
  return logits;
}

/// logits[b * queries + i, j] = sum over heads of relu(q[b, i, head] k[b, j]) * weights[b * queries
/// + i, head], where key j of sequence b is line j % page of page block_table[b, j / page].
///
/// q [sequences, queries, heads, size] and kv_cache [pages, page, 1, size] of one dtype; weights
/// [sequences * queries, heads] of f32; block_table [sequences, most pages] of i32; context_lens
/// [sequences, queries] of i32: how many keys each row has; or [sequences]: query i of n sees the
/// keys up to i + length - n. Behind those logits [sequences * queries, max_context_len] are
/// -inf with clean_logits, else 0. Any strides. A page that the cache does not have is 0.
/// schedule_metadata has no effect. Raises shape_mismatch or invalid_argument.
/// flag_gems::bf16_paged_mqa_logits(Tensor q, Tensor kv_cache, Tensor weights, Tensor context_lens,
/// Tensor block_table, Tensor schedule_metadata, int max_context_len, bool clean_logits=False,
/// ScalarType logits_dtype=float)
template <stream_like S, tensor_like Q, tensor_like Cache, tensor_like W, tensor_like Lengths,
          tensor_like Table>
[[nodiscard]] auto bf16_paged_mqa_logits(const S& stream, const Q& q, const Cache& kv_cache,
                                         const W& weights, const Lengths& context_lens,
                                         const Table& block_table, i64 max_context_len,
                                         bool clean_logits = false) {
  same_device<S, Q, Cache, W, Lengths, Table>();
  constexpr const char* op = "bf16_paged_mqa_logits";
  using T = value_t<const Q&>;
  using D = device_of<S>;
  static_assert(std::is_same_v<T, value_t<const Cache&>> && kernels::is_floating<T> &&
                    !std::is_same_v<T, f64>,
                "flaggems: bf16_paged_mqa_logits takes q and a cache of f32, bf16 or f16");
  const tensor_view<const T, D> from = as_view(q);
  detail::check_rank_of_queries(op, from);
  detail::check_logits(op, max_context_len);
  auto logits = empty<f32>(stream, {from.size(0) * from.size(1), max_context_len}, op);
  detail::paged_logits<S, T, T, D>(
      op, stream, from, detail::lines_of<T, D>(op, as_view(kv_cache), from.size(3)),
      as_view(weights), as_view(context_lens), as_view(block_table), clean_logits, logits.view());
  return logits;
}

/// bf16_paged_mqa_logits of queries of f8e4m3 over a cache of bytes, [pages, page, 1, size + 4] of
/// u8: numbers of f8e4m3, and behind each line its scale, of f32. Behind the context logits are
/// -inf. flag_gems::fp8_paged_mqa_logits(Tensor q, Tensor kv_cache, Tensor weights, Tensor
/// context_lens, Tensor block_tables, int max_model_len)
template <stream_like S, tensor_like Q, tensor_like Cache, tensor_like W, tensor_like Lengths,
          tensor_like Table>
[[nodiscard]] auto fp8_paged_mqa_logits(const S& stream, const Q& q, const Cache& kv_cache,
                                        const W& weights, const Lengths& context_lens,
                                        const Table& block_tables, i64 max_model_len) {
  same_device<S, Q, Cache, W, Lengths, Table>();
  constexpr const char* op = "fp8_paged_mqa_logits";
  using D = device_of<S>;
  const tensor_view<const f8e4m3, D> from = as_view(q);
  detail::check_rank_of_queries(op, from);
  detail::check_logits(op, max_model_len);
  auto logits = empty<f32>(stream, {from.size(0) * from.size(1), max_model_len}, op);
  const auto lines = detail::lines_of_bytes<D>(op, as_view(kv_cache), from.size(3), false);
  const auto queries = detail::decoded<S, D>(op, stream, from, std::nullopt);
  detail::paged_logits<S, bf16, f8e4m3, D>(op, stream, queries.view(), lines, as_view(weights),
                                           as_view(context_lens), as_view(block_tables), true,
                                           logits.view());
  return logits;
}

/// fp8_paged_mqa_logits, whose queries may be of four bits, as in fp8_fp4_mqa_logits: q [sequences,
/// queries, heads, size or size / 2], q_scale [sequences, queries, heads]. The scales of a page are
/// behind all its lines. Behind the context logits are -inf with clean_logits, else 0.
/// flag_gems::fp8_fp4_paged_mqa_logits((Tensor, Tensor?) q, Tensor kv_cache, Tensor weights, Tensor
/// context_lens, Tensor block_tables, Tensor schedule_metadata, int max_model_len, bool
/// clean_logits=False)
template <stream_like S, tensor_like Q, optional_tensor QScale, tensor_like Cache, tensor_like W,
          tensor_like Lengths, tensor_like Table>
[[nodiscard]] auto fp8_fp4_paged_mqa_logits(const S& stream, const Q& q, const QScale& q_scale,
                                            const Cache& kv_cache, const W& weights,
                                            const Lengths& context_lens, const Table& block_tables,
                                            i64 max_model_len, bool clean_logits = false) {
  same_device<S, Q, Cache, W, Lengths, Table>();
  constexpr const char* op = "fp8_fp4_paged_mqa_logits";
  using D = device_of<S>;
  const tensor_view<const value_t<const Q&>, D> from = as_view(q);
  detail::check_rank_of_queries(op, from);
  detail::check_logits(op, max_model_len);
  auto logits = empty<f32>(stream, {from.size(0) * from.size(1), max_model_len}, op);
  const auto lines = detail::lines_of_bytes<D>(op, as_view(kv_cache),
                                               from.size(3) * detail::numbers_of_element<Q>, true);
  const auto queries =
      detail::decoded<S, D>(op, stream, from, detail::optional_view<i32, D>(q_scale));
  detail::paged_logits<S, bf16, f8e4m3, D>(op, stream, queries.view(), lines, as_view(weights),
                                           as_view(context_lens), as_view(block_tables),
                                           clean_logits, logits.view());
  return logits;
}

/// Where the share of each of num_sms units begins, if parts of 256 keys are shared out evenly: a
/// sequence, and a part of that.
///
/// context_lens [sequences], or [sequences, queries], where the last query's counts, of i32; the
/// result [num_sms + 1, 2] of i32, the last line being the end. block_size has no effect. Raises
/// shape_mismatch or invalid_argument.
/// flag_gems::get_paged_mqa_logits_metadata(Tensor context_lens, int block_size, int num_sms)
template <stream_like S, tensor_like Lengths>
[[nodiscard]] auto get_paged_mqa_logits_metadata(const S& stream, const Lengths& context_lens,
                                                 [[maybe_unused]] i64 block_size, i64 num_sms) {
  same_device<S, Lengths>();
  constexpr const char* op = "get_paged_mqa_logits_metadata";
  tensor_view<const i32, device_of<S>> lengths = as_view(context_lens);
  const int rank = lengths.rank();
  if (rank < 1 || rank > 2 || (rank == 2 && lengths.size(1) == 0)) [[unlikely]]
    raise(errc::shape_mismatch, op, "context_lens [sequences] or [sequences, queries]",
          to_string(lengths.shape_of()));
  if (num_sms < 1 || num_sms >= (std::numeric_limits<i32>::max)()) [[unlikely]]
    raise(errc::invalid_argument, op, "num_sms of 1 or more, below 2^31 - 1",
          detail::text(num_sms));
  if (rank == 2) lengths = lengths.select(1, lengths.size(1) - 1);
  auto plan = empty<i32>(stream, {num_sms + 1, 2}, op);
  if (detail::replaced<operators::get_paged_mqa_logits_metadata>(op, stream, lengths, num_sms,
                                                                 plan.view()))
    return plan;
  constexpr i64 part = 256;  // keys: the format's
  detail::launch_plan<kernels::share_out_parts>(op, stream, lengths.numel(), num_sms, part,
                                                lengths.data(), lengths.stride(0), plan.data(),
                                                i64{2}, i64{1});
  return plan;
}

/// A plan for attention over sequences: 0, and into how many parts the keys of each sequence are
/// split, so that none is much longer than a unit's share of the work.
///
/// seqused_k [batch_size] of i32: the keys of each; the result [1 + batch_size] of i32. Queries are
/// max_seqlen_q, or what options say. Counted are tiles of 128 rows and of 128 keys, or of 64 from
/// heads of 129 numbers on; flash_attn_varlen_func splits by itself and takes no plan. T is the
/// dtype of the operands, which changes nothing. Raises shape_mismatch or invalid_argument.
/// flag_gems::get_scheduler_metadata(int batch_size, int max_seqlen_q, int max_seqlen_k, int
/// num_heads, int num_heads_k, int headdim, int headdim_v, ScalarType qkv_dtype, Tensor seqused_k,
/// Tensor? cu_seqlens_q=None, ...)
template <class T = bf16, stream_like S, tensor_like Used>
[[nodiscard]] auto get_scheduler_metadata(const S& stream, i64 batch_size, i64 max_seqlen_q,
                                          [[maybe_unused]] i64 max_seqlen_k, i64 num_heads,
                                          i64 num_heads_k, i64 headdim, i64 headdim_v,
                                          const Used& seqused_k,
                                          const scheduler_options<device_of<S>>& options = {}) {
  same_device<S, Used>();
  constexpr const char* op = "get_scheduler_metadata";
  using D = device_of<S>;
  if (batch_size < 0 || max_seqlen_q < 0 || num_heads_k < 1 || num_heads % num_heads_k != 0)
      [[unlikely]]
    raise(errc::invalid_argument, op,
          "sizes of 0 or more, and heads that are a multiple of the keys'",
          to_string(shape{batch_size, max_seqlen_q, num_heads, num_heads_k}));
  const i64 units = detail::planned_units<S> - options.sm_margin;
  if (units < 1 || options.num_splits < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "an sm_margin that leaves units, and num_splits of 0 or more",
          detail::text(options.sm_margin));
  const auto check = [&](const auto& x, i64 n, const char* what) {
    if (x) detail::check_sizes(op, *x, {n}, what);
  };
  const std::optional<tensor_view<const i32, D>> used = as_view(seqused_k);
  check(used, batch_size, "seqused_k");
  check(options.cu_seqlens_q, batch_size + 1, "cu_seqlens_q");
  check(options.cu_seqlens_k_new, batch_size + 1, "cu_seqlens_k_new");
  check(options.seqused_q, batch_size, "seqused_q");
  check(options.leftpad_k, batch_size, "leftpad_k");
  tensor<i32, D> memory[5];
  int rows = 0;
  const auto row_of = [&](const auto& x) -> const i32* {
    return x ? detail::as_row(op, stream, *x, memory[rows++]).data() : nullptr;
  };
  auto plan = empty<i32>(stream, {1 + batch_size}, op);
  if (detail::replaced<operators::get_scheduler_metadata>(op, stream, batch_size, max_seqlen_q,
                                                          num_heads, num_heads_k, headdim,
                                                          headdim_v, *used, options, plan.view()))
    return plan;
  const bool is_wide = headdim > 128 || headdim_v > 128;
  const kernels::split_plan x{batch_size,
                              options.pack_gqa ? num_heads_k : num_heads,
                              options.pack_gqa ? num_heads / num_heads_k : 1,
                              max_seqlen_q,
                              options.max_seqlen_k_new,
                              128,
                              is_wide ? 64 : 128,
                              units,
                              options.num_splits == 0 ? 128 : options.num_splits,
                              row_of(options.cu_seqlens_q),
                              row_of(options.seqused_q),
                              row_of(used),
                              row_of(options.cu_seqlens_k_new),
                              row_of(options.leftpad_k)};
  detail::launch_plan<kernels::split_sequences>(op, stream, x, plan.data());
  return plan;
}

}  // namespace flaggems
