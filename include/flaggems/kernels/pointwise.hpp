// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernel behind every pointwise operator, and the functors of the operator table.
#pragma once

#include <flaggems/kernels/expr.hpp>
#include <flaggems/kernels/math.hpp>
#include <flaggems/kernels/pointwise_table.hpp>

namespace flaggems::kernels {

#define FLAGGEMS_UNARY(name, rule, formula)                      \
  struct name##_fn {                                             \
    template <class V>                                           \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a) const { \
      return formula;                                            \
    }                                                            \
  };
#define FLAGGEMS_BINARY(name, rule, formula)                                          \
  struct name##_fn {                                                                  \
    template <class V>                                                                \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const { \
      return formula;                                                                 \
    }                                                                                 \
  };
#define FLAGGEMS_TERNARY(name, rule, formula)                                 \
  struct name##_fn {                                                          \
    template <class V>                                                        \
    FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b, \
                                    FLAGGEMS_VALUE(V) c) const {              \
      return formula;                                                         \
    }                                                                         \
  };
FLAGGEMS_POINTWISE_TABLE(FLAGGEMS_UNARY, FLAGGEMS_BINARY, FLAGGEMS_TERNARY)
#undef FLAGGEMS_UNARY
#undef FLAGGEMS_BINARY
#undef FLAGGEMS_TERNARY

/// c ? a : b
struct where_fn {
  template <class M, class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(M) c, FLAGGEMS_VALUE(V) a,
                               FLAGGEMS_VALUE(V) b) const {
    return select(c, a, b);
  }
};

/// How an iteration space of up to `max_rank` dimensions is cut into tiles: a tile is `chunk`
/// elements of the inner dimension at one position of the outer ones.
struct tiling {
  int outer_rank;
  i64 outer_sizes[max_rank];
  i64 inner;   // elements of the inner dimension
  i64 chunk;   // elements of a tile
  i64 chunks;  // tiles an inner row is cut into
  i64 tiles;   // of the whole space

  FLAGGEMS_SCALAR coordinates locate(i64 tile) const {
    coordinates c;
    c.rank = outer_rank;
    i64 row = tile;
    c.inner = 0;
    if (chunks != 1) {
      row = tile / chunks;
      c.inner = (tile - row * chunks) * chunk;
    }
    for (int d = outer_rank - 1; d > 0; --d) {
      const i64 next = row / outer_sizes[d];
      c.at[d] = row - next * outer_sizes[d];
      row = next;
    }
    if (outer_rank > 0) c.at[0] = row;
    return c;
  }
  FLAGGEMS_INLINE i64 length(const coordinates& c) const { return min_of(chunk, inner - c.inner); }
};

/// out = e, element by element.
template <class T, class E>
struct pointwise {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, tiling space, target<T> out, E e) {
    block.for_each_tile(space.tiles, [&](i64 tile) FLAGGEMS_LAMBDA {
      const coordinates c = space.locate(tile);
      const auto row = e.at(c);
      assign_row(block, out.data + c.offset(out.strides), out.strides[c.rank], row,
                 space.length(c));
    });
  }
};

}  // namespace flaggems::kernels
