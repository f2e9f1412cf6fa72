// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements, or slices, without repetitions: runs of equal neighbours, after a sort or as they come.
#pragma once

#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/nonzero.hpp>
#include <flaggems/ops/reduce.hpp>

#include <optional>
#include <tuple>
#include <utility>

namespace flaggems {

/// Elements without repetitions; which of them each element was; and how often each occurred. What
/// was not asked for has no elements.
template <class T, class Device>
struct unique_elements {
  tensor<T, Device> values;
  tensor<i64, Device> inverse, counts;
  auto tie() { return std::tie(values, inverse, counts); }
};

namespace detail {

/// Runs of equal neighbours in a list, of at least one element: the run that each element is in,
/// and where each run begins. It waits for the stream, which their number comes from.
template <class S>
struct equal_runs {
  using D = device_of<S>;
  tensor<i64, D> of, firsts;

  /// `differs`: whether element k + 1 is another than element k, for n - 1 of them.
  template <class X>
  equal_runs(const char* op, const S& stream, i64 n, const X& differs)
      : of(empty<i64>(stream, {n}, op)) {
    fill(op, stream, of.view().narrow(0, 0, 1), 0);
    if (n > 1) {
      assign(stream, of.view().narrow(0, 1, n - 1), cast<i64>(differs), op);
      launch_scan<kernels::scan_sum<i64>>(op, stream, input_of(of), 0, of.view(),
                                          tensor_view<i64, D>());
    }
    const auto runs = input_of(of);
    firsts = empty<i64>(stream, {read_element(stream, runs.narrow(0, n - 1, 1)) + 1}, op);
    // Others than the first of a run are written nowhere.
    auto places = empty<i64>(stream, {n}, op), all = empty<i64>(stream, {n}, op);
    assign_node(op, stream, all.view(), sequence<i64>{0, 1});
    fill(op, stream, places.view().narrow(0, 0, 1), 0);
    if (n > 1) {
      const auto own = runs.narrow(0, 1, n - 1);
      assign(stream, places.view().narrow(0, 1, n - 1),
             where(ne(own, runs.narrow(0, 0, n - 1)), own, i64(-1)), op);
    }
    launch_scatter(op, stream, elements_along(firsts.view(), 0, input_of(places)), input_of(all), 0,
                   kernels::joining::replace);
  }
  /// How long each run is.
  [[nodiscard]] tensor<i64, D> counts(const char* op, const S& stream) const {
    const i64 runs = firsts.numel(), n = of.numel();
    auto out = empty<i64>(stream, {runs}, op);
    const auto first = firsts.view();
    assign(stream, out.view().narrow(0, 0, runs - 1),
           sub(first.narrow(0, 1, runs - 1), first.narrow(0, 0, runs - 1)), op);
    assign(stream, out.view().narrow(0, runs - 1, 1), sub(n, first.narrow(0, runs - 1, 1)), op);
    return out;
  }
};

/// What is asked for of runs. `order`: where the list's elements were before a sort.
template <class S, class T, class D>
void put_runs(const char* op, const S& stream, const equal_runs<S>& runs,
              const std::optional<tensor_view<const i64, D>>& order, bool inverse, bool counts,
              const shape& sizes, unique_elements<T, D>& out) {
  if (counts) out.counts = runs.counts(op, stream);
  if (!inverse) return;
  out.inverse = empty<i64>(stream, sizes, op);
  const auto to = out.inverse.view().view({runs.of.numel()});
  if (order)
    launch_scatter(op, stream, elements_along(to, 0, *order), input_of(runs.of), 0,
                   kernels::joining::replace);
  else
    copy_into(op, stream, to, input_of(runs.of));
}

/// New values, and the inverse of those, of these sizes, without counts.
template <class T, class S>
auto no_unique(const char* op, const S& stream, const shape& values, const shape& inverse) {
  return unique_elements<T, device_of<S>>{
      empty<T>(stream, values, op), empty<i64>(stream, inverse, op), empty<i64>(stream, {0}, op)};
}

template <bool Sorts, class S, class T, class D>
auto unique_of_all(const char* op, const S& stream, const tensor_view<const T, D>& x, bool inverse,
                   bool counts) {
  auto out = no_unique<T>(op, stream, {0}, inverse && x.empty() ? x.shape_of() : shape{0});
  if (x.empty()) return out;
  tensor<T, D> memory;
  const auto given = as_row(op, stream, x, memory);
  const i64 n = given.numel();
  tensor<T, D> sorted;
  tensor<i64, D> order;
  if constexpr (Sorts) {
    sorted = empty<T>(stream, {n}, op);
    order = empty<i64>(stream, {n}, op);
    sort_into(op, stream, given, sorted.view(), order.view(), 0, false);
  }
  const auto row = Sorts ? input_of(sorted) : given;
  const equal_runs<S> runs(op, stream, n, ne(row.narrow(0, 1, n - 1), row.narrow(0, 0, n - 1)));
  out.values = empty<T>(stream, {runs.firsts.numel()}, op);
  launch_gather(op, stream, elements_along(row, 0, input_of(runs.firsts)), out.values.view());
  std::optional<tensor_view<const i64, D>> before;
  if (Sorts) before = input_of(order);
  put_runs(op, stream, runs, before, inverse, counts, x.shape_of(), out);
  return out;
}

/// The order of a matrix's rows, by their first elements, equal ones by their second, and so on:
/// stable sorts from the last column to the first.
template <class S, class T, class D>
tensor<i64, D> order_of_rows(const char* op, const S& stream, const tensor_view<const T, D>& rows) {
  const i64 n = rows.size(0);
  auto order = empty<i64>(stream, {n}, op), next = empty<i64>(stream, {n}, op),
       moved = empty<i64>(stream, {n}, op);
  auto keys = empty<T>(stream, {n}, op);
  assign_node(op, stream, order.view(), sequence<i64>{0, 1});
  for (i64 k = rows.size(1) - 1; k >= 0; --k) {
    launch_gather(op, stream, elements_along(rows.select(1, k), 0, input_of(order)), keys.view());
    sort_into(op, stream, input_of(keys), tensor_view<T, D>(), moved.view(), 0, false);
    launch_gather(op, stream, elements_along(input_of(order), 0, input_of(moved)), next.view());
    std::swap(order, next);
  }
  return order;
}

template <bool Sorts, class S, class T, class D>
auto unique_slices(const char* op, const S& stream, const tensor_view<const T, D>& x, i64 dim) {
  const int d = normalize_dim(dim, x.rank(), op);
  if (x.rank() == 0) return unique_of_all<Sorts>(op, stream, x, true, true);
  const i64 n = x.size(d);
  if (x.empty()) {
    for (int k = 0; k < x.rank(); ++k)
      if (k != d && x.size(k) == 0) [[unlikely]]
        raise_sizes(op, "elements in every slice", x.sizes());
    return no_unique<T>(op, stream, x.shape_of(), {0});
  }
  const i64 length = x.numel() / n;
  auto matrix = copied<T>(op, stream, x.movedim(d, 0));
  tensor_view<const T, D> rows = input_of(matrix).view({n, length});
  tensor<i64, D> order;
  tensor<T, D> sorted;
  if constexpr (Sorts) {
    order = order_of_rows(op, stream, rows);
    sorted = empty<T>(stream, {n, length}, op);
    launch_lookup(op, stream, rows, 0, input_of(order), sorted.view());
    rows = input_of(sorted);
  }
  auto differs = empty<bool>(stream, {n - 1}, op);
  const i64 along = 1;
  if (n > 1)
    reduce_values<operators::any, any_fold, bool>(
        op, stream, ne(rows.narrow(0, 1, n - 1), rows.narrow(0, 0, n - 1)), differs.view(),
        int_list(&along, 1), false, reduction_result::total);
  const equal_runs<S> runs(op, stream, n, differs);
  shape sizes = x.shape_of();
  sizes[d] = runs.firsts.numel();
  auto out = no_unique<T>(op, stream, sizes, {0});
  launch_lookup(op, stream, rows.view(x.movedim(d, 0).shape_of()), 0, input_of(runs.firsts),
                out.values.view().movedim(d, 0));
  std::optional<tensor_view<const i64, D>> before;
  if (Sorts) before = input_of(order);
  put_runs(op, stream, runs, before, true, true, {n}, out);
  return out;
}

}  // namespace detail

/// The elements of x, sorted and without repetitions; with return_inverse which of them each
/// element of x is, in x's sizes; with return_counts how often each occurs. They are sorted
/// whatever `sorted` says. NaN is equal to nothing. Any real dtype. It waits for the stream.
/// aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool
/// return_counts=False)
template <stream_like S, tensor_like X>
[[nodiscard]] auto unique2(const S& stream, const X& x, [[maybe_unused]] bool sorted = true,
                           bool return_inverse = false, bool return_counts = false) {
  same_device<S, X>();
  static_assert(element_type_in<detail::ordered_types, 1, X>());
  return detail::unique_of_all<true>("unique2", stream, detail::input_of(x), return_inverse,
                                     return_counts);
}
/// The slices of x across `dim`, sorted by their elements in order and without repetitions;
/// otherwise as unique2. The inverse has an element for each slice; it and the counts are always
/// there, as ATen's are. Sorts once for each element of
/// a slice. Raises invalid_argument for slices without elements, and out_of_range.
/// aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool
/// return_counts=False)
template <stream_like S, tensor_like X>
[[nodiscard]] auto unique_dim(const S& stream, const X& x, i64 dim,
                              [[maybe_unused]] bool sorted = true,
                              [[maybe_unused]] bool return_inverse = false,
                              [[maybe_unused]] bool return_counts = false) {
  same_device<S, X>();
  static_assert(element_type_in<detail::ordered_types, 1, X>());
  return detail::unique_slices<true>("unique_dim", stream, detail::input_of(x), dim);
}
/// The elements of x in row-major order, or its slices across `dim`, without those that equal the
/// one before; otherwise as unique2, and as unique_dim.
/// aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int?
/// dim=None)
template <stream_like S, tensor_like X>
[[nodiscard]] auto unique_consecutive(const S& stream, const X& x, bool return_inverse = false,
                                      bool return_counts = false, std::optional<i64> dim = {}) {
  constexpr const char* op = "unique_consecutive";
  same_device<S, X>();
  static_assert(element_type_in<detail::ordered_types, 1, X>());
  const auto v = detail::input_of(x);
  // (ATen's rule: the elements of a vector are no slices across dimension 0.)
  if (!dim || (*dim == 0 && v.rank() == 1))
    return detail::unique_of_all<false>(op, stream, v, return_inverse, return_counts);
  return detail::unique_slices<false>(op, stream, v, *dim);
}

}  // namespace flaggems
