// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix units as policies of kernels that multiply tiles: what a thread holds of operands and of
// results, and how they are multiplied.
#pragma once

#include <flaggems/kernel/block/simt/mma.hpp>

namespace flaggems::kernels {

// A unit multiplies 16 lines of each operand, by 32 bytes of terms of T, to 16 x `columns` results,
// of which it takes one `part` after the other. Its policy has
//   lanes: the consecutive threads that multiply together;
//   words: what a thread holds of 16 lines of an operand, in 32 bits each;
//   sums: what it holds of 16 x columns results, `together` of them adjacent in a row;
//   row(lane), column(lane): where its first ones are, row_step, column_step: how far the next ones
//     are from those;
//   takes_loaded_tiles: whether its words are those of block.load_tiles;
//   multiply(block, c, a, b, part): c += a * b, all threads of the block taking part.

/// mma.sync of 32 threads (block.multiply_tiles).
template <class T>
struct mma_unit {
  static constexpr int lanes = 32, words = 4, columns = 8;
  static constexpr int sums = 4, together = 2, row_step = 8, column_step = 0;
  static constexpr bool takes_loaded_tiles = true;
  FLAGGEMS_INLINE static int row(int lane) { return lane / 4; }
  FLAGGEMS_INLINE static int column(int lane) { return lane % 4 * 2; }

  template <class Block>
  FLAGGEMS_INLINE static void multiply(const Block& block, mma_sum<T> (&c)[sums],
                                       const u32 (&a)[words], const u32 (&b)[words], int part) {
    const u32 right[2] = {b[part * 2], b[part * 2 + 1]};
    block.template multiply_tiles<T>(c, a, right);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/matrix_units.hpp");
