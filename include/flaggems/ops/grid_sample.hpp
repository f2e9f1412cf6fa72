// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Samples at the places of a grid, their gradients, and the grids of affine maps.
#pragma once

#include <flaggems/kernel/family/window/grid_sample.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/window.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/gather.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/scatter.hpp>

#include <optional>
#include <tuple>
#include <type_traits>

namespace flaggems {
namespace operators {
struct grid_sampler;
struct grid_sampler_backward;
struct affine_grid_generator;
}  // namespace operators

/// Gradients of samples; those not asked for are absent.
template <class T, class Device>
struct grid_gradients {
  std::optional<tensor<T, Device>> input, grid;
  [[nodiscard]] auto tie() { return std::tie(input, grid); }
};

namespace detail {

/// Raises unless a grid has places in x for an output; gives its sizes.
inline shape sampled_sizes(const char* op, int dims, const shape& x, const shape& grid, i64 mode,
                           i64 padding) {
  bool fits =
      x.rank() == dims + 2 && grid.rank() == dims + 2 && grid[0] == x[0] && grid[dims + 1] == dims;
  for (int d = 0; fits && d < dims; ++d) fits = x[2 + d] > 0;
  if (!fits) [[unlikely]]
    raise_shapes(op,
                 "an input [N, C, sizes...] with elements, and a grid [N, ..., a coordinate each]",
                 x, grid);
  if (mode < 0 || mode > 2) [[unlikely]]
    raise(errc::invalid_argument, op, "an interpolation_mode of 0, 1 or 2", text(mode));
  if (padding < 0 || padding > 2) [[unlikely]]
    raise(errc::invalid_argument, op, "a padding_mode of 0, 1 or 2", text(padding));
  shape r{x[0], x[1]};
  for (int d = 0; d < dims; ++d) r.push_back(grid[1 + d]);
  return r;
}

/// The elements of a sample.
inline i64 taps_of_grid(int dims, i64 mode) {
  i64 taps = 1;
  for (int d = 0; d < dims; ++d) taps *= mode == 1 ? 1 : mode == 0 ? 2 : 4;
  return taps;
}
/// What is sampled, for an output that lies as `to`.
template <class T, class D>
kernels::grid_request<T> grid_request_of(int dims, const tensor_view<const T, D>& x,
                                         const tensor_view<const T, D>& grid,
                                         const window_layout& to, i64 mode, i64 padding,
                                         bool align_corners) {
  const window_layout from = window_layout::of(x, dims);
  kernels::grid_request<T> ask{x.data(),
                               grid.data(),
                               {},
                               {},
                               {},
                               {},
                               dims,
                               static_cast<int>(mode),
                               static_cast<int>(padding)};
  for (int d = 0; d < window_rank; ++d) {
    ask.sizes[d] = to.sizes[d];
    ask.strides[d] = from.strides[d];
  }
  ask.grid_strides[0] = grid.stride(0);
  ask.grid_strides[1] = grid.stride(dims + 1);
  for (int k = 0; k < kernels::window_axes; ++k) {
    const int d = k - (kernels::window_axes - dims);
    ask.grid_strides[2 + k] = d < 0 ? 0 : grid.stride(1 + d);
    ask.axes[k] = {from.sizes[2 + k], align_corners};
  }
  return ask;
}

template <class S, class T, class D>
void grid_sampler_into(const char* op, int dims, const S& stream, const tensor_view<const T, D>& x,
                       const tensor_view<const T, D>& grid, const tensor_view<T, D>& out, i64 mode,
                       i64 padding, bool align_corners) {
  check_output_sizes(op, sampled_sizes(op, dims, x.shape_of(), grid.shape_of(), mode, padding),
                     out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(grid));
  if (out.empty() ||
      replaced<operators::grid_sampler>(op, stream, x, grid, out, mode, padding, align_corners))
    return;
  const window_layout to = window_layout::of(out, dims);
  const auto ask = grid_request_of(dims, x, grid, to, mode, padding, align_corners);
  const i64 taps = taps_of_grid(dims, mode);
  using kernel = kernels::grid_samples<T>;
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(out.numel(), kernel::tile);
  config.work = work_of(out.numel(), taps + 1, 2 * sizeof(T));
  launch<kernel>(stream, config, out.numel(), ask, written_by_walk(out.data(), to));
}

/// Does not compile unless all are of one floating-point dtype; gives whether they are.
template <class X, class... Others>
constexpr bool check_sampled() {
  constexpr bool right =
      kind_of<value_t<X>> == kind::floating && (std::is_same_v<value_t<X>, value_t<Others>> && ...);
  static_assert(right, "flaggems: input, grid and output have one floating-point dtype");
  return right;
}

template <class S, class T, class D>
grid_gradients<T, D> grid_gradients_of(const char* op, int dims, const S& stream,
                                       const tensor_view<const T, D>& grad,
                                       const tensor_view<const T, D>& x,
                                       const tensor_view<const T, D>& grid, i64 mode, i64 padding,
                                       bool align_corners, const gradient_mask<2>& wanted) {
  using C = kernels::compute_type<T>;
  const shape sizes = sampled_sizes(op, dims, x.shape_of(), grid.shape_of(), mode, padding);
  if (!same_sizes(grad.sizes(), sizes)) [[unlikely]]
    raise_other_sizes(op, sizes, grad.sizes());
  grid_gradients<T, D> r;
  if (wanted[0]) r.input.emplace(zeros<T>(stream, x.shape_of()));
  if (wanted[1]) r.grid.emplace(zeros<T>(stream, grid.shape_of()));
  if (grad.empty() || !(wanted[0] || wanted[1])) return r;
  if (replaced<operators::grid_sampler_backward>(op, stream, grad, x, grid, mode, padding,
                                                 align_corners, r))
    return r;
  const i64 batch = x.size(0), channels = x.size(1), taps = taps_of_grid(dims, mode);
  i64 places = 1, plane = 1;
  for (int d = 0; d < dims; ++d) places *= grid.size(1 + d), plane *= x.size(2 + d);
  auto elements = empty<i64>(stream, {batch, taps, places}, op);
  auto weights = empty<C>(stream, {batch, dims + 1, taps, places}, op);
  using kernel = kernels::grid_parts<T>;
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(batch * places, kernel::tile);
  config.work = work_of(batch * places, taps * (dims + 1), 2 * sizeof(C));
  launch<kernel>(
      stream, config, batch * places,
      grid_request_of(dims, x, grid, window_layout::of(grad, dims), mode, padding, align_corners),
      taps, elements.data(), weights.data());
  // [batch, channels, taps, places], or 1 in the place of what a factor does not depend on.
  tensor<T, D> dense_grad, dense_x;
  const auto by_place =
      cast<C>(as_row(op, stream, grad, dense_grad).view({batch, channels, 1, places}));
  const shape flat{batch, channels, taps * places};
  const auto index = std::as_const(elements).view().view({batch, 1, taps * places}).expand(flat);
  const auto parts = std::as_const(weights).view();
  if (wanted[0]) {
    auto given = empty<C>(stream, {batch, channels, taps, places}, op);
    auto sums = zeros<C>(stream, {batch, channels, plane});
    assign(stream, given, by_place * parts.narrow(1, 0, 1), op);
    scatter_add_(stream, sums, 2, index, std::as_const(given).view().view(flat));
    assign(stream, *r.input, cast<T>(sums.view().view(x.shape_of())), op);
  }
  if (wanted[1] && mode != 1) {
    const auto from = as_row(op, stream, x, dense_x).view({batch, channels, plane});
    const auto read = gather(stream, from, 2, index);
    auto sums = empty<C>(stream, {batch, 1, taps, places}, op);
    auto slopes = empty<C>(stream, {batch, dims, 1, places}, op);
    sum(stream, cast<C>(read.view().view({batch, channels, taps, places})) * by_place, sums, 1,
        true);
    sum(stream, parts.narrow(1, 1, dims) * sums, slopes, 2, true);
    shape spread{batch, dims};
    for (int d = 0; d < dims; ++d) spread.push_back(grid.size(1 + d));
    assign(stream, *r.grid, cast<T>(slopes.view().view(spread).movedim({1}, {-1})), op);
  }
  return r;
}

/// The coordinates in [-1, 1] of n places along a dimension.
template <class C, class S>
tensor<C, device_of<S>> affine_places(const char* op, const S& stream, i64 n, bool align_corners) {
  auto r = arange<C>(stream, n);
  const C steps = static_cast<C>(n > 1 ? n - 1 : 1), count = static_cast<C>(n);
  const C whole = align_corners ? C(1) : steps / count;
  if (n == 1)
    fill(op, stream, r.view(), 0);
  else
    assign(stream, r, (r * (C(2) / steps) - C(1)) * whole, op);
  return r;
}

template <class S, class T, class D>
void affine_grid_into(const S& stream, const tensor_view<const T, D>& theta, int_list size,
                      bool align_corners, const tensor_view<T, D>& out) {
  constexpr const char* op = "affine_grid_generator";
  using C = std::conditional_t<std::is_same_v<T, f64>, f64, f32>;
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(theta));
  if (out.empty() ||
      replaced<operators::affine_grid_generator>(op, stream, theta, size, align_corners, out))
    return;
  const int dims = size.size() - 2;
  const auto column = [&](int k) {  // [N, coordinates] among the grid's dimensions
    auto v = theta.select(2, k);
    for (int d = 0; d < dims; ++d) v = v.unsqueeze(1);
    return cast<C>(v);
  };
  const auto places = [&](int d) {
    return affine_places<C>(op, stream, size[2 + d], align_corners);
  };
  const auto along = [&](const tensor<C, D>& own, int d) {
    auto v = own.view();
    for (int k = d; k < dims; ++k) v = v.unsqueeze(-1);
    return tensor_view<const C, D>(v);
  };
  const auto x = places(dims - 1), y = places(dims - 2);
  const auto plane = column(0) * along(x, dims - 1) + column(1) * along(y, dims - 2);
  if (dims == 2) return assign(stream, out, cast<T>(plane + column(2)), op);
  const auto z = places(0);
  assign(stream, out, cast<T>(plane + column(2) * along(z, 0) + column(3)), op);
}
/// Raises unless theta has maps for grids of these sizes; gives the grids' sizes.
inline shape affine_sizes(const shape& theta, int_list size) {
  constexpr const char* op = "affine_grid_generator";
  const int dims = size.size() - 2;
  if ((dims != 2 && dims != 3) || theta.rank() != 3 || theta[0] != size[0] || theta[1] != dims ||
      theta[2] != dims + 1) [[unlikely]]
    raise_shapes(op, "maps [N, 2, 3] for a size [N, C, H, W], or [N, 3, 4] for [N, C, D, H, W]",
                 theta, size);
  shape r{size[0]};
  for (int d = 0; d < dims; ++d) {
    if (size[2 + d] < 1) [[unlikely]]
      raise_sizes(op, "positive sizes", size);
    r.push_back(size[2 + d]);
  }
  r.push_back(dims);
  return r;
}

}  // namespace detail

