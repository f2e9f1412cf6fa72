// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of padding by mirror images and by edges: sums over the places an element went to.
#pragma once

#include <flaggems/ops/dispatch/window.hpp>
#include <flaggems/ops/pad.hpp>

#include <type_traits>

namespace flaggems {
namespace operators {
struct pad_backward;
}  // namespace operators

namespace detail {

template <class Taps, class S, class T, class D>
void pad_backward_into(const pad_move<>& pad, const S& stream, const tensor_view<const T, D>& grad,
                       const tensor_view<const T, D>& x, const tensor_view<T, D>& out) {
  const char* op = pad.name;
  check_window_rank(op, x, pad.dims);
  const shape sizes = pad.sizes(x.shape_of());
  if (!same_sizes(grad.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(op, sizes, grad.sizes());
  check_output_sizes(op, x.shape_of(), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  if (replaced<operators::pad_backward>(op, stream, grad, x, out, pad.pad, pad.mode)) return;
  Taps taps[kernels::window_axes];
  for (int k = 0; k < kernels::window_axes; ++k) {
    const int d = x.rank() - kernels::window_axes + k;
    const bool is_padded = k >= kernels::window_axes - pad.dims;
    taps[k] = is_padded ? Taps{grad.size(d), x.size(d), pad.before(x.rank(), d)} : Taps{1, 1, 0};
  }
  const window_layout to = window_layout::of(out, pad.dims);
  launch_windows(op, stream, walk_of(taps, grad.data(), to, window_layout::of(grad, pad.dims)),
                 kernels::window_sum<T>{written_by_walk(out.data(), to)}, 3);
}

}  // namespace detail

// One line an operator: name, the mode, its taps, and over how many dimensions.
#define FLAGGEMS_PAD_BACKWARD(name, how, taps, count)                                             \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Out>                         \
  void name(const S& stream, const G& grad_output, const X& x, Out&& grad_input,                  \
            int_list padding) {                                                                   \
    using T = value_t<const X&>;                                                                  \
    using view = tensor_view<const T, device_of<S>>;                                              \
    constexpr bool right = detail::kind_of<T> == detail::kind::floating &&                        \
                           std::is_same_v<T, value_t<const G&>> &&                                \
                           std::is_same_v<T, value_t<Out>>;                                       \
    same_device<S, G, X, Out>();                                                                  \
    static_assert(right, "flaggems: the gradients have the input's floating-point dtype");        \
    if constexpr (right)                                                                          \
      detail::pad_backward_into<kernels::taps>({#name, padding, pad_mode::how, 0, count}, stream, \
                                               view(as_view(grad_output)), view(as_view(x)),      \
                                               as_view(grad_input));                              \
  }                                                                                               \
  template <stream_like S, tensor_like G, tensor_like X>                                          \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& x, int_list padding) {  \
    auto out = empty<value_t<const X&>>(stream, as_view(x).shape_of(), #name);                    \
    name(stream, grad_output, x, out, padding);                                                   \
    return out;                                                                                   \
  }

/// The gradient of reflection_pad1d: of an element the sum of grad_output where it and its images
/// are.
///
/// grad_output: the padded sizes; x, which gives its sizes, and grad_input [N, C, L] or [C, L]; one
/// floating-point dtype, any strides; sums are in f32 or f64. Raises as reflection_pad1d, or
/// shape_mismatch or overlap, before anything is written.
/// aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding)
FLAGGEMS_PAD_BACKWARD(reflection_pad1d_backward, reflect, mirror_taps, 1)
/// The gradient of reflection_pad2d. aten::reflection_pad2d_backward(Tensor grad_output, Tensor
/// self, SymInt[4] padding)
FLAGGEMS_PAD_BACKWARD(reflection_pad2d_backward, reflect, mirror_taps, 2)
/// The gradient of reflection_pad3d. aten::reflection_pad3d_backward(Tensor grad_output, Tensor
/// self, SymInt[6] padding)
FLAGGEMS_PAD_BACKWARD(reflection_pad3d_backward, reflect, mirror_taps, 3)
/// The gradient of replication_pad1d: the edge's is the sum over all places that repeat it.
/// aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding)
FLAGGEMS_PAD_BACKWARD(replication_pad1d_backward, replicate, edge_taps, 1)
/// The gradient of replication_pad2d. aten::replication_pad2d_backward(Tensor grad_output, Tensor
/// self, SymInt[4] padding)
FLAGGEMS_PAD_BACKWARD(replication_pad2d_backward, replicate, edge_taps, 2)
/// The gradient of replication_pad3d. aten::replication_pad3d_backward(Tensor grad_output, Tensor
/// self, SymInt[6] padding)
FLAGGEMS_PAD_BACKWARD(replication_pad3d_backward, replicate, edge_taps, 3)
#undef FLAGGEMS_PAD_BACKWARD

}  // namespace flaggems
