// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies that take turns among a few contiguous rows: tensors stacked along their last dimension,
// or matrices of a few rows transposed.
#pragma once

#include <flaggems/kernel/lang/divider.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// Groups of `Count` rows of `length` elements, which make up a row of the output each.
template <class Word, int Count>
struct interleaved_space {
  u32 length, steps;  // and of all rows
  divider columns;    // steps of a row
  int rank;           // of the groups
  divider sizes[max_rank];
  i64 strides[max_rank];  // of the input
  global_ptr<const Word> from[Count];
};

/// Into contiguous memory that is aligned to 16 bytes, as the rows are to their parts of that. If
/// `length` is no multiple of `part`, there is one group.
template <class Word, int Count>
struct interleave_rows {
  using word = Word;
  static constexpr int width = 16 / static_cast<int>(sizeof(Word));
  // Elements of each row that a thread takes: a vector of the output, if that consists of those.
  static constexpr int part = width % Count == 0 ? width / Count : width;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const interleaved_space<Word, Count>& space,
                                  global_ptr<Word> out) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 grid = static_cast<u32>(block.count()) * threads;
    for (u32 i = static_cast<u32>(block.index()) * threads + static_cast<u32>(block.thread());
         i < space.steps; i += grid) {
      u32 rest = space.columns.quotient(i);
      const u32 column = (i - rest * space.columns.divisor) * part;
      i64 at = column;
      FLAGGEMS_SIMT_NO_UNROLL
      for (int d = space.rank - 1; d >= 0; --d) {
        const u32 next = space.sizes[d].quotient(rest);
        at += static_cast<i64>(rest - next * space.sizes[d].divisor) * space.strides[d];
        rest = next;
      }
      const global_ptr<Word> to = out + static_cast<i64>(i) * (part * Count);
      if (column + part > space.length) {
        for (u32 j = 0; column + j < space.length; ++j) {
          FLAGGEMS_SIMT_UNROLL
          for (int k = 0; k < Count; ++k) to[i64{j} * Count + k] = space.from[k][at + j];
        }
        continue;
      }
      vec<Word, part> taken[Count];
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < Count; ++k) taken[k] = load_vec<part>(space.from[k] + at);
      FLAGGEMS_SIMT_UNROLL
      for (int first = 0; first < part * Count; first += width) {
        vec<Word, width> x;
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < width; ++k)
          x.at[k] = taken[(first + k) % Count].at[(first + k) / Count];
        store_vec<width>(to + first, x);
      }
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/simt/interleaved.hpp");
