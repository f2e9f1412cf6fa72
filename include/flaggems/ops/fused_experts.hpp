// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Mixtures of experts: two products with the weights of each token's experts, an activation between
// them, and the sum of what the experts give; with weights as numbers or in many codes.
#pragma once

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/expert_product.hpp>
#include <flaggems/ops/gated.hpp>
#include <flaggems/ops/quantize.hpp>
#include <flaggems/ops/search.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

namespace operators {
struct fused_experts;
}  // namespace operators

/// How weights are quantised, who weighs what, and which experts are here.
template <class D>
struct fused_experts_options {
  bool apply_router_weight_on_input = false;  ///< weigh the first products, not the second
  bool use_fp8_w8a8 = false;                  ///< weights of f8e4m3; activations become such
  bool use_int8_w8a8 = false;                 ///< weights of i8; activations become such
  bool use_int8_w8a16 = false;                ///< weights of i8, or of u8 less 128
  bool use_int4_w4a16 = false;                ///< pairs of 4 bits in u8, or single ones in i8
  std::string_view ocp_mx_scheme = "none";    ///< "w_mxfp4": pairs of e2m1, 32 share a power of two
  bool per_channel_quant = false;             ///< a scale for each column, and each token
  i64 global_num_experts = -1;                ///< of topk_ids; w1's number if negative
  std::optional<any_view<D>> expert_map{};    ///< [global_num_experts], -1 for experts elsewhere
  std::optional<any_view<D>> w1_scale{}, w2_scale{}, w1_zp{}, w2_zp{};
  std::optional<any_view<D>> a1_scale{}, a2_scale{};  ///< of activations; else found from them
  int_list block_shape{};                             ///< columns and terms that share a scale
  std::optional<any_view<D>> w1_bias{}, w2_bias{};    ///< [E, 2 I] and [E, K]
};

