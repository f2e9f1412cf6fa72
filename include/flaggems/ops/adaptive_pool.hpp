// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Pools whose windows cut a tensor into a given number of parts, and their gradients.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pool.hpp>

namespace flaggems {
namespace operators {
struct adaptive_avg_pool;
struct adaptive_avg_pool_backward;
struct adaptive_max_pool;
struct adaptive_max_pool_backward;
}  // namespace operators

namespace detail {

/// What is asked of a pool over `dims` dimensions: the sizes of its output.
struct adaptive_request {
  const char* name;
  int dims;
  int_list output_size;

  /// x's sizes with those of the output. Raises unless there are elements to choose from.
  [[nodiscard]] shape result(int_list x) const {
    if (x.size() != dims + 1 && x.size() != dims + 2) [[unlikely]]
      raise(errc::shape_mismatch, name,
            "a tensor of rank " + text(dims + 1) + " or " + text(dims + 2), to_string(x));
    shape r(x);
    for (int d = 0; d < dims; ++d) {
      const int own = x.size() - dims + d;
      i64 steps = 0;
      r[own] = number_of_dim(name, output_size, dims, d, "an output_size", 0);
      if (x[own] < 1) [[unlikely]]
        raise(errc::shape_mismatch, name, "elements along the pooled dimensions", to_string(x));
      if (!add(r[own], 1, steps) || !multiply(steps, x[own], steps)) [[unlikely]]
        raise_sizes(name, "an output_size whose product with the input's is below 2^63",
                    output_size);
    }
    return r;
  }
};
/// The windows of an output, in the walk's axes; with the layouts exchanged those of an element.
inline kernels::adaptive_area parts_of_walk(const window_layout& source, const window_layout& out) {
  kernels::adaptive_area r{};
  for (int k = 0; k < kernels::window_axes; ++k) r.at[k] = {source.sizes[2 + k], out.sizes[2 + k]};
  return r;
}
/// How many elements a window has, about.
inline i64 window_elements(const kernels::adaptive_area& parts) {
  i64 n = 1;
  for (const auto& a : parts.at) n *= a.size / kernels::max_of(a.result, i64{1}) + 1;
  return n;
}

template <class S, class T, class D>
void adaptive_avg_pool_into(const adaptive_request& ask, const S& stream,
                            const tensor_view<const T, D>& x, const tensor_view<T, D>& out) {
  const char* op = ask.name;
  check_output_sizes(op, ask.result(x.sizes()), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (replaced<operators::adaptive_avg_pool>(op, stream, x, out, ask) || out.empty()) return;
  const window_layout to = window_layout::of(out, ask.dims), in = window_layout::of(x, ask.dims);
  const kernels::adaptive_area parts = parts_of_walk(in, to);
  using fold = kernels::window_mean<T, kernels::adaptive_area>;
  launch_windows(op, stream, walk_of(parts.at, x.data(), to, in),
                 fold{written_by_walk(out.data(), to), parts}, window_elements(parts));
}
template <class S, class T, class D>
void adaptive_avg_pool_backward_into(const adaptive_request& ask, const S& stream,
                                     const tensor_view<const T, D>& grad, int_list x,
                                     const tensor_view<T, D>& out) {
  const char* op = ask.name;
  check_output_sizes(op, shape(x), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  if (replaced<operators::adaptive_avg_pool_backward>(op, stream, grad, out, ask) || out.empty())
    return;
  if (grad.empty()) return fill(op, stream, out, 0);
  const window_layout to = window_layout::of(out, ask.dims),
                      from = window_layout::of(grad, ask.dims);
  const kernels::adaptive_area windows = parts_of_walk(from, to);
  using fold = kernels::window_mean_backward<T, kernels::adaptive_area>;
  launch_windows(op, stream, walk_of(windows.at, grad.data(), to, from),
                 fold{written_by_walk(out.data(), to), parts_of_walk(to, from)},
                 window_elements(windows));
}

template <class S, class T, class D>
void adaptive_max_pool_into(const adaptive_request& ask, const S& stream,
                            const tensor_view<const T, D>& x, const tensor_view<T, D>& values,
                            const tensor_view<i64, D>& indices) {
  const char* op = ask.name;
  const shape results = ask.result(x.sizes());
  check_output_sizes(op, results, values);
  check_output_sizes(op, results, indices);
  check_writable(op, values);
  check_writable(op, indices);
  const placed_layout written(layout_of(indices));
  check_no_overlap(op, placed_layout(layout_of(values)), layout_of(x));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(values));
  if (replaced<operators::adaptive_max_pool>(op, stream, x, values, indices, ask) || values.empty())
    return;
  const window_layout to = window_layout::of(values, ask.dims), in = window_layout::of(x, ask.dims);
  const kernels::adaptive_area parts = parts_of_walk(in, to);
  kernels::window_greatest<T> fold{
      written_by_walk(values.data(), to),
      written_by_walk(indices.data(), window_layout::of(indices, ask.dims)),
      {}};
  for (int k = 0; k < kernels::window_axes; ++k) fold.size[k] = in.sizes[2 + k];
  launch_windows(op, stream, walk_of(parts.at, x.data(), to, in), fold, window_elements(parts));
}
template <class S, class T, class D>
void adaptive_max_pool_backward_into(const adaptive_request& ask, const S& stream,
                                     const tensor_view<const T, D>& grad, int_list x,
                                     const tensor_view<const i64, D>& indices,
                                     const tensor_view<T, D>& out) {
  const char* op = ask.name;
  if (!same_sizes(indices.sizes(), grad.sizes())) [[unlikely]]
    raise_other_sizes(op, grad.shape_of(), indices.sizes());
  check_output_sizes(op, shape(x), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(grad));
  check_no_overlap(op, written, layout_of(indices));
  using implemented = operators::adaptive_max_pool_backward;
  if (replaced<implemented>(op, stream, grad, indices, out, ask) || out.empty()) return;
  if (grad.empty()) return fill(op, stream, out, 0);
  const window_layout to = window_layout::of(out, ask.dims),
                      from = window_layout::of(grad, ask.dims),
                      at = window_layout::of(indices, ask.dims);
  const kernels::adaptive_area windows = parts_of_walk(from, to);
  kernels::window_greatest_backward<T> fold{
      written_by_walk(out.data(), to), indices.data(), {}, {}};
  for (int d = 0; d < window_rank; ++d) fold.strides[d] = at.strides[d];
  for (int k = 0; k < kernels::window_axes; ++k) fold.size[k] = to.sizes[2 + k];
  launch_windows(op, stream, walk_of(windows.at, grad.data(), to, from), fold,
                 window_elements(windows));
}

/// The request of a gradient: the output's sizes are grad's. Raises unless grad is of a pool of x.
template <class G>
shape sizes_of_parts(const char* op, int dims, const G& grad, int_list x) {
  shape sizes;
  for (int d = kernels::max_of(grad.rank() - dims, 0); d < grad.rank(); ++d)
    sizes.push_back(grad.size(d));
  const adaptive_request ask{op, dims, int_list(sizes)};
  if (sizes.rank() != dims || !same_sizes(grad.sizes(), ask.result(x))) [[unlikely]]
    raise_shapes(op, "a gradient of the pool's result", grad.sizes(), x);
  return sizes;
}

}  // namespace detail

// One line an operator: name, and over how many dimensions.
#define FLAGGEMS_ADAPTIVE_MEAN(name, dims)                                                    \
  template <stream_like S, tensor_like X, tensor_like Out>                                    \
  void name(const S& stream, const X& x, Out&& out, int_list output_size) {                   \
    same_device<S, X, Out>();                                                                 \
    if constexpr (detail::check_pool_types<const X&, Out>())                                  \
      detail::adaptive_avg_pool_into({#name, dims, output_size}, stream, detail::input_of(x), \
                                     as_view(out));                                           \
  }                                                                                           \
  template <stream_like S, tensor_like X>                                                     \
  [[nodiscard]] auto name(const S& stream, const X& x, int_list output_size) {                \
    const auto v = as_view(x);                                                                \
    const detail::adaptive_request ask{#name, dims, output_size};                             \
    auto out =                                                                                \
        detail::empty_pool<value_t<const X&>>(#name, stream, v, ask.result(v.sizes()), dims); \
    name(stream, x, out, output_size);                                                        \
    return out;                                                                               \
  }

/// out[i] = the mean of x from floor(i L / output_size) to ceil((i + 1) L / output_size).
///
/// x, out [N, C, L] or [C, L], one floating-point dtype, any strides; sums are in f32 or f64. A
/// list has a number for each dimension or one for all. Raises invalid_argument, shape_mismatch or
/// overlap before anything is written. aten::adaptive_avg_pool1d(Tensor self, int[1] output_size)
FLAGGEMS_ADAPTIVE_MEAN(adaptive_avg_pool1d, 1)
/// adaptive_avg_pool1d over two dimensions. aten::_adaptive_avg_pool2d(Tensor self, SymInt[2]
/// output_size)
FLAGGEMS_ADAPTIVE_MEAN(adaptive_avg_pool2d, 2)
/// adaptive_avg_pool1d over three dimensions. aten::_adaptive_avg_pool3d(Tensor self, SymInt[3]
/// output_size)
FLAGGEMS_ADAPTIVE_MEAN(adaptive_avg_pool3d, 3)
#undef FLAGGEMS_ADAPTIVE_MEAN

#define FLAGGEMS_ADAPTIVE_MEAN_BACKWARD(name, dims)                                         \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Out>                   \
  void name(const S& stream, const G& grad_output, const X& x, Out&& grad_input) {          \
    same_device<S, G, X, Out>();                                                            \
    const auto grad = detail::input_of(grad_output);                                        \
    const shape sizes = detail::sizes_of_parts(#name, dims, grad, as_view(x).sizes());      \
    if constexpr (detail::check_pool_types<const X&, const G&, Out>())                      \
      detail::adaptive_avg_pool_backward_into({#name, dims, int_list(sizes)}, stream, grad, \
                                              as_view(x).sizes(), as_view(grad_input));     \
  }                                                                                         \
  template <stream_like S, tensor_like G, tensor_like X>                                    \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& x) {              \
    const auto v = as_view(x);                                                              \
    auto out = detail::empty_pool<value_t<const X&>>(#name, stream, v, v.shape_of(), dims); \
    name(stream, grad_output, x, out);                                                      \
    return out;                                                                             \
  }

/// The gradient of adaptive_avg_pool2d: the sum over the windows that an element is in of
/// grad_output by the elements of the window. x gives its sizes. Otherwise as adaptive_avg_pool1d.
/// aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self)
FLAGGEMS_ADAPTIVE_MEAN_BACKWARD(adaptive_avg_pool2d_backward, 2)
/// The gradient of adaptive_avg_pool3d. aten::_adaptive_avg_pool3d_backward(Tensor grad_output,
/// Tensor self)
FLAGGEMS_ADAPTIVE_MEAN_BACKWARD(adaptive_avg_pool3d_backward, 3)
#undef FLAGGEMS_ADAPTIVE_MEAN_BACKWARD

#define FLAGGEMS_ADAPTIVE_MAX(name, dims)                                                          \
  template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>                 \
  void name(const S& stream, const X& x, Values&& values, Indices&& indices,                       \
            int_list output_size) {                                                                \
    same_device<S, X, Values, Indices>();                                                          \
    if constexpr (detail::check_pool_types<const X&, Values>() &&                                  \
                  detail::check_indices_written<Indices>())                                        \
      detail::adaptive_max_pool_into({#name, dims, output_size}, stream, detail::input_of(x),      \
                                     as_view(values), as_view(indices));                           \
  }                                                                                                \
  template <stream_like S, tensor_like X>                                                          \
  [[nodiscard]] auto name(const S& stream, const X& x, int_list output_size) {                     \
    using T = value_t<const X&>;                                                                   \
    const auto v = as_view(x);                                                                     \
    const shape sizes = detail::adaptive_request{#name, dims, output_size}.result(v.sizes());      \
    values_and_indices<T, device_of<S>> r{detail::empty_pool<T>(#name, stream, v, sizes, dims),    \
                                          detail::empty_pool<i64>(#name, stream, v, sizes, dims)}; \
    name(stream, x, r.values, r.indices, output_size);                                             \
    return r;                                                                                      \
  }

/// The greatest element of each window of adaptive_avg_pool1d, and its index, as
/// max_pool2d_with_indices has them. aten::adaptive_max_pool1d(Tensor self, int[1] output_size) ->
/// (Tensor, Tensor)
FLAGGEMS_ADAPTIVE_MAX(adaptive_max_pool1d, 1)
/// adaptive_max_pool1d over two dimensions. aten::adaptive_max_pool2d(Tensor self, int[2]
/// output_size) -> (Tensor, Tensor)
FLAGGEMS_ADAPTIVE_MAX(adaptive_max_pool2d, 2)
/// adaptive_max_pool1d over three dimensions. aten::adaptive_max_pool3d(Tensor self, int[3]
/// output_size) -> (Tensor, Tensor)
FLAGGEMS_ADAPTIVE_MAX(adaptive_max_pool3d, 3)
#undef FLAGGEMS_ADAPTIVE_MAX

#define FLAGGEMS_ADAPTIVE_MAX_BACKWARD(name, dims)                                             \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices, tensor_like Out> \
  void name(const S& stream, const G& grad_output, const X& x, const Indices& indices,         \
            Out&& grad_input) {                                                                \
    same_device<S, G, X, Indices, Out>();                                                      \
    static_assert(std::is_same_v<value_t<const Indices&>, i64>,                                \
                  "flaggems: the indices of a pool are i64");                                  \
    const auto grad = detail::input_of(grad_output);                                           \
    const shape sizes = detail::sizes_of_parts(#name, dims, grad, as_view(x).sizes());         \
    if constexpr (detail::check_pool_types<const X&, const G&, Out>())                         \
      detail::adaptive_max_pool_backward_into({#name, dims, int_list(sizes)}, stream, grad,    \
                                              as_view(x).sizes(), detail::input_of(indices),   \
                                              as_view(grad_input));                            \
  }                                                                                            \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices>                  \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& x,                   \
                          const Indices& indices) {                                            \
    const auto v = as_view(x);                                                                 \
    auto out = detail::empty_pool<value_t<const X&>>(#name, stream, v, v.shape_of(), dims);    \
    name(stream, grad_output, x, indices, out);                                                \
    return out;                                                                                \
  }

/// The gradient of adaptive_max_pool2d, which gave `indices`: of an element the sum of grad_output
/// over the windows that it is the greatest of. x gives its sizes.
/// aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices)
FLAGGEMS_ADAPTIVE_MAX_BACKWARD(adaptive_max_pool2d_backward, 2)
/// The gradient of adaptive_max_pool3d. aten::adaptive_max_pool3d_backward(Tensor grad_output,
/// Tensor self, Tensor indices)
FLAGGEMS_ADAPTIVE_MAX_BACKWARD(adaptive_max_pool3d_backward, 3)
#undef FLAGGEMS_ADAPTIVE_MAX_BACKWARD

}  // namespace flaggems
