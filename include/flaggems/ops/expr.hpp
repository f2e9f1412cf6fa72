// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Lazy expressions on views: `silu(x) * y + 1` builds a type, `assign(stream, out, e)` evaluates it
// in one pass. Operands broadcast, may have any strides and different dtypes; PyTorch's promotion
// rules hold, with numbers as weak operands. Between the operators of one expression 16-bit floats
// stay f32: the result is rounded once.
#pragma once

#include <flaggems/device/checks.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/ops/dispatch/pointwise.hpp>
#include <flaggems/ops/nodes.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>
#include <flaggems/ops/plan/result.hpp>

#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems {

namespace operators {
struct where;
struct copy_;
struct fill_;
}  // namespace operators

namespace detail {

struct expr_base {};

}  // namespace detail

/// A lazy expression. It stores views of named tensors, which must live until `assign`, and owns
/// temporary tensors.
template <class Node>
struct expr : detail::expr_base {
  using node_type = Node;
  using value_type = typename Node::element;
  using device_type = typename Node::device;
  Node node;
  constexpr explicit expr(Node n) : node(std::move(n)) {}
};

template <class X>
inline constexpr bool is_expr = std::is_base_of_v<detail::expr_base, std::remove_cvref_t<X>>;

namespace detail {
template <class T, class D>
void check_no_dims(const tensor_view<T, D>& v) {
  if (v.rank() != 0) [[unlikely]]
    raise(errc::shape_mismatch, "as_scalar", "a tensor without dimensions",
          to_string(shape(v.sizes())));
}
}  // namespace detail
/// x as a view without dimensions at compile time: among tensors with dimensions it changes the
/// result's dtype only by a higher kind, as in PyTorch. For a temporary tensor, an expression that
/// owns it. Raises shape_mismatch if x has any dimension.
template <tensor_like X>
[[nodiscard]] auto as_scalar(X&& x) {
  const auto v = as_view(x);
  detail::check_no_dims(v);
  if constexpr (std::is_lvalue_reference_v<X> || detail::is_tensor_view<std::remove_cvref_t<X>>) {
    return tensor_view<element_t<X>, device_t<X>, extents<>>(v);
  } else {
    using node = detail::owning_scalar_leaf<value_t<X>, device_t<X>>;
    return expr<node>(node(x));
  }
}

namespace detail {
/// Does not compile: an expression has no elements to print.
template <class Node>
const char* refuse_printing_expression() {
  static_assert(!std::is_class_v<Node>,
                "flaggems: to_string and << take tensors and views: evaluate(stream, e) makes a "
                "tensor of a formula");
  return "";
}
}  // namespace detail
/// Do not compile: an expression is not a tensor yet.
template <class Node, class... Options>
const char* to_string(const expr<Node>&, const Options&...) {
  return detail::refuse_printing_expression<Node>();
}
template <class Stream, class Node>
requires requires { typename Stream::char_type; }
Stream& operator<<(Stream& out, const expr<Node>&) {
  detail::refuse_printing_expression<Node>();
  return out;
}

/// A view, an owning tensor or an expression.
template <class X>
concept tensor_operand = is_expr<X> || tensor_like<X>;
/// What an operator of an expression takes: that, or a number.
template <class X>
concept operand = tensor_operand<X> || number_operand<std::remove_cvref_t<X>>;

