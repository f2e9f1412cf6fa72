// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of the host's kernels multiplies two matrices, and in what blocks.
#pragma once

#include <flaggems/detail/cpu.hpp>
#include <flaggems/kernels/gemm_host.hpp>

namespace flaggems::detail {

/// How the host multiplies matrices (kernels/gemm_host.hpp), with what was measured for each line.
struct gemm_policy {
  /// So few rows or columns are summed along, without packing, if the operands are contiguous
  /// there.
  static constexpr i64 skinny = 16;
  /// ... and the sum has so many terms: below, a dot product's fold costs more than packing.
  static constexpr i64 least_depth = 64;
  /// So few rows are multiplied by whole rows of the other matrix.
  static constexpr i64 few_rows = 8;
  /// What a thread gets at least.
  static constexpr i64 least_rows = 16, least_columns = 64;
  /// Up to so many columns (rows) an operand is read in place: packing it would not pay.
  static constexpr i64 direct_columns = 160, direct_rows = 128;

  static kernels::gemm_plan make(const kernels::gemm_space& space, i64 item, bool a_readable,
                                 bool b_readable, bool sums_in_place) {
    const cache_sizes& cache = caches();
    kernels::gemm_plan plan{};
    plan.l1 = cache.l1d < 64 * 1024 ? cache.l1d : 64 * 1024;
    const i64 panel = plan.l1 * 2 > 64 * 1024 ? plan.l1 * 2 : 64 * 1024;
    const i64 depth = kernels::round_up(space.k < 1024 ? space.k : 1024, 32);
    const auto bytes = [&](i64 lines, i64 most) {
      const i64 all = kernels::round_up(lines, 48) * depth * item;
      return kernels::max_of(kernels::min_of(all, most), panel);
    };
    plan.a_bytes = bytes(space.m, cache.l2 * 3 / 8);
    const i64 shared = cache.l3 / 4 < 4 * 1024 * 1024 ? cache.l3 / 4 : 4 * 1024 * 1024;
    plan.b_bytes = bytes(space.n, shared > cache.l2 / 2 ? shared : cache.l2 / 2);
    plan.direct_a = a_readable && space.n <= direct_columns;
    plan.direct_b = b_readable && space.m <= direct_rows;
    if (!sums_in_place)
      plan.s_bytes = kernels::min_of(kernels::round_up(space.m, 32), i64{1024}) *
                     (plan.b_bytes / (128 * item) + 48) * item;
    return plan;
  }
};

}  // namespace flaggems::detail
