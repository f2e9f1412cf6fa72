// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Mixtures of experts of models that keep activations in 8 bits and weights in 4, and of models
// whose gates and values are weights of their own.
#pragma once

#include <flaggems/ops/bitwise.hpp>
#include <flaggems/ops/fused_experts.hpp>

#include <optional>
#include <type_traits>

namespace flaggems {

namespace detail {

/// Terms that share a scale in MX formats.
inline constexpr i64 mx_group = 32;

template <class S, class X, class Out, class D>
void mega_moe_into(const char* op, const S& stream, const X& x, const any_view<D>& x_scale,
                   const any_view<D>& topk_idx, const any_view<D>& topk_weights,
                   const any_view<D>& l1, const any_view<D>& l1_scales, const any_view<D>& l2,
                   const any_view<D>& l2_scales, const tensor_view<Out, D>& out,
                   std::optional<f64> clamp) {
  check_tokens(op, x, topk_weights, topk_idx);
  check_stacks(op, l1, l2);
  const i64 experts = l1.size(0), wide = l1.size(1), k = x.size(1), rows = x.size(0);
  if (k % mx_group != 0 || wide / 2 % mx_group != 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "sizes that are multiples of 32",
          to_string(x.shape_of()) + " and " + to_string(l1.sizes()));
  for (const any_view<D>* w : {&l1, &l2})
    if (w->dtype() != dtype::u8 && w->dtype() != dtype::i8) [[unlikely]]
      raise(errc::dtype_mismatch, op, "weights of u8 or i8, two in each", to_string(w->dtype()));
  check_sizes(op, out, x.shape_of());
  check_separate(op, out, x, x_scale, topk_idx, topk_weights, l1, l1_scales, l2, l2_scales);
  code_facts facts;
  facts.code = kernels::coding::e2m1;
  facts.scale = kernels::coding::e8m0;
  facts.terms = mx_group;
  const auto first = weights_of<D>(op, "l1_weights", l1, experts, wide, k, facts, l1_scales,
                                   std::nullopt, std::nullopt);
  const auto second = weights_of<D>(op, "l2_weights", l2, experts, k, wide / 2, facts, l2_scales,
                                    std::nullopt, std::nullopt);
  const shape of_scales{rows, k / mx_group};
  if (!same_sizes(x_scale.sizes(), of_scales)) [[unlikely]]
    raise(errc::shape_mismatch, op, "x_scale of sizes " + to_string(of_scales),
          to_string(x_scale.sizes()));
  check_numbers(op, "x_scale", x_scale.dtype(), true);
  if (out.empty()) return;
  // The codes as numbers: a token's are read by each of its experts.
  auto scales = empty<f32>(stream, of_scales, op);
  if (x_scale.dtype() == dtype::u8)
    assign(stream, scales, exp2(cast<f32>(x_scale.template as<const u8>()) - 127.0F), op);
  else
    assign(stream, scales, read_any<f32>(op, stream, x_scale), op);
  auto numbers = empty<f32>(stream, x.shape_of(), op);
  assign(stream, numbers.view().unflatten(1, {k / mx_group, mx_group}),
         mul(cast<f32>(x.unflatten(1, {k / mx_group, mx_group})), scales.view().unsqueeze(-1)), op);
  expert_layer<D> layer{topk_weights, topk_idx, {}, {}, {}, experts};
  layer.activation.limit = clamp;
  layer.activation.clamps_gate = true;
  run_experts<f32>(op, stream, tensor_view<const f32, D>(numbers.view()), first, second, layer,
                   out);
}

}  // namespace detail

/// out = a mixture of experts, as fused_experts_impl, of tokens of 8-bit floats and weights of 4,
/// computed in f32; with activation_clamp both halves of the first product are within it.
///
/// x_fp8 [T, H] of f8e4m3; x_scale [T, H / 32], floating-point or powers of two in u8; topk_idx [T,
/// k] of i64 or i32, negative for none; l1_weights [E, 2 I, H / 2] and l2_weights [E, H, I / 2],
/// pairs of e2m1 in u8 or i8; l1_scales [E, 2 I, H / 32] and l2_scales [E, H, I / 32] as x_scale;
/// out [T, H] of bf16, f16 or f32. Raises shape_mismatch, dtype_mismatch or overlap before anything
/// is written. flag_gems::fp8_fp4_mega_moe(Tensor x_fp8, Tensor x_scale, Tensor topk_idx, Tensor
/// topk_weights, Tensor l1_weights, Tensor l1_scales, Tensor l2_weights, Tensor l2_scales, Tensor?
/// out=None, float? activation_clamp=None)
template <stream_like S, tensor_like X, tensor_like Out>
void fp8_fp4_mega_moe(const S& stream, const X& x_fp8, const any_view<device_of<S>>& x_scale,
                      const any_view<device_of<S>>& topk_idx,
                      const any_view<device_of<S>>& topk_weights,
                      const any_view<device_of<S>>& l1_weights,
                      const any_view<device_of<S>>& l1_scales,
                      const any_view<device_of<S>>& l2_weights,
                      const any_view<device_of<S>>& l2_scales, Out&& out,
                      std::optional<f64> activation_clamp = {}) {
  using D = device_of<S>;
  same_device<S, X, Out>();
  static_assert(
      std::is_same_v<value_t<const X&>, f8e4m3> && detail::is_among<value_t<Out>, f32, bf16, f16>,
      "flaggems: tokens are of f8e4m3, the result of f32, bf16 or f16");
  detail::mega_moe_into("fp8_fp4_mega_moe", stream, as_view(x_fp8), x_scale, topk_idx, topk_weights,
                        l1_weights, l1_scales, l2_weights, l2_scales,
                        tensor_view<value_t<Out>, D>(as_view(out)), activation_clamp);
}
/// The same in a new tensor of bf16.
template <stream_like S, tensor_like X>
[[nodiscard]] auto fp8_fp4_mega_moe(
    const S& stream, const X& x_fp8, const any_view<device_of<S>>& x_scale,
    const any_view<device_of<S>>& topk_idx, const any_view<device_of<S>>& topk_weights,
    const any_view<device_of<S>>& l1_weights, const any_view<device_of<S>>& l1_scales,
    const any_view<device_of<S>>& l2_weights, const any_view<device_of<S>>& l2_scales,
    std::optional<f64> activation_clamp = {}) {
  auto out = empty<bf16>(stream, as_view(x_fp8).shape_of(), "fp8_fp4_mega_moe");
  fp8_fp4_mega_moe(stream, x_fp8, x_scale, topk_idx, topk_weights, l1_weights, l1_scales,
                   l2_weights, l2_scales, out, activation_clamp);
  return out;
}
/// The same in a new tensor of f32. flag_gems::fp8_fp4_mega_moe_torch_ref(Tensor x_fp8, Tensor
/// x_scale, Tensor topk_idx, Tensor topk_weights, Tensor l1_weights, Tensor l1_scales, Tensor
/// l2_weights, Tensor l2_scales, float? activation_clamp=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto fp8_fp4_mega_moe_torch_ref(
    const S& stream, const X& x_fp8, const any_view<device_of<S>>& x_scale,
    const any_view<device_of<S>>& topk_idx, const any_view<device_of<S>>& topk_weights,
    const any_view<device_of<S>>& l1_weights, const any_view<device_of<S>>& l1_scales,
    const any_view<device_of<S>>& l2_weights, const any_view<device_of<S>>& l2_scales,
    std::optional<f64> activation_clamp = {}) {
  auto out = empty<f32>(stream, as_view(x_fp8).shape_of(), "fp8_fp4_mega_moe");
  fp8_fp4_mega_moe(stream, x_fp8, x_scale, topk_idx, topk_weights, l1_weights, l1_scales,
                   l2_weights, l2_scales, out, activation_clamp);
  return out;
}

