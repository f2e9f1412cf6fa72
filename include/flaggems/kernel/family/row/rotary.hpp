// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding (Su et al., RoFormer, 2021): pairs of a head's elements are rotated by
// angles that depend on the position.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>

namespace flaggems::kernels {

/// The tokens, and how a head's elements pair: element `pair` * j with the one `second` behind it.
struct rotary_space {
  int rank;
  i64 sizes[max_rank];
  i64 tokens;
  i64 heads[2];  // of q and of k
  i64 head_dim;
  i64 pairs;  // pairs that are rotated
  i64 pair, second;
  i64 positions;  // rows of cos and sin
  bool in_place;

  FLAGGEMS_INLINE coordinates locate(i64 token) const {
    coordinates c;
    c.rank = rank;
    c.inner = 0;
    for (int d = rank - 1; d >= 0; --d) {
      const i64 next = token / sizes[d];
      c.at[d] = token - next * sizes[d];
      token = next;
    }
    return c;
  }
};

/// q or k: strides over the tokens' dimensions, from head to head, from element to element.
template <class T>
struct rotary_tensor {
  global_ptr<const T> in;
  global_ptr<T> out;
  i64 in_strides[max_rank], out_strides[max_rank];
  i64 in_head, in_step, out_head, out_step;
};

/// a = p[2 * lane], b = p[2 * lane + 1]. The host has a form of its own for whole vectors
/// (family/row/vector/rotary.hpp).
template <class C, class T, class Lane, class V>
FLAGGEMS_INLINE void load_interleaved(global_ptr<const T> p, Lane lane, V& a, V& b) {
  a = load<C>(p, 2, lane);
  b = load<C>(p + 1, 2, lane);
}
template <class T, class Lane, class V>
FLAGGEMS_INLINE void store_interleaved(global_ptr<T> p, Lane lane, FLAGGEMS_VALUE(V) a,
                                       FLAGGEMS_VALUE(V) b) {
  store(p, 2, lane, a);
  store(p + 1, 2, lane, b);
}

/// (a, b) -> (a cos - b sin, b cos + a sin) for every pair; the rest of a head is copied. Positions
/// are ids, or offsets themselves if ids are null; outside the table the nearest row counts.
template <class T, class W, class J, class C>
struct rotary {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, rotary_space space, rotary_tensor<T> q,
                                  rotary_tensor<T> k, row_arg<W> cos, row_arg<W> sin,
                                  row_arg<J> ids) {
    const i64 heads = space.heads[0] + space.heads[1];
    block.for_each_tile(space.tokens * heads, [&](i64 tile) FLAGGEMS_LAMBDA {
      const i64 token = tile / heads, head = tile - token * heads;
      const coordinates c = space.locate(token);
      i64 position = c.offset(ids.strides);
      if (ids.data != nullptr) position = static_cast<i64>(ids.data[position]);
      position = max_of(i64(0), min_of(position, space.positions - 1));
      const global_ptr<const W> cos_row = cos.data + position * cos.strides[0];
      const global_ptr<const W> sin_row = sin.data + position * sin.strides[0];
      if (head < space.heads[0])
        rotate(block, space, q, c, head, cos_row, cos.strides[1], sin_row, sin.strides[1]);
      else
        rotate(block, space, k, c, head - space.heads[0], cos_row, cos.strides[1], sin_row,
               sin.strides[1]);
    });
  }

 private:
  template <class Block>
  FLAGGEMS_INLINE static void rotate(Block& block, const rotary_space& space,
                                     const rotary_tensor<T>& x, const coordinates& c, i64 head,
                                     global_ptr<const W> cos, i64 cos_step, global_ptr<const W> sin,
                                     i64 sin_step) {
    const global_ptr<const T> in = x.in + c.offset(x.in_strides) + head * x.in_head;
    const global_ptr<T> out = x.out + c.offset(x.out_strides) + head * x.out_head;
    const i64 in_pair = x.in_step * space.pair, out_pair = x.out_step * space.pair;
    const global_ptr<const T> in_second = in + x.in_step * space.second;
    const global_ptr<T> out_second = out + x.out_step * space.second;
    if (in_pair == 2 && out_pair == 2 && x.in_step == 1 && x.out_step == 1 && space.second == 1) {
      block.for_each_lane(space.pairs, [&](auto j) FLAGGEMS_LAMBDA {
        lane_value<decltype(j), C> a, b;
        load_interleaved<C, T>(in, j, a, b);
        const auto co = load<C>(cos, cos_step, j);
        const auto si = load<C>(sin, sin_step, j);
        const decltype(a) rotated = a * co - b * si, other = b * co + a * si;
        store_interleaved<T>(out, j, rotated, other);
      });
      copy_rest(block, space, x, in, out);
      return;
    }
    block.for_each_lane(space.pairs, [&](auto j) FLAGGEMS_LAMBDA {
      const auto a = load<C>(in, in_pair, j);
      const auto b = load<C>(in_second, in_pair, j);
      const auto co = load<C>(cos, cos_step, j);
      const auto si = load<C>(sin, sin_step, j);
      store(out, out_pair, j, a * co - b * si);
      store(out_second, out_pair, j, b * co + a * si);
    });
    copy_rest(block, space, x, in, out);
  }

  /// What is not rotated of a head.
  template <class Block>
  FLAGGEMS_INLINE static void copy_rest(Block& block, const rotary_space& space,
                                        const rotary_tensor<T>& x, global_ptr<const T> in,
                                        global_ptr<T> out) {
    if (space.in_place) return;
    const i64 rotated = 2 * space.pairs;
    block.for_each_lane(space.head_dim - rotated, [&](auto j) FLAGGEMS_LAMBDA {
      store(out + rotated * x.out_step, x.out_step, j,
            load<C>(in + rotated * x.in_step, x.in_step, j));
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/rotary.hpp");
