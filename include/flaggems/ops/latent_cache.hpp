// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What DeepSeek's sparse attention writes: keys in a paged cache, rotated by their positions and
// quantised, and queries beside them. (latent_gather.hpp reads it.)
#pragma once

#include <flaggems/kernel/family/quantized/heads.hpp>
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/dispatch/rotary.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/norm.hpp>

#include <string_view>
#include <type_traits>

namespace flaggems {

namespace operators {
struct indexer_k_quant_and_cache;
struct fused_deepseek_v4_qnorm_rope_kv_rope_insert;
struct fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert;
}  // namespace operators

namespace detail {

using head_types = type_list<f32, bf16, f16>;
inline constexpr f32 greatest_f8e4m3 = 448, greatest_f4e2m1 = 6;

/// [tokens, heads, E] as rows of heads.
template <class T, class D>
kernels::head_rows<T> heads_of(const tensor_view<T, D>& x) {
  return {x.data(), {0, 0, x.stride(0), x.stride(1)}, x.stride(2)};
}
/// [pages, tokens of a page, E] as those of one head.
template <class T, class D>
kernels::head_rows<T> pages_of(const tensor_view<T, D>& x) {
  return {x.data(), {x.size(1), x.stride(0), x.stride(1), 0}, x.stride(2)};
}

/// The rotation of the last elements of heads of E by rows [positions, R] of cosines and sines.
/// None without a table.
template <class W>
struct head_angles {
  kernels::head_rotation<W> of{};

  head_angles() = default;
  template <class S, class D>
  head_angles(const char* op, const S& stream, const tensor_view<const W, D>& table,
              const tensor_view<const i64, D>& positions, i64 tokens, i64 size, bool back = false) {
    if (table.rank() != 2 || table.size(1) % 2 != 0 || table.size(1) > size || table.size(0) < 1)
        [[unlikely]]
      raise(errc::shape_mismatch, op,
            "a table [positions, R] of cosines and sines, R even and at most " + text(size),
            to_string(table.shape_of()));
    if (positions.rank() != 1 || positions.size(0) != tokens) [[unlikely]]
      raise_other_sizes(op, {tokens}, positions.sizes());
    check_indices(op, stream, positions, table.size(0));
    of = {table.data(),  table.stride(0),  table.stride(1),     table.size(1) / 2,
          table.size(0), positions.data(), positions.stride(0), back};
  }
};

/// Slots of tokens, of which there are at most `tokens`, in a cache of so many places.
template <class S, class D>
void check_slots(const char* op, const S& stream, const tensor_view<const i64, D>& slots,
                 i64 tokens, i64 places) {
  if (slots.rank() != 1 || slots.size(0) > tokens) [[unlikely]]
    raise(errc::shape_mismatch, op, "a slot for each of at most " + text(tokens) + " tokens",
          to_string(slots.shape_of()));
  check_indices(op, stream, slots, places, -1);
}
inline void check_pairs(const char* op, i64 size, i64 group) {
  if (size % 2 != 0 || group < 2 || group % 2 != 0 || size % group != 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "heads of an even number of elements in groups that are even",
          text(size) + " in groups of " + text(group));
}

/// A paged cache of bytes: a page has the bytes of all its tokens, then those of their scales.
template <class D>
struct byte_pages {
  tensor_view<u8, D> all;  // [pages, bytes]
  i64 page, token_bytes, scale_bytes;