namespace detail {

/// Rows as codes, with scales [rows or 1, parts].
template <class D>
struct coded_rows {
  tensor<f8e4m3, D> floats;
  tensor<i8, D> integers;
  tensor<f32, D> scales;
};

/// The activation between the products of experts.
struct expert_activation {
  bool is_gated = true, clamps_gate = false;  // below the limit, too
  std::optional<f64> limit{};
};

/// How the rows that experts multiply are coded: 8-bit floats or integers, of scales for whole
/// tensors, tokens or groups of terms.
struct row_coding {
  bool to_floats = false, to_integers = false, by_token = false;
  i64 group = 0;
};

/// x [rows, k] in such codes.
template <class S, class T, class D>
coded_rows<D> encode_rows(const char* op, const S& stream, const tensor_view<const T, D>& x,
                          const row_coding& how, const optional_any<D>& given) {
  const i64 rows = x.size(0), k = x.size(1), each = how.group > 0 ? how.group : k;
  if (k % kernels::max_of(each, i64{1}) != 0) [[unlikely]]
    raise(errc::invalid_argument, op, "whole groups of terms",
          text(k) + " in groups of " + text(each));
  const i64 parts = how.group > 0 ? k / each : 1;
  const bool by_row = how.by_token || how.group > 0;
  const f32 largest = how.to_floats ? 448.0F : 127.0F;
  coded_rows<D> r;
  const auto cut = x.unflatten(1, {parts, k / kernels::max_of(parts, i64{1})});
  if (given) {
    const shape sizes = given->numel() == 1 ? shape{1, 1} : shape{rows, parts};
    if (given->numel() != sizes.numel()) [[unlikely]]
      raise(errc::shape_mismatch, op, "one scale of activations, or one of each token and group",
            to_string(given->sizes()));
    r.scales = empty<f32>(stream, sizes, op);
    const auto read = read_any<f32>(op, stream, *given);
    assign(stream, r.scales, read.view().view(sizes), op);
  } else {
    const i64 inner[] = {0, 1, 2};
    r.scales = empty<f32>(stream, by_row ? shape{rows, parts} : shape{1, 1}, op);
    auto peaks = r.scales.view().unsqueeze(-1);
    if (rows > 0 && k > 0)
      amax(stream, abs(cast<f32>(cut)), peaks, by_row ? int_list(inner + 2, 1) : int_list(inner, 3),
           true);
    assign(stream, r.scales, mul(maximum(r.scales, 1e-10F), 1.0F / largest), op);
  }
  const auto scaled = div(cast<f32>(cut), r.scales.view().unsqueeze(-1));
  const auto kept = minimum(maximum(scaled, -largest), largest);
  if (how.to_floats) {
    r.floats = empty<f8e4m3>(stream, {rows, k}, op);
    assign(stream, r.floats.view().view(cut.shape_of()), cast<f8e4m3>(kept), op);
  } else {
    r.integers = empty<i8>(stream, {rows, k}, op);
    assign(stream, r.integers.view().view(cut.shape_of()), cast<i8>(round(kept)), op);
  }
  return r;
}

/// One of the two products: what is known of its weights.
struct expert_weights {
  kernels::coded_lines lines;
  kernels::coded_numbers bias;
  i64 n;
};

/// Whether rows of the operand, or of the result, are in the order of experts, not of choices.
struct expert_order {
  bool reads = false, writes = false;
};

/// to [choices, n] = the lines of x that the choices are of, times the weights of their experts.
/// The rows of x are coded first where `how` says so.
template <class S, class T, class Out, class D>
void multiply_choices(const char* op, const S& stream, const tensor_view<const T, D>& x,
                      const expert_weights& w, const expert_routes<D>& routes, i64 experts,
                      i64 share, const f32* weights, const row_coding& how,
                      const optional_any<D>& scale, const tensor_view<Out, D>& to,
                      const expert_order& order = {}) {
  const i64 rows = x.size(0), k = x.size(1);
  check_counts(op, to.size(0), w.n, k);
  grouped_call<Out> call;
  coded_rows<D> coded;
  any_view<D> values(x);
  optional_any<D> scales;
  code_facts facts;
  facts.terms = how.group > 0 ? how.group : k;
  if (how.to_floats || how.to_integers) {
    coded = encode_rows(op, stream, x, how, scale);
    values = how.to_floats ? any_view<D>(coded.floats) : any_view<D>(coded.integers);
    scales = any_view<D>(coded.scales).unsqueeze(0);
    if (scales->size(1) == 1) facts.lines = rows, facts.terms = k;
  }
  facts.code = coding_of(values.dtype());
  call.a =
      coded_operand<D>(op, "rows", values.unsqueeze(0), 1, rows, k, facts, scales, std::nullopt);
  call.a.group = call.a.scales.group = 0;
  call.b = w.lines;
  set_routes(call, routes, experts, to.size(0), share);
  call.space.placed.reads_places = order.reads;
  call.space.placed.writes_places = order.writes;
  set_result(call, to, w.n, k);
  call.out.bias = w.bias;
  call.out.weights = weights;
  multiply_groups(op, stream, call);
}

/// The activation of the halves of x [choices, 2 n], or of x, into to [choices, n].
template <class S, class X, class To>
void activate(const char* op, const S& stream, const X& x, const To& to,
              const expert_activation& how) {
  using C = f32;
  using O = value_t<const To&>;
  if (!how.is_gated) return assign(stream, to, cast<O>(silu(cast<C>(x))), op);
  const auto [gate, up] = halves(op, x, 1);
  if (!how.limit) return assign(stream, to, cast<O>(silu_and_mul(cast<C>(gate), cast<C>(up))), op);
  const C most = static_cast<C>(*how.limit);
  const auto within = minimum(maximum(cast<C>(up), -most), most);
  const auto below = minimum(cast<C>(gate), most);
  if (how.clamps_gate)
    assign(stream, to, cast<O>(mul(silu(maximum(below, -most)), within)), op);
  else
    assign(stream, to, cast<O>(mul(silu(below), within)), op);
}

/// What both products share.
template <class D>
struct expert_layer {
  any_view<D> topk_weights, topk_ids;
  optional_any<D> expert_map{}, a1_scale{}, a2_scale{};
  i64 experts = 0;
  bool weighs_first = false;
  row_coding rows{};
  expert_activation activation{};
};

/// Raises unless hidden [tokens, K], topk_weights and topk_ids [tokens, k] fit.
template <class X, class D>
void check_tokens(const char* op, const X& x, const any_view<D>& weights, const any_view<D>& ids) {
  if (x.rank() != 2 || ids.rank() != 2 || ids.size(0) != x.size(0) ||
      !same_sizes(ids.sizes(), weights.sizes())) [[unlikely]]
    raise(errc::shape_mismatch, op, "tokens [T, K], and weights and experts [T, k] for them",
          to_string(x.shape_of()) + ", " + to_string(weights.sizes()) + " and " +
              to_string(ids.sizes()));
  check_counts(op, ids.numel(), 1, 1);
}

/// out = the sum over each token's choices of weight * second(activation(first(x))); Inner is the
/// type of what lies between. All checks have been made.
template <class Inner, class S, class T, class Out, class D>
void run_experts(const char* op, const S& stream, const tensor_view<const T, D>& x,
                 const expert_weights& first, const expert_weights& second,
                 const expert_layer<D>& layer, const tensor_view<Out, D>& out) {
  const i64 tokens = x.size(0), choices = layer.topk_ids.size(1), all = tokens * choices;
  if (out.empty()) return;
  if (all == 0) return zero_(stream, out);
  const auto routes = route_choices(op, stream, layer.topk_ids, layer.expert_map, layer.experts);
  const auto weights = read_any<f32>(op, stream, layer.topk_weights);
  const auto weights_of = [&](bool wanted) { return wanted ? weights.data() : nullptr; };
  // What lies between is in the order of experts, so that the second product reads boxes, unless
  // rows have scales from outside.
  const bool is_sorted = !layer.a2_scale || layer.a2_scale->numel() == 1;
  auto inner = empty<Inner>(stream, {all, first.n}, op);
  multiply_choices(op, stream, x, first, routes, layer.experts, choices,
                   weights_of(layer.weighs_first), layer.rows, layer.a1_scale, inner.view(),
                   {false, is_sorted});
  auto active = empty<Inner>(stream, {all, layer.activation.is_gated ? first.n / 2 : first.n}, op);
  activate(op, stream, inner.view(), active.view(), layer.activation);
  auto given = empty<Inner>(stream, {all, second.n}, op);
  multiply_choices(op, stream, tensor_view<const Inner, D>(active.view()), second, routes,
                   layer.experts, i64{1}, weights_of(!layer.weighs_first), layer.rows,
                   layer.a2_scale, given.view(), {is_sorted, false});
  const auto parts = given.view().view({tokens, choices, second.n});
  if constexpr (std::is_same_v<Inner, Out>)
    sum(stream, parts, out, 1);
  else
    assign(stream, out, cast<Out>(sum(stream, parts, 1)), op);
}

/// Weights [E, n, k] as an operand, with a bias.
template <class D>
expert_weights weights_of(const char* op, const char* what, const any_view<D>& w, i64 experts,
                          i64 n, i64 k, const code_facts& facts, const optional_any<D>& scale,
                          const optional_any<D>& zeros, const optional_any<D>& bias) {
  return {coded_operand(op, what, w, experts, n, k, facts, scale, zeros),
          expert_bias(op, bias, experts, n), n};
}
/// Raises unless w1 and w2 have three dimensions and equally many experts.
template <class D>
void check_stacks(const char* op, const any_view<D>& w1, const any_view<D>& w2) {
  if (w1.rank() != 3 || w2.rank() != 3 || w1.size(0) != w2.size(0) || w1.size(1) % 2 != 0)
      [[unlikely]]
    raise(errc::shape_mismatch, op, "weights [E, 2 I, K] and [E, K, I]",
          to_string(w1.sizes()) + " and " + to_string(w2.sizes()));
}

/// The facts of weights that fused_experts takes.
template <class D>
code_facts facts_of_experts(const char* op, const fused_experts_options<D>& o, dtype type,
                            const optional_any<D>& scale, bool has_zeros, i64 n, i64 k) {
  code_facts rows, weights;
  if (o.ocp_mx_scheme == "w_mxfp4") {
    if (type != dtype::u8 || !scale) [[unlikely]]
      raise(errc::dtype_mismatch, op, "weights of u8, with scales", to_string(type));
    weights.code = kernels::coding::e2m1;
    weights.terms = 32;
    weights.scale = kernels::coding::e8m0;
    return weights;
  }
  facts_of_codes<D>(op, o, type, scale, n, k, rows, weights);
  take_zeros(weights, has_zeros);
  return weights;
}

template <class S, class X, class Out, class D = device_of<S>>
void fused_experts_into(const char* op, const S& stream, const X& hidden_states,
                        const any_view<D>& w1, const any_view<D>& w2,
                        const any_view<D>& topk_weights, const any_view<D>& topk_ids, Out&& to,
                        std::string_view activation, const fused_experts_options<D>& o) {
  using T = value_t<const X&>;
  same_device<S, X, Out>();
  static_assert(is_among<T, f32, bf16, f16> && std::is_same_v<T, value_t<Out>>,
                "flaggems: tokens and the result are of one of f32, bf16 and f16");
  const tensor_view<const T, D> x(as_view(hidden_states));
  const tensor_view<T, D> out(as_view(to));
  check_separate(op, out, w1, w2, topk_weights, topk_ids, o.expert_map, o.w1_scale, o.w2_scale,
                 o.w1_zp, o.w2_zp, o.a1_scale, o.a2_scale, o.w1_bias, o.w2_bias);
  check_no_partial_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  check_tokens(op, x, topk_weights, topk_ids);
  check_stacks(op, w1, w2);
  if (activation != "silu") [[unlikely]]
    raise(errc::not_supported, op, "the activation silu", activation);
  if (o.ocp_mx_scheme != "none" && o.ocp_mx_scheme != "w_mxfp4") [[unlikely]]
    raise(errc::not_supported, op, "the ocp_mx_scheme w_mxfp4, or none", o.ocp_mx_scheme);
  const i64 experts = w1.size(0), wide = w1.size(1), k = x.size(1);
  const i64 named = o.global_num_experts < 0 ? experts : o.global_num_experts;
  if (o.expert_map && o.expert_map->numel() != named) [[unlikely]]
    raise(errc::shape_mismatch, op, "an expert_map of " + text(named) + " elements",
          to_string(o.expert_map->sizes()));
  check_sizes(op, out, x.shape_of());
  const auto weights = [&](const char* what, const any_view<D>& w, i64 n, i64 terms,
                           const optional_any<D>& scale, const optional_any<D>& zeros,
                           const optional_any<D>& bias) {
    const code_facts facts = facts_of_experts(op, o, w.dtype(), scale, zeros.has_value(), n, terms);
    return weights_of(op, what, w, experts, n, terms, facts, scale, zeros, bias);
  };
  const auto first = weights("w1", w1, wide, k, o.w1_scale, o.w1_zp, o.w1_bias);
  const auto second = weights("w2", w2, k, wide / 2, o.w2_scale, o.w2_zp, o.w2_bias);
  expert_layer<D> layer{topk_weights,
                        topk_ids,
                        o.expert_map,
                        o.a1_scale,
                        o.a2_scale,
                        experts,
                        o.apply_router_weight_on_input};
  layer.rows = {o.use_fp8_w8a8, o.use_int8_w8a8, o.per_channel_quant,
                o.block_shape.size() == 2 ? o.block_shape[1] : 0};
  if (replaced<operators::fused_experts>(op, stream, x, w1, w2, topk_weights, topk_ids, out, o))
    return;
  run_experts<T>("fused_experts", stream, x, first, second, layer, out);
}

}  // namespace detail

