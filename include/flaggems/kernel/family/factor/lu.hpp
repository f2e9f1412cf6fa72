// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <flaggems/kernel/family/factor/matrices.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// P A = L U in the place of A, of m rows and n columns. Row k was exchanged with row pivots[k],
/// counted from 1: the one from row k on with the greatest magnitude in column k, or row k itself
/// if not `exchanges`. `info` is 0, or the first k, counted from 1, whose U[k, k] is 0.
template <class T>
struct lu_factor {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 m, i64 n, matrices<T> factors,
                                  matrices<i32> pivots, matrices<i32> infos, i32 exchanges) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = factors.at(c);
      const auto places = pivots.at(c);
      i32 info = 0;
      for (i64 k = 0; k < min_of(m, n); ++k) {
        i64 p = k;
        if (exchanges != 0) p = k + greatest_magnitude(block, m - k, a.down(k, k)).index;
        block.single([&]() FLAGGEMS_LAMBDA { places.write(k, 0, static_cast<i32>(p + 1)); });
        block.sync();
        if (p != k) {
          exchange_lines(block, n, a.along(k, 0), a.along(p, 0));
          block.sync();
        }
        const T pivot = a.read(k, k);
        if (pivot == T(0)) {  // so is all below it, unless rows may not be exchanged
          if (info == 0) info = static_cast<i32>(k + 1);
        }
        const auto below = a.down(k + 1, k);
        if (pivot != T(0) || exchanges == 0) {
          block.for_each_lane(m - k - 1, [&](auto lane) FLAGGEMS_LAMBDA {
            const auto x = below.load(lane);
            below.store(lane, x / decltype(copy_of(x))(pivot));
          });
        }
        block.sync();
        for_each_element(block, m - k - 1, n - k - 1, [&](auto lane, i64 j) FLAGGEMS_LAMBDA {
          const auto rest = a.down(k + 1, k + 1 + j);
          const auto x = rest.load(lane);
          rest.store(lane, x - below.load(lane) * decltype(copy_of(x))(a.read(k, k + 1 + j)));
        });
        block.sync();
      }
      block.single([&]() FLAGGEMS_LAMBDA { infos.at(c).write(0, 0, info); });
    });
  }
};

/// The sign of the determinant that an LU factorization has, and its magnitude, or with `log` the
/// logarithm of that. Without, the sign is the magnitude's own, and `signs` has no memory.
template <class T>
struct lu_determinant {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 n, matrices<const T> factors,
                                  matrices<const i32> pivots, matrices<T> signs,
                                  matrices<T> magnitudes, i32 log_of) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto a = factors.at(c);
      const auto places = pivots.at(c);
      const matrix_line<const T> diagonal{a.data, a.row + a.column};
      T sign = T(1);
      for (i64 k = 0; k < n; ++k)
        if (places.read(k, 0) != k + 1) sign = -sign;
      const T magnitude =
          log_of != 0 ? block.reduce(n, T(0), plus{},
                                     [&](auto lane)
                                         FLAGGEMS_LAMBDA { return log(abs(diagonal.load(lane))); })
                      : block.reduce(n, T(1), multiplies{}, [&](auto lane) FLAGGEMS_LAMBDA {
                          return diagonal.load(lane);
                        });
      const T own = block.reduce(n, T(1), multiplies{}, [&](auto lane) FLAGGEMS_LAMBDA {
        const auto x = diagonal.load(lane);
        using V = decltype(copy_of(x));
        return select(x > V(T(0)), V(T(1)), select(x < V(T(0)), V(T(-1)), x));
      });
      block.single([&]() FLAGGEMS_LAMBDA {
        if (log_of != 0) {
          signs.at(c).write(0, 0, sign * own);
          magnitudes.at(c).write(0, 0, magnitude);
        } else {
          magnitudes.at(c).write(0, 0, sign * magnitude);
        }
      });
    });
  }
};

/// The permutation that pivots stand for: row k of L U is row order[k] of A, so that P has its ones
/// in (order[k], k).
struct lu_order {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i64 m, i64 k,
                                  matrices<const i32> pivots, matrices<i64> orders) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto places = pivots.at(c);
      const auto order = orders.at(c);
      block.for_each(m, [&](i64 i) FLAGGEMS_LAMBDA { order.write(i, 0, i); });
      block.sync();
      block.single([&]() FLAGGEMS_LAMBDA {
        for (i64 i = 0; i < k; ++i) {
          const i64 p = places.read(i, 0) - i64(1);
          if (p < 0 || p >= m) continue;  // where the host could not check
          const i64 kept = order.read(i, 0);
          order.write(i, 0, order.read(p, 0));
          order.write(p, 0, kept);
        }
      });
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/factor/lu.hpp");
