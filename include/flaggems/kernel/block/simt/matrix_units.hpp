// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrix units as policies of kernels that multiply tiles: the fragments of operands and results
// that a thread holds, and how they are multiplied.
#pragma once

#include <flaggems/kernel/block/simt/amd_mma.hpp>

namespace flaggems::kernels {

// A unit multiplies 16 lines of each operand, by 32 bytes of terms of T, to 16 x `columns` results,
// of which it takes one `part` after the other. Its policy has
//   lanes: the consecutive threads that multiply together;
//   words: a thread's fragment of 16 lines of an operand, in words of 32 bits;
//   sums: its fragment of 16 x columns results, `together` of them adjacent in a row;
//   own_rows: of how many rows these are, row_step apart; `step`: columns from one to the next;
//   row(lane), column(lane): where the first one is; `row_lanes` lanes have those of a row, at
//     distances of `partner` and, if they are four, twice that;
//   takes_loaded_tiles: whether fragments of operands are those of block.load_tiles; otherwise they
//     are 4 * words bytes of line line(lane), from byte(lane) of the 32 on;
//   multiply(block, c, a, b, part): c += a * b, all threads of the block taking part.

/// mma.sync of 32 threads (block.multiply_tiles).
template <class T>
struct mma_unit {
  static constexpr int lanes = 32, words = 4, columns = 8;
  static constexpr int sums = 4, together = 2, own_rows = 2, row_step = 8, step = 1;
  static constexpr int partner = 1, row_lanes = 4;
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

/// AMD's MFMA of 64 lanes. Its first operand is `b`, so that a lane's results are of one row.
template <class T>
struct mfma_unit {
  static constexpr bool is_f64 = sizeof(T) == 8;
  static constexpr int lanes = 64, words = 2, columns = 16;
  static constexpr int sums = 4, together = is_f64 ? 1 : 4, own_rows = 1, row_step = 0;
  static constexpr int step = is_f64 ? 4 : 1, partner = 16, row_lanes = 4;
  static constexpr bool takes_loaded_tiles = false;
  FLAGGEMS_INLINE static int row(int lane) { return lane % 16; }
  FLAGGEMS_INLINE static int column(int lane) { return is_f64 ? lane / 16 : lane / 16 * 4; }
  FLAGGEMS_INLINE static int line(int lane) { return lane % 16; }
  FLAGGEMS_INLINE static int byte(int lane) { return lane / 16 * 8; }

  template <class Block>
  FLAGGEMS_INLINE static void multiply([[maybe_unused]] const Block& block, mma_sum<T> (&c)[sums],
                                       const u32 (&a)[words], const u32 (&b)[words], int) {
#if FLAGGEMS_HIP_MFMA
    amd_mfma::multiply<T>(c, b, a);
#else
    constexpr int taken = is_same<T, f32> ? 1 : 2;  // words by an instruction
    FLAGGEMS_SIMT_NO_UNROLL
    for (int w = 0; w < words; w += taken) amd_tiles::mfma<T, taken>(block, c, b + w, a + w);
#endif
  }
};

/// AMD's WMMA of 32 lanes, as RDNA 3 has it. Its first operand is `b`, as above.
template <class T>
struct wmma_unit {
  static constexpr int lanes = 32, words = 8, columns = 16;
  static constexpr int sums = 8, together = 1, own_rows = 1, row_step = 0, step = 2;
  static constexpr int partner = 16, row_lanes = 2;
  static constexpr bool takes_loaded_tiles = false;
  FLAGGEMS_INLINE static int row(int lane) { return lane % 16; }
  FLAGGEMS_INLINE static int column(int lane) { return lane / 16; }
  FLAGGEMS_INLINE static int line(int lane) { return lane % 16; }
  FLAGGEMS_INLINE static int byte(int) { return 0; }

  template <class Block>
  FLAGGEMS_INLINE static void multiply([[maybe_unused]] const Block& block, mma_sum<T> (&c)[sums],
                                       const u32 (&a)[words], const u32 (&b)[words], int) {
#if FLAGGEMS_HIP_WMMA
    amd_wmma::multiply<T>(c, b, a);
#else
    constexpr int taken = sizeof(T) == 1 ? 4 : 8;  // words by an instruction
    FLAGGEMS_SIMT_NO_UNROLL
    for (int w = 0; w < words; w += taken) amd_tiles::wmma<T, taken>(block, c, b + w, a + w);
#endif
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/block/simt/matrix_units.hpp");
