// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of the host's kernels multiplies two matrices, and in what blocks.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/detail/host_resources.hpp>
#include <flaggems/detail/meeting.hpp>
#include <flaggems/kernel/family/gemm/vector/blocks.hpp>

#include <cstdint>
#include <new>

namespace flaggems::detail {

/// How the host multiplies matrices (kernel/family/gemm/vector/blocks.hpp), with what was measured
/// for each line.
struct gemm_policy {
  /// So few rows or columns are summed along, without packing, if the operands are contiguous
  /// there.
  static constexpr i64 skinny = 16;
  /// The same of 8-bit integers, which a dot product widens to 32 bits (16 rows, 1024^2 weights at
  /// AVX2: 809 us so, 550 packed; 8 rows: 407 and 480).
  static constexpr i64 skinny_bytes = 8;
  /// ... and the sum has so many terms: below, a dot product's fold costs more than packing, which
  /// more lines share. (16x1000x100: 29 GFLOP/s along the sum, 56 packed; 8x1000x200: 53 and 29.)
  static constexpr i64 least_depth = 64;
  static constexpr i64 depth_along(i64 few) { return few > 4 ? 2 * least_depth : least_depth; }
  /// Tiles (AMX) take up to so many rows as columns, so that the other matrix, whose lines lie
  /// along the sum, is read where it lies, not packed: from so many rows on of bytes, of bf16.
  /// (Weights of 4096^2, 2 threads: 4 rows of bytes 1.6 ms along the sum, 1.0 so; 16 rows of bf16
  /// 3.5 and 2.0.)
  static constexpr i64 tiled_rows = 32, tiled_from_bytes = 2, tiled_from_pairs = 7;
  static bool reads_lines(bool bytes, i64 few, i64 many, i64 k, i64 along) {
    return few <= tiled_rows && few >= (bytes ? tiled_from_bytes : tiled_from_pairs) &&
           many >= 8 * few && along == 1 && k >= 128 && k % 64 == 0 && isa() == isa_level::amx;
  }
  /// So few rows are multiplied by whole rows of the other matrix.
  static constexpr i64 few_rows = 8;
  /// What a thread gets at least.
  static constexpr i64 least_rows = 16, least_columns = 64;
  /// Up to so many columns (rows) an operand is read in place if half of the second cache holds it:
  /// packing it would not pay. (64x4096x4096 read in place: 52 GFLOP/s, packed 77.)
  static constexpr i64 direct_columns = 160, direct_rows = 128;
  /// ... and up to so many if two fifths hold it (384^3 at AVX-512 with 2 MB: 170, packed 143;
  /// 200^3 at AVX2 with 512 KB: 92 and 87; 256x512x128, which takes half: 78 and 90).
  static constexpr i64 direct_side = 384;

  /// ... and how many operations: 5 us of one at AVX-512. (128^3 with 16 threads took twice as long
  /// as with one.)
  static constexpr i64 least_work = i64{1} << 20;
  static i64 workers(i64 work, i64 parts) {
    return kernels::max_of(kernels::min_of(work / least_work, parts), i64{1});
  }

  /// Up to so many columns, rows and terms a product is made without packing, if one worker makes
  /// it (100^3 at AVX2: 90 GFLOP/s of f32, 76 in blocks; 66 and 58 of f16); fewer of up to four
  /// rows or columns (4x128x128 by columns: 31, along the sum 40), and where the blocks have
  /// instructions for pairs of bf16 (64^3 with AMX: 206 GFLOP/s; f32 reaches 135).
  static constexpr i64 small_side = 128, small_side_of_few = 64, small_side_of_pairs = 16;
  static bool is_small(i64 m, i64 n, i64 k, bool has_pairs = false) {
    const i64 side = has_pairs        ? small_side_of_pairs
                     : m > 4 && n > 4 ? small_side
                                      : small_side_of_few;
    return m <= side && n <= side && k <= side && k > 0 && 2 * m * n * k <= 2 * least_work;
  }

  /// Of the first cache, what blocks are made for.
  static i64 first_cache() { return kernels::min_of(caches().l1d, i64{64 * 1024}); }

  /// What a product allows. `reads_a`, `reads_b`: an operand may be read where it lies. `tiled`:
  /// AMX multiplies bf16, so fast that a block of `b` beyond the second cache holds it up (2048^3:
  /// 810 GFLOP/s with 4 MB, 966 with 1 MB and the longer runs of `pack_pairs`).
  struct traits {
    bool reads_a, reads_b, sums_in_place, tiled;
  };
  static kernels::gemm_plan make(const kernels::gemm_space& space, i64 item, i64 workers,
                                 const traits& is) {
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
    // A quarter of the last cache for `b`, but at least half of the second for each worker.
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

  /// Behind sums: a tail of them is read as a whole vector.
  static constexpr i64 padding = 128;

  /// The memory of `workers` workers, with the points where they meet in front. Of the thread.
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

}  // namespace flaggems::detail
