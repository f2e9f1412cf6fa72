// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Heads that are rotated by their positions and quantised: the queries of DeepSeek's indexer, and
// what its attention gives, rotated back.
#pragma once

#include <flaggems/ops/latent_cache.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace operators {
struct fused_indexer_q_rope_quant;
struct fused_inv_rope_fp8_quant;
}  // namespace operators

namespace detail {

/// Queries of an indexer, rotated and encoded in groups of `group`, and their heads' weights.
template <class S, class T, class W, class U, class D, class Codes, class Scales>
void encode_queries(const char* op, const S& stream, const tensor_view<const T, D>& q,
                    const head_angles<W>& angles, i64 group, const Codes& codes,
                    const Scales& scales, f32 floor, f32 greatest) {
  kernels::head_steps steps{};
  steps.tokens = steps.places = q.size(0);
  steps.heads = q.size(1);
  steps.pairs = steps.coded = q.size(2) / 2;
  steps.group = group / 2;
  steps.floor = floor;
  steps.greatest = greatest;
  steps.rounded = steps.powers_of_two = true;
  encode_heads(op, stream, steps, heads_of(q), angles.of, kernels::head_rows<bf16>{}, codes,
               scales);
}

template <class S, class Q, class Table, class Weights, class D>
auto check_queries(const char* op, const S& stream, const tensor_view<const i64, D>& positions,
                   const Q& q, const Table& table, const Weights& weights) {
  if (q.rank() != 3 || weights.rank() != 2 || weights.size(0) != q.size(0) ||
      weights.size(1) != q.size(1) || q.size(2) < 1) [[unlikely]]
    raise_shapes(op, "index_q [N, H, E] of some elements and index_weights [N, H]", q.shape_of(),
                 weights.shape_of());
  return head_angles<typename Table::value_type>(op, stream, table, positions, q.size(0),
                                                 q.size(2));
}

}  // namespace detail

/// Queries of an indexer in new tensors: their last R elements rotated by the tokens' positions and
/// rounded to their dtype, then each head as f8e4m3; and the weights of heads, in f32, times the
/// head's scale and both factors. A scale is the power of two that is not less than the largest
/// magnitude (at least 1e-4) divided by 448.
///
/// positions [N] of i64; index_q [N, H, E] of f32, bf16 or f16, E even; index_q_cos_sin_cache
/// [positions, R] as in fused_deepseek_v4_qnorm_rope_kv_rope_insert; index_weights [N, H]. Raises
/// shape_mismatch, or out_of_range where the host can read positions.
/// flag_gems::fused_indexer_q_rope_quant(Tensor positions, Tensor index_q, Tensor
/// index_q_cos_sin_cache, Tensor index_weights, float index_weights_softmax_scale, float
/// index_weights_head_scale, bool use_fp4=False)
template <stream_like S, tensor_like Ids, tensor_like Q, tensor_like Table, tensor_like Weights>
[[nodiscard]] auto fused_indexer_q_rope_quant(const S& stream, const Ids& positions,
                                              const Q& index_q, const Table& index_q_cos_sin_cache,
                                              const Weights& index_weights,
                                              f64 index_weights_softmax_scale,
                                              f64 index_weights_head_scale) {
  constexpr const char* op = "fused_indexer_q_rope_quant";
  using T = value_t<const Q&>;
  using U = value_t<const Weights&>;
  using D = device_of<S>;
  same_device<S, Ids, Q, Table, Weights>();
  const auto q = detail::input_of(index_q);
  const auto table = detail::input_of(index_q_cos_sin_cache);
  const auto weights = detail::input_of(index_weights);
  const auto angles = detail::check_queries(
      op, stream, tensor_view<const i64, D>(as_view(positions)), q, table, weights);
  detail::check_pairs(op, q.size(2), kernels::max_of(q.size(2), i64{2}));
  std::pair out(empty<f8e4m3>(stream, q.sizes(), op), empty<f32>(stream, weights.sizes(), op));
  if constexpr (element_type_in<detail::head_types, 2, Q>()) {
    if (q.empty()) return out;
    const auto codes = detail::heads_of(out.first.view());
    const auto scaled = out.second.view();
    detail::encode_queries<S, T, value_t<const Table&>, U, D>(
        op, stream, q, angles, q.size(2), kernels::f8_codes{codes.data, codes.at, codes.step},
        kernels::scale_in_weights<U>{{weights.data(), scaled.data(), weights.stride(0),
                                      weights.stride(1), scaled.stride(0), scaled.stride(1),
                                      static_cast<f32>(index_weights_softmax_scale),
                                      static_cast<f32>(index_weights_head_scale)}},
        1e-4F, detail::greatest_f8e4m3);
  }
  return out;
}

