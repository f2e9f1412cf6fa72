// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors beside each other along dimensions that they may not have: cat of views of them.
#pragma once

#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/creation.hpp>

#include <initializer_list>

namespace flaggems {
namespace detail {

// ---- lists of tensors, seen through a function of views

/// The views f(x) of a range of tensors.
template <class List, class F>
struct seen_list {
  using base = decltype(std::begin(std::declval<const List&>()));
  const List& list;
  F f;
  struct iterator {
    base at;
    const F* f;
    auto operator*() const { return (*f)(as_view(*at)); }
    iterator& operator++() { return ++at, *this; }
    friend bool operator!=(const iterator& a, const iterator& b) { return a.at != b.at; }
  };
  [[nodiscard]] iterator begin() const { return {std::begin(list), &f}; }
  [[nodiscard]] iterator end() const { return {std::end(list), &f}; }
};
template <class List, class F>
seen_list<List, F> seen_through(const List& list, const F& f) {
  return {list, f};
}
template <class... X, class F>
auto seen_through(const std::tuple<X...>& list, const F& f) {
  return std::apply([&](const auto&... x) { return std::tuple(f(as_view(in_place(x)))...); }, list);
}

/// The sizes that all tensors of a list have, which stack asks for; shape_mismatch for others.
template <class List>
shape common_sizes(const char* op, const List& list) {
  shape sizes;
  bool any = false;
  for_each_operand(list, [&](const auto& x) {
    if (!any)
      sizes = shape(x.sizes());
    else if (!same_sizes(sizes, x.sizes())) [[unlikely]]
      raise_other_sizes(op, sizes, x.sizes());
    any = true;
  });
  if (!any) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one tensor", "none");
  return sizes;
}

/// The tensors of a list with a new dimension `dim` of size 1.
template <class List>
auto unsqueezed(const List& list, i64 dim, const char* op) {
  const int d = normalize_dim(dim, common_sizes(op, list).rank() + 1, op);
  return std::pair(seen_through(list, [d](const auto& v) { return v.unsqueeze(d); }), d);
}
/// With at least one dimension, and the dimension that hstack joins, by the first of them; with
/// two.
template <class List>
auto in_a_row(const List& list, int& dim) {
  int rank = -1;
  for_each_operand(list, [&](const auto& x) { rank = rank < 0 ? x.rank() : rank; });
  dim = rank > 1 ? 1 : 0;
  return seen_through(list, [](const auto& v) { return v.rank() == 0 ? v.view({1}) : v.view(); });
}
template <class List>
auto in_a_column(const List& list) {
  return seen_through(list, [](const auto& v) {
    return v.rank() == 0 ? v.view({1, 1}) : v.rank() == 1 ? v.unsqueeze(0) : v.view();
  });
}

/// The list's tensors that cat joins, with the dimension to join.
struct stack_views {
  i64 dim;
  template <class List, class F>
  auto operator()(const List& list, const F& f) const {
    const auto [views, d] = unsqueezed(list, dim, "stack");
    return f("stack", views, d);
  }
};
struct hstack_views {
  template <class List, class F>
  auto operator()(const List& list, const F& f) const {
    int dim = 0;
    const auto views = in_a_row(list, dim);
    return f("hstack", views, dim);
  }
};
struct vstack_views {
  template <class List, class F>
  auto operator()(const List& list, const F& f) const {
    const auto views = in_a_column(list);
    return f("vstack", views, 0);
  }
};
template <class Views, class S, class List, class T, class D>
void join_into(const Views& views, const S& stream, const List& list,
               const tensor_view<T, D>& out) {
  views(list,
        [&](const char* op, const auto& seen, i64 dim) { cat_into(op, stream, seen, dim, out); });
}
template <class Views, class S, class List>
auto join_new(const Views& views, const S& stream, const List& list) {
  return views(list, [&](const char* op, const auto& seen, i64 dim) {
    return joined(op, stream, seen, dim);
  });
}

}  // namespace detail

/// out = the tensors, all of one shape, along a new dimension.
///
/// Shapes: out has size n, the number of tensors, in dimension `dim`, and theirs in the others. The
/// elements are converted to out's dtype, as cat does. Raises invalid_argument for no tensors,
/// shape_mismatch, out_of_range or overlap, before anything is written.
/// aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out)
template <stream_like S, tensor_list List, tensor_like Out>
void stack(const S& stream, const List& tensors, Out&& out, i64 dim = 0) {
  same_device<S, i64, Out>();
  detail::join_into(detail::stack_views{dim}, stream, tensors, as_view(out));
}
/// stack in a new tensor, of the dtype that the tensors' dtypes promote to.
template <stream_like S, tensor_list List>
[[nodiscard]] auto stack(const S& stream, const List& tensors, i64 dim = 0) {
  return detail::join_new(detail::stack_views{dim}, stream, tensors);
}
template <stream_like S, class T, class D, tensor_like Out>
void stack(const S& stream, std::initializer_list<tensor_view<T, D>> tensors, Out&& out,
           i64 dim = 0) {
  stack<S, std::initializer_list<tensor_view<T, D>>>(stream, tensors, out, dim);
}
template <stream_like S, class T, class D>
[[nodiscard]] auto stack(const S& stream, std::initializer_list<tensor_view<T, D>> tensors,
                         i64 dim = 0) {
  return stack<S, std::initializer_list<tensor_view<T, D>>>(stream, tensors, dim);
}
/// cat along dimension 1; along dimension 0 for vectors and tensors without dimensions.
/// aten::hstack.out(Tensor[] tensors, *, Tensor(a!) out)
template <stream_like S, tensor_list List, tensor_like Out>
void hstack(const S& stream, const List& tensors, Out&& out) {
  same_device<S, i64, Out>();
  detail::join_into(detail::hstack_views{}, stream, tensors, as_view(out));
}
template <stream_like S, tensor_list List>
[[nodiscard]] auto hstack(const S& stream, const List& tensors) {
  return detail::join_new(detail::hstack_views{}, stream, tensors);
}
/// cat along dimension 0 of what has two dimensions at least: vectors are rows.
/// aten::vstack.out(Tensor[] tensors, *, Tensor(a!) out)
template <stream_like S, tensor_list List, tensor_like Out>
void vstack(const S& stream, const List& tensors, Out&& out) {
  same_device<S, i64, Out>();
  detail::join_into(detail::vstack_views{}, stream, tensors, as_view(out));
}
template <stream_like S, tensor_list List>
[[nodiscard]] auto vstack(const S& stream, const List& tensors) {
  return detail::join_new(detail::vstack_views{}, stream, tensors);
}

namespace detail {
/// The sizes of block_diag, and where each tensor lies: f(view of two dimensions, row, column).
template <class List, class F>
shape place_blocks(const List& list, const F& f) {
  i64 rows = 0, columns = 0;
  for_each_operand(list, [&](const auto& x) {
    if (x.rank() > 2) [[unlikely]]
      raise_sizes("block_diag", "at most two dimensions", x.sizes());
    const auto v = x.rank() == 0 ? x.view({1, 1}) : x.rank() == 1 ? x.unsqueeze(0) : x.view();
    f(v, rows, columns);
    rows += v.size(0), columns += v.size(1);
  });
  return {rows, columns};
}
}  // namespace detail

/// out = the tensors, of at most two dimensions, as blocks along the diagonal; zero elsewhere.
/// aten::block_diag.out(Tensor[] tensors, *, Tensor(a!) out)
template <stream_like S, tensor_list List, tensor_like Out>
void block_diag(const S& stream, const List& tensors, Out&& out) {
  constexpr const char* op = "block_diag";
  same_device<S, i64, Out>();
  const auto to = as_view(out);
  detail::check_output_sizes(op, detail::place_blocks(tensors, [](const auto&, i64, i64) {}), to);
  detail::check_writable(op, to);
  const detail::placed_layout written(detail::layout_of(to));
  detail::for_each_operand(
      tensors, [&](const auto& x) { detail::check_no_overlap(op, written, detail::layout_of(x)); });
  detail::fill(op, stream, to, 0);
  static_cast<void>(detail::place_blocks(tensors, [&](const auto& v, i64 row, i64 column) {
    detail::assign_node(op, stream, to.narrow(0, row, v.size(0)).narrow(1, column, v.size(1)),
                        detail::node_of(v));
  }));
}
template <stream_like S, tensor_list List>
[[nodiscard]] auto block_diag(const S& stream, const List& tensors) {
  const shape sizes = detail::place_blocks(tensors, [](const auto&, i64, i64) {});
  auto out = empty<typename detail::cat_element<List>::type>(stream, sizes, "block_diag");
  block_diag(stream, tensors, out);
  return out;
}

namespace detail {
/// `dim`, counted from the end if negative and all tensors have as many dimensions.
template <class List>
i64 chunk_cat_dim(const char* op, const List& tensors, i64 dim) {
  if (dim >= 0) return dim;
  int rank = -1;
  for_each_operand(tensors, [&](const auto& x) {
    const int of_x = static_cast<int>(x.sizes().size());
    if (rank >= 0 && rank != of_x) [[unlikely]]
      raise(errc::invalid_argument, op,
            "a dimension from 0 on, where tensors differ in the number of dimensions", text(dim));
    rank = of_x;
  });
  return rank < 0 ? 0 : existing_dim(dim, rank, op);
}
/// The sizes of chunk_cat: those before dim, the chunks, and the elements of all tensors in a
/// chunk.
template <class List>
shape chunk_cat_sizes(const char* op, const List& tensors, i64 dim, i64 num_chunks) {
  if (num_chunks < 1) [[unlikely]]
    raise(errc::invalid_argument, op, "a positive number of chunks", text(num_chunks));
  shape sizes;
  i64 length = 0;
  bool is_first = true;
  for_each_operand(tensors, [&](const auto& x) {
    const int rank = static_cast<int>(x.sizes().size());
    shape lead, all(x.sizes());
    for (int d = 0; d < rank && d < dim; ++d) lead.push_back(all[d]);
    if (rank <= dim || (!is_first && !same_sizes(lead, sizes))) [[unlikely]]
      raise(errc::shape_mismatch, op, "tensors with equal sizes before the dimension",
            to_string(all));
    sizes = lead;
    i64 rest = kernels::ceil_div(all[static_cast<int>(dim)], num_chunks);
    for (int d = static_cast<int>(dim) + 1; d < rank; ++d) rest *= all[d];
    length += rest;
    is_first = false;
  });
  if (is_first) [[unlikely]]
    raise(errc::invalid_argument, op, "at least one tensor", "none");
  sizes.push_back(num_chunks);
  sizes.push_back(length);
  return sizes;
}
template <class S, class List, class T, class D>
void chunk_cat_into(const char* op, const S& stream, const List& tensors, i64 dim, i64 num_chunks,
                    const tensor_view<T, D>& out) {
  check_output_sizes(op, chunk_cat_sizes(op, tensors, dim, num_chunks), out);
  check_writable(op, out);
  const placed_layout to = layout_of(out);
  for_each_operand(tensors, [&](const auto& x) { check_no_overlap(op, to, layout_of(x)); });
  fill(op, stream, out, 0);
  const int d = static_cast<int>(dim);
  i64 start = 0;
  for_each_operand(tensors, [&](const auto& x) {
    const auto v = input_of(x);
    const i64 n = v.size(d), each = kernels::ceil_div(n, num_chunks);
    shape inner;  // of an element along the dimension
    for (int k = d; k < v.rank(); ++k) inner.push_back(v.size(k));
    inner[0] = 1;
    const i64 rest = inner.numel();
    for (i64 c = 0; c * each < n; ++c) {
      const i64 count = kernels::min_of(each, n - c * each);
      inner[0] = count;
      const auto part = out.select(d, c).narrow(d, start, count * rest);
      if (!part.empty())
        copy_into(op, stream, part.unflatten(d, inner), v.narrow(d, c * each, count));
    }
    start += each * rest;
  });
}
}  // namespace detail

/// out = the tensors cut into chunks along `dim` and flattened behind it, chunk c of each one after
/// the other in out[.., c, :]; zeros where a tensor has fewer elements.
///
/// Shapes: equal before `dim`, which may count from the end where all have as many dimensions; out:
/// these sizes, num_chunks, and the elements of the tensors' chunks. All of one dtype. Raises
/// invalid_argument, out_of_range, shape_mismatch or overlap before anything is written.
/// aten::_chunk_cat.out(Tensor[] tensors, int dim, int num_chunks, *, Tensor(a!) out)
template <stream_like S, tensor_list List, tensor_like Out>
void chunk_cat(const S& stream, const List& tensors, Out&& out, i64 dim, i64 num_chunks) {
  same_device<S, i64, Out>();
  constexpr const char* op = "chunk_cat";
  detail::chunk_cat_into(op, stream, tensors, detail::chunk_cat_dim(op, tensors, dim), num_chunks,
                         as_view(out));
}
template <stream_like S, tensor_list List>
[[nodiscard]] auto chunk_cat(const S& stream, const List& tensors, i64 dim, i64 num_chunks) {
  constexpr const char* op = "chunk_cat";
  dim = detail::chunk_cat_dim(op, tensors, dim);
  auto out = empty<typename detail::cat_element<List>::type>(
      stream, detail::chunk_cat_sizes(op, tensors, dim, num_chunks), op);
  chunk_cat(stream, tensors, out, dim, num_chunks);
  return out;
}

}  // namespace flaggems
