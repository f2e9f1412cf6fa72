// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What DeepSeek's sparse attention reads of the paged caches that latent_cache.hpp writes: gathered
// keys, and the places of what tokens attend to.
#pragma once

#include <flaggems/kernel/family/index/pages.hpp>
#include <flaggems/ops/latent_cache.hpp>
#include <flaggems/tensor/optional.hpp>

#include <limits>
#include <optional>
#include <utility>

namespace flaggems {

namespace operators {
struct cp_gather_indexer_k_quant_cache;
struct dequantize_and_gather_k_cache;
struct compute_global_topk_indices_and_lens;
struct combine_topk_swa_indices;
}  // namespace operators

namespace detail {

template <class J, class D>
kernels::whole_numbers<J> numbers_of(const tensor_view<const J, D>& v) {
  return {v.data(), v.numel() == 0 ? 1 : v.stride(0), v.numel()};
}
template <class V>
void check_vector(const char* op, const char* what, const V& v, i64 n) {
  if (v.rank() != 1 || v.size(0) != n) [[unlikely]]
    raise(errc::shape_mismatch, op, text(what) + " of " + text(n) + " elements",
          to_string(v.shape_of()));
}
/// A table [sequences, pages of a sequence] of i32, of pages of so many tokens.
template <class D>
kernels::page_table table_of(const char* op, const tensor_view<const i32, D>& table, i64 page,
                             i64 pages) {
  // (So that no sum of places in two blocks is beyond 64 bits.)
  if (table.rank() != 2 || page < 1 || page > (std::numeric_limits<i32>::max)()) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "a block_table [sequences, blocks] of blocks of 1 to 2^31 - 1 tokens",
          to_string(table.shape_of()) + " and " + text(page));
  return {table.data(), table.stride(0), table.stride(1), table.size(0), table.size(1), page,
          pages};
}

/// Launches a kernel of a tile a token.
template <class Kernel, class S, class... Args>
void launch_tokens(const char* op, const S& stream, i64 tiles, i64 each, const Args&... args) {
  if (tiles == 0) return;
  launch_config config;
  config.op = op;
  config.tiles = tiles;
  config.work = work_of(tiles, each, 4);
  config.threads = static_cast<int>(kernels::min_of(tuning<families::row, device_of<S>>::threads,
                                                    kernels::max_of(each, i64{32})));
  launch<Kernel>(stream, config, args...);
}

}  // namespace detail

/// Gathers what indexer_k_quant_and_cache keeps of the tokens of sequences: token cu_seq_lens[b] +
/// i of the outputs is token i of sequence b, which lies in block block_table[b, i / B]. Tokens
/// behind the last sequence, and those in no block, keep what is there.
///
/// k_cache [blocks, B, bytes] of u8, of each block E codes a token, then their scales; dst_k [N, E]
/// of u8 or f8e4m3; dst_scale [N, 4 E / group] of u8, or [N, E / group] of f32, contiguous rows;
/// block_table [sequences, W] and cu_seq_lens [sequences + 1] of i32. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written.
/// flag_gems::cp_gather_indexer_k_quant_cache(Tensor k_cache, Tensor(a!) k_fp8, Tensor(b!)
/// k_fp8_scale, Tensor block_table, Tensor cu_seqlen)
template <stream_like S, tensor_like Cache, tensor_like K, tensor_like Scale, tensor_like Table,
          tensor_like Starts>