// One line an operator: name, and over how many dimensions.
#define FLAGGEMS_GRID_SAMPLER(name, dims)                                                         \
  template <stream_like S, tensor_like X, tensor_like G, tensor_like Out>                         \
  void name(const S& stream, const X& input, const G& grid, Out&& out, i64 interpolation_mode,    \
            i64 padding_mode, bool align_corners) {                                               \
    same_device<S, X, G, Out>();                                                                  \
    if constexpr (detail::check_sampled<const X&, const G&, Out>())                               \
      detail::grid_sampler_into(#name, dims, stream, detail::input_of(input),                     \
                                detail::input_of(grid), as_view(out), interpolation_mode,         \
                                padding_mode, align_corners);                                     \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like G>                                          \
  [[nodiscard]] auto name(const S& stream, const X& input, const G& grid, i64 interpolation_mode, \
                          i64 padding_mode, bool align_corners) {                                 \
    auto out = empty<value_t<const X&>>(                                                          \
        stream,                                                                                   \
        detail::sampled_sizes(#name, dims, as_view(input).shape_of(), as_view(grid).shape_of(),   \
                              interpolation_mode, padding_mode),                                  \
        #name);                                                                                   \
    name(stream, input, grid, out, interpolation_mode, padding_mode, align_corners);              \
    return out;                                                                                   \
  }

/// out[n, c, i, j] = input[n, c] at the place (x, y) = grid[n, i, j], from -1 at the first element
/// of a row or column to 1 at the last one with align_corners, else from edge to edge.
///
/// input [N, C, H, W], grid [N, I, J, 2], out [N, C, I, J], one floating-point dtype, any strides.
/// interpolation_mode: 0 by lines between elements, 1 the nearest (of two the even one), 2 by
/// cubics of slope -3/4. padding_mode: outside the input are 0 zeros, 1 its edges, 2 its mirror
/// images. Computed in f32, or f64. out shares no memory. Raises invalid_argument, shape_mismatch
/// or overlap before anything is written. aten::grid_sampler_2d(Tensor input, Tensor grid, int
/// interpolation_mode, int padding_mode, bool align_corners)
FLAGGEMS_GRID_SAMPLER(grid_sampler_2d, 2)
/// grid_sampler_2d over three dimensions: input [N, C, D, H, W], grid [N, I, J, K,
/// 3] of (x, y, z). aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int
/// padding_mode, bool align_corners)
FLAGGEMS_GRID_SAMPLER(grid_sampler_3d, 3)
#undef FLAGGEMS_GRID_SAMPLER

/// grid_sampler_2d or grid_sampler_3d, by the input's dimensions. aten::grid_sampler(Tensor input,
/// Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)
template <stream_like S, tensor_like X, tensor_like G>
[[nodiscard]] auto grid_sampler(const S& stream, const X& input, const G& grid,
                                i64 interpolation_mode, i64 padding_mode, bool align_corners) {
  if (as_view(input).rank() == 5)
    return grid_sampler_3d(stream, input, grid, interpolation_mode, padding_mode, align_corners);
  return grid_sampler_2d(stream, input, grid, interpolation_mode, padding_mode, align_corners);
}
FLAGGEMS_ALSO(grid_sample, grid_sampler)

// One line an operator: name, and over how many dimensions.
#define FLAGGEMS_GRID_SAMPLER_BACKWARD(name, dims)                                                 \
  template <stream_like S, tensor_like G, tensor_like X, tensor_like Grid>                         \
  [[nodiscard]] auto name(const S& stream, const G& grad_output, const X& input, const Grid& grid, \
                          i64 interpolation_mode, i64 padding_mode, bool align_corners,            \
                          gradient_mask<2> output_mask = {true, true}) {                           \
    same_device<S, G, X, Grid>();                                                                  \
    if constexpr (detail::check_sampled<const X&, const G&, const Grid&>())                        \
      return detail::grid_gradients_of(                                                            \
          #name, dims, stream, detail::input_of(grad_output), detail::input_of(input),             \
          detail::input_of(grid), interpolation_mode, padding_mode, align_corners, output_mask);   \
  }

/// The gradients of grid_sampler_2d in new tensors: of input and of grid; `output_mask` says which.
///
/// grad_output as the samples; the rest as there. Sums are in f32, or f64, in one order. Raises
/// invalid_argument or shape_mismatch. aten::grid_sampler_2d_backward(Tensor grad_output, Tensor
/// input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2]
/// output_mask) -> (Tensor, Tensor)
FLAGGEMS_GRID_SAMPLER_BACKWARD(grid_sampler_2d_backward, 2)
/// The gradients of grid_sampler_3d. aten::grid_sampler_3d_backward(Tensor grad_output, Tensor
/// input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2]
/// output_mask) -> (Tensor, Tensor)
FLAGGEMS_GRID_SAMPLER_BACKWARD(grid_sampler_3d_backward, 3)
#undef FLAGGEMS_GRID_SAMPLER_BACKWARD

/// The grids of affine maps theta: the places theta[n] (x, y, 1) of all (x, y) of a size, which go
/// from -1 to 1 with align_corners, else from the middle of the first element to that of the last.
///
/// theta [N, 2, 3], size [N, C, H, W], out [N, H, W, 2]; in three dimensions [N, 3, 4], [N, C, D,
/// H, W] and [N, D, H, W, 3]. Computed in f32, or f64. Raises invalid_argument, shape_mismatch or
/// overlap before anything is written. aten::affine_grid_generator(Tensor theta, SymInt[] size,
/// bool align_corners)
template <stream_like S, tensor_like Theta, tensor_like Out>
void affine_grid_generator(const S& stream, const Theta& theta, Out&& out, int_list size,
                           bool align_corners) {
  same_device<S, Theta, Out>();
  detail::check_output_sizes("affine_grid_generator",
                             detail::affine_sizes(as_view(theta).shape_of(), size), as_view(out));
  if constexpr (detail::check_sampled<const Theta&, Out>())
    detail::affine_grid_into(stream, detail::input_of(theta), size, align_corners, as_view(out));
}
template <stream_like S, tensor_like Theta>
[[nodiscard]] auto affine_grid_generator(const S& stream, const Theta& theta, int_list size,
                                         bool align_corners) {
  auto out = empty<value_t<const Theta&>>(
      stream, detail::affine_sizes(as_view(theta).shape_of(), size), "affine_grid_generator");
  affine_grid_generator(stream, theta, out, size, align_corners);
  return out;
}

}  // namespace flaggems
