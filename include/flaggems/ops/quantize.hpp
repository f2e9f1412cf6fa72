// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers rounded to the steps of integers or 8-bit floats, and products with weights of 8 bits.
#pragma once

#include <flaggems/ops/comparison.hpp>
#include <flaggems/ops/fused_norm.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/rounding.hpp>

#include <type_traits>
#include <utility>

namespace flaggems {
namespace detail {

/// Raises unless a range of integers is one.
inline void check_quantized_range(const char* op, i64 least, i64 most) {
  if (least > most) [[unlikely]]
    raise(errc::invalid_argument, op, "quant_min <= quant_max", text(least) + " and " + text(most));
}
/// The integer that stands for x, as a number: round(x / scale) + zero_point; a zero_point that is
/// no integer is added before it is rounded.
template <class X, class Scale, class Zero>
auto quantized(const X& x, const Scale& scale, const Zero& zero_point) {
  const auto steps = mul(cast<f32>(x), div(1.0F, scale));
  if constexpr (kind_of<value_t<const Zero&>> == kind::floating)
    return round(add(steps, zero_point));
  else
    return add(round(steps), cast<f32>(zero_point));
}
/// out = x rounded to the steps, and whether each is inside the range, where that has a place.
template <class S, class X, class Scale, class Zero, class T, class D>
void fake_quantize_into(const char* op, const S& stream, const X& x, const Scale& scale,
                        const Zero& zero_point, i64 least, i64 most, const tensor_view<T, D>& out,
                        const tensor_view<bool, D>* mask) {
  const auto whole = quantized(x, scale, zero_point);
  const auto low = static_cast<f32>(least), high = static_cast<f32>(most);
  if (mask != nullptr) assign(stream, *mask, logical_and(ge(whole, low), le(whole, high)), op);
  const auto inside = minimum(maximum(whole, low), high);
  assign(stream, out, cast<T>(mul(sub(inside, cast<f32>(zero_point)), scale)), op);
}
/// A vector of channels beside x.
template <class X, class V>
auto beside_channels(const char* op, const X& x, const V& v, int axis) {
  if (v.rank() != 1 || v.numel() != x.size(axis)) [[unlikely]]
    raise_shapes(op, "an element for each index along the axis", x.shape_of(), v.shape_of());
  auto r = v;
  for (int d = axis + 1; d < x.rank(); ++d) r = r.unsqueeze(-1);
  return r;
}
template <class S, class X, class Scale, class Zero, class Out, class D>
void fake_quantize_channels(const char* op, const S& stream, const X& x, const Scale& scale,
                            const Zero& zero_point, i64 axis, i64 least, i64 most, const Out& out,
                            const tensor_view<bool, D>* mask) {
  static_assert(std::is_same_v<value_t<const Scale&>, f32>, "flaggems: scales are of f32");
  check_quantized_range(op, least, most);
  if (x.rank() == 0) [[unlikely]]
    raise_sizes(op, "at least one dimension", x.sizes());
  const int d = normalize_dim(axis, x.rank(), op);
  const auto scales = beside_channels(op, x, scale, d);
  const auto zeros = beside_channels(op, x, zero_point, d);
  check_same_sizes(op, x, out);
  check_separate(op, out, scale, zero_point);
  check_no_partial_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (mask != nullptr) {
    check_same_sizes(op, x, *mask);
    check_separate(op, *mask, x, scale, zero_point, out);
  }
  if (!x.empty())
    fake_quantize_into(op, stream, x, scales, zeros, least, most,
                       tensor_view<value_t<const Out&>, D>(out), mask);
}

}  // namespace detail

/// out = x rounded to multiples of its channel's scale, as quantisation to integers in [quant_min,
/// quant_max] would: (clamp(round(x / scale) + zero_point) - zero_point) * scale, in f32; mask =
/// where nothing was clamped.
///
/// x: floating point; scale, of f32, and zero_point, of integers or f32: a vector of x's size along
/// axis; mask: of bool. out may be x. Raises invalid_argument, out_of_range, shape_mismatch or
/// overlap before anything is written.
/// aten::fake_quantize_per_channel_affine_cachemask.out(Tensor self, Tensor scale, Tensor
/// zero_point, int axis, int quant_min, int quant_max, *, Tensor(a!) out0, Tensor(b!) out1)
template <stream_like S, tensor_like X, tensor_like Scale, tensor_like Zero, tensor_like Out,
          tensor_like Mask>
void fake_quantize_per_channel_affine_cachemask(const S& stream, const X& x, const Scale& scale,
                                                const Zero& zero_point, i64 axis, i64 quant_min,
                                                i64 quant_max, Out&& out, Mask&& mask) {
  same_device<S, X, Scale, Zero, Out, Mask>();
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const tensor_view<bool, device_of<S>> inside(as_view(mask));
    detail::fake_quantize_channels("fake_quantize_per_channel_affine_cachemask", stream, as_view(x),
                                   as_view(scale), as_view(zero_point), axis, quant_min, quant_max,
                                   as_view(out), &inside);
  }
}
template <stream_like S, tensor_like X, tensor_like Scale, tensor_like Zero>
[[nodiscard]] auto fake_quantize_per_channel_affine_cachemask(const S& stream, const X& x,
                                                              const Scale& scale,
                                                              const Zero& zero_point, i64 axis,
                                                              i64 quant_min, i64 quant_max) {
  constexpr const char* op = "fake_quantize_per_channel_affine_cachemask";
  std::pair out(empty<value_t<const X&>>(stream, as_view(x).sizes(), op),
                empty<bool>(stream, as_view(x).sizes(), op));
  fake_quantize_per_channel_affine_cachemask(stream, x, scale, zero_point, axis, quant_min,
                                             quant_max, out.first, out.second);
  return out;
}
/// The same without the mask, in a new tensor.
/// aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis,
/// int quant_min, int quant_max)
template <stream_like S, tensor_like X, tensor_like Scale, tensor_like Zero>
[[nodiscard]] auto fake_quantize_per_channel_affine(const S& stream, const X& x, const Scale& scale,
                                                    const Zero& zero_point, i64 axis, i64 quant_min,
                                                    i64 quant_max) {
  constexpr const char* op = "fake_quantize_per_channel_affine";
  using D = device_of<S>;
  same_device<S, X, Scale, Zero>();
  auto out = empty<value_t<const X&>>(stream, as_view(x).sizes(), op);
  if constexpr (element_type_in<floating_types, 1, X>())
    detail::fake_quantize_channels<S, decltype(as_view(x)), decltype(as_view(scale)),
                                   decltype(as_view(zero_point)), decltype(out.view()), D>(
        op, stream, as_view(x), as_view(scale), as_view(zero_point), axis, quant_min, quant_max,
        out.view(), nullptr);
  return out;
}
/// The same with one scale, and one zero_point, of f32, which is rounded and clamped to the range
/// first, in a new tensor. grad_factor is the gradient's.
/// aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point,
/// int quant_min, int quant_max, float grad_factor=1.0)
template <stream_like S, tensor_like X, tensor_like Scale, tensor_like Zero>
[[nodiscard]] auto fake_quantize_learnable_per_tensor_affine(const S& stream, const X& x,
                                                             const Scale& scale,
                                                             const Zero& zero_point, i64 quant_min,
                                                             i64 quant_max,
                                                             [[maybe_unused]] f64 grad_factor = 1) {
  constexpr const char* op = "fake_quantize_learnable_per_tensor_affine";
  using D = device_of<S>;
  same_device<S, X, Scale, Zero>();
  static_assert(
      std::is_same_v<value_t<const Scale&>, f32> && std::is_same_v<value_t<const Zero&>, f32>,
      "flaggems: a scale and a zero_point are of f32");
  auto out = empty<value_t<const X&>>(stream, as_view(x).sizes(), op);
  if constexpr (element_type_in<floating_types, 1, X>()) {
    detail::check_quantized_range(op, quant_min, quant_max);
    if (as_view(scale).numel() != 1 || as_view(zero_point).numel() != 1) [[unlikely]]
      detail::raise_shapes(op, "one scale and one zero_point", as_view(scale).shape_of(),
                           as_view(zero_point).shape_of());
    const auto by = as_view(scale).as_strided({}, {});
    auto zero = empty<i32>(stream, {}, op);
    assign(stream, zero,
           cast<i32>(minimum(
               maximum(round(as_view(zero_point).as_strided({}, {})), static_cast<f32>(quant_min)),
               static_cast<f32>(quant_max))),
           op);
    if (!out.empty())
      detail::fake_quantize_into<S, decltype(as_view(x)), decltype(by), decltype(zero.view()),
                                 value_t<const X&>, D>(op, stream, as_view(x), by, zero.view(),
                                                       quant_min, quant_max, out.view(), nullptr);
  }
  return out;
}

