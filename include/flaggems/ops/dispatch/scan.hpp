// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How scans are cut: rows for threads, workers or blocks; few long rows into chunks.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/block/simt/machine.hpp>
#include <flaggems/kernel/family/scan/simt/look_back.hpp>
#include <flaggems/kernel/family/scan/simt/scan.hpp>
#include <flaggems/kernel/family/scan/vector/scan.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>

namespace flaggems::detail {

/// The scan of rows that the threads of a SIMT device share: short ones by a warp each, few long
/// ones by all blocks, others by a block each.
template <class Op, class S, class T, class O>
void launch_shared_rows(const S& stream, launch_config config, i64 rows, kernels::scan_space space,
                        const kernels::arg<T, T>& from, const kernels::target<O>& to,
                        const kernels::target<i64>& places) {
  using D = device_of<S>;
  using numbers = tuning<families::scan, D>;
  constexpr i64 share = kernels::scan_share<Op, T, O>;
  constexpr i64 warp = kernels::block_warp(D::geometry::warp_size);
  constexpr i64 threads = numbers::threads, tile = share * threads;
  static_assert(threads <= kernels::scan_once<Op, T, O>::max_threads);
  const bool are_many = rows >= numbers::many_short_rows;
  if (space.length <=
      (are_many ? kernels::max_of(share * warp, numbers::short_row) : share * warp)) {
    config.threads = are_many ? numbers::threads_of_short : int{warp};
    config.tiles = kernels::ceil_div(rows, i64{config.threads} / warp);
    return launch<kernels::scan_rows<Op, T, O>>(stream, config, space, from, to, places);
  }
  config.threads = static_cast<int>(
      kernels::min_of(threads, kernels::round_up(kernels::ceil_div(space.length, share), warp)));
  if (!numbers::looks_back || rows >= numbers::rows_looked_back ||
      space.length <= tile * numbers::tiles_of_block) {
    config.tiles = rows;
    return launch<kernels::scan_block_rows<Op, T, O>>(stream, config, space, from, to, places);
  }
  space.chunk = tile;
  space.chunks = kernels::ceil_div(space.length, tile);
  const kernels::scan_slots slots{threads, space.chunks};
  const i64 words = 1 + rows * slots.count() * kernels::published_state<typename Op::state>::words;
  const pool_block<D> memory(work_of(words, i64{sizeof(u64)}), ref(stream), config.op);
  auto* const data = static_cast<u64*>(memory.data());
  launch_config clearing;
  clearing.op = config.op;
  clearing.threads = numbers::threads;
  clearing.tiles = kernels::ceil_div(words, threads);
  clearing.work = work_of(words, i64{sizeof(u64)});
  launch<kernels::clear_words>(stream, clearing, words, threads, data);
  config.tiles = rows * space.chunks;
  config.scratch = scratch_bytes<i64>(1);
  launch<kernels::scan_once<Op, T, O>>(stream, config, space, from, to, places, data);
}

/// The scan of x along dimension d; `places` has no data where the operation has none. There are
/// elements, and all checks have passed.
template <class Op, class S, class T, class O, class D>
void launch_scan(const char* op, const S& stream, const tensor_view<const T, D>& x, int d,
                 const tensor_view<O, D>& out, const tensor_view<i64, D>& places) {
  using state = typename Op::state;
  using numbers = tuning<families::scan, D>;
  const auto without = [d](std::span<const i64> all) {
    shape s(all);
    s.erase(d);
    return s;
  };
  const bool has_places = places.data() != nullptr;
  const shape sizes = without(x.sizes());
  iteration it(sizes);
  it.add(sizes, without(x.strides()));
  it.add(sizes, without(out.strides()));
  it.add(sizes, without(has_places ? places.strides() : x.strides()));
  it.collapse();

  kernels::scan_space space{};
  const int inner = it.rank() - 1;
  const i64 step = x.stride(d), beside = inner >= 0 ? it.stride(0, inner) : 0;
  const auto magnitude = [](i64 k) { return k < 0 ? -k : k; };
  space.columns = inner >= 0 && it.size(inner) >= 8 && magnitude(beside) < magnitude(step);
  space.rows = it.tiles(space.columns ? kernels::scan_columns : 1);
  space.length = space.chunk = x.size(d);
  space.chunks = 1;
  space.from_step = step;
  space.to_step = out.stride(d);
  space.place_step = has_places ? places.stride(d) : 0;

  kernels::arg<T, T> from{x.data(), {}};
  kernels::target<O> to{out.data(), {}};
  kernels::target<i64> to_places{places.data(), {}};
  it.copy_strides(0, from.strides);
  it.copy_strides(1, to.strides);
  it.copy_strides(2, to_places.strides);

  const i64 rows = it.numel();
  launch_config config;
  config.op = op;
  config.work = work_of(x.numel(), sizeof(T) + sizeof(O), 2);
  if constexpr (!has_vectors<D>)
    if (!space.columns)
      return launch_shared_rows<Op>(stream, config, rows, space, from, to, to_places);
  if (rows < numbers::few_rows && space.length >= numbers::long_row) {
    space.chunk = kernels::max_of(i64{numbers::least_chunk},
                                  kernels::ceil_div(space.length, numbers::most_chunks));
    space.chunks = kernels::ceil_div(space.length, space.chunk);
  }
  config.tiles = space.rows.tiles * space.chunks;
  config.threads = static_cast<int>(kernels::scan_columns);
  using kernel = kernels::scan<Op, T, O>;
  using kernels::scan_pass;
  if (space.chunks == 1)
    return launch<kernel>(stream, config, space, from, to, to_places, static_cast<state*>(nullptr),
                          scan_pass::whole);
  const i64 slots = space.rows.tiles * space.rows.chunk, all = slots * space.chunks;
  auto memory = empty<u8>(stream, {2 * all * static_cast<i64>(sizeof(state))}, op);
  auto* const totals = reinterpret_cast<state*>(memory.data());
  auto* const before = totals + all;
  launch<kernel>(stream, config, space, from, to, to_places, totals, scan_pass::totals);
  launch_config joining;
  joining.op = op;
  joining.tiles = slots;
  joining.work = work_of(slots, space.chunks, sizeof(state));
  joining.threads = numbers::threads_of_few;
  launch<kernels::scan_states<Op>>(stream, joining, slots, space.chunks,
                                   static_cast<const state*>(totals), before);
  launch<kernel>(stream, config, space, from, to, to_places, before, scan_pass::joined);
}

}  // namespace flaggems::detail
