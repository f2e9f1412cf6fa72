// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The sizes and strides of new results, as ATen lays them out: dense, the dimensions in the order
// that they have in the operands' memory.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/tensor/memory_format.hpp>
#include <flaggems/tensor/overlap.hpp>

namespace flaggems::detail {

inline bool is_position(const memory_layout& leaf) { return leaf.item == 0; }

/// The sizes that all operands broadcast to, and whether a result is row-major because they are.
struct broadcast_sizes {
  shape sizes;
  const char* op;
  bool is_row_major = true;

  template <class T, class D>
  void operator()(const tensor_view<T, D>& v) {
    add(v.sizes());
    is_row_major = is_row_major && v.is_contiguous();
  }
  FLAGGEMS_ONCE void add(int_list own) {
    if (sizes.rank() == 0)
      sizes = own;
    else if (!same_sizes(sizes, own))
      sizes = broadcast_shapes(sizes, shape(own), op);
  }
  void position() {}
};

/// The strides of a result of these sizes, to which the operands broadcast: those of TensorIterator
/// in ATen. Operands that come first decide first, each of the dimensions that it does not
/// broadcast.
FLAGGEMS_NOINLINE_ONCE shape result_strides(int_list sizes, layout_list operands) {
  return dense_strides(sizes, static_cast<int>(operands.size()), [&](int k, int d) -> i64 {
    const memory_layout& x = operands[static_cast<std::size_t>(k)];
    const int own = d - (sizes.size() - x.sizes.size());
    if (is_position(x) || own < 0 || x.sizes[own] != sizes[d]) return 0;
    return x.strides[own];
  });
}

/// A new tensor of T for a result of these sizes, laid out as the operands are.
template <class T, class S, class... X>
[[nodiscard]] tensor<T, device_of<S>> empty_result(const char* op, const S& stream,
                                                   const shape& sizes, const X&... x) {
  if ((x.is_contiguous() && ...)) return empty<T>(stream, sizes, op);
  const memory_layout operands[] = {layout_of(x)...};
  return {ref(stream), sizes, result_strides(sizes, operands), op};
}

/// A new tensor of T in the format that x is in, channels_last or row-major.
template <class T, class S, class X>
[[nodiscard]] auto empty_in_format(const S& stream, const X& x, const char* op) {
  return empty_as<T>(stream, x, suggested_format(x.sizes(), x.strides()), op);
}

}  // namespace flaggems::detail
