// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How the k first of rows are found: on SIMT devices, for moderate k, by threads that track the
// best of groups; else by a radix select.
#pragma once

#include <flaggems/kernel/family/order/simt/topk.hpp>
#include <flaggems/kernel/family/order/vector/topk.hpp>
#include <flaggems/launch/host_entry.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/dispatch/sort.hpp>

namespace flaggems::detail {

/// Rows that fit a thread group, several groups per block; false if they do not.
template <class T, class S>
bool topk_in_groups(const char* op, const S& stream, const kernels::row_space& space, i64 k,
                    const kernels::row_arg<T>& in, const kernels::row_target<T>& values,
                    const kernels::row_target<i64>& indices, bool largest) {
  using kernel = kernels::topk_groups<T>;
  constexpr i64 few_each = kernels::topk_few_each;
  const bool is_short =
      space.length <= tuning<families::topk, device_of<S>>::short_threads * few_each;
  const i64 each = is_short ? few_each : kernels::topk_each;
  int threads_shift = kernel::min_threads_shift, groups = threads_shift;  // powers of two
  while (i64{1} << threads_shift < 2 * k || each << threads_shift < space.length) ++threads_shift;
  while (i64{1} << groups < 4 * k && groups < threads_shift) ++groups;
  if (threads_shift > kernel::max_threads_shift) return false;
  launch_config config;
  config.op = op;
  config.tiles = kernels::ceil_div(space.rows, i64{kernel::max_threads >> threads_shift});
  config.threads = kernel::max_threads;
  config.work = work_of(space.rows, space.length, 16);
  config.blocks_per_unit = 0;
  config.scratch = kernel::most_scratch;
  launch<kernel>(stream, config, space, static_cast<i32>(k), static_cast<i32>(threads_shift),
                 static_cast<i32>(groups), in, values, indices, static_cast<i32>(largest ? 1 : 0));
  return true;
}

/// The first k, at most topk_blocks::most_first, of rows of less than 2^31 elements. `map`, if
/// given, has their indices.
template <class T, class S>
void simt_topk(const char* op, const S& stream, const kernels::row_space& space, i64 k,
               const kernels::row_arg<T>& in, const i64* map, const kernels::row_target<T>& values,
               const kernels::row_target<i64>& indices, bool largest) {
  using kernel = kernels::topk_blocks<T>;
  if (map == nullptr && topk_in_groups<T>(op, stream, space, k, in, values, indices, largest))
    return;
  using numbers = tuning<families::topk, device_of<S>>;
  static_assert(
      numbers::threads <= numbers::most_threads && numbers::most_threads <= kernel::max_threads,
      "flaggems: the kernel of topk has no blocks of so many threads");
  const i64 n = space.length;
  const bool is_long = n > kernel::most;
  launch_config config;
  config.op = op;
  // Enough groups; for long rows, as many blocks as possible.
  const bool has_few_firsts = n <= numbers::threads * kernels::topk_each
                                  ? k <= numbers::firsts
                                  : is_long && k <= numbers::firsts_of_long;
  config.threads = has_few_firsts ? numbers::threads : numbers::most_threads;
  const bool few = is_long && work_of(space.rows, n) < numbers::few_elements;
  const i64 most = config.threads * (few ? kernels::topk_each / 4 : kernels::topk_each);
  i64 parts = kernels::ceil_div(n, most);
  const i64 share =
      parts == 1 ? n : kernels::round_up(kernels::ceil_div(n, parts), numbers::multiple);
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
  simt_topk<T>(op, stream, next, k, from, places.data(), values, indices, largest);
}

/// The first k of each row, by the kernels that suit the device, the rows and k.
template <class T, class S>
void topk_rows(const char* op, const S& stream, const kernels::row_space& space, i64 k,
               const kernels::row_arg<T>& in, const kernels::row_target<T>& values,
               const kernels::row_target<i64>& indices, bool largest) {
  if constexpr (has_simt<device_of<S>>) {
    if (k <= kernels::topk_blocks<T>::most_first && space.length < i64{1} << 31)
      return simt_topk<T>(op, stream, space, k, in, nullptr, values, indices, largest);
  }
  const i64 kept = has_vectors<device_of<S>> ? kernels::collected(space.length, k) : k;
  sort_memory<kernels::bits_type<T>, device_of<S>> memory(op, stream, space.rows, space.length,
                                                          kept);
  launch_config config;
  config.op = op;
  config.tiles = memory.slots;
  config.work = work_of(space.rows, space.length, 16);
  config.scratch = scratch_bytes<i64>(kernels::sort_counters);
  config.threads = static_cast<int>(kernels::sort_threads);
  launch<kernels::topk<T>>(stream, config, space, k, in, values, indices, memory.arg(),
                           static_cast<i32>(largest ? 1 : 0));
}

FLAGGEMS_KERNEL_ONCE(kernels::topk<f32>, kernels::row_space, i64, kernels::row_arg<f32>,
                     kernels::row_target<f32>, kernels::row_target<i64>,
                     kernels::sort_workspace<u32>, i32);

}  // namespace flaggems::detail