void cp_gather_indexer_k_quant_cache(const S& stream, const Cache& k_cache, K&& dst_k,
                                     Scale&& dst_scale, const Table& block_table,
                                     const Starts& cu_seq_lens) {
  constexpr const char* op = "cp_gather_indexer_k_quant_cache";
  using D = device_of<S>;
  using W = value_t<Scale>;
  same_device<S, Cache, K, Scale, Table, Starts>();
  static_assert(std::is_same_v<value_t<const Cache&>, u8>, "flaggems: the cache is of bytes, u8");
  static_assert(sizeof(value_t<K>) == 1 && (std::is_same_v<W, u8> || std::is_same_v<W, f32>),
                "flaggems: codes are of one byte, scales of u8 or f32");
  const auto cache = detail::input_of(k_cache);
  const auto codes = as_view(dst_k);
  const auto scales = as_view(dst_scale);
  const tensor_view<const i32, D> pages(as_view(block_table)), starts(as_view(cu_seq_lens));
  if (cache.rank() != 3 || codes.rank() != 2 || scales.rank() != 2 ||
      scales.size(0) != codes.size(0)) [[unlikely]]
    detail::raise_shapes(op, "a cache [blocks, B, bytes] and outputs [N, E] and [N, scales]",
                         cache.shape_of(), codes.shape_of());
  const i64 size = codes.size(1), bytes = scales.size(1) * i64{sizeof(W)};
  const detail::byte_pages<D> from(
      op,
      tensor_view<u8, D>(detail::unchecked_t{}, const_cast<u8*>(cache.data()), cache.shape_of(),
                         shape(cache.strides())),
      cache.size(1), size, bytes, 1);
  const kernels::page_table table = detail::table_of(op, pages, cache.size(1), cache.size(0));
  detail::check_vector(op, "cu_seq_lens", starts, table.sequences + 1);
  if (sizeof(W) > 1 && scales.size(1) > 1 && scales.stride(1) != 1) [[unlikely]]
    raise(errc::invalid_argument, op, "scales in contiguous rows",
          "a stride of " + detail::text(scales.stride(1)));
  detail::check_separate(op, codes, cache, pages, starts);
  detail::check_separate(op, scales, cache, codes, pages, starts);
  if (codes.size(0) == 0 || detail::replaced<operators::cp_gather_indexer_k_quant_cache>(
                                op, stream, cache, codes, scales, pages, starts))
    return;
  const i64 next = from.all.stride(0), width = sizeof(W);
  detail::launch_tokens<kernels::gathered_tokens>(
      op, stream, codes.size(0), size, codes.size(0), table, detail::numbers_of(starts),
      kernels::paged_bytes{from.all.data(), next, 0, size},
      kernels::byte_rows{reinterpret_cast<u8*>(codes.data()), codes.stride(0), codes.stride(1)},
      kernels::paged_bytes{from.all.data(), next, from.page * size, bytes},
      kernels::byte_rows{reinterpret_cast<u8*>(scales.data()), scales.stride(0) * width,
                         width == 1 ? scales.stride(1) : i64{1}});
}

/// Gathers what fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert keeps of the last gather_lens[b]
/// tokens of each sequence b, of seq_lens[b] (all, where there are no gather_lens), as numbers:
/// out[b, offset + i]. The rest of out is kept.
///
/// out [at least sequences, L, at least nope_dim + rope_dim] of bf16, f16 or f32; k_cache [blocks,
/// bytes] or [blocks, block_size, bytes] of u8: of each block nope_dim codes and rope_dim numbers
/// of bf16 a token, then scale_slots bytes a token, the exponents plus 127 of the scales of each 64
/// codes; block_table [sequences, W] and gather_lens [sequences] of i32; seq_lens [sequences] of
/// i32 or i64. nope_dim is all but rope_dim of out's last dimension unless given, scale_slots
/// nope_dim / 64, rounded up, or one more if that is whole. Raises shape_mismatch, invalid_argument
/// or overlap before anything is written. flag_gems::dequantize_and_gather_k_cache(Tensor(a!) out,
/// Tensor k_cache, Tensor seq_lens, Tensor? gather_lens, Tensor block_table, int block_size, int
/// offset=0, int rope_dim=64, int? nope_dim=None, int? scale_slots=None)
template <stream_like S, tensor_like Out, tensor_like Cache, tensor_like Lengths,
          optional_tensor Gathered, tensor_like Table>
