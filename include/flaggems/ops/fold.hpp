// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows as columns, and their inverse, which adds up where windows overlap: each is the gradient
// of the other.
#pragma once

#include <flaggems/ops/dispatch/window.hpp>
#include <flaggems/ops/pad.hpp>

#include <type_traits>

namespace flaggems {
namespace operators {
struct im2col;
struct col2im;
struct unfold_backward;
}  // namespace operators

namespace detail {

/// The sizes of columns of windows over x.
inline shape column_sizes(const window_plan& plan, int_list x) {
  const window_plan::along &h = plan.axis(0), &w = plan.axis(1);
  shape r(x);
  r.erase(r.rank() - 1);
  i64 &rows = r[r.rank() - 2], &places = r[r.rank() - 1];
  const bool fits = multiply(rows, h.kernel, rows) && multiply(rows, w.kernel, rows) &&
                    multiply(h.result, w.result, places);
  if (!fits) [[unlikely]]
    raise(errc::invalid_argument, "im2col",
          "columns of fewer than 2^63 elements, and fewer of them",
          to_string(x) + " in " + text(h.result) + " times " + text(w.result) + " windows of " +
              text(h.kernel) + " times " + text(w.kernel));
  return r;
}

template <class S, class T, class D>
void im2col_into(const window_request& ask, const S& stream, const tensor_view<const T, D>& x,
                 const tensor_view<T, D>& out) {
  const char* op = ask.name;
  check_window_rank(op, x, ask.dims);
  const window_plan plan(ask, x.sizes());
  check_output_sizes(op, column_sizes(plan, x.sizes()), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (replaced<operators::im2col>(op, stream, x, out, ask) || out.empty()) return;
  const window_plan::along &h = plan.axis(0), &w = plan.axis(1);
  tensor_view<const T, D> from(x);
  tensor<T, D> padded;
  if (h.padding != 0 || w.padding != 0) {
    const i64 around[] = {w.padding, w.padding, h.padding, h.padding};
    const pad_move<> pad{op, int_list(around, 4)};
    padded = empty<T>(stream, pad.sizes(x.shape_of()), op);
    pad.run(stream, x, padded.view());
    from = input_of(padded);
  }
  const int c = x.rank() - 3;
  shape sizes(from.sizes()), strides(from.strides());
  const i64 down = strides[c + 1], along = strides[c + 2];
  sizes[c + 1] = h.kernel, sizes[c + 2] = w.kernel;
  strides[c + 1] = down * h.dilation, strides[c + 2] = along * w.dilation;
  sizes.push_back(h.result), sizes.push_back(w.result);
  strides.push_back(down * h.stride), strides.push_back(along * w.stride);
  for (int d = 0; d < sizes.rank(); ++d)
    if (sizes[d] == 1) strides[d] = 0;
  copy_into(op, stream,
            out.unflatten(-1, {h.result, w.result}).unflatten(c, {x.size(c), h.kernel, w.kernel}),
            from.as_strided(sizes, strides));
}

/// The sizes of what columns x are added up to.
template <class X>
shape image_sizes(const window_request& ask, const X& x, int_list output_size) {
  const char* op = ask.name;
  if (output_size.size() != 2) [[unlikely]]
    raise_sizes(op, "an output_size of two numbers", output_size);
  if (x.rank() != 2 && x.rank() != 3) [[unlikely]]
    raise(errc::shape_mismatch, op, "columns of rank 2 or 3", to_string(x.sizes()));
  const window_plan plan(ask, output_size);
  const i64 h = plan.axis(0).kernel, w = plan.axis(1).kernel, rows = x.size(-2);
  i64 window = 0, places = 0;
  if (!multiply(h, w, window) || rows % window != 0) [[unlikely]]
    raise(errc::shape_mismatch, op,
          "columns of a multiple of " + text(h) + " times " + text(w) + " rows",
          to_string(x.sizes()));
  if (!multiply(plan.axis(0).result, plan.axis(1).result, places) || x.size(-1) != places)
      [[unlikely]]
    raise(errc::shape_mismatch, op, "a column for each of " + text(places) + " windows",
          to_string(x.sizes()));
  shape r;
  if (x.rank() == 3) r.push_back(x.size(0));
  r.push_back(rows / window);
  r.push_back(output_size[0]);
  r.push_back(output_size[1]);
  return r;
}

template <class S, class T, class D>
void col2im_into(const window_request& ask, const S& stream, const tensor_view<const T, D>& x,
                 const tensor_view<T, D>& out, int_list output_size) {
  const char* op = ask.name;
  check_output_sizes(op, image_sizes(ask, x, output_size), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(x));
  if (replaced<operators::col2im>(op, stream, x, out, ask)) return;
  const window_plan plan(ask, output_size);
  const window_plan::along &h = plan.axis(0), &w = plan.axis(1);
  kernels::linear_taps taps[kernels::window_axes];
  plan.backward(taps);
  const i64 row = x.stride(-2), place = x.stride(-1);
  const window_layout to = window_layout::of(out, 2);
  window_layout from = to;  // of as many dimensions
  from.strides[0] = x.rank() == 3 ? x.stride(0) : 0;
  from.strides[1] = h.kernel * w.kernel * row;
  from.strides[3] = w.result * place, from.strides[4] = place;
  auto walk = walk_of(taps, x.data(), to, from);
  walk.tap_strides[1] = w.kernel * row, walk.tap_strides[2] = row;
  launch_windows(op, stream, walk, kernels::window_sum<T>{written_by_walk(out.data(), to)},
                 plan.elements());
}

template <class S, class T, class D>
void unfold_backward_into(const S& stream, const tensor_view<const T, D>& grad,
                          const tensor_view<T, D>& out, int_list input_sizes, i64 dim, i64 size,
                          i64 step) {
  constexpr const char* op = "unfold_backward";
  if (input_sizes.size() == 0 && grad.rank() == 1 && out.rank() == 0)  // a number is a row of one
    return unfold_backward_into(stream, grad.unsqueeze(0), out.unsqueeze(0), {1}, dim, size, step);
  const int d = existing_dim(dim, input_sizes.size(), op);
  if (size < 1 || step < 1 || size > input_sizes[d]) [[unlikely]]
    raise(errc::invalid_argument, op,
          "a positive step and a positive size of at most " + text(input_sizes[d]),
          text(size) + " and " + text(step));
  shape unfolded(input_sizes);
  unfolded[d] = (input_sizes[d] - size) / step + 1;
  const i64 places = unfolded[d];
  unfolded.push_back(size);
  if (!same_sizes(grad.sizes(), unfolded)) [[unlikely]]
    raise_other_sizes(op, unfolded, grad.sizes());
  check_output_sizes(op, shape(input_sizes), out);
  check_writable(op, out);
  check_no_overlap(op, placed_layout(layout_of(out)), layout_of(grad));
  if (replaced<operators::unfold_backward>(op, stream, grad, out, d, size, step)) return;
  if (out.empty()) return;
  tensor<T, D> memory, sums;
  const auto row = as_row(op, stream, grad, memory);
  if (!out.is_contiguous()) sums = empty<T>(stream, out.shape_of(), op);
  T* const to = out.is_contiguous() ? out.data() : sums.data();
  i64 outer = 1, inner = 1;
  for (int k = 0; k < d; ++k) outer *= input_sizes[k];
  for (int k = d + 1; k < input_sizes.size(); ++k) inner *= input_sizes[k];
  // The dimensions outside, this one, and those inside.
  const i64 sizes[] = {outer, input_sizes[d], inner}, own[] = {input_sizes[d] * inner, inner, 1},
            strides[] = {places * inner * size, inner * size, size};
  const kernels::linear_taps taps[] = {
      {1, 1, 1, 1, 0, 0}, {places, size, 1, step, -1, 0}, {inner, 1, 1, 1, 0, 0}};
  const window_layout written(int_list(sizes, 3), int_list(own, 3), 2);
  auto walk = walk_of(taps, row.data(), written,
                      window_layout(int_list(sizes, 3), int_list(strides, 3), 2));
  walk.tap_strides[1] = 1;
  launch_windows(op, stream, walk, kernels::window_sum<T>{written_by_walk(to, written)}, size);
  if (!out.is_contiguous()) copy_into(op, stream, out, input_of(sums));
}

/// Does not compile unless both have one floating-point dtype; gives whether they have.
template <class X, class Out>
constexpr bool check_fold_types() {
  constexpr bool right =
      kind_of<value_t<X>> == kind::floating && std::is_same_v<value_t<X>, value_t<Out>>;
  static_assert(right, "flaggems: input and output have one floating-point dtype");
  return right;
}

}  // namespace detail

/// out[n, (c, i, j), (h, w)] = x[n, c, h stride + i dilation - padding, w ...], 0 outside: the
/// windows of x as columns.
///
/// x [N, C, H, W], out [N, C kh kw, windows], both with or without N, one floating-point dtype, any
/// strides. A list has a number for each of the two dimensions or one for both. out shares no
/// memory with x. Raises invalid_argument, shape_mismatch or overlap before anything is written.
/// aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)
template <stream_like S, tensor_like X, tensor_like Out>
void im2col(const S& stream, const X& x, Out&& out, int_list kernel_size, int_list dilation,
            int_list padding, int_list stride) {
  same_device<S, X, Out>();
  if constexpr (detail::check_fold_types<const X&, Out>())
    detail::im2col_into({"im2col", 2, kernel_size, stride, padding, dilation, false, false}, stream,
                        tensor_view<const value_t<Out>, device_of<S>>(as_view(x)), as_view(out));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto im2col(const S& stream, const X& x, int_list kernel_size, int_list dilation,
                          int_list padding, int_list stride) {
  const auto v = as_view(x);
  detail::check_window_rank("im2col", v, 2);
  const detail::window_plan plan(
      {"im2col", 2, kernel_size, stride, padding, dilation, false, false}, v.sizes());
  auto out = empty<value_t<const X&>>(stream, detail::column_sizes(plan, v.sizes()), "im2col");
  im2col(stream, x, out, kernel_size, dilation, padding, stride);
  return out;
}

/// The gradient of im2col: out[n, c, h, w] = the sum of the elements of columns x that are of it.
///
/// x [N, C kh kw, windows], out [N, C, output_size...], both with or without N. Sums are in f32 or
/// f64. Otherwise as im2col. aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size,
/// int[2] dilation, int[2] padding, int[2] stride)
template <stream_like S, tensor_like X, tensor_like Out>
void col2im(const S& stream, const X& x, Out&& out, int_list output_size, int_list kernel_size,
            int_list dilation, int_list padding, int_list stride) {
  same_device<S, X, Out>();
  if constexpr (detail::check_fold_types<const X&, Out>())
    detail::col2im_into({"col2im", 2, kernel_size, stride, padding, dilation, false, false}, stream,
                        tensor_view<const value_t<Out>, device_of<S>>(as_view(x)), as_view(out),
                        output_size);
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto col2im(const S& stream, const X& x, int_list output_size, int_list kernel_size,
                          int_list dilation, int_list padding, int_list stride) {
  const shape sizes = detail::image_sizes(
      {"col2im", 2, kernel_size, stride, padding, dilation, false, false}, as_view(x), output_size);
  auto out = empty<value_t<const X&>>(stream, sizes, "col2im");
  col2im(stream, x, out, output_size, kernel_size, dilation, padding, stride);
  return out;
}

/// The gradient of unfold: of an element the sum over the windows along `dim` that it is in.
///
/// grad_in: input_sizes with the number of windows along `dim`, and their `size` behind; out
/// [input_sizes]; one floating-point dtype, any strides. Raises out_of_range, invalid_argument,
/// shape_mismatch or overlap before anything is written. aten::unfold_backward(Tensor grad_in,
/// SymInt[] input_sizes, int dim, int size, int step)
template <stream_like S, tensor_like G, tensor_like Out>
void unfold_backward(const S& stream, const G& grad_in, Out&& out, int_list input_sizes, i64 dim,
                     i64 size, i64 step) {
  same_device<S, G, Out>();
  if constexpr (detail::check_fold_types<const G&, Out>())
    detail::unfold_backward_into(stream,
                                 tensor_view<const value_t<Out>, device_of<S>>(as_view(grad_in)),
                                 as_view(out), input_sizes, dim, size, step);
}
template <stream_like S, tensor_like G>
[[nodiscard]] auto unfold_backward(const S& stream, const G& grad_in, int_list input_sizes, i64 dim,
                                   i64 size, i64 step) {
  auto out = empty<value_t<const G&>>(stream, shape(input_sizes), "unfold_backward");
  unfold_backward(stream, grad_in, out, input_sizes, dim, size, step);
  return out;
}

}  // namespace flaggems
