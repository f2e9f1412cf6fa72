// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The tree of an expression as it stands on the host: its leaves and nodes, the dtypes they promote
// to, and what each becomes in a kernel (`build`).
#pragma once

#include <flaggems/kernels/pointwise.hpp>
#include <flaggems/ops/iteration.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/view.hpp>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems {

/// A number beside tensors: it takes part in promotion only by its kind (bool < integer < float).
/// Arithmetic of integers is modulo 2^n, so an integer beside them may be any; where a number is
/// compared, selected or stored as it is (eq ... ge, maximum, minimum, clamp, where, assign, fill_,
/// full), an integer that the dtype cannot hold raises invalid_argument.
template <class X>
concept scalar_operand = std::is_arithmetic_v<X> || kernels::is_small_float<X>;

namespace detail {

// ---- promotion
enum class kind { boolean, integer, floating };

template <class T>
inline constexpr kind kind_of = std::is_same_v<T, bool> ? kind::boolean
                                : std::is_integral_v<T> ? kind::integer
                                                        : kind::floating;

/// The kernel functors of operators that give a number back or compare with it, and their names.
/// A number that their dtype cannot hold would be another one; arithmetic goes on modulo 2^n.
template <class F>
inline constexpr const char* keeps_numbers = nullptr;
#define FLAGGEMS_KEEPS(name) \
  template <>                \
  inline constexpr const char* keeps_numbers<kernels::name##_fn> = #name;
FLAGGEMS_KEEPS(eq)
FLAGGEMS_KEEPS(ne)
FLAGGEMS_KEEPS(lt)
FLAGGEMS_KEEPS(le)
FLAGGEMS_KEEPS(gt)
FLAGGEMS_KEEPS(ge)
FLAGGEMS_KEEPS(maximum)
FLAGGEMS_KEEPS(minimum)
FLAGGEMS_KEEPS(clamp)
#undef FLAGGEMS_KEEPS

template <class T>
[[noreturn]] FLAGGEMS_COLD void raise_number(const char* op, const text& got) {
  raise(errc::invalid_argument, op, "a number that " + text(to_string(dtype_of<T>)) + " can hold",
        got);
}
/// Raises unless an element of dtype T can be the integer `value`; other kinds of T or V pass.
template <class T, class V>
void check_integer(const char* op, V value) {
  if constexpr (kernels::is_integer<T> && std::is_integral_v<V> && !std::is_same_v<V, bool>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    constexpr bool always = is_signed == std::is_signed_v<V> ? sizeof(V) <= sizeof(T)
                                                             : is_signed && sizeof(V) < sizeof(T);
    if constexpr (!always) {
      const auto as_element = static_cast<T>(value);
      bool fits = static_cast<V>(as_element) == value;
      if constexpr (is_signed != std::is_signed_v<V>) {
        if constexpr (is_signed)
          fits = fits && as_element >= 0;
        else
          fits = fits && value >= 0;
      }
      if (!fits) [[unlikely]]
        raise_number<T>(op, text(value));
    }
  }
}

template <kind K>
using default_type =
    std::conditional_t<K == kind::boolean, bool, std::conditional_t<K == kind::integer, i64, f32>>;

/// The type of values of dtype T inside an expression: f32 for small floats, i32 for bool (so that
/// bool arithmetic has a meaning), T otherwise.
template <class T>
using arithmetic_t = std::conditional_t<std::is_same_v<T, bool>, i32, kernels::compute_type<T>>;

// ---- the tree as it stands on the host
/// The iteration space of operands that are contiguous and of the output's sizes.
struct flat_space {
  static void copy_strides(int, i64 (&to)[max_rank]) { to[0] = 1; }
};

template <class T, class D>
struct leaf {
  using element = T;
  using device = D;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = 1;
  tensor_view<const T, D> view;

  template <class F>
  void for_each_leaf(F&& f) const {
    f(view);
  }
  template <class C, class Space>
  typename Space::template arg<T, C> build(const Space& it, int& next) const {
    typename Space::template arg<T, C> r{view.data(), {}};
    it.copy_strides(next++, r.strides);
    return r;
  }
  template <class C>
  kernels::flat_arg<T, C> build(const flat_space&, int&) const {
    return {view.data()};
  }
};

template <class S>
struct number {
  using element = S;
  using device = void;
  static constexpr bool is_scalar = true;
  static constexpr int leaves = 0;
  S value;

