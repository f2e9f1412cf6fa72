// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The pointwise operators. Each line of the table (kernel/family/pointwise/table.hpp) gives
//   name(x...)                 an expression
//   name(stream, x...)         a new tensor
//   name(stream, x..., out)    into a view
//   name_(stream, x...)        into the first operand
// where operands are views, tensors, expressions or numbers that broadcast together.
#pragma once

#include <flaggems/ops/expr.hpp>

#include <utility>

namespace flaggems {

// Functors identify the operators, also in expressions: implementation<operators::add, D> runs
// `assign(stream, out, a + b)` as well as `add(stream, a, b, out)`.
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

// ---- expressions: a + b is add(a, b); && and || are logical_and and logical_or of all elements,
// and evaluate both sides
#define FLAGGEMS_OPERATOR(symbol, name)                                                        \
  template <operand A, operand B>                                                              \
  requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto operator symbol(A&& a,   \
                                                                                      B&& b) { \
    return name(std::forward<A>(a), std::forward<B>(b));                                       \
  }
FLAGGEMS_OPERATOR(+, add)
FLAGGEMS_OPERATOR(-, sub)
FLAGGEMS_OPERATOR(*, mul)
FLAGGEMS_OPERATOR(/, div)
FLAGGEMS_OPERATOR(==, eq)
FLAGGEMS_OPERATOR(!=, ne)
FLAGGEMS_OPERATOR(<, lt)
FLAGGEMS_OPERATOR(<=, le)
FLAGGEMS_OPERATOR(>, gt)
FLAGGEMS_OPERATOR(>=, ge)
FLAGGEMS_OPERATOR(&&, logical_and)
FLAGGEMS_OPERATOR(||, logical_or)
#undef FLAGGEMS_OPERATOR
template <tensor_operand A>
[[nodiscard]] auto operator-(A&& a) {
  return neg(std::forward<A>(a));
}
template <tensor_operand A>
[[nodiscard]] auto operator!(A&& a) {
  return logical_not(std::forward<A>(a));
}

// ---- in place
namespace detail {
/// The stream of a += b: the tensor's own; for a view, the default one, where streams are
/// synchronous.
template <class X>
auto stream_of(const X& x) {
  using device = device_t<const X&>;
  if constexpr (requires { x.stream(); }) {
    return x.stream();
  } else {
    static_assert(is_synchronous<device>,
                  "flaggems: a view has no stream to compute in: write add_(stream, x, y) and the "
                  "like, or x += y with a tensor");
    return stream_ref<device>();
  }
}
}  // namespace detail

/// x += y is add_(stream, x, y), in the order of the stream that the tensor x was made for; x may
/// be a view where streams are synchronous, as on the host. -=, *= and /= likewise. They return x,
/// by value if it is a temporary.
#define FLAGGEMS_ASSIGNMENT(symbol, name) \
  template <tensor_like X, operand Y>     \
  X operator symbol(X&& x, const Y& y) {  \
    name(detail::stream_of(x), x, y);     \
    return std::forward<X>(x);            \
  }
FLAGGEMS_ASSIGNMENT(+=, add_)
FLAGGEMS_ASSIGNMENT(-=, sub_)
FLAGGEMS_ASSIGNMENT(*=, mul_)
FLAGGEMS_ASSIGNMENT(/=, div_)
#undef FLAGGEMS_ASSIGNMENT

}  // namespace flaggems
