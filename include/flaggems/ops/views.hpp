// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Views under ATen's names, as functions of any tensor (views have them as members, too), and their
// copies: permute(x, dims) is a view of x, permute_copy(stream, x, dims) a new tensor.
#pragma once

#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/copy.hpp>

#include <optional>
#include <vector>

namespace flaggems {

// One line a view of x: name, the member that makes it, the ATen schema's parameters. An owning
// tensor has to live longer than its view.
#define FLAGGEMS_OTHER_VIEW(name, what, ...)                                               \
  template <tensor_like X>                                                                 \
  requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto name(X&& x __VA_OPT__(, ) \
                                                                          __VA_ARGS__) {   \
    return as_view(x).what;                                                                \
  }
// The member of the same name, and what the parameters are passed as.
#define FLAGGEMS_VIEW(name, arguments, ...) \
  FLAGGEMS_OTHER_VIEW(name, name arguments __VA_OPT__(, ) __VA_ARGS__)

namespace detail {
/// Whether a view of an argument would outlive what owns the memory.
template <class X>
inline constexpr bool is_owning_temporary =
    !std::is_lvalue_reference_v<X> && !is_tensor_view<std::remove_cvref_t<X>>;
}  // namespace detail

/// Dimension i of the result is dimension dims[i].
/// aten::permute(Tensor(a) self, int[] dims)
FLAGGEMS_VIEW(permute, (dims), int_list dims)
/// Exchanges two dimensions. aten::transpose.int(Tensor(a) self, int dim0, int dim1)
FLAGGEMS_VIEW(transpose, (dim0, dim1), i64 dim0, i64 dim1)
/// The transposed matrix; identity for ranks 0 and 1. aten::t(Tensor(a) self)
FLAGGEMS_VIEW(t, ())
/// Moves dimension `source` to `destination`; the others keep their order.
/// aten::movedim.int(Tensor(a) self, int source, int destination)
FLAGGEMS_VIEW(movedim, (source, destination), i64 source, i64 destination)
/// Broadcasts dimensions of size 1 and new leading ones; -1 keeps a size.
/// aten::expand(Tensor(a) self, SymInt[] size)
FLAGGEMS_VIEW(expand, (size), int_list size)
/// As expand. aten::broadcast_to(Tensor(a) self, SymInt[] size)
FLAGGEMS_VIEW(broadcast_to, (size), int_list size)
/// x broadcast to the sizes of `other`. aten::expand_as(Tensor(a) self, Tensor other)
template <tensor_like X, tensor_like Y>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto expand_as(X&& x, const Y& other) {
  return as_view(x).expand(as_view(other).shape_of());
}
/// The elements in row-major order under other sizes, one of which may be -1. Raises
/// invalid_argument where that requires a copy. aten::view(Tensor(a) self, SymInt[] size)
FLAGGEMS_VIEW(view, (size), int_list size)
/// As view: never copies, unlike ATen's. aten::reshape(Tensor(a) self, SymInt[] shape)
FLAGGEMS_VIEW(reshape, (size), int_list size)
/// Merges dimensions start_dim .. end_dim; as view.
/// aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1)
FLAGGEMS_VIEW(flatten, (start_dim, end_dim), i64 start_dim = 0, i64 end_dim = -1)
/// Splits a dimension into these sizes, one of which may be -1.
/// aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes)
FLAGGEMS_VIEW(unflatten, (dim, sizes), i64 dim, int_list sizes)
/// Without the dimensions of size 1. aten::squeeze(Tensor(a) self)
FLAGGEMS_VIEW(squeeze, ())
/// Without those of `dims`, one or a list, that have size 1.
/// aten::squeeze.dims(Tensor(a) self, int[] dim)
FLAGGEMS_VIEW(squeeze, (int_list(dims)), const dim_list& dims)
/// Inserts a dimension of size 1. aten::unsqueeze(Tensor(a) self, int dim)
FLAGGEMS_VIEW(unsqueeze, (dim), i64 dim)
/// `length` elements from `start` on of dimension `dim`.
/// aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length)
FLAGGEMS_VIEW(narrow, (dim, start, length), i64 dim, i64 start, i64 length)
/// Index `index` of dimension `dim`, which is removed.
/// aten::select.int(Tensor(a) self, int dim, SymInt index)
FLAGGEMS_VIEW(select, (dim, index), i64 dim, i64 index)
/// The elements whose index in dim2 is that in dim1 plus `offset`, as a new last dimension.
/// aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1)
FLAGGEMS_VIEW(diagonal, (offset, dim1, dim2), i64 offset = 0, i64 dim1 = 0, i64 dim2 = 1)
/// Windows of `size` elements along a dimension, one every `step`: they replace the dimension, and
/// their elements are a new last one.
/// aten::unfold(Tensor(a) self, int dimension, int size, int step)
FLAGGEMS_VIEW(unfold, (dimension, size, step), i64 dimension, i64 size, i64 step)
/// Sizes and strides of the caller's. aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[]
/// stride, SymInt? storage_offset=None)
FLAGGEMS_VIEW(as_strided, (size, stride, storage_offset), int_list size, int_list stride,
              i64 storage_offset = 0)
/// The views at each index of a dimension. aten::unbind.int(Tensor(a -> *) self, int dim=0)
FLAGGEMS_VIEW(unbind, (dim), i64 dim = 0)
/// Parts of `split_size` along a dimension; the last may be smaller.
/// aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0)
FLAGGEMS_VIEW(split, (split_size, dim), i64 split_size, i64 dim = 0)
/// At most `chunks` parts of equal size along a dimension; the last may be smaller.
/// aten::chunk(Tensor(a -> *) self, int chunks, int dim=0)
FLAGGEMS_VIEW(chunk, (chunks, dim), i64 chunks, i64 dim = 0)
/// Exactly `sections` parts along a dimension, whose sizes differ by at most one.
/// aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0)
FLAGGEMS_VIEW(tensor_split, (sections, dim), i64 sections, i64 dim = 0)
/// x itself: it has no wrapper to be lifted out of. aten::lift(Tensor self)
FLAGGEMS_OTHER_VIEW(lift, view())
/// x itself. aten::lift_fresh(Tensor(a) self)
FLAGGEMS_OTHER_VIEW(lift_fresh, view())
/// As view. aten::_unsafe_view(Tensor self, SymInt[] size)
FLAGGEMS_OTHER_VIEW(unsafe_view, view(size), int_list size)
/// As chunk. aten::unsafe_chunk(Tensor self, int chunks, int dim=0)
FLAGGEMS_OTHER_VIEW(unsafe_chunk, chunk(chunks, dim), i64 chunks, i64 dim = 0)
/// As as_strided, from the first element of x on.
/// aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride)
FLAGGEMS_OTHER_VIEW(reshape_alias, as_strided(size, stride), int_list size, int_list stride)
#undef FLAGGEMS_VIEW
#undef FLAGGEMS_OTHER_VIEW

/// x itself. aten::alias(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto alias(X&& x) { return as_view(x); }

namespace detail {
/// split_with_sizes of any kind of view.
template <class View>
std::vector<View> parts_of_sizes(const View& v, int_list split_sizes, i64 dim) {
  constexpr const char* op = "split_with_sizes";
  const int d = existing_dim(dim, v.rank(), op);
  i64 left = v.size(d);
  bool fits = true;
  for (const i64 n : split_sizes) {
    fits = fits && n >= 0 && n <= left;
    left -= fits ? n : 0;
  }
  if (!fits || left != 0) [[unlikely]]
    raise(errc::invalid_argument, op, "sizes whose sum is " + text(v.size(d)),
          to_string(split_sizes));
  std::vector<View> parts;
  i64 start = 0;
  for (const i64 n : split_sizes) {
    parts.push_back(v.narrow(d, start, n));
    start += n;
  }
  return parts;
}
}  // namespace detail

/// Parts of these sizes, whose sum is the dimension's. Raises invalid_argument for others.
/// aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>)
    [[nodiscard]] auto split_with_sizes(X&& x, int_list split_sizes, i64 dim = 0) {
  return detail::parts_of_sizes(as_view(x), split_sizes, dim);
}

// ---- copies
namespace detail {

constexpr i64 end_or_all(const std::optional<i64>& end) {
  return end.value_or((std::numeric_limits<i64>::max)());
}

template <class S, class X, class T, class D>
void copy_of_view(const char* op, const S& stream, const X& x, const tensor_view<T, D>& out) {
  check_output_sizes(op, x.shape_of(), out);
  copy_into(op, stream, out, input_of(x));
}

/// The elements of each part in a new tensor.
template <class S, class Parts>
auto copies_of(const char* op, const S& stream, const Parts& parts) {
  using view = std::remove_cvref_t<decltype(*parts.begin())>;
  std::vector<tensor<typename view::value_type, typename view::device_type>> r;
  r.reserve(static_cast<std::size_t>(parts.size()));
  for (const auto& part : parts) r.push_back(copied<typename view::value_type>(op, stream, part));
  return r;
}

}  // namespace detail

namespace detail {
/// Raises invalid_argument unless `part`, a view of x, lies within its first and last elements.
template <class View>
void check_within(const char* op, const View& x, const View& part) {
  if (part.empty()) return;
  const byte_range memory = memory_range(x), used = memory_range(part);
  if (used.lo < memory.lo || used.hi > memory.hi || x.empty()) [[unlikely]]
    raise(errc::invalid_argument, op, "a view within the tensor's elements",
          "sizes " + to_string(part.shape_of()) + " under strides " +
              to_string(shape(part.strides())));
}
}  // namespace detail

// One line a copy: name, the view of x, the schema's parameters.
#define FLAGGEMS_VIEW_COPY(name, what, ...)                                         \
  template <stream_like S, tensor_like X, tensor_like Out>                          \
  void name(const S& stream, const X& x, Out&& out __VA_OPT__(, ) __VA_ARGS__) {    \
    same_device<S, X, Out>();                                                       \
    detail::copy_of_view(#name, stream, as_view(x).what, as_view(out));             \
  }                                                                                 \
  template <stream_like S, tensor_like X>                                           \
  [[nodiscard]] auto name(const S& stream, const X& x __VA_OPT__(, ) __VA_ARGS__) { \
    detail::require_on_device(#name, ref(stream), x);                               \
    return detail::copied<value_t<const X&>>(#name, stream, as_view(x).what);       \
  }

/// The elements of x. aten::alias_copy(Tensor self)
FLAGGEMS_VIEW_COPY(alias_copy, view())
/// The elements of x. aten::lift_fresh_copy(Tensor self)
FLAGGEMS_VIEW_COPY(lift_fresh_copy, view())
/// The elements of permute. aten::permute_copy(Tensor self, int[] dims)
FLAGGEMS_VIEW_COPY(permute_copy, permute(dims), int_list dims)
/// The elements of transpose. aten::transpose_copy.int(Tensor self, int dim0, int dim1)
FLAGGEMS_VIEW_COPY(transpose_copy, transpose(dim0, dim1), i64 dim0, i64 dim1)
/// The elements of t. aten::t_copy(Tensor self)
FLAGGEMS_VIEW_COPY(t_copy, t())
/// The elements of expand. aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False)
FLAGGEMS_VIEW_COPY(expand_copy, expand(size), int_list size, bool = false)
/// The elements of x in row-major order under other sizes, one of which may be -1.
/// aten::view_copy(Tensor self, SymInt[] size)
template <stream_like S, tensor_like X, tensor_like Out>
void view_copy(const S& stream, const X& x, Out&& out, int_list size) {
  constexpr const char* op = "view_copy";
  same_device<S, X, Out>();
  const auto from = detail::input_of(as_view(x));
  const auto to = as_view(out);
  const shape sizes = detail::infer_size(size, from.numel(), op);
  detail::check_output_sizes(op, sizes, to);
  check_disjoint_output(op, to, from);
  tensor<value_t<const X&>, device_of<S>> memory;
  detail::copy_into(op, stream, to, detail::as_row(op, stream, from, memory).view(sizes));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto view_copy(const S& stream, const X& x, int_list size) {
  detail::require_on_device("view_copy", ref(stream), x);
  const auto from = detail::input_of(as_view(x));
  auto out = empty<value_t<const X&>>(stream, detail::infer_size(size, from.numel(), "view_copy"),
                                      "view_copy");
  // Under x's sizes a row-major output takes x's elements, whatever their strides.
  detail::copy_into("view_copy", stream, out.view().view(from.sizes()), from);
  return out;
}
/// The elements of squeeze, of all dimensions or those given. aten::squeeze_copy(Tensor self)
FLAGGEMS_VIEW_COPY(squeeze_copy, squeeze())
/// aten::squeeze_copy.dims(Tensor self, int[] dim)
FLAGGEMS_VIEW_COPY(squeeze_copy, squeeze(int_list(dims)), const dim_list& dims)
/// The elements of unsqueeze. aten::unsqueeze_copy(Tensor self, int dim)
FLAGGEMS_VIEW_COPY(unsqueeze_copy, unsqueeze(dim), i64 dim)
/// The elements of narrow. aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length)
FLAGGEMS_VIEW_COPY(narrow_copy, narrow(dim, start, length), i64 dim, i64 start, i64 length)
/// The elements of select. aten::select_copy.int(Tensor self, int dim, SymInt index)
FLAGGEMS_VIEW_COPY(select_copy, select(dim, index), i64 dim, i64 index)
/// The elements of slice. aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None,
/// SymInt? end=None, SymInt step=1)
FLAGGEMS_VIEW_COPY(slice_copy, slice(dim, start.value_or(0), detail::end_or_all(end), step),
                   i64 dim = 0, std::optional<i64> start = {}, std::optional<i64> end = {},
                   i64 step = 1)
/// The elements of diagonal. aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1)
FLAGGEMS_VIEW_COPY(diagonal_copy, diagonal(offset, dim1, dim2), i64 offset = 0, i64 dim1 = 0,
                   i64 dim2 = 1)
/// The elements of unfold. aten::unfold_copy(Tensor self, int dimension, int size, int step)
FLAGGEMS_VIEW_COPY(unfold_copy, unfold(dimension, size, step), i64 dimension, i64 size, i64 step)
namespace detail {
/// x.as_strided(...). Raises invalid_argument for elements outside x's memory.
template <class View>
View strided_within(const View& x, int_list size, int_list stride, std::optional<i64> offset) {
  const View part = x.as_strided(size, stride, offset.value_or(0));
  check_within("as_strided_copy", x, part);
  return part;
}
}  // namespace detail
/// The elements of as_strided. The offset counts from the first element of x. Raises
/// invalid_argument for elements outside x's memory.
/// aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)
template <stream_like S, tensor_like X, tensor_like Out>
void as_strided_copy(const S& stream, const X& x, Out&& out, int_list size, int_list stride,
                     std::optional<i64> storage_offset = {}) {
  same_device<S, X, Out>();
  detail::copy_of_view("as_strided_copy", stream,
                       detail::strided_within(as_view(x), size, stride, storage_offset),
                       as_view(out));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto as_strided_copy(const S& stream, const X& x, int_list size, int_list stride,
                                   std::optional<i64> storage_offset = {}) {
  detail::require_on_device("as_strided_copy", ref(stream), x);
  return detail::copied<value_t<const X&>>(
      "as_strided_copy", stream, detail::strided_within(as_view(x), size, stride, storage_offset));
}
#undef FLAGGEMS_VIEW_COPY

/// The tensors expanded to the sizes that they broadcast to, as a tuple of views. Raises
/// shape_mismatch. aten::broadcast_tensors(Tensor[] tensors)
template <tensor_like... X>
requires(sizeof...(X) > 0) [[nodiscard]] auto broadcast_tensors(const X&... tensors) {
  shape sizes;
  ((sizes = broadcast_shapes(sizes, as_view(tensors).shape_of(), "broadcast_tensors")), ...);
  return std::tuple(as_view(tensors).expand(sizes)...);
}

/// The parts of unbind in new tensors. aten::unbind_copy.int(Tensor self, int dim=0)
template <stream_like S, tensor_like X>
[[nodiscard]] auto unbind_copy(const S& stream, const X& x, i64 dim = 0) {
  return detail::copies_of("unbind_copy", stream, as_view(x).unbind(dim));
}
/// The parts of split in new tensors.
/// aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0)
template <stream_like S, tensor_like X>
[[nodiscard]] auto split_copy(const S& stream, const X& x, i64 split_size, i64 dim = 0) {
  return detail::copies_of("split_copy", stream, as_view(x).split(split_size, dim));
}
/// The parts of split_with_sizes in new tensors.
/// aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0)
template <stream_like S, tensor_like X>
[[nodiscard]] auto split_with_sizes_copy(const S& stream, const X& x, int_list split_sizes,
                                         i64 dim = 0) {
  return detail::copies_of("split_with_sizes_copy", stream,
                           split_with_sizes(as_view(x), split_sizes, dim));
}

}  // namespace flaggems
