// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/ops/dispatch/topk.hpp>
#include <flaggems/ops/sort.hpp>

namespace flaggems {

namespace operators {
struct topk;
}
namespace detail {

/// The sizes of the result of topk; raises for a k outside [0, size(dim)].
template <class X>
shape topk_shape(const X& x, i64 k, int dim) {
  const i64 n = x.rank() == 0 ? 1 : x.size(dim);
  if (k < 0 || k > n) [[unlikely]]
    raise(errc::out_of_range, "topk", "k in [0, " + text(n) + "]", text(k));
  shape sizes(x.sizes());
  if (sizes.rank() > 0) sizes[dim] = k;
  return sizes;
}

template <class S, class X, class Values, class Indices>
void topk_into(const S& stream, const X& from, i64 k, const Values& to, const Indices& places,
               i64 dim, bool largest) {
  constexpr const char* op = "topk";
  using T = typename X::value_type;
  const int d = normalize_dim(dim, from.rank(), op);
  const shape sizes = topk_shape(from, k, d);
  if (!same_sizes(to.sizes(), sizes) || !same_sizes(places.sizes(), sizes)) [[unlikely]]
    raise(errc::shape_mismatch, op, "values and indices of sizes " + to_string(sizes),
          to_string(shape(to.sizes())) + " and " + to_string(shape(places.sizes())));
  check_sorted_outputs(op, from, to, places);
  if (to.empty() || replaced<operators::topk>(op, stream, from, k, to, places, d, largest)) return;

  row_plan plan(from.sizes(), d);
  plan.add(from);
  plan.add(to);
  plan.add(places);
  const kernels::row_space space = plan.space();
  const i64 count = from.rank() == 0 ? 1 : k;
  topk_rows<T>(op, stream, space, count, plan.arg(0, from), plan.target(1, to),
               plan.target(2, places), largest);
}

}  // namespace detail

/// values, indices = the k largest elements of x along `dim` (the least if not `largest`), and
/// where they are.
///
/// Shapes: values, indices: x's sizes with k in the place of size(dim), any strides. Any real
/// dtype; indices are i64. NaN is larger than every number; of equal elements (-0 and +0 among
/// them) those with the lowest indices are taken. The result is sorted, the best first, equal ones
/// by index, whatever `sorted` says. `values` may be exactly `x`; other overlap raises. Raises
/// out_of_range (dim, k), shape_mismatch or overlap before anything is written.
/// aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *,
/// Tensor(a!) values, Tensor(b!) indices)
template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>
void topk(const S& stream, const X& x, i64 k, Values&& values, Indices&& indices, i64 dim = -1,
          bool largest = true, [[maybe_unused]] bool sorted = true) {
  same_device<S, X, i64, Values, Indices>();
  if constexpr (detail::check_sorted_types<const X&, Values, Indices>())
    detail::topk_into(stream, as_view(x), k, as_view(values), as_view(indices), dim, largest);
}

/// The k largest (or least) elements of x along `dim`, with indices, in new tensors.
template <stream_like S, tensor_like X>
[[nodiscard]] auto topk(const S& stream, const X& x, i64 k, i64 dim = -1, bool largest = true,
                        bool sorted = true) {
  const auto from = as_view(x);
  const shape sizes = detail::topk_shape(from, k, normalize_dim(dim, from.rank(), "topk"));
  values_and_indices<value_t<const X&>, device_of<S>> out{
      empty<value_t<const X&>>(stream, sizes, "topk"), empty<i64>(stream, sizes, "topk")};
  topk(stream, x, k, out.values, out.indices, dim, largest, sorted);
  return out;
}

}  // namespace flaggems