/// What a mixture of 8-bit floats takes: x_fp8 = hidden_states divided by the scale of each 32 of
/// a token's elements, the least power of two of at least max(|x|, 1e-4) / 448; x_sf = the
/// exponents of four scales each, biased by 127, the first one in the low byte; topk_ids and
/// topk_weights copied.
///
/// hidden_states [T, H] of f32, bf16 or f16, H a multiple of 128; x_fp8 [T, H] of f8e4m3; x_sf [T,
/// H / 128] of i32; topk_weights and topk_ids [T, k], floats and i32 or i64, into floats and
/// integers. Outputs share no memory. Raises shape_mismatch or overlap before anything is written.
/// flag_gems::stage_deepseek_v4_mega_moe_inputs(Tensor hidden_states, Tensor topk_weights, Tensor
/// topk_ids, Tensor(a!) x_fp8, Tensor(b!) x_sf, Tensor(c!) topk_idx_out, Tensor(d!)
/// topk_weights_out)
template <stream_like S, tensor_like X, tensor_like Codes, tensor_like Scales, tensor_like IdsOut,
          tensor_like WeightsOut>
void stage_deepseek_v4_mega_moe_inputs(const S& stream, const X& hidden_states,
                                       const any_view<device_of<S>>& topk_weights,
                                       const any_view<device_of<S>>& topk_ids, Codes&& x_fp8,
                                       Scales&& x_sf, IdsOut&& topk_idx_out,
                                       WeightsOut&& topk_weights_out) {
  constexpr const char* op = "stage_deepseek_v4_mega_moe_inputs";
  using D = device_of<S>;
  using detail::mx_group;
  same_device<S, X, Codes, Scales, IdsOut, WeightsOut>();
  static_assert(std::is_same_v<value_t<Codes>, f8e4m3> && std::is_same_v<value_t<Scales>, i32>,
                "flaggems: codes are of f8e4m3, their exponents of i32");
  const auto x = as_view(hidden_states);
  const auto codes = as_view(x_fp8);
  const auto packed = as_view(x_sf);
  const auto ids_to = as_view(topk_idx_out);
  const auto weights_to = as_view(topk_weights_out);
  constexpr i64 together = 4;  // exponents of a number of 32 bits
  if (x.rank() != 2 || x.size(1) % (together * mx_group) != 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "tokens of a multiple of 128 elements",
          to_string(x.shape_of()));
  const i64 rows = x.size(0), groups = x.size(1) / mx_group;
  detail::check_sizes(op, codes, x.shape_of(), "x_fp8");
  detail::check_sizes(op, packed, {rows, groups / together}, "x_sf");
  detail::check_tokens(op, x, topk_weights, topk_ids);
  detail::check_sizes(op, ids_to, shape(topk_ids.sizes()), "topk_idx_out");
  detail::check_sizes(op, weights_to, shape(topk_ids.sizes()), "topk_weights_out");
  detail::check_separate(op, codes, x, topk_weights, topk_ids);
  detail::check_separate(op, packed, x, topk_weights, topk_ids, codes);
  detail::check_separate(op, ids_to, x, topk_weights, topk_ids, codes, packed);
  detail::check_separate(op, weights_to, x, topk_weights, topk_ids, codes, packed, ids_to);
  if (rows == 0) return;
  if (groups > 0) {
    const auto cut = x.unflatten(1, {groups, mx_group});
    auto scales = empty<f32>(stream, {rows, groups, 1}, op);
    const i64 inner = 2;
    amax(stream, abs(cast<f32>(cut)), scales, int_list(&inner, 1), true);
    assign(stream, scales,
           apply(kernels::next_power_of_two_fn{}, mul(maximum(scales, 1e-4F), 1.0F / 448.0F)), op);
    assign(stream, scales, minimum(scales, 0x1p127F), op);
    assign(stream, codes.unflatten(1, {groups, mx_group}),
           cast<f8e4m3>(div(cast<f32>(cut), scales)), op);
    // The bits of a power of two are its exponent.
    const tensor_view<const i32, D> bits(
        static_cast<const i32*>(static_cast<const void*>(scales.data())),
        shape{rows, groups / together, together});
    const auto exponent = [&](i64 e) { return bitwise_right_shift(bits.select(2, e), 23); };
    assign(stream, packed,
           add(add(exponent(0), mul(exponent(1), 256)),
               add(mul(exponent(2), 65536), mul(exponent(3), 16777216))),
           op);
  }
  const auto ids = detail::read_any<i64>(op, stream, topk_ids);
  const auto weights = detail::read_any<f32>(op, stream, topk_weights);
  assign(stream, ids_to, cast<value_t<IdsOut>>(ids), op);
  assign(stream, weights_to, cast<value_t<WeightsOut>>(weights), op);
}

