// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Row programs: the mathematics of an operator along rows, one text for every place where rows may
// be: registers of a thread group, tiles of short rows in shared memory, vectors of the host.
//
//   struct P {                     // a value: its members are the operator's scalars
//     using compute = C;           // what it computes in
//     using terms = M;             // its reduction with a pivot; plain_terms for none
//     static constexpr row_traits traits = ...;
//     static constexpr int neutral(int k);   // what parameter k is where it is absent
//     template <class Row> void run(Row& r) const;
//   };
//
// Where `run` is constexpr, ops/plan/row_check.hpp says what is wrong with a function in a
// sentence.
//
// `r` stands for one row, or for several that are worked on side by side. A function f below gets
// the row's element, then that of each further input, then that of each parameter, which only
// `affine` and `scaled` take, as it may be absent:
//   r.reduce<M>()               the state of M over the row
//   r.sum(f, x...)              the sum of f(inputs..., x...); f of zeros is zero, but in programs
//                               that are filled with lowest. A `sums` is summed component by
//                               component
//   r.weighted_sum(f, x...)     the same of f(inputs..., parameters..., x...)
//   r.update(f, g)              each element becomes f(inputs...), rounded to the first input's
//                               type and written back; the sum of g(element). `store` gives no
//                               further inputs to its function then
//   r.each(f, x...)             f(x...), once a row
//   r.number<K>(f)              f(number K of the row)
//   r.at<K>()                   the element whose index is number K of the row; 0 if there is none
//   r.store<K>(f, x...)         output K = f(term, further inputs..., parameters..., x...)
//   r.put<K>(x)                 result K of the row = x, unless its data is null
//   r.pivot()                   the pivot of `reduce`, from which terms are measured
//   r.length(), r.part()        the row's length n, and 1 / n
// What `reduce`, `sum`, `each`, `number`, `at` and `pivot` give is what x... may be: a value for
// each row. A further input may be in_place<T, K>, or by_channel<T>.
//
// A monoid M measures its terms from a pivot:
//   pivots::partial  parts of a row may have pivots of their own, which `leader` combines:
//                    term(x, pivot), weight(term), and carry(from, to), the factor that brings sums
//                    and terms about one pivot to those about another
//   pivots::row      the row has one, which need not be exact: term(x, pivot), enter(term, part),
//                    which gives two sums, finish(sums, part); is_far(state): begin anew from a
//                    better pivot; settle(state, pivot) where that is not done
// `keeps`: a term takes longer to compute than to keep.
#pragma once

#include <flaggems/kernel/expr/rows.hpp>
#include <flaggems/kernel/lang/divider.hpp>
#include <flaggems/kernel/lang/operands.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

enum class pivots { none, partial, row };

/// Terms that are the elements themselves.
struct plain_terms {
  static constexpr pivots pivot_kind = pivots::none;
  static constexpr bool keeps = false;
};

/// What skeletons do for a program; by default none of it.
struct row_traits {
  bool stages = false;           // what threads cannot hold of a row waits in shared memory
  bool fills_lowest = false;     // elements that are not there are lowest<C>(), else zeros
  bool has_updates = false;      // `update` is called
  bool reads_once = false;       // `reduce` reads what is not resident, and nothing does after it
  bool many_parameters = false;  // which take as many registers as the row
  i64 long_vectors = 2048;       // from where on blocks share a row

  constexpr row_traits staged() const {
    row_traits t = *this;
    t.stages = true;
    return t;
  }
  constexpr row_traits filled_with_lowest() const {
    row_traits t = *this;
    t.fills_lowest = true;
    return t;
  }
  constexpr row_traits updating() const {
    row_traits t = *this;
    t.has_updates = true;
    return t;
  }
  constexpr row_traits read_once() const {
    row_traits t = *this;
    t.reads_once = true;
    return t;
  }
  constexpr row_traits with_many_parameters() const {
    row_traits t = *this;
    t.many_parameters = true;
    return t;
  }
  constexpr row_traits shared_from(i64 vectors) const {
    row_traits t = *this;
    t.long_vectors = vectors;
    return t;
  }
};

/// The operands of a row program: what it reads and writes along rows, parameters that all rows
/// have in common, and numbers and results, one a row. Strides are in the order of the space.
template <class In, class Out, class Params = operands<>, class Numbers = operands<>,
          class Results = operands<>>
struct row_operands {
  In in;
  Out out;
  Params params;
  Numbers numbers;
  Results results;
};

