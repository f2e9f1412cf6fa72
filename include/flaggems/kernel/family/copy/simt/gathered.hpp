// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies into contiguous memory by vectors, whose elements a thread reads one by one from where
// they lie: around the edges of what is padded, backwards, or in turn from several tensors. Threads
// next to each other read neighbours, so that caches serve what is no vector.
#pragma once

#include <flaggems/kernel/family/copy/simt/rows.hpp>

namespace flaggems::kernels {

/// A dimension of the output, and where its coordinates lie in the input: c - low, and elsewhere
/// what lies before or behind the input's `size`, as start + step * (c - low).
struct gathered_dimension {
  divider wide;  // the output's size
  i32 low, size, stride;
  i32 before_start, before_step, behind_start, behind_step;

  FLAGGEMS_INLINE i32 place(u32 c) const {
    const i32 k = static_cast<i32>(c) - low;
    // All three, as compilers branch around what a condition alone needs.
    const i32 before = before_start + before_step * k, behind = behind_start + behind_step * k;
    const i32 outside = k < 0 ? before : behind;
    return static_cast<u32>(k) < static_cast<u32>(size) ? k : outside;
  }
  FLAGGEMS_INLINE bool has(u32 c) const {
    return c - static_cast<u32>(low) < static_cast<u32>(size);
  }
};

/// A tensor of any strides in rows of the output, no shorter than a vector: `Padded`, its last
/// dimension; else its last two, where one is too short.
template <class Word, bool Padded>
struct strided_source {
  using word = Word;
  static constexpr bool is_padded = Padded;
  global_ptr<const Word> data;
  divider columns;  // elements of a row
  gathered_dimension along;
  i32 across;  // from one `along` to the next of a row
  int rank;    // of the rows
  gathered_dimension rows[max_rank];
  bool filled;
  Word value;  // outside of the input, if it is `filled`

  struct row {
    i32 offset;
    bool inside;
  };
  /// The rows of a vector, and where it begins in the first; `along` in registers.
  struct place {
    row first, next;
    u32 column;
    gathered_dimension inner;
  };
  FLAGGEMS_INLINE row find(u32 r) const {
    row found{0, true};
    FLAGGEMS_SIMT_NO_UNROLL
    for (int d = rank - 1; d >= 0; --d) {
      const gathered_dimension dimension = rows[d];
      const u32 rest = dimension.wide.quotient(r), c = r - rest * dimension.wide.divisor;
      r = rest;
      found.offset += (Padded ? dimension.place(c) : static_cast<i32>(c)) * dimension.stride;
      found.inside = found.inside && dimension.has(c);
    }
    return found;
  }
  FLAGGEMS_INLINE place at(u32 first, u32 last) const {
    const u32 r = columns.quotient(first);
    place found;
    found.column = first - r * columns.divisor;
    found.first = found.next = find(r);
    if (found.column + (last - first) >= columns.divisor) found.next = find(r + 1);
    found.inner = along;
    return found;
  }
  FLAGGEMS_INLINE Word load(const place& from, u32, u32 k) const {
    const u32 column = from.column + k;
    const bool goes_on = column >= columns.divisor;
    const u32 j = goes_on ? column - columns.divisor : column;
    const i32 begin = goes_on ? from.next.offset : from.first.offset;
    if constexpr (Padded) {
      const bool inside = (goes_on ? from.next.inside : from.first.inside) && from.inner.has(j);
      if (filled && !inside) return value;
      return data[begin + from.inner.place(j) * from.inner.stride];
    } else {
      return data[begin + along_row(from.inner, j)];
    }
  }
  /// Where element j of a row is, from its beginning.
  FLAGGEMS_INLINE i32 along_row(const gathered_dimension& inner, u32 j) const {
    const u32 turn = inner.wide.quotient(j), c = j - turn * inner.wide.divisor;
    return static_cast<i32>(turn) * across + static_cast<i32>(c) * inner.stride;
  }
};

/// Rows of a few units of several tensors.
template <class Word>
struct joined_source {
  using word = Word;
  joined_space space;
  struct place {};
  FLAGGEMS_INLINE place at(u32, u32) const { return {}; }
  FLAGGEMS_INLINE Word load(place, u32 first, u32 k) const {
    const u32 row = space.columns.quotient(first + k);
    const u32 column = first + k - row * space.columns.divisor;
    int of = 0;
    while (of + 1 < space.count && column >= space.operands[of + 1].begin) ++of;
    const joined_rows& from = space.operands[of];
    return reinterpret_cast<global_ptr<const Word>>(from.data +
                                                    row * from.step)[column - from.begin];
  }
};

/// Elements first to last of `out`, a vector or less, from a place of `source`.
template <class Source>
FLAGGEMS_INLINE void gather_vector(const Source& source, const typename Source::place& place,
                                   u32 first, u32 last, global_ptr<typename Source::word> out) {
  using word = typename Source::word;
  constexpr u32 width = 16 / sizeof(word);
  if (last - first + 1 < width) {
    FLAGGEMS_SIMT_NO_UNROLL
    for (u32 k = 0; k <= last - first; ++k) out[first + k] = source.load(place, first, k);
    return;
  }
  vec<word, width> taken;
  FLAGGEMS_SIMT_UNROLL
  for (u32 k = 0; k < width; ++k) taken.at[k] = source.load(place, first, k);
  store_vec<width>(out + first, taken);
}

/// n elements into memory that is aligned to 16 bytes.
template <class Source>
struct gather_vectors {
  using word = typename Source::word;
  static constexpr u32 width = 16 / sizeof(word);

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, u32 n, const Source& source, global_ptr<word> out) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 grid = static_cast<u32>(block.count()) * threads, vectors = (n + width - 1) / width;
    for (u32 i = static_cast<u32>(block.index()) * threads + static_cast<u32>(block.thread());
         i < vectors; i += grid) {
      const u32 first = i * width, last = min_of(first + width, n) - 1;
      gather_vector(source, source.at(first, last), first, last, out);
    }
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/simt/gathered.hpp");
