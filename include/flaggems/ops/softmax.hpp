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
struct softmax_backward;
struct log_softmax_backward;
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

template <bool Log, class S, class G, class Y, class Out>
void softmax_backward_into(const char* op, const S& stream, const G& grad, const Y& y,
                           const Out& out, i64 dim) {
  using C = std::conditional_t<std::is_same_v<typename G::value_type, f64> ||
                                   std::is_same_v<typename Y::value_type, f64> ||
                                   std::is_same_v<typename Out::value_type, f64>,
                               f64, f32>;
  const int d = normalize_dim(dim, grad.rank(), op);
  check_same_sizes(op, grad, y);
  const bool dense_grad = check_same_shape(op, out, grad), dense_y = check_same_shape(op, out, y);
  row_plan plan(grad.sizes(), d, dense_grad && dense_y && d + 1 == grad.rank());
  plan.add(grad);
  plan.add(y);
  plan.add(out);
  using Op = std::conditional_t<Log, operators::log_softmax_backward, operators::softmax_backward>;
  if (plan.empty() || replaced<Op>(op, stream, grad, y, out, d)) return;
  const kernels::row_space space = plan.space();
  launch_config config;
  config.op = op;
  config.work = work_of(space.rows, space.length, Log ? 32 : 8);
  launch_rows(
      stream, config, space,
      row_operands_of(inputs(plan.arg(0, grad), plan.arg(1, y)), outputs(plan.target(2, out))),
      kernels::softmax_backward_program<C, Log>{});
}

/// Does not compile unless the gradient of softmax takes these types; gives whether it does.
template <class G, class Y, class Out>
constexpr bool check_softmax_backward_types() {
  constexpr bool right = kernels::is_floating<value_t<G>> && kernels::is_floating<value_t<Y>> &&
                         kernels::is_floating<value_t<Out>>;
  static_assert(right, "flaggems: gradients of softmax are of floating-point tensors");
  return right && check_elements_written<element_t<Out>>();
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
  auto out = empty<detail::type_or<T, value_t<const X&>>>(stream, as_view(x).sizes(), "softmax");
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
  auto out =
      empty<detail::type_or<T, value_t<const X&>>>(stream, as_view(x).sizes(), "log_softmax");
  log_softmax(stream, x, out, dim);
  return out;
}

/// grad_input = output (grad_output - sum(grad_output output)) along `dim`: the gradient of
/// softmax.
///
/// grad_output, output, grad_input: the same sizes, any strides; `output` is what softmax gave;
/// `grad_input` may be either of the others. Raises out_of_range, shape_mismatch or overlap before
/// anything is written. aten::_softmax_backward_data.out(Tensor grad_output, Tensor output, int
/// dim, ScalarType input_dtype, *, Tensor(a!) grad_input)
template <stream_like S, tensor_like G, tensor_like Y, tensor_like Out>
void softmax_backward(const S& stream, const G& grad_output, const Y& output, Out&& grad_input,
                      i64 dim) {
  same_device<S, G, Y, Out>();
  if constexpr (detail::check_softmax_backward_types<const G&, const Y&, Out>())
    detail::softmax_backward_into<false>("softmax_backward", stream, as_view(grad_output),
                                         as_view(output), as_view(grad_input), dim);
}

/// The gradient of softmax in a new tensor of grad_output's dtype.
template <stream_like S, tensor_like G, tensor_like Y>
[[nodiscard]] auto softmax_backward(const S& stream, const G& grad_output, const Y& output,
                                    i64 dim) {
  auto out = empty<value_t<const G&>>(stream, as_view(grad_output).sizes(), "softmax_backward");
  softmax_backward(stream, grad_output, output, out, dim);
  return out;
}

/// grad_input = grad_output - exp(output) sum(grad_output) along `dim`: the gradient of
/// log_softmax, which gave `output`; otherwise as `softmax_backward`.
/// aten::_log_softmax_backward_data.out(Tensor grad_output, Tensor output, int dim, ScalarType
/// input_dtype, *, Tensor(a!) out)
template <stream_like S, tensor_like G, tensor_like Y, tensor_like Out>
void log_softmax_backward(const S& stream, const G& grad_output, const Y& output, Out&& grad_input,
                          i64 dim) {
  same_device<S, G, Y, Out>();
  if constexpr (detail::check_softmax_backward_types<const G&, const Y&, Out>())
    detail::softmax_backward_into<true>("log_softmax_backward", stream, as_view(grad_output),
                                        as_view(output), as_view(grad_input), dim);
}

/// The gradient of log_softmax in a new tensor of grad_output's dtype.
template <stream_like S, tensor_like G, tensor_like Y>
[[nodiscard]] auto log_softmax_backward(const S& stream, const G& grad_output, const Y& output,
                                        i64 dim) {
  auto out = empty<value_t<const G&>>(stream, as_view(grad_output).sizes(), "log_softmax_backward");
  log_softmax_backward(stream, grad_output, output, out, dim);
  return out;
}

namespace detail {
using softmax_f32 = kernels::softmax_program<f32, false>;
using log_softmax_f32 = kernels::softmax_program<f32, true>;
FLAGGEMS_ROWS_ONCE(softmax_f32, kernels::row_space);
FLAGGEMS_ROWS_ONCE(log_softmax_f32, kernels::row_space);
}  // namespace detail

}  // namespace flaggems
