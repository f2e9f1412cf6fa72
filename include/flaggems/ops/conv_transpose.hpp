// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions: products of the weight and the input's elements, as columns, which a
// walk over windows adds up where they meet.
#pragma once

#include <flaggems/ops/convolution.hpp>
#include <flaggems/ops/dispatch/window.hpp>

namespace flaggems {
namespace operators {
struct conv_transpose;
}

namespace detail {

/// What is asked of a transposed convolution; lists as a convolution's.
struct conv_transpose_request {
  const char* name;
  int dims;
  int_list stride, padding, output_padding, dilation;
  i64 groups;
};

/// Its sizes; those of axes that it lacks are 1.
struct conv_transpose_plan {
  struct along {
    i64 kernel = 1, stride = 1, padding = 0, dilation = 1, size = 1, result = 1;
  };
  int dims;
  i64 batch = 1, groups = 1, channels = 0, features = 0;  // channels and features of a group
  i64 filters = 0;                                        // features of all groups
  along at[kernels::window_axes];

  conv_transpose_plan(const conv_transpose_request& ask, const shape& x, const shape& w)
      : dims(ask.dims), groups(ask.groups) {
    const char* op = ask.name;
    if ((x.rank() != dims + 1 && x.rank() != dims + 2) || w.rank() != dims + 2) [[unlikely]]
      raise_shapes(
          op, "an input of one or two dimensions more than the kernel, and a weight of two", x, w);
    const int first = x.rank() - dims;
    if (first == 2) batch = x[0];
    if (groups < 1 || w[0] != x[first - 1] || w[0] % groups != 0) [[unlikely]]
      raise(errc::shape_mismatch, op,
            "a weight for the input's channels, which " + text(groups) + " groups divide",
            to_string(x) + " and " + to_string(w));
    channels = w[0] / groups;
    features = w[1];
    if (!multiply(groups, features, filters)) [[unlikely]]
      raise(errc::invalid_argument, op, "fewer than 2^63 output channels",
            text(groups) + " groups of " + text(features));
    for (int d = 0; d < dims; ++d) {
      along& a = at[kernels::window_axes - dims + d];
      a.kernel = w[2 + d];
      a.size = x[first + d];
      a.stride = number_of_dim(op, ask.stride, dims, d, "a stride", 1);
      a.padding = number_of_dim(op, ask.padding, dims, d, "a padding", 0);
      a.dilation = number_of_dim(op, ask.dilation, dims, d, "a dilation", 1);
      const i64 more = number_of_dim(op, ask.output_padding, dims, d, "an output_padding", 0);
      if (more >= a.stride && more >= a.dilation) [[unlikely]]
        raise(errc::invalid_argument, op, "an output_padding below the stride or the dilation",
              text(more));
      if (a.kernel < 1 || a.size < 1) [[unlikely]]
        raise_shapes(op, "elements in input and kernel", x, w);
      i64 moved = 0, reach = 0, whole = 0;
      if (!multiply(a.size - 1, a.stride, moved) || !multiply(a.kernel - 1, a.dilation, reach) ||
          !add(moved, reach, whole) || !add(whole, more, whole) || !add(whole, 1, whole))
          [[unlikely]]
        raise(errc::invalid_argument, op, "fewer than 2^63 elements before the padding is cut off",
              to_string(x) + " and " + to_string(w) + " with stride " + text(a.stride) +
                  " and dilation " + text(a.dilation));
      if (a.padding > (whole - 1) / 2) [[unlikely]]
        raise(errc::shape_mismatch, op,
              "a padding that leaves some of " + text(whole) + " elements", text(a.padding));
      a.result = whole - 2 * a.padding;
    }
  }
  [[nodiscard]] shape out(bool has_batch) const {
    shape r;
    if (has_batch) r.push_back(batch);
    r.push_back(filters);
    for (int d = 0; d < dims; ++d) r.push_back(at[kernels::window_axes - dims + d].result);
    return r;
  }
  [[nodiscard]] i64 window() const { return at[0].kernel * at[1].kernel * at[2].kernel; }
  [[nodiscard]] i64 places() const { return at[0].size * at[1].size * at[2].size; }