/// In the place of a further input: it is output K, of T, before that is written.
template <class T, int K>
struct in_place {};
/// The channels of a row: each `size` elements that follow one another, which have one element of
/// an operand in common. Channels' elements are `step` apart.
struct row_channels {
  i64 size, step;
  divider by;      // the size
  bool is_narrow;  // a row's length is below 2^31
  int neutral;     // what channels have where the operand is absent
  FLAGGEMS_INLINE i64 channel(i64 i) const {
    return is_narrow ? static_cast<i64>(by.quotient(static_cast<u32>(i))) : i / size;
  }
};
/// In the place of a further input: an operand with an element for each channel. `strides` are of
/// rows; null is an absent operand.
template <class T>
struct by_channel {
  global_ptr<const T> data;
  i64 strides[max_rank];
  row_channels channels;
};
template <class Operand>
struct operand_element;
template <class T>
struct operand_element<by_channel<T>> {
  using type = T;
};
template <class T>
struct operand_element<row_arg<T>> {
  using type = T;
};
template <class T, int K>
struct operand_element<in_place<T, K>> {
  using type = T;
};
/// Where an input is: itself, or an output.
template <class Operands, class T>
FLAGGEMS_INLINE const row_arg<T>& place_of(const Operands&, const row_arg<T>& x) {
  return x;
}
template <class Operands, class T, int K>
FLAGGEMS_INLINE const row_target<T>& place_of(const Operands& all, const in_place<T, K>&) {
  return operand<K>(all.out);
}

template <class Operands, class T>
FLAGGEMS_INLINE const by_channel<T>& place_of(const Operands&, const by_channel<T>& x) {
  return x;
}

/// Sums that a program wants at once.
template <class V, int Count>
struct sums {
  V at[Count];
  FLAGGEMS_INLINE friend sums operator+(const sums& a, const sums& b) {
    sums r;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = V(a.at[k] + b.at[k]);
    return r;
  }
  FLAGGEMS_INLINE friend sums select(const mask_of<V>& m, const sums& a, const sums& b) {
    sums r;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = V(select(m, a.at[k], b.at[k]));
    return r;
  }
};
template <class V, int Count>
struct state_traits<sums<V, Count>> {
  template <class S>
  FLAGGEMS_INLINE static sums<V, Count> splat(const S& s) {
    sums<V, Count> r;
    for (int k = 0; k < Count; ++k) r.at[k] = V(s.at[k]);
    return r;
  }
  static constexpr int lanes = lane_count<V>;
  FLAGGEMS_INLINE static sums<element_of<V>, Count> lane(const sums<V, Count>& v, int i) {
    sums<element_of<V>, Count> r;
    for (int k = 0; k < Count; ++k) r.at[k] = v.at[k][i];
    return r;
  }
};
/// a + b of numbers, vectors and `sums`.
struct plus_each {
  template <class S>
  FLAGGEMS_INLINE S operator()(FLAGGEMS_VALUE(S) a, FLAGGEMS_VALUE(S) b) const {
    return S(a + b);
  }
};
/// Zero as a sum of the type that a function gives: C, or sums<C, Count>.
template <class C, class V>
struct row_sum {
  using type = C;
  static constexpr int count = 1;
  FLAGGEMS_INLINE static C zero() { return C(0); }
};
template <class C, class V, int Count>
struct row_sum<C, sums<V, Count>> {
  using type = sums<C, Count>;
  static constexpr int count = Count;
  FLAGGEMS_INLINE static type zero() {
    type r;
    FLAGGEMS_SIMT_UNROLL
    for (int k = 0; k < Count; ++k) r.at[k] = C(0);
    return r;
  }
};

/// A sum of weights about a pivot.
template <class V>
struct pivoted_sum {
  V pivot, sum;
};
/// A kept term, which is about another pivot than the row's.
template <class C>
struct kept_term {
  C term, factor;
  FLAGGEMS_INLINE friend C operator*(const kept_term& a, const C& b) {
    return a.term * (a.factor * b);
  }
};

/// A parameter that may be absent, where the loop over a row asks.
template <class Row, class Lane, class C>
struct optional_parameter {
  const Row& row;
  Lane lane;
};
/// x * w + b
template <class V>
FLAGGEMS_INLINE V affine(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) w, FLAGGEMS_VALUE(V) b) {
  return fma(x, w, b);
}
template <class V, class Row, class Lane, class C>
FLAGGEMS_INLINE V affine(FLAGGEMS_VALUE(V) x, const optional_parameter<Row, Lane, C>& w,
                         const optional_parameter<Row, Lane, C>& b) {
  V y = x;
  if (w.row.exists()) y = y * w.row.template load<C>(w.lane);
  if (b.row.exists()) y = y + b.row.template load<C>(b.lane);
  return y;
}
/// x * w
template <class V>
FLAGGEMS_INLINE V scaled(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) w) {
  return x * w;
}
template <class V, class Row, class Lane, class C>
FLAGGEMS_INLINE V scaled(FLAGGEMS_VALUE(V) x, const optional_parameter<Row, Lane, C>& w) {
  V y = x;
  if (w.row.exists()) y = y * w.row.template load<C>(w.lane);
  return y;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/contract.hpp");