void dequantize_and_gather_k_cache(const S& stream, Out&& out, const Cache& k_cache,
                                   const Lengths& seq_lens, const Gathered& gather_lens,
                                   const Table& block_table, i64 block_size, i64 offset = 0,
                                   i64 rope_dim = 64, std::optional<i64> nope_dim = std::nullopt,
                                   std::optional<i64> scale_slots = std::nullopt) {
  constexpr const char* op = "dequantize_and_gather_k_cache";
  using T = value_t<Out>;
  using D = device_of<S>;
  constexpr i64 group = 64;  // of the cache's layout
  same_device<S, Out, Cache, Lengths, Gathered, Table>();
  static_assert(std::is_same_v<value_t<const Cache&>, u8>, "flaggems: the cache is of bytes, u8");
  if constexpr (element_type_in<detail::head_types, 1, Out>()) {
    const tensor_view<T, D> to(as_view(out));
    const auto cache = detail::input_of(k_cache);
    const tensor_view<const i32, D> pages(as_view(block_table));
    const auto ends = detail::input_of(seq_lens);
    const auto lengths = detail::optional_view<i32, D>(gather_lens);
    if (to.rank() != 3) [[unlikely]]
      detail::raise_sizes(op, "an output [sequences, tokens, E]", to.sizes());
    const bool has_room = rope_dim >= 0 && rope_dim <= to.size(2) && nope_dim.value_or(0) >= 0 &&
                          nope_dim.value_or(0) <= to.size(2) - rope_dim;
    const i64 nope = has_room ? nope_dim.value_or(to.size(2) - rope_dim) : 0;
    const i64 slots =
        scale_slots.value_or(kernels::ceil_div(nope, group) + (nope % group == 0 ? 1 : 0));
    if (!has_room || slots < kernels::ceil_div(nope, group) || offset < 0 || offset > to.size(1))
        [[unlikely]]
      raise(errc::shape_mismatch, op,
            "an output that has room for nope_dim + rope_dim elements and offset tokens, and a "
            "scale for each 64 codes",
            to_string(to.shape_of()));
    const detail::byte_pages<D> from(
        op,
        tensor_view<u8, D>(detail::unchecked_t{}, const_cast<u8*>(cache.data()), cache.shape_of(),
                           shape(cache.strides())),
        block_size, nope + 2 * rope_dim, slots, 1);
    if (((reinterpret_cast<u64>(cache.data()) | static_cast<u64>(cache.stride(0) | nope)) & 1) != 0)
        [[unlikely]]
      raise(errc::invalid_argument, op, "numbers that begin at multiples of two bytes",
            "a first page at " +
                detail::text(static_cast<i64>(reinterpret_cast<u64>(cache.data()))) + ", pages " +
                detail::text(cache.stride(0)) + " apart, numbers from byte " + detail::text(nope) +
                " on");
    const kernels::page_table table = detail::table_of(op, pages, block_size, cache.size(0));
    detail::check_vector(op, "seq_lens", ends, table.sequences);
    if (lengths) detail::check_vector(op, "gather_lens", *lengths, table.sequences);
    if (table.sequences > to.size(0)) [[unlikely]]
      raise(errc::shape_mismatch, op, "an output of all sequences", to_string(to.shape_of()));
    detail::check_separate(op, to, cache, pages, ends, lengths);
    const i64 most = to.size(1) - offset;
    if (to.empty() || most == 0 ||
        detail::replaced<operators::dequantize_and_gather_k_cache>(
            op, stream, to, cache, ends, lengths, pages, block_size, offset, rope_dim, nope, slots))
      return;
    const i64 next = from.all.stride(0);
    detail::launch_tokens<kernels::decoded_tokens<T, value_t<const Lengths&>>>(
        op, stream, table.sequences * most, nope + rope_dim, table, detail::numbers_of(ends),
        lengths ? detail::numbers_of(*lengths) : kernels::whole_numbers<i32>{},
        kernels::paged_bytes{from.all.data(), next, 0, from.token_bytes},
        kernels::paged_bytes{from.all.data(), next, from.page * from.token_bytes, slots},
        kernels::decoded_layout{nope, rope_dim, group},
        kernels::global_ptr<T>(to.data() + offset * to.stride(1)), to.stride(0), to.stride(1),
        to.stride(2), most);
  }
}

