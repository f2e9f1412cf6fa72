// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A tensor with a view of it replaced by another's elements, and gradients of views: zero around
// those of the view.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/views.hpp>

#include <optional>

namespace flaggems {
namespace detail {

/// A new tensor of x's sizes and strides. Raises invalid_argument where x has gaps or elements in
/// one place.
template <class S, class X>
auto empty_under_strides(const S& stream, const X& x, const char* op) {
  const auto v = as_view(x);
  auto out = empty_as<value_t<const X&>>(stream, v, memory_format::preserve_format, op);
  for (int d = 0; d < v.rank(); ++d)
    if (v.size(d) > 1 && v.stride(d) != out.view().stride(d) && !v.empty()) [[unlikely]]
      raise(errc::invalid_argument, op, "an input that addresses each element once, without gaps",
            "strides " + to_string(shape(v.strides())));
  return out;
}

/// out = x but where `part`, of out, is src.
template <class S, class T, class D, class Part>
void replace_view(const char* op, const S& stream, const tensor_view<const T, D>& x,
                  const tensor_view<const T, D>& src, const tensor_view<T, D>& out,
                  const Part& part) {
  check_output_sizes(op, x.shape_of(), out);
  const tensor_view<T, D> to = part(out);
  check_within(op, out, to);
  check_same_sizes(op, to, src);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_partial_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(src));
  copy_unless_same(op, stream, out, x);
  copy_into(op, stream, to, src);
}

/// Zeros of `sizes` but where `part` is grad.
template <class S, class T, class D, class Part>
void spread_view(const char* op, const S& stream, const tensor_view<const T, D>& grad,
                 const shape& sizes, const tensor_view<T, D>& out, const Part& part) {
  check_output_sizes(op, sizes, out);
  const tensor_view<T, D> to = part(out);
  check_within(op, out, to);
  check_same_sizes(op, to, grad);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  fill(op, stream, out, 0);
  copy_into(op, stream, to, grad);
}

}  // namespace detail

// One line an operator: name, what makes a new output, the view of out, the schema's parameters.
#define FLAGGEMS_VIEW_SCATTER(name, made, what, ...)                                            \
  template <stream_like S, tensor_like X, tensor_like Source, tensor_like Out>                  \
  void name(const S& stream, const X& x, const Source& src, Out&& out, __VA_ARGS__) {           \
    using T = value_t<const X&>;                                                                \
    using D = device_of<S>;                                                                     \
    same_device<S, X, Source, Out>();                                                           \
    static_assert(std::is_same_v<T, value_t<const Source&>> && std::is_same_v<T, value_t<Out>>, \
                  "flaggems: the source and the output have the dtype of the input");           \
    detail::replace_view(#name, stream, tensor_view<const T, D>(as_view(x)),                    \
                         tensor_view<const T, D>(as_view(src)), as_view(out),                   \
                         [&](const auto& to) { return to.what; });                              \
  }                                                                                             \
  template <stream_like S, tensor_like X, tensor_like Source>                                   \
  [[nodiscard]] auto name(const S& stream, const X& x, const Source& src, __VA_ARGS__) {        \
    auto out = made(stream, x, #name);                                                          \
    using T = value_t<const X&>;                                                                \
    using D = device_of<S>;                                                                     \
    same_device<S, X, Source>();                                                                \
    detail::replace_view(#name, stream, tensor_view<const T, D>(as_view(x)),                    \
                         tensor_view<const T, D>(as_view(src)), out.view(),                     \
                         [&](const auto& to) { return to.what; });                              \
    return out;                                                                                 \
  }

/// out = x but for its slice, which is src. out has x's sizes and dtype, and may be x; src has the
/// sizes of the slice. Raises as the view, shape_mismatch or overlap, before anything is written.
/// aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None,
/// SymInt step=1)
FLAGGEMS_VIEW_SCATTER(slice_scatter, detail::empty_in_order<value_t<const X&>>,
                      slice(dim, start.value_or(0), detail::end_or_all(end), step), i64 dim = 0,
                      std::optional<i64> start = {}, std::optional<i64> end = {}, i64 step = 1)
/// out = x but at one index of a dimension, where it is src; otherwise as slice_scatter.
/// aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index)
FLAGGEMS_VIEW_SCATTER(select_scatter, detail::empty_in_order<value_t<const X&>>, select(dim, index),
                      i64 dim, i64 index)
/// out = x but for a diagonal, which is src; otherwise as slice_scatter.
/// aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)
FLAGGEMS_VIEW_SCATTER(diagonal_scatter, detail::empty_in_order<value_t<const X&>>,
                      diagonal(offset, dim1, dim2), i64 offset = 0, i64 dim1 = 0, i64 dim2 = 1)
/// out = x but for the elements of out under sizes and strides, counted from its first one, where
/// it is src; a new out has x's strides. Raises invalid_argument for elements outside out's memory,
/// and without an output for an x with gaps; otherwise as slice_scatter.
/// aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt?
/// storage_offset=None)
FLAGGEMS_VIEW_SCATTER(as_strided_scatter, detail::empty_under_strides,
                      as_strided(size, stride, storage_offset.value_or(0)), int_list size,
                      int_list stride, std::optional<i64> storage_offset = {})
#undef FLAGGEMS_VIEW_SCATTER

// One line a gradient: name, the view, the schema's parameters.
#define FLAGGEMS_VIEW_BACKWARD(name, what, ...)                                                   \
  template <stream_like S, tensor_like Grad, tensor_like Out>                                     \
  void name(const S& stream, const Grad& grad_output, Out&& out, int_list input_sizes,            \
            __VA_ARGS__) {                                                                        \
    using T = value_t<const Grad&>;                                                               \
    same_device<S, Grad, Out>();                                                                  \
    static_assert(std::is_same_v<T, value_t<Out>>,                                                \
                  "flaggems: the output has the dtype of the gradient");                          \
    detail::spread_view(#name, stream, tensor_view<const T, device_of<S>>(as_view(grad_output)),  \
                        shape(input_sizes), as_view(out),                                         \
                        [&](const auto& to) { return to.what; });                                 \
  }                                                                                               \
  template <stream_like S, tensor_like Grad>                                                      \
  [[nodiscard]] auto name(const S& stream, const Grad& grad_output, int_list input_sizes,         \
                          __VA_ARGS__) {                                                          \
    auto out = empty<value_t<const Grad&>>(stream, shape(input_sizes), #name);                    \
    using T = value_t<const Grad&>;                                                               \
    detail::spread_view(#name, stream, tensor_view<const T, device_of<S>>(as_view(grad_output)),  \
                        shape(input_sizes), out.view(), [&](const auto& to) { return to.what; }); \
    return out;                                                                                   \
  }

/// The gradient of slice: zeros of the input's sizes but for the slice, which is grad_output.
/// Raises shape_mismatch or overlap. aten::slice_backward(Tensor grad_output, SymInt[] input_sizes,
/// int dim, SymInt start, SymInt end, SymInt step)
FLAGGEMS_VIEW_BACKWARD(slice_backward, slice(dim, start, end, step), i64 dim, i64 start, i64 end,
                       i64 step)
/// The gradient of select. aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim,
/// SymInt index)
FLAGGEMS_VIEW_BACKWARD(select_backward, select(dim, index), i64 dim, i64 index)
/// The gradient of diagonal. aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int
/// offset, int dim1, int dim2)
FLAGGEMS_VIEW_BACKWARD(diagonal_backward, diagonal(offset, dim1, dim2), i64 offset, i64 dim1,
                       i64 dim2)
#undef FLAGGEMS_VIEW_BACKWARD

}  // namespace flaggems
