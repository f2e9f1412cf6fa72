// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
#pragma once

#include <flaggems/kernel/family/factor/vector/workspace.hpp>

namespace flaggems::kernels {

/// x = the solution of A x = b for `sides` columns, of n rows, where A is lower triangular, or
/// upper, with ones on its diagonal if `unit`: by blocks of rows, of which those that are known are
/// subtracted first. x may be b.
template <class T>
struct triangular_blocks {
  static constexpr i64 scratch(i64 n, i64 sides) {
    return workspace_elements(n, n) + workspace_elements(n, sides);
  }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i64 n, i64 sides,
                                  const matrices<const T>& factors, const matrices<const T>& given,
                                  const matrices<T>& solutions, bool upper, bool unit) {
    T* const a = block.template scratch<T>(scratch(n, sides)).data;
    T* const x = a + workspace_elements(n, n);
    const i64 row = workspace_row(n), step = workspace_row(sides);
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      move_matrix<T>({a, row, 1}, factors.at(c), n, n);
      move_matrix<T>({x, step, 1}, given.at(c), n, sides);
      solve<typename Block::isa>(a, row, x, step, n, sides, upper, unit);
      move_matrix<T>(solutions.at(c), {x, step, 1}, n, sides);
    });
  }

 private:
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void solve(const T* a, i64 row, T* x, i64 step, i64 n, i64 sides,
                                         bool upper, bool unit) {
    using lines = workspace_lines<T, Isa>;
    const i64 blocks = ceil_div(n, panel_columns);
    for (i64 b = 0; b < blocks; ++b) {
      const i64 first = (upper ? blocks - 1 - b : b) * panel_columns;
      const i64 end = min_of(n, first + panel_columns);
      const i64 known = upper ? end : 0, count = upper ? n - end : first;
      const subtracted_product<T> others{count, a + first * row + known, row, 1, x + known * step,
                                         step,  x + first * step,        step};
      if (count > 0) others.template run<Isa>(end - first, sides);
      for (i64 i = 0; i < end - first; ++i) {
        const i64 p = upper ? end - 1 - i : first + i;
        T* const solved = x + p * step;
        if (!unit) lines::divide(solved, a[p * row + p], sides);
        for (i64 q = upper ? first : p + 1; q < (upper ? p : end); ++q)
          lines::add(x + q * step, -a[q * row + p], solved, sides);
      }
    }
  }
};

}  // namespace flaggems::kernels
