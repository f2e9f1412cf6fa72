// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The gated delta rule of Gated DeltaNet (arXiv 2412.06464), with the semantics of
// flash-linear-attention: a recurrence token by token, and by chunks, which are matrix products.
#pragma once

#include <flaggems/kernel/family/recurrent/delta_rule.hpp>
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/statistics.hpp>
#include <flaggems/ops/triangle.hpp>

#include <optional>
#include <tuple>
#include <vector>

namespace flaggems {
namespace operators {
struct gated_delta_rule;
}

/// What the gated delta rule gives; the states are absent if they are not asked for.
template <class T, class K, class D>
struct delta_rule_results {
  tensor<T, D> out;
  std::optional<tensor<K, D>> final_state;
  [[nodiscard]] auto tie() { return std::tie(out, final_state); }
};

namespace detail {

/// The operands [B, tokens, heads, size] of the rule.
template <class T, class K, class D>
struct delta_operands {
  tensor_view<const T, D> q, k, v, beta;
  tensor_view<const K, D> g;
  K scale;
  bool normalizes;

  [[nodiscard]] i64 heads() const { return v.size(2); }
  /// Raises unless they fit; beta [B, tokens, heads] becomes a tensor of v's sizes.
  void check(const char* op) {
    if (q.rank() != 4 || v.rank() != 4 || !same_sizes(q.sizes(), k.sizes()) ||
        v.size(0) != q.size(0) || v.size(1) != q.size(1) || q.size(2) < 1 ||
        v.size(2) % q.size(2) != 0) [[unlikely]]
      raise_shapes(op, "q and k [B, T, H, K] and v [B, T, HV, V], HV a multiple of H", q.shape_of(),
                   v.shape_of());
    const shape each{v.size(0), v.size(1), v.size(2)};
    if (!same_sizes(g.sizes(), each)) [[unlikely]]
      raise_other_sizes(op, each, g.sizes());
    if (same_sizes(beta.sizes(), each))
      beta = beta.unsqueeze(-1).expand(v.shape_of());
    else if (!same_sizes(beta.sizes(), v.sizes())) [[unlikely]]
      raise_other_sizes(op, each, beta.sizes());
  }
  /// The sizes of the states of n sequences.
  [[nodiscard]] shape states(i64 n) const { return {n, v.size(2), q.size(3), v.size(3)}; }
  /// The same of a part of the tokens.
  [[nodiscard]] delta_operands tokens(i64 begin, i64 n) const {
    delta_operands r = *this;
    r.q = q.narrow(1, begin, n), r.k = k.narrow(1, begin, n), r.v = v.narrow(1, begin, n);
    r.beta = beta.narrow(1, begin, n), r.g = g.narrow(1, begin, n);
    return r;
  }
};

template <class T, class D>
kernels::delta_input<std::remove_const_t<T>> delta_input_of(const tensor_view<T, D>& x) {
  kernels::delta_input<std::remove_const_t<T>> r{x.data(), {}};
  for (int d = 0; d < x.rank(); ++d) r.strides[d] = x.stride(d);
  return r;
}
template <class K, class D>
kernels::delta_states<K> delta_states_of(const tensor_view<K, D>& x) {
  kernels::delta_states<K> r{x.data(), x.size(0), {}};
  for (int d = 0; d < 4; ++d) r.strides[d] = x.stride(d);
  return r;
}

/// Raises unless there are states of the operands' sizes, at least so many.
template <class O, class X>
void check_delta_states(const char* op, const O& operands, const X& states, i64 least) {
  shape sizes = operands.states(least);
  if (states.rank() == 4 && states.size(0) > least) sizes[0] = states.size(0);
  if (!same_sizes(states.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(op, sizes, states.sizes());
}

/// How many sequences there are: of one batch, if where they start is given.
template <class O, class Starts>
i64 delta_sequences(const char* op, const O& operands, const Starts& starts) {
  if (!starts) return operands.q.size(0);
  if (operands.q.size(0) != 1 || starts->rank() != 1 || starts->size(0) < 1) [[unlikely]]
    raise_shapes(op, "a batch of 1, and cu_seqlens, a vector with elements", operands.q.shape_of(),
                 starts->shape_of());
  return starts->size(0) - 1;
}
/// Where sequences start, on the host: it waits. Raises unless they cover the tokens in order.
template <class S, class O, class D>
std::vector<i64> delta_starts(const char* op, const S& stream, const O& operands,
                              const tensor_view<const i64, D>& list) {
  std::vector<i64> starts = read_vector(op, stream, list);
  check_rising(op, "cu_seqlens", static_cast<i64>(starts.size()), operands.q.size(1), true,
               [&](i64 k) { return starts[static_cast<std::size_t>(k)]; });
  return starts;
}

/// The slots of sequences' states, and which tokens they are after.
template <class D>
struct delta_slots {
  std::optional<tensor_view<const i64, D>> indices, accepted;
};

/// Runs the recurrence; `out` is contiguous, [B, T, HV, V].
template <class S, class T, class K, class D>
void delta_recurrence(const char* op, const S& stream, const delta_operands<T, K, D>& x,
                      i64 sequences, const std::optional<tensor_view<const i64, D>>& starts,
                      const kernels::delta_states<K>& before, const kernels::delta_states<K>& after,
                      kernels::delta_kept kept, const delta_slots<D>& slots,
                      const tensor_view<T, D>& out) {
  using kernel = kernels::delta_rule<T, K>;
  const i64 keys = x.q.size(3), values = x.v.size(3);
  if (sequences == 0 || x.heads() == 0 || values == 0 ||
      replaced<operators::gated_delta_rule>(op, stream, x, sequences, starts, before, after, kept,
                                            slots, out))
    return;
  const auto indices_at = [&](int d) {
    return slots.indices && d < slots.indices->rank() ? slots.indices->stride(d) : 0;
  };
  const kernels::delta_rule_step<T, K> step{sequences,
                                            x.q.size(1),
                                            x.heads(),
                                            x.q.size(2),
                                            keys,
                                            values,
                                            delta_input_of(x.q),
                                            delta_input_of(x.k),
                                            delta_input_of(x.v),
                                            delta_input_of(x.beta),
                                            delta_input_of(x.g),
                                            x.scale,
                                            x.normalizes ? 1 : 0,
                                            {out.data(), 1},
                                            before,
                                            after,
                                            kept,
                                            starts ? starts->data() : nullptr,
                                            slots.indices ? slots.indices->data() : nullptr,
                                            indices_at(0),
                                            indices_at(1),
                                            slots.indices ? slots.indices->size(-1) : 0,
                                            slots.accepted ? slots.accepted->data() : nullptr};
  launch_config config;
  config.op = op;
  config.tiles = sequences * x.heads() * kernels::ceil_div(values, kernel::tile);
  config.threads = static_cast<int>(kernel::tile);
  config.work = work_of(x.v.numel(), keys, 6);
  config.scratch = scratch_bytes<K>(keys * kernel::tile) + 2 * scratch_bytes<K>(keys);
  launch<kernel>(stream, config, step);
}

// ---- by chunks

/// x [B, L, H, n] as [B, HV, L, n] in K, of length 1 along the last dimension if wanted.
template <class K, class S, class T, class D>
tensor<K, D> delta_rows(const char* op, const S& stream, const tensor_view<const T, D>& x,
                        i64 heads, bool normalizes, K scale) {
  const i64 own = x.size(2);
  const auto by_head = x.permute({0, 2, 1, 3});
  auto out = empty<K>(stream, {x.size(0), heads, x.size(1), x.size(3)}, op);
  const auto spread =
      by_head.unsqueeze(2).expand({x.size(0), own, heads / own, x.size(1), x.size(3)});
  const auto to = out.view().unflatten(1, {own, heads / own});
  if (!normalizes) {
    assign(stream, to, mul(cast<K>(spread), scale), op);
    return out;
  }
  auto squares = empty<K>(stream, {x.size(0), own, x.size(1), 1}, op);
  const i64 last[] = {-1};
  sum_into<K>(op, stream, square(cast<K>(by_head)), squares.view(), int_list(last, 1), true);
  assign(stream, squares, rsqrt(add(squares, static_cast<K>(1e-6))), op);
  assign(stream, to, mul(cast<K>(spread), mul(squares.view().unsqueeze(2), scale)), op);
  return out;
}

/// A chunk: out [B, L, HV, V], state [B, HV, K, V] in place. The corrections u of its tokens solve
/// (I + A) u = beta (v - exp(G) k state), where G are running sums of the gates and A[i, j] =
/// beta_i exp(G_i - G_j) k_i k_j below the diagonal.
template <class S, class T, class K, class D>
void delta_chunk(const char* op, const S& stream, const delta_operands<T, K, D>& x,
                 const tensor_view<K, D>& state, const tensor_view<T, D>& out) {
  const i64 batch = x.q.size(0), heads = x.heads(), n = x.q.size(1);
  const i64 values = x.v.size(3);
  const auto made = [&](i64 rows, i64 columns) {
    return empty<K>(stream, {batch, heads, rows, columns}, op);
  };
  const auto times = [&](const auto& a, const auto& b, auto& to) {  // a b^T
    gemm(op, stream, a, b, to.view(), no_bias_view{}, 1, 0);
  };
  const auto k = delta_rows<K>(op, stream, x.k, heads, x.normalizes, K(1));
  const auto q = delta_rows<K>(op, stream, x.q, heads, x.normalizes, x.scale);
  const auto gates = x.g.permute({0, 2, 1});
  auto sums = empty<K>(stream, {batch, heads, n}, op);
  cumsum(stream, gates, sums.view(), 2);
  const auto rows = sums.view().unsqueeze(-1), columns = sums.view().unsqueeze(-2);
  const auto beta = cast<K>(x.beta.permute({0, 2, 1, 3}));
  const auto factor = cast<K>(x.beta.permute({0, 2, 1, 3}).narrow(3, 0, 1));  // a row's
  const auto by_head = cast<K>(x.v.permute({0, 2, 1, 3}));
  const tensor_view<const K, D> known(state);

  auto a = made(n, n), p = made(n, n), u = made(n, values), from_state = made(n, values);
  times(input_of(k), input_of(k), a);
  assign(stream, a, mul(mul(a, exp(sub(rows, columns))), factor), op);
  times(input_of(q), input_of(k), p);
  const expr<coordinate<D>> i(coordinate<D>(p.shape_of(), 2)), j(coordinate<D>(p.shape_of(), 3));
  assign(stream, p, where(le(j, i), mul(p, exp(sub(rows, columns))), K(0)), op);
  times(input_of(k), known.transpose(-2, -1), from_state);
  assign(stream, u, mul(beta, sub(by_head, mul(from_state, exp(rows)))), op);
  using kernel = kernels::unit_lower_solve<K>;
  launch_config config;
  config.op = op;
  config.tiles = batch * heads * kernels::ceil_div(values, kernel::tile);
  config.threads = static_cast<int>(kernel::tile);
  config.work = work_of(batch * heads, n * n, values);
  launch<kernel>(stream, config, batch * heads, n, values, kernels::global_ptr<const K>(a.data()),
                 kernels::global_ptr<K>(u.data()));

  times(input_of(q), known.transpose(-2, -1), from_state);
  assign(stream, from_state, mul(from_state, exp(rows)), op);
  gemm(op, stream, input_of(p), input_of(u).transpose(-2, -1), from_state.view(), from_state.view(),
       1, 1);
  assign(stream, out.permute({0, 2, 1, 3}), cast<T>(from_state), op);
  // What remains of the state, and of each correction, at the end.
  const auto end = sums.view().narrow(2, n - 1, 1).unsqueeze(-1);
  assign(stream, u, mul(u, exp(sub(end, rows))), op);
  assign(stream, state, mul(state, exp(end)), op);
  gemm(op, stream, input_of(k).transpose(-2, -1), input_of(u).transpose(-2, -1), state, state, 1,
       1);
}

template <class S, class T, class K, class D>
delta_rule_results<T, K, D> delta_by_chunks(
    const char* op, const S& stream, delta_operands<T, K, D> x, i64 chunk,
    const std::optional<tensor_view<const K, D>>& initial, bool keeps,
    const std::optional<tensor_view<const i64, D>>& starts) {
  x.check(op);
  if (chunk < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "a chunk of at least one token", text(chunk));
  if (x.v.size(3) > 0 && !same_sizes(x.beta.narrow(3, 0, 1).expand(x.v.shape_of()).strides(),
                                     x.beta.strides())) [[unlikely]]
    raise(errc::not_supported, op, "beta of one number a token and head", "one for each value");
  const i64 sequences = delta_sequences(op, x, starts);
  if (initial && (initial->rank() != 4 || initial->size(0) != sequences)) [[unlikely]]
    raise_other_sizes(op, x.states(sequences), initial->sizes());
  if (initial) check_delta_states(op, x, *initial, sequences);
  std::vector<i64> begins;
  if (starts) begins = delta_starts(op, stream, x, *starts);
  delta_rule_results<T, K, D> r{empty<T>(stream, x.v.shape_of(), op), {}};
  auto states = empty<K>(stream, x.states(sequences), op);
  if (initial)
    copy_into(op, stream, states.view(), *initial);
  else
    fill(op, stream, states.view(), 0);
  const auto run = [&](i64 begin, i64 end, const tensor_view<K, D>& state) {
    for (i64 at = begin; at < end; at += chunk) {
      const i64 n = kernels::min_of(chunk, end - at);
      delta_chunk(op, stream, x.tokens(at, n), state, r.out.view().narrow(1, at, n));
    }
  };
  if (!states.empty() || x.v.numel() > 0) {
    if (!starts)
      run(0, x.q.size(1), states.view());
    else
      for (i64 k = 0; k < sequences; ++k)
        run(begins[static_cast<std::size_t>(k)], begins[static_cast<std::size_t>(k) + 1],
            states.view().narrow(0, k, 1));
  }
  if (keeps) r.final_state.emplace(std::move(states));
  return r;
}

template <class T, class D, class X>
tensor_view<const T, D> delta_view(const X& x) {
  return tensor_view<const T, D>(as_view(x));
}

}  // namespace detail

/// out[t] = scale q[t] S[t] of the state S [K, V] of a head: S[t] = exp(g[t]) S[t - 1] + k[t]
/// (beta[t] (v[t] - k[t] exp(g[t]) S[t - 1])), an outer product; of chunks of 64 tokens by matrix
/// products. In new tensors; the states after the last tokens, f32, with output_final_state.
///
/// q, k [B, T, H, K], v, out [B, T, HV, V], HV a multiple of H; g, of f32, and beta [B, T, HV];
/// initial_state [N, HV, K, V] of f32, or zeros; with cu_seqlens, for which it waits, N sequences
/// in a batch of 1, else N = B. One floating-point dtype, any strides; in f32 (all f64 of f64).
/// Raises shape_mismatch or invalid_argument before anything is written.
/// flaggems::chunk_gated_delta_rule_fwd(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, float
/// scale, Tensor? initial_state, bool output_final_state, Tensor? cu_seqlens=None) -> (Tensor,
/// Tensor)
template <stream_like S, tensor_like Q, tensor_like Key, tensor_like V, tensor_like G,
          tensor_like B, optional_tensor State, optional_tensor Starts = std::nullopt_t>
[[nodiscard]] auto chunk_gated_delta_rule_fwd(const S& stream, const Q& q, const Key& k, const V& v,
                                              const G& g, const B& beta, f64 scale,
                                              const State& initial_state, bool output_final_state,
                                              const Starts& cu_seqlens = std::nullopt) {
  same_device<S, Q, Key, V, G, B, State, Starts>();
  using T = value_t<const Q&>;
  using K = kernels::compute_type<T>;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: the gated delta rule is of floating point");
  constexpr i64 chunk = 64;  // limit: tokens, as flash-linear-attention's
  return detail::delta_by_chunks<S, T, K, D>(
      "chunk_gated_delta_rule_fwd", stream,
      {detail::delta_view<T, D>(q), detail::delta_view<T, D>(k), detail::delta_view<T, D>(v),
       detail::delta_view<T, D>(beta), detail::delta_view<K, D>(g), static_cast<K>(scale), false},
      chunk, detail::optional_view<K, D>(initial_state), output_final_state,
      detail::optional_view<i64, D>(cu_seqlens));
}

/// chunk_gated_delta_rule_fwd with chunks of BT tokens. With head_first heads stand before tokens
/// in all operands and the result, which cu_seqlens excludes; scale is 1 / sqrt(K) if not given;
/// with use_qk_l2norm_in_kernel q and k are divided by sqrt(their sum of squares + 1e-6).
/// flaggems::chunk_gated_delta_rule(Tensor q, Tensor k, Tensor v, Tensor beta, Tensor g, int BT=64,
/// Tensor? initial_state=None, bool output_final_state=False, Tensor? cu_seqlens=None, bool
/// head_first=True, float? scale=None, bool use_qk_l2norm_in_kernel=False) -> (Tensor, Tensor)
template <stream_like S, tensor_like Q, tensor_like Key, tensor_like V, tensor_like B,
          tensor_like G, optional_tensor State = std::nullopt_t,
          optional_tensor Starts = std::nullopt_t>
[[nodiscard]] auto chunk_gated_delta_rule(const S& stream, const Q& q, const Key& k, const V& v,
                                          const B& beta, const G& g, i64 chunk = 64,
                                          const State& initial_state = std::nullopt,
                                          bool output_final_state = false,
                                          const Starts& cu_seqlens = std::nullopt,
                                          bool head_first = true, std::optional<f64> scale = {},
                                          bool use_qk_l2norm_in_kernel = false) {
  constexpr const char* op = "chunk_gated_delta_rule";
  same_device<S, Q, Key, V, B, G, State, Starts>();
  using T = value_t<const Q&>;
  using K = kernels::compute_type<T>;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: the gated delta rule is of floating point");
  const auto starts = detail::optional_view<i64, D>(cu_seqlens);
  if (starts && head_first) [[unlikely]]
    raise(errc::invalid_argument, op, "tokens before heads with cu_seqlens", "head_first");
  const auto ordered = [&](const auto& x) {
    if (x.rank() < 3) [[unlikely]]
      detail::raise_sizes(op, "operands of at least three dimensions", x.sizes());
    return head_first ? x.transpose(1, 2) : x.view();
  };
  detail::delta_operands<T, K, D> x{ordered(detail::delta_view<T, D>(q)),
                                    ordered(detail::delta_view<T, D>(k)),
                                    ordered(detail::delta_view<T, D>(v)),
                                    ordered(detail::delta_view<T, D>(beta)),
                                    ordered(detail::delta_view<K, D>(g)),
                                    K(1),
                                    use_qk_l2norm_in_kernel};
  const f64 size = static_cast<f64>(x.q.size(-1));
  x.scale = static_cast<K>(scale ? *scale : 1 / __builtin_sqrt(size));
  auto r = detail::delta_by_chunks<S, T, K, D>(
      op, stream, x, chunk, detail::optional_view<K, D>(initial_state), output_final_state, starts);
  if (!head_first) return r;
  auto out = detail::copied<T>(op, stream, r.out.view().transpose(1, 2));
  return delta_rule_results<T, K, D>{std::move(out), std::move(r.final_state)};
}

/// The gated delta rule of chunk_gated_delta_rule_fwd token by token, for generation: out in a new
/// tensor [B, T, HV, V].
///
/// initial_state [slots, HV, K, V], of f32: a sequence's state is in the slot of its number, or
/// that of ssm_state_indices [N], or [N, tokens], of i64; then num_accepted_tokens [N] says after
/// which token it is, 1 the first. In place, the state after the last token is written there, or
/// after each token to its own slot; slots that there are not are neither read (zeros) nor written.
/// Otherwise the states after all tokens are a new tensor [B T, HV, K, V]. Tokens of no sequence
/// give zeros; cu_seqlens that fall, or are no tokens, raise invalid_argument where the host can
/// read them. beta may be [B, T, HV, V]. Raises shape_mismatch or overlap. All before anything is
/// written. flaggems::fused_recurrent_gated_delta_rule_fwd(Tensor q, Tensor k, Tensor v, Tensor g,
/// Tensor beta, float scale, Tensor(a!) initial_state, bool inplace_final_state=True, Tensor?
/// cu_seqlens=None, Tensor? ssm_state_indices=None, Tensor? num_accepted_tokens=None, bool
/// use_qk_l2norm_in_kernel=False) -> (Tensor, Tensor)
template <stream_like S, tensor_like Q, tensor_like Key, tensor_like V, tensor_like G,
          tensor_like B, tensor_like State, optional_tensor Starts = std::nullopt_t,
          optional_tensor Slots = std::nullopt_t, optional_tensor Accepted = std::nullopt_t>
[[nodiscard]] auto fused_recurrent_gated_delta_rule_fwd(
    const S& stream, const Q& q, const Key& k, const V& v, const G& g, const B& beta, f64 scale,
    State&& initial_state, bool inplace_final_state = true, const Starts& cu_seqlens = std::nullopt,
    const Slots& ssm_state_indices = std::nullopt,
    const Accepted& num_accepted_tokens = std::nullopt, bool use_qk_l2norm_in_kernel = false) {
  constexpr const char* op = "fused_recurrent_gated_delta_rule_fwd";
  same_device<S, Q, Key, V, G, B, State, Starts, Slots, Accepted>();
  using T = value_t<const Q&>;
  using K = kernels::compute_type<T>;
  using D = device_of<S>;
  static_assert(detail::kind_of<T> == detail::kind::floating,
                "flaggems: the gated delta rule is of floating point");
  detail::delta_operands<T, K, D> x{detail::delta_view<T, D>(q), detail::delta_view<T, D>(k),
                                    detail::delta_view<T, D>(v), detail::delta_view<T, D>(beta),
                                    detail::delta_view<K, D>(g), static_cast<K>(scale),
                                    use_qk_l2norm_in_kernel};
  x.check(op);
  const auto starts = detail::optional_view<i64, D>(cu_seqlens);
  const i64 sequences = detail::delta_sequences(op, x, starts);
  if (starts) detail::check_starts(op, "cu_seqlens", stream, *starts, x.q.size(1), false);
  detail::delta_slots<D> slots{detail::optional_view<i64, D>(ssm_state_indices),
                               detail::optional_view<i64, D>(num_accepted_tokens)};
  for (const auto* list : {&slots.indices, &slots.accepted})
    if (*list && ((*list)->rank() < 1 || (*list)->rank() > 2 || (*list)->size(0) != sequences))
        [[unlikely]]
      detail::raise_other_sizes(op, {sequences}, (*list)->sizes());
  if (slots.accepted &&
      (!slots.indices || slots.indices->rank() != 2 || slots.accepted->rank() != 1)) [[unlikely]]
    raise(errc::invalid_argument, op,
          "a vector num_accepted_tokens, and ssm_state_indices [sequences, tokens]",
          "sizes " + to_string((*slots.accepted).shape_of()) + " and " +
              (slots.indices ? to_string((*slots.indices).shape_of()) : detail::text("none")));
  const tensor_view<K, D> states(as_view(initial_state));
  detail::check_delta_states(op, x, states, slots.indices ? 0 : sequences);
  tensor<i64, D> own_starts, own_slots, own_accepted;
  const auto dense = [&](const auto& list, auto& own) {
    using view = tensor_view<const i64, D>;
    if (!list) return std::optional<view>();
    return std::optional<view>(detail::as_row(op, stream, *list, own).view(list->shape_of()));
  };
  const auto begins = dense(starts, own_starts);
  slots = {dense(slots.indices, own_slots), dense(slots.accepted, own_accepted)};
  if (inplace_final_state) {
    detail::check_writable(op, states);
    const detail::placed_layout written(detail::layout_of(states));
    for (const auto& in : {x.q, x.k, x.v, x.beta})
      detail::check_no_overlap(op, written, detail::layout_of(in));
    detail::check_no_overlap(op, written, detail::layout_of(x.g));
  }
  delta_rule_results<T, K, D> r{empty<T>(stream, x.v.shape_of(), op), {}};
  using kernels::delta_kept;
  if (!inplace_final_state)
    r.final_state.emplace(empty<K>(stream, x.states(x.q.size(0) * x.q.size(1)), op));
  if (starts) {  // of tokens of no sequence
    detail::fill(op, stream, r.out.view(), 0);
    if (r.final_state) detail::fill(op, stream, r.final_state->view(), 0);
  }
  const bool each = slots.indices && slots.indices->rank() == 2;
  const auto before = detail::delta_states_of(states);
  detail::delta_recurrence(
      op, stream, x, sequences, begins, before,
      inplace_final_state ? before : detail::delta_states_of(r.final_state->view()),
      !inplace_final_state ? delta_kept::each_token
      : each               ? delta_kept::each_slot
                           : delta_kept::at_end,
      slots, r.out.view());
  return r;
}

}  // namespace flaggems