  /// `cache`: [pages, bytes] or [pages, page, bytes of a token], pages contiguous and aligned to
  /// `alignment`, a power of two.
  template <class Cache>
  byte_pages(const char* op, const Cache& cache, i64 tokens_of_page, i64 token, i64 scale,
             u64 alignment)
      : all(cache.data(), {0}, {1}), page(tokens_of_page), token_bytes(token), scale_bytes(scale) {
    if ((cache.rank() != 2 && cache.rank() != 3) || page < 1 ||
        (cache.rank() == 3 && cache.size(1) != page) || cache.stride(-1) != 1 ||
        (cache.rank() == 3 && cache.size(1) > 1 && cache.stride(1) != cache.size(2))) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "a cache of pages of contiguous bytes for " + text(page) + " tokens each",
            to_string(cache.shape_of()));
    const i64 bytes = cache.rank() == 2 ? cache.size(1) : cache.size(1) * cache.size(2);
    i64 of_tokens = 0, of_scales = 0, of_page = 0, all_places = 0;
    if (token < 0 || scale < 0 || !multiply(page, token, of_tokens) ||
        !multiply(page, scale, of_scales) || !add(of_tokens, of_scales, of_page) ||
        of_page > bytes || !multiply(cache.size(0), page, all_places)) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "pages of " + text(page) + " tokens of " + text(token) + " bytes, with scales of " +
                text(scale),
            text(bytes) + " bytes");
    if (((reinterpret_cast<u64>(cache.data()) | static_cast<u64>(cache.stride(0)) |
          static_cast<u64>(scale | page * token)) &
         (alignment - 1)) != 0) [[unlikely]]
      raise(errc::invalid_argument, op,
            "pages and scales that begin at multiples of " + text(static_cast<i64>(alignment)) +
                " bytes",
            "a first page at " + text(static_cast<i64>(reinterpret_cast<u64>(cache.data()))) +
                ", pages " + text(cache.stride(0)) + " apart, scales of " + text(scale) +
                " from byte " + text(page * token) + " on");
    all = {cache.data(), {cache.size(0), bytes}, {cache.stride(0), 1}};
  }
  [[nodiscard]] i64 places() const { return all.size(0) * page; }
  /// Elements of U from byte `first` of each token on.
  template <class U>
  [[nodiscard]] kernels::head_rows<U> tokens(i64 first) const {
    return {reinterpret_cast<U*>(all.data() + first), places_of<U>(token_bytes), 1};
  }
  template <class U>
  [[nodiscard]] kernels::head_rows<U> scales() const {
    return {reinterpret_cast<U*>(all.data() + page * token_bytes), places_of<U>(scale_bytes), 1};
  }

 private:
  template <class U>
  [[nodiscard]] kernels::head_places places_of(i64 bytes) const {
    constexpr i64 size = sizeof(U);
    return {page, all.stride(0) / size, bytes / size, 0};
  }
};

/// Launches the steps; all checks have passed.
template <class S, class T, class W, class Number, class Codes, class Scales>
void encode_heads(const char* op, const S& stream, const kernels::head_steps& steps,
                  const kernels::head_rows<const T>& in, const kernels::head_rotation<W>& rotation,
                  const kernels::head_rows<Number>& out, const Codes& codes, const Scales& scales) {
  if (steps.tokens == 0 || steps.heads == 0) return;
  launch_config config;
  config.op = op;
  config.tiles = steps.tokens * steps.heads;
  config.work = work_of(config.tiles, steps.pairs, 32);
  const i64 busy = steps.coded == 0 ? steps.pairs : steps.group;
  config.threads = static_cast<int>(kernels::min_of(tuning<families::row, device_of<S>>::threads,
                                                    kernels::max_of(busy, i64{32})));
  launch<kernels::encoded_heads<T, W, Number, Codes, Scales>>(stream, config, steps, in, rotation,
                                                              out, codes, scales);
}

/// q, in place: each head divided by the root of its mean square plus eps, then its last elements
/// rotated.
template <class S, class T, class W, class D>
void norm_and_rotate(const char* op, const S& stream, const tensor_view<T, D>& q,
                     const kernels::head_rotation<W>& rotation, f64 eps) {
  const kernels::head_rows<T> rows = heads_of(q);
  kernels::head_steps steps{};
  steps.tokens = steps.places = q.size(0);
  steps.heads = q.size(1);
  steps.pairs = q.size(2) / 2;
  steps.group = 1;
  steps.eps = static_cast<f32>(eps);
  steps.normed = true;
  encode_heads<S, T>(op, stream, steps, kernels::head_rows<const T>{rows.data, rows.at, rows.step},
                     rotation, rows, kernels::f8_codes{}, kernels::scale_numbers{});
}