/// x as f8e4m3, and the scales of groups of group_size elements of the last dimension, in new
/// tensors: the largest |x| of each, at least eps, divided by 448; with scale_ue8m0 the power of
/// two that is not less. With column_major_scales the scales lie transposed in memory.
///
/// x: [..., N] of f32, bf16 or f16, N a multiple of group_size; scales: [..., N / group_size] of
/// f32. Raises shape_mismatch. flag_gems::per_token_group_quant_fp8(Tensor x, int group_size,
/// float eps=1e-10, bool column_major_scales=False, bool scale_ue8m0=False)
template <stream_like S, tensor_like X>
[[nodiscard]] auto per_token_group_quant_fp8(const S& stream, const X& x, i64 group_size,
                                             f64 eps = 1e-10, bool column_major_scales = false,
                                             bool scale_ue8m0 = false) {
  constexpr const char* op = "per_token_group_quant_fp8";
  same_device<S, X>();
  const auto v = as_view(x);
  if (v.rank() == 0 || v.rank() == max_rank || group_size < 1 || v.size(-1) % group_size != 0)
      [[unlikely]]
    detail::raise_shapes(op, "1 to 7 dimensions, the last one a multiple of the group's",
                         v.shape_of(), shape{group_size});
  shape groups = v.shape_of(), strides = groups;
  const int last = v.rank() - 1;
  groups[last] /= group_size;
  // Row-major, or the last two dimensions in the other order.
  i64 step = 1;
  for (int k = last; k >= 0; --k) {
    const int d = column_major_scales && last > 0 && k >= last - 1 ? 2 * last - 1 - k : k;
    strides[d] = step;
    step *= groups[d];
  }
  std::pair out(empty<f8e4m3>(stream, v.shape_of(), op),
                tensor<f32, device_of<S>>(ref(stream), groups, strides, op));
  if constexpr (element_type_in<type_list<f32, bf16, f16>, 1, X>()) {
    if (v.empty()) return out;
    const auto parts = v.unflatten(-1, {groups[last], group_size});
    const auto by = out.second.view();
    const i64 inner = -1;
    detail::reduce_values<operators::amax, kernels::max_of_all, f32>(
        op, stream, abs(cast<f32>(parts)), by, int_list(&inner, 1), false,
        detail::reduction_result::extreme);
    const auto scale = mul(maximum(by, static_cast<f32>(eps)), 1.0F / 448.0F);
    if (scale_ue8m0)
      assign(stream, by, apply(kernels::next_power_of_two_fn{}, scale), op);
    else
      assign(stream, by, scale, op);
    assign(stream, out.first.view().unflatten(-1, {groups[last], group_size}),
           cast<f8e4m3>(div(cast<f32>(parts), by.unsqueeze(-1))), op);
  }
  return out;
}

