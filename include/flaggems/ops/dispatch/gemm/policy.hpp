// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of the host's kernels multiplies two matrices, and in what blocks.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/detail/host_resources.hpp>
#include <flaggems/detail/meeting.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/kernel/family/gemm/vector/blocks.hpp>

#include <cstdint>
#include <new>

namespace flaggems::detail {

/// How the host multiplies matrices (kernel/family/gemm/vector/blocks.hpp). What was measured for
/// each number is in docs/notes/products.md.
struct gemm_policy {
  /// Up to so many rows (or columns) are multiplied by dot products, without packing, if both
  /// operands are contiguous along the summed dimension.
  static constexpr i64 skinny = 16;
  /// The same for 8-bit integers, which a dot product widens to 32 bits.
  static constexpr i64 skinny_bytes = 8;
  /// ... and the sum has at least so many terms: below, the reduction that ends a dot product costs
  /// more than packing, which more rows share.
  static constexpr i64 least_depth = 64;
  static constexpr i64 depth_along(i64 few) { return few > 4 ? 2 * least_depth : least_depth; }
  /// Up to so many rows are passed to AMX as columns, so that the other matrix, contiguous along
  /// the summed dimension, is read in place instead of packed; for 8-bit integers and for bf16,
  /// from so many rows on.
  static constexpr i64 tiled_rows = 32, tiled_from_bytes = 2, tiled_from_pairs = 7;
  static bool reads_lines(bool bytes, i64 few, i64 many, i64 k, i64 along) {
    return few <= tiled_rows && few >= (bytes ? tiled_from_bytes : tiled_from_pairs) &&
           many >= 8 * few && along == 1 && k >= 128 && k % 64 == 0 && isa() == isa_level::amx;
  }
  /// Up to so many rows are multiplied by whole rows of the other matrix (gemm_few_rows).
  static constexpr i64 few_rows = 8;
  /// The least part of a worker.
  static constexpr i64 least_rows = 16, least_columns = 64;
  /// For up to so many columns (rows) of the result an operand is read in place if it fits half of
  /// the L2 cache: packing it would not pay.
  static constexpr i64 direct_columns = 160, direct_rows = 128;
  /// ... and for up to so many if it fits two fifths of the L2 cache.
  static constexpr i64 direct_side = 384;

  /// The least operations of a worker: for fewer, waking another one does not pay.
  static constexpr i64 least_work = i64{1} << 20;
  static i64 workers(i64 work, i64 parts) {
    return kernels::max_of(kernels::min_of(work / least_work, parts), i64{1});
  }

  /// Up to so many columns, rows and terms, one worker multiplies without packing (small.hpp).
  /// Fewer with up to four rows or columns, where dot products are faster, and for bf16 with AMX or
  /// AVX-512-BF16, whose blocks multiply pairs.
  static constexpr i64 small_side = 128, small_side_of_few = 64, small_side_of_pairs = 16;
  static bool is_small(i64 m, i64 n, i64 k, bool has_pairs = false) {
    const i64 side = has_pairs        ? small_side_of_pairs
                     : m > 4 && n > 4 ? small_side
                                      : small_side_of_few;
    return m <= side && n <= side && k <= side && k > 0 && 2 * m * n * k <= 2 * least_work;
  }

  /// Places of images, for each worker, at which all elements of a window are multiplied in turn.
  static constexpr i64 shifted_columns = 1024;

  /// The bytes of the L1 cache that blocks are cut for.
  static i64 first_cache() { return kernels::min_of(caches().l1d, i64{64 * 1024}); }

  /// `reads_a`, `reads_b`: whether an operand may be read in place. `tiled`: AMX multiplies bf16,
  /// so fast that a block of `b` larger than the L2 cache would delay it.
  struct traits {
    bool reads_a, reads_b, sums_in_place, tiled;
  };
  FLAGGEMS_ONCE static kernels::gemm_plan make(const kernels::gemm_space& space, i64 item,
                                               i64 workers, const traits& is) {
    using kernels::max_of, kernels::min_of, kernels::round_up;
    constexpr i64 megabyte = 1024 * 1024;
    const cache_sizes& cache = caches();
    kernels::gemm_plan plan{};
    plan.workers = workers;
    plan.l1 = first_cache();
    const i64 panel = max_of(plan.l1 * 3, i64{64 * 1024});  // what a kernel's l1_quarters allow
    const i64 depth = round_up(min_of(space.k, i64{1024}), 32);
    const auto bytes = [&](i64 lines, i64 most) {
      return round_up(max_of(min_of(round_up(lines, 48) * depth * item, most), panel), 128);
    };
    plan.a_bytes = bytes(space.m, cache.l2 * 3 / 8);
    // A quarter of the last-level cache for `b`, but at least half of L2 for each worker.
    const i64 most = is.tiled ? megabyte : 4 * megabyte;
    plan.b_most = bytes(space.n, max_of(min_of(cache.l3 / 4, most), cache.l2 / 2));
    plan.b_bytes = min_of(plan.b_most, bytes(space.n, max_of(cache.l3 / workers, cache.l2 / 2)));
    const kernels::gemm_place place{direct_columns, cache.l2 / 2, direct_side, cache.l2 * 2 / 5};
    if (is.reads_a) plan.a_place = place;
    if (is.reads_b) plan.b_place = place;
    plan.b_place.few = is.reads_b ? direct_rows : 0;
    if (!is.sums_in_place) {
      const i64 row = (plan.b_most / (128 * item) + 48) * item;
      const i64 rows = min_of(round_up(space.m, 32), i64{1024});
      const i64 most_rows = max_of(32 * megabyte / workers / row, i64{32});
      plan.s_bytes = round_up(row * min_of(rows, most_rows), 128) + padding;
    }
    return plan;
  }

  /// Bytes after the sums, whose tail is read as a full vector.
  static constexpr i64 padding = 128;

  /// The memory of `workers` workers, preceded by the points where they meet. It belongs to the
  /// calling thread.
  static meeting prepare(const char* op, kernels::gemm_plan& plan, i64 workers) {
    constexpr i64 point = static_cast<i64>(sizeof(meeting_point));
    const i64 bytes = workers * (point + plan.own_bytes() + plan.b_bytes) + 256;
    unsigned char* memory = thread_scratch(bytes);
    if (memory == nullptr)
      raise(errc::out_of_memory, op, text(bytes) + " bytes for packed matrices", "none");
    meeting where;
    if (workers > 1) {
      const auto beyond = static_cast<i64>(reinterpret_cast<std::uintptr_t>(memory) % point);
      if (beyond != 0) memory += point - beyond;
      where.points = static_cast<meeting_point*>(static_cast<void*>(memory));
      where.count = workers;
      for (i64 w = 0; w < workers; ++w) new (where.points + w) meeting_point;
      memory += workers * point;
    }
    plan.memory = memory;
    return where;
  }
};

/// Whether products of images that are shifted by a place each are added up in the output, and at
/// how many places at a time: as many as all workers have in their L2 caches.
template <class D>
inline constexpr bool adds_shifted_images = has_vectors<D>;
template <class D>
i64 shifted_places() {
  if constexpr (adds_shifted_images<D>)
    return gemm_policy::shifted_columns * host_threads();
  else
    return 1;
}

}  // namespace flaggems::detail
