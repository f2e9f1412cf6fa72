// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How the host evaluates a row of an expression: by one loop over whole vectors of contiguous
// operands. What is not contiguous, and the end of a row, goes through small buffers, so that the
// loop exists once and has no question in it (small calls 2x, compile time 0.8x of a loop that
// asks for the stride and a second one for the tail).
#pragma once

#include <flaggems/kernels/expr.hpp>
#include <flaggems/kernels/host_block.hpp>

namespace flaggems::kernels {

/// Elements that pass through a buffer at a time.
inline constexpr i64 staged_elements = 256;

/// A contiguous operand: whole vectors only.
template <class T, class C>
struct dense_row {
  const T* data;
  template <class Isa>
  FLAGGEMS_INLINE typename simd_type<C, Isa>::type load(lane_vector<Isa> lane) const {
    return load_lanes<C, T, Isa>(data + lane.begin, Isa::lanes);
  }
};

/// Memory for `staged_elements` of T.
template <class T>
struct row_buffer {
  alignas(64) unsigned char bytes[static_cast<unsigned>(staged_elements) * sizeof(T)];
  FLAGGEMS_INLINE T* data() { return reinterpret_cast<T*>(bytes); }
};

/// to[k] = from[k * stride] for k < count, and zeros up to a whole vector of any level.
template <class T>
FLAGGEMS_NOINLINE void fill_buffer(T* to, const T* from, i64 stride, i64 count) {
  if (stride == 1) {
    __builtin_memcpy(static_cast<void*>(to), from, static_cast<u64>(count) * sizeof(T));
  } else {
    for (i64 k = 0; k < count; ++k) to[k] = from[k * stride];
  }
  const i64 padded = round_up(count, 16);
  __builtin_memset(static_cast<void*>(to + count), 0, static_cast<u64>(padded - count) * sizeof(T));
}
/// to[k * stride] = from[k] for k < count.
template <class T>
FLAGGEMS_NOINLINE void drain_buffer(T* to, i64 stride, const T* from, i64 count) {
  if (stride == 1) {
    __builtin_memcpy(static_cast<void*>(to), from, static_cast<u64>(count) * sizeof(T));
  } else {
    for (i64 k = 0; k < count; ++k) to[k * stride] = from[k];
  }
}

/// The buffers of a row's operands, and `part`: the row from element `begin` on as a dense one, by
/// way of the buffers if it is not `direct`.
template <class Row>
struct row_stage;

template <class T, class C>
struct row_stage<arg_row<T, C>> {
  row_buffer<T> buffer;
  FLAGGEMS_INLINE static bool is_dense(const arg_row<T, C>& row) { return row.stride == 1; }
  FLAGGEMS_INLINE dense_row<T, C> part(const arg_row<T, C>& row, i64 begin, i64 count,
                                       bool direct) {
    const T* const from = row.data + begin * row.stride;
    if (direct) return {from};
    fill_buffer(buffer.data(), from, row.stride, count);
    return {buffer.data()};
  }
};
template <class C>
struct row_stage<literal<C>> {
  FLAGGEMS_INLINE static bool is_dense(const literal<C>&) { return true; }
  FLAGGEMS_INLINE literal<C> part(const literal<C>& row, i64, i64, bool) { return row; }
};
template <class C>
struct row_stage<position_row<C>> {
  FLAGGEMS_INLINE static bool is_dense(const position_row<C>&) { return true; }
  FLAGGEMS_INLINE position_row<C> part(const position_row<C>& row, i64 begin, i64, bool) {
    return {row.first + begin * row.stride, row.stride};
  }
};
template <class R, class F, class A>
struct row_stage<node<R, F, A>> {
  row_stage<A> a;
  FLAGGEMS_INLINE static bool is_dense(const node<R, F, A>& row) {
    return row_stage<A>::is_dense(row.a);
  }
  FLAGGEMS_INLINE auto part(const node<R, F, A>& row, i64 begin, i64 count, bool direct) {
    const auto x = a.part(row.a, begin, count, direct);
    return node<R, F, decltype(copy_of(x))>{row.f, x};
  }
};
template <class R, class F, class A, class B>
struct row_stage<node<R, F, A, B>> {
  row_stage<A> a;
  row_stage<B> b;
  FLAGGEMS_INLINE static bool is_dense(const node<R, F, A, B>& row) {
    return row_stage<A>::is_dense(row.a) && row_stage<B>::is_dense(row.b);
  }
  FLAGGEMS_INLINE auto part(const node<R, F, A, B>& row, i64 begin, i64 count, bool direct) {
    const auto x = a.part(row.a, begin, count, direct);
    const auto y = b.part(row.b, begin, count, direct);
    return node<R, F, decltype(copy_of(x)), decltype(copy_of(y))>{row.f, x, y};
  }
};
template <class R, class F, class A, class B, class D>
struct row_stage<node<R, F, A, B, D>> {
  row_stage<A> a;
  row_stage<B> b;
  row_stage<D> d;
  FLAGGEMS_INLINE static bool is_dense(const node<R, F, A, B, D>& row) {
    return row_stage<A>::is_dense(row.a) && row_stage<B>::is_dense(row.b) &&
           row_stage<D>::is_dense(row.d);
  }
  FLAGGEMS_INLINE auto part(const node<R, F, A, B, D>& row, i64 begin, i64 count, bool direct) {
    const auto x = a.part(row.a, begin, count, direct);
    const auto y = b.part(row.b, begin, count, direct);
    const auto z = d.part(row.d, begin, count, direct);
    return node<R, F, decltype(copy_of(x)), decltype(copy_of(y)), decltype(copy_of(z))>{row.f, x, y,
                                                                                        z};
  }
};

template <class Isa, class T, class Row>
FLAGGEMS_INLINE void assign_row(const host_block<Isa>&, T* to, i64 stride, const Row& row, i64 n) {
  constexpr i64 lanes = Isa::lanes;
  row_stage<Row> stage;
  row_buffer<T> result;
  const bool dense = stride == 1 && row_stage<Row>::is_dense(row);
  for (i64 begin = 0; begin < n;) {
    const i64 left = n - begin;
    const bool direct = dense && left >= lanes;
    const i64 count = direct ? left / lanes * lanes : min_of(left, staged_elements);
    const auto part = stage.part(row, begin, count, direct);
    T* const whole = direct ? to + begin : result.data();
    for (i64 i = 0; i < count; i += lanes)
      store_lanes(whole + i, part.load(lane_vector<Isa>{i}), Isa::lanes);
    if (!direct) drain_buffer(to + begin * stride, stride, result.data(), count);
    begin += count;
  }
}

}  // namespace flaggems::kernels
