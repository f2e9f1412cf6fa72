// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/dispatch/copy.hpp>
#include <flaggems/ops/expr.hpp>

namespace flaggems {

namespace detail {

FLAGGEMS_NOINLINE_ONCE void check_copy(const char* op, const memory_layout& out,
                                       const memory_layout& x) {
  if (!same_sizes(x.sizes, out.sizes) &&
      broadcast_shapes(shape(x.sizes), shape(out.sizes), op) != shape(out.sizes)) [[unlikely]]
    raise_output_sizes(op, x.sizes, out.sizes);
  check_writable(op, out);
  check_no_partial_overlap(op, out, x);
}

template <tensor_like X>
auto input_of(const X& x) {
  return tensor_view<const value_t<const X&>, device_t<const X&>>(as_view(x));
}

/// out = x, converted.
template <class S, class T, class D, class X, class From>
void copy_into(const char* op, const S& stream, const tensor_view<T, D>& out,
               const tensor_view<const X, From>& x) {
  static_assert(std::is_same_v<D, From>,
                "flaggems: the output is on another device than the operands");
  if constexpr (std::is_same_v<T, X> && sizeof(T) <= 8) {
    flat_operands<tensor_view<T, D>> flat(out);
    flat(x);
    const i64 bytes = flat.n * i64{sizeof(T)};
    if (!flat.all) check_copy(op, layout_of(out), layout_of(x));
    if (bytes == 0 || replaced<operators::copy_>(op, stream, x, out)) return;
    launch_copy_of<sizeof(T)>(op, stream, layout_of(out), layout_of(x), flat.n, flat.all);
  } else {
    using node = as_type<T, leaf<X, D>>;
    assign_node(op, stream, out, node{{x}});
  }
}

}  // namespace detail

/// dst = src, converted to dst's dtype as C++ converts; src broadcasts to dst's sizes.
///
/// Any strides on both sides, and any two dtypes. Converted to bool, all but zero is true.
/// Converted to integers, floats are truncated and saturated, and NaN becomes 0, on every device
/// (in PyTorch these cases depend on the processor). dst may be src itself; any other overlap
/// raises. Raises shape_mismatch or overlap before anything is written. aten::copy_(Tensor(a!)
/// self, Tensor src, bool non_blocking=False)
template <stream_like S, tensor_like Dst, tensor_like Src>
void copy_(const S& stream, Dst&& dst, const Src& src) {
  same_device<S, Dst>();
  detail::copy_into("copy_", stream, as_view(dst), detail::input_of(src));
}

namespace detail {
template <class T, class S, class X>
auto copied(const char* op, const S& stream, const X& x,
            memory_format format = memory_format::contiguous_format) {
  auto out = empty_as<T>(stream, x, format, op);
  copy_into(op, stream, as_view(out), input_of(x));
  return out;
}
/// out = x; nothing is to do where x is out.
template <class S, class T, class D>
void copy_unless_same(const char* op, const S& stream, const tensor_view<T, D>& out,
                      const tensor_view<const T, D>& x) {
  if (overlap(layout_of(out), layout_of(x)) != overlap_kind::exact) copy_into(op, stream, out, x);
}
/// x as a vector, in `memory` where it is no view of x.
template <class S, class T, class D>
tensor_view<const T, D> as_row(const char* op, const S& stream, const tensor_view<const T, D>& x,
                               tensor<T, D>& memory) {
  if (x.is_contiguous()) return x.view({x.numel()});
  memory = copied<T>(op, stream, x);
  return input_of(memory).view({x.numel()});
}
}  // namespace detail

/// The elements of x in a new tensor, in row-major order unless a format says another. Raises
/// device_mismatch if x is a tensor, not a view, of another device than the stream's, and
/// invalid_argument if x is not of the rank that the format is for.
/// aten::clone(Tensor self, *, MemoryFormat? memory_format=contiguous_format)
template <stream_like S, tensor_like X>
[[nodiscard]] auto clone(const S& stream, const X& x,
                         memory_format format = memory_format::contiguous_format) {
  detail::require_on_device("clone", ref(stream), x);
  return detail::copied<value_t<X>>("clone", stream, as_view(x), format);
}

/// x in a memory format, in a new tensor. (It always copies: test `is_contiguous()` first.) Raises
/// invalid_argument for preserve_format, or if x is not of the rank that the format is for.
/// aten::contiguous(Tensor self, *, MemoryFormat memory_format=contiguous_format)
template <stream_like S, tensor_like X>
[[nodiscard]] auto contiguous(const S& stream, const X& x,
                              memory_format format = memory_format::contiguous_format) {
  if (format == memory_format::preserve_format) [[unlikely]]
    raise(errc::invalid_argument, "contiguous", "a format of its own", "preserve_format");
  return detail::copied<value_t<X>>("contiguous", stream, as_view(x), format);
}

/// x converted to dtype T, as copy_ converts, in a new tensor in x's order.
/// aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=True)
template <element T, stream_like S, tensor_operand X>
[[nodiscard]] auto to(const S& stream, const X& x) {
  if constexpr (!is_expr<X> && std::is_same_v<T, value_t<X>>)
    return detail::copied<T>("to", stream, as_view(x), memory_format::preserve_format);
  else
    return evaluate(stream, cast<T>(x), "to");
}
/// The same in a memory format. Raises invalid_argument if x is not of the rank that it is for.
/// aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=True,
/// MemoryFormat? memory_format=None)
template <element T, stream_like S, tensor_like X>
[[nodiscard]] auto to(const S& stream, const X& x, memory_format format) {
  return detail::copied<T>("to", stream, as_view(x), format);
}

/// x in a new tensor, of dtype T if one is given, converted as by copy_, in x's order or the
/// format. aten::_to_copy(Tensor self, *, ScalarType? dtype=None, MemoryFormat? memory_format=None)
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto to_copy(const S& stream, const X& x,
                           memory_format format = memory_format::preserve_format) {
  return detail::copied<detail::type_or<T, value_t<X>>>("to_copy", stream, as_view(x), format);
}

}  // namespace flaggems
