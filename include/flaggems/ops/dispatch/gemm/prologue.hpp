// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How products of an expression are computed: evaluated while it is read, or before.
#pragma once

#include <flaggems/kernel/family/gemm/vector/prologue.hpp>
#include <flaggems/ops/dispatch/gemm/call.hpp>
#include <flaggems/ops/expr.hpp>

namespace flaggems::detail {

/// An expression as an operand of a product: the interface of a view, without data and strides.
template <class Node>
class lazy_matrix {
 public:
  using value_type = typename Node::element;
  static constexpr int leaves = Node::leaves;

  lazy_matrix(const char* op, const Node& n) : node_(n) {
    check_ranks(op, n, node_role::result);
    broadcast_sizes all{{}, op};
    n.for_each_leaf(all);
    own_ = sizes_ = all.sizes;
  }
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const shape& own_sizes() const { return own_; }
  [[nodiscard]] int rank() const { return sizes_.rank(); }
  [[nodiscard]] i64 size(int d) const { return sizes_[d < 0 ? d + sizes_.rank() : d]; }
  [[nodiscard]] const shape& shape_of() const { return sizes_; }

  // What the operators make of their operands: unsqueeze(-2) before expand.
  [[nodiscard]] const lazy_matrix& view() const { return *this; }
  [[nodiscard]] lazy_matrix unsqueeze(int d) const {
    lazy_matrix r = *this;
    r.row_ = true;
    r.sizes_.insert(sizes_.rank() + 1 + d, 1);
    return r;
  }
  [[nodiscard]] lazy_matrix expand(const shape& sizes) const {
    lazy_matrix r = *this;
    r.sizes_ = sizes;
    return r;
  }
  /// The same of a tensor that broadcasts to the expression's own sizes.
  template <class View>
  [[nodiscard]] auto apply(const View& v) const {
    const auto whole = v.expand(own_);
    return row_ ? as_row(whole).expand(sizes_) : whole.expand(sizes_);
  }
  template <class F>
  void for_each_leaf(F&& f) const {
    node_.for_each_leaf([&](const auto& v) { f(apply(v)); });
  }

 private:
  const Node& node_;
  shape own_, sizes_;
  bool row_ = false;
};

template <class Node>
void check_no_operand_overlap(const char* op, const placed_layout& out,
                              const lazy_matrix<Node>& x) {
  x.node().for_each_leaf([&](const auto& v) { check_no_overlap(op, out, layout_of(v)); });
}

/// The epilogue of a product with such an operand.
template <class Added, class Node>
struct with_prologue {
  static constexpr int leaves = Added::leaves + Node::leaves;
  static constexpr bool replaces = Added::replaces;
  static constexpr int sums_per_result = detail::sums_per_result<Added>;
  const Added& added;
  const lazy_matrix<Node>& first;

  template <class F>
  void for_each_leaf(F&& f) const {
    added.for_each_leaf(f);
    first.for_each_leaf(f);
  }
  template <class C>
  auto build(const added_space& space) const {
    return added.template build<C>(space);
  }
  /// Its values are those of its dtype; the host rounds when it stores them.
  auto prologue(const added_space& space) const {
    using T = typename Node::element;
    int next = Added::leaves;
    const auto make = [](const auto& e) {
      return kernels::gemm_prologue<std::remove_cvref_t<decltype(e)>>{e};
    };
    if constexpr (has_thread_pool<typename Node::device>)
      return make(first.node().template build<kernels::compute_type<T>>(space, next));
    else
      return make(
          as_type<T, Node>{first.node()}.template build<kernels::compute_type<T>>(space, next));
  }
};
template <class Added, class Node>
auto without_epilogue(const with_prologue<Added, Node>& x) {
  static constexpr no_bias_view none;
  return with_prologue<no_bias_view, Node>{none, x.first};
}
template <class Added, class Node, class A>
struct first_operand<with_prologue<Added, Node>, A> {
  using type = decltype(std::declval<const with_prologue<Added, Node>&>().prologue(
      std::declval<const added_space&>()));
};

/// An operand given by an expression, of which only the line length is known here.
template <class T>
struct absent_matrix {
  i64 length;
  i64 zeros[max_rank]{};
  [[nodiscard]] i64 size(int) const { return length; }
  [[nodiscard]] i64 stride(int) const { return 0; }
  [[nodiscard]] std::span<const i64> strides() const { return zeros; }
  [[nodiscard]] const T* data() const { return nullptr; }
};

/// Up to so many rows, or, on the host, elements are evaluated before the product: the kernels of
/// few rows read them more than once.
inline constexpr i64 evaluated_rows = gemm_policy::skinny;
inline constexpr i64 evaluated_elements = gemm_policy::small_side * gemm_policy::small_side;

template <class S, class Node, class B, class Out, class Added, class C>
void run_gemm(const char* op, const S& stream, const lazy_matrix<Node>& a, const B& b,
              const Out& out, const Added& aux, C alpha, const u8* packed) {
  using T = typename Node::element;
  using D = device_of<S>;
  static_assert(
      std::is_same_v<typename Node::device, D>,
      "flaggems: the tensors of a product's operand are on another device than the product");
  const i64 elements = a.own_sizes().numel();
  const bool short_at_all = has_thread_pool<D> && elements <= evaluated_elements;
  if (short_at_all || elements <= evaluated_rows * a.size(-1)) {
    auto values = empty<T>(stream, a.own_sizes(), op);
    assign_node(op, stream, as_view(values), a.node());
    run_gemm(op, stream, a.apply(as_view(values)), b, out, aux, alpha, packed);
    return;
  }
  using added = with_prologue<Added, Node>;
  gemm_call<T, typename B::value_type, typename Out::value_type, added>::run(
      op, stream, absent_matrix<T>{a.size(-1)}, b, out, added{aux, a}, alpha, packed);
}

}  // namespace flaggems::detail
