// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Expressions as types: `node<add_fn, node<mul_fn, arg<bf16, f32>, arg<bf16, f32>>, literal<f32>>`
// is a formula over tensors that a kernel evaluates lane by lane. `at` fixes the outer coordinates
// and gives a row, `load` evaluates the row at a lane. Values have the compute type: f32 for small
// floats. On SIMT devices `fetch` reads a vector of each leaf and gives a formula over them.
#pragma once

#include <flaggems/kernel/lang/lanes.hpp>
#include <flaggems/kernel/lang/vector_access.hpp>

namespace flaggems::kernels {

/// The position of a tile: the outer coordinates, and its first element of the inner dimension.
struct coordinates {
  int rank;          // outer dimensions
  i64 at[max_rank];  // their coordinates
  i64 inner;         // first element of the inner dimension

  /// The offset in elements under `strides`, whose last entry is the inner dimension's.
  FLAGGEMS_SCALAR i64 offset(const i64 (&strides)[max_rank]) const {
    // A special case: with a known rank, coordinates stay in registers and compile fast.
    if (rank == 2) return at[0] * strides[0] + at[1] * strides[1] + inner * strides[2];
    i64 sum = inner * strides[rank];
    FLAGGEMS_SIMT_NO_UNROLL
    for (int d = 0; d < rank; ++d) sum += at[d] * strides[d];
    return sum;
  }
};

/// The same of a rank that compilers know, so that they keep them in registers. (`at` has overloads
/// for both: of templates clang 15 makes two functions of one name in OpenCL.)
template <int Rank>
struct ranked_coordinates {
  static constexpr int rank = Rank;
  i64 at[Rank];
  i64 inner;
  FLAGGEMS_SCALAR i64 offset(const i64 (&strides)[max_rank]) const {
    i64 sum = inner * strides[Rank];
    FLAGGEMS_SIMT_UNROLL
    for (int d = 0; d < Rank; ++d) sum += at[d] * strides[d];
    return sum;
  }
};

/// The tensors that a formula reads, positions included.
template <class E>
inline constexpr int leaf_count = 0;
/// The bytes of the largest element that a formula reads.
template <class E>
inline constexpr int largest_item = 1;

// ---- leaves
/// Width consecutive elements of T in registers, as values of C.
template <class T, class C, int Width>
struct fetched {
  using value_type = C;
  vec_storage<T, Width> words;
  FLAGGEMS_INLINE vec<T, Width> elements() const { return bit_cast<vec<T, Width>>(words); }
};

template <class T, class C>
struct arg_row {
  global_ptr<const T> data;
  i64 stride;
  i64 along;  // from this row to the next of the last outer dimension
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;  // and, by ADL, the host's overload
    return load<C>(data, stride, lane);
  }
};
/// A tensor of T read as C; strides in elements over the iteration space.
template <class T, class C>
struct arg {
  using value_type = C;
  global_ptr<const T> data;
  i64 strides[max_rank];
  FLAGGEMS_INLINE void move(const coordinates& c) { data += c.offset(strides); }
  FLAGGEMS_INLINE arg_row<T, C> at(const coordinates& c) const {
    return {data + c.offset(strides), strides[c.rank], c.rank > 0 ? strides[c.rank - 1] : 0};
  }
  /// Loads the elements at a place, as leaf K of a formula; they are consecutive, or with `Splat`
  /// possibly one broadcast element.
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE fetched<T, C, Width> fetch(const Place& place) const {
    const global_ptr<const T> p = data + place.template offset<K>();
    if constexpr (Splat)
      if (strides[place.inner] == 0) return {splat_storage<Width>(*p)};
    return {load_storage<Width>(p)};
  }
  /// Advances `steps` along dimension d.
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place& place, int d, u32 steps) const {
    place.template add<K>(steps, strides[d]);
  }
};

template <class T, class C>
inline constexpr int leaf_count<arg<T, C>> = 1;
template <class T, class C>
inline constexpr int largest_item<arg<T, C>> = static_cast<int>(sizeof(T));

/// A contiguous tensor of T read as C, or a piece of one.
template <class T, class C>
struct flat_arg {
  using value_type = C;
  global_ptr<const T> data;
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE fetched<T, C, Width> fetch(const Place& place) const {
    const global_ptr<const T> p = data + place.template offset<K>();
    if constexpr (Place::is_across && Width > 1)
      return {load_storage_unaligned<Width>(p)};
    else
      return {load_storage<Width>(p)};
  }
  /// Whether element i is aligned to a vector of Width.
  template <int Width>
  FLAGGEMS_INLINE bool are_vec_aligned(i64 i) const {
    return is_vec_aligned<Width>(data + i);
  }
  FLAGGEMS_INLINE flat_arg at(const coordinates& c) const { return {data + c.inner}; }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    using kernels::load;  // and, by ADL, the host's overload
    return load<C>(data, lane);
  }
};