namespace detail {

template <class X>
inline constexpr bool is_tensor = false;
template <class T, class D>
inline constexpr bool is_tensor<tensor<T, D>> = true;

/// The node of an operand, deduced as a forwarding reference is.
template <class X>
requires operand<X>
auto node_of(X&& x) {
  using operand_type = std::remove_cvref_t<X>;
  if constexpr (is_expr<X>) {
    return std::forward<X>(x).node;
  } else if constexpr (tensor_like<X>) {
    using T = value_t<X>;
    using D = device_t<X>;
    if constexpr (is_tensor<operand_type> && !std::is_lvalue_reference_v<X>)
      return owning_leaf<T, D>(x);
    else if constexpr (requires { requires operand_type::extents_type::static_rank == 0; })
      return scalar_leaf<T, D>{{as_view(x)}};
    else
      return leaf<T, D>{as_view(x)};
  } else {
    return number<operand_type>{x};
  }
}
/// The type of that node.
template <class X>
using node_t = decltype(node_of(std::declval<X>()));

/// The node of an operand, without a copy if that is an expression.
template <operand X>
decltype(auto) root_of(const X& x) {
  if constexpr (is_expr<X>)
    return (x.node);
  else
    return node_of(x);
}

/// Raises if x is a number that dtype T cannot hold.
template <class T, class X>
void check_number(const char* op, const X& x) {
  if constexpr (scalar_operand<X>) check_integer<T>(op, x);
}

/// What the options of a functor F must be, where not all numbers will do: a specialisation has
/// check<P>(f), which raises invalid_argument; P is the operands' promoted dtype.
template <class F>
struct option_limits {};

/// Raises unless an integer dtype P holds the whole part of an option. Options are f64, which has
/// all integers below 2^53 only: of 64 bits, greater ones may have been rounded before.
template <class P>
void check_option(const char* op, f64 value) {
  if constexpr (kernels::is_integer<P>) {
    constexpr f64 exact = 9007199254740991.0;  // 2^53 - 1
    constexpr bool wide = sizeof(P) == 8;
    const f64 low = !std::is_signed_v<P> ? 0
                    : wide               ? -exact
                                         : static_cast<f64>((std::numeric_limits<P>::min)());
    const f64 high = wide ? exact : static_cast<f64>((std::numeric_limits<P>::max)());
    if (!(value >= low && value <= high)) [[unlikely]]
      raise_number<P>(op, text(value));
  }
}

/// F over operands, under a rule. Raises invalid_argument for an option that F does not take, and
/// for a number that F keeps and the promoted dtype does not hold.
template <class Rule, class F, operand... X>
auto make_call(F f, X&&... x) {
  using node = call<Rule, F, node_t<X>...>;
  if constexpr (keeps_numbers<F> != nullptr)
    (check_number<typename node::promoted>(keeps_numbers<F>, x), ...);
  if constexpr (requires { option_limits<F>::template check<typename node::promoted>(f); })
    option_limits<F>::template check<typename node::promoted>(f);
  return expr<node>(node{f, {node_of(std::forward<X>(x))...}});
}

/// A node whose result is stored as T, without its last conversion to T: the store converts, so
/// there is one rounding.
template <class T, class Node>
const Node& before_store(const Node& node) {
  return node;
}
template <class T, class Node>
const Node& before_store(const as_type<T, Node>& node) {
  return node.node;
}

/// A node as an argument of an `implementation`: a view or a number.
template <class T, class D>
const tensor_view<const T, D>& operand_of(const leaf<T, D>& n) {
  return n.view;
}
template <class T>
const T& operand_of(const number<T>& n) {
  return n.value;
}
template <class Node>
inline constexpr bool is_plain = requires(const Node& n) {
  operand_of(n);
};

/// Offers an operator on nodes, and its other arguments, to the device's own implementation. That
/// cannot take operands that are expressions; the dispatch report then says so.
template <class Op, class S, class... Nodes, class... Rest>
bool offer(const char* op, const S& stream, const std::tuple<Nodes...>& nodes,
           const Rest&... rest) {
  if constexpr (!has_implementation<Op, device_of<S>>)
    return false;
  else if constexpr (!(is_plain<std::remove_cvref_t<Nodes>> && ...)) {
    report_candidate<implementation<Op, device_of<S>>>(op, device_of<S>::name, 0,
                                                       "an operand is an expression");
    return false;
  } else
    return std::apply(
        [&](const auto&... n) { return replaced<Op>(op, stream, operand_of(n)..., rest...); },
        nodes);
}

/// Offers the work to an implementation of the expression's root operator. A functor with options
/// is passed after `out`.
template <class S, class Out, class Node>
bool offer_root(const char*, const S&, const Out&, const Node&) {
  return false;
}
template <class S, class Out, class Rule, class F, class... Nodes>
bool offer_root(const char* op, const S& stream, const Out& out,
                const call<Rule, F, Nodes...>& node) {
  if constexpr (std::is_empty_v<F>)
    return offer<F>(op, stream, node.nodes, out);
  else
    return offer<F>(op, stream, node.nodes, out, node.f);
}
template <class S, class Out, class M, class A, class B>
bool offer_root(const char* op, const S& stream, const Out& out, const choice<M, A, B>& n) {
  return offer<operators::where>(op, stream, std::tie(n.condition, n.a, n.b), out);
}
template <class S, class Out, class T, class Node>
bool offer_root(const char* op, const S& stream, const Out& out, const as_type<T, Node>& n) {
  return offer<operators::copy_>(op, stream, std::tie(n.node), out);
}
template <class S, class Out, class T>
bool offer_root(const char* op, const S& stream, const Out& out, const number<T>& n) {
  return offer<operators::fill_>(op, stream, std::tie(n), out);
}

/// Writes the layouts of the leaves of a node, `Node::leaves` of them, without their types.
struct collect_layouts {
  memory_layout* next;
  template <class T, class D>
  void operator()(const tensor_view<T, D>& v) {
    *next++ = layout_of(v);
  }
  void position() { *next++ = {}; }  // elements of 0 bytes
};
/// The sizes that tensors broadcast to.
FLAGGEMS_NOINLINE_ONCE shape broadcast_of(const char* op, layout_list leaves) {
  broadcast_sizes all{{}, op};
  for (const memory_layout& leaf : leaves)
    if (!is_position(leaf)) all.add(leaf.sizes);
  return all.sizes;
}
/// Raises the error for tensors that do not all broadcast to an output of these sizes.
[[noreturn]] FLAGGEMS_COLD_ONCE void raise_broadcast(const char* op, layout_list leaves,
                                                     int_list sizes) {
  const shape all = broadcast_of(op, leaves);
  static_cast<void>(broadcast_shapes(all, shape(sizes), op));
  raise_output_sizes(op, all, sizes);
}

/// Checks an assignment of any operands and gives its iteration space, the output first.
FLAGGEMS_NOINLINE_ONCE iteration plan_assignment(const char* op, const memory_layout& out,
                                                 layout_list leaves) {
  for (const memory_layout& leaf : leaves)
    if (!is_position(leaf) && !broadcasts_to(leaf.sizes, out.sizes)) [[unlikely]]
      raise_broadcast(op, leaves, out.sizes);
  check_writable(op, out);
  const placed_layout to(out);
  for (const memory_layout& leaf : leaves)
    if (!is_position(leaf)) check_no_partial_overlap(op, to, leaf);
  iteration it(out.sizes);
  if (it.empty()) return it;
  it.add(out.sizes, out.strides);
  for (const memory_layout& leaf : leaves) {
    if (is_position(leaf))
      it.add_position();
    else
      it.add(leaf.sizes, leaf.strides);
  }
  it.collapse();
  it.arrange_transposed();
  return it;
}

template <class T, class D, class S, class Node>
void assign_node(const char* op, const S& stream, const tensor_view<T, D>& out, const Node& node) {
  static_assert(Node::leaves < max_operands, "flaggems: an expression has at most 15 tensors");
  static_assert(std::is_void_v<typename Node::device> || std::is_same_v<typename Node::device, D>,
                "flaggems: the output is on another device than the operands");
  static_assert(
      kind_of<typename Node::element> <= kind_of<T>,
      "flaggems: the result's dtype cannot be cast to the output's (complex to float, float "
      "to integer, or number to bool)");
  flat_operands<tensor_view<T, D>> flat(out);
  node.for_each_leaf(flat);
  const auto& last = before_store<T>(node);
  using C = kernels::compute_type<typename std::decay_t<decltype(last)>::element>;
  launch_config config;
  config.op = op;
  // The common case: for small calls, a plan would take longer than the work.
  if (flat.all) {
    const i64 n = flat.n;
    if (n == 0 || offer_root(op, stream, out, node)) return;
    int next = 1;
    const auto e = last.template build<C>(flat_space{}, next);
    using E = std::remove_const_t<decltype(e)>;
    config.work = work_of(n, sizeof(T), 1 + Node::leaves);
    return launch_contiguous<T, E>(stream, config, n, flat.in_place, out.data(), e);
  }
  memory_layout layouts[1 + Node::leaves] = {layout_of(out)};
  node.for_each_leaf(collect_layouts{layouts + 1});
  const layout_list operands(layouts);
  const iteration it = plan_assignment(op, layouts[0], operands.subspan(1));
  if (it.empty() || (!flat.all && offer_root(op, stream, out, node))) return;

  kernels::target<T> target{out.data(), {}};
  it.copy_strides(0, target.strides);
  int next = 1;
  const auto e = last.template build<C>(it, next);
  using E = std::remove_const_t<decltype(e)>;
  config.work = work_of(it.numel(), sizeof(T), 1 + Node::leaves);
  launch_any<T, E>(stream, config, it, flat.in_place, operands, target, e);
}
template <class T, class D, class S, class Node>
void assign_node(const char*, const S&, const tensor_view<const T, D>&, const Node&) {
  check_elements_written<const T>();
}

}  // namespace detail