/// Scales and zero points of fused_moe's weights, [E, lines, groups of terms].
template <class D>
struct fused_moe_options {
  std::optional<any_view<D>> w1_scales{}, w1_zeros{}, w2_scales{}, w2_zeros{}, w3_scales{},
      w3_zeros{};
};

namespace detail {

/// Weights [E, n, k]: numbers, or with scales u8 that are q * scale + zero.
template <class D>
expert_weights scaled_weights(const char* op, const char* what, const any_view<D>& w, i64 experts,
                              i64 n, i64 k, const optional_any<D>& scales,
                              const optional_any<D>& zeros) {
  const bool right = scales ? w.dtype() == dtype::u8 || w.dtype() == dtype::i8
                            : is_floating_point(w.dtype()) && size_of(w.dtype()) < 8;
  if (!right || (zeros && !scales)) [[unlikely]]
    raise(errc::dtype_mismatch, op,
          text(what) + (scales ? " of u8 or i8" : " of f32, bf16 or f16, without zero points"),
          to_string(w.dtype()));
  code_facts facts;
  facts.code = coding_of(w.dtype());
  facts.zeros_are = kernels::zero_kind::added;
  facts.terms = k;
  if (scales && scales->rank() == 3 && scales->size(2) > 0)
    facts.terms = kernels::ceil_div(k, scales->size(2));
  return weights_of<D>(op, what, w, experts, n, k, facts, scales, zeros, std::nullopt);
}

}  // namespace detail

