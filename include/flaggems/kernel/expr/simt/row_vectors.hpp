// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Vectorized rows of expressions: a vector of Width consecutive elements is loaded of each operand,
// several vectors before the first is used, and evaluated element by element.
#pragma once

#include <flaggems/kernel/expr/expr.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// row_vectors::head of a row that cannot be vectorized.
inline constexpr int not_vectorizable = 1 << 20;

/// How a row of an expression (`e.at(c)`) is vectorized:
///   most        the largest vector size that suits all operands
///   leaves      the number of tensors read
///   fragment<Width>   Width elements of each operand, in registers
///   fetch<Width, Splat, Once>(row, i)   loads those from i on; with Splat an operand may be a
///               broadcast; with Once they are not allocated in L1
///   value<Width>(row, fragment, k, i)   evaluates the k-th of them
///   head<Width>(row)   the elements before the first aligned vector: less than Width, -1 if all
///               operands are broadcast, or not_vectorizable
///   splats(row)    whether an operand is a broadcast
///   shift(row, i)  the row from element i on
///   forward(row, steps)   the row `steps` further along the last outer dimension
template <class Row>
struct row_vectors;

/// Element k of a vector as a C.
template <class C, class T, int Width>
FLAGGEMS_INLINE C element_as(const vec_storage<T, Width>& x, int k) {
  if constexpr (is_same<vec_storage<T, Width>, vec<T, Width>>) {
    return number_cast<C>(x.at[k]);
  } else if constexpr (is_same<T, bf16> && is_same<C, f32>) {
    const u32 word = x.at[k / 2];  // two elements: one instruction each
    return bit_cast<f32>(k % 2 == 0 ? word << 16 : word & 0xffff0000U);
  } else {
    return number_cast<C>(bit_cast<vec<T, Width>>(x).at[k]);
  }
}

template <class T, class C>
struct row_vectors<arg_row<T, C>> {
  using row_type = arg_row<T, C>;
  static constexpr int most = vec_size<T>, leaves = 1;
  template <int Width>
  using fragment = vec_storage<T, Width>;
  template <int Width, bool Splat, reads Reads = reads::often>
  FLAGGEMS_INLINE static fragment<Width> fetch(const row_type& row, u32 i) {
    if constexpr (Width == 1)
      return {{row.data[i * row.stride]}};
    else if (!Splat || row.stride != 0)
      return load_storage<Width, T, Reads>(row.data + i);
    else
      return splat_storage<Width>(row.data[0]);
  }
  template <int Width>
  FLAGGEMS_INLINE static C value(const row_type&, const fragment<Width>& x, int k, u32) {
    return element_as<C, T, Width>(x, k);
  }
  template <int Width>
  FLAGGEMS_INLINE static int head(const row_type& row) {
    if (row.stride == 0) return -1;
    const u64 bytes = reinterpret_cast<u64>(row.data) % (sizeof(T) * Width);
    if (row.stride != 1 || bytes % sizeof(T) != 0) return not_vectorizable;
    return static_cast<int>((sizeof(T) * Width - bytes) / sizeof(T)) % Width;
  }
  FLAGGEMS_INLINE static bool splats(const row_type& row) { return row.stride == 0; }
  FLAGGEMS_INLINE static row_type shift(const row_type& row, i64 i) {
    return {row.data + i * row.stride, row.stride, row.along};
  }
  FLAGGEMS_INLINE static row_type forward(const row_type& row, i64 steps) {
    return {row.data + steps * row.along, row.stride, row.along};
  }
};

struct no_fragment {};

/// Operands that are not read from memory.
template <class Row, class C>
struct computed_vectors {
  static constexpr int most = 16, leaves = 0;
  template <int Width>
  using fragment = no_fragment;
  template <int Width, bool Splat, reads Reads = reads::often>
  FLAGGEMS_INLINE static no_fragment fetch(const Row&, u32) {
    return {};
  }
  template <int Width>
  FLAGGEMS_INLINE static C value(const Row& row, no_fragment, int k, u32 i) {
    return row.load(lane_scalar{static_cast<i64>(i) + k});
  }
  template <int Width>
  FLAGGEMS_INLINE static int head(const Row&) {
    return -1;
  }
  FLAGGEMS_INLINE static bool splats(const Row&) { return false; }
};
template <class C>
struct row_vectors<literal<C>> : computed_vectors<literal<C>, C> {
  FLAGGEMS_INLINE static literal<C> shift(const literal<C>& row, i64) { return row; }
  FLAGGEMS_INLINE static literal<C> forward(const literal<C>& row, i64) { return row; }
};
template <class C>
struct row_vectors<position_row<C>> : computed_vectors<position_row<C>, C> {
  FLAGGEMS_INLINE static position_row<C> shift(const position_row<C>& row, i64 i) {
    return row.from(i);
  }
  FLAGGEMS_INLINE static position_row<C> forward(const position_row<C>& row, i64 steps) {
    return {row.first + steps * row.along, row.stride, row.along};
  }
};

/// The common head of two operands.
FLAGGEMS_INLINE int common_head(int a, int b) {
  if (a < 0 || a == b) return b;
  return b < 0 ? a : not_vectorizable;
}

