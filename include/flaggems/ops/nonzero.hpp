// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators that select elements by a mask: running sums of it are the places of what is selected.
#pragma once

#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/scatter.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/scan.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace flaggems {
namespace operators {
struct masked_select;
}  // namespace operators

namespace detail {

/// An element of a device's memory; waits for the stream.
template <class S, class T, class D>
T read_element(const S& stream, const tensor_view<T, D>& x) {
  std::remove_const_t<T> value{};
  copy_bytes(ref(stream), &value, x.data(), static_cast<i64>(sizeof(T)), copy_kind::device_to_host);
  ref(stream).synchronize();
  return value;
}

/// The elements of a vector, for which it waits.
template <class S, class T, class D>
std::vector<T> read_vector(const char* op, const S& stream, const tensor_view<const T, D>& x) {
  std::vector<T> values(static_cast<std::size_t>(x.numel()));
  tensor<T, D> own;
  const auto dense = as_row(op, stream, x, own);
  if (values.empty()) return values;
  copy_bytes(ref(stream), values.data(), dense.data(), x.numel() * static_cast<i64>(sizeof(T)),
             copy_kind::device_to_host);
  ref(stream).synchronize();
  return values;
}

/// For each element of a mask, the number of true ones before it; -1 where it is false. `count` is
/// how many are true: it waits for the stream.
template <class S>
struct mask_places {
  using D = device_of<S>;
  tensor<bool, D> mask;  // contiguous
  tensor<i64, D> places;
  i64 count = 0;

  template <class Node>
  mask_places(const char* op, const S& stream, const shape& sizes, const Node& is_true,
              i64 elsewhere = -1)
      : mask(empty<bool>(stream, sizes, op)), places(empty<i64>(stream, sizes, op)) {
    if (mask.empty()) return;
    assign_node(op, stream, mask.view(), is_true);
    const i64 n = mask.numel();
    const auto row = std::as_const(mask).view().view({n});
    const auto sums = places.view().view({n});
    launch_scan<kernels::scan_sum<i64>>(op, stream, row, 0, sums, tensor_view<i64, D>());
    count = read_element(stream, tensor_view<const i64, D>(sums.narrow(0, n - 1, 1)));
    using before = call<integral, kernels::sub_fn, leaf<i64, D>, number<i64>>;
    assign_node(op, stream, sums,
                choice<leaf<bool, D>, before, number<i64>>{
                    {row}, before{{}, {leaf<i64, D>{sums}, {1}}}, {elsewhere}});
  }
  /// Writes the elements of x, of the mask's sizes, where it is true.
  template <class T>
  void select(const char* op, const S& stream, const tensor_view<const T, D>& x,
              const tensor_view<T, D>& out) const {
    if (count == 0 || replaced<operators::masked_select>(op, stream, x, mask.view(), out)) return;
    shape none = x.shape_of();
    for (i64& k : none) k = 0;
    launch_scatter(
        op, stream,
        indexed_elements<T, i64, D>{out.data(), none, count, out.stride(0), places.view()}, x, 0,
        kernels::joining::replace);
  }
};

/// The row-major indices of the elements of x that are not 0, in new memory.
template <class S, class T, class D>
tensor<i64, D> nonzero_indices(const char* op, const S& stream, const tensor_view<const T, D>& x) {
  using is_true = call<to_bool, kernels::ne_fn, leaf<T, D>, number<T>>;
  const shape sizes = x.rank() == 0 ? shape{1} : x.shape_of();
  const auto v = x.rank() == 0 ? x.unsqueeze(0) : x;
  const mask_places<S> found(op, stream, sizes, is_true{{}, {leaf<T, D>{v}, {T(0)}}});
  auto indices = empty<i64>(stream, {found.count}, op);
  if (found.count == 0) return indices;
  const i64 n = v.numel();
  auto all = empty<i64>(stream, {n}, op);
  assign_node(op, stream, all.view(), sequence<i64>{0, 1});
  found.select(op, stream, tensor_view<const i64, D>(all.view()).view(sizes), indices.view());
  return indices;
}
/// Column d of `out`, the coordinates of row-major indices.
template <class S, class D>
void put_coordinates(const char* op, const S& stream, const tensor_view<const i64, D>& indices,
                     const shape& sizes, const tensor_view<i64, D>& out) {
  i64 step = 1;
  for (int d = sizes.rank() - 1; d >= 0; --d) {
    const auto before = div(indices, step, rounding_mode::floor);
    const auto rest = div(indices, step * sizes[d], rounding_mode::floor);
    assign_node(op, stream, out.select(1, d), (before - rest * sizes[d]).node);
    step *= sizes[d];
  }
}

}  // namespace detail