template <class T, class C>
inline constexpr int leaf_count<flat_arg<T, C>> = 1;
template <class T, class C>
inline constexpr int largest_item<flat_arg<T, C>> = static_cast<int>(sizeof(T));

/// The same value everywhere.
template <class C>
struct literal {
  using value_type = C;
  C value;
  FLAGGEMS_INLINE void move(const coordinates&) {}
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE literal fetch(const Place&) const {
    return {value};
  }
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place&, int, u32) const {}
  template <int Width>
  FLAGGEMS_INLINE bool are_vec_aligned(i64) const {
    return true;
  }
  FLAGGEMS_INLINE literal at(const coordinates&) const { return {value}; }
  FLAGGEMS_INLINE literal at(const ranked_coordinates<2>&) const { return {value}; }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane) const {
    return lane_value<Lane, C>(value);
  }
};

template <class C>
struct position_row {
  using value_type = C;
  i64 first, stride;
  i64 along;  // as in arg_row
  FLAGGEMS_INLINE position_row from(i64 begin) const {
    return {first + begin * stride, stride, along};
  }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, C> load(Lane lane) const {
    return convert<C>(iota<i64>(lane) * lane_value<Lane, i64>(stride) +
                      lane_value<Lane, i64>(first));
  }
};
/// The index of an element, as if read from a tensor whose element at offset k is k.
template <class C>
struct position {
  using value_type = C;
  i64 strides[max_rank];
  i64 first = 0;
  FLAGGEMS_INLINE void move(const coordinates& c) { first += c.offset(strides); }
  FLAGGEMS_INLINE position_row<C> at(const coordinates& c) const {
    return {first + c.offset(strides), strides[c.rank], c.rank > 0 ? strides[c.rank - 1] : 0};
  }
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE position_row<C> fetch(const Place& place) const {
    return {first + place.template offset<K>(), strides[place.inner], 0};
  }
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place& place, int d, u32 steps) const {
    place.template add<K>(steps, strides[d]);
  }
  template <int Width>
  FLAGGEMS_INLINE bool are_vec_aligned(i64) const {
    return true;
  }
};

template <class C>
inline constexpr int leaf_count<position<C>> = 1;

/// Orders a block's non-temporal stores before later stores; overloaded for the host.
template <class Block>
FLAGGEMS_INLINE void end_stream(const Block&, bool) {}

/// A tensor that a kernel writes.
template <class T>
struct target {
  global_ptr<T> data;
  i64 strides[max_rank];
  /// Moves to the element at these coordinates in all dimensions, as leaves and formulas do.
  FLAGGEMS_INLINE void move(const coordinates& c) { data += c.offset(strides); }
};

// ---- nodes
/// A functor's result: arithmetic on small integers is converted back to their type.
template <class R, class V>
FLAGGEMS_INLINE auto as_result(FLAGGEMS_VALUE(V) x) {
  return convert<R>(x);
}

template <class X>
FLAGGEMS_HD X copy_of(const X&);  // for decltype: the type without a reference

/// F applied to the values of E...; the result's elements are R.
template <class R, class F, class... E>
struct node;

template <class R, class F, class... E>
inline constexpr int leaf_count<node<R, F, E...>> = (leaf_count<E> + ...);
template <class R, class F, class A, class... E>
inline constexpr int largest_item<node<R, F, A, E...>> = max_of(largest_item<A>,
                                                                largest_item<node<R, F, E...>>);

template <class R, class F, class A>
struct node<R, F, A> {
  using value_type = R;
  F f;
  A a;
  FLAGGEMS_INLINE void move(const coordinates& c) { a.move(c); }
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE auto fetch(const Place& place) const {
    return node<R, F, decltype(copy_of(a.template fetch<Width, K, Splat>(place)))>{
        f, a.template fetch<Width, K, Splat>(place)};
  }
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place& place, int dim, u32 steps) const {
    a.template advance<K>(place, dim, steps);
  }
  template <int Width>
  FLAGGEMS_INLINE bool are_vec_aligned(i64 i) const {
    return a.template are_vec_aligned<Width>(i);
  }
  FLAGGEMS_INLINE auto at(const coordinates& c) const {
    return node<R, F, decltype(copy_of(a.at(c)))>{f, a.at(c)};
  }
  FLAGGEMS_INLINE auto at(const ranked_coordinates<2>& c) const {
    return node<R, F, decltype(copy_of(a.at(c)))>{f, a.at(c)};
  }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, R> load(Lane lane) const {
    return as_result<R>(f(a.load(lane)));
  }
};

