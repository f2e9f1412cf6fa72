// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic beyond the basic operators: the rows of kernel/family/pointwise/tables/arithmetic.hpp
// in the forms of ops/forms.hpp; and with options add and sub with alpha, div with a rounding mode,
// clamp with one bound, pow with an integer exponent, and what follows from these.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/arithmetic.hpp>
#include <flaggems/ops/pointwise.hpp>

#include <concepts>
#include <optional>

namespace flaggems {

namespace operators {
FLAGGEMS_ARITHMETIC_TABLE(FLAGGEMS_NAME, FLAGGEMS_NAME, FLAGGEMS_NAME_WITH_OPTIONS, FLAGGEMS_NAME)
using add_scaled = kernels::add_scaled_fn;          ///< add with alpha
using sub_scaled = kernels::sub_scaled_fn;          ///< sub with alpha
using div_trunc = kernels::div_rounded_fn<false>;   ///< div with rounding_mode::trunc
using div_floor = kernels::div_rounded_fn<true>;    ///< div with rounding_mode::floor
using clamp_optional = kernels::clamp_optional_fn;  ///< clamp with an optional bound
}  // namespace operators

FLAGGEMS_ARITHMETIC_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY, FLAGGEMS_PAIR1, FLAGGEMS_TERNARY)
FLAGGEMS_ARITHMETIC_ALIASES(FLAGGEMS_ALSO)

/// How div rounds: not at all (true division), toward zero, or down. Values of different types,
/// because the dtype of the result depends on them.
namespace rounding_mode {
struct none_t {};
struct trunc_t {};
struct floor_t {};
inline constexpr none_t none{};
inline constexpr trunc_t trunc{};
inline constexpr floor_t floor{};
}  // namespace rounding_mode

/// One of the constants in namespace rounding_mode.
template <class M>
concept rounding = std::same_as<M, rounding_mode::none_t> ||
    std::same_as<M, rounding_mode::trunc_t> || std::same_as<M, rounding_mode::floor_t>;

namespace detail {

FLAGGEMS_COMPLEX(takes_complex, conj_physical_fn)
FLAGGEMS_COMPLEX(takes_complex, add_scaled_fn)
FLAGGEMS_COMPLEX(takes_complex, sub_scaled_fn)

/// alpha in the type that add and sub use with operands A and B. Does not compile for a type that
/// ATen refuses.
template <class A, class B, class Alpha>
constexpr auto checked_alpha(Alpha alpha) {
  using P = typename promoted_type<node_t<A>, node_t<B>>::type;
  static_assert(kind_of<Alpha> < kind::floating || kind_of<P> >= kind_of<Alpha>,
                "flaggems: argument alpha must not be a number of a higher kind than the operands "
                "(integer < float < complex)");
  static_assert(kind_of<Alpha> != kind::boolean || kind_of<P> == kind::boolean,
                "flaggems: a bool alpha is for bool operands only");
  if constexpr (kind_of<P> == kind::boolean)
    return alpha != Alpha{};  // a number would be one of the sum of bools
  else
    return alpha;
}

/// A bound of clamp that may be absent: std::nullopt, an optional number, or an operand.
template <class X>
inline constexpr bool is_optional_number = false;
template <class X>
inline constexpr bool is_optional_number<std::optional<X>> = scalar_operand<X>;

template <class X>
inline constexpr bool is_optional_view = false;
template <class T, class D>
inline constexpr bool is_optional_view<std::optional<tensor_view<T, D>>> = true;

/// A bound as an operand; x has the place of an absent tensor.
template <class X, class Clamped>
auto bound_operand(X&& x, const Clamped& clamped) {
  using bound = std::remove_cvref_t<X>;
  if constexpr (std::is_same_v<bound, std::nullopt_t>)
    return false;  // the lowest kind: takes no part in promotion
  else if constexpr (is_optional_view<bound>) {
    using view = tensor_view<const typename bound::value_type::value_type,
                             typename bound::value_type::device_type>;
    return expr<node_t<view>>(node_of(x ? view(*x) : view(as_view(clamped))));
  } else if constexpr (is_optional_number<bound>)
    return x.value_or(typename bound::value_type{});
  else if constexpr (scalar_operand<bound>)
    return bound(x);
  else
    return expr<node_t<X>>(node_of(std::forward<X>(x)));
}
template <>
inline constexpr const char* keeps_numbers<kernels::clamp_optional_fn> = "clamp";
template <class X>
bool has_bound(const X& x) {
  if constexpr (std::is_same_v<X, std::nullopt_t>)
    return false;
  else if constexpr (is_optional_number<X> || is_optional_view<X>)
    return x.has_value();
  else
    return true;
}

}  // namespace detail

