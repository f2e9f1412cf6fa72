// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix products that store an expression over their sums, in the same pass: bias, activation,
// residual, scales of quantised operands, gates, a second result.
//
//     linear(stream, x, weight, out, epilogue(silu(product * scale + bias) + residual));
#pragma once

#include <flaggems/kernel/family/gemm/epilogue.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/gemm.hpp>

namespace flaggems {

namespace detail {

/// The product's sums as a leaf of an expression.
template <class T>
struct product_node {
  using element = T;
  using device = void;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = 0;

  template <class F>
  void for_each_leaf(F&&) const {}
  template <class C, class Space>
  auto build(const Space&, int&) const {
    return converted<C>(kernels::product_value<T>{});
  }
};

/// The sum of one of two neighbouring columns, of which one result is made.
template <class T, int Part>
struct product_half_node : product_node<T> {
  template <class C, class Space>
  auto build(const Space&, int&) const {
    return converted<C>(kernels::product_half<T, Part>{});
  }
};

/// A node whose value is stored as T as well.
template <class T, class D, class Node>
struct stored_node {
  using element = typename Node::element;
  using device = D;
  static constexpr bool is_scalar = false;
  static constexpr int leaves = Node::leaves + 1;
  Node node;
  tensor_view<T, D> to;

  template <class F>
  void for_each_leaf(F&& f) const {
    node.for_each_leaf(f);
    f(to);
  }
  template <class C, class Space>
  auto build(const Space& it, int& next) const {
    static_assert(std::is_same_v<Space, added_space>,
                  "flaggems: also_store is for epilogues of matrix products");
    const auto e = node.template build<kernels::compute_type<element>>(it, next);
    kernels::stored_value<T, std::remove_const_t<decltype(e)>> r{e, to.data(), {}};
    it.copy_strides(next++, r.strides);
    return converted<C>(r);
  }
};

/// How many of a node's leaves are halves (Halves) or whole sums.
template <bool Halves, class Node>
inline constexpr int sums_read = 0;
template <class T>
inline constexpr int sums_read<false, product_node<T>> = 1;
template <class T, int Part>
inline constexpr int sums_read<true, product_half_node<T, Part>> = 1;
template <bool Halves, class T, class D, class Node>
inline constexpr int sums_read<Halves, stored_node<T, D, Node>> = sums_read<Halves, Node>;
template <bool Halves, class Rule, class F, class... Nodes>
inline constexpr int sums_read<Halves, call<Rule, F, Nodes...>> = (sums_read<Halves, Nodes> + ... +
                                                                   0);
template <bool Halves, class M, class A, class B>
inline constexpr int sums_read<Halves, choice<M, A, B>> =
    sums_read<Halves, M> + sums_read<Halves, A> + sums_read<Halves, B>;
template <bool Halves, class T, class Node>
inline constexpr int sums_read<Halves, as_type<T, Node>> = sums_read<Halves, Node>;

/// An expression over a product, whose tensors broadcast to the result.
template <class Node>
struct epilogue_operand {
  static constexpr bool replaces = true;
  static constexpr int sums_per_result = sums_read<true, Node> > 0 ? 2 : 1;
  static_assert(sums_per_result == 1 || sums_read<false, Node> == 0,
                "flaggems: an epilogue of product_even and product_odd has no `product`");
  Node node;
};
template <class Node>
shape made_of(const char* op, const shape& sums, const epilogue_operand<Node>&) {
  shape r = sums;
  if constexpr (epilogue_operand<Node>::sums_per_result == 2) {
    const int last = r.rank() - 1;
    if (last < 0 || r[last] % 2 != 0) [[unlikely]]
      raise(errc::shape_mismatch, op, "an even number of columns for product_even and product_odd",
            "sums of sizes " + to_string(sums));
    r[last] /= 2;
  }
  return r;
}

/// The same in the place of a bias; `rows`: the tensors get a dimension in front of their last one,
/// as the result did.
template <class Node>
struct epilogue_view {
  static constexpr int leaves = Node::leaves;
  static constexpr bool replaces = true;
  static constexpr int sums_per_result = epilogue_operand<Node>::sums_per_result;
  const Node& node;
  shape sizes;
  bool rows;

