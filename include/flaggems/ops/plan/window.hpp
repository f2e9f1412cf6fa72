// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What windows are made of on the host: a source and an output in the five dimensions that a walk
// has (kernel/family/window), and the rules for the sizes of windows.
#pragma once

#include <flaggems/device/launch_config.hpp>
#include <flaggems/kernel/family/window/window.hpp>
#include <flaggems/ops/plan/checks.hpp>

namespace flaggems::detail {

using kernels::window_rank;

/// The last `dims` dimensions of a tensor and up to two in front of them, at the places that a walk
/// has them at; the others have size 1.
struct window_layout {
  i64 sizes[window_rank], strides[window_rank];

  window_layout(int_list own, int_list steps, int dims) {
    const int lead = own.size() - dims;
    for (int k = 0; k < window_rank; ++k) {
      const int d = k < 2 ? lead - 2 + k : own.size() - window_rank + k;
      const bool is_there = k < 2 ? d >= 0 : k >= window_rank - dims;
      sizes[k] = is_there ? own[d] : 1;
      strides[k] = is_there ? steps[d] : 0;
    }
  }
  template <class View>
  static window_layout of(const View& v, int dims) {
    return {v.sizes(), v.strides(), dims};
  }
};

/// The walk of a source for an output: taps by axis, and how both lie.
template <class T, class Taps>
kernels::window_walk<T, Taps> walk_of(const Taps (&taps)[kernels::window_axes], const T* source,
                                      const window_layout& out, const window_layout& in) {
  kernels::window_walk<T, Taps> r{{taps[0], taps[1], taps[2]}, source, {}, {}, {}};
  for (int d = 0; d < window_rank; ++d) {
    r.sizes[d] = out.sizes[d];
    r.strides[d] = in.strides[d];
  }
  return r;
}
template <class T>
kernels::window_out<T> written_by_walk(T* data, const window_layout& out) {
  kernels::window_out<T> r{data, {}};
  for (int d = 0; d < window_rank; ++d) r.strides[d] = out.strides[d];
  return r;
}

/// Raises unless x has one or two dimensions more than `dims`.
template <class X>
void check_window_rank(const char* op, const X& x, int dims) {
  if (x.rank() != dims + 1 && x.rank() != dims + 2) [[unlikely]]
    raise(errc::shape_mismatch, op, "a tensor of rank " + text(dims + 1) + " or " + text(dims + 2),
          to_string(x.sizes()));
}
/// Number d of a list with one for each of `dims` dimensions or one for all.
inline i64 number_of_dim(const char* op, int_list list, int dims, int d, const char* what,
                         i64 least) {
  if (list.size() != 1 && list.size() != dims) [[unlikely]]
    raise(errc::invalid_argument, op, text(what) + " of one number or " + text(dims),
          text(list.size()));
  const i64 n = list[list.size() == 1 ? 0 : d];
  if (n < least) [[unlikely]]
    raise(errc::invalid_argument, op, text(what) + " of at least " + text(least), text(n));
  return n;
}

/// What is asked of windows over `dims` dimensions; without a stride it is the kernel.
struct window_request {
  const char* name;
  int dims;
  int_list kernel, stride, padding, dilation;
  bool ceil_mode = false;
  bool is_pool = true;
};

/// Windows over a tensor: their numbers by axis of the walk.
struct window_plan {
  struct along {
    i64 kernel = 1, stride = 1, padding = 0, dilation = 1, size = 1, result = 1;
    [[nodiscard]] i64 reach() const { return (kernel - 1) * dilation + 1; }
  };
  along at[kernels::window_axes];
  int dims;

  /// Raises unless an input of these sizes has windows.
  window_plan(const window_request& ask, int_list x) : dims(ask.dims) {
    for (int d = 0; d < dims; ++d) {
      along& a = axis(d);
      const char* op = ask.name;
      a.size = x[x.size() - dims + d];
      a.kernel = number_of_dim(op, ask.kernel, dims, d, "a kernel", 1);
      a.stride =
          ask.stride.size() == 0 ? a.kernel : number_of_dim(op, ask.stride, dims, d, "a stride", 1);
      a.padding = number_of_dim(op, ask.padding, dims, d, "a padding", 0);
      a.dilation = number_of_dim(op, ask.dilation, dims, d, "a dilation", 1);
      i64 reach = 0, padded = 0;
      if (!multiply(a.kernel - 1, a.dilation, reach) || !add(reach, 1, reach)) [[unlikely]]
        raise(errc::invalid_argument, op, "a window over fewer than 2^63 elements",
              text(a.kernel) + " elements with dilation " + text(a.dilation));
      if (!add(a.padding, a.padding, padded) || !add(padded, a.size, padded)) [[unlikely]]
        raise(errc::invalid_argument, op, "fewer than 2^63 padded elements",
              text(a.size) + " elements with padding " + text(a.padding));
      if (ask.is_pool && a.padding > reach / 2) [[unlikely]]
        raise(errc::invalid_argument, op,
              "a padding of at most half the window, " + text(reach / 2), text(a.padding));
      const i64 rest = padded - reach;
      // With ceil_mode the first window may reach beyond the input by less than a stride.
      if (a.size == 0 || rest <= (ask.ceil_mode ? -a.stride : -1)) [[unlikely]]
        raise(errc::shape_mismatch, op, "a padded input of at least the window " + text(reach),
              to_string(x) + " with padding " + text(a.padding));
      const i64 behind = kernels::max_of(rest, i64{0});
      a.result = behind / a.stride + 1;
      // One more, if it lies in the input or the padding before it, not all behind.
      if (ask.ceil_mode && behind % a.stride != 0 &&
          a.result <= (a.size + a.padding - 1) / a.stride)
        ++a.result;
    }
  }
  [[nodiscard]] along& axis(int d) { return at[kernels::window_axes - dims + d]; }
  [[nodiscard]] const along& axis(int d) const { return at[kernels::window_axes - dims + d]; }

  [[nodiscard]] i64 elements() const { return work_of(at[0].kernel, at[1].kernel, at[2].kernel); }
  /// x's sizes with the number of windows for that of elements.
  [[nodiscard]] shape result(int_list x) const {
    shape r(x);
    for (int d = 0; d < dims; ++d) r[r.rank() - dims + d] = axis(d).result;
    return r;
  }
  /// The elements of a window.
  void forward(kernels::linear_taps (&taps)[kernels::window_axes]) const {
    for (int k = 0; k < kernels::window_axes; ++k)
      taps[k] = {at[k].size, at[k].kernel, at[k].stride, 1, at[k].dilation, -at[k].padding};
  }
  /// The windows of an element.
  void backward(kernels::linear_taps (&taps)[kernels::window_axes]) const {
    for (int k = 0; k < kernels::window_axes; ++k)
      taps[k] = {at[k].result, at[k].kernel, 1, at[k].stride, -at[k].dilation, at[k].padding};
  }
};

}  // namespace flaggems::detail
