// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding as SIMT devices run it: a thread rotates the pairs of a vector, or one.
#pragma once

#include <flaggems/kernel/family/row/rotary.hpp>
#include <flaggems/kernel/lang/divider.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// A dimension of the tokens, and what is from one to the next in it.
struct rotary_dimension {
  divider size;
  struct {
    i32 in, out;
  } of[2];  // q, k
  i32 ids;
};
/// The steps of a rotation, fewer than 2^31: `per_head` for each head, of which the first `rotated`
/// rotate and the others copy. Strides are 32 bits wide, offsets 64.
struct rotary_steps {
  bool vectorized;  // a step is a vector, of elements or of neighbouring pairs
  u32 steps, rotated;
  divider per_head, heads;
  i32 q_heads;
  i32 pairs, pair, second, positions;  // as in a rotary_space
  int rank;
  rotary_dimension dimensions[max_rank];
};
/// q or k: what is from head to head, and from element to element.
template <class T>
struct rotary_heads {
  global_ptr<const T> in;
  global_ptr<T> out;
  i32 in_head, out_head, in_step, out_step;
};
template <class T>
struct rotary_tensors {
  rotary_heads<T> at[2];  // q, k
};
/// cos or sin: what is from row to row, and from angle to angle.
template <class W>
struct rotary_angles {
  global_ptr<const W> data;
  i32 row, step;
};

template <class T, class W, class J, class C>
struct rotary_vectors {
  static constexpr int size = 16 / max_of(static_cast<int>(sizeof(T)), static_cast<int>(sizeof(W)));

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const rotary_steps& s, const rotary_tensors<T>& x,
                                  const rotary_angles<W>& cos, const rotary_angles<W>& sin,
                                  global_ptr<const J> ids) {
    if (!s.vectorized)
      walk<1>(block, s, x, cos, sin, ids);
    else
      walk<size>(block, s, x, cos, sin, ids);
  }

 private:
  template <int Width, class Block>
  FLAGGEMS_INLINE static void walk(const Block& block, const rotary_steps& s,
                                   const rotary_tensors<T>& x, const rotary_angles<W>& cos,
                                   const rotary_angles<W>& sin, global_ptr<const J> ids) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 grid = static_cast<u32>(block.count()) * threads;
    for (u32 i = static_cast<u32>(block.index()) * threads + static_cast<u32>(block.thread());
         i < s.steps; i += grid)
      step<Width>(i, s, x, cos, sin, ids);
  }

  template <int Width>
  FLAGGEMS_INLINE static void step(u32 i, const rotary_steps& s, const rotary_tensors<T>& x,
                                   const rotary_angles<W>& cos, const rotary_angles<W>& sin,
                                   global_ptr<const J> ids) {
    const u32 row = s.per_head.quotient(i), part = i - row * s.per_head.divisor;
    u32 token = s.heads.quotient(row);
    i32 head = static_cast<i32>(row - token * s.heads.divisor);
    const int which = head < s.q_heads ? 0 : 1;
    if (which == 1) head -= s.q_heads;
    const rotary_heads<T>& t = x.at[which];
    i64 in_offset = i64{head} * t.in_head, out_offset = i64{head} * t.out_head, position = 0;
    FLAGGEMS_SIMT_NO_UNROLL
    for (int d = s.rank - 1; d >= 0; --d) {
      const rotary_dimension& dimension = s.dimensions[d];
      const u32 next = dimension.size.quotient(token);
      const i64 at = static_cast<i32>(token - next * dimension.size.divisor);
      in_offset += at * dimension.of[which].in;
      out_offset += at * dimension.of[which].out;
      position += at * dimension.ids;
      token = next;
    }
    const global_ptr<const T> in = t.in + in_offset;
    const global_ptr<T> out = t.out + out_offset;
    if (part >= s.rotated) {
      const i64 at = 2 * s.pairs + Width * static_cast<i32>(part - s.rotated);
      store_vec<Width>(out + at * t.out_step, load_vec<Width>(in + at * t.in_step));
      return;
    }
    if (ids != nullptr) position = static_cast<i64>(ids[position]);
    position = max_of(i64(0), min_of(position, i64{s.positions - 1}));
    const global_ptr<const W> cos_row = cos.data + position * cos.row;
    const global_ptr<const W> sin_row = sin.data + position * sin.row;
    if (Width > 1 && s.pair == 2) {
      constexpr int pairs = Width > 1 ? Width / 2 : 1;
      const i32 at = Width * static_cast<i32>(part);
      const auto v = load_vec<Width>(in + at);
      const auto co = load_vec<pairs>(cos_row + at / 2);
      const auto si = load_vec<pairs>(sin_row + at / 2);
      vec<T, Width> result;
      FLAGGEMS_SIMT_UNROLL
      for (int k = 0; k < pairs; ++k)
        rotate(v.at[2 * k % Width], v.at[(2 * k + 1) % Width], co.at[k], si.at[k],
               result.at[2 * k % Width], result.at[(2 * k + 1) % Width]);
      store_vec<Width>(out + at, result);
      return;
    }
    const i32 pair = Width * static_cast<i32>(part);
    const i64 first = pair * s.pair, second = first + s.second;
    const auto a = load_vec<Width>(in + first * t.in_step);
    const auto b = load_vec<Width>(in + second * t.in_step);
    const auto co = load_vec<Width>(cos_row + i64{pair} * cos.step);
    const auto si = load_vec<Width>(sin_row + i64{pair} * sin.step);
    vec<T, Width> rotated, other;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Width; ++k)
      rotate(a.at[k], b.at[k], co.at[k], si.at[k], rotated.at[k], other.at[k]);
    store_vec<Width>(out + first * t.out_step, rotated);
    store_vec<Width>(out + second * t.out_step, other);
  }

  FLAGGEMS_INLINE static void rotate(const T& first, const T& second, const W& cos, const W& sin,
                                     T& rotated, T& other) {
    const C a = number_cast<C>(first), b = number_cast<C>(second);
    const C co = number_cast<C>(cos), si = number_cast<C>(sin);
    rotated = number_cast<T>(a * co - b * si);
    other = number_cast<T>(b * co + a * si);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/rotary.hpp");
