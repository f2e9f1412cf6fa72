// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions of segments that follow each other along a dimension: each element is joined at the
// place of its segment.
#pragma once

#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/scatter.hpp>
#include <flaggems/ops/search.hpp>
#include <flaggems/ops/sequence_batches.hpp>

#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

/// What segments are reduced to.
enum class segment_reduction : int { sum, mean, max, min, prod };

/// The reduction of ATen's name. Raises invalid_argument for others.
inline segment_reduction spelled(std::string_view text, std::type_identity<segment_reduction>) {
  using enum segment_reduction;
  if (text == "sum") return sum;
  if (text == "mean") return mean;
  if (text == "max") return max;
  if (text == "min") return min;
  if (text == "prod") return prod;
  raise(errc::invalid_argument, "segment_reduce", "a reduction of sum, mean, max, min or prod",
        text);
}

namespace detail {

/// Raises invalid_argument unless the segments of each row, lengths [rows, segments], are all of
/// its `size` elements. It waits for the stream.
template <class S, class D>
void check_segments(const char* op, const S& stream, const tensor_view<const i64, D>& lengths,
                    i64 size) {
  const i64 count = lengths.size(1);
  i64 low = 0, high = 0, total = 0;  // of all running sums, and the least of the last ones
  if (count > 0) {
    const auto [least, most] = aminmax(stream, lengths);
    const i64 shortest = read_element(stream, least.view()),
              longest = read_element(stream, most.view());
    if (shortest < 0 || longest > size) [[unlikely]]
      raise(errc::invalid_argument, op, "segments of 0 to " + text(size) + " elements",
            text(shortest < 0 ? shortest : longest));
    const auto ends = cumsum(stream, lengths, 1);
    const auto [first, last] = aminmax(stream, ends);
    low = read_element(stream, first.view()), high = read_element(stream, last.view());
    const auto sum = amin(stream, ends.view().select(1, count - 1));
    total = read_element(stream, sum.view());
  }
  // A step is below 2^63, so that no sum wraps around without a negative one before it.
  if (low < 0 || high > size || total != size) [[unlikely]]
    raise(errc::invalid_argument, op, "segments of all " + text(size) + " elements",
          low < 0 ? text("2^63 or more") : text(high > size ? high : total));
}

/// The segments of a dimension of data: of all dimensions before it, one after the other. It waits
/// for the stream where it checks that they cover the dimension.
template <class S>
struct segments {
  using D = device_of<S>;
  tensor<i64, D> lengths, of;  // of each segment; and the segment that each element is in
  shape sizes;                 // of the result
  i64 rows = 0, inner = 1;     // data as a matrix

