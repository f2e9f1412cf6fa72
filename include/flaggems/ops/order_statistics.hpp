// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements by their rank along a dimension, or of all: rows are sorted, and an element of each is
// taken.
#pragma once

#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/dispatch/scan.hpp>
#include <flaggems/ops/plan/norm.hpp>
#include <flaggems/ops/rounding.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/statistics.hpp>

#include <optional>
#include <string_view>
#include <type_traits>

namespace flaggems {

/// The result where a quantile lies between two elements: a point on the line between them, the
/// lower or the higher one, their mean, or the nearer one.
enum class quantile_interpolation : int { linear, lower, higher, midpoint, nearest };

/// The interpolation of ATen's name. Raises invalid_argument for others.
inline quantile_interpolation spelled(std::string_view text,
                                      std::type_identity<quantile_interpolation>) {
  using enum quantile_interpolation;
  if (text == "linear") return linear;
  if (text == "lower") return lower;
  if (text == "higher") return higher;
  if (text == "midpoint") return midpoint;
  if (text == "nearest") return nearest;
  raise(errc::invalid_argument, "quantile", "linear, lower, higher, midpoint or nearest", text);
}

namespace detail {

/// x with a dimension as the last one, along which its rows lie; a number is a row.
template <class T, class D>
tensor_view<T, D> rows_along(const tensor_view<T, D>& x, int d) {
  return x.rank() == 0 ? x.unsqueeze(0) : x.movedim(d, -1);
}
/// A reduction's result with an element for each of these rows.
template <class T, class D>
tensor_view<T, D> one_a_row(const tensor_view<T, D>& out, int d, int rank, bool keepdim) {
  return rank > 0 && keepdim ? out.movedim(d, -1) : out.unsqueeze(-1);
}
inline shape one_a_row(const shape& rows) {
  shape sizes(rows);
  sizes[sizes.rank() - 1] = 1;
  return sizes;
}

/// Rows, which are sorted in new memory, and where their elements came from.
template <class S, class T>
struct sorted_rows {
  using D = device_of<S>;
  tensor<T, D> values;
  tensor<i64, D> order;
  int last;

