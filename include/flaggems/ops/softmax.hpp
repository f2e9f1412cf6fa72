// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/row/simt/softmax.hpp>
#include <flaggems/kernel/family/row/softmax.hpp>
#include <flaggems/ops/dispatch/short_rows.hpp>
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
  const bool dense = check_alike(op, out, x);
  row_plan plan(x.sizes(), d, dense && d + 1 == x.rank());
  plan.add(x);
  plan.add(out);
  using Op = std::conditional_t<Log, operators::log_softmax, operators::softmax>;
  if (plan.empty() || replaced<Op>(op, stream, x, out, d)) return;
  launch_config config;
  config.op = op;
  const kernels::row_space space = plan.space();
  config.tiles = space.rows;
  config.work = work_of(space.rows, space.length, 32);
  // (A type without -inf, as integers are, has nothing to fill a thread's empty places with.)
  if constexpr (has_simt<device_of<S>> && std::numeric_limits<T>::has_infinity) {
    const auto in = plan.arg(0, x);
    const auto to = plan.target(1, out);
    if (launch_short_rows<C>(stream, config, space.rows, space.length, space.rank, in, to,
                             kernels::short_softmax<Log>{}))
      return;
    if (in.strides[space.rank] == 1 && to.strides[space.rank] == 1 &&
        held_rows::take(space.rows, space.length, space.rank)) {
      constexpr int width = kernels::pack_size<T>;
      const held_rows held(
          space.rows, space.length, width,
          begins_packs(in, space.rank, width) && begins_packs(to, space.rank, width), 1024, false,
          false, true);
      held.configure(config, space.rows);
      return held.visit([&](auto packs, auto rows, auto whole) {
        launch<kernels::softmax_chip<T, O, C, Log, packs, rows, whole>>(stream, config, space,
                                                                        held.teams, in, to);
      });
    }
  }
  config.scratch = row_scratch<C, device_of<S>>(space.length, 2, true);
  auto target = plan.target(1, out);
  target.streamed = streams_rows<device_of<S>>(x, out);
  launch<kernels::softmax<T, O, C, Log>>(stream, config, space, plan.arg(0, x), target);
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
