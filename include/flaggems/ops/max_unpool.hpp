// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The greatest elements of windows, back where they were.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/plan/window.hpp>
#include <flaggems/ops/scatter.hpp>

#include <type_traits>

namespace flaggems {
namespace detail {

template <class S, class T, class D>
tensor<T, D> max_unpooled(const char* op, int dims, const S& stream,
                          const tensor_view<const T, D>& x,
                          const tensor_view<const i64, D>& indices, int_list output_size) {
  check_window_rank(op, x, dims);
  check_same_sizes(op, x, indices);
  if (output_size.size() != dims) [[unlikely]]
    raise_sizes(op, "a size for each of the operator's dimensions", output_size);
  shape sizes;
  i64 planes = 1, plane = 1, places = 1;
  for (int d = 0; d < x.rank() - dims; ++d) sizes.push_back(x.size(d)), planes *= x.size(d);
  for (int d = 0; d < dims; ++d) {
    if (output_size[d] < 1) [[unlikely]]
      raise_sizes(op, "positive sizes", output_size);
    sizes.push_back(output_size[d]);
    if (!multiply(plane, output_size[d], plane)) [[unlikely]]
      raise_sizes(op, "fewer than 2^63 elements", output_size);
    places *= x.size(x.rank() - dims + d);
  }
  check_indices(op, stream, indices, plane);
  auto out = filled<T>(op, stream, sizes, 0);
  tensor<T, D> own;
  tensor<i64, D> own_places;
  const shape flat{planes, places};
  scatter_(stream, out.view().view({planes, plane}), 1,
           as_row(op, stream, indices, own_places).view(flat),
           as_row(op, stream, x, own).view(flat));
  return out;
}
/// Does not compile unless x is floating-point and indices i64; gives whether they are.
template <class X, class Indices>
constexpr bool check_unpooled() {
  constexpr bool right =
      kind_of<value_t<X>> == kind::floating && std::is_same_v<value_t<Indices>, i64>;
  static_assert(right, "flaggems: pools are floating-point, and their indices i64");
  return right;
}

}  // namespace detail

/// The elements of x, in a new tensor of zeros, at the indices in their planes that
/// max_pool2d_with_indices gave; of several for one place any one.
///
/// x, indices [N, C, H, W] or [C, H, W]; the result [N, C, output_size...]. Indices outside a plane
/// raise out_of_range where the host can read them. Raises invalid_argument or shape_mismatch.
/// aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size)
template <stream_like S, tensor_like X, tensor_like Indices>
[[nodiscard]] auto max_unpool2d(const S& stream, const X& x, const Indices& indices,
                                int_list output_size) {
  same_device<S, X, Indices>();
  if constexpr (detail::check_unpooled<const X&, const Indices&>())
    return detail::max_unpooled("max_unpool2d", 2, stream, detail::input_of(x),
                                detail::input_of(indices), output_size);
}
/// max_unpool2d over three dimensions. stride and padding change nothing; they have a number for
/// each dimension, a stride a positive one. aten::max_unpool3d(Tensor self, Tensor indices,
/// SymInt[3] output_size, int[3] stride, int[3] padding)
template <stream_like S, tensor_like X, tensor_like Indices>
[[nodiscard]] auto max_unpool3d(const S& stream, const X& x, const Indices& indices,
                                int_list output_size, int_list stride, int_list padding) {
  same_device<S, X, Indices>();
  for (int d = 0; d < 3; ++d) {
    static_cast<void>(detail::number_of_dim("max_unpool3d", stride, 3, d, "a stride", 1));
    static_cast<void>(detail::number_of_dim("max_unpool3d", padding, 3, d, "a padding", 0));
  }
  if constexpr (detail::check_unpooled<const X&, const Indices&>())
    return detail::max_unpooled("max_unpool3d", 3, stream, detail::input_of(x),
                                detail::input_of(indices), output_size);
}

}  // namespace flaggems
