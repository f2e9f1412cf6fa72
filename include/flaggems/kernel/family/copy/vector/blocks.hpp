// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
//
// Bitwise copies between layouts on the host: two-dimensional blocks, in the order that
// ops/copy.hpp plans, without a division or a call per row. Data contiguous on both sides is copied
// as bytes by vectors, else element by element, by size.
#pragma once

#include <flaggems/kernel/expr/vector/rows.hpp>
#include <flaggems/kernel/family/copy/space.hpp>
#include <flaggems/kernel/family/copy/vector/rows.hpp>
#include <flaggems/kernel/lang/vector/transpose.hpp>

namespace flaggems::kernels {

/// Whether a block is the first or last piece of a cut inner dimension.
struct copy_piece_ends {
  bool first, last;
};
/// f(to, from, outer, inner, ends): the offsets and extents of each of this worker's blocks.
template <class Isa, class F>
FLAGGEMS_HOST_INLINE void for_each_copied_block(const host_block<Isa>& block,
                                                const copy_space& space, const F& f) {
  block.for_each_share(space.blocks, [&](i64 first, i64 last) FLAGGEMS_LAMBDA {
    i64 at[max_rank], to = 0, from = 0, left = first;
    for (int d = space.rank - 1; d >= 0; --d) {
      at[d] = 0;
      if (left == 0) continue;  // always, on one thread
      const i64 next = left / space.sizes[d];
      at[d] = left - next * space.sizes[d];
      to += at[d] * space.to[d];
      from += at[d] * space.from[d];
      left = next;
    }
    const auto is_last = [&](int k) FLAGGEMS_LAMBDA {
      const int d = space.cut[k];
      return d < 0 || at[d] + 1 == space.sizes[d];
    };
    const auto extent = [&](int k)
                            FLAGGEMS_LAMBDA { return is_last(k) ? space.rest[k] : space.count[k]; };
    for (;;) {
      f(to, from, extent(0), extent(1),
        copy_piece_ends{space.cut[1] < 0 || at[space.cut[1]] == 0, is_last(1)});
      if (++first == last) break;
      for (int d = space.rank - 1;; --d) {
        to += space.to[d];
        from += space.from[d];
        if (++at[d] != space.sizes[d]) break;
        to -= space.to[d] * space.sizes[d];
        from -= space.from[d] * space.sizes[d];
        at[d] = 0;
      }
    }
  });
}

/// Rows of one to two vectors: copied by two vectors that may overlap.
template <int Bytes>
FLAGGEMS_HOST_INLINE void copy_ends(unsigned char* to, const unsigned char* from, i64 n) {
  typedef unsigned char vector
      __attribute__((vector_size(static_cast<unsigned>(Bytes)), aligned(1), may_alias));
  const i64 back = n - Bytes;
  const vector first = *reinterpret_cast<const vector*>(from);
  const vector second = *reinterpret_cast<const vector*>(from + back);
  *reinterpret_cast<vector*>(to) = first;
  *reinterpret_cast<vector*>(to + back) = second;
}

/// Full cache lines by non-temporal stores.
template <class Isa>
FLAGGEMS_HOST_INLINE void copy_lines(unsigned char* to, const unsigned char* from, i64 n) {
  using V = simd<u32, Isa>;
  constexpr i64 width = static_cast<i64>(sizeof(V));
  for (i64 i = 0; i < n; i += 64) {
    V x[64 / width];
#pragma GCC unroll 4
    for (i64 k = 0; k < 64 / width; ++k) read_vector(x[k], from + i + k * width);
#pragma GCC unroll 4
    for (i64 k = 0; k < 64 / width; ++k) stream_vector(to + i + k * width, x[k]);
  }
}
/// The bytes from the start of its line to p.
FLAGGEMS_HOST_INLINE i64 past_line(const unsigned char* p) {
  return static_cast<i64>(reinterpret_cast<u64>(p) % 64);
}
/// Full cache lines by non-temporal stores, head and tail by others.
template <class Isa>
FLAGGEMS_HOST_INLINE void copy_between(unsigned char* to, const unsigned char* from, i64 n) {
  const i64 head = min_of(-past_line(to) & 63, n), lines = (n - head) & -64,
            tail = n - head - lines;
  if (head != 0) __builtin_memcpy(to, from, static_cast<u64>(head));
  copy_lines<Isa>(to + head, from + head, lines);
  if (tail != 0) __builtin_memcpy(to + n - tail, from + n - tail, static_cast<u64>(tail));
}
FLAGGEMS_HOST_INLINE void copy_long(unsigned char* to, const unsigned char* from, i64 n) {
  __builtin_memcpy(to, from, static_cast<u64>(n));
}
FLAGGEMS_HOST_INLINE void copy_few(unsigned char* to, const unsigned char* from, i64 n) {
  for (i64 i = 0; i < n; ++i) to[i] = from[i];
}

/// Rows of n bytes; `streamed`: by non-temporal stores where rows are full cache lines, or long.
struct copy_row_block {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(unsigned char* const& to, const unsigned char* const& from,
                                       const i64& rows, const i64& to_step, const i64& from_step,
                                       const i64& bytes, const bool& streamed) {
    using V = simd<u32, Isa>;
    constexpr i64 width = static_cast<i64>(sizeof(V));
    const i64 n = bytes;
    const auto each = [&](const auto& copy) FLAGGEMS_LAMBDA {
      unsigned char* t = to;
      const unsigned char* f = from;
      const i64 to_next = to_step, from_next = from_step;
      for (i64 k = rows; k > 0; --k, t += to_next, f += from_next) copy(t, f);
    };
#define FLAGGEMS_EACH_ROW(copy) \
  each([n](unsigned char* t, const unsigned char* f) FLAGGEMS_LAMBDA { copy(t, f, n); })
    if (can_stream<u32, Isa> && streamed && n % 64 == 0 && is_line(to) && to_step % 64 == 0)
      FLAGGEMS_EACH_ROW(copy_lines<Isa>);
    else if (can_stream<u32, Isa> && streamed && n >= 1024)
      FLAGGEMS_EACH_ROW(copy_streamed<Isa>);
    else if (n > 512 && rows < 16)
      FLAGGEMS_EACH_ROW(copy_long);
    else if (n > 512)
      each([n, next_line = to_step](unsigned char* t, const unsigned char* f) FLAGGEMS_LAMBDA {
        // Hardware prefetchers cannot predict the next row of the output.
        for (i64 i = 0; i < n; i += 64) __builtin_prefetch(t + next_line + i, 1);
        copy_long(t, f, n);
      });
    else if (n >= width)  // a staging buffer, or short streamed lines
      FLAGGEMS_EACH_ROW(copy_small<Isa>);
    else if (width > 32 && n >= 32)
      FLAGGEMS_EACH_ROW(copy_ends<32>);
    else if (width > 16 && n >= 16)
      FLAGGEMS_EACH_ROW(copy_ends<16>);
    else if (n >= 8)
      FLAGGEMS_EACH_ROW(copy_ends<8>);
    else if (n >= 4)
      FLAGGEMS_EACH_ROW(copy_ends<4>);
    else
      FLAGGEMS_EACH_ROW(copy_few);
#undef FLAGGEMS_EACH_ROW
  }
};

/// Bytes that are contiguous on both sides: one row per worker.
struct copy_flat {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(host_block<Isa>& block, i64 bytes, bool streamed,
                                       unsigned char* to, const unsigned char* from) {
    block.for_each_share(ceil_div(bytes, piece), [&](i64 first, i64 last) FLAGGEMS_LAMBDA {
      const i64 begin = first * piece, end = min_of(bytes, last * piece);
      const i64 n = end - begin;
      if (can_stream<u32, Isa> && streamed && n >= 1024)
        copy_streamed<Isa>(to + begin, from + begin, n);
      else if (n >= static_cast<i64>(sizeof(simd<u32, Isa>)) && n <= 512)
        copy_small<Isa>(to + begin, from + begin, n);
      else
        copy_long(to + begin, from + begin, n);
    });
    end_stream(block, streamed);
  }
  static constexpr i64 piece = 4096;
};

/// The block's outer dimension: rows; its inner one: bytes, contiguous on both sides.
struct copy_blocks_of_rows {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(host_block<Isa>& block, const copy_space& space,
                                       unsigned char* to, const unsigned char* from) {
    constexpr i64 width = static_cast<i64>(sizeof(simd<u32, Isa>));
    const bool streamed = space.streamed;
    const i64 to_step = space.to_step[0], from_step = space.from_step[0];
    for_each_copied_block(block, space,
                          [=](i64 t, i64 f, i64 rows, i64 n, copy_piece_ends) FLAGGEMS_LAMBDA {
                            unsigned char* target = to + t;
                            const unsigned char* source = from + f;
                            if (n < width || n > 512 || streamed) {
                              outlined<Isa>::template call<copy_row_block>(
                                  target, source, rows, to_step, from_step, n, streamed);
                              return;
                            }
                            for (; rows > 0; --rows, target += to_step, source += from_step)
                              copy_small<Isa>(target, source, n);
                          });
    end_stream(block, space.streamed);
  }
};

/// An element at any address.
template <class T>
struct loose_word {
  typedef T type __attribute__((aligned(1), may_alias));
};

/// n elements, `from_step` bytes apart.
template <class T>
FLAGGEMS_HOST_INLINE void copy_separately(unsigned char* to, i64 to_step, const unsigned char* from,
                                          i64 from_step, i64 n) {
  using word = typename loose_word<T>::type;
  constexpr i64 size = static_cast<i64>(sizeof(T)), lanes = 16 / size;
  i64 k = 0;
  if (to_step == size && from_step == 2 * size) {
    // Every second element of two vectors makes one; the loop must not read past the row's last.
    for (; k + lanes < n; k += lanes) {
      const auto a = square<T>::read(from + k * from_step);
      const auto b = square<T>::read(from + k * from_step + 16);
      square<T>::write(to + k * size, square<T>::even(a, b, typename square<T>::lanes{}));
    }
  } else if (to_step == size && from_step == -size) {
    for (; k + lanes <= n; k += lanes) {
      const auto last = square<T>::read(from - (k + lanes - 1) * size);
      square<T>::write(to + k * size, square<T>::reversed(last, typename square<T>::lanes{}));
    }
  } else if (to_step == size && from_step == 0) {
    typename square<T>::vector all{};
    const T x = *reinterpret_cast<const word*>(from);
    for (i64 i = 0; i < lanes; ++i) all[i] = x;
    for (; k + lanes <= n; k += lanes) square<T>::write(to + k * size, all);
  } else {
    for (; k + 4 <= n; k += 4) {
      const unsigned char* const f = from + k * from_step;
      const T x[4] = {*reinterpret_cast<const word*>(f),
                      *reinterpret_cast<const word*>(f + from_step),
                      *reinterpret_cast<const word*>(f + 2 * from_step),
                      *reinterpret_cast<const word*>(f + 3 * from_step)};
      unsigned char* const t = to + k * to_step;
      *reinterpret_cast<word*>(t) = x[0];
      *reinterpret_cast<word*>(t + to_step) = x[1];
      *reinterpret_cast<word*>(t + 2 * to_step) = x[2];
      *reinterpret_cast<word*>(t + 3 * to_step) = x[3];
    }
  }
  for (; k < n; ++k)
    *reinterpret_cast<word*>(to + k * to_step) =
        *reinterpret_cast<const word*>(from + k * from_step);
}

/// to[p * to_step + q * size] = from[q * from_step + p * size] for p < outer and q < inner, both at
/// least a square's side. Squares cover it; the last ones overlap their predecessors. Calls
/// before(q) before each square's side of q.
template <class T, class Before>
FLAGGEMS_HOST_INLINE void copy_transposed(unsigned char* to, i64 to_step, const unsigned char* from,
                                          i64 from_step, i64 outer, i64 inner,
                                          const Before& before) {
  constexpr i64 size = static_cast<i64>(sizeof(T)), side = square<T>::side;
  for (i64 q = 0; q < inner; q += side) {
    before(q);
    const i64 column = min_of(q, inner - side);
    for (i64 p = 0; p < outer; p += side) {
      const i64 row = min_of(p, outer - side);
      square<T>::transpose(to + row * to_step + column * size, to_step,
                           from + column * from_step + row * size, from_step);
    }
  }
}

/// Elements that are contiguous on at most one side: one by one, or `transposed`, where the block's
/// outer dimension is contiguous in the input and its inner one in the output.
template <class T>
struct copy_blocks_of_elements {
  template <class Isa>
  FLAGGEMS_HOST_INLINE static void run(host_block<Isa>& block, const copy_space& space,
                                       unsigned char* to, const unsigned char* from) {
    constexpr i64 size = static_cast<i64>(sizeof(T)), side = square<T>::side;
    constexpr i64 line = transposed_elements * size + 64;
    alignas(64) unsigned char lines[transposed_bytes / size * line];
    const i64 to_step = space.to_step[0], from_step = space.from_step[1];
    for_each_copied_block(
        block, space,
        [&](i64 t, i64 f, i64 outer, i64 inner, copy_piece_ends ends) FLAGGEMS_LAMBDA {
          unsigned char* const target = to + t;
          const unsigned char* const source = from + f;
          const bool streamed = can_stream<u32, Isa> && space.streamed;
          // Output rows may be misaligned to cache lines. Pieces of a row are cut at line ends, so
          // the elements between the block's start and the line's are read with it.
          const bool is_separate =
              streamed && !ends.first && !(is_line(target) && to_step % 64 == 0);
          const i64 before = is_separate ? 64 / size : 0;
          if (!space.transposed || outer < side || inner + before < side) {
            for (i64 k = 0; k < outer; ++k)
              copy_separately<T>(target + k * to_step, space.to_step[1],
                                 source + k * space.from_step[0], from_step, inner);
            return;
          }
          // Staged in a buffer, full lines are written, and lines that evict each other are read
          // once.
          unsigned char* const first = space.staged ? lines : target;
          const i64 first_step = space.staged ? line : to_step;
          const unsigned char* const next = source + inner * from_step;
          // Beyond the input it is any address: prefetches do not fault.
          const auto fetch_next = [=](i64 q) FLAGGEMS_LAMBDA {
            for (i64 k = q; streamed && k < q + side; ++k)
              for (i64 i = 0; i < outer * size; i += 64)
                __builtin_prefetch(next + k * from_step + i, 0, 2);
          };
          copy_transposed<T>(first, first_step, source - before * from_step, from_step, outer,
                             inner + before, fetch_next);
          if (streamed) {
            for (i64 k = 0; k < outer; ++k) {
              unsigned char* const row = target + k * to_step;
              const i64 begin = ends.first ? 0 : -past_line(row), bytes = inner * size;
              const i64 end = ends.last ? bytes : bytes - past_line(row + bytes);
              copy_between<Isa>(row + begin, lines + k * line + before * size + begin, end - begin);
            }
          } else if (space.staged) {
            outlined<Isa>::template call<copy_row_block>(target, lines, outer, to_step, line,
                                                         inner * size, false);
          }
        });
    end_stream(block, space.streamed);
  }
};

}  // namespace flaggems::kernels