/// out[t] = the sum over i of topk_weights[t, i] * y(t, topk_ids[t, i]), where y(t, e) =
/// silu(g) * u times w2[e]^T, of g and u, the halves of hidden_states[t] times w1[e]^T; a mixture
/// of experts.
///
/// hidden_states [T, K] and out of f32, bf16 or f16; w1 [E, 2 I, K] and w2 [E, K, I] of the same,
/// or coded as the options say (K / 2 and I / 2 of pairs of 4 bits); topk_weights [T, k] of any of
/// these, topk_ids of i32 or i64. Scales as dispatch_fused_moe_kernel takes them. Experts that do
/// not exist, or are elsewhere by expert_map, give nothing. Sums are in f32, each product is
/// rounded to hidden_states' dtype, which coded activations are made from. out may be
/// hidden_states. Raises shape_mismatch, dtype_mismatch, invalid_argument, not_supported or overlap
/// before anything is written. flag_gems::fused_experts_impl(Tensor hidden_states, Tensor w1,
/// Tensor w2, Tensor topk_weights, Tensor topk_ids, bool inplace=False, str activation='silu', ..)
template <stream_like S, tensor_like X, tensor_like Out>
void fused_experts_impl(const S& stream, const X& hidden_states, const any_view<device_of<S>>& w1,
                        const any_view<device_of<S>>& w2,
                        const any_view<device_of<S>>& topk_weights,
                        const any_view<device_of<S>>& topk_ids, Out&& out,
                        std::string_view activation = "silu",
                        const fused_experts_options<device_of<S>>& options = {}) {
  detail::fused_experts_into("fused_experts_impl", stream, hidden_states, w1, w2, topk_weights,
                             topk_ids, out, activation, options);
}
/// The same in a new tensor; also flag_gems::outplace_fused_experts.
template <stream_like S, tensor_like X>
[[nodiscard]] auto fused_experts_impl(const S& stream, const X& hidden_states,
                                      const any_view<device_of<S>>& w1,
                                      const any_view<device_of<S>>& w2,
                                      const any_view<device_of<S>>& topk_weights,
                                      const any_view<device_of<S>>& topk_ids,
                                      std::string_view activation = "silu",
                                      const fused_experts_options<device_of<S>>& options = {}) {
  auto out =
      empty<value_t<const X&>>(stream, as_view(hidden_states).shape_of(), "fused_experts_impl");
  fused_experts_impl(stream, hidden_states, w1, w2, topk_weights, topk_ids, out, activation,
                     options);
  return out;
}
/// The same into hidden_states itself. flag_gems::inplace_fused_experts(Tensor(a!) hidden_states,
/// Tensor w1, Tensor w2, Tensor topk_weights, Tensor topk_ids, str activation='silu', ..)
template <stream_like S, tensor_like X>
void inplace_fused_experts(const S& stream, X&& hidden_states, const any_view<device_of<S>>& w1,
                           const any_view<device_of<S>>& w2,
                           const any_view<device_of<S>>& topk_weights,
                           const any_view<device_of<S>>& topk_ids,
                           std::string_view activation = "silu",
                           const fused_experts_options<device_of<S>>& options = {}) {
  detail::fused_experts_into("inplace_fused_experts", stream, hidden_states, w1, w2, topk_weights,
                             topk_ids, hidden_states, activation, options);
}