  template <class F>
  void for_each_leaf(F&&) const {}
  template <class C, class Space>
  kernels::literal<C> build(const Space&, int&) const {
    return {kernels::number_cast<C>(value)};
  }
};

/// `promote_t` that says what is wrong; the letters are those of the message.
template <class A, class B>
constexpr auto common_type() {
  static_assert(can_promote(dtype_of<A>, dtype_of<B>),
                "flaggems: no common type of element types A and B: cast one of them");
  if constexpr (can_promote(dtype_of<A>, dtype_of<B>))
    return std::type_identity<promote_t<A, B>>{};
  else
    return std::type_identity<A>{};
}

/// The promoted dtype of a list of nodes: tensors by `promote_t`, then numbers by their kind.
template <class... Nodes>
struct promoted_type {
  template <class Acc>
  static auto tensors(std::type_identity<Acc> acc) {
    return acc;
  }
  template <class Acc, class First, class... Rest>
  static auto tensors(std::type_identity<Acc> acc, const First*, const Rest*... rest) {
    if constexpr (First::is_scalar)
      return tensors(acc, rest...);
    else if constexpr (std::is_void_v<Acc>)
      return tensors(std::type_identity<typename First::element>{}, rest...);
    else
      return tensors(common_type<Acc, typename First::element>(), rest...);
  }
  using base = typename decltype(tensors(std::type_identity<void>{},
                                         static_cast<const Nodes*>(nullptr)...))::type;
  template <class Node>
  static constexpr kind scalar_kind() {
    if constexpr (Node::is_scalar)
      return kind_of<typename Node::element>;
    else
      return kind::boolean;
  }
  static constexpr kind highest = [] {
    kind k = kind::boolean;
    ((k = scalar_kind<Nodes>() > k ? scalar_kind<Nodes>() : k), ...);
    return k;
  }();
  /// Numbers alone (the branches of a `where`) have the default type of their kind.
  template <class Base>
  static auto with_numbers(std::type_identity<Base> base) {
    if constexpr (std::is_void_v<Base>)
      return std::type_identity<default_type<highest>>{};
    else if constexpr (highest > kind_of<Base>)
      return std::type_identity<default_type<highest>>{};
    else
      return base;
  }
  using type = typename decltype(with_numbers(std::type_identity<base>{}))::type;
};

// ---- rules: from the promoted dtype to the result's
struct numeric {
  template <class P>
  using operand = arithmetic_t<P>;
  template <class P>
  using result = P;
};
struct arithmetic : numeric {
  template <class P>
  struct checked {
    static_assert(!std::is_same_v<P, bool>,
                  "flaggems: expected a numeric dtype, got bool (use logical operators)");
    using type = P;
  };
  template <class P>
  using result = typename checked<P>::type;
};
struct integral : numeric {
  template <class P>
  using result = std::conditional_t<std::is_same_v<P, bool>, i64, P>;
  template <class P>
  using operand = arithmetic_t<result<P>>;
};
struct to_float {
  template <class P>
  using result = std::conditional_t<kind_of<P> == kind::floating, P, f32>;
  template <class P>
  using operand = arithmetic_t<result<P>>;
};
// (As to_float, so that no kernel of integers hides the message.)
struct floating : to_float {
  template <class P>
  struct checked {
    static_assert(kind_of<P> == kind::floating,
                  "flaggems: expected a floating-point dtype, got an integer or bool");
    using type = to_float::result<P>;
  };
  template <class P>
  using result = typename checked<P>::type;
};
struct to_bool : numeric {
  template <class P>
  using result = bool;
};

/// The device of a list of nodes; void for numbers.
template <class... D>
struct common_device;
template <class A>
struct common_device<A> {
  using type = A;
};
template <class A, class B, class... Rest>
struct common_device<A, B, Rest...> {
  static_assert(std::is_void_v<A> || std::is_void_v<B> || std::is_same_v<A, B>,
                "flaggems: the operands of an expression are on different devices");
  using type = typename common_device<std::conditional_t<std::is_void_v<A>, B, A>, Rest...>::type;
};

/// E as values of C: itself when it has them already.
template <class C, class E>
auto converted(const E& e) {
  if constexpr (std::is_same_v<C, typename E::value_type>)
    return e;
  else
    return kernels::cast<C, E>{{}, e};
}

/// F over the values of the nodes, under a rule.
template <class Rule, class F, class... Nodes>
struct call {
  using promoted = typename promoted_type<Nodes...>::type;
  using element = typename Rule::template result<promoted>;
  using operand = typename Rule::template operand<promoted>;
  using device = typename common_device<typename Nodes::device...>::type;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = (Nodes::leaves + ...);
  F f;
  std::tuple<Nodes...> nodes;

