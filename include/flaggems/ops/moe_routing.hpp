// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Routing of tokens to experts: choices by other scores than softmax, the scores themselves, and
// the order in which blocks of tokens meet their experts.
#pragma once

#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/moe.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/sort.hpp>

#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {

/// 0, 1, ... n - 1.
template <class S>
auto counted(const char* op, const S& stream, i64 n) {
  auto out = empty<i64>(stream, {n}, op);
  if (n > 0) assign_node(op, stream, out.view(), sequence<i64>{0, 1});
  return out;
}
/// Does not compile unless scores are floating-point; what choices among them compute in.
template <class Scores>
struct choice_compute {
  static_assert(kind_of<value_t<Scores>> == kind::floating, "flaggems: scores are floating-point");
  using type = std::conditional_t<std::is_same_v<value_t<Scores>, f64>, f64, f32>;
};
/// weights = chosen scores by `factor`, and by their sum if they are to add up to 1.
template <class S, class C, class D, class Out>
void weigh_choices(const char* op, const S& stream, const tensor<C, D>& chosen, bool renormalize,
                   f64 factor, const Out& weights) {
  using T = value_t<const Out&>;
  const C by = static_cast<C>(factor);
  if (!renormalize) return assign(stream, weights, cast<T>(chosen * by), op);
  auto total = sum(stream, chosen, 1, true);
  assign(stream, total, where(ne(total, C(0)), total, C(1)), op);
  assign(stream, weights, cast<T>(chosen / total * by), op);
}
/// Whether a scoring is the sigmoid, else none. Raises invalid_argument for others.
inline bool is_sigmoid(const char* op, i64 scoring) {
  if (scoring != 0 && scoring != 1) [[unlikely]]
    raise(errc::invalid_argument, op, "a scoring of 0 (none) or 1 (sigmoid)", text(scoring));
  return scoring == 1;
}

}  // namespace detail

/// The `topk` best experts of each token among those of its `topk_group` best groups: their scores,
/// best first, and indices. A group's value is the sum of its two best scores plus bias; the bias
/// counts in choices alone. With `renormalize` scores are divided by their sum; all are multiplied
/// by routed_scaling_factor. A token without a finite group has the first experts in equal shares.
///
/// Shapes: scores [tokens, experts], in n_group equal groups of two or more; bias [experts]; the
/// results [tokens, topk], in f32 (f64 if scores are) and i32. scoring_func: 0 for none, 1 for the
/// sigmoid. Raises invalid_argument or shape_mismatch. flag_gems::grouped_topk(Tensor scores, int
/// n_group, int topk_group, int topk, bool renormalize, float routed_scaling_factor, Tensor bias,
/// int scoring_func=0) -> (Tensor, Tensor)
template <stream_like S, tensor_like Scores, tensor_like Bias>
[[nodiscard]] auto grouped_topk(const S& stream, const Scores& scores, i64 n_group, i64 topk_group,
                                i64 topk, bool renormalize, f64 routed_scaling_factor,
                                const Bias& bias, i64 scoring_func = 0) {
  constexpr const char* op = "grouped_topk";
  using C = typename detail::choice_compute<const Scores&>::type;
  same_device<S, Scores, Bias>();
  const auto x = as_view(scores);
  const auto b = as_view(bias);
  if (x.rank() != 2 || b.rank() != 1 || b.size(0) != x.size(1)) [[unlikely]]
    detail::raise_shapes(op, "scores [tokens, experts] and a bias [experts]", x.shape_of(),
                         b.shape_of());
  const i64 tokens = x.size(0), experts = x.size(1);
  if (n_group < 1 || experts % n_group != 0 || experts / n_group < 2) [[unlikely]]
    raise(errc::invalid_argument, op,
          detail::text("a number of groups of ") + detail::text(experts) +
              " experts, of two or more each",
          detail::text(n_group));
  if (topk_group < 1 || topk_group > n_group || topk < 1 || topk > topk_group * (experts / n_group))
      [[unlikely]]
    raise(errc::invalid_argument, op,
          "no more groups than there are, and no more experts than these have",
          detail::text(topk_group) + " and " + detail::text(topk));
  const bool is_squashed = detail::is_sigmoid(op, scoring_func);
  std::pair out(empty<C>(stream, {tokens, topk}, op), empty<i32>(stream, {tokens, topk}, op));
  if (tokens == 0) return out;
  const C none = -std::numeric_limits<C>::infinity();
  auto scored = empty<C>(stream, x.shape_of(), op), choice = empty<C>(stream, x.shape_of(), op);
  if (is_squashed)
    assign(stream, scored, sigmoid(cast<C>(x)), op);
  else
    assign(stream, scored, cast<C>(x), op);
  assign(stream, choice, scored + cast<C>(b), op);
  assign(stream, choice, where(eq(choice, choice), choice, none), op);  // NaN is no choice
  const auto groups = choice.view().unflatten(1, {n_group, experts / n_group});
  auto values = sum(stream, flaggems::topk(stream, groups, 2, 2).values, 2);
  assign(stream, values, where(lt(values, -none), values, none), op);
  const auto best = flaggems::topk(stream, values, topk_group, 1);
  auto is_open = full<C>(stream, {tokens, n_group}, none);
  scatter_(stream, is_open, 1, best.indices, C(0));
  assign(stream, groups, where(lt(is_open.view().unsqueeze(-1), C(0)), none, groups), op);
  const auto taken = flaggems::topk(stream, choice, topk, 1);
  const auto chosen = gather(stream, scored, 1, taken.indices);
  detail::weigh_choices(op, stream, chosen, renormalize, routed_scaling_factor, out.first.view());
  assign(stream, out.first,
         where(gt(best.values.view().narrow(1, 0, 1), none), out.first,
               static_cast<C>(1) / static_cast<C>(topk)),
         op);
  assign(stream, out.second, cast<i32>(taken.indices), op);
  return out;
}