  template <class X, class Lengths, class Offsets>
  segments(const char* op, const S& stream, const X& data, const Lengths& given,
           const Offsets& offsets, i64 axis, bool checks)
      : sizes(data.sizes()) {
    const int d = normalize_dim(axis, data.rank(), op);
    if (data.rank() == 0 || (given ? 1 : 0) + (offsets ? 1 : 0) != 1) [[unlikely]]
      raise(errc::invalid_argument, op, "data of some dimension, and lengths or offsets",
            "a number, both or none");
    const auto& list = given ? *given : *offsets;
    bool fits = list.rank() == d + 1 && (given || list.size(d) > 0);
    for (int k = 0; fits && k < d; ++k) fits = list.size(k) == data.size(k);
    if (!fits) [[unlikely]]
      raise_shapes(op, "lengths of the sizes before the axis, and of the segments", data.shape_of(),
                   list.shape_of());
    const i64 count = list.size(d) - (given ? 0 : 1);
    shape all = list.shape_of();
    all[d] = count;
    sizes[d] = count;
    for (int k = d + 1; k < data.rank(); ++k) inner *= data.size(k);
    i64 outer = 1;
    for (int k = 0; k < d; ++k) outer *= data.size(k);
    rows = outer * data.size(d);
    lengths = empty<i64>(stream, all, op);
    if (given)
      copy_into(op, stream, lengths.view(), *given);
    else if (!lengths.empty())
      assign(stream, lengths, sub(list.narrow(d, 1, count), list.narrow(d, 0, count)), op);
    const i64 n = lengths.numel();
    if (checks && outer > 0) {
      check_segments(op, stream, input_of(lengths).view({outer, count}), data.size(d));
      if (!given) check_begin(op, stream, list.narrow(d, 0, 1));
    }
    of = empty<i64>(stream, {rows}, op);
    if (rows == 0) return;
    if (n == 0) {
      fill(op, stream, of.view(), -1);
      return;
    }
    const auto ends = cumsum(stream, input_of(lengths).view({n}), 0);
    auto places = empty<i64>(stream, {rows}, op);
    assign_node(op, stream, places.view(), sequence<i64>{0, 1});
    searchsorted(stream, ends, places, of, true);
    assign(stream, of, where(lt(of, n), of, i64(-1)), op);  // behind the last one
  }
  static void check_begin(const char* op, const S& stream, const tensor_view<const i64, D>& first) {
    const auto [low, high] = aminmax(stream, first);
    const i64 least = read_element(stream, low.view()), most = read_element(stream, high.view());
    if (least != 0 || most != 0) [[unlikely]]
      raise(errc::invalid_argument, op, "offsets that begin at 0", text(least != 0 ? least : most));
  }
  [[nodiscard]] bool empty_data() const { return rows * inner == 0 || lengths.empty(); }

