// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How scans are cut: rows for threads, workers or blocks; few long rows into chunks.
#pragma once

#include <flaggems/device/tensor.hpp>
#include <flaggems/kernel/family/scan/simt/scan.hpp>
#include <flaggems/kernel/family/scan/vector/scan.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/plan/checks.hpp>
#include <flaggems/ops/plan/iteration.hpp>

namespace flaggems::detail {

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
  const i64 rows = it.numel();
  if (rows < numbers::few_rows && space.length >= numbers::long_row) {
    space.chunk = kernels::max_of(i64{numbers::least_chunk},
                                  kernels::ceil_div(space.length, numbers::most_chunks));
    space.chunks = kernels::ceil_div(space.length, space.chunk);
  }
  space.from_step = step;
  space.to_step = out.stride(d);
  space.place_step = has_places ? places.stride(d) : 0;

  kernels::arg<T, T> from{x.data(), {}};
  kernels::target<O> to{out.data(), {}};
  kernels::target<i64> to_places{places.data(), {}};
  it.copy_strides(0, from.strides);
  it.copy_strides(1, to.strides);
  it.copy_strides(2, to_places.strides);

  launch_config config;
  config.op = op;
  config.tiles = space.rows.tiles * space.chunks;
  config.work = work_of(x.numel(), sizeof(T) + sizeof(O), 2);
  config.threads = space.columns                      ? static_cast<int>(kernels::scan_columns)
                   : space.chunk < numbers::short_row ? numbers::threads_of_few
                                                      : numbers::threads;
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