  /// The walk over columns [n, groups, features window, places] for an output of n images.
  template <class T>
  [[nodiscard]] auto walk(const T* columns, const window_layout& to) const {
    kernels::linear_taps taps[kernels::window_axes];
    window_layout from = to;
    from.strides[0] = groups * features * window() * places();
    from.strides[1] = window() * places();
    i64 step = 1, row = places();
    i64 rows[kernels::window_axes];
    for (int k = kernels::window_axes - 1; k >= 0; --k) {
      const along& a = at[k];
      taps[k] = {a.size, a.kernel, 1, a.stride, -a.dilation, a.padding};
      from.strides[2 + k] = step, rows[k] = row;
      step *= a.size, row *= a.kernel;
    }
    auto r = walk_of(taps, columns, to, from);
    for (int k = 0; k < kernels::window_axes; ++k) r.tap_strides[k] = rows[k];
    return r;
  }
};

template <class S, class X, class W, class B, class Out>
void conv_transpose_into(const conv_transpose_request& ask, const S& stream, const X& input,
                         const W& weight, const B& bias, const Out& out) {
  using T = typename Out::value_type;
  using D = device_of<S>;
  static_assert(
      std::is_same_v<std::remove_const_t<typename X::value_type>, T> &&
          std::is_same_v<std::remove_const_t<typename W::value_type>, T> &&
          kind_of<T> == kind::floating,
      "flaggems: input, weight and output of a convolution have one floating-point dtype");
  const char* op = ask.name;
  const conv_transpose_plan plan(ask, input.shape_of(), weight.shape_of());
  const bool has_batch = input.rank() == ask.dims + 2;
  check_output_sizes(op, plan.out(has_batch), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(input));
  check_no_overlap(op, written, layout_of(weight));
  const auto added = optional_view<T, D>(bias);
  check_weight(op, "bias", added, {plan.filters}, written);
  if (out.empty() ||
      replaced<operators::conv_transpose>(op, stream, input, weight, added, out, ask))
    return;
  tensor<T, D> packed, elements;
  const i64 depth = plan.features * plan.window(), places = plan.places();
  const auto filters = as_row(op, stream, tensor_view<const T, D>(weight), packed)
                           .view({plan.groups, plan.channels, depth})
                           .transpose(1, 2);
  const auto x = as_row(op, stream, tensor_view<const T, D>(input), elements)
                     .view({plan.batch, plan.groups, plan.channels, places});
  const tensor_view<T, D> to(has_batch ? out.view() : out.unsqueeze(0));
  using C = arithmetic_t<T>;
  const i64 most =
      images_at_once(plan.batch, plan.groups * depth * places * static_cast<i64>(sizeof(C)));
  auto columns = empty<C>(stream, {most, plan.groups, depth, places}, op);
  for (i64 begin = 0; begin < plan.batch; begin += most) {
    const i64 n = kernels::min_of(most, plan.batch - begin);
    const auto own = columns.view().narrow(0, 0, n);
    gemm(op, stream, filters.unsqueeze(0).expand({n, plan.groups, depth, plan.channels}),
         x.narrow(0, begin, n).transpose(-2, -1), own, no_bias_view{}, 1, 0);
    const auto image = to.narrow(0, begin, n);
    const window_layout layout = window_layout::of(image, plan.dims);
    const auto walk = plan.walk(static_cast<const C*>(columns.data()), layout);
    const auto result = written_by_walk(image.data(), layout);
    if (added)
      launch_windows(op, stream, walk,
                     kernels::window_biased_sum<T, C>{result, added->data(), added->stride(0)},
                     plan.window());
    else
      launch_windows(op, stream, walk, kernels::window_sum<T, C>{result}, plan.window());
  }
}

}  // namespace detail

// One line an operator: name, and over how many dimensions.
#define FLAGGEMS_CONV_TRANSPOSE(name, dims)                                                       \
  template <stream_like S, tensor_like X, tensor_like W, optional_tensor B, tensor_like Out>      \
  void name(const S& stream, const X& input, const W& weight, const B& bias, Out&& out,           \
            int_list stride = {1}, int_list padding = {0}, int_list output_padding = {0},         \
            i64 groups = 1, int_list dilation = {1}) {                                            \
    same_device<S, X, W, B, Out>();                                                               \
    detail::conv_transpose_into({#name, dims, stride, padding, output_padding, dilation, groups}, \
                                stream, as_view(input), as_view(weight), bias, as_view(out));     \
  }                                                                                               \
  template <stream_like S, tensor_like X, tensor_like W, optional_tensor B = std::nullopt_t>      \
  [[nodiscard]] auto name(const S& stream, const X& input, const W& weight,                       \
                          const B& bias = std::nullopt, int_list stride = {1},                    \
                          int_list padding = {0}, int_list output_padding = {0}, i64 groups = 1,  \
                          int_list dilation = {1}) {                                              \
    const auto x = as_view(input);                                                                \
    const detail::conv_transpose_plan plan(                                                       \
        {#name, dims, stride, padding, output_padding, dilation, groups}, x.shape_of(),           \
        as_view(weight).shape_of());                                                              \
    auto out = empty<value_t<const X&>>(stream, plan.out(x.rank() == (dims) + 2), #name);         \
    name(stream, input, weight, bias, out, stride, padding, output_padding, groups, dilation);    \
    return out;                                                                                   \
  }

/// The gradient of a convolution of `weight` with respect to its input, at `input`: out[n, f, i
/// stride + k dilation - padding] is the sum of input[n, c, i] weight[c, f, k], plus bias[f].
///
/// input [N, C, L], weight [C, F / groups, K], bias [F] or std::nullopt, out [N, F, (L - 1) stride
/// - 2 padding + dilation (K - 1) + output_padding + 1]; input and out both with or without N; one
/// floating-point dtype, any strides; sums are in f32, or f64. A list has a number for each
/// dimension or one for all. Raises invalid_argument, shape_mismatch or overlap before anything is
/// written. aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1]
/// stride=1, SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1]
/// dilation=1)
FLAGGEMS_CONV_TRANSPOSE(conv_transpose1d, 1)
/// conv_transpose1d over two dimensions. aten::conv_transpose2d.input(Tensor input, Tensor weight,
/// Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt
/// groups=1, SymInt[2] dilation=1)
FLAGGEMS_CONV_TRANSPOSE(conv_transpose2d, 2)
/// conv_transpose1d over three dimensions. aten::conv_transpose3d.input(Tensor input, Tensor
/// weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] output_padding=0,
/// SymInt groups=1, SymInt[3] dilation=1)
FLAGGEMS_CONV_TRANSPOSE(conv_transpose3d, 3)
#undef FLAGGEMS_CONV_TRANSPOSE

}  // namespace flaggems