/// out[t] = the sum over i of topk_weights[t, i] * y(t, topk_ids[t, i]), y(t, e) = (silu(x[t] *
/// w1[e]^T) * (x[t] * w3[e]^T)) * w2[e]^T; without w3 there is no second factor, without w2 y is
/// x[t] * w1[e]^T.
///
/// x [T, K] and out [T, K], without w2 [T, I], of f32, bf16 or f16; w1 and w3 [E, I, K], w2 [E, K,
/// I] of these, or of u8 with scales and zero points [E, lines, groups of terms], which stand for q
/// * scale + zero. Products are rounded to x's dtype. Raises shape_mismatch, dtype_mismatch or
/// overlap before anything is written. flag_gems::fused_moe(Tensor x, Tensor? w1, Tensor? w2,
/// Tensor? w3=None, Tensor topk_weights, Tensor topk_ids, .., Tensor? w1_q, Tensor? w1_scales,
/// Tensor? w1_zeros, ..): w1 is w1_q where there are scales
template <stream_like S, tensor_like X, tensor_like Out>
void fused_moe(const S& stream, const X& x, const any_view<device_of<S>>& w1,
               const std::optional<any_view<device_of<S>>>& w2,
               const std::optional<any_view<device_of<S>>>& w3,
               const any_view<device_of<S>>& topk_weights, const any_view<device_of<S>>& topk_ids,
               Out&& out, const fused_moe_options<device_of<S>>& options = {}) {
  constexpr const char* op = "fused_moe";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Out>();
  static_assert(detail::is_among<T, f32, bf16, f16> && std::is_same_v<T, value_t<Out>>,
                "flaggems: tokens and the result are of one of f32, bf16 and f16");
  const tensor_view<const T, D> from(as_view(x));
  const tensor_view<T, D> to(as_view(out));
  detail::check_tokens(op, from, topk_weights, topk_ids);
  if (w1.rank() != 3 || (w3 && !w2)) [[unlikely]]
    raise(errc::shape_mismatch, op, "w1 [E, I, K], and w2 where there is w3",
          to_string(w1.sizes()));
  const i64 experts = w1.size(0), inner = w1.size(1), k = from.size(1);
  detail::check_sizes(op, to, {from.size(0), w2 ? k : inner});
  detail::check_separate(op, to, from, w1, w2, w3, topk_weights, topk_ids, options.w1_scales,
                         options.w1_zeros, options.w2_scales, options.w2_zeros, options.w3_scales,
                         options.w3_zeros);
  const auto first =
      detail::scaled_weights(op, "w1", w1, experts, inner, k, options.w1_scales, options.w1_zeros);
  detail::expert_weights second{}, third{};
  if (w2)
    second = detail::scaled_weights(op, "w2", *w2, experts, k, inner, options.w2_scales,
                                    options.w2_zeros);
  if (w3)
    third = detail::scaled_weights(op, "w3", *w3, experts, inner, k, options.w3_scales,
                                   options.w3_zeros);
  const i64 tokens = from.size(0), choices = topk_ids.size(1), all = tokens * choices;
  if (to.empty()) return;
  if (all == 0) return zero_(stream, to);
  const auto routes = detail::route_choices<S, D>(op, stream, topk_ids, std::nullopt, experts);
  const auto weights = detail::read_any<f32>(op, stream, topk_weights);
  const auto multiply = [&](const tensor_view<const T, D>& rows, const detail::expert_weights& by,
                            i64 share, bool weighs, const detail::expert_order& order) {
    auto r = empty<T>(stream, {all, by.n}, op);
    detail::multiply_choices<S, T, T, D>(op, stream, rows, by, routes, experts, share,
                                         weighs ? weights.data() : nullptr, {}, std::nullopt,
                                         r.view(), order);
    return r;
  };
  const detail::expert_order to_places{false, w2.has_value()};  // for the last product
  auto last = multiply(from, first, choices, !w2, to_places);
  if (w2) {
    auto active = empty<T>(stream, {all, inner}, op);
    if (w3) {
      const auto up = multiply(from, third, choices, false, to_places);
      assign(stream, active, cast<T>(silu_and_mul(cast<f32>(last), cast<f32>(up))), op);
    } else {
      assign(stream, active, cast<T>(silu(cast<f32>(last))), op);
    }
    last = multiply(tensor_view<const T, D>(active.view()), second, 1, true, {true, false});
  }
  sum(stream, last.view().view({tokens, choices, to.size(1)}), to, 1);
}
/// The same in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto fused_moe(const S& stream, const X& x, const any_view<device_of<S>>& w1,
                             const std::optional<any_view<device_of<S>>>& w2,
                             const std::optional<any_view<device_of<S>>>& w3,
                             const any_view<device_of<S>>& topk_weights,
                             const any_view<device_of<S>>& topk_ids,
                             const fused_moe_options<device_of<S>>& options = {}) {
  if (w1.rank() != 3) [[unlikely]]
    raise(errc::shape_mismatch, "fused_moe", "w1 [E, I, K]", to_string(w1.sizes()));
  shape sizes = as_view(x).shape_of();
  if (!w2 && sizes.rank() == 2) sizes[1] = w1.size(1);
  auto out = empty<value_t<const X&>>(stream, sizes, "fused_moe");
  fused_moe(stream, x, w1, w2, w3, topk_weights, topk_ids, out, options);
  return out;
}

}  // namespace flaggems
