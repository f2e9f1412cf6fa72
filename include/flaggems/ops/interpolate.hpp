// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Resampling by lines and cubics between elements, with and without smoothing, and its gradients.
#pragma once

#include <flaggems/ops/upsample.hpp>

namespace flaggems {
namespace operators {
struct upsample_linear;
struct upsample_linear_backward;
}  // namespace operators

namespace detail {

/// By what elements are resampled; the smooth ones widen it where the output is smaller.
enum class interpolation { line, cubic, smooth_line, smooth_cubic };

template <interpolation By, class C>
struct interpolation_taps {
  using type = kernels::interpolated_taps<C, By == interpolation::cubic>;
  static type make(i64 size, C scale, bool align_corners) { return {size, scale, align_corners}; }
};
template <interpolation By, class C>
requires(By >= interpolation::smooth_line) struct interpolation_taps<By, C> {
  using type = kernels::smoothed_taps<C, By == interpolation::smooth_cubic>;
  static type make(i64 size, C scale, bool) { return {size, scale}; }
};

/// Resampling as upsample_request has it, from corner to corner if `align_corners`.
template <interpolation By>
struct interpolation_request {
  upsample_request of;
  bool align_corners;

  /// The taps of x's elements along axis k of a walk.
  template <class C>
  [[nodiscard]] auto taps(int_list x, int k) const {
    const int d = k - (kernels::window_axes - of.dims);
    if (d < 0) return interpolation_taps<By, C>::make(1, C(1), false);
    const i64 size = x[2 + d], result = of.output_size[d];
    const C scale = !align_corners ? of.template nearest<C>(x, k).scale
                    : result > 1   ? static_cast<C>(size - 1) / static_cast<C>(result - 1)
                                   : C(0);
    return interpolation_taps<By, C>::make(size, scale, align_corners);
  }
};
template <class T>
using interpolation_compute = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;

template <interpolation By, class S, class T, class D>
void interpolate_into(const interpolation_request<By>& ask, const S& stream,
                      const tensor_view<const T, D>& x, const tensor_view<T, D>& out) {
  using C = interpolation_compute<T>;
  const char* op = ask.of.name;
  check_output_sizes(op, ask.of.result(x.sizes()), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (replaced<operators::upsample_linear>(op, stream, x, out, ask)) return;
  typename interpolation_taps<By, C>::type taps[kernels::window_axes];
  for (int k = 0; k < kernels::window_axes; ++k) taps[k] = ask.template taps<C>(x.sizes(), k);
  const window_layout to = window_layout::of(out, ask.of.dims);
  launch_windows(op, stream, walk_of(taps, x.data(), to, window_layout::of(x, ask.of.dims)),
                 kernels::window_sum<T>{written_by_walk(out.data(), to)},
                 i64{1} << (2 * ask.of.dims));
}
template <interpolation By, class S, class T, class D>
void interpolate_backward_into(const interpolation_request<By>& ask, const S& stream,
                               const tensor_view<const T, D>& grad, int_list input_size,
                               const tensor_view<T, D>& out) {
  using C = interpolation_compute<T>;
  const char* op = ask.of.name;
  const shape sizes = ask.of.result(input_size);
  if (!same_sizes(grad.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(op, sizes, grad.sizes());
  check_output_sizes(op, shape(input_size), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  if (replaced<operators::upsample_linear_backward>(op, stream, grad, out, ask)) return;
  kernels::weighted_gradient_taps<C, typename interpolation_taps<By, C>::type>
      taps[kernels::window_axes];
  for (int k = 0; k < kernels::window_axes; ++k) {
    const int d = k - (kernels::window_axes - ask.of.dims);
    taps[k] = {d < 0 ? 1 : ask.of.output_size[d], ask.template taps<C>(input_size, k)};
  }
  const window_layout to = window_layout::of(out, ask.of.dims);
  launch_windows(op, stream, walk_of(taps, grad.data(), to, window_layout::of(grad, ask.of.dims)),
                 kernels::window_sum<T>{written_by_walk(out.data(), to)},
                 i64{1} << (2 * ask.of.dims));
}

/// Does not compile unless both have one floating-point dtype; gives whether they have.
template <class X, class Out>
constexpr bool check_interpolated() {
  constexpr bool right =
      kind_of<value_t<X>> == kind::floating && std::is_same_v<value_t<X>, value_t<Out>>;
  static_assert(right, "flaggems: input and output have one floating-point dtype");
  return right;
}

}  // namespace detail

#define FLAGGEMS_SCALES_1 scales
#define FLAGGEMS_SCALES_2 scales_h, scales_w
#define FLAGGEMS_SCALES_3 scales_d, scales_h, scales_w
// One line an operator and its gradient: name, by what, over how many dimensions, the parameters
// behind align_corners.
#define FLAGGEMS_INTERPOLATED(name, by, dims, ...)                                                \
  template <stream_like S, tensor_like X, tensor_like Out>                                        \
  void name(const S& stream, const X& x, Out&& out, int_list output_size, bool align_corners,     \
            __VA_ARGS__) {                                                                        \
    same_device<S, X, Out>();                                                                     \
    if constexpr (detail::check_interpolated<const X&, Out>())                                    \
      detail::interpolate_into(                                                                   \
          detail::interpolation_request<detail::interpolation::by>{                               \
              {#name, dims, true, output_size, {FLAGGEMS_SCALES_##dims}}, align_corners},         \
          stream, tensor_view<const value_t<Out>, device_of<S>>(as_view(x)), as_view(out));       \
  }                                                                                               \
  template <stream_like S, tensor_like X>                                                         \
  [[nodiscard]] auto name(const S& stream, const X& x, int_list output_size, bool align_corners,  \
                          __VA_ARGS__) {                                                          \
    const auto v = as_view(x);                                                                    \
    const detail::upsample_request ask(#name, dims, true, output_size, {FLAGGEMS_SCALES_##dims}); \
    const shape sizes = ask.result(v.sizes());                                                    \
    tensor<value_t<const X&>, device_of<S>> out(                                                  \
        ref(stream), sizes,                                                                       \
        detail::strides_in(detail::suggested_format(v.sizes(), v.strides()), sizes, {}, #name),   \
        #name);                                                                                   \
    name(stream, x, out, output_size, align_corners, FLAGGEMS_SCALES_##dims);                     \
    return out;                                                                                   \
  }

#define FLAGGEMS_INTERPOLATED_BACKWARD(name, by, dims, ...)                                        \
  template <stream_like S, tensor_like G, tensor_like Out>                                         \
  void name(const S& stream, const G& grad_output, Out&& grad_input, int_list output_size,         \
            int_list input_size, bool align_corners, __VA_ARGS__) {                                \
    same_device<S, G, Out>();                                                                      \
    if constexpr (detail::check_interpolated<const G&, Out>())                                     \
      detail::interpolate_backward_into(                                                           \
          detail::interpolation_request<detail::interpolation::by>{                                \
              {#name, dims, true, output_size, {FLAGGEMS_SCALES_##dims}}, align_corners},          \
          stream, tensor_view<const value_t<Out>, device_of<S>>(as_view(grad_output)), input_size, \
          as_view(grad_input));                                                                    \
  }                                                                                                \
  template <stream_like S, tensor_like G>                                                          \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, int_list output_size,             \
                          int_list input_size, bool align_corners, __VA_ARGS__) {                  \
    auto out = empty<value_t<const G&>>(stream, shape(input_size), #name);                         \
    name(stream, grad_output, out, output_size, input_size, align_corners,                         \
         FLAGGEMS_SCALES_##dims);                                                                  \
    return out;                                                                                    \
  }

/// out[n, c, i] = x[n, c] at the place of i, on the line between the two elements beside it: at
/// i (L - 1) / (output_size - 1) with align_corners, else (i + 1/2) scale - 1/2, where scale is 1 /
/// scales, or L by the output's size if none is given. Places beyond an edge are on it.
///
/// x [N, C, L], out [N, C, output_size], one floating-point dtype, any strides. Places and sums are
/// in f32, of f64 in f64. out shares no memory with x. Raises shape_mismatch, invalid_argument or
/// overlap before anything is written. aten::upsample_linear1d(Tensor self, SymInt[1] output_size,
/// bool align_corners, float? scales=None)
FLAGGEMS_INTERPOLATED(upsample_linear1d, line, 1, std::optional<f64> scales = {})
/// upsample_linear1d over two dimensions. aten::upsample_bilinear2d(Tensor self, SymInt[2]
/// output_size, bool align_corners, float? scales_h=None, float? scales_w=None)
FLAGGEMS_INTERPOLATED(upsample_bilinear2d, line, 2, std::optional<f64> scales_h = {},
                      std::optional<f64> scales_w = {})
/// upsample_linear1d over three dimensions. aten::upsample_trilinear3d(Tensor self, SymInt[3]
/// output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float?
/// scales_w=None)
FLAGGEMS_INTERPOLATED(upsample_trilinear3d, line, 3, std::optional<f64> scales_d = {},
                      std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// upsample_bilinear2d by the cubic of the four elements about a place, of slope -3/4 at
/// distance 1. aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners,
/// float? scales_h=None, float? scales_w=None)
FLAGGEMS_INTERPOLATED(upsample_bicubic2d, cubic, 2, std::optional<f64> scales_h = {},
                      std::optional<f64> scales_w = {})
/// upsample_bilinear2d that weighs all elements by their distance from (i + 1/2) scale, in units of
/// the scale where it is above 1. aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size,
/// bool align_corners, float? scales_h=None, float? scales_w=None)
FLAGGEMS_INTERPOLATED(upsample_bilinear2d_aa, smooth_line, 2, std::optional<f64> scales_h = {},
                      std::optional<f64> scales_w = {})
/// The same by a cubic, of slope -1/2 at distance 1. aten::_upsample_bicubic2d_aa(Tensor self,
/// SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None)
FLAGGEMS_INTERPOLATED(upsample_bicubic2d_aa, smooth_cubic, 2, std::optional<f64> scales_h = {},
                      std::optional<f64> scales_w = {})
#undef FLAGGEMS_INTERPOLATED

/// The gradient of upsample_linear1d: of an element the sum of grad_output by its weights there.
///
/// grad_output [N, C, output_size], grad_input: input_size; otherwise as upsample_linear1d.
/// aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3]
/// input_size, bool align_corners, float? scales=None)
FLAGGEMS_INTERPOLATED_BACKWARD(upsample_linear1d_backward, line, 1, std::optional<f64> scales = {})
/// The gradient of upsample_bilinear2d. aten::upsample_bilinear2d_backward(Tensor grad_output,
/// SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float?
/// scales_w=None)
FLAGGEMS_INTERPOLATED_BACKWARD(upsample_bilinear2d_backward, line, 2,
                               std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// The gradient of upsample_trilinear3d. aten::upsample_trilinear3d_backward(Tensor grad_output,
/// SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float?
/// scales_h=None, float? scales_w=None)
FLAGGEMS_INTERPOLATED_BACKWARD(upsample_trilinear3d_backward, line, 3,
                               std::optional<f64> scales_d = {}, std::optional<f64> scales_h = {},
                               std::optional<f64> scales_w = {})
/// The gradient of upsample_bicubic2d. aten::upsample_bicubic2d_backward(Tensor grad_output,
/// SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float?
/// scales_w=None)
FLAGGEMS_INTERPOLATED_BACKWARD(upsample_bicubic2d_backward, cubic, 2,
                               std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// The gradient of upsample_bilinear2d_aa. aten::_upsample_bilinear2d_aa_backward(Tensor
/// grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float?
/// scales_h=None, float? scales_w=None)
FLAGGEMS_INTERPOLATED_BACKWARD(upsample_bilinear2d_aa_backward, smooth_line, 2,
                               std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// The gradient of upsample_bicubic2d_aa. aten::_upsample_bicubic2d_aa_backward(Tensor grad_output,
/// SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float?
/// scales_w=None)
FLAGGEMS_INTERPOLATED_BACKWARD(upsample_bicubic2d_aa_backward, smooth_cubic, 2,
                               std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
#undef FLAGGEMS_INTERPOLATED_BACKWARD
#undef FLAGGEMS_SCALES_1
#undef FLAGGEMS_SCALES_2
#undef FLAGGEMS_SCALES_3

}  // namespace flaggems
