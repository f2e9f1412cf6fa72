// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Gathers many elements of each row at common indices. They touch most cache lines of the row, so a
// block stages the whole row in shared memory and gathers there.
#pragma once

#include <flaggems/kernel/expr/simt/register_rows.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// out[r, i] = in[r, index[i]]: rows of n contiguous elements to rows of space.length. An index out
/// of range gives zero.
template <class T, class J>
struct select_columns {
  static constexpr int max_threads = 512, blocks_per_unit = 4;
  static constexpr int width = vec_size<T>;
  /// The longest row in bytes: limits shared memory so that several blocks are resident.
  static constexpr i64 most_bytes = 54 * 1024;
  static constexpr int most_scratch = most_bytes + 256;

  /// Elements of scratch for rows of n, at their alignment in memory, plus a zero.
  FLAGGEMS_INLINE static constexpr i64 room(i64 n) { return round_up(n + width + 1, width); }

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const row_space& space, i32 n, const row_arg<T>& in,
                                  global_ptr<const J> index, const row_target<T>& out) {
    const auto row = block.template scratch<T>(room(n));
    const i32 m = static_cast<i32>(space.length), step = block.threads() * width;
    const i32 first = block.thread() * width;
    i32 picked[width];
    find(index, m, n, first, picked);
    block.for_each_tile(space.rows, [&](i64 tile) FLAGGEMS_LAMBDA {
      i64 from, to;
      locate_row(space, space.rank, tile, in.strides, out.strides, from, to);
      const i32 off = stage(block, in.data + from, n, row);
      block.sync();
      for (i32 i = first; i < m; i += step) {
        if (m > step) find(index, m, n, i, picked);
        vec<T, width> some;
        FLAGGEMS_SIMT_UNROLL
        for (int k = 0; k < width; ++k) some.at[k] = row.read(off + picked[k]);
        const global_ptr<T> p = out.data + to + i;
        if (i + width <= m && is_vec_aligned<width>(p)) {
          store_vec<width>(p, some);
        } else {
          FLAGGEMS_SIMT_UNROLL
          for (int k = 0; k < width; ++k)
            if (i + k < m) p[k] = some.at[k];
        }
      }
      block.sync();  // the next row overwrites it
    });
  }

 private:
  using words = vec<u32, 4>;

  /// Loads the indices i .. i + width; n for those out of range.
  FLAGGEMS_INLINE static void find(global_ptr<const J> index, i32 m, i32 n, i32 i,
                                   i32 (&picked)[width]) {
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < width; ++k) {
      const i64 at = i + k < m ? static_cast<i64>(index[i + k]) : i64{-1};
      picked[k] = at >= 0 && at < n ? static_cast<i32>(at) : n;
    }
  }
  /// Stages a row; returns the index of its first element in `to`.
  template <class Block, class Row>
  FLAGGEMS_INLINE static i32 stage(const Block& block, global_ptr<const T> from, i32 n,
                                   const Row& to) {
    const i32 off = static_cast<i32>(reinterpret_cast<u64>(from) % 16 / sizeof(T));
    const i32 before = off == 0 ? 0 : min_of(width - off, n), vectors = (n - before) / width;
    const i32 first = (off + before) / width;  // of the aligned vectors
    const auto pieces = to.template as<words>();
    constexpr int batch = 4;
    for (i32 p = block.thread(); p < vectors; p += batch * block.threads()) {
      words some[batch];
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < batch; ++k) {
        const i32 at = p + k * block.threads();
        some[k] = load_vec_words<width>(from + (before + (at < vectors ? at : p) * width));
      }
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < batch; ++k) {
        const i32 at = p + k * block.threads();
        if (at < vectors) pieces.write(first + at, some[k]);
      }
    }
    const i32 edges = n - vectors * width;
    for (i32 i = block.thread(); i < edges; i += block.threads()) {
      const i32 at = i < before ? i : i + vectors * width;
      to.write(off + at, from[at]);
    }
    block.single([&]() FLAGGEMS_LAMBDA { to.write(off + n, T(0)); });
    return off;
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/simt/index_select.hpp");