/// The weights that fused_marlin_moe multiplies, by FlagGems' numbers.
enum class marlin_format : i64 {
  u4_8 = 0,    ///< pairs of 4 bits, less 8
  u8_128 = 1,  ///< bytes less 128
  f8 = 2,      ///< of e4m3
  e2m1 = 6     ///< pairs of floats of 4 bits, whose scales are powers of two
};

/// The options of fused_marlin_moe.
template <class D>
struct fused_marlin_options {
  bool apply_router_weight_on_input = false;
  i64 global_num_experts = -1;
  std::optional<any_view<D>> expert_map{};
  std::optional<f64> clamp_limit{};  ///< gates are at most this, the others within it on both sides
  i64 group_size = 128;              ///< terms that share a scale; all of them if not positive
};

/// out = a mixture of experts, as fused_experts_impl, of activations of 16 bits and weights of 4 or
/// 8, by quant_type_id (marlin_format): w1 [E, 2 I, K], w2 [E, K, I] of u8, half as long of pairs
/// of 4 bits; scales [E, 2 I, ceil(K / group_size)] and [E, K, ceil(I / group_size)], of e2m1 in u8
/// as powers of two, 32 terms a group. (FlagGems takes Marlin's interface, with weights in rows.)
/// flag_gems::fused_marlin_moe(Tensor hidden_states, Tensor w1, Tensor w2, Tensor? bias1, Tensor?
/// bias2, Tensor w1_scale, Tensor w2_scale, Tensor topk_weights, Tensor topk_ids, int
/// quant_type_id,
/// ..)
template <stream_like S, tensor_like X, tensor_like Out>
void fused_marlin_moe(const S& stream, const X& hidden_states, const any_view<device_of<S>>& w1,
                      const any_view<device_of<S>>& w2,
                      const std::optional<any_view<device_of<S>>>& bias1,
                      const std::optional<any_view<device_of<S>>>& bias2,
                      const any_view<device_of<S>>& w1_scale,
                      const any_view<device_of<S>>& w2_scale,
                      const any_view<device_of<S>>& topk_weights,
                      const any_view<device_of<S>>& topk_ids, Out&& out, i64 quant_type_id,
                      const fused_marlin_options<device_of<S>>& options = {}) {
  constexpr const char* op = "fused_marlin_moe";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Out>();
  static_assert(detail::is_among<T, f32, bf16, f16> && std::is_same_v<T, value_t<Out>>,
                "flaggems: tokens and the result are of one of f32, bf16 and f16");
  const tensor_view<const T, D> x(as_view(hidden_states));
  const tensor_view<T, D> to(as_view(out));
  detail::check_tokens(op, x, topk_weights, topk_ids);
  detail::check_stacks(op, w1, w2);
  detail::code_facts facts;
  facts.scale = kernels::coding::e8m0;
  switch (static_cast<marlin_format>(quant_type_id)) {
    case marlin_format::u4_8: facts.code = kernels::coding::u4_8; break;
    case marlin_format::u8_128: facts.code = kernels::coding::u8_128; break;
    case marlin_format::f8: facts.code = kernels::coding::f8e4m3; break;
    case marlin_format::e2m1: facts.code = kernels::coding::e2m1; break;
    default:
      raise(errc::not_supported, op, "a quant_type_id of 0, 1, 2 or 6",
            detail::text(quant_type_id));
  }
  const bool floats = facts.code == kernels::coding::f8e4m3;
  for (const any_view<D>* w : {&w1, &w2})
    if (w->dtype() != (floats ? dtype::f8e4m3 : dtype::u8)) [[unlikely]]
      raise(errc::dtype_mismatch, op, floats ? "weights of f8e4m3" : "weights of u8",
            to_string(w->dtype()));
  if (facts.code == kernels::coding::e2m1)
    facts.terms = 32;
  else
    facts.scale = kernels::coding::f32;  // u8 are none
  const i64 experts = w1.size(0), wide = w1.size(1), k = x.size(1);
  const i64 named = options.global_num_experts < 0 ? experts : options.global_num_experts;
  if (options.expert_map && options.expert_map->numel() != named) [[unlikely]]
    raise(errc::shape_mismatch, op, "an expert_map of " + detail::text(named) + " elements",
          to_string(options.expert_map->sizes()));
  detail::check_sizes(op, to, x.shape_of());
  detail::check_separate(op, to, w1, w2, w1_scale, w2_scale, bias1, bias2, topk_weights, topk_ids,
                         options.expert_map);
  detail::check_no_partial_overlap(op, detail::placed_layout(detail::layout_of(to)),
                                   detail::layout_of(x));
  const auto weights = [&](const char* what, const any_view<D>& w, i64 n, i64 terms,
                           const any_view<D>& scale, const detail::optional_any<D>& bias) {
    detail::code_facts own = facts;
    if (facts.code != kernels::coding::e2m1)
      own.terms = options.group_size > 0 ? options.group_size : terms;
    return detail::weights_of<D>(op, what, w, experts, n, terms, own, scale, std::nullopt, bias);
  };
  const auto first = weights("w1", w1, wide, k, w1_scale, bias1);
  const auto second = weights("w2", w2, k, wide / 2, w2_scale, bias2);
  detail::expert_layer<D> layer{topk_weights,
                                topk_ids,
                                options.expert_map,
                                {},
                                {},
                                experts,
                                options.apply_router_weight_on_input};
  layer.activation.limit = options.clamp_limit;
  detail::run_experts<T>(op, stream, x, first, second, layer, to);
}
/// The same in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto fused_marlin_moe(
    const S& stream, const X& hidden_states, const any_view<device_of<S>>& w1,
    const any_view<device_of<S>>& w2, const std::optional<any_view<device_of<S>>>& bias1,
    const std::optional<any_view<device_of<S>>>& bias2, const any_view<device_of<S>>& w1_scale,
    const any_view<device_of<S>>& w2_scale, const any_view<device_of<S>>& topk_weights,
    const any_view<device_of<S>>& topk_ids, i64 quant_type_id,
    const fused_marlin_options<device_of<S>>& options = {}) {
  auto out =
      empty<value_t<const X&>>(stream, as_view(hidden_states).shape_of(), "fused_marlin_moe");
  fused_marlin_moe(stream, hidden_states, w1, w2, bias1, bias2, w1_scale, w2_scale, topk_weights,
                   topk_ids, out, quant_type_id, options);
  return out;
}
/// fused_marlin_moe of pairs of 4 bits less 8. flag_gems::fused_marlin_moe_w4a16_int4(Tensor
/// hidden_states, Tensor w1, Tensor w2, Tensor w1_scale, Tensor w2_scale, Tensor topk_weights,
/// Tensor topk_ids, *, str activation='silu', int group_size=128, bool
/// apply_router_weight_on_input=False, bool inplace=False, bool swap_ab=True)
template <stream_like S, tensor_like X>
[[nodiscard]] auto fused_marlin_moe_w4a16_int4(
    const S& stream, const X& hidden_states, const any_view<device_of<S>>& w1,
    const any_view<device_of<S>>& w2, const any_view<device_of<S>>& w1_scale,
    const any_view<device_of<S>>& w2_scale, const any_view<device_of<S>>& topk_weights,
    const any_view<device_of<S>>& topk_ids, i64 group_size = 128,
    bool apply_router_weight_on_input = false) {
  return fused_marlin_moe(stream, hidden_states, w1, w2, std::nullopt, std::nullopt, w1_scale,
                          w2_scale, topk_weights, topk_ids, static_cast<i64>(marlin_format::u4_8),
                          {apply_router_weight_on_input, -1, {}, {}, group_size});
}
/// fused_marlin_moe of pairs of e2m1. flag_gems::fused_marlin_moe_w4a16_mxfp4(Tensor hidden_states,
/// Tensor w1, Tensor w2, Tensor w1_scale, Tensor w2_scale, Tensor topk_weights, Tensor topk_ids, *,
/// str activation='silu', int group_size=32, bool apply_router_weight_on_input=False, bool
/// inplace=False, bool swap_ab=True)
template <stream_like S, tensor_like X>
[[nodiscard]] auto fused_marlin_moe_w4a16_mxfp4(
    const S& stream, const X& hidden_states, const any_view<device_of<S>>& w1,
    const any_view<device_of<S>>& w2, const any_view<device_of<S>>& w1_scale,
    const any_view<device_of<S>>& w2_scale, const any_view<device_of<S>>& topk_weights,
    const any_view<device_of<S>>& topk_ids, bool apply_router_weight_on_input = false) {
  return fused_marlin_moe(stream, hidden_states, w1, w2, std::nullopt, std::nullopt, w1_scale,
                          w2_scale, topk_weights, topk_ids, static_cast<i64>(marlin_format::e2m1),
                          {apply_router_weight_on_input});
}

}  // namespace flaggems