template <class R, class F, class A, class B>
struct node<R, F, A, B> {
  using value_type = R;
  F f;
  A a;
  B b;
  FLAGGEMS_INLINE void move(const coordinates& c) {
    a.move(c);
    b.move(c);
  }
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE auto fetch(const Place& place) const {
    return node<R, F, decltype(copy_of(a.template fetch<Width, K, Splat>(place))),
                decltype(copy_of(b.template fetch<Width, K + leaf_count<A>, Splat>(place)))>{
        f, a.template fetch<Width, K, Splat>(place),
        b.template fetch<Width, K + leaf_count<A>, Splat>(place)};
  }
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place& place, int dim, u32 steps) const {
    a.template advance<K>(place, dim, steps);
    b.template advance<K + leaf_count<A>>(place, dim, steps);
  }
  template <int Width>
  FLAGGEMS_INLINE bool are_vec_aligned(i64 i) const {
    return a.template are_vec_aligned<Width>(i) && b.template are_vec_aligned<Width>(i);
  }
  FLAGGEMS_INLINE auto at(const coordinates& c) const {
    return node<R, F, decltype(copy_of(a.at(c))), decltype(copy_of(b.at(c)))>{f, a.at(c), b.at(c)};
  }
  FLAGGEMS_INLINE auto at(const ranked_coordinates<2>& c) const {
    return node<R, F, decltype(copy_of(a.at(c))), decltype(copy_of(b.at(c)))>{f, a.at(c), b.at(c)};
  }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, R> load(Lane lane) const {
    return as_result<R>(f(a.load(lane), b.load(lane)));
  }
};

template <class R, class F, class A, class B, class D>
struct node<R, F, A, B, D> {
  using value_type = R;
  F f;
  A a;
  B b;
  D d;
  FLAGGEMS_INLINE void move(const coordinates& c) {
    a.move(c);
    b.move(c);
    d.move(c);
  }
  template <int Width, int K, bool Splat, class Place>
  FLAGGEMS_INLINE auto fetch(const Place& place) const {
    return node<R, F, decltype(copy_of(a.template fetch<Width, K, Splat>(place))),
                decltype(copy_of(b.template fetch<Width, K + leaf_count<A>, Splat>(place))),
                decltype(copy_of(
                    d.template fetch<Width, K + leaf_count<A> + leaf_count<B>, Splat>(place)))>{
        f, a.template fetch<Width, K, Splat>(place),
        b.template fetch<Width, K + leaf_count<A>, Splat>(place),
        d.template fetch<Width, K + leaf_count<A> + leaf_count<B>, Splat>(place)};
  }
  template <int K, class Place>
  FLAGGEMS_INLINE void advance(Place& place, int dim, u32 steps) const {
    a.template advance<K>(place, dim, steps);
    b.template advance<K + leaf_count<A>>(place, dim, steps);
    d.template advance<K + leaf_count<A> + leaf_count<B>>(place, dim, steps);
  }
  template <int Width>
  FLAGGEMS_INLINE bool are_vec_aligned(i64 i) const {
    return a.template are_vec_aligned<Width>(i) && b.template are_vec_aligned<Width>(i) &&
           d.template are_vec_aligned<Width>(i);
  }
  FLAGGEMS_INLINE auto at(const coordinates& c) const {
    return node<R, F, decltype(copy_of(a.at(c))), decltype(copy_of(b.at(c))),
                decltype(copy_of(d.at(c)))>{f, a.at(c), b.at(c), d.at(c)};
  }
  FLAGGEMS_INLINE auto at(const ranked_coordinates<2>& c) const {
    return node<R, F, decltype(copy_of(a.at(c))), decltype(copy_of(b.at(c))),
                decltype(copy_of(d.at(c)))>{f, a.at(c), b.at(c), d.at(c)};
  }
  template <class Lane>
  FLAGGEMS_INLINE lane_value<Lane, R> load(Lane lane) const {
    return as_result<R>(f(a.load(lane), b.load(lane), d.load(lane)));
  }
};

struct identity_fn {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    return a;
  }
};
/// A value rounded to the values of a small float T.
template <class T, class V, conditional<!is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE f32 rounded_to(FLAGGEMS_VALUE(V) x) {
  return static_cast<f32>(number_cast<T>(x));
}
template <class T>
struct rounded_to_fn {
  template <class V>
  FLAGGEMS_INLINE auto operator()(FLAGGEMS_VALUE(V) a) const {
    return rounded_to<T>(a);
  }
};
/// E converted to R.
template <class R, class E>
using cast = node<R, identity_fn, E>;

/// Whether a row's formula takes few instructions, so that four vectors per step pay off.
template <class F>
inline constexpr bool is_brief_function = false;
template <class Row>
inline constexpr bool is_brief = true;
template <class R, class F, class... E>
inline constexpr bool is_brief<node<R, F, E...>> = is_brief_function<F> && (is_brief<E> && ...);

/// Whether a formula takes so many instructions that few of its elements are as much work as many
/// of others.
template <class F>
inline constexpr bool is_long_function = false;
template <class Row>
inline constexpr bool is_long = false;
template <class R, class F, class... E>
inline constexpr bool is_long<node<R, F, E...>> = is_long_function<F> || (is_long<E> || ...);

/// Rows of a tile whose operands are transposed against each other: four cache lines of 4-byte
/// elements, since each line is in another page.
inline constexpr i64 transposed_rows = 64;
/// And the maximal number of elements of each.
inline constexpr i64 transposed_columns = 64;

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/expr/expr.hpp");
