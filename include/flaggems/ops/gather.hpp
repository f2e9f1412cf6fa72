// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads of elements at indices: gather, take, and index with tensors for several dimensions.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/dispatch/scatter.hpp>
#include <flaggems/ops/index_list.hpp>
#include <flaggems/ops/index_select.hpp>

namespace flaggems {
namespace operators {
struct gather;
struct take;
struct index;
}  // namespace operators

namespace detail {

/// Raises shape_mismatch unless an index has x's dimensions and, but in dimension d, no more
/// elements along each.
FLAGGEMS_NOINLINE_ONCE void check_along(const char* op, int_list index, int_list x, int d) {
  bool fits = index.size() == x.size();
  for (int k = 0; fits && k < index.size(); ++k) fits = k == d || index[k] <= x[k];
  if (!fits) [[unlikely]]
    raise_shapes(op, "an index of no more elements but along the dimension", index, x);
}
/// A view with at least one dimension.
template <class T, class D>
tensor_view<T, D> with_dims(const tensor_view<T, D>& v) {
  return v.rank() == 0 ? v.unsqueeze(0) : v;
}

template <class S, class T, class J, class D>
void gather_into(const S& stream, const tensor_view<const T, D>& given, i64 dim,
                 const tensor_view<const J, D>& given_index, const tensor_view<T, D>& given_out) {
  constexpr const char* op = "gather";
  check_output_sizes(op, given_index.shape_of(), given_out);
  const int d = normalize_dim(dim, given.rank(), op);
  const auto x = with_dims(given);
  const auto index = with_dims(given_index);
  const auto out = with_dims(given_out);
  if (index.empty()) return;
  check_along(op, index.sizes(), x.sizes(), d);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(index));
  check_many_indices(op, stream, index, x.size(d));
  if (!replaced<operators::gather>(op, stream, x, d, index, out))
    launch_gather(op, stream, elements_along(x, d, index), out);
}

template <class S, class T, class J, class D>
void take_into(const S& stream, const tensor_view<const T, D>& x,
               const tensor_view<const J, D>& index, const tensor_view<T, D>& out) {
  constexpr const char* op = "take";
  check_output_sizes(op, index.shape_of(), out);
  if (x.empty() && !index.empty()) [[unlikely]]
    raise(errc::out_of_range, op, "elements to take", "none");
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(x));
  check_no_overlap(op, written, layout_of(index));
  check_indices(op, stream, index, x.numel(), {}, true);
  if (out.empty() || replaced<operators::take>(op, stream, x, index, out)) return;
  tensor<T, D> own;
  const auto row = as_row(op, stream, x, own);
  element_offsets<S, D> offsets(op, stream, index.shape_of(), {});
  offsets.add(leaf<J, D>{index}, x.numel(), 1, true);
  const shape none = with_dims(index).shape_of();
  shape strides(none);
  for (i64& k : strides) k = 0;
  launch_gather(op, stream,
                indexed_elements<const T, i64, D>{row.data(), strides, x.numel(), 1,
                                                  with_dims(offsets.view())},
                with_dims(out));
}

}  // namespace detail

/// out[.., i, ..] = x[.., index[.., i, ..], ..] along `dim`.
///
/// Shapes: index has x's dimensions, and no more elements along each but `dim`; out has index's
/// sizes. Any dtype of at most 8 bytes; out has x's and shares no memory with an input; indices are
/// i64 or i32.
/// Indices outside [0, size(dim)) raise out_of_range where the host can read them, and give zeros
/// elsewhere. Raises shape_mismatch or overlap. All before anything is written.
/// aten::gather.out(Tensor self, int dim, Tensor index, *, bool sparse_grad=False, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Index, tensor_like Out>
void gather(const S& stream, const X& x, i64 dim, const Index& index, Out&& out, bool = false) {
  using D = device_of<S>;
  same_device<S, X, i64, Index, Out>();
  if constexpr (detail::check_lookup_types<const X&, Index, Out>())
    detail::gather_into(stream, tensor_view<const value_t<const X&>, D>(as_view(x)), dim,
                        tensor_view<const value_t<Index>, D>(as_view(index)), as_view(out));
}
template <stream_like S, tensor_like X, tensor_like Index>
[[nodiscard]] auto gather(const S& stream, const X& x, i64 dim, const Index& index,
                          bool sparse_grad = false) {
  auto out = empty<value_t<const X&>>(stream, as_view(index).shape_of(), "gather");
  gather(stream, x, dim, index, out, sparse_grad);
  return out;
}

