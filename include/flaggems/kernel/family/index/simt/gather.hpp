// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Single elements at contiguous indices: a thread reads indices by vectors, several vectors before
// it looks any of them up.
#pragma once

#include <flaggems/kernel/family/copy/simt/gathered.hpp>
#include <flaggems/kernel/family/index/index_select.hpp>

namespace flaggems::kernels {

/// out[i] = the element at place i of `from`, index[i] * step further; 0 where the index is not in
/// [0, size). Rows of `from` are whole vectors of indices; index and out are aligned.
template <class Word, class J>
struct gather_at_vectors {
  static constexpr u32 width = 16 / sizeof(J), at_once = 4;
  using source = strided_source<Word, false>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, u32 vectors, const source& from,
                                  global_ptr<const J> index, i64 size, i64 step,
                                  global_ptr<Word> out) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 grid = static_cast<u32>(block.count()) * threads * at_once;
    const gathered_dimension inner = from.along;
    for (u32 first =
             static_cast<u32>(block.index()) * threads * at_once + static_cast<u32>(block.thread());
         first < vectors; first += grid) {
      // Absent ones repeat the last.
      vec<J, width> index_at[at_once];
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < at_once; ++u)
        index_at[u] = load_vec<width>(index + min_of(first + u * threads, vectors - 1) * width);
      vec<Word, width> taken[at_once];
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < at_once; ++u) {
        const u32 i = min_of(first + u * threads, vectors - 1) * width;
        const u32 row = from.columns.quotient(i), column = i - row * from.columns.divisor;
        const global_ptr<const Word> begin = from.data + from.find(row).offset;
        FLAGGEMS_SIMT_UNROLL
        for (u32 k = 0; k < width; ++k) {
          const i64 j = static_cast<i64>(index_at[u].at[k]);
          const bool exists = static_cast<u64>(j) < static_cast<u64>(size);
          // Without a branch, so that several loads overlap.
          const Word x = begin[from.along_row(inner, column + k) + (exists ? j : 0) * step];
          taken[u].at[k] = exists ? x : Word(0);
        }
      }
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < at_once; ++u)
        if (first + u * threads < vectors)
          store_vec<width>(out + (first + u * threads) * width, taken[u]);
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/simt/gather.hpp");
