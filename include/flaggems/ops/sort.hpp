// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/kernel/family/order/simt/radix_sort.hpp>
#include <flaggems/kernel/family/order/simt/sort.hpp>
#include <flaggems/kernel/family/order/vector/merge_sort.hpp>
#include <flaggems/kernel/family/order/vector/sort.hpp>
#include <flaggems/ops/plan/rows.hpp>
#include <flaggems/tensor/dtype.hpp>

namespace flaggems {

namespace operators {
struct sort;
struct argsort;
}  // namespace operators

/// What sort and topk return.
template <class T, class Device>
struct values_and_indices {
  tensor<T, Device> values;
  tensor<i64, Device> indices;
};

namespace detail {

/// Every dtype with an order.
using ordered_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool>;

/// The rows that are worked on at once: enough for any device's blocks, and workspaces that stay in
/// a cache.
inline i64 workspace_slots(i64 rows, i64 length) {
  constexpr i64 least = 64, elements = i64{1} << 20;
  return kernels::min_of(rows, kernels::max_of(least, elements / kernels::max_of(length, i64{1})));
}

/// Memory for a kernels::sort_workspace.
template <class U, class Device>
struct sort_memory {
  i64 slots, capacity;
  tensor<U, Device> keys;
  tensor<i64, Device> indices;