/// The coordinates of the elements of x that are not 0, in row-major order, in a new tensor
/// [count, rank] of i64. NaN is not 0. It waits for the stream, which the count comes from.
/// aten::nonzero(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] auto nonzero(const S& stream, const X& x) {
  constexpr const char* op = "nonzero";
  same_device<S, X>();
  const tensor_view<const value_t<const X&>, device_of<S>> v(as_view(x));
  const auto indices = detail::nonzero_indices(op, stream, v);
  auto out = empty<i64>(stream, {indices.numel(), v.rank()}, op);
  if (!out.empty()) detail::put_coordinates(op, stream, indices.view(), v.shape_of(), out.view());
  return out;
}
/// The columns of nonzero, one new tensor for each dimension; of a number, as of one element.
/// aten::nonzero_numpy(Tensor self)
template <stream_like S, tensor_like X>
[[nodiscard]] auto nonzero_numpy(const S& stream, const X& x) {
  constexpr const char* op = "nonzero_numpy";
  same_device<S, X>();
  const tensor_view<const value_t<const X&>, device_of<S>> v(as_view(x));
  const auto all = nonzero(stream, v.rank() == 0 ? v.unsqueeze(0) : v);
  std::vector<tensor<i64, device_of<S>>> out;
  for (i64 d = 0; d < all.size(1); ++d)
    out.push_back(detail::copied<i64>(op, stream, all.view().select(1, d)));
  return out;
}
/// The first `size` rows of nonzero; where there are fewer, the others are `fill_value`.
/// aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1)
template <stream_like S, tensor_like X>
[[nodiscard]] auto nonzero_static(const S& stream, const X& x, i64 size, i64 fill_value = -1) {
  constexpr const char* op = "nonzero_static";
  same_device<S, X>();
  if (size < 0) [[unlikely]]
    raise(errc::invalid_argument, op, "a size that is not negative", detail::text(size));
  const tensor_view<const value_t<const X&>, device_of<S>> v(as_view(x));
  const auto indices = detail::nonzero_indices(op, stream, v);
  auto out = empty<i64>(stream, {size, v.rank()}, op);
  const i64 n = indices.numel() < size ? indices.numel() : size;
  detail::fill(op, stream, out.view(), fill_value);
  if (n != 0 && !out.empty())
    detail::put_coordinates(op, stream, indices.view().narrow(0, 0, n), v.shape_of(),
                            out.view().narrow(0, 0, n));
  return out;
}

/// The elements of x where `mask`, of bool, is true, in row-major order, in a new vector. Both
/// broadcast together. It waits for the stream. Raises shape_mismatch.
/// aten::masked_select(Tensor self, Tensor mask)
template <stream_like S, tensor_like X, tensor_like Mask>
[[nodiscard]] auto masked_select(const S& stream, const X& x, const Mask& mask) {
  constexpr const char* op = "masked_select";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Mask>();
  static_assert(std::is_same_v<value_t<const Mask&>, bool>, "flaggems: a mask is of bool");
  const auto v = as_view(x);
  const auto m = as_view(mask);
  shape sizes = broadcast_shapes(v.shape_of(), m.shape_of(), op);
  if (sizes.rank() == 0) sizes.push_back(1);
  const detail::mask_places<S> found(
      op, stream, sizes, detail::leaf<bool, D>{tensor_view<const bool, D>(m.expand(sizes))});
  auto out = empty<T>(stream, {found.count}, op);
  found.select(op, stream, tensor_view<const T, D>(v.expand(sizes)), out.view());
  return out;
}

namespace detail {
/// A number, or the one of a tensor without dimensions, as T.
template <class T, class S, class V>
T filling(const char* op, const S& stream, const V& value) {
  if constexpr (tensor_like<V>) {
    const auto v = as_view(value);
    if (v.rank() != 0) [[unlikely]]
      raise(errc::shape_mismatch, op, "a value of no dimensions",
            "sizes " + to_string(v.shape_of()));
    if constexpr (std::is_same_v<device_t<const V&>, device_of<S>>)
      return kernels::number_cast<T>(read_element(stream, v));
    else
      return kernels::number_cast<T>(v());
  } else {
    const auto given = scalar_of(value);
    check_range<T>(op, given);
    return kernels::number_cast<T>(given);
  }
}
}  // namespace detail

/// x with its elements where `mask`, of bool, is true replaced by those of `source` in order, in a
/// new tensor. The mask broadcasts to x, which it waits for. Raises shape_mismatch if source has
/// fewer elements than are replaced. aten::masked_scatter(Tensor self, Tensor mask, Tensor source)
template <stream_like S, tensor_like X, tensor_like Mask, tensor_like Source>
[[nodiscard]] auto masked_scatter(const S& stream, const X& x, const Mask& mask,
                                  const Source& source) {
  constexpr const char* op = "masked_scatter";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Mask, Source>();
  static_assert(
      std::is_same_v<T, value_t<const Source&>> && std::is_same_v<value_t<const Mask&>, bool>,
      "flaggems: a mask is of bool, and the source has the dtype of the input");
  const tensor_view<const T, D> v(as_view(x));
  const shape sizes = broadcast_shapes(v.shape_of(), as_view(mask).shape_of(), op);
  const detail::mask_places<S> found(
      op, stream, sizes,
      detail::leaf<bool, D>{tensor_view<const bool, D>(as_view(mask).expand(sizes))},
      0);  // every place is read
  const auto row = detail::copied<T>(op, stream, as_view(source));
  if (row.numel() < found.count) [[unlikely]]
    raise(errc::shape_mismatch, op, "a source of " + detail::text(found.count) + " elements",
          detail::text(row.numel()));
  auto out = detail::copied<T>(op, stream, v.expand(sizes));
  if (found.count == 0) return out;
  auto taken = empty<T>(stream, sizes, op);
  shape none = sizes;
  for (i64& k : none) k = 0;
  detail::launch_gather(op, stream,
                        detail::indexed_elements<const T, i64, D>{row.data(), none, row.numel(), 1,
                                                                  found.places.view()},
                        taken.view());
  using node = detail::choice<detail::leaf<bool, D>, detail::leaf<T, D>, detail::leaf<T, D>>;
  detail::assign_node(
      op, stream, out.view(),
      node{{found.mask.view()}, {std::as_const(taken).view()}, {std::as_const(out).view()}});
  return out;
}

}  // namespace flaggems
