// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/programs/softmax.hpp>
#include <flaggems/ops/dispatch/rows.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>

namespace flaggems {
namespace operators {
struct softmax;
struct log_softmax;
}  // namespace operators

namespace detail {

/// Does not compile unless softmax takes these types; gives whether it does.
template <class X, class Out>
constexpr bool check_softmax_types() {
  constexpr bool right = element<value_t<X>> && !is_complex(dtype_of<value_t<X>>) &&
                         kernels::is_floating<value_t<Out>>;
  static_assert(right,
                "flaggems: softmax takes floating-point tensors, or integers if the result's "
                "floating-point dtype is given");
  return right && check_elements_written<element_t<Out>>();
}

template <bool Log, class S, class X, class Out>
void softmax_into(const char* op, const S& stream, const X& x, const Out& out, i64 dim) {
  using T = typename X::value_type;
  using O = typename Out::value_type;
  using C = std::conditional_t<std::is_same_v<T, f64> || std::is_same_v<O, f64>, f64, f32>;
  const int d = normalize_dim(dim, x.rank(), op);
  const bool dense = check_same_shape(op, out, x);
  row_plan plan(x.sizes(), d, dense && d + 1 == x.rank());
  plan.add(x);
  plan.add(out);
  using Op = std::conditional_t<Log, operators::log_softmax, operators::softmax>;
  if (plan.empty() || replaced<Op>(op, stream, x, out, d)) return;
  const kernels::row_space space = plan.space();  // settles the dimensions of the operands
  auto target = plan.target(1, out);
  target.streamed = streams_rows<device_of<S>>(x, out);
  launch_config config;
  config.op = op;
  config.work = work_of(space.rows, space.length, 32);
  launch_rows(stream, config, space, row_operands_of(inputs(plan.arg(0, x)), outputs(target)),
              kernels::softmax_program<C, Log>{});
}

}  // namespace detail

/// out = softmax(x) along `dim`: exp(x) / sum(exp(x)), computed without overflow.
///
/// x, out: the same sizes, any strides; `out` may be `x` itself. A row of only -inf gives NaN, as
/// in PyTorch. x may be of integers or bool, out not. Raises out_of_range, shape_mismatch or
/// overlap before anything is written. aten::softmax.int_out(Tensor self, int dim, ScalarType?
/// dtype=None, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void softmax(const S& stream, const X& x, Out&& out, i64 dim) {
  same_device<S, X, Out>();
  if constexpr (detail::check_softmax_types<const X&, Out>())
    detail::softmax_into<false>("softmax", stream, as_view(x), as_view(out), dim);
}

/// softmax(x) along `dim` in a new tensor; T is its dtype if it shall not be x's.
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto softmax(const S& stream, const X& x, i64 dim) {
  auto out = empty<std::conditional_t<std::is_void_v<T>, value_t<const X&>, T>>(
      stream, as_view(x).sizes(), "softmax");
  softmax(stream, x, out, dim);
  return out;
}

/// out = log(softmax(x)) along `dim`, computed without overflow; otherwise as `softmax`.
/// aten::log_softmax.int_out(Tensor self, int dim, ScalarType? dtype=None, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void log_softmax(const S& stream, const X& x, Out&& out, i64 dim) {
  same_device<S, X, Out>();
  if constexpr (detail::check_softmax_types<const X&, Out>())
    detail::softmax_into<true>("log_softmax", stream, as_view(x), as_view(out), dim);
}

/// log_softmax(x) along `dim` in a new tensor; T is its dtype if it shall not be x's.
template <class T = void, stream_like S, tensor_like X>
[[nodiscard]] auto log_softmax(const S& stream, const X& x, i64 dim) {
  auto out = empty<std::conditional_t<std::is_void_v<T>, value_t<const X&>, T>>(
      stream, as_view(x).sizes(), "log_softmax");
  log_softmax(stream, x, out, dim);
  return out;
}

}  // namespace flaggems
