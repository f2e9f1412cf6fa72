// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/order/simt/topk.hpp>
#include <flaggems/kernel/family/order/vector/topk.hpp>
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

/// Rows that fit a team of threads, of which a block has some; false: they do not.
template <class T, class S>
bool topk_in_teams(const char* op, const S& stream, const kernels::row_space& space, i64 k,
                   const kernels::row_arg<T>& in, const kernels::row_target<T>& values,
                   const kernels::row_target<i64>& indices, bool largest) {
  using kernel = kernels::topk_teams<T>;
  const i64 each =
      space.length <= 64 * kernels::topk_few_each ? kernels::topk_few_each : kernels::topk_each;
  int team = kernel::least_team, groups = team;  // powers of two
  while (i64{1} << team < 2 * k || each << team < space.length) ++team;
  while (i64{1} << groups < 4 * k && groups < team) ++groups;
  if (team > kernel::most_team) return false;
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(space.rows, i64{kernel::max_threads >> team});
  config.threads = kernel::max_threads;
  config.work = work_of(space.rows, space.length, 16);
  config.blocks_per_unit = 0;
  config.scratch = kernel::most_scratch;
  launch<kernel>(stream, config, space, static_cast<i32>(k), static_cast<i32>(team),
                 static_cast<i32>(groups), in, values, indices, static_cast<i32>(largest ? 1 : 0));
  return true;
}

/// The first k, at most topk_blocks::most_first, of rows of less than 2^31 elements. `map`, if
/// there is one, has their indices.
template <class T, class S>
void topk_on_chip(const char* op, const S& stream, const kernels::row_space& space, i64 k,
                  const kernels::row_arg<T>& in, const i64* map,
                  const kernels::row_target<T>& values, const kernels::row_target<i64>& indices,
                  bool largest) {
  using kernel = kernels::topk_blocks<T>;
  if (map == nullptr && topk_in_teams<T>(op, stream, space, k, in, values, indices, largest))
    return;
  const i64 n = space.length, fewer = 256 * kernels::topk_each;
  launch_config config;
  config.op = op;
  // Enough groups, but of long rows as many blocks as may be.
  config.threads = n <= fewer ? (k <= 512 ? 256 : 512) : (n > kernel::most && k <= 64 ? 256 : 512);
  const bool few = n > kernel::most && work_of(space.rows, n) < i64{1} << 21;
  const i64 most = config.threads * (few ? kernels::topk_each / 4 : kernels::topk_each);
  i64 parts = kernels::ceil_div(n, most);
  const i64 share = parts == 1 ? n : kernels::round_up(kernels::ceil_div(n, parts), i64{64});
  parts = kernels::ceil_div(n, share);
  config.tiles = space.rows * parts;
  config.work = work_of(space.rows, n, 16);
  config.blocks_per_unit = 0;
  config.scratch = kernel::most_scratch;
  const auto run = [&](const kernels::row_target<T>& to, const kernels::row_target<i64>& places) {
    launch<kernel>(stream, config, space, static_cast<i32>(k), parts, share, in, map, to, places,
                   static_cast<i32>(largest ? 1 : 0));
  };
  if (parts == 1) return run(values, indices);

  kernels::row_space next = space;
  next.length = (parts - 1) * k + kernels::min_of(k, n - (parts - 1) * share);
  auto some = empty<T>(stream, {space.rows, next.length}, op);
  auto places = empty<i64>(stream, {space.rows, next.length}, op);
  kernels::row_target<T> to{some.data(), {}};
  to.strides[space.rank] = 1;
  for (i64 d = space.rank, step = next.length; d > 0; --d) {
    to.strides[d - 1] = step;
    step *= space.sizes[d - 1];
  }
  kernels::row_target<i64> at{places.data(), {}};
  kernels::row_arg<T> from{some.data(), {}};
  for (int d = 0; d < max_rank; ++d) at.strides[d] = from.strides[d] = to.strides[d];
  run(to, at);
  topk_on_chip<T>(op, stream, next, k, from, places.data(), values, indices, largest);
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
  if constexpr (has_simt<device_of<S>>) {
    if (count <= kernels::topk_blocks<T>::most_first && space.length < i64{1} << 31)
      return topk_on_chip<T>(op, stream, space, count, plan.arg(0, from), nullptr,
                             plan.target(1, to), plan.target(2, places), largest);
  }
  const i64 kept = has_vectors<device_of<S>> ? kernels::collected(space.length, count) : count;
  sort_memory<kernels::bits_type<T>, device_of<S>> memory(op, stream, space.rows, space.length,
                                                          kept);
  launch_config config;
  config.op = op;
  config.tiles = memory.slots;
  config.work = work_of(from.numel(), 16);
  config.scratch = scratch_bytes<i64>(kernels::sort_counters);
  config.threads = static_cast<int>(kernels::sort_threads);
  launch<kernels::topk<T>>(stream, config, space, count, plan.arg(0, from), plan.target(1, to),
                           plan.target(2, places), memory.arg(), static_cast<i32>(largest ? 1 : 0));
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
