// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Resampling by the nearest element, and its gradients.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/window.hpp>

#include <initializer_list>
#include <optional>
#include <type_traits>

namespace flaggems {
namespace operators {
struct upsample_nearest;
struct upsample_nearest_backward;
}  // namespace operators

namespace detail {

using optional_scales = std::initializer_list<std::optional<f64>>;

/// A resampling between x [N, C, sizes...] and an output of the same, which `scales` are of.
struct upsample_request {
  const char* name;
  int dims;
  bool half_pixel;  // whether places count from the middle of elements
  int_list output_size;
  std::optional<f64> scales[kernels::window_axes];

  upsample_request(const char* op, int count, bool exact, int_list sizes, optional_scales given)
      : name(op), dims(count), half_pixel(exact), output_size(sizes) {
    int d = 0;
    for (const auto& scale : given) scales[d++] = scale;
  }
  /// x's sizes with those of the output. Raises unless there are elements to choose from.
  [[nodiscard]] shape result(int_list x) const {
    if (x.size() != dims + 2) [[unlikely]]
      raise(errc::shape_mismatch, name, "a tensor of rank " + text(dims + 2), to_string(x));
    if (output_size.size() != dims) [[unlikely]]
      raise_sizes(name, "a size for each of the operator's dimensions", output_size);
    shape r(x);
    for (int d = 0; d < dims; ++d) {
      if (x[2 + d] < 1 || output_size[d] < 1) [[unlikely]]
        raise(errc::shape_mismatch, name, "positive sizes",
              to_string(x) + " and " + to_string(output_size));
      r[2 + d] = output_size[d];
    }
    return r;
  }
  /// The nearest of x's elements along axis k of a walk.
  template <class C>
  [[nodiscard]] kernels::nearest_taps<C> nearest(int_list x, int k) const {
    const int d = k - (kernels::window_axes - dims);
    if (d < 0) return {1, C(1), false};
    const i64 n = x[2 + d];
    const bool is_given = scales[d] && *scales[d] > 0;
    return {n,
            is_given ? static_cast<C>(1 / *scales[d])
                     : static_cast<C>(n) / static_cast<C>(output_size[d]),
            half_pixel};
  }
};

template <class S, class T, class D>
void upsample_into(const upsample_request& ask, const S& stream, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& out) {
  using C = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  const char* op = ask.name;
  check_output_sizes(op, ask.result(x.sizes()), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (replaced<operators::upsample_nearest>(op, stream, x, out, ask)) return;
  kernels::nearest_taps<C> taps[kernels::window_axes];
  for (int k = 0; k < kernels::window_axes; ++k) taps[k] = ask.nearest<C>(x.sizes(), k);
  const window_layout to = window_layout::of(out, ask.dims);
  launch_windows(op, stream, walk_of(taps, x.data(), to, window_layout::of(x, ask.dims)),
                 kernels::window_value<T>{written_by_walk(out.data(), to)}, 1);
}
template <class S, class T, class D>
void upsample_backward_into(const upsample_request& ask, const S& stream,
                            const tensor_view<const T, D>& grad, int_list input_size,
                            const tensor_view<T, D>& out) {
  using C = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  const char* op = ask.name;
  const shape sizes = ask.result(input_size);
  if (!same_sizes(grad.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(op, sizes, grad.sizes());
  check_output_sizes(op, shape(input_size), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  if (replaced<operators::upsample_nearest_backward>(op, stream, grad, out, ask)) return;
  kernels::nearest_of_taps<C> taps[kernels::window_axes];
  for (int k = 0; k < kernels::window_axes; ++k) {
    const int d = k - (kernels::window_axes - ask.dims);
    taps[k] = {d < 0 ? 1 : ask.output_size[d], ask.nearest<C>(input_size, k)};
  }
  const window_layout to = window_layout::of(out, ask.dims);
  launch_windows(op, stream, walk_of(taps, grad.data(), to, window_layout::of(grad, ask.dims)),
                 kernels::window_sum<T>{written_by_walk(out.data(), to)}, 4);
}

/// What can be resampled.
template <class T>
inline constexpr bool is_resampled = kind_of<T> == kind::floating || std::is_same_v<T, u8>;

}  // namespace detail

#define FLAGGEMS_SCALES_1 scales
#define FLAGGEMS_SCALES_2 scales_h, scales_w
#define FLAGGEMS_SCALES_3 scales_d, scales_h, scales_w
// One line an operator: name, whether it is the exact one, over how many dimensions, the
// parameters behind the output's size.
#define FLAGGEMS_UPSAMPLE(name, exact, dims, ...)                                                  \
  template <stream_like S, tensor_like X, tensor_like Out>                                         \
  void name(const S& stream, const X& x, Out&& out, int_list output_size, __VA_ARGS__) {           \
    using T = value_t<const X&>;                                                                   \
    constexpr bool right = detail::is_resampled<T> && std::is_same_v<T, value_t<Out>>;             \
    same_device<S, X, Out>();                                                                      \
    static_assert(right, "flaggems: input and output have one dtype, floating-point or u8");       \
    if constexpr (right)                                                                           \
      detail::upsample_into({#name, dims, exact, output_size, {FLAGGEMS_SCALES_##dims}}, stream,   \
                            tensor_view<const T, device_of<S>>(as_view(x)), as_view(out));         \
  }                                                                                                \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto name(const S& stream, const X& x, int_list output_size, __VA_ARGS__) {        \
    const auto v = as_view(x);                                                                     \
    const detail::upsample_request ask(#name, dims, exact, output_size, {FLAGGEMS_SCALES_##dims}); \
    const shape sizes = ask.result(v.sizes());                                                     \
    tensor<value_t<const X&>, device_of<S>> out(                                                   \
        ref(stream), sizes,                                                                        \
        detail::strides_in(detail::suggested_format(v.sizes(), v.strides()), sizes, {}, #name),    \
        #name);                                                                                    \
    name(stream, x, out, output_size, FLAGGEMS_SCALES_##dims);                                     \
    return out;                                                                                    \
  }

/// out[n, c, i] = x[n, c, min(floor(i scale), L - 1)], where scale is 1 / scales, or L by the
/// output's size if none is given.
///
/// x [N, C, L], out [N, C, output_size], one dtype, floating-point or u8, any strides. Places are
/// computed in f32, of f64 in f64. out shares no memory with x. Raises shape_mismatch,
/// invalid_argument or overlap before anything is written.
/// aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None)
FLAGGEMS_UPSAMPLE(upsample_nearest1d, false, 1, std::optional<f64> scales = {})
/// upsample_nearest1d over two dimensions. aten::upsample_nearest2d(Tensor self, SymInt[2]
/// output_size, float? scales_h=None, float? scales_w=None)
FLAGGEMS_UPSAMPLE(upsample_nearest2d, false, 2, std::optional<f64> scales_h = {},
                  std::optional<f64> scales_w = {})
/// upsample_nearest1d over three dimensions. aten::upsample_nearest3d(Tensor self, SymInt[3]
/// output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None)
FLAGGEMS_UPSAMPLE(upsample_nearest3d, false, 3, std::optional<f64> scales_d = {},
                  std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// upsample_nearest1d at the middle of elements: floor((i + 1/2) scale).
/// aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None)
FLAGGEMS_UPSAMPLE(upsample_nearest_exact1d, true, 1, std::optional<f64> scales = {})
/// The same over two dimensions. aten::_upsample_nearest_exact2d(Tensor self, SymInt[2]
/// output_size, float? scales_h=None, float? scales_w=None)
FLAGGEMS_UPSAMPLE(upsample_nearest_exact2d, true, 2, std::optional<f64> scales_h = {},
                  std::optional<f64> scales_w = {})
/// The same over three dimensions. aten::_upsample_nearest_exact3d(Tensor self, SymInt[3]
/// output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None)
FLAGGEMS_UPSAMPLE(upsample_nearest_exact3d, true, 3, std::optional<f64> scales_d = {},
                  std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
#undef FLAGGEMS_UPSAMPLE

#define FLAGGEMS_UPSAMPLE_BACKWARD(name, exact, dims, ...)                                        \
  template <stream_like S, tensor_like G, tensor_like Out>                                        \
  void name(const S& stream, const G& grad_output, Out&& grad_input, int_list output_size,        \
            int_list input_size, __VA_ARGS__) {                                                   \
    using T = value_t<const G&>;                                                                  \
    constexpr bool right =                                                                        \
        detail::kind_of<T> == detail::kind::floating && std::is_same_v<T, value_t<Out>>;          \
    same_device<S, G, Out>();                                                                     \
    static_assert(right, "flaggems: the gradients have one floating-point dtype");                \
    if constexpr (right)                                                                          \
      detail::upsample_backward_into({#name, dims, exact, output_size, {FLAGGEMS_SCALES_##dims}}, \
                                     stream,                                                      \
                                     tensor_view<const T, device_of<S>>(as_view(grad_output)),    \
                                     input_size, as_view(grad_input));                            \
  }                                                                                               \
  template <stream_like S, tensor_like G>                                                         \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, int_list output_size,            \
                          int_list input_size, __VA_ARGS__) {                                     \
    auto out = empty<value_t<const G&>>(stream, shape(input_size), #name);                        \
    name(stream, grad_output, out, output_size, input_size, FLAGGEMS_SCALES_##dims);              \
    return out;                                                                                   \
  }

/// The gradient of upsample_nearest1d: of an element the sum of grad_output where it was taken.
///
/// grad_output [N, C, output_size], grad_input: input_size; one floating-point dtype, any strides;
/// sums are in f32 or f64. Otherwise as upsample_nearest1d.
/// aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3]
/// input_size, float? scales=None)
FLAGGEMS_UPSAMPLE_BACKWARD(upsample_nearest1d_backward, false, 1, std::optional<f64> scales = {})
/// The gradient of upsample_nearest2d. aten::upsample_nearest2d_backward(Tensor grad_output,
/// SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None)
FLAGGEMS_UPSAMPLE_BACKWARD(upsample_nearest2d_backward, false, 2, std::optional<f64> scales_h = {},
                           std::optional<f64> scales_w = {})
/// The gradient of upsample_nearest3d. aten::upsample_nearest3d_backward(Tensor grad_output,
/// SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float?
/// scales_w=None)
FLAGGEMS_UPSAMPLE_BACKWARD(upsample_nearest3d_backward, false, 3, std::optional<f64> scales_d = {},
                           std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// The gradient of upsample_nearest_exact1d. aten::_upsample_nearest_exact1d_backward(Tensor
/// grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None)
FLAGGEMS_UPSAMPLE_BACKWARD(upsample_nearest_exact1d_backward, true, 1,
                           std::optional<f64> scales = {})
/// The gradient of upsample_nearest_exact2d. aten::_upsample_nearest_exact2d_backward(Tensor
/// grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float?
/// scales_w=None)
FLAGGEMS_UPSAMPLE_BACKWARD(upsample_nearest_exact2d_backward, true, 2,
                           std::optional<f64> scales_h = {}, std::optional<f64> scales_w = {})
/// The gradient of upsample_nearest_exact3d. aten::_upsample_nearest_exact3d_backward(Tensor
/// grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float?
/// scales_h=None, float? scales_w=None)
FLAGGEMS_UPSAMPLE_BACKWARD(upsample_nearest_exact3d_backward, true, 3,
                           std::optional<f64> scales_d = {}, std::optional<f64> scales_h = {},
                           std::optional<f64> scales_w = {})
#undef FLAGGEMS_UPSAMPLE_BACKWARD
#undef FLAGGEMS_SCALES_1
#undef FLAGGEMS_SCALES_2
#undef FLAGGEMS_SCALES_3

}  // namespace flaggems