/// out[i] = element index[i] of x in row-major order; indices below 0 count from the end. out has
/// index's sizes. Otherwise as gather.
/// aten::take.out(Tensor self, Tensor index, *, Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Index, tensor_like Out>
void take(const S& stream, const X& x, const Index& index, Out&& out) {
  using D = device_of<S>;
  same_device<S, X, Index, Out>();
  if constexpr (detail::check_lookup_types<const X&, Index, Out>())
    detail::take_into(stream, tensor_view<const value_t<const X&>, D>(as_view(x)),
                      tensor_view<const value_t<Index>, D>(as_view(index)), as_view(out));
}
template <stream_like S, tensor_like X, tensor_like Index>
[[nodiscard]] auto take(const S& stream, const X& x, const Index& index) {
  auto out = empty<value_t<const X&>>(stream, as_view(index).shape_of(), "take");
  take(stream, x, index, out);
  return out;
}

namespace detail {
template <class S, class T, class D>
void index_into(const S& stream, const tensor_view<const T, D>& x, const index_list<S, D>& list,
                const tensor_view<T, D>& out) {
  constexpr const char* op = "index";
  check_output_sizes(op, list.result_sizes(), out);
  check_writable(op, out);
  const placed_layout written(layout_of(out));
  check_no_overlap(op, written, layout_of(x));
  list.check(written);
  const tensor_view<const T, D> seen = list.operand(x);
  if (out.empty() || replaced<operators::index>(op, stream, seen, list.views(), out)) return;
  element_offsets<S, D> offsets(op, stream, list.index_sizes(), list.step_of(seen));
  launch_gather(op, stream, list.elements(seen, offsets), with_dims(out));
}
}  // namespace detail

/// out = x[i, :, j], as Python writes it: the elements of x at tensors of indices.
///
/// indices: a tuple or range with an entry for each of x's first dimensions: a tensor of i64 or
/// i32; or a mask of bool, for as many dimensions as it has: the indices of its true elements (of
/// one without dimensions: a new dimension of size 1 or 0); or std::nullopt for a whole dimension
/// (a range: of std::optional of views). The tensors broadcast together. Their dimensions replace
/// the indexed ones, or stand in front if a whole dimension lies between these. Indices below 0
/// count from the end. Raises out_of_range for other indices where the host can read them
/// (elsewhere they give zeros), shape_mismatch, and invalid_argument for more indices than
/// dimensions. bool indices wait for the stream. aten::index.Tensor_out(Tensor self, Tensor?[]
/// indices, *, Tensor(a!) out)
template <stream_like S, tensor_like X, class List, tensor_like Out>
requires(!tensor_like<List>) void index(const S& stream, const X& x, const List& indices,
                                        Out&& out) {
  using T = value_t<const X&>;
  same_device<S, X, i64, Out>();
  static_assert(std::is_same_v<T, value_t<Out>>,
                "flaggems: the output has the dtype of the elements that are looked up");
  const tensor_view<const T, device_of<S>> v(as_view(x));
  detail::index_into(stream, v,
                     detail::index_list<S, device_of<S>>("index", stream, v.shape_of(), indices),
                     tensor_view<T, device_of<S>>(as_view(out)));
}
template <stream_like S, tensor_like X, class List>
requires(!tensor_like<List>)
    [[nodiscard]] auto index(const S& stream, const X& x, const List& indices) {
  using T = value_t<const X&>;
  constexpr const char* op = "index";
  same_device<S, X>();
  const tensor_view<const T, device_of<S>> v(as_view(x));
  const detail::index_list<S, device_of<S>> list(op, stream, v.shape_of(), indices);
  tensor<T, device_of<S>> out(ref(stream), list.result_sizes(), list.result_strides(v), op);
  detail::index_into(stream, v, list, out.view());
  return out;
}

}  // namespace flaggems
