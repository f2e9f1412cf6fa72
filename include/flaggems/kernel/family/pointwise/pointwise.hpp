// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel behind every pointwise operator.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>
#include <flaggems/kernel/family/pointwise/tables/pointwise.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// c ? a : b
struct where_fn {
  template <class M, class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(M) c, FLAGGEMS_VALUE(V) a,
                               FLAGGEMS_VALUE(V) b) const {
    return select(c, a, b);
  }
};

/// The parts of a complex number.
struct real_part_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(complex<V>) z) const {
    return z.re;
  }
};
struct imag_part_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(complex<V>) z) const {
    return z.im;
  }
};

// Functions of few instructions (is_brief).
#define FLAGGEMS_BRIEF(name) \
  template <>                \
  inline constexpr bool is_brief_function<name> = true;
FLAGGEMS_BRIEF(identity_fn)
FLAGGEMS_BRIEF(neg_fn)
FLAGGEMS_BRIEF(relu_fn)
FLAGGEMS_BRIEF(add_fn)
FLAGGEMS_BRIEF(sub_fn)
FLAGGEMS_BRIEF(mul_fn)
FLAGGEMS_BRIEF(maximum_fn)
FLAGGEMS_BRIEF(minimum_fn)
#undef FLAGGEMS_BRIEF

template <>
struct word_form<neg_fn> {
  static constexpr bool exists = true;
  template <class U>
  FLAGGEMS_INLINE U operator()(FLAGGEMS_VALUE(U) sign, FLAGGEMS_VALUE(U) a) const {
    return a ^ sign;
  }
};
template <>
struct word_form<abs_fn> {
  static constexpr bool exists = true;
  template <class U>
  FLAGGEMS_INLINE U operator()(FLAGGEMS_VALUE(U) sign, FLAGGEMS_VALUE(U) a) const {
    return a & ~sign;
  }
};

FLAGGEMS_KEEPS_PRECISION(neg)
FLAGGEMS_KEEPS_PRECISION(abs)
FLAGGEMS_KEEPS_PRECISION(relu)
FLAGGEMS_KEEPS_PRECISION(maximum)
FLAGGEMS_KEEPS_PRECISION(minimum)
/// Whether the values of an expression have no more bits than a T.
template <class T, class E>
inline constexpr bool has_values_of = false;
template <class T, class C>
inline constexpr bool has_values_of<T, flat_arg<T, C>> = true;
template <class T, class R, class F, class... E>
inline constexpr bool has_values_of<T, node<R, F, E...>> = keeps_precision<F> &&
                                                           (has_values_of<T, E> && ...);

/// How an iteration space of up to `max_rank` dimensions is tiled: a tile has `chunk` elements of
/// the inner dimension at `depth` positions of the last outer one and one position of the others.
struct tiling {
  int outer_rank;
  i64 outer_sizes[max_rank];
  i64 inner;      // elements of the inner dimension
  i64 chunk;      // elements of a tile along it
  i64 chunks;     // tiles along it
  i64 depth;      // rows of a tile: 1, or more where operands are transposed against each other
  i64 depths;     // tiles the last outer dimension is cut into; 0 if depth is 1
  i64 tiles;      // of the whole space
  bool streamed;  // non-temporal stores, where the device has them

  FLAGGEMS_SCALAR coordinates locate(i64 tile) const {
    coordinates c;
    c.rank = outer_rank;
    i64 row = tile;
    c.inner = 0;
    if (chunks != 1) {
      row = tile / chunks;
      c.inner = (tile - row * chunks) * chunk;
    }
    int d = outer_rank - 1;
    if (depths != 0) {
      const i64 next = row / depths;
      c.at[d] = (row - next * depths) * depth;
      row = next;
      if (d == 0) return c;
      --d;
    }
    for (; d > 0; --d) {
      const i64 next = row / outer_sizes[d];
      c.at[d] = row - next * outer_sizes[d];
      row = next;
    }
    if (outer_rank > 0) c.at[0] = row;
    return c;
  }
  /// The tile's row length, and its rows.
  FLAGGEMS_INLINE i64 length(const coordinates& c) const { return min_of(chunk, inner - c.inner); }
  FLAGGEMS_INLINE i64 rows(const coordinates& c) const {
    return depths == 0 ? 1 : min_of(depth, outer_sizes[outer_rank - 1] - c.at[outer_rank - 1]);
  }
};

/// Computes one tile of out = e. The host has its own form (expr/vector/rows.hpp).
template <class Block, class T, class E>
FLAGGEMS_INLINE void assign_tile(const Block& block, const tiling& space, const target<T>& out,
                                 const E& e, coordinates& c) {
  const i64 rows = space.rows(c), n = space.length(c);
  for (i64 r = 0; r < rows; ++r) {
    const auto row = e.at(c);
    const global_ptr<T> to = out.data + c.offset(out.strides);
    const i64 stride = out.strides[c.rank];
    block.for_each_lane(
        n, [&](auto lane) FLAGGEMS_LAMBDA { store(to, stride, lane, row.load(lane)); });
    if (rows > 1) ++c.at[c.rank - 1];
  }
}

/// out = e, element by element.
template <class T, class E>
struct pointwise {
  static constexpr bool has_parts = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, target<T> out, E e) {
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      coordinates c = space.locate(tile);
      assign_tile(block, space, out, e, c);
    });
    end_stream(block, space.streamed);
  }
};

/// Elements per tile where all operands are contiguous.
inline constexpr i64 flat_chunk = 8192;

/// Computes elements begin .. begin + n of out = e, all contiguous. The host has its own form
/// (expr/vector/rows.hpp).
template <class Block, class T, class E>
FLAGGEMS_INLINE void assign_flat(const Block& block, global_ptr<T> out, const E& e, i64 begin,
                                 i64 n, bool) {
  coordinates c;
  c.rank = 0;
  c.inner = begin;
  const auto row = e.at(c);
  const global_ptr<T> to = out + begin;
  block.for_each_lane(n, [&](auto lane) FLAGGEMS_LAMBDA { store(to, lane, row.load(lane)); });
}

/// out = e for n elements of contiguous tensors: the leaves are flat_arg.
template <class T, class E>
struct pointwise_flat {
  static constexpr bool has_parts = true;
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, i64 n, bool streamed, global_ptr<T> out, E e) {
    block.for_each_share(ceil_div(n, flat_chunk), [&](i64 first, i64 last) FLAGGEMS_LAMBDA {
      const i64 begin = first * flat_chunk;
      assign_flat(block, out, e, begin, min_of(n, last * flat_chunk) - begin, streamed);
    });
    end_stream(block, streamed);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/pointwise.hpp");
