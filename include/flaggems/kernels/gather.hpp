// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Lanes whose elements lie at places given by a function of their index: what a stride cannot say.
#pragma once

#include <flaggems/kernels/lanes.hpp>

namespace flaggems::kernels {

/// The elements p[offset(i)] for the indices i of a lane, as values of type C.
template <class C, class T, class F>
FLAGGEMS_INLINE C load_at(global_ptr<const T> p, lane_scalar lane, const F& offset) {
  return number_cast<C>(p[offset(lane.begin)]);
}
template <class C, class T, class Isa, class F>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load_at(const T* p, i64 begin, int count,
                                                         const F& offset) {
  T gathered[Isa::lanes] = {};
  for (int k = 0; k < count; ++k) gathered[k] = p[offset(begin + k)];
  return load_lanes<C, T, Isa>(gathered, Isa::lanes);
}
template <class C, class T, class Isa, class F>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load_at(const T* p, lane_vector<Isa> lane,
                                                         const F& offset) {
  return load_at<C, T, Isa>(p, lane.begin, Isa::lanes, offset);
}
template <class C, class T, class Isa, class F>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load_at(const T* p, lane_tail<Isa> lane,
                                                         const F& offset) {
  return load_at<C, T, Isa>(p, lane.begin, lane.count, offset);
}

/// p[offset(i)] = x for the indices i of a lane, converted to T.
template <class T, class V, class F>
FLAGGEMS_INLINE void store_at(global_ptr<T> p, lane_scalar lane, const V& x, const F& offset) {
  p[offset(lane.begin)] = number_cast<T>(x);
}
template <class T, class V, class F>
FLAGGEMS_INLINE void store_at(T* p, i64 begin, int count, const V& x, const F& offset) {
  T scattered[V::lanes];
  store_lanes(scattered, x, V::lanes);
  for (int k = 0; k < count; ++k) p[offset(begin + k)] = scattered[k];
}
template <class T, class V, class Isa, class F>
FLAGGEMS_INLINE void store_at(T* p, lane_vector<Isa> lane, const V& x, const F& offset) {
  store_at(p, lane.begin, Isa::lanes, x, offset);
}
template <class T, class V, class Isa, class F>
FLAGGEMS_INLINE void store_at(T* p, lane_tail<Isa> lane, const V& x, const F& offset) {
  store_at(p, lane.begin, lane.count, x, offset);
}

}  // namespace flaggems::kernels
