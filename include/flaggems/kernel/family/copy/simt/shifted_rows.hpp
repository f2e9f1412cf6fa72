// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies of contiguous rows into the middle of longer ones, or round their ends, where vectors of
// the output are none of the input. Most are a run of its elements, assembled from two of its
// vectors; those at the seams between rows come behind them, so that warps have one kind.
#pragma once

#include <flaggems/kernel/family/copy/simt/gathered.hpp>

namespace flaggems::kernels {

/// A source whose rows are contiguous, each a vector at least. Places in it are counted in elements
/// from `vectors`, an aligned address.
template <class Word>
struct shifted_source {
  strided_source<Word, true> rows;
  global_ptr<const Word> vectors;
  i32 skipped;      // the place of `rows.data`
  i32 first, last;  // where the first and the last vector begin that are the input's as a whole
  // At columns of the output up to `front` and from `back` on, vectors are a run of the input's
  // elements as well, `turn` further and less far.
  i32 front, back, turn;
  i32 before, behind;  // columns in front of the input's and behind them
  divider seams;       // vectors with something between two rows of the input, at most
};

/// n elements into memory that is aligned to 16 bytes; `Filled`: by a value around the input.
template <class Word, bool Filled>
struct shift_rows {
  using word = Word;
  static constexpr int width = 16 / static_cast<int>(sizeof(Word));
  static constexpr int each = 4;  // vectors of a thread
  static constexpr u32 size = width;