/// out = self * mat2^T * scales: a product with weights of 8-bit integers and a scale for each of
/// their rows; summed in f32 and rounded once.
///
/// self [m, k] of f32, bf16 or f16; mat2 [n, k] of i8; scales [n] and out [m, n] of self's dtype.
/// Raises invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales)
template <stream_like S, tensor_like A, tensor_like B, tensor_like Scales, tensor_like Out>
void weight_int8pack_mm(const S& stream, const A& self, const B& mat2, const Scales& scales,
                        Out&& out) {
  constexpr const char* op = "weight_int8pack_mm";
  using T = value_t<const A&>;
  same_device<S, A, B, Scales, Out>();
  static_assert(std::is_same_v<value_t<const B&>, i8> &&
                    std::is_same_v<value_t<const Scales&>, T> && std::is_same_v<value_t<Out>, T>,
                "flaggems: weights are of i8, scales and the output of the first matrix's dtype");
  if constexpr (element_type_in<type_list<f32, bf16, f16>, 1, A>()) {
    const auto a = as_view(self);
    const auto w = as_view(mat2);
    const auto by = as_view(scales);
    const auto to = as_view(out);
    if (w.rank() != 2) [[unlikely]]
      detail::raise_sizes(op, "weights of two dimensions", w.sizes());
    detail::check_output_sizes(op, detail::mm_shape(op, a, w.t()), to);
    detail::check_output_sizes(op, {w.size(0)}, by);
    detail::check_separate(op, to, a, w, by);
    // An integer of 8 bits is one of each of these floats.
    const auto weights = detail::copied<T>(op, stream, w);
    auto sums = empty<f32>(stream, to.shape_of(), op);
    mm(stream, a, weights.view().t(), sums);
    if (!to.empty()) assign(stream, to, cast<T>(mul(sums, cast<f32>(by))), op);
  }
}
template <stream_like S, tensor_like A, tensor_like B, tensor_like Scales>
[[nodiscard]] auto weight_int8pack_mm(const S& stream, const A& self, const B& mat2,
                                      const Scales& scales) {
  constexpr const char* op = "weight_int8pack_mm";
  if (as_view(mat2).rank() != 2) [[unlikely]]
    detail::raise_sizes(op, "weights of two dimensions", as_view(mat2).sizes());
  auto out =
      empty<value_t<const A&>>(stream, detail::mm_shape(op, as_view(self), as_view(mat2).t()), op);
  weight_int8pack_mm(stream, self, mat2, scales, out);
  return out;
}

}  // namespace flaggems
