// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernels/topk_chip.hpp>
#include <flaggems/kernels/topk_host.hpp>
#include <flaggems/ops/sort.hpp>

namespace flaggems {

namespace operators {
struct topk;
}
namespace detail {

/// The sizes of the result of topk; raises for a k that x does not have.
template <class X>
shape topk_shape(const X& x, i64 k, int dim) {
  const i64 n = x.rank() == 0 ? 1 : x.size(dim);
  if (k < 0 || k > n) [[unlikely]]
    raise(errc::out_of_range, "topk", "k in [0, " + text(n) + "]", text(k));
  shape sizes(x.sizes());
  if (sizes.rank() > 0) sizes[dim] = k;
  return sizes;
}

}  // namespace detail

/// values, indices = the k largest elements of x along `dim` (the least if not `largest`), and
/// where they are.
///
/// Shapes: values, indices: x's sizes with k in the place of size(dim), any strides. Any real
/// dtype; indices are i64. NaN is larger than every number; of equal elements (-0 and +0 among
/// them) those with the lowest indices are taken. The result is sorted, the best first, equal ones
/// by index, whatever `sorted` says. `values` shares memory with `x` at most as exactly the same
/// view. Raises out_of_range (dim, k), shape_mismatch or overlap before anything is written.
/// aten::topk.values(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True, *,
/// Tensor(a!) values, Tensor(b!) indices)
template <stream_like S, tensor_like X, tensor_like Values, tensor_like Indices>
void topk(const S& stream, const X& x, i64 k, Values&& values, Indices&& indices, i64 dim = -1,
          bool largest = true, [[maybe_unused]] bool sorted = true) {
  constexpr const char* op = "topk";
  same_device<S, X, i64, Values, Indices>();
  element_type_in<detail::ordered_types, 1, X>();
  using T = value_t<const X&>;
  const auto from = as_view(x);
  const auto to = as_view(values);
  const auto places = as_view(indices);
  const int d = normalize_dim(dim, from.rank(), op);
  const shape sizes = detail::topk_shape(from, k, d);
  if (!detail::same_sizes(to.sizes(), sizes) || !detail::same_sizes(places.sizes(), sizes))
      [[unlikely]]
    raise(errc::shape_mismatch, op, "values and indices of sizes " + to_string(sizes),
          to_string(shape(to.sizes())) + " and " + to_string(shape(places.sizes())));
  detail::check_sorted_outputs(op, from, to, places);
  if (to.empty() || detail::replaced<operators::topk>(op, stream, from, k, to, places, d, largest))
    return;

  row_plan plan(from.sizes(), d);
  plan.add(from);
  plan.add(to);
  plan.add(places);
  const kernels::row_space space = plan.space();
  const i64 count = from.rank() == 0 ? 1 : k;
  if constexpr (!host_accessible<device_of<S>>) {
    if (count <= kernels::chip_most_first && space.length < i64{1} << 31) {
      launch_config config;
      config.op = op;
      config.tiles = space.rows;
      config.work = work_of(from.numel(), 16);
      config.scratch = scratch_bytes<kernels::bits_type<T>>(kernels::chip_collected) +
                       scratch_bytes<i32>(kernels::chip_collected) + scratch_bytes<i64>(264);
      // Few long rows: more threads each.
      if (space.rows < 256 && space.length > 8192) config.threads = 1024;
      launch<kernels::topk_chip<T>>(stream, config, space, count, plan.arg(0, from),
                                    plan.target(1, to), plan.target(2, places),
                                    static_cast<i32>(largest ? 1 : 0));
      return;
    }
  }
  const i64 kept = host_accessible<device_of<S>> ? kernels::collected(space.length, count) : count;
  detail::sort_memory<kernels::bits_type<T>, device_of<S>> memory(op, stream, space.rows,
                                                                  space.length, kept);
  launch_config config;
  config.op = op;
  config.tiles = memory.slots;
  config.work = work_of(from.numel(), 16);
  config.scratch = scratch_bytes<i64>(kernels::sort_counters);
  config.threads = static_cast<int>(kernels::sort_threads);
  launch<kernels::topk<T>>(stream, config, space, count, plan.arg(0, from), plan.target(1, to),
                           plan.target(2, places), memory.arg(), static_cast<i32>(largest ? 1 : 0));
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
