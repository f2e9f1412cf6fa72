// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Pools: the mean or the greatest element of each window, and their gradients.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/ops/dispatch/window.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/promotion.hpp>

#include <optional>
#include <type_traits>

namespace flaggems {
namespace operators {
struct avg_pool;
struct avg_pool_backward;
struct max_pool_with_indices;
struct max_pool_with_indices_backward;
}  // namespace operators

namespace detail {

/// A new result of these sizes over windows of x, channels last where x is.
template <class T, class S, class X>
tensor<T, device_of<S>> empty_pool(const char* op, const S& stream, const X& x, const shape& sizes,
                                   int dims) {
  const auto format = x.rank() == dims + 2 ? suggested_format(x.sizes(), x.strides())
                                           : memory_format::contiguous_format;
  return {ref(stream), sizes, strides_in(format, sizes, {}, op), op};
}
/// Does not compile unless all are of one floating-point dtype; gives whether they are.
template <class X, class... Others>
constexpr bool check_pool_types() {
  constexpr bool right =
      kind_of<value_t<X>> == kind::floating && (std::is_same_v<value_t<X>, value_t<Others>> && ...);
  static_assert(right, "flaggems: the tensors of a pool have one floating-point dtype");
  return right;
}

/// What is asked of a mean over windows.
struct mean_request {
  window_request window;
  bool count_include_pad;
  std::optional<i64> divisor_override;