/// Raises unless q [N, H, E] and kv [N, E] of pairs are what is inserted.
template <class Q, class K>
void check_inserted(const char* op, const Q& q, const K& kv) {
  if (q.rank() != 3 || kv.rank() != 2 || q.size(0) != kv.size(0) || q.size(2) != kv.size(1) ||
      q.size(2) % 2 != 0) [[unlikely]]
    raise_shapes(op, "q [N, H, E] and kv [N, E], E even", q.shape_of(), kv.shape_of());
}

}  // namespace detail

/// How scales of f8e4m3 are: as they are, or the next power of two.
enum class index_scales { number, ue8m0 };
inline index_scales spelled(std::string_view text, std::type_identity<index_scales>) {
  return text == "ue8m0" ? index_scales::ue8m0 : index_scales::number;
}

/// Writes keys of tokens into a paged cache as f8e4m3 with scales: of each quant_block_size
/// elements the largest magnitude, at least 1e-4, divided by 448; with scale_fmt ue8m0 the next
/// power of two. Token i goes to slot_mapping[i], that of slot -1 nowhere.
///
/// k [N, E] of f32, bf16 or f16; kv_cache [blocks, B, E + 4 E / quant_block_size] of bytes: of each
/// block the codes of its tokens, then their scales in f32; slot_mapping [M], i64, M <= N. Groups
/// are even. Slots outside [-1, blocks B) raise out_of_range where the host can read them, and
/// write nothing elsewhere. Raises shape_mismatch, invalid_argument or overlap. All before anything
/// is written. flag_gems::indexer_k_quant_and_cache(Tensor k, Tensor(a!) kv_cache, Tensor
/// slot_mapping, int quant_block_size, str scale_fmt)
template <stream_like S, tensor_like K, tensor_like Cache, tensor_like Slots>
void indexer_k_quant_and_cache(const S& stream, const K& k, Cache&& kv_cache,
                               const Slots& slot_mapping, i64 quant_block_size,
                               index_scales scale_fmt = index_scales::number) {
  constexpr const char* op = "indexer_k_quant_and_cache";
  using T = value_t<const K&>;
  using D = device_of<S>;
  same_device<S, K, Cache, Slots>();
  static_assert(std::is_same_v<value_t<Cache>, u8>, "flaggems: the cache is of bytes, u8");
  if constexpr (element_type_in<detail::head_types, 1, K>()) {
    const auto keys = detail::input_of(k);
    const tensor_view<u8, D> cache(as_view(kv_cache));
    const tensor_view<const i64, D> slots(as_view(slot_mapping));
    if (keys.rank() != 2 || cache.rank() != 3) [[unlikely]]
      detail::raise_shapes(op, "k [N, E] for a cache [blocks, B, bytes]", keys.shape_of(),
                           cache.shape_of());
    const i64 size = keys.size(1), groups = size / kernels::max_of(quant_block_size, i64{1});
    detail::check_pairs(op, size, quant_block_size);
    detail::check_writable(op, cache);
    const detail::byte_pages<D> pages(op, cache, cache.size(1), size, 4 * groups, 4);
    detail::check_slots(op, stream, slots, keys.size(0), pages.places());
    detail::check_separate(op, cache, keys, slots);
    if (slots.empty() || size == 0 ||
        detail::replaced<operators::indexer_k_quant_and_cache>(op, stream, keys, cache, slots,
                                                               quant_block_size, scale_fmt))
      return;
    kernels::head_steps steps{};
    steps.tokens = slots.numel();
    steps.heads = 1;
    steps.pairs = steps.coded = size / 2;
    steps.group = quant_block_size / 2;
    steps.slots = slots.data();
    steps.slot_step = slots.stride(0);
    steps.places = pages.places();
    steps.floor = 1e-4F;
    steps.greatest = detail::greatest_f8e4m3;
    steps.powers_of_two = scale_fmt == index_scales::ue8m0;
    const auto codes = pages.template tokens<f8e4m3>(0);
    const auto scales = pages.template scales<f32>();
    detail::encode_heads(
        op, stream, steps,
        kernels::head_rows<const T>{keys.data(), {0, 0, keys.stride(0), 0}, keys.stride(1)},
        kernels::head_rotation<f32>{}, kernels::head_rows<bf16>{},
        kernels::f8_codes{codes.data, codes.at, 1},
        kernels::scale_numbers{scales.data, scales.at, 1});
  }
}