  sorted_rows(const char* op, const S& stream, const tensor_view<const T, D>& rows)
      : values(empty<T>(stream, rows.shape_of(), op)),
        order(empty<i64>(stream, rows.shape_of(), op)),
        last(rows.rank() - 1) {
    sort_into(op, stream, rows, values.view(), order.view(), last, false);
  }
  /// Elements at places in each row.
  void take(const char* op, const S& stream, const tensor_view<const i64, D>& places,
            const tensor_view<T, D>& out) const {
    if (!out.empty()) launch_gather(op, stream, elements_along(values.view(), last, places), out);
  }
  /// And where they came from.
  void take(const char* op, const S& stream, const tensor_view<const i64, D>& places,
            const tensor_view<T, D>& out, const tensor_view<i64, D>& from) const {
    take(op, stream, places, out);
    if (!from.empty()) launch_gather(op, stream, elements_along(order.view(), last, places), from);
  }
};

/// How many NaN each row has, in new memory.
template <class S, class T, class D>
tensor<i64, D> count_nan(const char* op, const S& stream, const tensor_view<const T, D>& rows) {
  auto counts = empty<i64>(stream, one_a_row(rows.shape_of()), op);
  const i64 last = rows.rank() - 1;
  sum_into<i64>(op, stream, ne(rows, rows), counts.view(), int_list(&last, 1), true);
  return counts;
}

/// Raises unless an element of each row, of which there is one, can be written; gives the
/// dimension.
template <class T, class D>
int check_choice(const char* op, const tensor_view<const T, D>& x, i64 dim, bool keepdim,
                 const tensor_view<T, D>& values, const tensor_view<i64, D>& indices) {
  const int d = normalize_dim(dim, x.rank(), op);
  const i64 one = d;
  check_reduced(op, x, values, int_list(&one, x.rank() == 0 ? 0 : 1), keepdim);
  check_same_sizes(op, values, indices);
  check_separate(op, indices, x, values);
  if (x.rank() > 0 && x.size(d) == 0) [[unlikely]]
    raise_sizes(op, "at least one element along the dimension", x.sizes());
  return d;
}

template <class S, class T, class D>
void kth_value_into(const S& stream, const tensor_view<const T, D>& x, i64 k, i64 dim, bool keepdim,
                    const tensor_view<T, D>& values, const tensor_view<i64, D>& indices) {
  constexpr const char* op = "kthvalue";
  const int d = check_choice(op, x, dim, keepdim, values, indices);
  const auto rows = rows_along(x, d);
  const i64 n = rows.size(-1);
  if (k < 1 || k > n) [[unlikely]]
    raise(errc::out_of_range, op, "k in [1, " + text(n) + "]", text(k));
  if (values.empty()) return;
  const sorted_rows<S, T> sorted(op, stream, rows);
  const auto at = [&](const auto& all) { return all.view().narrow(-1, k - 1, 1); };
  copy_into(op, stream, one_a_row(values, d, x.rank(), keepdim), at(sorted.values));
  copy_into(op, stream, one_a_row(indices, d, x.rank(), keepdim), at(sorted.order));
}

/// NaN, which are sorted behind all numbers, are skipped, or the first one is the result.
template <bool SkipsNan, class S, class T, class D>
void median_into(const char* op, const S& stream, const tensor_view<const T, D>& x, i64 dim,
                 bool keepdim, const tensor_view<T, D>& values,
                 const tensor_view<i64, D>& indices) {
  const int d = check_choice(op, x, dim, keepdim, values, indices);
  if (values.empty()) return;
  const auto rows = rows_along(x, d);
  const i64 n = rows.size(-1);
  const sorted_rows<S, T> sorted(op, stream, rows);
  auto places = empty<i64>(stream, one_a_row(rows.shape_of()), op);
  if constexpr (kind_of<T> != kind::floating) {
    fill(op, stream, places.view(), (n - 1) / 2);
  } else {
    const auto nan = count_nan(op, stream, rows);
    if constexpr (SkipsNan)
      assign(stream, places, div(maximum(sub(n - 1, nan), 0), 2, rounding_mode::floor), op);
    else
      assign(stream, places, where(gt(nan, 0), sub(n, nan), (n - 1) / 2), op);
  }
  sorted.take(op, stream, places.view(), one_a_row(values, d, x.rank(), keepdim),
              one_a_row(indices, d, x.rank(), keepdim));
}
template <bool SkipsNan, class S, class T, class D>
void median_of_all(const char* op, const S& stream, const tensor_view<const T, D>& x,
                   const tensor_view<T, D>& out) {
  check_reduced(op, x, out, {}, false);
  if (x.empty()) {
    if constexpr (kind_of<T> == kind::floating)
      return fill(op, stream, out, std::numeric_limits<f64>::quiet_NaN());
    else
      raise_sizes(op, "at least one integer", x.sizes());
  }
  tensor<T, D> memory;
  const auto row = as_row(op, stream, x, memory);
  auto place = empty<i64>(stream, {}, op);
  median_into<SkipsNan>(op, stream, row, 0, false, out, place.view());
}

template <class S, class T, class D>
void mode_into(const char* op, const S& stream, const tensor_view<const T, D>& x, i64 dim,
               bool keepdim, const tensor_view<T, D>& values, const tensor_view<i64, D>& indices) {
  const int d = check_choice(op, x, dim, keepdim, values, indices);
  if (values.empty()) return;
  const auto rows = rows_along(x, d);
  const i64 n = rows.size(-1);
  const sorted_rows<S, T> sorted(op, stream, rows);
  const int last = sorted.last;
  // Where the run of equal elements began that each is in.
  auto firsts = empty<i64>(stream, rows.shape_of(), op);
  const auto coordinates = [&](const auto& of) {
    return expr<coordinate<D>>(coordinate<D>(of.shape_of(), last));
  };
  fill(op, stream, firsts.view().narrow(last, 0, 1), 0);
  if (n > 1) {
    const auto others = firsts.view().narrow(last, 1, n - 1);
    const auto all = sorted.values.view();
    const auto differs = ne(all.narrow(last, 1, n - 1), all.narrow(last, 0, n - 1));
    assign(stream, others, where(differs, add(coordinates(others), 1), 0), op);
    auto spare = empty<i64>(stream, rows.shape_of(), op);
    launch_scan<kernels::scan_extreme<i64, true>>(op, stream, input_of(firsts), last, firsts.view(),
                                                  spare.view());
  }
  auto places = empty<i64>(stream, one_a_row(rows.shape_of()), op);
  reduce_index<operators::argmax, true>(op, stream, sub(coordinates(firsts), firsts), places.view(),
                                        last, true);
  sorted.take(op, stream, places.view(), one_a_row(values, d, x.rank(), keepdim),
              one_a_row(indices, d, x.rank(), keepdim));
}

/// The sizes of quantiles: those of q before those of the reduction.
template <class X>
shape quantile_sizes(const char* op, const X& x, const shape& q, std::optional<i64> dim,
                     bool keepdim) {
  if (q.rank() > 1) [[unlikely]]
    raise_sizes(op, "q of at most one dimension", q);
  const i64 one = dim.value_or(0);
  const shape reduced = reduced_shape(op, x, int_list(&one, dim && x.rank() > 0 ? 1 : 0), keepdim);
  if (q.rank() + reduced.rank() > max_rank) [[unlikely]]
    raise_rank(op, q.rank() + reduced.rank());
  shape sizes(q);
  for (const i64 k : reduced) sizes.push_back(k);
  return sizes;
}
template <class S, class Q>
void check_quantiles(const char* op, const S& stream, const Q& q) {
  const auto check = [op](f64 value) {
    if (!(value >= 0 && value <= 1)) [[unlikely]]
      raise(errc::invalid_argument, op, "q in [0, 1]", text(value));
  };
  if constexpr (!tensor_like<Q>) {
    check(static_cast<f64>(q));
  } else if constexpr (host_reads<device_of<S>>) {
    if constexpr (!is_synchronous<device_of<S>>) ref(stream).synchronize();
    const auto v = as_view(q);
    if (v.rank() > 1) return;  // refused by its sizes
    for (i64 k = 0; k < v.numel(); ++k)
      check(static_cast<f64>(v.rank() == 0 ? v.data()[0] : v.data()[k * v.stride(0)]));
  }
}

/// q: a tensor of at most one dimension. A row with NaN has that, unless they are skipped.
template <bool SkipsNan, class S, class T, class D>
void quantile_into(const char* op, const S& stream, const tensor_view<const T, D>& x,
                   const tensor_view<const T, D>& q, std::optional<i64> dim, bool keepdim,
                   quantile_interpolation how, const tensor_view<T, D>& out) {
  const int d = dim ? normalize_dim(*dim, x.rank(), op) : 0;
  check_output_sizes(op, quantile_sizes(op, x, q.shape_of(), dim, keepdim), out);
  check_separate(op, out, x, q);
  if (x.empty()) [[unlikely]]
    raise_sizes(op, "at least one element", x.sizes());
  if (out.empty()) return;
  tensor<T, D> memory;
  const bool of_all = !dim || x.rank() == 0;
  const auto rows = of_all ? as_row(op, stream, x, memory) : x.movedim(d, -1);
  tensor_view<T, D> to = q.rank() == 1 ? out : out.unsqueeze(0);
  if (keepdim)
    for (int k = x.rank(); k > 0; --k)
      if (of_all || k == d + 1) to = to.select(k, 0);
  to = to.movedim(0, -1);

  // As in ATen, ranks are of the elements' dtype.
  const sorted_rows<S, T> sorted(op, stream, rows);
  const auto nan = count_nan(op, stream, rows);
  const i64 n = rows.size(-1);
  auto ranks = empty<T>(stream, to.shape_of(), op);
  if constexpr (SkipsNan)
    assign(stream, ranks, mul(q, cast<T>(maximum(sub(n - 1, nan), 0))), op);
  else
    assign(stream, ranks, where(gt(nan, 0), static_cast<T>(n - 1), mul(q, static_cast<T>(n - 1))),
           op);
  const auto take = [&](const auto& rank, const tensor_view<T, D>& taken) {
    auto places = empty<i64>(stream, to.shape_of(), op);
    assign(stream, places, minimum(cast<i64>(rank), n - 1), op);
    sorted.take(op, stream, places.view(), taken);
  };
  using enum quantile_interpolation;
  if (how == nearest) return take(round(ranks), to);
  if (how == higher) return take(ceil(ranks), to);
  if (how == lower) return take(floor(ranks), to);
  auto below = empty<T>(stream, to.shape_of(), op), above = empty<T>(stream, to.shape_of(), op);
  take(floor(ranks), below.view());
  take(ceil(ranks), above.view());
  if (how == midpoint)
    assign(stream, to, lerp(below, above, T(0.5)), op);
  else
    assign(stream, to, lerp(below, above, sub(ranks, floor(ranks))), op);
}

/// New tensors for a choice of each row.
template <class S, class X>
auto empty_choice(const char* op, const S& stream, const X& x, i64 dim, bool keepdim) {
  const auto v = as_view(x);
  const i64 d = normalize_dim(dim, v.rank(), op);
  const shape sizes = reduced_shape(op, v, int_list(&d, v.rank() == 0 ? 0 : 1), keepdim);
  return values_and_indices<value_t<const X&>, device_of<S>>{
      empty<value_t<const X&>>(stream, sizes, op), empty<i64>(stream, sizes, op)};
}
/// q as a tensor of T.
template <class T, class S, class Q>
auto quantile_points(const char* op, const S& stream, const Q& q) {
  check_quantiles(op, stream, q);
  if constexpr (tensor_like<Q>) {
    static_assert(std::is_same_v<value_t<const Q&>, T>, "flaggems: q has the dtype of the input");
    return input_of(q);
  } else {
    return filled<T>(op, stream, {}, q);
  }
}
using quantile_types = type_list<f64, f32>;

}  // namespace detail

/// values = the k-th smallest elements along `dim`, k from 1 on; indices = where they were, of
/// equal ones in their order. NaN is larger than every number. Any real dtype; the outputs lack
/// `dim`, or have size 1 with keepdim. Raises out_of_range (dim, k), shape_mismatch, overlap or
/// invalid_argument (no elements along dim) before anything is written.
/// aten::kthvalue.values(Tensor self, SymInt k, int dim=-1, bool keepdim=False, *, Tensor(a!)
/// values, Tensor(b!) indices)
template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>
void kthvalue(const S& stream, const X& x, i64 k, Values&& values, Indices&& indices, i64 dim = -1,
              bool keepdim = false) {
  same_device<S, X, Values, Indices>();
  if constexpr (detail::check_sorted_types<const X&, Values, Indices>())
    detail::kth_value_into(stream, detail::input_of(x), k, dim, keepdim, as_view(values),
                           as_view(indices));
}
template <stream_like S, tensor_like X>
[[nodiscard]] auto kthvalue(const S& stream, const X& x, i64 k, i64 dim = -1,
                            bool keepdim = false) {
  auto out = detail::empty_choice("kthvalue", stream, x, dim, keepdim);
  kthvalue(stream, x, k, out.values, out.indices, dim, keepdim);
  return out;
}

// One line an operator: name, what computes it, and its dimension.
#define FLAGGEMS_CHOICE(name, into, ...)                                                    \
  template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>          \
  void name(const S& stream, const X& x, Values&& values, Indices&& indices, __VA_ARGS__,   \
            bool keepdim = false) {                                                         \
    same_device<S, X, Values, Indices>();                                                   \
    if constexpr (detail::check_sorted_types<const X&, Values, Indices>())                  \
      detail::into(#name, stream, detail::input_of(x), dim, keepdim, as_view(values),       \
                   as_view(indices));                                                       \
  }                                                                                         \
  template <stream_like S, tensor_like X>                                                   \
  [[nodiscard]] auto name(const S& stream, const X& x, __VA_ARGS__, bool keepdim = false) { \
    auto out = detail::empty_choice(#name, stream, x, dim, keepdim);                        \
    name(stream, x, out.values, out.indices, dim, keepdim);                                 \
    return out;                                                                             \
  }
// And of all elements.
#define FLAGGEMS_MEDIAN(name, skips_nan)                                                  \
  template <stream_like S, tensor_like X, tensor_like Out>                                \
  void name(const S& stream, const X& x, Out&& out) {                                     \
    same_device<S, X, Out>();                                                             \
    static_assert(std::is_same_v<value_t<const X&>, value_t<Out>>,                        \
                  "flaggems: the output has the dtype of the input");                     \
    if constexpr (element_type_in<detail::ordered_types, 1, X>())                         \
      detail::median_of_all<skips_nan>(#name, stream, detail::input_of(x), as_view(out)); \
  }                                                                                       \
  template <stream_like S, tensor_like X>                                                 \
  [[nodiscard]] auto name(const S& stream, const X& x) {                                  \
    auto out = empty<value_t<const X&>>(stream, {}, #name);                               \
    name(stream, x, out);                                                                 \
    return out;                                                                           \
  }

/// values = the medians along `dim`, of an even number of elements the lower of the two in the
/// middle; indices = where they were. A row with NaN has the first one. Otherwise as kthvalue.
/// aten::median.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values,
/// Tensor(b!) indices)
FLAGGEMS_CHOICE(median, median_into<false>, i64 dim)
/// out = the median of all elements, without dimensions; of none NaN. Raises invalid_argument for
/// no integers. aten::median.out(Tensor self, *, Tensor(a!) out)
FLAGGEMS_MEDIAN(median, false)
/// The medians of what is not NaN, which are NaN where nothing is; otherwise as median.
/// aten::nanmedian.dim_values(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) values,
/// Tensor(b!) indices)
FLAGGEMS_CHOICE(nanmedian, median_into<true>, i64 dim)
/// The median of all elements but NaN. aten::nanmedian.out(Tensor self, *, Tensor(a!) out)
FLAGGEMS_MEDIAN(nanmedian, true)
/// values = the most frequent elements along `dim`, of several the smallest; indices = where each
/// is last. NaN is equal to nothing. Otherwise as kthvalue.
/// aten::mode.values(Tensor self, int dim=-1, bool keepdim=False, *, Tensor(a!) values, Tensor(b!)
/// indices)
FLAGGEMS_CHOICE(mode, mode_into, i64 dim = -1)
#undef FLAGGEMS_MEDIAN
#undef FLAGGEMS_CHOICE

// One line an operator: name, whether NaN are skipped.
#define FLAGGEMS_QUANTILE(name, skips_nan)                                                        \
  template <stream_like S, tensor_like X, class Q, tensor_like Out>                               \
  requires(tensor_like<Q> || scalar_operand<Q>) void name(                                        \
      const S& stream, const X& x, const Q& q, Out&& out, std::optional<i64> dim = {},            \
      bool keepdim = false,                                                                       \
      quantile_interpolation interpolation = quantile_interpolation::linear) {                    \
    using T = value_t<const X&>;                                                                  \
    same_device<S, X, Out>();                                                                     \
    static_assert(std::is_same_v<T, value_t<Out>>,                                                \
                  "flaggems: the output has the dtype of the input");                             \
    if constexpr (element_type_in<detail::quantile_types, 1, X>()) {                              \
      const auto points = detail::quantile_points<T>(#name, stream, q);                           \
      detail::quantile_into<skips_nan>(#name, stream, detail::input_of(x),                        \
                                       detail::input_of(points), dim, keepdim, interpolation,     \
                                       as_view(out));                                             \
    }                                                                                             \
  }                                                                                               \
  template <stream_like S, tensor_like X, class Q>                                                \
  requires(tensor_like<Q> || scalar_operand<Q>) [[nodiscard]] auto name(                          \
      const S& stream, const X& x, const Q& q, std::optional<i64> dim = {}, bool keepdim = false, \
      quantile_interpolation interpolation = quantile_interpolation::linear) {                    \
    shape points;                                                                                 \
    if constexpr (tensor_like<Q>) points = as_view(q).shape_of();                                 \
    auto out = empty<value_t<const X&>>(                                                          \
        stream, detail::quantile_sizes(#name, as_view(x), points, dim, keepdim), #name);          \
    name(stream, x, q, out, dim, keepdim, interpolation);                                         \
    return out;                                                                                   \
  }

/// out = the quantiles along `dim`, or of all: the elements of rank q (n - 1) of n sorted ones,
/// interpolated where that is no integer. q: a number, or a tensor of x's dtype with at most one
/// dimension, which comes first in the result. x: f32 or f64. A row with NaN has NaN; as in ATen an
/// infinite element may also give NaN, which the line from it to another one has, and at its own
/// rank. Raises invalid_argument for q outside [0, 1] where the host can read it and for no
/// elements, out_of_range, shape_mismatch or overlap before anything is written.
/// aten::quantile.out(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str
/// interpolation='linear', Tensor(a!) out)
FLAGGEMS_QUANTILE(quantile, false)
/// The quantiles of what is not NaN, which are NaN where nothing is; otherwise as quantile.
/// aten::nanquantile.out(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str
/// interpolation='linear', Tensor(a!) out)
FLAGGEMS_QUANTILE(nanquantile, true)
#undef FLAGGEMS_QUANTILE

}  // namespace flaggems
