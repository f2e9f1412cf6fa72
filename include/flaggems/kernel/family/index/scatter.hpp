// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes of elements at indices. Those that are joined and may go to one place are sorted by it, so
// that one thread has all of a place and no sum depends on a race; a worker of the host writes one
// after another, too (vector/scatter.hpp). Of those that replace each other any one stays
// (simt/writes.hpp).
#pragma once

#include <flaggems/kernel/family/index/index_select.hpp>

namespace flaggems::kernels {

/// An element's offset of a tensor, from its lowest address, dimension by dimension: before + the
/// dimension's part. An index below 0 counts from the end if `wraps`; -1 is for one out of range.
struct index_offset_fn {
  i64 size, stride, bias;
  bool wraps;
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) before, FLAGGEMS_VALUE(V) index) const {
    const V n(size), zero(i64(0));
    const V at = wraps ? V(index + select(index < zero, n, zero)) : V(index);
    const auto wrong = (at < zero) | (at >= n) | (before < zero);
    const V place = before + select(wrong, zero, at) * V(stride) + V(bias);
    return select(wrong, V(i64(-1)), place);
  }
};

/// How an element joins the one that is there.
enum class joining : int { replace, sum, product, largest, smallest };

template <class T>
FLAGGEMS_INLINE T joined(joining how, const T& a, const T& b) {
  switch (how) {
    case joining::sum: return plus{}(a, b);
    case joining::product: return multiplies{}(a, b);
    case joining::largest: return maximum_of{}(a, b);
    case joining::smallest: return minimum_of{}(a, b);
    default: return b;
  }
}
/// The type that elements are joined in.
template <class T>
using joined_type = conditional<is_same<T, bool>, i32, compute_type<T>>;

/// A part of an iteration space whose elements are taken one after another: their number is
/// `count`.
struct walk_space {
  int rank;
  i64 count, sizes[max_rank];

  /// The offsets of element w under two lists of strides.
  FLAGGEMS_INLINE void locate(i64 w, const i64 (&a)[max_rank], const i64 (&b)[max_rank], i64& at_a,
                              i64& at_b) const {
    for (int d = rank - 1; d > 0; --d) {
      const i64 next = w / sizes[d], k = w - next * sizes[d];
      at_a += k * a[d];
      at_b += k * b[d];
      w = next;
    }
    if (rank > 0) {
      at_a += w * a[0];
      at_b += w * b[0];
    }
  }
};

/// What is written, of T: the source, the indices, and their strides along the walk.
template <class T, class J>
struct scatter_source {
  global_ptr<const T> data;
  global_ptr<const J> index;
  i64 strides[max_rank], index_strides[max_rank];
  i64 walk[max_rank], index_walk[max_rank];
  i64 size, step;
};

/// The elements of a walk in the order of their places: keys are offsets of out in steps, sorted,
/// and element k of them is that of `order[k]`.
struct sorted_places {
  global_ptr<const i64> keys, order;
  walk_space walk;
  i64 step;  // in elements
  /// Whether element k, of this key, is the first of a place that exists.
  FLAGGEMS_INLINE bool is_first(i64 k, i64 key) const {
    return key >= 0 && (k == 0 || keys[k - 1] != key);
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/index/scatter.hpp");