/// The k experts of each token with the greatest sqrt(softplus(gating_output)) plus
/// correction_bias, best first: these roots, without the bias, and the experts' indices; and
/// token_expert_indices[t, i] = t k + i. With input_ids and tid2eid the experts of token t are
/// tid2eid[input_ids[t]]. With `renormalize` the weights of a token are divided by their sum; all
/// are multiplied by routed_scaling_factor.
///
/// Shapes: gating_output [tokens, experts]; the outputs [tokens, k], k <= experts; correction_bias
/// [experts]; input_ids [tokens]; tid2eid [ids, k]. Weights are floating-point, indices i64 or i32.
/// Computed in f32, or f64. Outputs share no memory. Raises invalid_argument, shape_mismatch or
/// overlap before anything is written. flag_gems::topk_softplus_sqrt(Tensor(a!) topk_weights,
/// Tensor(b!) topk_indices, Tensor(c!) token_expert_indices, Tensor gating_output, bool
/// renormalize, float routed_scaling_factor, Tensor? correction_bias=None, Tensor? input_ids=None,
/// Tensor? tid2eid=None)
template <stream_like S, tensor_like Weights, tensor_like Indices, tensor_like Places,
          tensor_like Gating, optional_tensor Bias = std::nullopt_t,
          optional_tensor Ids = std::nullopt_t, optional_tensor Table = std::nullopt_t>
void topk_softplus_sqrt(const S& stream, Weights&& topk_weights, Indices&& topk_indices,
                        Places&& token_expert_indices, const Gating& gating_output,
                        bool renormalize, f64 routed_scaling_factor,
                        const Bias& correction_bias = std::nullopt,
                        const Ids& input_ids = std::nullopt, const Table& tid2eid = std::nullopt) {
  constexpr const char* op = "topk_softplus_sqrt";
  using D = device_of<S>;
  using C = typename detail::choice_compute<const Gating&>::type;
  same_device<S, Weights, Indices, Places, Gating, Bias, Ids, Table>();
  const auto gating = as_view(gating_output);
  const auto weights = as_view(topk_weights);
  const auto indices = as_view(topk_indices);
  const auto places = as_view(token_expert_indices);
  const auto bias =
      detail::optional_view<typename detail::optional_element<Bias, C>::type, D>(correction_bias);
  const auto ids =
      detail::optional_view<typename detail::optional_element<Ids, i64>::type, D>(input_ids);
  const auto table =
      detail::optional_view<typename detail::optional_element<Table, i64>::type, D>(tid2eid);
  detail::check_choices(op, gating, weights, indices, places);
  detail::check_weight_sizes(op, "a bias", bias, {gating.size(1)});
  if (ids.has_value() != table.has_value()) [[unlikely]]
    raise(errc::invalid_argument, op, "input_ids and tid2eid, both or neither", "one");
  const i64 tokens = weights.size(0), k = weights.size(1);
  detail::check_weight_sizes(op, "input_ids", ids, {tokens});
  if (table && (table->rank() != 2 || table->size(1) != k)) [[unlikely]]
    detail::raise_shapes(op, "a table [ids, k]", table->shape_of(), weights.shape_of());
  if (weights.empty()) return;
  auto scores = empty<C>(stream, gating.shape_of(), op);
  assign(stream, scores, sqrt(softplus(cast<C>(gating))), op);
  const auto experts = [&] {
    if (table) {
      detail::check_indices(op, stream, *ids, table->size(0));
      auto named = evaluate(stream, cast<i64>(index_select(stream, *table, 0, *ids)), op);
      detail::check_indices(op, stream, named.view(), gating.size(1));
      return named;
    }
    if (!bias) return flaggems::topk(stream, scores, k, 1).indices;
    return flaggems::topk(stream, evaluate(stream, scores + cast<C>(*bias), op), k, 1).indices;
  }();
  const auto chosen = gather(stream, scores, 1, experts);
  detail::weigh_choices(op, stream, chosen, renormalize, routed_scaling_factor, weights);
  assign(stream, indices, cast<value_t<Indices>>(experts), op);
  const auto order = detail::counted(op, stream, tokens * k);
  assign(stream, places, cast<value_t<Places>>(order.view().view({tokens, k})), op);
}

