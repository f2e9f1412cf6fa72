// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An expression's tree on the host: its leaves and nodes, and what each becomes in a kernel
// (`build`).
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/pointwise/pointwise.hpp>
#include <flaggems/ops/plan/iteration.hpp>
#include <flaggems/ops/promotion.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace detail {

/// The type of values of dtype T inside an expression: f32 for small floats, i32 for bool (so that
/// bool arithmetic has a meaning), T otherwise.
template <class T>
using arithmetic_t = std::conditional_t<std::is_same_v<T, bool>, i32, kernels::compute_type<T>>;

// ---- the tree on the host
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
/// A view whose type says that it has no dimensions.
template <class T, class D>
struct scalar_leaf : leaf<T, D> {};
/// A temporary tensor of an expression, whose memory the node shares.
template <class T, class D>
struct owning_leaf : leaf<T, D> {
  explicit owning_leaf(const tensor<T, D>& x) : leaf<T, D>{x.view()}, memory(x.share_memory()) {}
  owning_leaf(const owning_leaf& x) : leaf<T, D>(x), memory(x.memory.share()) {}
  // (No move: an expression that was moved from keeps what it has views of.)
  owning_leaf& operator=(owning_leaf x) noexcept {
    this->view = x.view;
    memory = std::move(x.memory);
    return *this;
  }
  ~owning_leaf() = default;
  pool_block<D> memory;
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
struct whole_number : numeric {
  template <class P>
  struct checked {
    static_assert(kind_of<P> == kind::integer, "flaggems: expected integers");
    using type = std::conditional_t<kind_of<P> == kind::integer, P, i64>;
  };
  template <class P>
  using result = typename checked<P>::type;
  template <class P>
  using operand = result<P>;
};
struct bits {
  template <class P>
  struct checked {
    static_assert(kind_of<P> < kind::floating, "flaggems: expected integers or bool");
    using type = std::conditional_t<(kind_of<P> < kind::floating), P, i64>;
  };
  template <class P>
  using result = typename checked<P>::type;
  template <class P>
  using operand = result<P>;
};
struct to_f64 {
  template <class P>
  using result = f64;
  template <class P>
  using operand = f64;
};
struct to_float {
  template <class P>
  using result = std::conditional_t<(kind_of<P> >= kind::floating), P, f32>;
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
  using type = typename common_device<type_or<A, B>, Rest...>::type;
};

/// E as values of C: itself when it has them already.
template <class C, class E>
auto converted(const E& e) {
  if constexpr (std::is_same_v<C, typename E::value_type>)
    return e;
  else
    return kernels::cast<C, E>{{}, e};
}

template <class T, class Node>
struct as_type;

/// A functor, its options in the type C that a kernel computes in.
template <class C, class F>
auto functor_in(const F& f) {
  if constexpr (requires { f.template in<C>(); })
    return f.template in<C>();
  else
    return f;
}

/// Functors of the operators that have complex numbers.
template <class F>
inline constexpr bool takes_complex = false;
/// And what is real of them, or complex of real numbers.
template <class F>
inline constexpr bool gives_real = false;
template <class F>
inline constexpr bool gives_complex = false;
#define FLAGGEMS_COMPLEX(fact, functor) \
  template <>                           \
  inline constexpr bool fact<kernels::functor> = true;
FLAGGEMS_COMPLEX(takes_complex, neg_fn)
FLAGGEMS_COMPLEX(takes_complex, abs_fn)
FLAGGEMS_COMPLEX(gives_real, abs_fn)
FLAGGEMS_COMPLEX(takes_complex, square_fn)
FLAGGEMS_COMPLEX(takes_complex, exp_fn)
FLAGGEMS_COMPLEX(takes_complex, sqrt_fn)
FLAGGEMS_COMPLEX(takes_complex, add_fn)
FLAGGEMS_COMPLEX(takes_complex, sub_fn)
FLAGGEMS_COMPLEX(takes_complex, mul_fn)
FLAGGEMS_COMPLEX(takes_complex, div_fn)
FLAGGEMS_COMPLEX(takes_complex, eq_fn)
FLAGGEMS_COMPLEX(takes_complex, ne_fn)
FLAGGEMS_COMPLEX(takes_complex, real_part_fn)
FLAGGEMS_COMPLEX(gives_real, real_part_fn)
FLAGGEMS_COMPLEX(takes_complex, imag_part_fn)
FLAGGEMS_COMPLEX(gives_real, imag_part_fn)

/// T, which F computes in. Does not compile where F has no complex numbers; it gives the type of
/// their parts then, so that no error of a kernel follows.
template <class F, class T>
constexpr auto computed_type() {
  static_assert(!kernels::is_complex<T> || takes_complex<F>,
                "flaggems: this operator has no complex numbers (docs/use.md says which have)");
  if constexpr (takes_complex<F>)
    return std::type_identity<T>{};
  else
    return std::type_identity<kernels::real_of<T>>{};
}
/// What F gives where its rule gives T.
template <class F, class T>
constexpr auto part_type() {
  if constexpr (gives_real<F>)
    return std::type_identity<kernels::real_of<T>>{};
  else if constexpr (gives_complex<F>)
    return complex_type<T>();
  else
    return std::type_identity<T>{};
}

/// F over the values of the nodes, under a rule.
template <class Rule, class F, class... Nodes>
struct call {
  using promoted =
      typename decltype(computed_type<F, typename promoted_type<Nodes...>::type>())::type;
  using element = typename decltype(part_type<F, typename Rule::template result<promoted>>())::type;
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
  /// A number, or a tensor without dimensions, is compared as one of the promoted dtype (bf16: 0.1
  /// is the bf16 next to it), as in PyTorch; in arithmetic it is not rounded first.
  template <class Node, class Space>
  static auto build_operand(const Node& n, const Space& it, int& next) {
    if constexpr (Node::is_scalar && std::is_same_v<element, bool>)
      return number<promoted>{kernels::number_cast<promoted>(n.value)}.template build<operand>(
          it, next);
    else if constexpr (has_no_dims<Node> && std::is_same_v<element, bool> &&
                       !std::is_same_v<typename Node::element, promoted>)
      return as_type<promoted, Node>{n}.template build<operand>(it, next);
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
                const auto own = functor_in<operand>(f);
                return converted<C>(kernels::node<R, std::remove_const_t<decltype(own)>,
                                                  std::remove_cvref_t<decltype(e)>...>{own, e...});
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

/// The same of a tensor whose type would say that it has no dimensions.
template <class T, class D>
struct owning_scalar_leaf : owning_leaf<T, D> {
  using owning_leaf<T, D>::owning_leaf;
};

// ---- nodes without dimensions
template <class S>
inline constexpr bool has_no_dims<number<S>> = true;
template <class T, class D>
inline constexpr bool has_no_dims<scalar_leaf<T, D>> = true;
template <class T, class D>
inline constexpr bool has_no_dims<owning_scalar_leaf<T, D>> = true;
template <class Rule, class F, class... Nodes>
inline constexpr bool has_no_dims<call<Rule, F, Nodes...>> = (has_no_dims<Nodes> && ...);
template <class M, class A, class B>
inline constexpr bool has_no_dims<choice<M, A, B>> =
    has_no_dims<M>&& has_no_dims<A>&& has_no_dims<B>;

struct has_dims_of_leaves {
  bool any = false;
  template <class T, class D>
  void operator()(const tensor_view<T, D>& v) {
    any = any || v.rank() != 0;
  }
  void position() { any = true; }
};
/// The dtype of a node's values; -1 for a number.
template <class Node>
inline constexpr int dtype_index = [] {
  if constexpr (Node::is_scalar)
    return -1;
  else
    return static_cast<int>(dtype_of<typename Node::element>);
}();
/// Whether nodes of these types have the same common dtype whatever their ranks.
template <class... Nodes>
inline constexpr bool is_one_dtype = [] {
  int seen = -1;
  bool one = true;
  for (const int type : {dtype_index<Nodes>...}) {
    one = one && (type < 0 || seen < 0 || seen == type);
    seen = type < 0 ? seen : type;
  }
  return one;
}();

/// Raises dtype_mismatch if a tensor that turns out to have no dimensions at run time gives `node`,
/// or a comparison in it, another dtype than in PyTorch.
enum class node_role { operand, result };
template <class Node>
void check_ranks(const char*, const Node&, node_role) {}
template <class... Nodes>
void check_ranks_of(const char* op, dtype used, const Nodes&... nodes) {
  if constexpr (!is_one_dtype<Nodes...>) {
    const auto facts = [](const auto& n) {
      using node = std::remove_cvref_t<decltype(n)>;
      has_dims_of_leaves dims{node::leaves == 0};  // a product's sums have no leaf
      if constexpr (!has_no_dims<node>) n.for_each_leaf(dims);
      return promoted_operand{dtype_index<node>, dims.any};
    };
    const promoted_operand all[] = {facts(nodes)...};
    check_promotion(op, all, static_cast<int>(sizeof...(Nodes)), promoted_type<Nodes...>::highest,
                    used);
  }
}
template <class Rule, class F, class... Nodes>
void check_ranks(const char* op, const call<Rule, F, Nodes...>& n, node_role role) {
  std::apply(
      [&](const auto&... nodes) {
        (check_ranks(op, nodes, role), ...);
        if (role == node_role::result ||
            std::is_same_v<typename call<Rule, F, Nodes...>::element, bool>)
          check_ranks_of(op, dtype_of<typename call<Rule, F, Nodes...>::promoted>, nodes...);
      },
      n.nodes);
}
template <class M, class A, class B>
void check_ranks(const char* op, const choice<M, A, B>& n, node_role role) {
  check_ranks(op, n.condition, node_role::operand);
  check_ranks(op, n.a, role);
  check_ranks(op, n.b, role);
  if (role == node_role::result)
    check_ranks_of(op, dtype_of<typename choice<M, A, B>::element>, n.a, n.b);
}

template <class T, class Node>
inline constexpr bool is_leaf_of = false;
template <class T, class D>
inline constexpr bool is_leaf_of<T, leaf<T, D>> = true;
template <class T, class D>
inline constexpr bool is_leaf_of<T, scalar_leaf<T, D>> = true;
template <class T, class D>
inline constexpr bool is_leaf_of<T, owning_leaf<T, D>> = true;
template <class T, class D>
inline constexpr bool is_leaf_of<T, owning_scalar_leaf<T, D>> = true;

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
          kernels::node<f32, kernels::rounded_to_fn<T>, std::remove_const_t<decltype(e)>>{{}, e});
    else
      return converted<C>(converted<kernels::compute_type<T>>(e));
  }
};

template <class T, class Node>
inline constexpr bool has_no_dims<as_type<T, Node>> = has_no_dims<Node>;
template <class T, class Node>
void check_ranks(const char* op, const as_type<T, Node>& n, node_role) {
  check_ranks(op, n.node, node_role::operand);
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