  template <class G>
  void for_each_leaf(G&& g) const {
    std::apply([&](const auto&... n) { (n.for_each_leaf(g), ...); }, nodes);
  }
  /// A number is compared as one of the promoted dtype (bf16: 0.1 is the bf16 next to it), as in
  /// PyTorch; for arithmetic it keeps its digits.
  template <class Node, class Space>
  static auto build_operand(const Node& n, const Space& it, int& next) {
    if constexpr (Node::is_scalar && std::is_same_v<element, bool>)
      return number<promoted>{kernels::number_cast<promoted>(n.value)}.template build<operand>(
          it, next);
    else
      return n.template build<operand>(it, next);
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    return std::apply(
        [&](const auto&... n) {
          // Braces fix the order, so that leaves meet their strides.
          std::tuple<decltype(build_operand(n, it, next))...> built{build_operand(n, it, next)...};
          return std::apply(
              [&](const auto&... e) {
                using R = kernels::compute_type<element>;
                return converted<C>(
                    kernels::node<R, F, std::remove_cvref_t<decltype(e)>...>{f, e...});
              },
              built);
        },
        nodes);
  }
};

/// condition ? a : b
template <class M, class A, class B>
struct choice {
  using element = typename promoted_type<A, B>::type;
  using device =
      typename common_device<typename M::device, typename A::device, typename B::device>::type;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = M::leaves + A::leaves + B::leaves;
  M condition;
  A a;
  B b;

  template <class G>
  void for_each_leaf(G&& g) const {
    condition.for_each_leaf(g);
    a.for_each_leaf(g);
    b.for_each_leaf(g);
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    using V = arithmetic_t<element>;
    const auto m = condition.template build<bool>(it, next);
    const auto x = a.template build<V>(it, next);
    const auto y = b.template build<V>(it, next);
    using R = kernels::compute_type<element>;
    return converted<C>(
        kernels::node<R, kernels::where_fn, std::remove_const_t<decltype(m)>,
                      std::remove_const_t<decltype(x)>, std::remove_const_t<decltype(y)>>{
            {}, m, x, y});
  }
};

/// Whether a node has complex numbers anywhere, which kernels do not compute with.
template <class T>
inline constexpr bool is_complex_number = false;
template <class T>
inline constexpr bool is_complex_number<complex<T>> = true;
template <class Node>
inline constexpr bool has_complex = is_complex_number<typename Node::element>;
template <class Rule, class F, class... Nodes>
inline constexpr bool has_complex<call<Rule, F, Nodes...>> = (has_complex<Nodes> || ...);
template <class M, class A, class B>
inline constexpr bool has_complex<choice<M, A, B>> =
    has_complex<M> || has_complex<A> || has_complex<B>;

template <class T, class Node>
inline constexpr bool is_leaf_of = false;
template <class T, class D>
inline constexpr bool is_leaf_of<T, leaf<T, D>> = true;

/// The values of a node as dtype T.
template <class T, class Node>
struct as_type {
  using element = T;
  using device = typename Node::device;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = Node::leaves;
  Node node;

  template <class G>
  void for_each_leaf(G&& g) const {
    node.for_each_leaf(g);
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    // Narrowing must show even when the result is read as a wider type.
    using own = kernels::compute_type<typename Node::element>;
    const auto e = node.template build<own>(it, next);
    if constexpr (kernels::is_small_float<T> && !is_leaf_of<T, Node>)
      return converted<C>(
          kernels::node<f32, kernels::round_fn<T>, std::remove_const_t<decltype(e)>>{{}, e});
    else
      return converted<C>(converted<kernels::compute_type<T>>(e));
  }
};

template <class T, class Node>
inline constexpr bool has_complex<as_type<T, Node>> = is_complex_number<T> || has_complex<Node>;

/// Does not compile. Overloads for complex numbers, of elements written or in a node, say it alone,
/// where a kernel would follow whose own errors hide the message.
template <class T, class Node>
constexpr void refuse_complex() {
  static_assert(!is_complex_number<T> && !has_complex<Node>,
                "flaggems: this operator has no complex numbers yet (copies between tensors of "
                "c64, cat, index_select and embedding have)");
}

/// first + step * k for the element of row-major index k.
template <class T>
struct sequence {
  using element = T;
  using device = void;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = 1;
  using value = std::conditional_t<kind_of<T> == kind::floating, f64, i64>;
  value first, step;

  template <class G>
  void for_each_leaf(G&& g) const {
    g.position();
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    kernels::position<value> k{};
    it.copy_strides(next++, k.strides);
    using scaled =
        kernels::node<value, kernels::mul_fn, kernels::position<value>, kernels::literal<value>>;
    using shifted = kernels::node<value, kernels::add_fn, scaled, kernels::literal<value>>;
    return converted<C>(shifted{{}, scaled{{}, k, {step}}, {first}});
  }
};

}  // namespace detail
}  // namespace flaggems
