// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/expr.hpp>

namespace flaggems {

/// dst = src, converted to dst's dtype as C++ converts; src broadcasts to dst's sizes.
///
/// Any strides on both sides; the dtypes are independent. Anything but zero is true. Floats lose
/// their fraction when they become integers; what the integer type cannot hold becomes the nearest
/// value that it can, NaN becomes 0, on every device (PyTorch leaves these cases to the processor).
/// dst may be src itself; any other overlap raises. Raises shape_mismatch or overlap
/// before anything is written. aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False)
template <stream_like S, tensor_like Dst, tensor_like Src>
void copy_(const S& stream, Dst&& dst, const Src& src) {
  assign(stream, dst, cast<value_t<Dst>>(src), "copy_");
}

namespace detail {
template <class S, class X>
auto copied(const char* op, const S& stream, const X& x) {
  auto out = empty<typename X::value_type>(stream, x.shape_of(), op);
  assign(stream, out, cast<typename X::value_type>(x), op);
  return out;
}
}  // namespace detail

/// The elements of x in a new tensor, contiguous in row-major order.
/// aten::clone(Tensor self, *, MemoryFormat? memory_format=contiguous_format)
template <stream_like S, tensor_like X>
[[nodiscard]] auto clone(const S& stream, const X& x) {
  return detail::copied("clone", stream, as_view(x));
}

/// x with its elements in row-major order, in a new tensor. (A view that is contiguous already
/// needs no copy: test `is_contiguous()` first.) aten::contiguous(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] auto contiguous(const S& stream, const X& x) {
  return detail::copied("contiguous", stream, as_view(x));
}

/// x converted to dtype T, as copy_ converts, in a new contiguous tensor.
/// aten::to.dtype(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=True)
template <element T, stream_like S, tensor_operand X>
[[nodiscard]] auto to(const S& stream, const X& x) {
  return evaluate(stream, cast<T>(x), "to");
}

}  // namespace flaggems
