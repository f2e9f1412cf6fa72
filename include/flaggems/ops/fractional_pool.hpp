// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Maxima over windows at random places, and their gradient.
#pragma once

#include <flaggems/kernel/family/window/fractional.hpp>
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/max_unpool.hpp>

#include <tuple>
#include <type_traits>

namespace flaggems {
namespace operators {
struct fractional_max_pool2d;
}

namespace detail {

/// What is asked of the pool, and the sizes of its result.
struct fractional_plan {
  kernels::fractional_axis at[2];
  shape result;

  fractional_plan(const char* op, int_list x, int_list kernel, int_list output) : result(x) {
    if (x.size() != 3 && x.size() != 4) [[unlikely]]
      raise_sizes(op, "a tensor of rank 3 or 4", x);
    for (int d = 0; d < 2; ++d) {
      const int own = x.size() - 2 + d;
      kernels::fractional_axis& a = at[d];
      a.size = x[own];
      a.extent = number_of_dim(op, kernel, 2, d, "a kernel", 1);
      a.result = number_of_dim(op, output, 2, d, "an output_size", 1);
      i64 reach = 0;
      if (!add(a.result, a.extent - 1, reach) || reach > a.size) [[unlikely]]
        raise(errc::shape_mismatch, op,
              "an input of at least as many elements as output_size and kernel - 1 together",
              to_string(x));
      result[own] = a.result;
    }
  }
};

/// A tensor [N, C, H, W] of one of three or four dimensions.
template <class T, class D>
tensor_view<T, D> as_images(const tensor_view<T, D>& x) {
  return x.rank() == 3 ? x.unsqueeze(0) : x;
}

template <class S, class T, class D>
void fractional_pool_into(const char* op, const S& stream, const tensor_view<const T, D>& given,
                          int_list kernel, int_list output, const tensor_view<const T, D>& samples,
                          const tensor_view<T, D>& given_out,
                          const tensor_view<i64, D>& given_indices) {
  const fractional_plan plan(op, given.sizes(), kernel, output);
  check_output_sizes(op, plan.result, given_out);
  check_output_sizes(op, plan.result, given_indices);
  const auto x = as_images(given);
  if (!same_sizes(samples.sizes(), {x.size(0), x.size(1), 2})) [[unlikely]]
    raise_other_sizes(op, {x.size(0), x.size(1), 2}, samples.sizes());
  check_disjoint_output(op, given_out, given, samples);
  check_disjoint_output(op, given_indices, given, samples, given_out);
  if (given_out.empty() ||
      replaced<operators::fractional_max_pool2d>(op, stream, given, kernel, output, samples,
                                                 given_out, given_indices))
    return;
  const auto out = as_images(given_out);
  const auto indices = as_images(given_indices);
  kernels::fractional_pool<T> p{plan.at[0],     plan.at[1], x.size(1), x.data(),
                                samples.data(), {},         {},        out.data(),
                                indices.data(), {},         {}};
  for (int d = 0; d < 4; ++d) {
    p.strides[d] = x.stride(d);
    p.out_strides[d] = out.stride(d);
    p.index_strides[d] = indices.stride(d);
    if (d < 3) p.sample_strides[d] = samples.stride(d);
  }
  using kernel_type = kernels::fractional_maxima<T>;
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(out.numel(), kernel_type::tile);
  config.work = work_of(out.numel(), plan.at[0].extent, plan.at[1].extent, 4);
  launch<kernel_type>(stream, config, out.numel(), p);
}

template <class S, class T, class D>
void fractional_pool_gradient(const char* op, const S& stream, const tensor_view<const T, D>& grad,
                              int_list x, int_list kernel, int_list output,
                              const tensor_view<const i64, D>& indices,
                              const tensor_view<T, D>& out) {
  const fractional_plan plan(op, x, kernel, output);
  for (const auto& sizes : {grad.sizes(), indices.sizes()})
    if (!same_sizes(sizes, plan.result)) [[unlikely]]
      raise_other_sizes(op, plan.result, sizes);
  check_output_sizes(op, shape(x), out);
  check_disjoint_output(op, out, grad, indices);
  const i64 plane = plan.at[0].size * plan.at[1].size;
  check_indices(op, stream, indices, plane);
  if (out.empty()) return;
  const i64 planes = out.numel() / plane, places = plan.at[0].result * plan.at[1].result;
  tensor<T, D> own, dense;
  tensor<i64, D> own_places;
  const bool in_place = out.is_contiguous();
  if (!in_place) dense = empty<T>(stream, out.shape_of(), op);
  const tensor_view<T, D> to = in_place ? out : dense.view();
  fill(op, stream, to, 0);
  launch_scatter_along(op, stream, to.view({planes, plane}), 1,
                       as_row(op, stream, indices, own_places).view({planes, places}),
                       as_row(op, stream, grad, own).view({planes, places}), kernels::joining::sum);
  if (!in_place) copy_into(op, stream, out, input_of(dense));
}

}  // namespace detail

/// output = the greatest element of each window of kernel_size, indices = where it is in its plane:
/// output_size windows along each dimension, at (i + u) (size - kernel) / (output_size - 1) without
/// fractions, less u times the same, for a number u of random_samples; the last one at the end.
///
/// self [N, C, H, W] or [C, H, W], random_samples [N, C, 2] of [0, 1), for columns, then rows (by
/// others windows begin where these formulas say, but within self, and by NaN as by 0); output,
/// indices of self's rank; floating point and i64, any strides, of memory of their own. Raises
/// shape_mismatch, invalid_argument or overlap before anything is written.
/// aten::fractional_max_pool2d.output(Tensor self, int[2] kernel_size, int[2] output_size, Tensor
/// random_samples, *, Tensor(a!) output, Tensor(b!) indices)
template <stream_like S, tensor_like X, tensor_like U, tensor_like Out, tensor_like Indices>
void fractional_max_pool2d(const S& stream, const X& self, int_list kernel_size,
                           int_list output_size, const U& random_samples, Out&& output,
                           Indices&& indices) {
  same_device<S, X, U, Out, Indices>();
  if constexpr (detail::check_unpooled<const X&, Indices>())
    detail::fractional_pool_into<S, value_t<const X&>, device_of<S>>(
        "fractional_max_pool2d", stream, as_view(self), kernel_size, output_size,
        as_view(random_samples), as_view(output), as_view(indices));
}
template <stream_like S, tensor_like X, tensor_like U>
[[nodiscard]] auto fractional_max_pool2d(const S& stream, const X& self, int_list kernel_size,
                                         int_list output_size, const U& random_samples) {
  constexpr const char* op = "fractional_max_pool2d";
  const detail::fractional_plan plan(op, as_view(self).sizes(), kernel_size, output_size);
  std::pair r(empty<value_t<const X&>>(stream, plan.result, op),
              empty<i64>(stream, plan.result, op));
  fractional_max_pool2d(stream, self, kernel_size, output_size, random_samples, r.first, r.second);
  return r;
}

/// grad_input = the gradient of fractional_max_pool2d, which gave the indices: of each window's
/// greatest element that of the window, summed in order.
///
/// grad_output, indices: the pool's sizes; self and grad_input those of its input. Indices outside
/// a plane raise out_of_range where the host can read them. Raises as the pool.
/// aten::fractional_max_pool2d_backward.grad_input(Tensor grad_output, Tensor self, int[2]
/// kernel_size, int[2] output_size, Tensor indices, *, Tensor(a!) grad_input)
template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices, tensor_like Out>
void fractional_max_pool2d_backward(const S& stream, const G& grad_output, const X& self,
                                    int_list kernel_size, int_list output_size,
                                    const Indices& indices, Out&& grad_input) {
  same_device<S, G, X, Indices, Out>();
  if constexpr (detail::check_unpooled<const G&, const Indices&>())
    detail::fractional_pool_gradient<S, value_t<const G&>, device_of<S>>(
        "fractional_max_pool2d_backward", stream, as_view(grad_output), as_view(self).sizes(),
        kernel_size, output_size, as_view(indices), as_view(grad_input));
}
template <stream_like S, tensor_like G, tensor_like X, tensor_like Indices>
[[nodiscard]] auto fractional_max_pool2d_backward(const S& stream, const G& grad_output,
                                                  const X& self, int_list kernel_size,
                                                  int_list output_size, const Indices& indices) {
  auto out =
      empty<value_t<const G&>>(stream, as_view(self).shape_of(), "fractional_max_pool2d_backward");
  fractional_max_pool2d_backward(stream, grad_output, self, kernel_size, output_size, indices, out);
  return out;
}

}  // namespace flaggems