  /// Joins the elements of a matrix at their segments.
  template <class T>
  void join(const char* op, const S& stream, const tensor_view<const T, D>& matrix,
            const tensor_view<T, D>& to, kernels::joining how) const {
    const auto index = input_of(of).unsqueeze(1).expand({rows, inner});
    launch_scatter(op, stream, elements_along(to, 0, index), matrix, meeting_dims{1}, how);
  }
  /// What each element's segment has.
  template <class T>
  tensor<T, D> take(const char* op, const S& stream, const tensor_view<const T, D>& from) const {
    auto out = empty<T>(stream, {rows, inner}, op);
    const auto own = evaluate(stream, maximum(of, 0), op);
    launch_gather(op, stream,
                  elements_along(from, 0, input_of(own).unsqueeze(1).expand({rows, inner})),
                  out.view());
    return out;
  }
};

inline f64 segment_identity(segment_reduction how) {
  constexpr f64 infinity = std::numeric_limits<f64>::infinity();
  switch (how) {
    case segment_reduction::max: return -infinity;
    case segment_reduction::min: return infinity;
    case segment_reduction::prod: return 1;
    default: return 0;
  }
}

template <class S, class T, class D>
void segment_reduce_into(const char* op, const S& stream, const tensor_view<const T, D>& data,
                         segment_reduction how, const segments<S>& parts,
                         std::optional<f64> initial, const tensor_view<T, D>& out) {
  using C = arithmetic_t<T>;
  const i64 n = parts.lengths.numel();
  if (out.empty()) return;
  auto joined = filled<C>(op, stream, {n, parts.inner}, initial.value_or(segment_identity(how)));
  if (!parts.empty_data()) {
    const auto own = copied<C>(op, stream, data);
    using kernels::joining;
    const joining kind = how == segment_reduction::max    ? joining::largest
                         : how == segment_reduction::min  ? joining::smallest
                         : how == segment_reduction::prod ? joining::product
                                                          : joining::sum;
    parts.template join<C>(op, stream, input_of(own).view({parts.rows, parts.inner}), joined.view(),
                           kind);
  }
  if (how == segment_reduction::mean) {
    const auto lengths = cast<C>(input_of(parts.lengths).view({n, 1}));
    if (initial)
      assign(stream, joined, where(gt(lengths, C(0)), div(joined, lengths), joined), op);
    else
      assign(stream, joined, div(joined, lengths), op);
  }
  copy_into(op, stream, out, input_of(joined).view(out.shape_of()));
}

/// The gradient in C, of [rows, inner].
template <class C, class S, class T, class D>
tensor<C, D> segment_gradient(const char* op, const S& stream, const tensor_view<const T, D>& grad,
                              const tensor_view<const T, D>& output,
                              const tensor_view<const T, D>& data, segment_reduction how,
                              const segments<S>& parts, std::optional<f64> initial) {
  const i64 n = parts.lengths.numel();
  const auto own_grad = copied<C>(op, stream, grad), own_output = copied<C>(op, stream, output),
             own_data = copied<C>(op, stream, data);
  const auto x = input_of(own_data).view({parts.rows, parts.inner});
  const auto of_segment = [&](const auto& v) {
    return parts.template take<C>(op, stream, input_of(v).view({n, parts.inner}));
  };
  const auto g = of_segment(own_grad);
  const auto inside = ge(parts.of.view().unsqueeze(1), i64(0));
  auto out = empty<C>(stream, {parts.rows, parts.inner}, op);
  const auto put = [&](const auto& value) {
    assign(stream, out, where(inside, value, C(0)), op);
    return std::move(out);
  };
  const auto sums = [&](const auto& terms, kernels::joining kind, f64 first) {
    auto joined = filled<C>(op, stream, {n, parts.inner}, first);
    auto own = empty<C>(stream, {parts.rows, parts.inner}, op);
    assign(stream, own, terms, op);
    parts.template join<C>(op, stream, input_of(own), joined.view(), kind);
    return parts.template take<C>(op, stream, input_of(joined));
  };
  using kernels::joining;
  switch (how) {
    case segment_reduction::sum: return put(add(g, C(0)));
    case segment_reduction::mean:
      return put(div(g, sums(add(mul(g, C(0)), C(1)), joining::sum, 0)));
    case segment_reduction::prod: {
      const auto factors = sums(where(eq(x, C(0)), C(1), x), joining::product, initial.value_or(1));
      const auto zeros = sums(where(eq(x, C(0)), C(1), C(0)), joining::sum, 0);
      return put(mul(g, where(eq(x, C(0)), where(eq(zeros, C(1)), factors, C(0)),
                              where(eq(zeros, C(0)), div(factors, x), C(0)))));
    }
    default: break;
  }
  const auto reached = of_segment(own_output);
  const auto chosen = logical_or(ne(x, x), eq(x, reached));
  const auto count = sums(where(chosen, C(1), C(0)), joining::sum, 0);
  return put(where(chosen, div(g, count), C(0)));
}

/// Raises not_supported for segments by indices, as ATen does.
template <class V>
void check_no_indices(const std::optional<V>& indices) {
  if (indices) [[unlikely]]
    raise(errc::not_supported, "segment_reduce", "lengths or offsets", "indices");
}

}  // namespace detail

/// out[s] = the reduction of the elements of segment s along `axis`, of floating point.
///
/// lengths, of i64: how many elements each segment has, of data's sizes before the axis, and the
/// segments; or offsets, where each begins, and at the end where the last one ends. `initial` is
/// joined to each; without one a segment of no elements is 0, NaN (mean), -inf (max), inf (min) or
/// 1. Computed in f32 or f64. out: data's sizes, with the segments in the place of the axis. Raises
/// invalid_argument, unless `unsafe` also where the segments do not cover the axis, for which it
/// waits; not_supported for indices; out_of_range, shape_mismatch or overlap.
/// aten::segment_reduce.out(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None,
/// Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None, Tensor(a!) out)
template <stream_like S, tensor_like X, optional_tensor Lengths, optional_tensor Indices,
          optional_tensor Offsets, tensor_like Out>
