// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The forms of the rows of the pointwise tables, for the headers that expand a table:
// FLAGGEMS_<table>_TABLE(FLAGGEMS_UNARY, ...) gives
//   name(x...)                 an expression
//   name(stream, x...)         a new tensor
//   name(stream, x..., out)    into a view
//   name_(stream, x...)        into the first operand
// where operands are views, tensors, expressions or numbers that broadcast together; options follow
// the last tensor.
#pragma once

#include <flaggems/ops/expr.hpp>

#include <utility>

#define FLAGGEMS_UNPACK(...) __VA_ARGS__

namespace flaggems::detail {
/// Does not compile for the real result of a complex tensor in that tensor, as in ATen.
template <class T, class X>
constexpr void check_in_place_part() {
  static_assert(!kernels::is_complex<value_t<X>> || kind_of<T> != kind::floating,
                "flaggems: a real result is not stored in the complex tensor that it is of");
}
}  // namespace flaggems::detail

// functor: in parentheses; parameters, arguments: the options, in parentheses, a comma before each
#define FLAGGEMS_UNARY_FORMS(name, rule, functor, parameters, arguments)            \
  template <tensor_operand X>                                                       \
  [[nodiscard]] auto name(X&& x FLAGGEMS_UNPACK parameters) {                       \
    return detail::make_call<detail::rule>(functor, std::forward<X>(x));            \
  }                                                                                 \
  template <stream_like S, tensor_operand X>                                        \
  [[nodiscard]] auto name(const S& stream, const X& x FLAGGEMS_UNPACK parameters) { \
    return evaluate(stream, flaggems::name(x FLAGGEMS_UNPACK arguments), #name);    \
  }                                                                                 \
  template <stream_like S, tensor_operand X, tensor_like Out>                       \
  void name(const S& stream, const X& x, Out&& out FLAGGEMS_UNPACK parameters) {    \
    assign(stream, out, flaggems::name(x FLAGGEMS_UNPACK arguments), #name);        \
  }
#define FLAGGEMS_UNARY_IN_PLACE(name, parameters, arguments)            \
  template <stream_like S, tensor_like X>                               \
  void name##_(const S& stream, X&& x FLAGGEMS_UNPACK parameters) {     \
    const auto e = flaggems::name(x FLAGGEMS_UNPACK arguments);         \
    detail::check_in_place_part<typename decltype(e)::value_type, X>(); \
    assign(stream, x, e, #name "_");                                    \
  }

#define FLAGGEMS_UNARY(name, rule, ...)                            \
  FLAGGEMS_UNARY_FORMS(name, rule, (kernels::name##_fn{}), (), ()) \
  FLAGGEMS_UNARY_IN_PLACE(name, (), ())
/// Without an in-place form.
#define FLAGGEMS_PREDICATE(name, rule, ...) \
  FLAGGEMS_UNARY_FORMS(name, rule, (kernels::name##_fn{}), (), ())
#define FLAGGEMS_UNARY1(name, rule, p, p0, ...)                                       \
  FLAGGEMS_UNARY_FORMS(name, rule, (kernels::name##_fn<f64>{p}), (, f64 p p0), (, p)) \
  FLAGGEMS_UNARY_IN_PLACE(name, (, f64 p p0), (, p))
#define FLAGGEMS_UNARY2(name, rule, p, p0, q, q0, ...)                                      \
  FLAGGEMS_UNARY_FORMS(name, rule, (kernels::name##_fn<f64>{p, q}), (, f64 p p0, f64 q q0), \
                       (, p, q))                                                            \
  FLAGGEMS_UNARY_IN_PLACE(name, (, f64 p p0, f64 q q0), (, p, q))
#define FLAGGEMS_UNARY3(name, rule, p, p0, q, q0, r, r0, ...)          \
  FLAGGEMS_UNARY_FORMS(name, rule, (kernels::name##_fn<f64>{p, q, r}), \
                       (, f64 p p0, f64 q q0, f64 r r0), (, p, q, r))  \
  FLAGGEMS_UNARY_IN_PLACE(name, (, f64 p p0, f64 q q0, f64 r r0), (, p, q, r))

namespace flaggems::detail {
/// Does not compile for an in-place form whose result would not fit a tensor of T.
template <class Rule, class T>
constexpr void check_in_place() {
  static_assert(!std::is_same_v<Rule, to_f64> || std::is_same_v<T, f64>,
                "flaggems: the in-place form of an operator that gives f64 takes tensors of f64");
}
}  // namespace flaggems::detail

#define FLAGGEMS_BINARY(name, rule, ...)                                                   \
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
    detail::check_in_place<detail::rule, value_t<A>>();                                    \
    assign(stream, a, name(a, b), #name "_");                                              \
  }

/// Of tensors only, without an in-place form: a gradient, a loss.
#define FLAGGEMS_PAIR_FORMS(name, rule, functor, parameters, arguments)                         \
  template <tensor_operand A, tensor_operand B>                                                 \
  [[nodiscard]] auto name(A&& a, B&& b FLAGGEMS_UNPACK parameters) {                            \
    return detail::make_call<detail::rule>(functor, std::forward<A>(a), std::forward<B>(b));    \
  }                                                                                             \
  template <stream_like S, tensor_operand A, tensor_operand B>                                  \
  [[nodiscard]] auto name(const S& stream, const A& a, const B& b FLAGGEMS_UNPACK parameters) { \
    return evaluate(stream, flaggems::name(a, b FLAGGEMS_UNPACK arguments), #name);             \
  }                                                                                             \
  template <stream_like S, tensor_operand A, tensor_operand B, tensor_like Out>                 \
  void name(const S& stream, const A& a, const B& b, Out&& out FLAGGEMS_UNPACK parameters) {    \
    assign(stream, out, flaggems::name(a, b FLAGGEMS_UNPACK arguments), #name);                 \
  }
#define FLAGGEMS_PAIR(name, rule, ...) \
  FLAGGEMS_PAIR_FORMS(name, rule, (kernels::name##_fn{}), (), ())
#define FLAGGEMS_PAIR1(name, rule, p, p0, ...) \
  FLAGGEMS_PAIR_FORMS(name, rule, (kernels::name##_fn<f64>{p}), (, f64 p p0), (, p))
#define FLAGGEMS_PAIR2(name, rule, p, p0, q, q0, ...) \
  FLAGGEMS_PAIR_FORMS(name, rule, (kernels::name##_fn<f64>{p, q}), (, f64 p p0, f64 q q0), (, p, q))

#define FLAGGEMS_TERNARY(name, rule, ...)                                            \
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

/// Another name of an operator, in all its forms but the in-place one.
#define FLAGGEMS_ALSO(other, name)                               \
  template <class... A>                                          \
  requires requires(A && ... a) { name(std::forward<A>(a)...); } \
  decltype(auto) other(A&&... a) { return name(std::forward<A>(a)...); }
/// And in that one.
#define FLAGGEMS_ALSO_IN_PLACE(other, name) \
  FLAGGEMS_ALSO(other, name)                \
  FLAGGEMS_ALSO(other##_, name##_)

/// The types that stand for a table's operators: their functors, also in expressions, so
/// implementation<operators::add, D> runs `assign(stream, out, a + b)` as well as `add(stream, a,
/// b, out)`.
#define FLAGGEMS_NAME(name, ...) using name = kernels::name##_fn;
#define FLAGGEMS_NAME_WITH_OPTIONS(name, ...) using name = kernels::name##_fn<f64>;
