// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Manifold-constrained hyper-connections (Xie et al., 2025): residual streams that are mixed before
// and behind a layer, by weights that each token computes of its own streams.
#pragma once

#include <flaggems/kernel/family/row/hyper_connections.hpp>
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/ops/statistics.hpp>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace operators {
struct mhc_pre;
struct mhc_post;
struct hc_head_fused_kernel;
struct sinkhorn_forward;
struct mhc_bwd;
}  // namespace operators

/// The numbers of mhc_pre: what is added to the mean square, to the weights of streams, and to sums
/// and shares as matrices become doubly stochastic; the greatest weight behind a layer; how often
/// columns are normalised.
struct hyper_connection_options {
  f64 rms_eps = 1e-6, hc_pre_eps = 1e-6, hc_sinkhorn_eps = 1e-6, hc_post_mult_value = 2;
  i64 sinkhorn_repeat = 20;
};

namespace detail {
inline constexpr i64 most_steps = i64{1} << 30;  // limit: of an iteration

using stream_types = type_list<f32, bf16, f16>;

/// Raises unless streams [..., n, H] have at least one stream.
template <class X>
void check_streams(const char* op, const X& streams) {
  if (streams.rank() < 2 || streams.size(-2) < 1) [[unlikely]]
    raise_sizes(op, "streams [..., n, H] of at least one", streams.sizes());
}
template <class V>
void check_sizes_are(const char* op, const V& v, const shape& sizes) {
  if (!same_sizes(v.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(op, sizes, v.sizes());
}
/// The sizes without the last `count` dimensions, and more behind them.
inline shape outer_and(const shape& sizes, int count, std::initializer_list<i64> more) {
  shape r(int_list(sizes.data(), sizes.rank() - count));
  for (const i64 n : more) r.push_back(n);
  return r;
}

/// out [..., i, H] = added [..., H] * by [..., i] + the sum over j of weights [..., j, i] * streams
/// [..., j, H]; all checks have passed.
template <class S, class T, class D>
void mix_streams(const char* op, const S& stream, const tensor_view<const T, D>& streams,
                 const tensor_view<const f32, D>& weights,
                 const std::optional<tensor_view<const T, D>>& added,
                 const std::optional<tensor_view<const f32, D>>& by, const tensor_view<T, D>& out) {
  if (out.empty()) return;
  const auto first = out.select(-2, 0);
  const shape sizes = first.shape_of();
  const auto first_stream = streams.select(-2, 0);
  const auto weight = weights.select(-1, 0).select(-1, 0).unsqueeze(-1).expand(sizes);
  row_plan plan(sizes, sizes.rank() - 1);
  plan.add(first);
  plan.add(first_stream);
  plan.add(weight);
  kernels::row_arg<T> more{};
  kernels::row_arg<f32> more_by{};
  kernels::stream_steps steps{streams.size(-2),       out.size(-2),       streams.stride(-2),
                              out.stride(-2),         weights.stride(-2), weights.stride(-1),
                              by ? by->stride(-1) : 0};
  if (added) {
    plan.add(*added);
    plan.add(by->select(-1, 0).unsqueeze(-1).expand(sizes));
  }
  const kernels::row_space space = plan.space();
  if (added) {
    more = plan.arg(3, *added);
    more_by = plan.arg(4, *by);
  }
  launch_config config;
  config.op = op;
  config.work = work_of(out.numel(), streams.size(-2) + 1, 4);
  const auto run = [&](auto outputs) {
    using kernel = kernels::mixed_streams<T, decltype(outputs)::value>;
    config.tiles = space.rows * kernels::ceil_div(space.length, kernel::tile);
    launch<kernel>(stream, config, space, steps, plan.arg(1, first_stream), plan.arg(2, weight),
                   more, more_by, plan.target(0, first));
  };
  if (out.size(-2) == 1)
    run(std::integral_constant<int, 1>{});
  else
    run(std::integral_constant<int, 4>{});
}

/// The products of each token's streams, as one vector, and the rows of fn, divided by the root of
/// the vector's mean square: [tokens, rows of fn].
template <class S, class T, class D>
auto stream_products(const char* op, const S& stream, const tensor_view<const T, D>& streams,
                     const tensor_view<const f32, D>& fn, f64 eps) {
  const i64 length = streams.size(-2) * streams.size(-1);
  const i64 tokens = length == 0 ? 0 : streams.numel() / length;
  auto own = tensor<T, D>();
  auto flat = streams;
  if (!streams.is_contiguous()) {
    own = copied<T>(op, stream, streams);
    flat = own.view();
  }
  flat = flat.view({tokens, length});
  auto products = empty<f32>(stream, {tokens, fn.size(0)}, op);
  if constexpr (std::is_same_v<T, f32>)
    mm(stream, flat, fn.t(), products);
  else
    mm(stream, cast<f32>(flat), fn.t(), products);
  const auto squares = sum(stream, square(cast<f32>(flat)), 1, true);
  assign(stream, products,
         products * rsqrt(squares / static_cast<f32>(length) + static_cast<f32>(eps)), op);
  return products;
}

/// Makes matrices doubly stochastic; `powers` gets the exponentials. All checks have passed.
template <class S, class C, class D>
void balance(const char* op, const S& stream, const tensor_view<const C, D>& in,
             const tensor_view<C, D>& out, const std::optional<tensor_view<C, D>>& powers,
             const kernels::balancing<C>& how) {
  if (out.empty()) return;
  // Lanes are along the last dimension before the matrix.
  const auto lanes = [](const auto& v) {
    const auto first = v.select(-1, 0).select(-1, 0);
    return first.rank() == 0 ? first.unsqueeze(0) : first;
  };
  const auto steps = [](const auto& v) {
    return kernels::matrix_steps{v.stride(-2), v.stride(-1)};
  };
  const auto from = lanes(in);
  const auto to = lanes(out);
  row_plan plan(to.sizes(), to.rank() - 1);
  plan.add(to);
  plan.add(from);
  if (powers) plan.add(lanes(*powers));
  const kernels::row_space space = plan.space();
  kernels::row_target<C> powers_to{};
  if (powers) powers_to = plan.target(2, lanes(*powers));
  launch_config config;
  config.op = op;
  config.work = work_of(in.numel(), how.passes + 16, 4);
  const auto run = [&](auto size, C* memory) {
    using kernel = kernels::balanced_matrices<C, decltype(size)::value>;
    config.tiles = space.rows * kernels::ceil_div(space.length, kernel::tile);
    launch<kernel>(stream, config, space, how, plan.arg(1, from), steps(in), plan.target(0, to),
                   steps(out), powers_to, powers ? steps(*powers) : kernels::matrix_steps{},
                   kernels::global_ptr<C>(memory));
  };
  if (how.n == 4) return run(std::integral_constant<int, 4>{}, nullptr);
  auto memory = empty<C>(stream, {in.numel()}, op);
  run(std::integral_constant<int, 0>{}, memory.data());
}

template <class V>
void check_squares(const char* op, const V& v) {
  if (v.rank() < 2 || v.size(-1) != v.size(-2)) [[unlikely]]
    raise_sizes(op, "matrices [..., n, n]", v.sizes());
}

}  // namespace detail

/// What a layer reads of a token's streams, and how its result and the streams are joined behind
/// it, in new tensors: of the products m of all streams of a token, divided by the root of their
/// mean square plus rms_eps, and the rows of fn, times hc_scale plus hc_base,
///   layer_input = the sum of (sigmoid(m[j]) + hc_pre_eps) * stream j,
///   post_mix = hc_post_mult_value * sigmoid(m[n + i]),
///   comb_mix = the softmax of rows of the matrix m[2 n ...] plus hc_sinkhorn_eps, divided by sums
///     of columns, rows, columns, ... plus hc_sinkhorn_eps: columns sinkhorn_repeat times.
///
/// residual [..., n, H] of f32, bf16 or f16; fn [2 n + n n, n H], hc_scale [3] (for the three
/// parts) and hc_base [2 n + n n] of f32. Gives post_mix [..., n, 1] and comb_mix [..., n, n] of
/// f32, and layer_input [..., H]. Raises shape_mismatch or invalid_argument.
/// flag_gems::mhc_pre(Tensor residual, Tensor fn, Tensor hc_scale, Tensor hc_base, float rms_eps,
/// float hc_pre_eps, float hc_sinkhorn_eps, float hc_post_mult_value, int sinkhorn_repeat, int
/// n_splits=1)
template <stream_like S, tensor_like X, tensor_like Fn, tensor_like Scale, tensor_like Base>
[[nodiscard]] auto mhc_pre(const S& stream, const X& residual, const Fn& fn, const Scale& hc_scale,
                           const Base& hc_base, const hyper_connection_options& options = {}) {
  constexpr const char* op = "mhc_pre";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Fn, Scale, Base>();
  const auto streams = detail::input_of(residual);
  const tensor_view<const f32, D> rows(as_view(fn)), scale(as_view(hc_scale)),
      base(as_view(hc_base));
  detail::check_streams(op, streams);
  const i64 n = streams.size(-2), length = streams.size(-1), mixes = 2 * n + n * n;
  detail::check_sizes_are(op, rows, {mixes, n * length});
  detail::check_sizes_are(op, scale, {3});
  detail::check_sizes_are(op, base, {mixes});
  if (options.sinkhorn_repeat < 1 || options.sinkhorn_repeat > detail::most_steps) [[unlikely]]
    raise(errc::invalid_argument, op, "a sinkhorn_repeat in [1, 2^30]",
          detail::text(options.sinkhorn_repeat));
  const shape outer = streams.shape_of();
  std::tuple out(empty<f32>(stream, detail::outer_and(outer, 2, {n, 1}), op),
                 empty<f32>(stream, detail::outer_and(outer, 2, {n, n}), op),
                 empty<T>(stream, detail::outer_and(outer, 2, {length}), op));
  auto& [post_mix, comb_mix, layer_input] = out;
  if constexpr (element_type_in<detail::stream_types, 1, X>()) {
    if (streams.empty() ||
        detail::replaced<operators::mhc_pre>(op, stream, streams, rows, scale, base, options,
                                             post_mix.view(), comb_mix.view(), layer_input.view()))
      return out;
    const auto products = detail::stream_products(op, stream, streams, rows, options.rms_eps);
    const i64 tokens = products.size(0);
    // Part `k` of the mixes, of `count` for each token.
    const auto part = [&](i64 k, i64 first, i64 count) {
      return products.view().narrow(1, first, count) * scale.narrow(0, k, 1) +
             base.narrow(0, first, count);
    };
    auto pre = empty<f32>(stream, {tokens, n}, op);
    assign(stream, pre, sigmoid(part(0, 0, n)) + static_cast<f32>(options.hc_pre_eps), op);
    assign(stream, post_mix.view().view({tokens, n}),
           sigmoid(part(1, n, n)) * static_cast<f32>(options.hc_post_mult_value), op);
    auto logits = empty<f32>(stream, {tokens, n * n}, op);
    assign(stream, logits, part(2, 2 * n, n * n), op);
    detail::balance<S, f32, D>(
        op, stream, detail::input_of(logits).view({tokens, n, n}),
        comb_mix.view().view({tokens, n, n}), std::nullopt,
        {n, 2 * options.sinkhorn_repeat - 1, static_cast<f32>(options.hc_sinkhorn_eps), true});
    detail::mix_streams<S, T, D>(op, stream, streams,
                                 detail::input_of(pre).view(detail::outer_and(outer, 2, {n, 1})),
                                 std::nullopt, std::nullopt, layer_input.view().unsqueeze(-2));
  }
  return out;
}

/// The streams behind a layer: out[..., i, :] = post_layer_mix[..., i] * x + the sum over j of
/// comb_res_mix[..., j, i] * residual[..., j, :], in f32, rounded once.
///
/// x [..., H], residual and out [..., n, H] of one dtype of f32, bf16 or f16; post_layer_mix [...,
/// n, 1] and comb_res_mix [..., n, n] of f32. Raises shape_mismatch or overlap before anything is
/// written. flag_gems::mhc_post(Tensor x, Tensor residual, Tensor post_layer_mix, Tensor
/// comb_res_mix) -> Tensor
template <stream_like S, tensor_like X, tensor_like Residual, tensor_like Post, tensor_like Comb,
          tensor_like Out>
void mhc_post(const S& stream, const X& x, const Residual& residual, const Post& post_layer_mix,
              const Comb& comb_res_mix, Out&& out) {
  constexpr const char* op = "mhc_post";
  using T = value_t<const Residual&>;
  using D = device_of<S>;
  same_device<S, X, Residual, Post, Comb, Out>();
  static_assert(std::is_same_v<value_t<const X&>, T> && std::is_same_v<value_t<Out>, T>,
                "flaggems: x, residual and the output have one dtype");
  if constexpr (element_type_in<detail::stream_types, 2, Residual>()) {
    const auto streams = detail::input_of(residual);
    const auto added = detail::input_of(x);
    const tensor_view<const f32, D> post(as_view(post_layer_mix)), comb(as_view(comb_res_mix));
    const tensor_view<T, D> to(as_view(out));
    detail::check_streams(op, streams);
    const shape outer = streams.shape_of();
    const i64 n = streams.size(-2);
    detail::check_sizes_are(op, added, detail::outer_and(outer, 2, {streams.size(-1)}));
    detail::check_sizes_are(op, post, detail::outer_and(outer, 2, {n, 1}));
    detail::check_sizes_are(op, comb, detail::outer_and(outer, 2, {n, n}));
    detail::check_output_sizes(op, outer, to);
    detail::check_separate(op, to, added, streams, post, comb);
    if (to.empty() ||
        detail::replaced<operators::mhc_post>(op, stream, added, streams, post, comb, to))
      return;
    detail::mix_streams<S, T, D>(op, stream, streams, comb, added, post.squeeze(-1), to);
  }
}
/// The streams behind a layer in a new tensor.
template <stream_like S, tensor_like X, tensor_like Residual, tensor_like Post, tensor_like Comb>
[[nodiscard]] auto mhc_post(const S& stream, const X& x, const Residual& residual,
                            const Post& post_layer_mix, const Comb& comb_res_mix) {
  auto out = empty<value_t<const Residual&>>(stream, as_view(residual).sizes(), "mhc_post");
  mhc_post(stream, x, residual, post_layer_mix, comb_res_mix, out);
  return out;
}

/// The sum of a token's streams behind the last layer: out = the sum over j of (sigmoid(m[j] *
/// hc_scale + hc_base[j]) + hc_eps) * stream j, m the products of all streams of the token, divided
/// by the root of their mean square plus rms_eps, and the rows of fn.
///
/// hs_flat [tokens, hc_mult, hidden_size] and out [tokens, hidden_size] of one dtype of f32, bf16
/// or f16; fn [hc_mult, hc_mult * hidden_size], hc_scale [1] and hc_base [hc_mult] of f32. Raises
/// shape_mismatch or overlap before anything is written. flag_gems::hc_head_fused_kernel(Tensor
/// hs_flat, Tensor fn, Tensor hc_scale, Tensor hc_base, Tensor(a!) out, int hidden_size, float
/// rms_eps, float hc_eps, int hc_mult) -> Tensor(a!); flag_gems::hc_head_fused_kernel_ref
template <stream_like S, tensor_like X, tensor_like Fn, tensor_like Scale, tensor_like Base,
          tensor_like Out>
void hc_head_fused_kernel(const S& stream, const X& hs_flat, const Fn& fn, const Scale& hc_scale,
                          const Base& hc_base, Out&& out, i64 hidden_size, f64 rms_eps, f64 hc_eps,
                          i64 hc_mult) {
  constexpr const char* op = "hc_head_fused_kernel";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Fn, Scale, Base, Out>();
  static_assert(std::is_same_v<value_t<Out>, T>, "flaggems: streams and output have one dtype");
  if constexpr (element_type_in<detail::stream_types, 1, X>()) {
    const auto streams = detail::input_of(hs_flat);
    const tensor_view<const f32, D> rows(as_view(fn)), scale(as_view(hc_scale)),
        base(as_view(hc_base));
    const tensor_view<T, D> to(as_view(out));
    if (streams.rank() != 3) [[unlikely]]
      detail::raise_sizes(op, "streams [tokens, hc_mult, hidden_size]", streams.sizes());
    detail::check_streams(op, streams);
    const i64 tokens = streams.size(0);
    detail::check_sizes_are(op, streams, {tokens, hc_mult, hidden_size});
    detail::check_sizes_are(op, rows, {hc_mult, hc_mult * hidden_size});
    detail::check_sizes_are(op, scale, {1});
    detail::check_sizes_are(op, base, {hc_mult});
    detail::check_output_sizes(op, {tokens, hidden_size}, to);
    detail::check_separate(op, to, streams, rows, scale, base);
    if (to.empty() || detail::replaced<operators::hc_head_fused_kernel>(
                          op, stream, streams, rows, scale, base, to, rms_eps, hc_eps))
      return;
    auto products = detail::stream_products(op, stream, streams, rows, rms_eps);
    assign(stream, products, sigmoid(products * scale + base) + static_cast<f32>(hc_eps), op);
    detail::mix_streams<S, T, D>(op, stream, streams, detail::input_of(products).unsqueeze(-1),
                                 std::nullopt, std::nullopt, to.unsqueeze(1));
  }
}

/// Sinkhorn's iteration on exp(m): columns, then rows are divided by their sums, `iters` times.
/// `out` gets the doubly stochastic matrices, `powers` exp(m).
///
/// All [..., n, n], of f32 or f64. Raises shape_mismatch, invalid_argument or overlap before
/// anything is written. flag_gems::sinkhorn_forward(Tensor M, int iters=20) -> (Tensor, Tensor)
template <stream_like S, tensor_like M, tensor_like Out, tensor_like Powers>
void sinkhorn_forward(const S& stream, const M& m, Out&& out, Powers&& powers, i64 iters = 20) {
  constexpr const char* op = "sinkhorn_forward";
  using C = value_t<const M&>;
  using D = device_of<S>;
  same_device<S, M, Out, Powers>();
  static_assert(std::is_same_v<value_t<Out>, C> && std::is_same_v<value_t<Powers>, C>,
                "flaggems: matrices and outputs have one dtype");
  if constexpr (element_type_in<type_list<f32, f64>, 1, M>()) {
    const auto from = detail::input_of(m);
    const tensor_view<C, D> to(as_view(out)), all(as_view(powers));
    detail::check_squares(op, from);
    if (iters < 0 || iters > detail::most_steps) [[unlikely]]
      raise(errc::invalid_argument, op, "iters in [0, 2^30]", detail::text(iters));
    detail::check_output_sizes(op, from.shape_of(), to);
    detail::check_output_sizes(op, from.shape_of(), all);
    detail::check_separate(op, to, from);
    detail::check_separate(op, all, from, to);
    if (to.empty() ||
        detail::replaced<operators::sinkhorn_forward>(op, stream, from, to, all, iters))
      return;
    detail::balance<S, C, D>(op, stream, from, to, all, {from.size(-1), 2 * iters, C(0), false});
  }
}
/// The matrices and exp(m) in new tensors.
template <stream_like S, tensor_like M>
[[nodiscard]] auto sinkhorn_forward(const S& stream, const M& m, i64 iters = 20) {
  using C = value_t<const M&>;
  std::pair out(empty<C>(stream, as_view(m).sizes(), "sinkhorn_forward"),
                empty<C>(stream, as_view(m).sizes(), "sinkhorn_forward"));
  sinkhorn_forward(stream, m, out.first, out.second, iters);
  return out;
}

/// The gradient by the logarithms that Sinkhorn's iteration began from, of its result R = `out` and
/// the gradient G = `dout` by it, in a new tensor: (G - u 1^T - 1 v^T) R element by element, where
/// u + R v and R^T u + v are the sums of R G along rows and columns, by cg_iters steps of conjugate
/// gradients (2 n where there is none).
///
/// out, dout [seqlen, n, n] of f32 or f64. Raises shape_mismatch or invalid_argument.
/// flag_gems::mhc_bwd(Tensor out, Tensor dout, int? cg_iters=None) -> Tensor;
/// flag_gems::mhc_bwd_ref
template <stream_like S, tensor_like R, tensor_like G>
[[nodiscard]] auto mhc_bwd(const S& stream, const R& out, const G& dout,
                           std::optional<i64> cg_iters = std::nullopt) {
  constexpr const char* op = "mhc_bwd";
  using C = value_t<const R&>;
  same_device<S, R, G>();
  static_assert(std::is_same_v<value_t<const G&>, C>, "flaggems: out and dout have one dtype");
  const auto results = detail::input_of(out);
  const auto grads = detail::input_of(dout);
  detail::check_squares(op, results);
  if (results.rank() != 3) [[unlikely]]
    detail::raise_sizes(op, "matrices [seqlen, n, n]", results.sizes());
  check_same_sizes(op, results, grads);
  const i64 n = results.size(-1), steps = cg_iters.value_or(2 * n);
  if (steps < 0 || steps > detail::most_steps) [[unlikely]]
    raise(errc::invalid_argument, op, "cg_iters in [0, 2^30]", detail::text(steps));
  auto result = empty<C>(stream, results.sizes(), op);
  if constexpr (element_type_in<type_list<f32, f64>, 1, R>()) {
    const auto made = result.view();
    if (made.empty() ||
        detail::replaced<operators::mhc_bwd>(op, stream, results, grads, steps, made))
      return result;
    const auto to = made.select(-1, 0).select(-1, 0);
    const auto from = results.select(-1, 0).select(-1, 0);
    const auto by = grads.select(-1, 0).select(-1, 0);
    row_plan plan(to.sizes(), 0);
    plan.add(to);
    plan.add(from);
    plan.add(by);
    const kernels::row_space space = plan.space();
    launch_config config;
    config.op = op;
    config.work = work_of(made.numel(), steps + 1, 16);
    const auto run = [&](auto size, C* memory) {
      using kernel = kernels::balanced_matrices_gradient<C, decltype(size)::value>;
      config.tiles = kernels::ceil_div(space.length, kernel::tile);
      launch<kernel>(stream, config, space, n, steps, plan.arg(1, from),
                     kernels::matrix_steps{results.stride(1), results.stride(2)}, plan.arg(2, by),
                     kernels::matrix_steps{grads.stride(1), grads.stride(2)}, plan.target(0, to),
                     kernels::matrix_steps{made.stride(1), made.stride(2)},
                     kernels::global_ptr<C>(memory));
    };
    if (n == 4) {
      run(std::integral_constant<int, 4>{}, nullptr);
    } else {
      auto memory = empty<C>(stream, {made.size(0) * (n * n + 8 * n)}, op);
      run(std::integral_constant<int, 0>{}, memory.data());
    }
  }
  return result;
}

}  // namespace flaggems
