// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Moves, for headers of operators: the sizes of a result, and the copies that write it.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/forms.hpp>

namespace flaggems::detail {

/// Runs a move: a class with `name`, sizes(x), which checks, and run(stream, x, out).
template <class Move, class S, class X, class T, class D>
void move_into(const Move& move, const S& stream, const X& x, const tensor_view<T, D>& out) {
  static_assert(std::is_same_v<value_t<const X&>, T>,
                "flaggems: the output has the dtype of the input");
  const tensor_view<const T, D> from(as_view(x));
  check_output_sizes(move.name, move.sizes(shape(from.sizes())), out);
  check_writable(move.name, out);
  check_no_overlap(move.name, placed_layout(layout_of(out)), layout_of(from));
  if (!out.empty()) move.run(stream, from, out);
}
/// Row-major, unless the move says strides.
template <class T, class Move, class S, class X>
tensor<T, device_of<S>> empty_for_move(const Move& move, const S& stream, const X& from) {
  const shape sizes = move.sizes(shape(from.sizes()));
  if constexpr (requires { move.strides(from, sizes); })
    return {ref(stream), sizes, move.strides(from, sizes), move.name};
  return {ref(stream), sizes, move.name};
}
template <class Move, class S, class X>
auto move_new(const Move& move, const S& stream, const X& x) {
  using T = value_t<const X&>;
  require_on_device(move.name, ref(stream), x);
  const tensor_view<const T, device_of<S>> from(as_view(x));
  auto out = empty_for_move<T>(move, stream, from);
  if (!out.empty()) move.run(stream, from, out.view());
  return out;
}

}  // namespace flaggems::detail

/// The forms of an operator: its name, the parameters of ATen behind the input, in parentheses, and
/// the move of detail made of them.
#define FLAGGEMS_MOVE(name, parameters, ...)                                         \
  template <stream_like S, tensor_like X, tensor_like Out>                           \
  void name(const S& stream, const X& x, Out&& out, FLAGGEMS_UNPACK parameters) {    \
    same_device<S, X, Out>();                                                        \
    detail::move_into(detail::__VA_ARGS__, stream, x, as_view(out));                 \
  }                                                                                  \
  template <stream_like S, tensor_like X>                                            \
  [[nodiscard]] auto name(const S& stream, const X& x, FLAGGEMS_UNPACK parameters) { \
    same_device<S, X>();                                                             \
    return detail::move_new(detail::__VA_ARGS__, stream, x);                         \
  }