  template <class S>
  sort_memory(const char* op, const S& stream, i64 rows, i64 length, i64 sorted)
      : slots(workspace_slots(rows, length)),
        capacity(sorted),
        keys(empty<U>(stream, {slots, 2, sorted}, op)),
        indices(empty<i64>(stream, {slots, 2, sorted}, op)) {}
  kernels::sort_workspace<U> arg() { return {keys.data(), indices.data(), slots, capacity}; }
};

/// Raises unless `indices` can take the indices that go with x, and `values`, if there are any,
/// those values.
FLAGGEMS_NOINLINE inline void check_sorted_memory(const char* op, const memory_layout& x,
                                                  const memory_layout* values,
                                                  const memory_layout& indices) {
  const placed_layout from(x), places(indices), to(values != nullptr ? *values : x);
  if (values != nullptr) {
    check_writable(op, *values);
    check_apart_or_same(op, to, from);
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

/// The parts that a row of few is sorted in on the host; 1: rows are sorted one by a thread. A part
/// has enough to do to pay for a merger.
inline i64 parts_of_row(i64 rows, i64 length) {
  const i64 most = host_thread_pool().num_threads(), least = 16384;
  if (rows >= most) return 1;
  return kernels::max_of(i64{1}, kernels::min_of(most, length / least));
}

/// Sorts the rows one after the other, each by all threads of the host.
template <class S, class T>
void sort_long(const char* op, const S& stream, const kernels::row_space& space,
               const kernels::row_arg<T>& x, const kernels::row_target<T>& values,
               const kernels::row_target<i64>& indices, i64 parts, bool descending) {
  using U = kernels::bits_type<T>;
  const i64 n = space.length, share = kernels::ceil_div(n, parts);
  const i64 piece = 8192;
  auto memory = empty<u8>(stream, {n, 2 * i64{sizeof(i64) + sizeof(U)}}, op);
  auto* const places = reinterpret_cast<i64*>(memory.data());
  auto* const keys = reinterpret_cast<U*>(places + 2 * n);
  kernels::sort_buffers<U> data{keys, keys + n, places, places + n};
  launch_config sorting, merging;
  sorting.op = merging.op = op;
  sorting.tiles = kernels::ceil_div(n, share);
  sorting.work = work_of(n, 64);
  sorting.scratch = scratch_bytes<i64>(kernels::sort_counters);
  sorting.threads = merging.threads = static_cast<int>(kernels::sort_threads);
  merging.tiles = kernels::ceil_div(n, piece);
  merging.work = work_of(n, 16);
  for (i64 row = 0; row < space.rows; ++row) {
    launch<kernels::sort_parts<T>>(stream, sorting, space, row, x, data, share,
                                   static_cast<i32>(descending ? 1 : 0));
    for (i64 width = share; width < n; width *= 2) {
      launch<kernels::merge_parts<U>>(stream, merging, n, data, width, piece);
      data = data.swapped();
    }
    if (values.data != nullptr)
      launch<kernels::gather_sorted<T>>(stream, merging, space, row, x, data, piece);
    launch<kernels::write_row<T>>(stream, merging, space, row, values, indices, data, piece);
  }
}

/// Sorts rows that fit a chip's block-local memory there; false: they do not.
template <class S, class T>
bool sort_in_blocks(const char* op, const S& stream, const kernels::row_space& space,
                    const kernels::row_arg<T>& x, const kernels::row_target<T>& values,
                    const kernels::row_target<i64>& indices, bool descending) {
  using U = kernels::bits_type<T>;
  using few = kernels::short_sort;
  using plan = kernels::block_sort<U>;
  const i64 n = space.length;
  launch_config config;
  config.op = op;
  config.tiles = space.rows;
  config.work = work_of(space.rows, n, 64);
  const i32 reversed = descending ? 1 : 0;
  if (n <= few::most) {
    i32 shift = 0;  // of the threads that share a row
    while (few::keys << shift < n) ++shift;
    config.threads = few::threads;
    config.tiles = kernels::ceil_div(space.rows, i64{few::threads >> shift});
    launch<kernels::sort_short<T>>(stream, config, space, x, values, indices, shift, reversed);
    return true;
  }
  if (n > plan::most) return false;
  constexpr int warp = device_of<S>::geometry::warp_size;
  config.threads = kernels::round_up(static_cast<int>(kernels::ceil_div(n, i64{plan::keys})), warp);
  config.scratch = plan::scratch(config.threads);
  if (values.data == nullptr)
    launch<kernels::sort_chip<T, false>>(stream, config, space, x, values, indices, reversed);
  else
    launch<kernels::sort_chip<T, true>>(stream, config, space, x, values, indices, reversed);
  return true;
}

/// Sorts rows that blocks do not hold, on a chip; so many together as have `most` elements, at
/// least one. J: an unsigned integer for places in a row.
template <class J, class S, class T>
void sort_by_radix(const char* op, const S& stream, const kernels::row_space& space,
                   const kernels::row_arg<T>& x, const kernels::row_target<T>& values,
                   const kernels::row_target<i64>& indices, bool descending,
                   i64 most = i64{1} << 25) {
  using U = kernels::bits_type<T>;
  using pass_type = kernels::radix_pass<U, J>;
  using tile = kernels::radix_tile;
  constexpr int passes = sizeof(U);
  const i64 n = space.length;
  const i64 together = kernels::min_of(space.rows, kernels::max_of(i64{1}, most / n));
  const i64 size = i64{tile::threads} * tile::keys, tiles = kernels::ceil_div(n, size);
  const i64 lines = together * tile::digits;
  // Pass by pass they go from one half to the other; those of the last pass are the result.
  constexpr int halves = passes < 3 ? passes - 1 : 2;
  auto keys = empty<U>(stream, {kernels::max_of(halves, 1), together, n}, op);
  auto places = empty<J>(stream, {halves, together, n}, op);
  auto counts = empty<J>(stream, {lines, tiles + 1}, op);

  pass_type pass{};
  pass.tiles = tiles;
  pass.counts = counts.data();
  pass.totals = counts.data() + lines * tiles;
  pass.descending = descending ? 1 : 0;
  launch_config counting, scanning, moving, taking;
  counting.op = scanning.op = moving.op = taking.op = op;
  counting.threads = moving.threads = tile::threads;
  counting.scratch = tile::count_scratch;
  scanning.threads = static_cast<int>(kernels::min_of<i64>(1024, tiles));
  moving.scratch = tile::move_scratch<U, J>();
  for (; pass.first < space.rows; pass.first += together) {
    pass.rows = kernels::min_of(together, space.rows - pass.first);
    counting.tiles = moving.tiles = pass.rows * tiles;
    scanning.tiles = pass.rows * tile::digits;
    taking.tiles = pass.rows * kernels::ceil_div(n, kernels::taken_together);
    counting.work = moving.work = taking.work = work_of(pass.rows, n, 16);
    scanning.work = work_of(scanning.tiles, tiles, 1);
    for (int k = 0; k < passes; ++k) {
      const i64 from = (k + 1) % 2 * together * n, to = k % 2 * together * n;
      pass.shift = k * tile::bits;
      pass.keys = k == 0 ? nullptr : keys.data() + from;
      pass.places = k == 0 ? nullptr : places.data() + from;
      pass.next_keys = k + 1 == passes ? nullptr : keys.data() + to;
      pass.next_places = k + 1 == passes ? nullptr : places.data() + to;
      launch<kernels::radix_count<T, J>>(stream, counting, space, x, indices, pass);
      launch<kernels::radix_scan<J>>(stream, scanning, scanning.tiles, tiles, pass.counts,
                                     pass.totals);
      launch<kernels::radix_move<T, J>>(stream, moving, space, x, indices, pass);
    }
    if (values.data == nullptr) continue;
    T* const spare = values.data == x.data ? reinterpret_cast<T*>(keys.data()) : nullptr;
    for (i32 from = 0; from < (spare != nullptr ? 2 : 1); ++from)
      launch<kernels::take_sorted<T>>(stream, taking, space, pass.first, pass.rows, x, values,
                                      indices, spare, from);
  }
}

/// Sorts each row by a block, in a workspace.
template <class S, class T, class D = device_of<S>>
void sort_in_workspace(const char* op, const S& stream, const kernels::row_space& space,
                       const kernels::row_arg<T>& x, const kernels::row_target<T>& values,
                       const kernels::row_target<i64>& indices, bool descending) {
  sort_memory<kernels::bits_type<T>, D> memory(op, stream, space.rows, space.length, space.length);
  launch_config config;
  config.op = op;
  config.tiles = memory.slots;
  config.work = work_of(space.rows, space.length, 64);
  config.scratch = scratch_bytes<i64>(kernels::sort_counters);
  config.threads = static_cast<int>(kernels::sort_threads);
  launch<kernels::sort<T>>(stream, config, space, x, values, indices, memory.arg(),
                           static_cast<i32>(descending ? 1 : 0));
}

/// The last checks are done: sorts. `values` has no data if only the order is asked for.
template <class S, class T, class D, class X>
void sort_into(const char* op, const S& stream, const X& x, const tensor_view<T, D>& values,
               const tensor_view<i64, D>& indices, int dim, bool descending) {
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
  if constexpr (has_vectors<D>) {
    if (const i64 parts = parts_of_row(space.rows, space.length); parts > 1)
      sort_long(op, stream, space, from, to, places, parts, descending);
    else
      sort_in_workspace(op, stream, space, from, to, places, descending);
  } else {
    if (sort_in_blocks(op, stream, space, from, to, places, descending)) return;
    if (space.length >> 32 == 0)
      sort_by_radix<u32>(op, stream, space, from, to, places, descending);
    else
      sort_by_radix<u64>(op, stream, space, from, to, places, descending);
  }
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
  const shape sizes(as_view(x).sizes());
  values_and_indices<value_t<const X&>, device_of<S>> out{
      empty<value_t<const X&>>(stream, sizes, "sort"), empty<i64>(stream, sizes, "sort")};
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
  auto out = empty<i64>(stream, shape(as_view(x).sizes()), "argsort");
  argsort(stream, x, out, dim, descending, stable);
  return out;
}

}  // namespace flaggems