  template <class F>
  void for_each_leaf(F&& f) const {
    node.for_each_leaf([&](const auto& v) {
      const auto whole = v.expand(sizes);
      if (rows)
        f(as_row(whole).view());
      else
        f(whole.view());
    });
  }
  template <class>
  auto build(const added_space& space) const {
    int next = 0;
    using V = kernels::compute_type<typename Node::element>;
    const auto e = node.template build<V>(space, next);
    return kernels::gemm_epilogue<std::remove_const_t<decltype(e)>>{e};
  }
};

template <class Node>
no_bias_view without_epilogue(const epilogue_view<Node>&) {
  return {};
}

/// Raises unless what the epilogue stores besides has the sizes of the result, can be written, and
/// shares no memory with the others, nor with a tensor of the epilogue that is not exactly it.
template <class Node, class... Operands>
void check_stored(const char* op, const Node& node, const shape& sizes, const Operands&... others) {
  if constexpr (Node::leaves > 0)
    node.for_each_leaf([&](const auto& to) {
      if constexpr (!std::is_const_v<typename std::remove_cvref_t<decltype(to)>::element_type>) {
        check_sizes(op, to, sizes, "a tensor of also_store");
        check_separate_output(op, to, others...);
        node.for_each_leaf([&](const auto& v) {
          if (overlap(to, v.expand(sizes)) == overlap_kind::partial) [[unlikely]]
            raise(errc::overlap, op, "tensors of an epilogue that are distinct or the same",
                  "one that it stores to, and which overlaps another in part");
        });
      }
    });
}

/// Raises unless the epilogue's tensors broadcast to the result, and are disjoint from it or
/// exactly it.
template <class Out, class Node>
void check_added(const char* op, const Out& out, const epilogue_operand<Node>& last) {
  last.node.for_each_leaf([&](const auto& v) {
    check_broadcasts(op, v, out.shape_of());
    if (overlap(out, v.expand(out.shape_of())) == overlap_kind::partial) [[unlikely]]
      raise(errc::overlap, op,
            "an output that shares no memory with a tensor of the epilogue, or is that tensor",
            "an output that overlaps it in part");
  });
}

template <class S, class A, class B, class To, class Node>
void multiply(const char* op, const S& stream, const A& a, const B& b, const To& to,
              const shape& sizes, const epilogue_operand<Node>& last, const u8* packed) {
  using T = typename To::value_type;
  static_assert(
      std::is_void_v<typename Node::device> || std::is_same_v<typename Node::device, device_of<S>>,
      "flaggems: the tensors of an epilogue are on another device than the product");
  static_assert(kind_of<typename Node::element> <= kind_of<T>,
                "flaggems: the epilogue's dtype cannot be cast to the output's (float to integer)");
  using C = sums_for_epilogue<typename A::value_type, typename B::value_type, T>;
  if (to.empty()) return;
  check_stored(op, last.node, sizes, to, a, b);
  if constexpr (has_implementation<operators::gemm, device_of<S>>)
    replaced<operators::gemm>(op, stream);  // it takes no epilogue: the report says so
  run_gemm(op, stream, a, b, to, epilogue_view<Node>{last.node, sizes, to.rank() != sizes.rank()},
           C(1), packed);
}

}  // namespace detail

/// The sums of a matrix product as T in an epilogue; for products of f64, product_as<f64>.
template <class T>
inline constexpr expr<detail::product_node<T>> product_as{detail::product_node<T>{}};
/// The sums of a matrix product as f32 in an epilogue: of floats up to 32 bits, and of 8-bit
/// integers.
inline constexpr const auto& product = product_as<f32>;

/// The sums of columns 2 j and 2 j + 1, of which an epilogue makes column j of a result that has
/// half as many columns as the product: silu(product_even) * product_odd of a weight whose rows
/// alternate between the gate and what it multiplies.
inline constexpr expr<detail::product_half_node<f32, 0>> product_even{
    detail::product_half_node<f32, 0>{}};
inline constexpr expr<detail::product_half_node<f32, 1>> product_odd{
    detail::product_half_node<f32, 1>{}};

/// The value of an expression inside an epilogue, which also goes to `out`, rounded to its dtype:
/// gelu(also_store(sums, product + bias)).
///
/// `out` has the sizes of the product's result and shares no memory with it or the operands. Raises
/// shape_mismatch or overlap, by the product, before anything is written.
template <tensor_like Out, class Node>
[[nodiscard]] auto also_store(Out&& out, const expr<Node>& e) {
  const auto to = as_view(out);
  using T = typename std::remove_const_t<decltype(to)>::element_type;
  using D = device_t<Out>;
  static_assert(!std::is_const_v<T>, "flaggems: also_store writes to a view of const elements");
  static_assert(detail::kind_of<typename Node::element> <= detail::kind_of<T>,
                "flaggems: what also_store stores cannot be cast to the tensor's dtype");
  using node = detail::stored_node<T, D, Node>;
  return expr<node>(node{e.node, tensor_view<T, D>(to)});
}

/// Marks an expression over `product` as what `mm`, `bmm` and `linear` store. Raises dtype_mismatch
/// as evaluate.
template <class Node>
[[nodiscard]] auto epilogue(const expr<Node>& e) {
  detail::check_ranks("epilogue", e.node, detail::node_role::result);
  return detail::epilogue_operand<Node>{e.node};
}

/// out = last, an expression over the matrix product mat1 * mat2, in one pass.
///
/// mat1 [m, k], mat2 [k, n], out [m, n]; the expression's tensors broadcast to out's sizes, and may
/// be `out` itself. 8-bit integers may have any out: `product` is their exact sum modulo 2^32, as
/// f32. The expression is computed in its own dtype and rounded once. Otherwise as `mm`.
template <stream_like S, tensor_like A, tensor_like B, tensor_like Out, class Node>
void mm(const S& stream, const A& mat1, const B& mat2, Out&& out,
        const detail::epilogue_operand<Node>& last) {
  same_device<S, A, B, Out>();
  detail::mm_into(stream, as_view(mat1), as_view(mat2), as_view(out), last);
}
/// The expression over mat1 * mat2 in a new tensor of the expression's dtype (`product` is f32;
/// cast<bf16>(...) makes it another).
template <stream_like S, tensor_like A, tensor_like B, class Node>
[[nodiscard]] auto mm(const S& stream, const A& mat1, const B& mat2,
                      const detail::epilogue_operand<Node>& last) {
  auto out = empty<typename Node::element>(
      stream, detail::made_of("mm", detail::mm_shape("mm", as_view(mat1), as_view(mat2)), last),
      "mm");
  mm(stream, mat1, mat2, out, last);
  return out;
}

/// out = last, an expression over the matrix products of a batch: `mm` with an epilogue as `bmm`.
template <stream_like S, tensor_like A, tensor_like B, tensor_like Out, class Node>
void bmm(const S& stream, const A& input, const B& mat2, Out&& out,
         const detail::epilogue_operand<Node>& last) {
  same_device<S, A, B, Out>();
  detail::bmm_into(stream, as_view(input), as_view(mat2), as_view(out), last);
}
/// The expression over the products in a new tensor of its dtype.
template <stream_like S, tensor_like A, tensor_like B, class Node>
[[nodiscard]] auto bmm(const S& stream, const A& input, const B& mat2,
                       const detail::epilogue_operand<Node>& last) {
  auto out = empty<typename Node::element>(
      stream, detail::made_of("bmm", detail::bmm_shape("bmm", as_view(input), as_view(mat2)), last),
      "bmm");
  bmm(stream, input, mat2, out, last);
  return out;
}

/// out = last, an expression over x * weight^T, in one pass: bias, activation, residual, scales.
///
/// x [..., k], weight [n, k], out [..., n]; the expression's tensors broadcast to out's sizes: a
/// bias or a scale of the columns has [n], a scale of the rows [..., 1]. They may be `out` itself.
/// Otherwise as `mm` with an epilogue. Raises shape_mismatch or overlap before anything is written.
template <stream_like S, tensor_like X, tensor_like W, tensor_like Out, class Node>
void linear(const S& stream, const X& x, const W& weight, Out&& out,
            const detail::epilogue_operand<Node>& last) {
  same_device<S, X, W, Out>();
  detail::linear_into(stream, as_view(x), as_view(weight), as_view(out), last);
}
/// The expression over x * weight^T in a new tensor of its dtype.
template <stream_like S, tensor_like X, tensor_like W, class Node>
[[nodiscard]] auto linear(const S& stream, const X& x, const W& weight,
                          const detail::epilogue_operand<Node>& last) {
  auto out = empty<typename Node::element>(
      stream, detail::made_of("linear", detail::linear_shape(as_view(x), as_view(weight)), last),
      "linear");
  linear(stream, x, weight, out, last);
  return out;
}

}  // namespace flaggems