/// out = e, element by element, in one pass.
///
/// The operands broadcast to `out.sizes()`; the result is converted to the output's dtype, which
/// must be of the same kind or a higher one (bool < integer < float < complex). The output may be
/// an operand itself (exactly in place); any other overlap is an error. Raises shape_mismatch or
/// overlap before anything is written, and invalid_argument for an integer that the dtype cannot
/// hold.
template <stream_like S, tensor_like Out, operand X>
void assign(const S& stream, Out&& out, const X& e, const char* op = "assign") {
  const auto to = as_view(out);
  same_device<S, Out>();
  detail::check_number<value_t<Out>>(op, e);
  const auto& node = detail::root_of(e);
  detail::check_ranks(op, node, detail::node_role::operand);
  detail::assign_node(op, stream, to, node);
}

namespace detail {
/// A new tensor for the values of a node.
template <class S, class Node>
tensor<typename Node::element, device_of<S>> empty_for(const char* op, const S& stream,
                                                       const Node& node) {
  broadcast_sizes all{{}, op};
  node.for_each_leaf(all);
  if (all.is_row_major) [[likely]]
    return {ref(stream), all.sizes, op};
  memory_layout leaves[Node::leaves > 0 ? Node::leaves : 1];
  node.for_each_leaf(collect_layouts{leaves});
  return {ref(stream), all.sizes, result_strides(all.sizes, leaves), op};
}
}  // namespace detail