/// The scores of experts: x weight^T, x [tokens, H], weight [experts, H], in f32 (f64 if they are).
/// Raises shape_mismatch. flag_gems::router_gemm(Tensor x, Tensor weight) -> Tensor
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto router_gemm(const S& stream, const X& x, const W& weight) {
  using C = typename detail::choice_compute<const X&>::type;
  const auto by = as_view(weight);
  if (by.rank() != 2) [[unlikely]]
    detail::raise_sizes("router_gemm", "a weight [experts, H]", by.sizes());
  auto out = empty<C>(stream, detail::mm_shape("router_gemm", as_view(x), by.transpose(0, 1)),
                      "router_gemm");
  mm(stream, x, by.transpose(0, 1), out);
  return out;
}

namespace detail {

/// The most places that tokens of experts take in blocks.
inline i64 aligned_places(const char* op, i64 count, i64 experts, i64 block_size) {
  i64 filling = 0, places = 0, whole = 0;
  if (block_size < 1 || experts < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "a positive block_size and num_experts",
          text(block_size) + " and " + text(experts));
  if (!multiply(experts, block_size - 1, filling) || !add(count, filling, places) ||
      !multiply(count, block_size, whole)) [[unlikely]]
    raise(errc::invalid_argument, op, "fewer than 2^63 places",
          text(experts) + " experts, with blocks of " + text(block_size));
  return kernels::min_of(places, whole);
}

template <class S, class Ids, class Sorted, class Experts, class Count>
void align_into(const char* op, const S& stream, const Ids& ids, i64 block_size, i64 num_experts,
                const Sorted& sorted, const Experts& experts, const Count& count) {
  constexpr bool right = kind_of<value_t<const Ids&>> == kind::integer &&
                         kind_of<value_t<const Sorted&>> == kind::integer &&
                         kind_of<value_t<const Experts&>> == kind::integer &&
                         kind_of<value_t<const Count&>> == kind::integer;
  static_assert(right, "flaggems: experts and places are integers");
  const i64 n = ids.numel();
  const i64 needed = aligned_places(op, n, num_experts, block_size);
  if (sorted.rank() != 1 || experts.rank() != 1 || count.numel() != 1 || sorted.size(0) < needed ||
      experts.size(0) < kernels::ceil_div(needed, block_size)) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "room for " + text(needed) + " places, an expert for each block, and one number",
          to_string(sorted.shape_of()) + " and " + to_string(experts.shape_of()));
  check_separate(op, sorted, ids);
  check_separate(op, experts, ids, sorted);
  check_separate(op, count, ids, sorted, experts);
  auto own = empty<i64>(stream, {n}, op), places = filled<i64>(op, stream, {sorted.size(0)}, n);
  assign(stream, own.view().view(ids.shape_of()), cast<i64>(ids), op);
  check_indices(op, stream, own.view(), num_experts);
  const auto all = counted(op, stream, num_experts);
  const auto tokens = sum(stream, eq(own.view().unsqueeze(1), all.view().unsqueeze(0)), 0);
  const auto padded = evaluate(stream, tokens + remainder(neg(tokens), block_size), op);
  const auto ends = cumsum(stream, padded, 0);
  if (n > 0) {
    // Where the first token of an expert lies, less its place among all in order.
    const auto moved = evaluate(stream, ends - padded - (cumsum(stream, tokens, 0) - tokens), op);
    const auto order = argsort(stream, own, 0);
    const auto by = gather(stream, moved, 0, gather(stream, own, 0, order));
    scatter_(stream, places, 0, evaluate(stream, by + counted(op, stream, n), op), order);
  }
  assign(stream, sorted, cast<value_t<const Sorted&>>(places), op);
  const auto blocks = counted(op, stream, experts.size(0));
  const auto first = evaluate(stream, blocks * block_size, op);
  const auto expert = sum(stream, le(ends.view().unsqueeze(0), first.view().unsqueeze(1)), 1);
  assign(stream, experts,
         cast<value_t<const Experts&>>(where(lt(expert, num_experts), expert, i64{-1})), op);
  assign(stream, count.view(shape{}),
         cast<value_t<const Count&>>(ends.view().select(0, num_experts - 1)), op);
}

}  // namespace detail

