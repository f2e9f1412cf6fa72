// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How rows are sorted: by merging sorted parts, or in a workspace, on vector workers; in a block,
// or by a radix sort of all rows, on SIMT devices.
#pragma once

#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/family/order/simt/radix_sort.hpp>
#include <flaggems/kernel/family/order/simt/sort.hpp>
#include <flaggems/kernel/family/order/vector/merge_sort.hpp>
#include <flaggems/kernel/family/order/vector/sort.hpp>
#include <flaggems/launch/host_entry.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/rows.hpp>

namespace flaggems::detail {

/// The rows that are worked on at once: enough for any device's blocks, and workspaces that stay in
/// a cache.
template <class Device>
i64 workspace_slots(i64 rows, i64 length) {
  using numbers = tuning<families::sort, Device>;
  const i64 rows_per_pass = numbers::workspace_elements / kernels::max_of(length, i64{1});
  return kernels::min_of(rows, kernels::max_of(numbers::workspace_rows, rows_per_pass));
}

/// Memory for a kernels::sort_workspace.
template <class U, class Device>
struct sort_memory {
  i64 slots, capacity;
  tensor<U, Device> keys;
  tensor<i64, Device> indices;

  template <class S>
  sort_memory(const char* op, const S& stream, i64 rows, i64 length, i64 sorted)
      : slots(workspace_slots<Device>(rows, length)),
        capacity(sorted),
        keys(empty<U>(stream, {slots, 2, sorted}, op)),
        indices(empty<i64>(stream, {slots, 2, sorted}, op)) {}
  kernels::sort_workspace<U> arg() { return {keys.data(), indices.data(), slots, capacity}; }
};

/// The parts that a row of few is sorted in on the host; 1: rows are sorted one by a thread. A part
/// has enough to do to pay for a merger.
template <class Device>
i64 parts_of_row(i64 rows, i64 length) {
  const i64 most = host_thread_pool().num_threads(),
            least = tuning<families::sort, Device>::least_part;
  if (rows >= most) return 1;
  return kernels::max_of(i64{1}, kernels::min_of(most, length / least));
}

/// The bits of a key that orders elements of T.
template <class T>
inline constexpr int bits_of_keys = 8 * static_cast<int>(sizeof(kernels::bits_type<T>));

/// Sorts the rows one after the other, each by all threads of the host.
template <class S, class T>
void sort_long(const char* op, const S& stream, const kernels::row_space& space,
               const kernels::row_arg<T>& x, const kernels::row_target<T>& values,
               const kernels::row_target<i64>& indices, i64 parts, bool descending) {
  using U = kernels::bits_type<T>;
  const i64 n = space.length, share = kernels::ceil_div(n, parts);
  constexpr i64 piece = tuning<families::sort, device_of<S>>::piece;
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

/// Sorts rows that fit in a SIMT device's shared memory; false if they do not.
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
  constexpr int warp = kernels::block_warp(device_of<S>::geometry::warp_size);
  config.threads = kernels::round_up(static_cast<int>(kernels::ceil_div(n, i64{plan::keys})), warp);
  config.scratch = plan::scratch(config.threads);
  if (values.data == nullptr)
    launch<kernels::simt_sort<T, kernels::sorted_parts::order>>(stream, config, space, x, values,
                                                                indices, reversed);
  else
    launch<kernels::simt_sort<T, kernels::sorted_parts::values_and_order>>(
        stream, config, space, x, values, indices, reversed);
  return true;
}

/// Sorts longer rows on a SIMT device, in batches of about `most` elements, at least one row. J: an
/// unsigned integer for indices in a row. The keys differ in their lowest `bits` alone.
template <class J, class S, class T>
void sort_by_radix(const char* op, const S& stream, const kernels::row_space& space,
                   const kernels::row_arg<T>& x, const kernels::row_target<T>& values,
                   const kernels::row_target<i64>& indices, bool descending,
                   i64 most = tuning<families::sort, device_of<S>>::elements_per_pass,
                   int bits = bits_of_keys<T>) {
  using numbers = tuning<families::sort, device_of<S>>;
  using U = kernels::bits_type<T>;
  using pass_type = kernels::radix_pass<U, J>;
  using tile = kernels::radix_tile;
  const int passes = kernels::max_of(1, kernels::ceil_div(bits, tile::bits));
  const i64 n = space.length;
  const i64 rows_per_pass = kernels::min_of(space.rows, kernels::max_of(i64{1}, most / n));
  const i64 size = i64{tile::threads} * tile::keys, tiles = kernels::ceil_div(n, size);
  const i64 lines = rows_per_pass * tile::digits;
  // Pass by pass they go from one half to the other; those of the last pass are the result.
  const int halves = passes < 3 ? passes - 1 : 2;
  auto keys = empty<U>(stream, {kernels::max_of(halves, 1), rows_per_pass, n}, op);
  auto places = empty<J>(stream, {halves, rows_per_pass, n}, op);
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
  scanning.threads = static_cast<int>(kernels::min_of(numbers::scan_threads, tiles));
  moving.scratch = tile::move_scratch<U, J>();
  for (; pass.first < space.rows; pass.first += rows_per_pass) {
    pass.rows = kernels::min_of(rows_per_pass, space.rows - pass.first);
    counting.tiles = moving.tiles = pass.rows * tiles;
    scanning.tiles = pass.rows * tile::digits;
    taking.tiles = pass.rows * kernels::ceil_div(n, kernels::gather_tile);
    counting.work = moving.work = taking.work = work_of(pass.rows, n, 16);
    scanning.work = work_of(scanning.tiles, tiles, 1);
    for (int k = 0; k < passes; ++k) {
      const i64 from = (k + 1) % 2 * rows_per_pass * n, to = k % 2 * rows_per_pass * n;
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

/// Sorts rows by the kernels that suit the device and their length. `values` has no data if only
/// the order is requested. Integers may differ in their lowest `bits` alone.
template <class S, class T>
void sort_rows(const char* op, const S& stream, const kernels::row_space& space,
               const kernels::row_arg<T>& from, const kernels::row_target<T>& to,
               const kernels::row_target<i64>& places, bool descending,
               [[maybe_unused]] int bits = bits_of_keys<T>) {
  if constexpr (has_vectors<device_of<S>>) {
    if (const i64 parts = parts_of_row<device_of<S>>(space.rows, space.length); parts > 1)
      sort_long(op, stream, space, from, to, places, parts, descending);
    else
      sort_in_workspace(op, stream, space, from, to, places, descending);
  } else {
    if (sort_in_blocks(op, stream, space, from, to, places, descending)) return;
    constexpr i64 most = tuning<families::sort, device_of<S>>::elements_per_pass;
    if (space.length >> 32 == 0)
      sort_by_radix<u32>(op, stream, space, from, to, places, descending, most, bits);
    else
      sort_by_radix<u64>(op, stream, space, from, to, places, descending, most, bits);
  }
}

FLAGGEMS_KERNEL_ONCE(kernels::sort<f32>, kernels::row_space, kernels::row_arg<f32>,
                     kernels::row_target<f32>, kernels::row_target<i64>,
                     kernels::sort_workspace<u32>, i32);
FLAGGEMS_KERNEL_ONCE(kernels::sort_parts<f32>, kernels::row_space, i64, kernels::row_arg<f32>,
                     kernels::sort_buffers<u32>, i64, i32);
FLAGGEMS_KERNEL_ONCE(kernels::merge_parts<u32>, i64, kernels::sort_buffers<u32>, i64, i64);
FLAGGEMS_KERNEL_ONCE(kernels::gather_sorted<f32>, kernels::row_space, i64, kernels::row_arg<f32>,
                     kernels::sort_buffers<u32>, i64);
FLAGGEMS_KERNEL_ONCE(kernels::write_row<f32>, kernels::row_space, i64, kernels::row_target<f32>,
                     kernels::row_target<i64>, kernels::sort_buffers<u32>, i64);

}  // namespace flaggems::detail