template <class R, class F, class A>
struct row_vectors<node<R, F, A>> {
  using row_type = node<R, F, A>;
  using of_a = row_vectors<A>;
  static constexpr int most = of_a::most, leaves = of_a::leaves;
  template <int Width>
  using fragment = typename of_a::template fragment<Width>;
  template <int Width, bool Splat, reads Reads = reads::often>
  FLAGGEMS_INLINE static fragment<Width> fetch(const row_type& row, u32 i) {
    return of_a::template fetch<Width, Splat, Reads>(row.a, i);
  }
  template <int Width>
  FLAGGEMS_INLINE static R value(const row_type& row, const fragment<Width>& x, int k, u32 i) {
    return as_result<R>(row.f(of_a::template value<Width>(row.a, x, k, i)));
  }
  template <int Width>
  FLAGGEMS_INLINE static int head(const row_type& row) {
    return of_a::template head<Width>(row.a);
  }
  FLAGGEMS_INLINE static bool splats(const row_type& row) { return of_a::splats(row.a); }
  FLAGGEMS_INLINE static row_type shift(const row_type& row, i64 i) {
    return {row.f, of_a::shift(row.a, i)};
  }
  FLAGGEMS_INLINE static row_type forward(const row_type& row, i64 steps) {
    return {row.f, of_a::forward(row.a, steps)};
  }
};

template <class R, class F, class A, class B>
struct row_vectors<node<R, F, A, B>> {
  using row_type = node<R, F, A, B>;
  using of_a = row_vectors<A>;
  using of_b = row_vectors<B>;
  static constexpr int most = min_of(of_a::most, of_b::most);
  static constexpr int leaves = of_a::leaves + of_b::leaves;
  template <int Width>
  struct fragment {
    typename of_a::template fragment<Width> a;
    typename of_b::template fragment<Width> b;
  };
  template <int Width, bool Splat, reads Reads = reads::often>
  FLAGGEMS_INLINE static fragment<Width> fetch(const row_type& row, u32 i) {
    return {of_a::template fetch<Width, Splat, Reads>(row.a, i),
            of_b::template fetch<Width, Splat, Reads>(row.b, i)};
  }
  template <int Width>
  FLAGGEMS_INLINE static R value(const row_type& row, const fragment<Width>& x, int k, u32 i) {
    return as_result<R>(row.f(of_a::template value<Width>(row.a, x.a, k, i),
                              of_b::template value<Width>(row.b, x.b, k, i)));
  }
  template <int Width>
  FLAGGEMS_INLINE static int head(const row_type& row) {
    return common_head(of_a::template head<Width>(row.a), of_b::template head<Width>(row.b));
  }
  FLAGGEMS_INLINE static bool splats(const row_type& row) {
    return of_a::splats(row.a) || of_b::splats(row.b);
  }
  FLAGGEMS_INLINE static row_type shift(const row_type& row, i64 i) {
    return {row.f, of_a::shift(row.a, i), of_b::shift(row.b, i)};
  }
  FLAGGEMS_INLINE static row_type forward(const row_type& row, i64 steps) {
    return {row.f, of_a::forward(row.a, steps), of_b::forward(row.b, steps)};
  }
};

template <class R, class F, class A, class B, class D>
struct row_vectors<node<R, F, A, B, D>> {
  using row_type = node<R, F, A, B, D>;
  using of_a = row_vectors<A>;
  using of_b = row_vectors<B>;
  using of_d = row_vectors<D>;
  static constexpr int most = min_of(of_a::most, min_of(of_b::most, of_d::most));
  static constexpr int leaves = of_a::leaves + of_b::leaves + of_d::leaves;
  template <int Width>
  struct fragment {
    typename of_a::template fragment<Width> a;
    typename of_b::template fragment<Width> b;
    typename of_d::template fragment<Width> d;
  };
  template <int Width, bool Splat, reads Reads = reads::often>
  FLAGGEMS_INLINE static fragment<Width> fetch(const row_type& row, u32 i) {
    return {of_a::template fetch<Width, Splat, Reads>(row.a, i),
            of_b::template fetch<Width, Splat, Reads>(row.b, i),
            of_d::template fetch<Width, Splat, Reads>(row.d, i)};
  }
  template <int Width>
  FLAGGEMS_INLINE static R value(const row_type& row, const fragment<Width>& x, int k, u32 i) {
    return as_result<R>(row.f(of_a::template value<Width>(row.a, x.a, k, i),
                              of_b::template value<Width>(row.b, x.b, k, i),
                              of_d::template value<Width>(row.d, x.d, k, i)));
  }
  template <int Width>
  FLAGGEMS_INLINE static int head(const row_type& row) {
    return common_head(
        of_a::template head<Width>(row.a),
        common_head(of_b::template head<Width>(row.b), of_d::template head<Width>(row.d)));
  }
  FLAGGEMS_INLINE static bool splats(const row_type& row) {
    return of_a::splats(row.a) || of_b::splats(row.b) || of_d::splats(row.d);
  }
  FLAGGEMS_INLINE static row_type shift(const row_type& row, i64 i) {
    return {row.f, of_a::shift(row.a, i), of_b::shift(row.b, i), of_d::shift(row.d, i)};
  }
  FLAGGEMS_INLINE static row_type forward(const row_type& row, i64 steps) {
    return {row.f, of_a::forward(row.a, steps), of_b::forward(row.b, steps),
            of_d::forward(row.d, steps)};
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/expr/simt/row_vectors.hpp");