/// The order in which blocks of tokens meet their experts: places of topk_ids by expert, those of
/// each filled up to a multiple of block_size; sorted_token_ids has numel(topk_ids) where there is
/// none, expert_ids the expert of each block, -1 behind the last one, and num_tokens_post_pad how
/// many places there are.
///
/// topk_ids of any sizes, in [0, num_experts); sorted_token_ids [at least numel + num_experts
/// (block_size - 1), or numel block_size if that is less], expert_ids [a block each],
/// num_tokens_post_pad [1]; all i32 or i64. Outputs share no memory. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written.
/// flag_gems::moe_align_block_size_triton(Tensor topk_ids, int num_experts, int block_size,
/// Tensor(a!) sorted_token_ids, Tensor(b!) expert_ids, Tensor(c!) num_tokens_post_pad)
template <stream_like S, tensor_like Ids, tensor_like Sorted, tensor_like Experts,
          tensor_like Count>
void moe_align_block_size_triton(const S& stream, const Ids& topk_ids, i64 num_experts,
                                 i64 block_size, Sorted&& sorted_token_ids, Experts&& expert_ids,
                                 Count&& num_tokens_post_pad) {
  same_device<S, Ids, Sorted, Experts, Count>();
  detail::align_into("moe_align_block_size_triton", stream, as_view(topk_ids), block_size,
                     num_experts, as_view(sorted_token_ids), as_view(expert_ids),
                     as_view(num_tokens_post_pad));
}

/// sorted_token_ids, expert_ids and num_tokens_post_pad in new tensors of i32, the first of a
/// multiple of block_size elements with `pad_sorted_ids`. With expert_map [num_experts] the experts
/// are named by what it has for them. flag_gems::moe_align_block_size(Tensor topk_ids, int
/// block_size, int num_experts, Tensor? expert_map=None, bool pad_sorted_ids=False) -> (Tensor,
/// Tensor, Tensor)
template <stream_like S, tensor_like Ids, optional_tensor Map = std::nullopt_t>
[[nodiscard]] auto moe_align_block_size(const S& stream, const Ids& topk_ids, i64 block_size,
                                        i64 num_experts, const Map& expert_map = std::nullopt,
                                        bool pad_sorted_ids = false) {
  constexpr const char* op = "moe_align_block_size";
  same_device<S, Ids, Map>();
  const i64 needed = detail::aligned_places(op, as_view(topk_ids).numel(), num_experts, block_size);
  const i64 blocks = kernels::ceil_div(needed, block_size);
  const auto map =
      detail::optional_view<typename detail::optional_element<Map, i32>::type, device_of<S>>(
          expert_map);
  detail::check_weight_sizes(op, "an expert_map", map, {num_experts});
  std::tuple r(empty<i32>(stream, {pad_sorted_ids ? blocks * block_size : needed}, op),
               empty<i32>(stream, {blocks}, op), empty<i32>(stream, {1}, op));
  auto& experts = std::get<1>(r);
  detail::align_into(op, stream, as_view(topk_ids), block_size, num_experts, std::get<0>(r).view(),
                     experts.view(), std::get<2>(r).view());
  if (map) {
    const auto known = evaluate(stream, cast<i64>(maximum(experts, 0)), op);
    const auto named = gather(stream, *map, 0, known);
    assign(stream, experts, where(lt(experts, 0), -1, cast<i32>(named)), op);
  }
  return r;
}

}  // namespace flaggems
