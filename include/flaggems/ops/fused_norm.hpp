// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Norms with something before them: a sum of two inputs, or a weight counted from 1; and the
// quantisation of activations by blocks.
#pragma once

#include <flaggems/kernel/family/quantized/scale.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>

#include <string_view>
#include <utility>

namespace flaggems {
namespace operators {
struct skip_layer_norm;
struct act_quant;
}  // namespace operators

/// What scales of act_quant are rounded to: nothing, or powers of two.
enum class scale_format { none, ue8m0 };

/// The format of that name. Raises invalid_argument for others.
inline scale_format spelled(std::string_view text, std::type_identity<scale_format>) {
  if (text == "none") return scale_format::none;
  if (text == "ue8m0") return scale_format::ue8m0;
  raise(errc::invalid_argument, "act_quant", "scale_fmt none or ue8m0", text);
}

namespace detail {
/// Raises overlap if an output shares memory with an input that may be absent.
template <class Out, optional_tensor X>
void check_not_written(const char* op, const Out& out, const X& x) {
  if (const auto v = optional_view<typename optional_element<X, typename Out::value_type>::type,
                                   typename Out::device_type>(x))
    check_no_overlap(op, placed_layout(layout_of(out)), layout_of(*v));
}
/// a + b in C, for a result in `out`. Raises unless all three have the same sizes and out shares no
/// memory.
template <class C, class S, class A, class B, class Out>
auto summed(const char* op, const S& stream, const A& a, const B& b, const Out& out) {
  using T = typename A::value_type;
  static_assert(
      std::is_same_v<T, typename B::value_type> && std::is_same_v<T, typename Out::value_type>,
      "flaggems: the inputs of a sum and the output have one dtype");
  check_same_sizes(op, a, b);
  check_same_sizes(op, a, out);
  check_output(op, out, a, b);
  auto sum = empty<C>(stream, a.shape_of(), op);
  assign_node(op, stream, sum.view(), add(cast<C>(a), cast<C>(b)).node);
  return sum;
}
}  // namespace detail

namespace detail {
template <class S, class X, class R, class W, class B, class Out>
void skip_layer_norm_into(const S& stream, const X& x, const R& residual,
                          const shape& normalized_shape, const W& weight, const B& bias,
                          const Out& out, double eps) {
  constexpr const char* op = "skip_layer_norm";
  using D = device_of<S>;
  using T = typename X::value_type;
  using BiasType = typename optional_element<B, T>::type;
  using WeightType = typename optional_element<W, BiasType>::type;
  static_assert(std::is_same_v<WeightType, typename optional_element<B, WeightType>::type>,
                "flaggems: layer_norm takes a weight and a bias of the same dtype");
  const auto w = optional_view<WeightType, D>(weight);
  const auto b = optional_view<WeightType, D>(bias);
  check_same_sizes(op, x, residual);
  check_normalized(op, x, normalized_shape);
  const bool dense = check_same_shape(op, out, x), also = check_same_shape(op, out, residual);
  const placed_layout written = layout_of(out);
  check_weight(op, "weight", w, normalized_shape, written);
  check_weight(op, "bias", b, normalized_shape, written);
  norm_plan plan(x.sizes(), normalized_shape.rank(), dense && also && is_dense(w) && is_dense(b));
  plan.add(x);
  plan.add(residual);
  plan.add(out);
  plan.add_inner(w);
  plan.add_inner(b);
  if (plan.empty() || replaced<operators::skip_layer_norm>(op, stream, x, residual,
                                                           normalized_shape, w, b, out, eps))
    return;
  using C = norm_compute<T, WeightType>;
  const kernels::norm_space space = plan.space();
  auto target = plan.target(2, out);
  target.streamed = streams_rows<D>(x, out);
  launch_rows(stream, norm_launch(op, space, 3), space,
              row_operands_of(inputs(plan.arg(0, x), plan.arg(1, residual)), outputs(target),
                              inputs(plan.arg(3, w), plan.arg(4, b))),
              kernels::skip_layer_norm_program<C>{static_cast<C>(eps)});
}
}  // namespace detail

/// out = layer_norm of x + residual, whose sum is not rounded in between; one pass.
///
/// residual has x's sizes and dtype; `out` may be either. Otherwise as layer_norm.
/// flag_gems::skip_layer_norm(Tensor x, Tensor residual, int[] normalized_shape, Tensor?
/// weight=None, Tensor? bias=None, float eps=1e-05)
template <stream_like S, tensor_like X, tensor_like R, optional_tensor W, optional_tensor B,
          tensor_like Out>
void skip_layer_norm(const S& stream, const X& x, const R& residual, const shape& normalized_shape,
                     const W& weight, const B& bias, Out&& out, double eps = 1e-5) {
  using T = value_t<const X&>;
  same_device<S, X, R, W, B, Out>();
  static_assert(std::is_same_v<T, value_t<const R&>> && std::is_same_v<T, value_t<Out>>,
                "flaggems: the residual and the output have the dtype of the input");
  if constexpr (detail::check_norm_types<Out, X, W, B>())
    detail::skip_layer_norm_into(stream, as_view(x), as_view(residual), normalized_shape, weight,
                                 bias, as_view(out), eps);
}
template <stream_like S, tensor_like X, tensor_like R, optional_tensor W = std::nullopt_t,
          optional_tensor B = std::nullopt_t>
[[nodiscard]] auto skip_layer_norm(const S& stream, const X& x, const R& residual,
                                   const shape& normalized_shape, const W& weight = std::nullopt,
                                   const B& bias = std::nullopt, double eps = 1e-5) {
  auto out = empty_like(stream, x, "skip_layer_norm");
  skip_layer_norm(stream, x, residual, normalized_shape, weight, bias, out, eps);
  return out;
}

/// out = rms_norm of x1 + x2, whose sum is not rounded in between.
///
/// x2 has x1's sizes and dtype; otherwise as rms_norm. flag_gems::add_rms_norm(Tensor x1, Tensor
/// x2, int[] normalized_shape, Tensor? weight, float eps=1e-05)
template <stream_like S, tensor_like X, tensor_like Y, optional_tensor W, tensor_like Out>
void add_rms_norm(const S& stream, const X& x1, const Y& x2, const shape& normalized_shape,
                  const W& weight, Out&& out, double eps = 1e-5) {
  constexpr const char* op = "add_rms_norm";
  using C = detail::arithmetic_t<value_t<const X&>>;
  same_device<S, X, Y, W, Out>();
  const auto sum = detail::summed<C>(op, stream, as_view(x1), as_view(x2), as_view(out));
  detail::check_not_written(op, as_view(out), weight);
  rms_norm(stream, sum, normalized_shape, weight, as_view(out), eps);
}
template <stream_like S, tensor_like X, tensor_like Y, optional_tensor W = std::nullopt_t>
[[nodiscard]] auto add_rms_norm(const S& stream, const X& x1, const Y& x2,
                                const shape& normalized_shape, const W& weight = std::nullopt,
                                double eps = 1e-5) {
  auto out = empty_like(stream, x1, "add_rms_norm");
  add_rms_norm(stream, x1, x2, normalized_shape, weight, out, eps);
  return out;
}

/// rms_norm over the dimensions of weight. flag_gems::rmsnorm(Tensor input, Tensor weight, float
/// eps)
template <stream_like S, tensor_like X, tensor_like W, tensor_like Out>
void rmsnorm(const S& stream, const X& input, const W& weight, Out&& out, double eps) {
  rms_norm(stream, input, as_view(weight).shape_of(), weight, out, eps);
}
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto rmsnorm(const S& stream, const X& input, const W& weight, double eps) {
  return rms_norm(stream, input, as_view(weight).shape_of(), weight, eps);
}

/// rms_norm of q and of kv over their last dimensions, each with its weight, in new tensors.
/// flag_gems::fused_q_kv_rmsnorm(Tensor qr, Tensor kv, Tensor q_weight, Tensor kv_weight, float
/// eps)
template <stream_like S, tensor_like Q, tensor_like K, tensor_like QW, tensor_like KW>
[[nodiscard]] auto fused_q_kv_rmsnorm(const S& stream, const Q& qr, const K& kv, const QW& q_weight,
                                      const KW& kv_weight, double eps) {
  detail::check_normalized("fused_q_kv_rmsnorm", as_view(kv), as_view(kv_weight).shape_of());
  auto q = rmsnorm(stream, qr, q_weight, eps);
  return std::pair(std::move(q), rmsnorm(stream, kv, kv_weight, eps));
}

/// out = rms_norm of input over its last dimension, with 1 + weight as the weight.
///
/// weight: [input.size(-1)]. Otherwise as rms_norm.
/// flag_gems::gemma_rms_norm(Tensor input, Tensor weight, float epsilon)
template <stream_like S, tensor_like X, tensor_like W, tensor_like Out>
void gemma_rms_norm(const S& stream, const X& input, const W& weight, Out&& out,
                    double epsilon = 1e-6) {
  constexpr const char* op = "gemma_rms_norm";
  using C = detail::arithmetic_t<value_t<const W&>>;
  same_device<S, X, W, Out>();
  const auto x = as_view(input);
  const auto w = as_view(weight);
  if (x.rank() == 0 || w.rank() != 1 || w.size(0) != x.size(-1)) [[unlikely]]
    detail::raise_shapes(op, "a weight for each of the last dimension", x.shape_of(), w.shape_of());
  detail::check_not_written(op, as_view(out), weight);
  auto scale = empty<C>(stream, w.shape_of(), op);
  detail::assign_node(op, stream, scale.view(), add(cast<C>(w), C(1)).node);
  rms_norm(stream, x, {x.size(-1)}, scale, out, epsilon);
}
template <stream_like S, tensor_like X, tensor_like W>
[[nodiscard]] auto gemma_rms_norm(const S& stream, const X& input, const W& weight,
                                  double epsilon = 1e-6) {
  auto out = empty_like(stream, input, "gemma_rms_norm");
  gemma_rms_norm(stream, input, weight, out, epsilon);
  return out;
}

/// out = x / scale as f8e4m3, and the scales of blocks of `block_size` elements of the last
/// dimension: the largest |x| of each, at least 1e-4, divided by 448; with scale_fmt ue8m0 the
/// power of two that is not less.
///
/// Shapes: x [..., N], a multiple of block_size; out as x; scales [..., N / block_size], f32.
/// Raises shape_mismatch, overlap, or invalid_argument, before anything is written.
/// flag_gems::act_quant_triton(Tensor x, int block_size=128, str? scale_fmt=None)
template <stream_like S, tensor_like X, tensor_like Out, tensor_like Scales>
void act_quant(const S& stream, const X& x, Out&& out, Scales&& scales, i64 block_size = 128,
               scale_format scale_fmt = scale_format::none) {
  constexpr const char* op = "act_quant";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Out, Scales>();
  static_assert(std::is_same_v<value_t<Out>, f8e4m3> && std::is_same_v<value_t<Scales>, f32>,
                "flaggems: act_quant gives f8e4m3, and scales of f32");
  if constexpr (element_type_in<type_list<f32, bf16, f16>, 1, X>()) {
    const tensor_view<const T, D> from(as_view(x));
    const auto to = as_view(out);
    const auto by = as_view(scales);
    const bool rounds = scale_fmt == scale_format::ue8m0;
    if (from.rank() == max_rank) [[unlikely]]
      detail::raise_sizes(op, "at most 7 dimensions", from.sizes());
    if (from.rank() == 0 || block_size <= 0 || from.size(-1) % block_size != 0) [[unlikely]]
      detail::raise_shapes(op, "a last dimension that is a multiple of the block's",
                           from.shape_of(), shape{block_size});
    shape blocks = from.shape_of();
    blocks[from.rank() - 1] /= block_size;
    check_same_sizes(op, from, to);
    detail::check_output_sizes(op, blocks, by);
    check_output(op, to);
    check_output(op, by);
    const detail::placed_layout written(detail::layout_of(to)), scale_memory(detail::layout_of(by));
    detail::check_no_overlap(op, written, detail::layout_of(from));
    detail::check_no_overlap(op, scale_memory, detail::layout_of(from));
    detail::check_no_overlap(op, scale_memory, detail::layout_of(to));
    if (to.empty() ||
        detail::replaced<operators::act_quant>(op, stream, from, to, by, block_size, scale_fmt))
      return;
    const auto parts = from.unflatten(-1, {blocks[from.rank() - 1], block_size});
    const i64 last = -1;
    detail::reduce_values<operators::amax, kernels::max_of_all, f32>(
        op, stream, abs(cast<f32>(parts)), by, int_list(&last, 1), false,
        detail::reduction_result::extreme);
    const tensor_view<const f32, D> largest(by);
    const auto scale = mul(maximum(largest, 1e-4F), 1.0F / 448.0F);
    if (rounds) {
      // The bits of a number above the power of two below it carry into the exponent.
      detail::assign_node(op, stream, by, apply(kernels::next_power_of_two_fn{}, scale).node);
    } else {
      detail::assign_node(op, stream, by, scale.node);
    }
    detail::assign_node(op, stream, to.unflatten(-1, {blocks[from.rank() - 1], block_size}),
                        cast<f8e4m3>(div(cast<f32>(parts), largest.unsqueeze(-1))).node);
  }
}
/// act_quant in new tensors: the elements and the scales.
template <stream_like S, tensor_like X>
[[nodiscard]] auto act_quant(const S& stream, const X& x, i64 block_size = 128,
                             scale_format scale_fmt = scale_format::none) {
  shape blocks = as_view(x).shape_of();
  if (blocks.rank() == 0 || block_size <= 0) [[unlikely]]
    detail::raise_shapes("act_quant", "a dimension, and blocks of some elements", blocks,
                         shape{block_size});
  blocks[blocks.rank() - 1] /= block_size;
  std::pair out(empty<f8e4m3>(stream, as_view(x).shape_of(), "act_quant"),
                empty<f32>(stream, blocks, "act_quant"));
  act_quant(stream, x, out.first, out.second, block_size, scale_fmt);
  return out;
}

}  // namespace flaggems