  /// Rows in which a block's vectors lie, and the next one.
  FLAGGEMS_INLINE static constexpr i64 most_rows(i64 threads, i64 columns) {
    return threads * each * width / columns + 3;
  }
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, u32 n, const shifted_source<Word>& from,
                                  global_ptr<Word> out) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 thread = static_cast<u32>(block.thread());
    const divider columns = from.rows.columns;
    const u32 chunk = threads * each, vectors = (n + size - 1) / size;
    const auto rows = block.template scratch<i32>(most_rows(block.threads(), columns.divisor));
    block.for_each_tile((vectors + chunk - 1) / chunk, [&](i64 tile) FLAGGEMS_LAMBDA {
      const u32 begin = static_cast<u32>(tile) * chunk, end = min_of(begin + chunk, vectors);
      const u32 first_row = columns.quotient(begin * size);
      const u32 count = columns.quotient(min_of(end * size, n) - 1) - first_row + 1;
      block.sync();
      for (u32 r = thread; r < count; r += threads) {
        const auto row = from.rows.find(first_row + r);
        rows.write(r, !Filled || row.inside ? row.offset : nowhere);
      }
      block.sync();
      const auto piece_at = [&](u32 v) FLAGGEMS_LAMBDA {
        const u32 row = columns.quotient(v * size), c = v * size - row * columns.divisor;
        return piece(from, row - first_row, rows.read(row - first_row), static_cast<i32>(c));
      };
      touched_vectors<Word, width> touched[each];
      piece pieces[each];
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < each; ++u) {
        pieces[u] = piece_at(min_of(begin + u * threads + thread, end - 1));
        // Whatever a vector is, it loads something, without a branch: all loads are on their way.
        const i32 at = pieces[u].within(from);
        const i32 lower = settled(vector_of(at)), upper = settled(vector_of(at + width - 1));
        touched[u] = load_touched<width>(from.vectors + i64{lower} * width,
                                         from.vectors + i64{upper} * width);
      }
      bool some_alone = false;
      FLAGGEMS_SIMT_UNROLL
      for (u32 u = 0; u < each; ++u) {
        const u32 v = begin + u * threads + thread;
        const piece& of = pieces[u];
        auto x = touched[u].from(of.at & (width - 1));
        if (of.is_value) x = bit_cast<decltype(x)>(splat_storage<width>(from.rows.value));
        const bool is_stored = of.is_value | (of.at == of.within(from));
        store_vec_if(is_stored & (v < end), out + v * size, bit_cast<vec<Word, width>>(x));
        some_alone |= of.is_alone(from);
      }
      // Now the vectors at seams, and then, if it has any, a thread's others.
      const u32 seams = (count + 1) * from.seams.divisor, others = round_up(seams, threads);
      for (u32 i = thread; i < (some_alone ? others + chunk : seams); i += threads) {
        const u32 k = from.seams.quotient(i), here = (first_row + k) * columns.divisor;
        const u32 low = here - min_of(here, static_cast<u32>(from.behind));
        const u32 high = here + static_cast<u32>(from.before);
        u32 v = low / size + (i - k * from.seams.divisor);
        // From `low` to `high`, without those of the seam before.
        bool is_due = v * size < high && v * size + columns.divisor >= high;
        if (i >= seams) v = begin + (i - others), is_due = i >= others;
        if (v < begin || v >= end || !is_due) continue;
        const piece of = piece_at(v);
        if (of.is_value || (i < seams ? of.at != nowhere : !of.is_alone(from))) continue;
        const u32 last = min_of(v * size + size, n) - 1 - v * size;
        const i32 own = rows.read(of.row);
        const i32 next =
            rows.read(of.row + (static_cast<u32>(of.column) + last >= columns.divisor));
        gather_vector(from.rows,
                      {{own, own != nowhere},
                       {next, next != nowhere},
                       static_cast<u32>(of.column),
                       from.rows.along},
                      v * size, v * size + last, out);
      }
    });
  }

 private:
  static constexpr i32 nowhere = -2147483647;

  /// The number of the vector that has the place `at`.
  FLAGGEMS_INLINE static i32 vector_of(i32 at) {
    return at >> (width == 2 ? 1 : width == 4 ? 2 : width == 8 ? 3 : 4);
  }
  /// A vector of the output: value only, or a run of the input's elements from `at` on, or, with
  /// `nowhere` for that, something else.
  struct piece {
    u32 row;  // of the rows of the block
    i32 column, at;
    bool is_value;
    piece() = default;
    FLAGGEMS_INLINE piece(const shifted_source<Word>& from, u32 of_block, i32 offset, i32 c)
        : row(of_block), column(c), is_value(false) {
      const i32 k = c - from.before, length = from.rows.along.size;
      const i32 wide = static_cast<i32>(from.rows.columns.divisor);
      const bool ends = c <= wide - width;
      // (Where rows turn, the input's may go on behind the output's end.)
      const bool inside = ends & (static_cast<u32>(k) <= static_cast<u32>(length - width));
      // (In 32 bits without a sign: what is no place may be anything.)
      const auto place = static_cast<i32>(static_cast<u32>(offset) + static_cast<u32>(k) +
                                          static_cast<u32>(from.skipped));
      if constexpr (Filled) {
        const bool is_there = offset != nowhere;
        at = (inside & is_there) ? place : nowhere;
        const bool has_some =
            static_cast<u32>(k + width - 1) < static_cast<u32>(length + width - 1);
        is_value = ends & !(has_some & is_there);
      } else {
        at = inside ? place : nowhere;
        const u32 turn = static_cast<u32>(from.turn);
        at = c <= from.front ? static_cast<i32>(static_cast<u32>(place) + turn) : at;
        at = ((c >= from.back) & ends) ? static_cast<i32>(static_cast<u32>(place) - turn) : at;
      }
    }
    /// `at`, or another place between vectors that are all the input's.
    FLAGGEMS_INLINE i32 within(const shifted_source<Word>& from) const {
      return min_of(max_of(at, from.first), from.last);
    }
    /// Whether it is a run that no such vectors have.
    FLAGGEMS_INLINE bool is_alone(const shifted_source<Word>& from) const {
      return (at != nowhere) & (at != within(from));
    }
  };
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/copy/simt/shifted_rows.hpp");