  [[nodiscard]] kernels::window_area area(const window_plan& plan) const {
    kernels::window_area r{};
    for (int k = 0; k < kernels::window_axes; ++k) {
      const window_plan::along& a = plan.at[k];
      r.size[k] = a.size, r.extent[k] = a.kernel, r.stride[k] = a.stride, r.padding[k] = a.padding;
    }
    r.divisor = divisor_override.value_or(0);
    r.with_padding = count_include_pad;
    return r;
  }
  [[nodiscard]] window_plan checked(int_list x) const {
    if (divisor_override && *divisor_override == 0) [[unlikely]]
      raise(errc::invalid_argument, window.name, "a divisor that is not 0", "0");
    return {window, x};
  }
};

template <class S, class T, class D>
void avg_pool_into(const mean_request& ask, const S& stream, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& out) {
  const char* op = ask.window.name;
  const int dims = ask.window.dims;
  check_window_rank(op, x, dims);
  const window_plan plan = ask.checked(x.sizes());
  check_output_sizes(op, plan.result(x.sizes()), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (replaced<operators::avg_pool>(op, stream, x, out, ask)) return;
  kernels::linear_taps taps[kernels::window_axes];
  plan.forward(taps);
  const window_layout to = window_layout::of(out, dims);
  launch_windows(op, stream, walk_of(taps, x.data(), to, window_layout::of(x, dims)),
                 kernels::window_mean<T>{written_by_walk(out.data(), to), ask.area(plan)},
                 plan.elements());
}
template <class S, class T, class D>
void avg_pool_backward_into(const mean_request& ask, const S& stream,
                            const tensor_view<const T, D>& grad, const tensor_view<const T, D>& x,
                            const tensor_view<T, D>& out) {
  const char* op = ask.window.name;
  const int dims = ask.window.dims;
  check_window_rank(op, x, dims);
  const window_plan plan = ask.checked(x.sizes());
  const shape results = plan.result(x.sizes());
  if (!same_sizes(grad.sizes(), results)) [[unlikely]]
    raise_other_sizes(op, results, grad.sizes());
  check_output_sizes(op, x.shape_of(), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  if (replaced<operators::avg_pool_backward>(op, stream, grad, x, out, ask)) return;
  kernels::linear_taps taps[kernels::window_axes];
  plan.backward(taps);
  const window_layout to = window_layout::of(out, dims);
  launch_windows(op, stream, walk_of(taps, grad.data(), to, window_layout::of(grad, dims)),
                 kernels::window_mean_backward<T>{written_by_walk(out.data(), to), ask.area(plan)},
                 plan.elements());
}

template <class S, class T, class D>
void max_pool_into(const window_request& ask, const S& stream, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& values, const tensor_view<i64, D>& indices) {
  const char* op = ask.name;
  check_window_rank(op, x, ask.dims);
  const window_plan plan(ask, x.sizes());
  const shape results = plan.result(x.sizes());
  check_output_sizes(op, results, values);
  check_output_sizes(op, results, indices);
  check_writable(op, values);
  check_writable(op, indices);
  const placed_layout written(layout_of(indices));
  check_no_overlap(op, placed_layout(layout_of(values)), layout_of(x));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(values));
  if (replaced<operators::max_pool_with_indices>(op, stream, x, values, indices, ask)) return;
  const window_layout to = window_layout::of(values, ask.dims), in = window_layout::of(x, ask.dims);
  kernels::linear_taps taps[kernels::window_axes];
  plan.forward(taps);
  kernels::window_greatest<T> fold{
      written_by_walk(values.data(), to),
      written_by_walk(indices.data(), window_layout::of(indices, ask.dims)),
      {}};
  for (int k = 0; k < kernels::window_axes; ++k) fold.size[k] = in.sizes[2 + k];
  launch_windows(op, stream, walk_of(taps, x.data(), to, in), fold, plan.elements());
}
template <class S, class T, class D>
void max_pool_backward_into(const window_request& ask, const S& stream,
                            const tensor_view<const T, D>& grad, const tensor_view<const T, D>& x,
                            const tensor_view<const i64, D>& indices,
                            const tensor_view<T, D>& out) {
  const char* op = ask.name;
  check_window_rank(op, x, ask.dims);
  const window_plan plan(ask, x.sizes());
  const shape results = plan.result(x.sizes());
  if (!same_sizes(grad.sizes(), results)) [[unlikely]]
    raise_other_sizes(op, results, grad.sizes());
  if (!same_sizes(indices.sizes(), results)) [[unlikely]]
    raise_other_sizes(op, results, indices.sizes());
  check_output_sizes(op, x.shape_of(), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(grad));
  check_no_overlap(op, written, layout_of(indices));
  using implemented = operators::max_pool_with_indices_backward;
  if (replaced<implemented>(op, stream, grad, x, out, indices, ask)) return;
  const window_layout to = window_layout::of(out, ask.dims),
                      at = window_layout::of(indices, ask.dims);
  kernels::linear_taps taps[kernels::window_axes];
  plan.backward(taps);
  kernels::window_greatest_backward<T> fold{
      written_by_walk(out.data(), to), indices.data(), {}, {}};
  for (int d = 0; d < window_rank; ++d) fold.strides[d] = at.strides[d];
  for (int k = 0; k < kernels::window_axes; ++k) fold.size[k] = to.sizes[2 + k];
  launch_windows(op, stream, walk_of(taps, grad.data(), to, window_layout::of(grad, ask.dims)),
                 fold, plan.elements());
}

}  // namespace detail

// One line an operator: name, and over how many dimensions.
#define FLAGGEMS_MEAN_POOL(name, dims)                                                             \
  template <stream_like S, tensor_like X, tensor_like Out>                                         \
  void name(const S& stream, const X& x, Out&& out, int_list kernel_size, int_list stride = {},    \
            int_list padding = {0}, bool ceil_mode = false, bool count_include_pad = true,         \
            std::optional<i64> divisor_override = {}) {                                            \
    using T = value_t<const X&>;                                                                   \
    same_device<S, X, Out>();                                                                      \
    if constexpr (detail::check_pool_types<const X&, Out>())                                       \
      detail::avg_pool_into({{#name, dims, kernel_size, stride, padding, {1}, ceil_mode},          \
                             count_include_pad,                                                    \
                             divisor_override},                                                    \
                            stream, tensor_view<const T, device_of<S>>(as_view(x)), as_view(out)); \
  }                                                                                                \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto name(const S& stream, const X& x, int_list kernel_size, int_list stride = {}, \
                          int_list padding = {0}, bool ceil_mode = false,                          \
                          bool count_include_pad = true,                                           \
                          std::optional<i64> divisor_override = {}) {                              \
    const auto v = as_view(x);                                                                     \
    detail::check_window_rank(#name, v, dims);                                                     \
    const detail::window_plan plan({#name, dims, kernel_size, stride, padding, {1}, ceil_mode},    \
                                   v.sizes());                                                     \
    auto out =                                                                                     \
        detail::empty_pool<value_t<const X&>>(#name, stream, v, plan.result(v.sizes()), dims);     \
    name(stream, x, out, kernel_size, stride, padding, ceil_mode, count_include_pad,               \
         divisor_override);                                                                        \
    return out;                                                                                    \
  }

/// out[i] = the mean of x over the window of kernel_size elements at i stride - padding.
///
/// x, out [N, C, L] or [C, L], one floating-point dtype, any strides; sums are in f32 or f64. A
/// list has a number for each dimension or one for all; without a stride it is the kernel's size.
/// With ceil_mode the last window may reach beyond the input. A mean counts the padding, unless
/// count_include_pad is false, or divides by divisor_override. Raises invalid_argument,
/// shape_mismatch or overlap before anything is written. aten::avg_pool1d(Tensor self, int[1]
/// kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, bool
/// count_include_pad=True)
FLAGGEMS_MEAN_POOL(avg_pool1d, 1)
/// avg_pool1d over two dimensions. aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2]
/// stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int?
/// divisor_override=None)
FLAGGEMS_MEAN_POOL(avg_pool2d, 2)
/// avg_pool1d over three dimensions. aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3]
/// stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int?
/// divisor_override=None)
FLAGGEMS_MEAN_POOL(avg_pool3d, 3)
#undef FLAGGEMS_MEAN_POOL

#define FLAGGEMS_MEAN_POOL_BACKWARD(name, dims)                                                    \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Out>                          \
  void name(const S& stream, const G& grad_output, const X& x, Out&& grad_input,                   \
            int_list kernel_size, int_list stride, int_list padding, bool ceil_mode,               \
            bool count_include_pad, std::optional<i64> divisor_override) {                         \
    using view = tensor_view<const value_t<const X&>, device_of<S>>;                               \
    same_device<S, G, X, Out>();                                                                   \
    if constexpr (detail::check_pool_types<const X&, const G&, Out>())                             \
      detail::avg_pool_backward_into({{#name, dims, kernel_size, stride, padding, {1}, ceil_mode}, \
                                      count_include_pad,                                           \
                                      divisor_override},                                           \
                                     stream, view(as_view(grad_output)), view(as_view(x)),         \
                                     as_view(grad_input));                                         \
  }                                                                                                \
  template <stream_like S, tensor_like G, tensor_like X>                                           \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& x, int_list kernel_size, \
                          int_list stride, int_list padding, bool ceil_mode,                       \
                          bool count_include_pad, std::optional<i64> divisor_override) {           \
    const auto v = as_view(x);                                                                     \
    auto out = detail::empty_pool<value_t<const X&>>(#name, stream, v, v.shape_of(), dims);        \
    name(stream, grad_output, x, out, kernel_size, stride, padding, ceil_mode, count_include_pad,  \
         divisor_override);                                                                        \
    return out;                                                                                    \
  }

/// The gradient of avg_pool2d: the sum over the windows that an element is in of grad_output by the
/// elements of the window. x gives its sizes. Otherwise as avg_pool1d.
/// aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride,
/// int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override)
FLAGGEMS_MEAN_POOL_BACKWARD(avg_pool2d_backward, 2)
/// The gradient of avg_pool3d. aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3]
/// kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int?
/// divisor_override)
FLAGGEMS_MEAN_POOL_BACKWARD(avg_pool3d_backward, 3)
#undef FLAGGEMS_MEAN_POOL_BACKWARD

#define FLAGGEMS_MAX_POOL(name, dims)                                                              \
  template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>                 \
  void name(const S& stream, const X& x, Values&& values, Indices&& indices, int_list kernel_size, \
            int_list stride = {}, int_list padding = {0}, int_list dilation = {1},                 \
            bool ceil_mode = false) {                                                              \
    using T = value_t<const X&>;                                                                   \
    same_device<S, X, Values, Indices>();                                                          \
    if constexpr (detail::check_pool_types<const X&, Values>() &&                                  \
                  detail::check_indices_written<Indices>())                                        \
      detail::max_pool_into({#name, dims, kernel_size, stride, padding, dilation, ceil_mode},      \
                            stream, tensor_view<const T, device_of<S>>(as_view(x)),                \
                            as_view(values), as_view(indices));                                    \
  }                                                                                                \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto name(const S& stream, const X& x, int_list kernel_size, int_list stride = {}, \
                          int_list padding = {0}, int_list dilation = {1},                         \
                          bool ceil_mode = false) {                                                \
    using T = value_t<const X&>;                                                                   \
    const auto v = as_view(x);                                                                     \
    detail::check_window_rank(#name, v, dims);                                                     \
    const detail::window_plan plan(                                                                \
        {#name, dims, kernel_size, stride, padding, dilation, ceil_mode}, v.sizes());              \
    const shape sizes = plan.result(v.sizes());                                                    \
    values_and_indices<T, device_of<S>> r{detail::empty_pool<T>(#name, stream, v, sizes, dims),    \
                                          detail::empty_pool<i64>(#name, stream, v, sizes, dims)}; \
    name(stream, x, r.values, r.indices, kernel_size, stride, padding, dilation, ceil_mode);       \
    return r;                                                                                      \
  }

/// The greatest element of each window, with its row-major index in its plane of x: the first among
/// equals, or the last NaN. Padding is below all numbers; window elements lie `dilation` apart.
/// indices are i64; otherwise as avg_pool2d. aten::max_pool2d_with_indices(Tensor self, int[2]
/// kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) ->
/// (Tensor, Tensor)
FLAGGEMS_MAX_POOL(max_pool2d_with_indices, 2)
/// The same over three dimensions. aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size,
/// int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)
FLAGGEMS_MAX_POOL(max_pool3d_with_indices, 3)
#undef FLAGGEMS_MAX_POOL

#define FLAGGEMS_MAX_POOL_BACKWARD(name, dims)                                                     \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices, tensor_like Out>     \
  void name(const S& stream, const G& grad_output, const X& x, int_list kernel_size,               \
            int_list stride, int_list padding, int_list dilation, bool ceil_mode,                  \
            const Indices& indices, Out&& grad_input) {                                            \
    using view = tensor_view<const value_t<const X&>, device_of<S>>;                               \
    same_device<S, G, X, Indices, Out>();                                                          \
    static_assert(std::is_same_v<value_t<const Indices&>, i64>,                                    \
                  "flaggems: the indices of a pool are i64");                                      \
    if constexpr (detail::check_pool_types<const X&, const G&, Out>())                             \
      detail::max_pool_backward_into(                                                              \
          {#name, dims, kernel_size, stride, padding, dilation, ceil_mode}, stream,                \
          view(as_view(grad_output)), view(as_view(x)),                                            \
          tensor_view<const i64, device_of<S>>(as_view(indices)), as_view(grad_input));            \
  }                                                                                                \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices>                      \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& x, int_list kernel_size, \
                          int_list stride, int_list padding, int_list dilation, bool ceil_mode,    \
                          const Indices& indices) {                                                \
    const auto v = as_view(x);                                                                     \
    auto out = detail::empty_pool<value_t<const X&>>(#name, stream, v, v.shape_of(), dims);        \
    name(stream, grad_output, x, kernel_size, stride, padding, dilation, ceil_mode, indices, out); \
    return out;                                                                                    \
  }

/// The gradient of max_pool2d_with_indices, which gave `indices`: of an element the sum of
/// grad_output over the windows that it is the greatest of; 0 for those of indices outside their
/// window. x gives its sizes. aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor
/// self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor
/// indices)
FLAGGEMS_MAX_POOL_BACKWARD(max_pool2d_with_indices_backward, 2)
/// The gradient of max_pool3d_with_indices. aten::max_pool3d_with_indices_backward(Tensor
/// grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation,
/// bool ceil_mode, Tensor indices)
FLAGGEMS_MAX_POOL_BACKWARD(max_pool3d_with_indices_backward, 3)
#undef FLAGGEMS_MAX_POOL_BACKWARD

/// The gradient of the values of max_pool2d_with_indices, whose indices it finds again; otherwise
/// as max_pool2d_with_indices_backward. aten::max_pool2d_backward(Tensor grad_output, Tensor self,
/// int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False)
template <stream_like S, tensor_like G, tensor_like X>
[[nodiscard]] auto max_pool2d_backward(const S& stream, const G& grad_output, const X& x,
                                       int_list kernel_size, int_list stride = {},
                                       int_list padding = {0}, int_list dilation = {1},
                                       bool ceil_mode = false) {
  const auto kept =
      max_pool2d_with_indices(stream, x, kernel_size, stride, padding, dilation, ceil_mode);
  return max_pool2d_with_indices_backward(stream, grad_output, x, kernel_size, stride, padding,
                                          dilation, ceil_mode, kept.indices);
}
/// max_pool3d_with_indices_backward, in FlagGems' order. flag_gems::max_pool3d_backward(Tensor
/// grad_output, Tensor input, Tensor indices, int[3] kernel_size, int[3] stride, int[3] padding,
/// int[3] dilation, bool ceil_mode)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices>
[[nodiscard]] auto max_pool3d_backward(const S& stream, const G& grad_output, const X& x,
                                       const Indices& indices, int_list kernel_size,
                                       int_list stride, int_list padding, int_list dilation,
                                       bool ceil_mode) {
  return max_pool3d_with_indices_backward(stream, grad_output, x, kernel_size, stride, padding,
                                          dilation, ceil_mode, indices);
}

}  // namespace flaggems
