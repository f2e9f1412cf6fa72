// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/dispatch/sort.hpp>
#include <flaggems/ops/plan/indices.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>

namespace flaggems {

namespace operators {
struct sort;
struct argsort;
}  // namespace operators

namespace detail {

/// Every dtype with an order.
using ordered_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool>;

/// Raises unless the outputs can be written, `values`, if given, is exactly x or shares no memory
/// with it, and `indices` shares none with either.
FLAGGEMS_NOINLINE_ONCE void check_sorted_memory(const char* op, const memory_layout& x,
                                                const memory_layout* values,
                                                const memory_layout& indices) {
  const placed_layout from(x), places(indices), to(values != nullptr ? *values : x);
  if (values != nullptr) {
    check_writable(op, *values);
    check_no_partial_overlap(op, to, from);
  }
  check_writable(op, indices);
  if (overlap(places, from) != overlap_kind::none) [[unlikely]]
    raise(errc::overlap, op, "indices that share no memory with the input", "indices that do");
  if (overlap(to, places) != overlap_kind::none) [[unlikely]]
    raise(errc::overlap, op, "values and indices that share no memory", "overlapping outputs");
}
template <class X, class Indices>
void check_indices_output(const char* op, const X& x, const Indices& indices) {
  check_sorted_memory(op, layout_of(x), nullptr, layout_of(indices));
}
template <class X, class Values, class Indices>
void check_sorted_outputs(const char* op, const X& x, const Values& values,
                          const Indices& indices) {
  const memory_layout written = layout_of(values);
  check_sorted_memory(op, layout_of(x), &written, layout_of(indices));
}

/// Does not compile unless X, argument 1, has an order, and the outputs are of the right types;
/// gives whether it is so.
template <class X, class Values, class Indices>
constexpr bool check_sorted_types() {
  constexpr bool same = std::is_same_v<value_t<X>, value_t<Values>>;
  static_assert(same, "flaggems: values have the dtype of the input");
  return element_type_in<ordered_types, 1, X>() && same &&
         check_elements_written<element_t<Values>>() && check_indices_written<Indices>();
}

/// Sorts, after the last checks. `values` has no data if only the order is requested. Integers may
/// differ in their lowest `bits` alone.
template <class S, class T, class D, class X>
void sort_into(const char* op, const S& stream, const X& x, const tensor_view<T, D>& values,
               const tensor_view<i64, D>& indices, int dim, bool descending,
               int bits = bits_of_keys<T>) {
  const bool with_values = values.data() != nullptr;
  const bool dense = dim + 1 == x.rank() && x.is_contiguous() && indices.is_contiguous() &&
                     (!with_values || values.is_contiguous());
  row_plan plan(x.sizes(), dim, dense);
  plan.add(x);
  plan.add(indices);
  if (with_values) plan.add(values);
  if (plan.empty()) return;
  const kernels::row_space space = plan.space();
  const auto from = plan.arg(0, x);
  const auto places = plan.target(1, indices);
  const kernels::row_target<T> to = with_values ? plan.target(2, values) : kernels::row_target<T>{};
  sort_rows(op, stream, space, from, to, places, descending, bits);
}

}  // namespace detail

/// values = x sorted along `dim`, indices = where each element came from.
///
/// Shapes: x, values, indices: the same sizes, any strides; `values` may be `x` itself. Any real
/// dtype; indices are i64. Always stable, whatever `stable` says: equal elements (-0 and +0 among
/// them) keep their order, in a descending sort too. NaN is larger than every number. Raises
/// out_of_range, shape_mismatch or overlap before anything is written.
/// aten::sort.values_stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False,
/// Tensor(a!) values, Tensor(b!) indices)
template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>
void sort(const S& stream, const X& x, Values&& values, Indices&& indices, i64 dim = -1,
          bool descending = false, [[maybe_unused]] bool stable = true) {
  constexpr const char* op = "sort";
  same_device<S, X, Values, Indices>();
  if constexpr (detail::check_sorted_types<const X&, Values, Indices>()) {
    const auto from = as_view(x);
    const auto to = as_view(values);
    const auto places = as_view(indices);
    const int d = normalize_dim(dim, from.rank(), op);
    check_same_sizes(op, from, to);
    check_same_sizes(op, from, places);
    detail::check_sorted_outputs(op, from, to, places);
    if (!from.empty() &&
        !detail::replaced<operators::sort>(op, stream, from, to, places, d, descending))
      detail::sort_into(op, stream, from, tensor_view<value_t<const X&>, device_of<S>>(to),
                        tensor_view<i64, device_of<S>>(places), d, descending);
  }
}

/// x sorted along `dim`, with indices, in new tensors.
template <stream_like S, tensor_like X>
[[nodiscard]] auto sort(const S& stream, const X& x, i64 dim = -1, bool descending = false,
                        bool stable = true) {
  values_and_indices<value_t<const X&>, device_of<S>> out{
      detail::empty_in_order<value_t<const X&>>(stream, x, "sort"),
      detail::empty_in_order<i64>(stream, x, "sort")};
  sort(stream, x, out.values, out.indices, dim, descending, stable);
  return out;
}

/// out = the indices that sort x along `dim`; as `sort`, which also gives the values.
/// aten::argsort.stable_out(Tensor self, *, bool stable, int dim=-1, bool descending=False,
/// Tensor(a!) out)
template <stream_like S, tensor_like X, tensor_like Out>
void argsort(const S& stream, const X& x, Out&& out, i64 dim = -1, bool descending = false,
             [[maybe_unused]] bool stable = true) {
  constexpr const char* op = "argsort";
  same_device<S, X, Out>();
  if constexpr (element_type_in<detail::ordered_types, 1, X>() &&
                detail::check_indices_written<Out>()) {
    const auto from = as_view(x);
    const auto places = as_view(out);
    const int d = normalize_dim(dim, from.rank(), op);
    check_same_sizes(op, from, places);
    detail::check_indices_output(op, from, places);
    if (!from.empty() &&
        !detail::replaced<operators::argsort>(op, stream, from, places, d, descending))
      detail::sort_into(op, stream, from, tensor_view<value_t<const X&>, device_of<S>>(),
                        tensor_view<i64, device_of<S>>(places), d, descending);
  }
}

/// The indices that sort x along `dim` in a new tensor.
template <stream_like S, tensor_like X>
[[nodiscard]] auto argsort(const S& stream, const X& x, i64 dim = -1, bool descending = false,
                           bool stable = true) {
  auto out = detail::empty_in_order<i64>(stream, x, "argsort");
  argsort(stream, x, out, dim, descending, stable);
  return out;
}

}  // namespace flaggems
