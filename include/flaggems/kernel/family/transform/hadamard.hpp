// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices of Hadamard of orders that are no powers of two, by formulas: after Paley, of squares in
// prime fields, for 12 and 40, and after Williamson, of four circulant matrices, for 20 and 28.
// They are those of fast_hadamard_transform.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>

namespace flaggems::kernels {

/// Whether d is no square modulo a prime p; 0 counts as one.
FLAGGEMS_INLINE constexpr bool is_nonresidue(int d, int p) {
  const int rest = (d % p + p) % p;
  for (int k = 0; k <= p / 2; ++k)
    if (k * k % p == rest) return false;
  return true;
}

/// Whether element (i, j) of the matrix of order 12, 20, 28 or 40 is -1.
FLAGGEMS_INLINE constexpr bool is_minus(int order, int i, int j) {
  if (order == 12) {
    // Blocks of two rows for the elements of a symmetric conference matrix of order 6.
    const int p = i / 2, q = j / 2;
    const bool corner = i % 2 == 1 && j % 2 == 1;
    if (p == q) return i % 2 == 1 || j % 2 == 1;
    return corner != (p != 0 && q != 0 && is_nonresidue(q - p, 5));
  }
  if (order == 40) {
    const int p = i % 20, q = j % 20;
    const bool own = p == 0 ? q != 0 : q == 0 ? false : p != q && !is_nonresidue(q - p, 19);
    return own != (i >= 20 && j >= 20);
  }
  // First rows, whose bit k is element k, of A, B, C and D; the signs of rows of blocks.
  const int rows_of_20[] = {0x1e, 0x1e, 0x0c, 0x12}, rows_of_28[] = {0x7e, 0x3c, 0x5a, 0x66};
  const int signs[] = {0, 5, 9, 3};
  const int n = order / 4, p = i / n, q = j / n, k = (j % n - i % n + n) % n;
  const int first = order == 20 ? rows_of_20[p ^ q] : rows_of_28[p ^ q];
  return (first >> k & 1) != (signs[p] >> q & 1);
}

/// out = scale * H x. A row of x has order * columns elements, and H works along the first of these
/// two dimensions. Elements of the result beyond a row of `out` are dropped.
template <class T, class C>
struct hadamard_blocks {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, row_space space, i32 order, i64 columns,
                                  row_arg<C> from, row_target<T> out, C scale) {
    for_each_row(block, space, [&](const coordinates& c) FLAGGEMS_LAMBDA {
      const auto x = from.at(c);
      const auto to = out.at(c);
      for (i32 i = 0; i < order; ++i) {
        u64 minus = 0;
        for (i32 j = 0; j < order; ++j)
          minus |= static_cast<u64>(is_minus(order, i, j) ? 1 : 0) << j;
        const i64 first = i * columns;
        const row_out<T> rows{to.data + first * to.stride, to.stride};
        block.for_each_lane(min_of(columns, space.length - first), [&](auto lane) FLAGGEMS_LAMBDA {
          using V = lane_value<decltype(lane), C>;
          V sum = V(C(0));
          for (i32 j = 0; j < order; ++j) {
            const row_in<C> part{x.data + j * columns, 1};
            const V v = part.template load<C>(lane);
            sum = (minus >> j & 1) != 0 ? sum - v : sum + v;
          }
          rows.store(lane, sum * V(scale));
        });
      }
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/transform/hadamard.hpp");
