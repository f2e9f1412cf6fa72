// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The pointwise operators. Each line of the table (kernels/pointwise_table.hpp) gives
//   name(x...)                 an expression
//   name(stream, x...)         a new tensor
//   name(stream, x..., out)    into a view
//   name_(stream, x...)        into the first operand
// where operands are views, tensors, expressions or numbers that broadcast together.
#pragma once

#include <flaggems/ops/expr.hpp>

namespace flaggems {

// The functors stand for the operators, which expressions call too: implementation<operators::add,
// D> runs `assign(stream, out, a + b)` as well as `add(stream, a, b, out)`.
namespace operators {
#define FLAGGEMS_NAME(name, rule, formula) using name = kernels::name##_fn;
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME, FLAGGEMS_NAME)
#undef FLAGGEMS_NAME
}  // namespace operators

#define FLAGGEMS_UNARY(name, rule, formula)                                           \
  template <tensor_operand X>                                                         \
  [[nodiscard]] auto name(X&& x) {                                                    \
    return detail::make_call<detail::rule>(kernels::name##_fn{}, std::forward<X>(x)); \
  }                                                                                   \
  template <stream_like S, tensor_operand X>                                          \
  [[nodiscard]] auto name(const S& stream, const X& x) {                              \
    return evaluate(stream, name(x), #name);                                          \
  }                                                                                   \
  template <stream_like S, tensor_operand X, tensor_like Out>                         \
  void name(const S& stream, const X& x, Out&& out) {                                 \
    assign(stream, out, name(x), #name);                                              \
  }                                                                                   \
  template <stream_like S, tensor_like X>                                             \
  void name##_(const S& stream, X&& x) {                                              \
    assign(stream, x, name(x), #name "_");                                            \
  }

#define FLAGGEMS_BINARY(name, rule, formula)                                               \
  template <operand A, operand B>                                                          \
  requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto name(A&& a, B&& b) { \
    return detail::make_call<detail::rule>(kernels::name##_fn{}, std::forward<A>(a),       \
                                           std::forward<B>(b));                            \
  }                                                                                        \
  template <stream_like S, operand A, operand B>                                           \
  requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto name(                \
      const S& stream, const A& a, const B& b) {                                           \
    return evaluate(stream, name(a, b), #name);                                            \
  }                                                                                        \
  template <stream_like S, operand A, operand B, tensor_like Out>                          \
  requires(tensor_operand<A> || tensor_operand<B>) void name(const S& stream, const A& a,  \
                                                             const B& b, Out&& out) {      \
    assign(stream, out, name(a, b), #name);                                                \
  }                                                                                        \
  template <stream_like S, tensor_like A, operand B>                                       \
  void name##_(const S& stream, A&& a, const B& b) {                                       \
    assign(stream, a, name(a, b), #name "_");                                              \
  }

#define FLAGGEMS_TERNARY(name, rule, formula)                                        \
  template <tensor_operand A, operand B, operand C>                                  \
  [[nodiscard]] auto name(A&& a, B&& b, C&& c) {                                     \
    return detail::make_call<detail::rule>(kernels::name##_fn{}, std::forward<A>(a), \
                                           std::forward<B>(b), std::forward<C>(c));  \
  }                                                                                  \
  template <stream_like S, tensor_operand A, operand B, operand C>                   \
  [[nodiscard]] auto name(const S& stream, const A& a, const B& b, const C& c) {     \
    return evaluate(stream, name(a, b, c), #name);                                   \
  }                                                                                  \
  template <stream_like S, tensor_operand A, operand B, operand C, tensor_like Out>  \
  void name(const S& stream, const A& a, const B& b, const C& c, Out&& out) {        \
    assign(stream, out, name(a, b, c), #name);                                       \
  }                                                                                  \
  template <stream_like S, tensor_like A, operand B, operand C>                      \
  void name##_(const S& stream, A&& a, const B& b, const C& c) {                     \
    assign(stream, a, name(a, b, c), #name "_");                                     \
  }

FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY, FLAGGEMS_TERNARY)
#undef FLAGGEMS_UNARY
#undef FLAGGEMS_BINARY
#undef FLAGGEMS_TERNARY

/// The eager forms of `where`. aten::where.self(Tensor condition, Tensor self, Tensor other)
template <stream_like S, operand M, operand A, operand B>
requires(!scalar_operand<M>)
    [[nodiscard]] auto where(const S& stream, const M& condition, const A& a, const B& b) {
  return evaluate(stream, where(condition, a, b), "where");
}
template <stream_like S, operand M, operand A, operand B, tensor_like Out>
requires(!scalar_operand<M>) void where(const S& stream, const M& condition, const A& a, const B& b,
                                        Out&& out) {
  assign(stream, out, where(condition, a, b), "where");
}

}  // namespace flaggems

#include <flaggems/ops/operators.hpp>