/// A bound that may be absent, at compile time or at run time: std::nullopt, an optional number, or
/// an optional view of the dtype of a tensor that is clamped.
template <class X>
concept optional_bound = std::same_as<std::remove_cvref_t<X>, std::nullopt_t> ||
    detail::is_optional_number<std::remove_cvref_t<X>> ||
    detail::is_optional_view<std::remove_cvref_t<X>>;
/// A bound of clamp: an operand, or one that may be absent.
template <class X>
concept clamp_bound = operand<X> || optional_bound<X>;

// ---- add and sub with alpha
#define FLAGGEMS_SCALED(name, rule)                                                                \
  template <operand A, operand B, number_operand Alpha>                                            \
  requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto name(A&& a, B&& b,           \
                                                                           Alpha alpha) {          \
    return detail::make_call<detail::rule>(kernels::name##_scaled_fn{}, std::forward<A>(a),        \
                                           std::forward<B>(b),                                     \
                                           detail::checked_alpha<A, B>(alpha));                    \
  }                                                                                                \
  template <stream_like S, operand A, operand B, number_operand Alpha>                             \
  requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto name(                        \
      const S& stream, const A& a, const B& b, Alpha alpha) {                                      \
    return evaluate(stream, name(a, b, alpha), #name);                                             \
  }                                                                                                \
  template <stream_like S, operand A, operand B, tensor_like Out, number_operand Alpha>            \
  requires(tensor_operand<A> || tensor_operand<B>) void name(const S& stream, const A& a,          \
                                                             const B& b, Out&& out, Alpha alpha) { \
    assign(stream, out, name(a, b, alpha), #name);                                                 \
  }                                                                                                \
  template <stream_like S, tensor_like A, operand B, number_operand Alpha>                         \
  void name##_(const S& stream, A&& a, const B& b, Alpha alpha) {                                  \
    assign(stream, a, name(a, b, alpha), #name "_");                                               \
  }

/// a + alpha * b: an expression, a new tensor, into `out`, into `a`. alpha is a number that takes
/// no part in promotion: for integers it must be an integer, and what is not 0 is true for bool.
/// Otherwise as add(a, b).
/// aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)
FLAGGEMS_SCALED(add, numeric)
/// a - alpha * b; otherwise as add(a, b, alpha), and bool is refused.
/// aten::sub.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)
FLAGGEMS_SCALED(sub, arithmetic)
#undef FLAGGEMS_SCALED

// ---- div with a rounding mode
/// a / b rounded as `mode` says (an expression). With rounding_mode::trunc and floor the result has
/// the promoted dtype, integers included; none is true division. Integers divided by 0 give 0, and
/// the least integer divided by -1 gives itself, on every device (PyTorch raises or leaves it to
/// the device); floats divided by 0 give infinities and NaN.
template <operand A, operand B, rounding Mode>
requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto div(A&& a, B&& b, Mode) {
  if constexpr (std::is_same_v<Mode, rounding_mode::none_t>)
    return div(std::forward<A>(a), std::forward<B>(b));
  else
    return detail::make_call<detail::arithmetic>(
        kernels::div_rounded_fn<std::is_same_v<Mode, rounding_mode::floor_t>>{}, std::forward<A>(a),
        std::forward<B>(b));
}
/// a / b, rounded, in a new tensor.
template <stream_like S, operand A, operand B, rounding Mode>
requires(tensor_operand<A> || tensor_operand<B>)
    [[nodiscard]] auto div(const S& stream, const A& a, const B& b, Mode mode) {
  return evaluate(stream, div(a, b, mode), "div");
}
/// out = a / b, rounded; integers divided by 0 give 0, the least one divided by -1 itself.
/// Otherwise as div(a, b). aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode,
/// Tensor(a!) out)
template <stream_like S, operand A, operand B, tensor_like Out, rounding Mode>
requires(tensor_operand<A> || tensor_operand<B>) void div(const S& stream, const A& a, const B& b,
                                                          Out&& out, Mode mode) {
  assign(stream, out, div(a, b, mode), "div");
}
/// a = a / b, rounded.
template <stream_like S, tensor_like A, operand B, rounding Mode>
void div_(const S& stream, A&& a, const B& b, Mode mode) {
  assign(stream, a, div(a, b, mode), "div_");
}

// ---- clamp with optional bounds
/// min(max(x, low), high), where a bound may be std::nullopt or an empty std::optional of a number
/// (an expression). Raises invalid_argument if both are absent, or for an integer that the promoted
/// dtype cannot hold.
template <tensor_operand X, clamp_bound L, clamp_bound H>
requires(optional_bound<L> || optional_bound<H>)
    [[nodiscard]] auto clamp(X&& x, L&& low, H&& high) {
  const kernels::clamp_optional_fn f{detail::has_bound(low), detail::has_bound(high)};
  check(f.has_min || f.has_max, errc::invalid_argument, "clamp", "at least one of min and max",
        "neither");
  auto least = detail::bound_operand(std::forward<L>(low), x);
  auto most = detail::bound_operand(std::forward<H>(high), x);
  return detail::make_call<detail::numeric>(f, std::forward<X>(x), least, most);
}
/// x clamped, in a new tensor.
template <stream_like S, tensor_operand X, clamp_bound L, clamp_bound H>
requires(optional_bound<L> || optional_bound<H>)
    [[nodiscard]] auto clamp(const S& stream, const X& x, const L& low, const H& high) {
  return evaluate(stream, clamp(x, low, high), "clamp");
}
/// out = x clamped; `out` may be `x`. Raises invalid_argument, shape_mismatch or overlap before
/// anything is written. aten::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *,
/// Tensor(a!) out)
template <stream_like S, tensor_operand X, clamp_bound L, clamp_bound H, tensor_like Out>
requires(optional_bound<L> || optional_bound<H>) void clamp(const S& stream, const X& x,
                                                            const L& low, const H& high,
                                                            Out&& out) {
  assign(stream, out, clamp(x, low, high), "clamp");
}
/// x = x clamped.
template <stream_like S, tensor_like X, clamp_bound L, clamp_bound H>
requires(optional_bound<L> || optional_bound<H>) void clamp_(const S& stream, X&& x, const L& low,
                                                             const H& high) {
  assign(stream, x, clamp(x, low, high), "clamp_");
}

// ---- pow with an integer exponent
/// a to the power of b for an integer number b (an expression): as pow(a, b), which all forms of
/// pow call. Raises invalid_argument for a negative b if `a` holds integers, as ATen does.
template <operand A, operand B>
requires(tensor_operand<A> || tensor_operand<B>) &&
    std::integral<std::remove_cvref_t<B>>&& tensor_operand<A> [[nodiscard]] auto pow(A&& a, B&& b) {
  using element = typename detail::node_t<A>::element;
  if constexpr (detail::kind_of<element> != detail::kind::floating &&
                std::is_signed_v<std::remove_cvref_t<B>>)
    check(b >= 0, errc::invalid_argument, "pow", "an exponent that is not negative, for integers",
          "a negative one");
  return detail::make_call<detail::arithmetic>(kernels::pow_fn{}, std::forward<A>(a), b);
}

// ---- what follows from these

/// b - alpha * a: sub(b, a, alpha), in all forms but the in-place one.
template <operand A, operand B, number_operand Alpha = i64>
requires(tensor_operand<A> || tensor_operand<B>)
    [[nodiscard]] auto rsub(A&& a, B&& b, Alpha alpha = 1) {
  return sub(std::forward<B>(b), std::forward<A>(a), alpha);
}
/// b - alpha * a in a new tensor.
template <stream_like S, operand A, operand B, number_operand Alpha = i64>
requires(tensor_operand<A> || tensor_operand<B>)
    [[nodiscard]] auto rsub(const S& stream, const A& a, const B& b, Alpha alpha = 1) {
  return evaluate(stream, rsub(a, b, alpha), "rsub");
}
/// out = b - alpha * a. aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)
template <stream_like S, operand A, operand B, tensor_like Out, number_operand Alpha = i64>
requires(tensor_operand<A> || tensor_operand<B>) void rsub(const S& stream, const A& a, const B& b,
                                                           Out&& out, Alpha alpha = 1) {
  assign(stream, out, rsub(a, b, alpha), "rsub");
}

/// max(a + alpha * b, 0) (an expression).
template <tensor_operand A, operand B, scalar_operand Alpha = i64>
[[nodiscard]] auto add_relu(A&& a, B&& b, Alpha alpha = 1) {
  return relu(add(std::forward<A>(a), std::forward<B>(b), alpha));
}
/// max(a + alpha * b, 0) in a new tensor.
template <stream_like S, tensor_operand A, operand B, scalar_operand Alpha = i64>
[[nodiscard]] auto add_relu(const S& stream, const A& a, const B& b, Alpha alpha = 1) {
  return evaluate(stream, add_relu(a, b, alpha), "add_relu");
}
/// out = max(a + alpha * b, 0), rounded once; otherwise as add.
/// aten::_add_relu.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)
template <stream_like S, tensor_operand A, operand B, tensor_like Out, scalar_operand Alpha = i64>
void add_relu(const S& stream, const A& a, const B& b, Out&& out, Alpha alpha = 1) {
  assign(stream, out, add_relu(a, b, alpha), "add_relu");
}
/// a = max(a + alpha * b, 0).
template <stream_like S, tensor_like A, operand B, scalar_operand Alpha = i64>
void add_relu_(const S& stream, A&& a, const B& b, Alpha alpha = 1) {
  assign(stream, a, add_relu(a, b, alpha), "add_relu_");
}

/// floor(a / b): div(a, b, rounding_mode::floor), in all its forms.
template <operand A, operand B>
requires(tensor_operand<A> || tensor_operand<B>) [[nodiscard]] auto floor_divide(A&& a, B&& b) {
  return div(std::forward<A>(a), std::forward<B>(b), rounding_mode::floor);
}
/// floor(a / b) in a new tensor.
template <stream_like S, operand A, operand B>
requires(tensor_operand<A> || tensor_operand<B>)
    [[nodiscard]] auto floor_divide(const S& stream, const A& a, const B& b) {
  return evaluate(stream, floor_divide(a, b), "floor_divide");
}
/// out = floor(a / b). aten::floor_divide.out(Tensor self, Tensor other, *, Tensor(a!) out)
template <stream_like S, operand A, operand B, tensor_like Out>
requires(tensor_operand<A> || tensor_operand<B>) void floor_divide(const S& stream, const A& a,
                                                                   const B& b, Out&& out) {
  assign(stream, out, floor_divide(a, b), "floor_divide");
}
/// a = floor(a / b).
template <stream_like S, tensor_like A, operand B>
void floor_divide_(const S& stream, A&& a, const B& b) {
  assign(stream, a, floor_divide(a, b), "floor_divide_");
}

namespace detail {
/// b / c, not of integers alone.
template <operand B, operand C>
auto quotient(B&& b, C&& c) {
  static_assert(kind_of<typename promoted_type<node_t<B>, node_t<C>>::type> >= kind::floating,
                "flaggems: addcdiv does not divide integers: div with a rounding_mode does");
  return div(std::forward<B>(b), std::forward<C>(c));
}
}  // namespace detail

#define FLAGGEMS_PRODUCT(name, combined)                                                          \
  template <tensor_operand A, operand B, operand C, scalar_operand Value = i64>                   \
  [[nodiscard]] auto name(A&& a, B&& b, C&& c, Value value = 1) {                                 \
    return add(std::forward<A>(a), combined(std::forward<B>(b), std::forward<C>(c)), value);      \
  }                                                                                               \
  template <stream_like S, tensor_operand A, operand B, operand C, scalar_operand Value = i64>    \
  [[nodiscard]] auto name(const S& stream, const A& a, const B& b, const C& c, Value value = 1) { \
    return evaluate(stream, name(a, b, c, value), #name);                                         \
  }                                                                                               \
  template <stream_like S, tensor_operand A, operand B, operand C, tensor_like Out,               \
            scalar_operand Value = i64>                                                           \
  void name(const S& stream, const A& a, const B& b, const C& c, Out&& out, Value value = 1) {    \
    assign(stream, out, name(a, b, c, value), #name);                                             \
  }                                                                                               \
  template <stream_like S, tensor_like A, operand B, operand C, scalar_operand Value = i64>       \
  void name##_(const S& stream, A&& a, const B& b, const C& c, Value value = 1) {                 \
    assign(stream, a, name(a, b, c, value), #name "_");                                           \
  }
/// a + value * b * c: an expression, a new tensor, into `out`, into `a`; rounded once. Otherwise as
/// add(a, b, alpha).
/// aten::addcmul.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!)
/// out)
FLAGGEMS_PRODUCT(addcmul, mul)
/// a + value * (b / c), where b or c must be floating-point; otherwise as addcmul.
/// aten::addcdiv.out(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1, Tensor(a!)
/// out)
FLAGGEMS_PRODUCT(addcdiv, detail::quotient)
#undef FLAGGEMS_PRODUCT

/// x, but `value` where the mask is true (an expression). It has x's dtype, which a number must be
/// of the kind of, or of a lower one.
template <tensor_operand X, tensor_operand M, operand V>
[[nodiscard]] auto masked_fill(X&& x, M&& mask, V&& value) {
  using element = typename detail::node_t<X>::element;
  using given = typename detail::node_t<V>::element;
  static_assert(detail::kind_of<given> <= detail::kind_of<element>,
                "flaggems: masked_fill's value is of a higher kind than the tensor");
  return cast<element>(where(std::forward<M>(mask), std::forward<V>(value), std::forward<X>(x)));
}
/// x, but `value` where the mask is true, in a new tensor, row-major as ATen's.
template <stream_like S, tensor_operand X, tensor_operand M, operand V>
[[nodiscard]] auto masked_fill(const S& stream, const X& x, const M& mask, const V& value) {
  const auto filled = masked_fill(x, mask, value);
  detail::broadcast_sizes all{{}, "masked_fill"};
  filled.node.for_each_leaf(all);
  auto out = empty<typename decltype(filled)::value_type>(stream, all.sizes, "masked_fill");
  assign(stream, out, filled, "masked_fill");
  return out;
}
/// out = x, but `value` where the mask is true. Raises shape_mismatch or overlap before anything is
/// written, and invalid_argument for an integer that the dtype cannot hold.
/// aten::masked_fill.Scalar_out(Tensor self, Tensor mask, Scalar value, *, Tensor(a!) out)
template <stream_like S, tensor_operand X, tensor_operand M, operand V, tensor_like Out>
void masked_fill(const S& stream, const X& x, const M& mask, const V& value, Out&& out) {
  assign(stream, out, masked_fill(x, mask, value), "masked_fill");
}
/// x = `value` where the mask is true. aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask,
/// Scalar value)
template <stream_like S, tensor_like X, tensor_operand M, operand V>
void masked_fill_(const S& stream, X&& x, const M& mask, const V& value) {
  assign(stream, x, masked_fill(x, mask, value), "masked_fill_");
}

// ---- other names
FLAGGEMS_POINTWISE_ALIASES(FLAGGEMS_ALSO_IN_PLACE)
FLAGGEMS_ALSO_IN_PLACE(clip, clamp)
FLAGGEMS_ALSO_IN_PLACE(clamp_min, maximum)
FLAGGEMS_ALSO_IN_PLACE(clamp_max, minimum)

}  // namespace flaggems
