// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The basic pointwise operators, a line each in kernel/family/pointwise/tables/pointwise.hpp, which
// gives the forms of ops/forms.hpp; the operators of the language on expressions.
#pragma once

#include <flaggems/ops/forms.hpp>

#include <limits>
#include <utility>

namespace flaggems {

namespace operators {
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME, FLAGGEMS_NAME)
}  // namespace operators

FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY, FLAGGEMS_TERNARY)

/// The eager forms of `where`. aten::where.self(Tensor condition, Tensor self, Tensor other)
template <stream_like S, operand M, operand A, operand B>
requires(!number_operand<M>)
    [[nodiscard]] auto where(const S& stream, const M& condition, const A& a, const B& b) {
  return evaluate(stream, where(condition, a, b), "where");
}
template <stream_like S, operand M, operand A, operand B, tensor_like Out>
requires(!number_operand<M>) void where(const S& stream, const M& condition, const A& a, const B& b,
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

namespace detail {
/// Integers as the nearest ones of i32, in which kernels read offsets and places: what is outside
/// stays outside.
template <class X>
auto nearest_i32(const X& x) {
  using T = typename X::value_type;
  using limits = std::numeric_limits<i32>;
  if constexpr (sizeof(T) <= sizeof(i32))
    return cast<i32>(x);
  else
    return cast<i32>(minimum(maximum(x, T{(limits::min)()}), T{(limits::max)()}));
}
}  // namespace detail

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

namespace detail {
FLAGGEMS_UNARY_ONCE(exp_fn);
FLAGGEMS_UNARY_ONCE(relu_fn);
FLAGGEMS_UNARY_ONCE(sigmoid_fn);
FLAGGEMS_UNARY_ONCE(silu_fn);
FLAGGEMS_UNARY_ONCE(tanh_fn);
FLAGGEMS_BINARY_ONCE(add_fn);
FLAGGEMS_BINARY_ONCE(sub_fn);
FLAGGEMS_BINARY_ONCE(mul_fn);
FLAGGEMS_BINARY_ONCE(div_fn);
}  // namespace detail

}  // namespace flaggems
