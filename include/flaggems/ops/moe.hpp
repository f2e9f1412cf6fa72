// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Mixtures of experts: which experts a token goes to, and the sum of what they give.
#pragma once

#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/topk.hpp>

#include <type_traits>

namespace flaggems {

namespace detail {
/// Raises unless weights, indices and places [tokens, k] can be written for choices among
/// gating [tokens, experts].
template <class Gating, class Weights, class Indices, class Places>
void check_choices(const char* op, const Gating& gating, const Weights& weights,
                   const Indices& indices, const Places& places) {
  if (gating.rank() != 2 || weights.rank() != 2 || weights.size(0) != gating.size(0) ||
      weights.size(1) > gating.size(1)) [[unlikely]]
    raise_shapes(op, "[tokens, experts] and outputs of at most as many experts", gating.shape_of(),
                 weights.shape_of());
  check_output_sizes(op, weights.shape_of(), indices);
  check_output_sizes(op, weights.shape_of(), places);
  check_writable(op, weights);
  check_writable(op, indices);
  check_writable(op, places);
  const placed_layout first(layout_of(weights)), second(layout_of(indices));
  check_no_overlap(op, first, layout_of(indices));
  check_no_overlap(op, first, layout_of(places));
  check_no_overlap(op, second, layout_of(places));
}
}  // namespace detail

/// The k experts with the greatest shares of softmax(gating_output), of each token: their shares,
/// best first, and indices; and token_expert_indices[t, i] = i tokens + t, where a copy of token t
/// for its expert i lies. With `renormalize` the shares of a token add up to 1.
///
/// Shapes: gating_output [tokens, experts]; the outputs [tokens, k], k <= experts; shares are
/// floating-point, indices i64 or i32. Shares are computed in f32, or f64. Outputs share no memory.
/// Raises shape_mismatch or overlap before anything is written.
/// flag_gems::topk_softmax(Tensor(a!) topk_weights, Tensor(b!) topk_indices, Tensor(c!)
/// token_expert_indices, Tensor gating_output, bool renormalize=False)
template <stream_like S, tensor_like Weights, tensor_like Indices, tensor_like Places,
          tensor_like Gating>
void topk_softmax(const S& stream, Weights&& topk_weights, Indices&& topk_indices,
                  Places&& token_expert_indices, const Gating& gating_output,
                  bool renormalize = false) {
  constexpr const char* op = "topk_softmax";
  using C = std::conditional_t<std::is_same_v<value_t<const Gating&>, f64>, f64, f32>;
  constexpr bool right = detail::kind_of<value_t<const Gating&>> == detail::kind::floating &&
                         detail::kind_of<value_t<Weights>> == detail::kind::floating &&
                         detail::kind_of<value_t<Indices>> == detail::kind::integer &&
                         detail::kind_of<value_t<Places>> == detail::kind::integer;
  same_device<S, Weights, Indices, Places, Gating>();
  static_assert(right, "flaggems: shares are floating-point, indices integers");
  const auto gating = as_view(gating_output);
  const auto weights = as_view(topk_weights);
  const auto indices = as_view(topk_indices);
  const auto places = as_view(token_expert_indices);
  detail::check_choices(op, gating, weights, indices, places);
  if constexpr (right) {
    if (weights.empty()) return;
    const auto best = topk(stream, softmax<C>(stream, gating, 1), weights.size(1), 1);
    if (renormalize)
      assign(stream, weights,
             cast<value_t<Weights>>(best.values / sum(stream, best.values, 1, true)), op);
    else
      assign(stream, weights, cast<value_t<Weights>>(best.values), op);
    assign(stream, indices, cast<value_t<Indices>>(best.indices), op);
    detail::assign_node(op, stream, places.transpose(0, 1), detail::sequence<i64>{0, 1});
  }
}

/// out[t] = the sum over i of x[t, i]: what a token's experts gave.
///
/// x [tokens, k, H], out [tokens, H], one floating-point dtype, any strides; sums are in f32 or
/// f64. Raises shape_mismatch or overlap. flag_gems::moe_sum(Tensor input, Tensor(a!) output)
template <stream_like S, tensor_like X, tensor_like Out>
void moe_sum(const S& stream, const X& x, Out&& out) {
  using T = value_t<const X&>;
  same_device<S, X, Out>();
  static_assert(detail::kind_of<T> == detail::kind::floating && std::is_same_v<T, value_t<Out>>,
                "flaggems: input and output have one floating-point dtype");
  const auto v = as_view(x);
  if (v.rank() != 3) [[unlikely]]
    raise(errc::shape_mismatch, "moe_sum", "an input [tokens, k, H]", to_string(v.sizes()));
  sum(stream, v, out, 1);
}

}  // namespace flaggems