/// The same with queries of f4e2m1: two elements a byte, the first in the low half; and a byte for
/// the scale of each 32 elements, its exponent plus 127, the power of two that is not less than the
/// largest magnitude (at least 6 * 2^-126) divided by 6. The weights are times the factors alone.
/// (FlagGems names four of these bytes by one integer of 32 bits.)
///
/// Gives codes [N, H, E / 2] and exponents [N, H, E / 32] of u8, and weights; E is a multiple
/// of 32. flag_gems::fused_indexer_q_rope_quant with use_fp4
template <stream_like S, tensor_like Ids, tensor_like Q, tensor_like Table, tensor_like Weights>
[[nodiscard]] auto fused_indexer_q_rope_quant_mxfp4(
    const S& stream, const Ids& positions, const Q& index_q, const Table& index_q_cos_sin_cache,
    const Weights& index_weights, f64 index_weights_softmax_scale, f64 index_weights_head_scale) {
  constexpr const char* op = "fused_indexer_q_rope_quant";
  using T = value_t<const Q&>;
  using U = value_t<const Weights&>;
  using D = device_of<S>;
  constexpr i64 group = 32;  // of the format
  same_device<S, Ids, Q, Table, Weights>();
  const auto q = detail::input_of(index_q);
  const auto table = detail::input_of(index_q_cos_sin_cache);
  const auto weights = detail::input_of(index_weights);
  const auto angles = detail::check_queries(
      op, stream, tensor_view<const i64, D>(as_view(positions)), q, table, weights);
  detail::check_pairs(op, q.size(2), group);
  std::tuple out(empty<u8>(stream, {q.size(0), q.size(1), q.size(2) / 2}, op),
                 empty<u8>(stream, {q.size(0), q.size(1), q.size(2) / group}, op),
                 empty<f32>(stream, weights.sizes(), op));
  if constexpr (element_type_in<detail::head_types, 2, Q>()) {
    if (q.empty()) return out;
    const auto codes = detail::heads_of(std::get<0>(out).view());
    const auto exponents = detail::heads_of(std::get<1>(out).view());
    const auto scaled = std::get<2>(out).view();
    detail::encode_queries<S, T, value_t<const Table&>, U, D>(
        op, stream, q, angles, group, kernels::f4_codes{codes.data, codes.at, codes.step},
        kernels::scale_beside_weights<U>{
            {exponents.data, exponents.at, exponents.step, q.size(2) / group},
            {weights.data(), scaled.data(), weights.stride(0), weights.stride(1), scaled.stride(0),
             scaled.stride(1), static_cast<f32>(index_weights_softmax_scale),
             static_cast<f32>(index_weights_head_scale)}},
        7.0523e-38F, detail::greatest_f4e2m1);
  }
  return out;
}

namespace detail {
/// Raises unless o [N, groups * heads, nope + rope] has such sizes, whatever the numbers are.
template <class O>
void check_rotated(const char* op, const O& o, i64 groups, i64 heads, i64 nope, i64 rope) {
  if (o.rank() != 3 || groups < 1 || heads < 1 || o.size(1) % heads != 0 ||
      o.size(1) / heads != groups || nope < 0 || rope < 0 || nope > o.size(2) ||
      rope != o.size(2) - nope) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "o [N, " + text(groups) + " * " + text(heads) + ", " + text(nope) + " + " + text(rope) +
              "]",
          to_string(o.shape_of()));
}
}  // namespace detail