/// q, in place: heads divided by the root of their mean square plus eps, their last R elements
/// rotated by the tokens' positions; and kv, rotated likewise, in a paged cache: token i goes to
/// slot slot_mapping[i], that of slot -1 nowhere. A pair is elements 2 j and 2 j + 1.
///
/// q [N, H, E], kv [N, E] and k_cache [blocks, cache_block_size, E] of one dtype of f32, bf16 or
/// f16, E even; slot_mapping [M], M <= N, and position_ids [N] of i64; cos_sin_cache [positions,
/// R]: cosines, then sines of R / 2 angles. Computed in f32. Positions and slots outside raise
/// out_of_range where the host can read them. Raises shape_mismatch or overlap. All before anything
/// is written. flag_gems::fused_deepseek_v4_qnorm_rope_kv_rope_insert(Tensor(a!) q, Tensor kv,
/// Tensor(b!) k_cache, Tensor slot_mapping, Tensor position_ids, Tensor cos_sin_cache, float
/// eps=1e-06, int cache_block_size=16)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Cache, tensor_like Slots,
          tensor_like Ids, tensor_like Table>
void fused_deepseek_v4_qnorm_rope_kv_rope_insert(const S& stream, Q&& q, const K& kv,
                                                 Cache&& k_cache, const Slots& slot_mapping,
                                                 const Ids& position_ids,
                                                 const Table& cos_sin_cache, f64 eps = 1e-6,
                                                 i64 cache_block_size = 16) {
  constexpr const char* op = "fused_deepseek_v4_qnorm_rope_kv_rope_insert";
  using T = value_t<Q>;
  using W = value_t<const Table&>;
  using D = device_of<S>;
  same_device<S, Q, K, Cache, Slots, Ids, Table>();
  static_assert(std::is_same_v<value_t<const K&>, T> && std::is_same_v<value_t<Cache>, T>,
                "flaggems: q, kv and the cache have one dtype");
  if constexpr (element_type_in<detail::head_types, 1, Q>()) {
    const tensor_view<T, D> heads(as_view(q)), cache(as_view(k_cache));
    const auto keys = detail::input_of(kv);
    const tensor_view<const i64, D> slots(as_view(slot_mapping)), ids(as_view(position_ids));
    const auto table = detail::input_of(cos_sin_cache);
    detail::check_inserted(op, heads, keys);
    if (cache.rank() != 3 || cache.size(1) != cache_block_size || cache.size(2) != keys.size(1))
        [[unlikely]]
      detail::raise_shapes(op, "a cache [blocks, cache_block_size, E] for kv [N, E]",
                           cache.shape_of(), keys.shape_of());
    const i64 places = cache.size(0) * cache.size(1);
    detail::check_slots(op, stream, slots, keys.size(0), places);
    const detail::head_angles<W> angles(op, stream, table, ids, keys.size(0), keys.size(1));
    detail::check_separate(op, heads, keys, slots, ids, table);
    detail::check_separate(op, cache, heads, keys, slots, ids, table);
    if (keys.empty() || detail::replaced<operators::fused_deepseek_v4_qnorm_rope_kv_rope_insert>(
                            op, stream, heads, keys, cache, slots, ids, table, eps))
      return;
    detail::norm_and_rotate(op, stream, heads, angles.of, eps);
    kernels::head_steps steps{};
    steps.tokens = slots.numel();
    steps.heads = 1;
    steps.pairs = keys.size(1) / 2;
    steps.group = 1;
    steps.slots = slots.data();
    steps.slot_step = slots.numel() == 0 ? 1 : slots.stride(0);
    steps.places = places;
    detail::encode_heads(
        op, stream, steps,
        kernels::head_rows<const T>{keys.data(), {0, 0, keys.stride(0), 0}, keys.stride(1)},
        angles.of, detail::pages_of(cache), kernels::f8_codes{}, kernels::scale_numbers{});
  }
}

