// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>

namespace flaggems::kernels {

/// x = the solution of A x = b in the place of b, a column of n elements, where A is lower
/// triangular, or upper, with ones on its diagonal if `unit`: column by column of A.
template <class T>
struct triangular_solve {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, matrices<const T> factors,
                                  matrices<T> columns, i32 upper, i32 unit) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = factors.at(c);
      const auto x = columns.at(c);
      for (i64 rest = n - 1; rest > 0; --rest) {
        const i64 j = upper != 0 ? rest : n - 1 - rest, first = upper != 0 ? 0 : j + 1;
        const T solved = unit != 0 ? x.read(j, 0) : x.read(j, 0) / a.read(j, j);
        const auto others = x.down(first, 0);
        const auto column = a.down(first, j);
        block.for_each_lane(rest, [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), T>;
          others.store(lane, others.load(lane) - column.load(lane) * V(solved));
        });
        block.sync();
      }
      if (unit == 0)
        block.for_each(n,
                       [&](i64 i) FLAGGEMS_LAMBDA { x.write(i, 0, x.read(i, 0) / a.read(i, i)); });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/triangular.hpp");