void segment_reduce(const S& stream, const X& data, segment_reduction reduce,
                    const Lengths& lengths, const Indices& indices, const Offsets& offsets,
                    Out&& out, i64 axis = 0, bool unsafe = false, std::optional<f64> initial = {}) {
  constexpr const char* op = "segment_reduce";
  using D = device_of<S>;
  same_device<S, X, Out, Lengths, Indices, Offsets>();
  static_assert(std::is_same_v<value_t<const X&>, value_t<Out>>,
                "flaggems: the output has the dtype of the input");
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const auto v = detail::input_of(data);
    detail::check_no_indices(detail::optional_view<i64, D>(indices));
    const detail::segments<S> parts(op, stream, v, detail::optional_view<i64, D>(lengths),
                                    detail::optional_view<i64, D>(offsets), axis, !unsafe);
    detail::check_output_sizes(op, parts.sizes, as_view(out));
    detail::check_separate(op, as_view(out), v);
    detail::segment_reduce_into(op, stream, v, reduce, parts, initial,
                                tensor_view<value_t<const X&>, D>(as_view(out)));
  }
}
/// The same in a new tensor.
template <stream_like S, tensor_like X, optional_tensor Lengths,
          optional_tensor Indices = std::nullopt_t, optional_tensor Offsets = std::nullopt_t>
[[nodiscard]] auto segment_reduce(const S& stream, const X& data, segment_reduction reduce,
                                  const Lengths& lengths, const Indices& indices = std::nullopt,
                                  const Offsets& offsets = std::nullopt, i64 axis = 0,
                                  bool unsafe = false, std::optional<f64> initial = {}) {
  constexpr const char* op = "segment_reduce";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, X, Lengths, Indices, Offsets>();
  const auto v = detail::input_of(data);
  detail::check_no_indices(detail::optional_view<i64, D>(indices));
  const detail::segments<S> parts(op, stream, v, detail::optional_view<i64, D>(lengths),
                                  detail::optional_view<i64, D>(offsets), axis, !unsafe);
  auto out = empty<T>(stream, parts.sizes, op);
  if constexpr (element_type_in<floating_types, 1, X>())
    detail::segment_reduce_into(op, stream, v, reduce, parts, initial, out.view());
  return out;
}

/// The gradient of segment_reduce, which gave output, for data, in a new tensor: of a maximum or
/// minimum shared by the elements that reach it; 0 for elements in no segment. As in ATen nothing
/// checks that segments cover the axis: an unsafe segment_reduce has a gradient, too. Otherwise
/// raises as segment_reduce. aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor
/// data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar?
/// initial=None)
template <stream_like S, tensor_like G, tensor_like Y, tensor_like X, optional_tensor Lengths,
          optional_tensor Offsets = std::nullopt_t>
[[nodiscard]] auto segment_reduce_backward(const S& stream, const G& grad, const Y& output,
                                           const X& data, segment_reduction reduce,
                                           const Lengths& lengths,
                                           const Offsets& offsets = std::nullopt, i64 axis = 0,
                                           std::optional<f64> initial = {}) {
  constexpr const char* op = "segment_reduce_backward";
  using T = value_t<const X&>;
  using D = device_of<S>;
  same_device<S, G, Y, X, Lengths, Offsets>();
  static_assert(std::is_same_v<value_t<const G&>, T> && std::is_same_v<value_t<const Y&>, T>,
                "flaggems: the gradient and the output have the data's dtype");
  auto out = empty<T>(stream, as_view(data).sizes(), op);
  if constexpr (element_type_in<floating_types, 1, X>()) {
    const auto v = detail::input_of(data);
    const detail::segments<S> parts(op, stream, v, detail::optional_view<i64, D>(lengths),
                                    detail::optional_view<i64, D>(offsets), axis, false);
    detail::check_output_sizes(op, parts.sizes, as_view(grad));
    detail::check_output_sizes(op, parts.sizes, as_view(output));
    if (out.empty()) return out;
    if (parts.empty_data()) {
      detail::fill(op, stream, out.view(), 0);
      return out;
    }
    const auto gradient = detail::segment_gradient<detail::arithmetic_t<T>>(
        op, stream, detail::input_of(grad), detail::input_of(output), v, reduce, parts, initial);
    detail::copy_into(op, stream, out.view(), detail::input_of(gradient).view(out.shape_of()));
  }
  return out;
}

}  // namespace flaggems