/// Where the tokens lie that topk_indices name by their places in a sequence, of token t sequence
/// token_to_req_indices[t]: block * block_size + place in the block, -1 for an index of -1; and how
/// many a token names, 0 where is_valid_token is false. In new tensors of i32.
///
/// topk_indices [N, k] of i32 or i64; token_to_req_indices [N] and block_table [sequences, W] of
/// i32; is_valid_token [N] of bool. Indices of blocks that a table does not have raise out_of_range
/// where the host can read them, and are -1 elsewhere. Raises shape_mismatch.
/// flag_gems::compute_global_topk_indices_and_lens(Tensor topk_indices, Tensor
/// token_to_req_indices, Tensor block_table, int block_size, Tensor? is_valid_token=None) ->
/// (Tensor, Tensor)
template <stream_like S, tensor_like J, tensor_like Sequences, tensor_like Table,
          optional_tensor Valid = std::nullopt_t>
[[nodiscard]] auto compute_global_topk_indices_and_lens(
    const S& stream, const J& topk_indices, const Sequences& token_to_req_indices,
    const Table& block_table, i64 block_size, const Valid& is_valid_token = std::nullopt) {
  constexpr const char* op = "compute_global_topk_indices_and_lens";
  using D = device_of<S>;
  using T = value_t<const J&>;
  same_device<S, J, Sequences, Table, Valid>();
  const auto local = detail::input_of(topk_indices);
  const tensor_view<const i32, D> pages(as_view(block_table)),
      sequences(as_view(token_to_req_indices));
  const auto valid = detail::optional_view<bool, D>(is_valid_token);
  if (local.rank() != 2) [[unlikely]]
    detail::raise_sizes(op, "topk_indices [N, k]", local.sizes());
  const i64 tokens = local.size(0), count = local.size(1);
  const kernels::page_table table =
      detail::table_of(op, pages, block_size,
                       (std::numeric_limits<i32>::max)() / kernels::max_of(block_size, i64{1}));
  detail::check_vector(op, "token_to_req_indices", sequences, tokens);
  if (valid && (valid->rank() != 1 || valid->size(0) != tokens)) [[unlikely]]
    detail::raise_other_sizes(op, {tokens}, valid->sizes());
  std::pair out(empty<i32>(stream, {tokens, count}, op), empty<i32>(stream, {tokens}, op));
  if constexpr (element_type_in<type_list<i32, i64>, 1, J>()) {
    detail::check_indices(op, stream, sequences, table.sequences);
    i64 places = 0;
    if (!detail::multiply(table.width, block_size, places))
      places = (std::numeric_limits<i64>::max)();
    detail::check_indices(op, stream, local, places, -1);
    detail::launch_tokens<kernels::global_places<T>>(
        op, stream, tokens, count, tokens, count, table, kernels::global_ptr<const T>(local.data()),
        local.stride(0), local.stride(1), detail::numbers_of(sequences),
        kernels::global_ptr<const bool>(valid ? valid->data() : nullptr),
        valid && tokens > 0 ? valid->stride(0) : i64{0}, kernels::global_ptr<i32>(out.first.data()),
        kernels::global_ptr<i32>(out.second.data()));
  }
  return out;
}

