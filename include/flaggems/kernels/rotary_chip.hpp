// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embedding as chips run it: a thread rotates the pairs of a pack, or one.
#pragma once

#include <flaggems/kernels/pointwise_chip.hpp>
#include <flaggems/kernels/rotary.hpp>

namespace flaggems::kernels {

/// The steps of a rotation, fewer than 2^31: `per_head` for each head, of which the first `rotated`
/// rotate and the others copy.
struct rotary_steps {
  rotary_space space;
  bool packed;  // a step is a pack, of elements or of neighbouring pairs
  u32 steps, rotated;
  divider per_head, heads;
  divider sizes[max_rank];  // of the tokens' dimensions
};
template <class T>
struct rotary_tensors {
  rotary_tensor<T> at[2];  // q, k
};

template <class T, class W, class J, class C>
struct rotary_packs {
  static constexpr int size = 16 / max_of(static_cast<int>(sizeof(T)), static_cast<int>(sizeof(W)));

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const rotary_steps& s, const rotary_tensors<T>& x,
                                  const row_arg<W>& cos, const row_arg<W>& sin,
                                  const row_arg<J>& ids) {
    if (!s.packed)
      walk<1>(block, s, x, cos, sin, ids);
    else
      walk<size>(block, s, x, cos, sin, ids);
  }

 private:
  template <int Width, class Block>
  FLAGGEMS_INLINE static void walk(const Block& block, const rotary_steps& s,
                                   const rotary_tensors<T>& x, const row_arg<W>& cos,
                                   const row_arg<W>& sin, const row_arg<J>& ids) {
    const u32 threads = static_cast<u32>(block.threads());
    const u32 grid = static_cast<u32>(block.count()) * threads;
    for (u32 i = static_cast<u32>(block.index()) * threads + static_cast<u32>(block.thread());
         i < s.steps; i += grid)
      step<Width>(i, s, x, cos, sin, ids);
  }

  template <int Width>
  FLAGGEMS_INLINE static void step(u32 i, const rotary_steps& s, const rotary_tensors<T>& x,
                                   const row_arg<W>& cos, const row_arg<W>& sin,
                                   const row_arg<J>& ids) {
    const u32 row = s.per_head.quotient(i), part = i - row * s.per_head.divisor;
    u32 token = s.heads.quotient(row);
    i64 head = row - token * s.heads.divisor;
    const int which = head < s.space.heads[0] ? 0 : 1;
    if (which == 1) head -= s.space.heads[0];
    const rotary_tensor<T>& t = x.at[which];
    i64 in_offset = head * t.in_head, out_offset = head * t.out_head, position = 0;
    FLAGGEMS_CHIP_NO_UNROLL
    for (int d = s.space.rank - 1; d >= 0; --d) {
      const u32 next = s.sizes[d].quotient(token);
      const i64 at = token - next * s.sizes[d].divisor;
      in_offset += at * t.in_strides[d];
      out_offset += at * t.out_strides[d];
      position += at * ids.strides[d];
      token = next;
    }
    const global_ptr<const T> in = t.in + in_offset;
    const global_ptr<T> out = t.out + out_offset;
    if (part >= s.rotated) {
      const i64 at = 2 * s.space.pairs + i64{Width} * (part - s.rotated);
      store_pack<Width>(out + at * t.out_step, load_pack<Width>(in + at * t.in_step));
      return;
    }
    if (ids.data != nullptr) position = static_cast<i64>(ids.data[position]);
    position = max_of(i64(0), min_of(position, s.space.positions - 1));
    const global_ptr<const W> cos_row = cos.data + position * cos.strides[0];
    const global_ptr<const W> sin_row = sin.data + position * sin.strides[0];
    if (Width > 1 && s.space.pair == 2) {
      constexpr int pairs = Width > 1 ? Width / 2 : 1;
      const i64 at = i64{Width} * part;
      const auto v = load_pack<Width>(in + at);
      const auto co = load_pack<pairs>(cos_row + at / 2);
      const auto si = load_pack<pairs>(sin_row + at / 2);
      pack<T, Width> result;
      FLAGGEMS_CHIP_UNROLL
      for (int k = 0; k < pairs; ++k)
        rotate(v.at[2 * k % Width], v.at[(2 * k + 1) % Width], co.at[k], si.at[k],
               result.at[2 * k % Width], result.at[(2 * k + 1) % Width]);
      store_pack<Width>(out + at, result);
      return;
    }
    const i64 pair = i64{Width} * part, first = pair * s.space.pair,
              second = first + s.space.second;
    const auto a = load_pack<Width>(in + first * t.in_step);
    const auto b = load_pack<Width>(in + second * t.in_step);
    const auto co = load_pack<Width>(cos_row + pair * cos.strides[1]);
    const auto si = load_pack<Width>(sin_row + pair * sin.strides[1]);
    pack<T, Width> rotated, other;
    FLAGGEMS_CHIP_UNROLL
    for (int k = 0; k < Width; ++k)
      rotate(a.at[k], b.at[k], co.at[k], si.at[k], rotated.at[k], other.at[k]);
    store_pack<Width>(out + first * t.out_step, rotated);
    store_pack<Width>(out + second * t.out_step, other);
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

FLAGGEMS_TEXT("flaggems/kernels/rotary_chip.hpp");
