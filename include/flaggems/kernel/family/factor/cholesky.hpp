// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// A = L L^T in the place of A's lower triangle, column by column; the upper one is not touched.
/// `info` is 0, or the order of the first leading minor that is not positive: then the columns from
/// there on are undefined.
template <class T>
struct cholesky {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, matrices<T> factors,
                                  matrices<i32> infos) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = factors.at(c);
      i32 info = 0;
      for (i64 j = 0; j < n && info == 0; ++j) {
        const auto column = a.down(j, j);
        block.for_each_lane(n - j, [&](auto lane) FLAGGEMS_LAMBDA {
          auto x = column.load(lane);
          for (i64 k = 0; k < j; ++k) x = x - a.down(j, k).load(lane) * decltype(x)(a.read(j, k));
          column.store(lane, x);
        });
        block.sync();
        const T pivot = column.read(0);
        block.sync();  // all have read it
        if (!(pivot > T(0))) {
          info = static_cast<i32>(j + 1);
        } else {
          const T root = sqrt(pivot);
          const auto below = a.down(j + 1, j);
          block.for_each_lane(n - j - 1, [&](auto lane) FLAGGEMS_LAMBDA {
            const auto x = below.load(lane);
            below.store(lane, x / decltype(copy_of(x))(root));
          });
          block.single([&]() FLAGGEMS_LAMBDA { column.write(0, root); });
          block.sync();
        }
      }
      block.single([&]() FLAGGEMS_LAMBDA { infos.at(c).write(0, 0, info); });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/cholesky.hpp");