/// The places that tokens of prefilled sequences attend to, and how many each has, in new tensors
/// of i32. A workspace has m places for each sequence; the first n are for compressed tokens.
///
/// A token at position p of sequence b has the first min((p + 1) / compress_ratio, topk) of its
/// topk_indices, plus b m. Then come the last min(p + 1, window_size) tokens, at b m + n + position
/// less that of the first one gathered; then -1, up to a multiple of 128.
///
/// topk_indices [N, at least topk] of i32 or i64; query_start_loc [sequences + 1], where queries
/// begin, less its first element, and gather_lens [sequences] of i32; seq_lens [sequences] of i32
/// or i64: the tokens of each sequence; the last gather_lens of them were gathered. Gives [N, k]
/// with k = topk + window_size, rounded up, and [N]. Tokens of no sequence have none. Raises
/// shape_mismatch or invalid_argument. flag_gems::combine_topk_swa_indices(Tensor topk_indices,
/// Tensor query_start_loc, Tensor seq_lens, Tensor gather_lens, int window_size, int
/// compress_ratio, int topk, int M, int N) -> (Tensor, Tensor)
template <stream_like S, tensor_like J, tensor_like Starts, tensor_like Lengths,
          tensor_like Gathered>
[[nodiscard]] auto combine_topk_swa_indices(const S& stream, const J& topk_indices,
                                            const Starts& query_start_loc, const Lengths& seq_lens,
                                            const Gathered& gather_lens, i64 window_size,
                                            i64 compress_ratio, i64 topk, i64 m, i64 n) {
  constexpr const char* op = "combine_topk_swa_indices";
  using D = device_of<S>;
  using T = value_t<const J&>;
  constexpr i64 multiple = 128;  // of the layout
  same_device<S, J, Starts, Lengths, Gathered>();
  const auto chosen = detail::input_of(topk_indices);
  const tensor_view<const i32, D> starts(as_view(query_start_loc)), gathered(as_view(gather_lens));
  const auto ends = detail::input_of(seq_lens);
  if (chosen.rank() != 2 || topk < 0 || chosen.size(1) < topk) [[unlikely]]
    raise(errc::shape_mismatch, op, "topk_indices [N, at least topk]",
          to_string(chosen.shape_of()) + " and " + detail::text(topk));
  if (window_size < 0 || compress_ratio < 1 || m < 1 || n < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "window_size >= 0, compress_ratio >= 1, M >= 1 and N >= 0",
          "another");
  if (ends.rank() != 1) [[unlikely]]
    detail::raise_sizes(op, "seq_lens of one dimension", ends.sizes());
  constexpr i64 most = (std::numeric_limits<i32>::max)();
  if (m > most / kernels::max_of(ends.size(0), i64{1}) || n > most || topk > most - multiple ||
      window_size > most - multiple - topk) [[unlikely]]
    raise(errc::invalid_argument, op, "places that 32 bits hold",
          detail::text(m) + " of each sequence, " + detail::text(n) + " compressed, and " +
              detail::text(topk) + " and " + detail::text(window_size) + " of a token");
  detail::check_vector(op, "query_start_loc", starts, ends.size(0) + 1);
  detail::check_vector(op, "gather_lens", gathered, ends.size(0));
  const i64 tokens = chosen.size(0);
  const i64 width = kernels::ceil_div(topk + window_size, multiple) * multiple;
  std::pair out(empty<i32>(stream, {tokens, width}, op), empty<i32>(stream, {tokens}, op));
  if constexpr (element_type_in<type_list<i32, i64>, 1, J>())
    detail::launch_tokens<kernels::joined_places<T, value_t<const Lengths&>>>(
        op, stream, tokens, width, tokens,
        kernels::window_options{window_size, compress_ratio, topk, m, n, width},
        detail::numbers_of(starts), detail::numbers_of(ends), detail::numbers_of(gathered),
        kernels::global_ptr<const T>(chosen.data()), chosen.stride(0), chosen.stride(1),
        kernels::global_ptr<i32>(out.first.data()), kernels::global_ptr<i32>(out.second.data()));
  return out;
}

}  // namespace flaggems