/// codes, scales = what attention gives, rotated back by the tokens' positions and quantised: of
/// each quant_group_size elements of a head codes of f8e4m3 and a scale, the largest magnitude, at
/// least eps, divided by 448. The last rope_dim elements of a head are rotated, by the negative
/// angles.
///
/// o [N, n_groups * heads_per_group, nope_dim + rope_dim] of f32, bf16 or f16; positions [N] of
/// i64; cos_sin_cache [positions, rope_dim] as in fused_deepseek_v4_qnorm_rope_kv_rope_insert;
/// codes [N, n_groups, heads_per_group * (nope_dim + rope_dim)]; scales [N, n_groups,
/// heads_per_group * (nope_dim + rope_dim) / quant_group_size] of f32, or [N, n_groups,
/// heads_per_group] of i32: the next powers of two of four groups a head, whose exponents plus 127
/// are a word's bytes, the lowest first. Raises shape_mismatch, not_supported, overlap, or
/// out_of_range where the host can read positions, before anything is written.
/// flag_gems::fused_inv_rope_fp8_quant(Tensor o, Tensor positions, Tensor cos_sin_cache, int
/// n_groups, int heads_per_group, int nope_dim=448, int rope_dim=64, int quant_group_size=128,
/// float eps=1e-10, ScalarType? dtype=None, bool tma_aligned_scales=False)
template <stream_like S, tensor_like O, tensor_like Ids, tensor_like Table, tensor_like Codes,
          tensor_like Scales>
void fused_inv_rope_fp8_quant(const S& stream, const O& o, const Ids& positions,
                              const Table& cos_sin_cache, Codes&& codes, Scales&& scales,
                              i64 n_groups, i64 heads_per_group, i64 nope_dim = 448,
                              i64 rope_dim = 64, i64 quant_group_size = 128, f64 eps = 1e-10) {
  constexpr const char* op = "fused_inv_rope_fp8_quant";
  using T = value_t<const O&>;
  using W = value_t<const Table&>;
  using D = device_of<S>;
  constexpr bool packed = std::is_same_v<value_t<Scales>, i32>;
  same_device<S, O, Ids, Table, Codes, Scales>();
  static_assert(
      std::is_same_v<value_t<Codes>, f8e4m3> && (packed || std::is_same_v<value_t<Scales>, f32>),
      "flaggems: codes are of f8e4m3, scales of f32 or i32");
  if constexpr (element_type_in<detail::head_types, 1, O>()) {
    const auto from = detail::input_of(o);
    const tensor_view<const i64, D> ids(as_view(positions));
    const auto table = detail::input_of(cos_sin_cache);
    const auto to = as_view(codes);
    const auto by = as_view(scales);
    detail::check_rotated(op, from, n_groups, heads_per_group, nope_dim, rope_dim);
    if (table.rank() != 2 || table.size(1) != rope_dim) [[unlikely]]
      detail::raise_shapes(op, "o [N, groups * heads, nope + rope] and a table [positions, rope]",
                           from.shape_of(), table.shape_of());
    const i64 tokens = from.size(0), size = from.size(2);
    detail::check_pairs(op, size, quant_group_size);
    if (packed && size / quant_group_size != 4) [[unlikely]]
      raise(errc::not_supported, op, "four groups a head, whose exponents are one word",
            detail::text(size / quant_group_size));
    const detail::head_angles<W> angles(op, stream, table, ids, tokens, size, true);
    const i64 each = packed ? 1 : size / quant_group_size;
    detail::check_output_sizes(op, {tokens, n_groups, heads_per_group * size}, to);
    detail::check_output_sizes(op, {tokens, n_groups, heads_per_group * each}, by);
    detail::check_separate(op, to, from, ids, table);
    detail::check_separate(op, by, from, ids, table, to);
    if (from.empty() ||
        detail::replaced<operators::fused_inv_rope_fp8_quant>(
            op, stream, from, ids, table, to, by, heads_per_group, quant_group_size, eps))
      return;
    kernels::head_steps steps{};
    steps.tokens = steps.places = tokens;
    steps.heads = from.size(1);
    steps.pairs = steps.coded = size / 2;
    steps.group = quant_group_size / 2;
    steps.floor = static_cast<f32>(eps);
    steps.greatest = detail::greatest_f8e4m3;
    steps.powers_of_two = packed;
    const kernels::f8_codes coded{
        to.data(),
        {0, 0, to.stride(0), size * to.stride(2), heads_per_group, to.stride(1)},
        to.stride(2)};
    const i64 unit = packed ? sizeof(i32) : 1;  // exponents are bytes
    const kernels::head_places at{0,
                                  0,
                                  unit * by.stride(0),
                                  unit * each * by.stride(2),
                                  heads_per_group,
                                  unit * by.stride(1)};
    const auto run = [&](const auto& scaled) {
      detail::encode_heads<S, T, W>(op, stream, steps, detail::heads_of(from), angles.of,
                                    kernels::head_rows<bf16>{}, coded, scaled);
    };
    if constexpr (packed)
      run(kernels::scale_exponents{reinterpret_cast<u8*>(by.data()), at, 1, 4});
    else
      run(kernels::scale_numbers{by.data(), at, by.stride(2)});
  }
}