/// The values of an expression in a new tensor of the broadcast sizes, whose dimensions are in the
/// order that the operands have in memory: row-major if they all are, else as ATen's results.
template <stream_like S, tensor_operand X>
[[nodiscard]] auto evaluate(const S& stream, const X& e, const char* op = "evaluate") {
  const auto& node = detail::root_of(e);
  using operands_on = typename std::remove_cvref_t<decltype(node)>::device;
  static_assert(std::is_void_v<operands_on> || std::is_same_v<operands_on, device_of<S>>,
                "flaggems: the stream is on another device than the operands");
  detail::check_ranks(op, node, detail::node_role::result);
  auto out = detail::empty_for(op, stream, node);
  detail::assign_node(op, stream, as_view(out), node);
  return out;
}

/// x as dtype T (an expression), converted as by copy_: to integers, floats are truncated and
/// saturated, NaN becomes 0; to bool, all but zero is true.
template <element T, tensor_operand X>
[[nodiscard]] auto cast(X&& x) {
  using node = detail::as_type<T, detail::node_t<X>>;
  return expr<node>(node{detail::node_of(std::forward<X>(x))});
}

/// condition ? a : b, element by element (an expression). The condition is true where it is not
/// zero. Raises invalid_argument for an integer that the promoted dtype cannot hold.
template <operand M, operand A, operand B>
requires tensor_operand<M>
[[nodiscard]] auto where(M&& condition, A&& a, B&& b) {
  using node = detail::choice<detail::node_t<M>, detail::node_t<A>, detail::node_t<B>>;
  detail::check_number<typename node::element>("where", a);
  detail::check_number<typename node::element>("where", b);
  return expr<node>(node{detail::node_of(std::forward<M>(condition)),
                         detail::node_of(std::forward<A>(a)), detail::node_of(std::forward<B>(b))});
}

namespace detail {
/// Whether a functor takes numbers alone.
template <class R, class F, class... P>
constexpr bool takes_numbers(R (F::*)(P...) const) {
  return (scalar_operand<std::remove_cvref_t<P>> || ...);
}
template <class Call>
constexpr bool takes_numbers(const Call&) {
  return false;
}
}  // namespace detail

/// f(x...), element by element, for a user's functor of the device subset (an expression). f must
/// be generic over scalars and `simd`, and branch-free; 16-bit floats are passed as f32, bool as
/// i32. The result has the operands' promoted dtype, whatever f returns. In a file that nvcc
/// compiles it may be a lambda: [=] __device__ (float x) -> float { ... }.
template <class F, operand... X>
[[nodiscard]] auto apply(F f, X&&... x) {
  if constexpr (requires { &F::operator(); })
    static_assert(
        !detail::calls_with_vectors<
            typename detail::common_device<typename detail::node_t<X>::device...>::type> ||
            !detail::takes_numbers(&F::operator()),
        "flaggems: the host calls a functor with vectors: let it take any values, "
        "[](auto x) { ... }");
  static_assert(
      FLAGGEMS_RESULT_IS_KNOWN(F),
      "flaggems: a __device__ lambda says what it returns: [=] __device__ (float x) -> float");
  return detail::make_call<detail::numeric>(f, std::forward<X>(x)...);
}

}  // namespace flaggems