/// The same with a quantised cache: of kv the elements that are not rotated are kept as f8e4m3,
/// with a scale for each 64 of them, the power of two that is not less than the largest magnitude
/// (at least 1e-4) divided by 448; those that are rotated as bf16.
///
/// k_cache [blocks, bytes] of u8 (or [blocks, cache_block_size, bytes]): of each block the tokens'
/// E - R codes and R numbers of bf16, then (E - R) / 64 + 1 bytes each of their scales' exponents
/// plus 127, the last one 0. E - R is a multiple of 64.
/// flag_gems::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(Tensor(a!) q, Tensor kv, Tensor(b!)
/// k_cache, Tensor slot_mapping, Tensor position_ids, Tensor cos_sin_cache, float eps, int
/// cache_block_size)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like Cache, tensor_like Slots,
          tensor_like Ids, tensor_like Table>
void fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert(const S& stream, Q&& q, const K& kv,
                                                       Cache&& k_cache, const Slots& slot_mapping,
                                                       const Ids& position_ids,
                                                       const Table& cos_sin_cache, f64 eps,
                                                       i64 cache_block_size) {
  constexpr const char* op = "fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert";
  using T = value_t<Q>;
  using W = value_t<const Table&>;
  using D = device_of<S>;
  constexpr i64 group = 64;  // of the cache's layout
  same_device<S, Q, K, Cache, Slots, Ids, Table>();
  static_assert(std::is_same_v<value_t<const K&>, T>, "flaggems: q and kv have one dtype");
  static_assert(std::is_same_v<value_t<Cache>, u8>, "flaggems: the cache is of bytes, u8");
  if constexpr (element_type_in<detail::head_types, 1, Q>()) {
    const tensor_view<T, D> heads(as_view(q));
    const tensor_view<u8, D> cache(as_view(k_cache));
    const auto keys = detail::input_of(kv);
    const tensor_view<const i64, D> slots(as_view(slot_mapping)), ids(as_view(position_ids));
    const auto table = detail::input_of(cos_sin_cache);
    detail::check_inserted(op, heads, keys);
    const detail::head_angles<W> angles(op, stream, table, ids, keys.size(0), keys.size(1));
    const i64 plain = table.size(1), coded = keys.size(1) - plain;
    detail::check_pairs(op, coded, group);
    detail::check_writable(op, cache);
    const detail::byte_pages<D> pages(op, cache, cache_block_size, coded + 2 * plain,
                                      coded / group + 1, 1);
    if (((reinterpret_cast<u64>(cache.data()) | static_cast<u64>(cache.stride(0))) & 1) != 0)
        [[unlikely]]
      raise(errc::invalid_argument, op, "blocks that begin at multiples of two bytes",
            "a first one at " +
                detail::text(static_cast<i64>(reinterpret_cast<u64>(cache.data()))) + ", blocks " +
                detail::text(cache.stride(0)) + " apart");
    detail::check_slots(op, stream, slots, keys.size(0), pages.places());
    detail::check_separate(op, heads, keys, slots, ids, table);
    detail::check_separate(op, cache, heads, keys, slots, ids, table);
    if (keys.empty() ||
        detail::replaced<operators::fused_deepseek_v4_qnorm_rope_kv_rope_quant_insert>(
            op, stream, heads, keys, cache, slots, ids, table, eps, cache_block_size))
      return;
    detail::norm_and_rotate(op, stream, heads, angles.of, eps);
    kernels::head_steps steps{};
    steps.tokens = slots.numel();
    steps.heads = 1;
    steps.pairs = keys.size(1) / 2;
    steps.coded = coded / 2;
    steps.group = group / 2;
    steps.slots = slots.data();
    steps.slot_step = slots.numel() == 0 ? 1 : slots.stride(0);
    steps.places = pages.places();
    steps.floor = 1e-4F;
    steps.greatest = detail::greatest_f8e4m3;
    steps.powers_of_two = true;
    const auto codes = pages.template tokens<f8e4m3>(0);
    const auto exponents = pages.template scales<u8>();
    detail::encode_heads(
        op, stream, steps,
        kernels::head_rows<const T>{keys.data(), {0, 0, keys.stride(0), 0}, keys.stride(1)},
        angles.of, pages.template tokens<bf16>(coded), kernels::f8_codes{codes.data, codes.at, 1},
        kernels::scale_exponents{exponents.data, exponents.at, 1, coded / group + 1});
  }
}

}  // namespace flaggems