namespace detail {

/// The outputs of fused_inv_rope_fp8_quant, each head with so many scales: groups outermost in
/// memory, of scales tokens innermost.
template <class Scale, class S, class O>
auto inverse_outputs(const char* op, const S& stream, const O& o, i64 groups, i64 heads,
                     i64 scales) {
  const i64 tokens = o.size(0), row = heads * o.size(2), most = kernels::max_of(tokens, i64{1});
  return std::pair(tensor<f8e4m3, device_of<S>>(ref(stream), shape{tokens, groups, row},
                                                shape{row, most * row, 1}, op),
                   tensor<Scale, device_of<S>>(ref(stream), shape{tokens, groups, heads * scales},
                                               shape{1, heads * scales * most, most}, op));
}

}  // namespace detail

/// The codes and scales in new tensors; groups are outermost in memory, and tokens innermost of
/// scales. (FlagGems pads these to a multiple of four tokens.)
template <stream_like S, tensor_like O, tensor_like Ids, tensor_like Table>
[[nodiscard]] auto fused_inv_rope_fp8_quant(const S& stream, const O& o, const Ids& positions,
                                            const Table& cos_sin_cache, i64 n_groups,
                                            i64 heads_per_group, i64 nope_dim = 448,
                                            i64 rope_dim = 64, i64 quant_group_size = 128,
                                            f64 eps = 1e-10) {
  constexpr const char* op = "fused_inv_rope_fp8_quant";
  const auto from = as_view(o);
  detail::check_rotated(op, from, n_groups, heads_per_group, nope_dim, rope_dim);
  auto out = detail::inverse_outputs<f32>(op, stream, from, n_groups, heads_per_group,
                                          from.size(2) / kernels::max_of(quant_group_size, i64{1}));
  fused_inv_rope_fp8_quant(stream, o, positions, cos_sin_cache, out.first, out.second, n_groups,
                           heads_per_group, nope_dim, rope_dim, quant_group_size, eps);
  return out;
}
/// The same with scales of i32.
template <stream_like S, tensor_like O, tensor_like Ids, tensor_like Table>
[[nodiscard]] auto fused_inv_rope_fp8_quant_packed(const S& stream, const O& o,
                                                   const Ids& positions, const Table& cos_sin_cache,
                                                   i64 n_groups, i64 heads_per_group,
                                                   i64 nope_dim = 448, i64 rope_dim = 64,
                                                   i64 quant_group_size = 128, f64 eps = 1e-10) {
  constexpr const char* op = "fused_inv_rope_fp8_quant";
  detail::check_rotated(op, as_view(o), n_groups, heads_per_group, nope_dim, rope_dim);
  auto out = detail::inverse_outputs<i32>(op, stream, as_view(o), n_groups, heads_per_group, 1);
  fused_inv_rope_fp8_quant(stream, o, positions, cos_sin_cache, out.first, out.second, n_groups,
                           heads_per_group, nope_dim, rope_dim, quant_group_size, eps);
  return out;
}

}  // namespace flaggems
