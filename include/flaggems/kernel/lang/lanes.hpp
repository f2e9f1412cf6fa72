// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Lanes: the elements that one step of a loop processes. A kernel receives a lane index from
// `block.for_each_lane` or `block.reduce` and passes it to `load` and `store`. On a SIMT device it
// is one element per thread, on the host a vector. The end of a range has its own type, so the main
// loop needs no masks.
#pragma once

#include <flaggems/kernel/lang/value.hpp>

namespace flaggems::kernels {

/// One element: the lane of a SIMT thread.
struct lane_scalar {
  template <class T>
  using value = T;
  i64 begin;
  FLAGGEMS_INLINE bool mask() const { return true; }
};

/// Along what a matrix product's operand is contiguous: the summed dimension, or across it.
enum class major { along, across };

/// The value of a lane whose elements are T.
template <class Lane, class T>
using lane_value = typename Lane::template value<T>;

/// An integral constant, so that unrolled indices are types.
template <int K>
struct int_constant {
  static constexpr int value = K;
  FLAGGEMS_INLINE constexpr operator int() const { return K; }
};

template <class F, int... K>
FLAGGEMS_INLINE void static_for_each(int_sequence<K...>, const F& f) {
  (f(int_constant<K>{}), ...);
}
/// Calls f(int_constant<0>), ..., f(int_constant<Count - 1>): a fully unrolled loop, which keeps
/// small arrays in registers.
template <int Count, class F>
FLAGGEMS_INLINE void static_for(const F& f) {
  static_for_each(typename make_int_sequence_type<Count>::type{}, f);
}

// ---- contiguous access
/// The elements p[lane] as values of type C.
template <class C, class T>
FLAGGEMS_INLINE C load(global_ptr<const T> p, lane_scalar lane) {
  return number_cast<C>(p[lane.begin]);
}
/// p[lane] = x, converted to T.
template <class T, class V>
FLAGGEMS_INLINE void store(global_ptr<T> p, lane_scalar lane, FLAGGEMS_VALUE(V) x) {
  p[lane.begin] = number_cast<T>(x);
}
// ---- access with a stride in elements: 1 is contiguous, 0 broadcasts, anything else gathers
template <class C, class T>
FLAGGEMS_INLINE C load(global_ptr<const T> p, i64 stride, lane_scalar lane) {
  return number_cast<C>(p[lane.begin * stride]);
}
template <class T, class V>
FLAGGEMS_INLINE void store(global_ptr<T> p, i64 stride, lane_scalar lane, FLAGGEMS_VALUE(V) x) {
  p[lane.begin * stride] = number_cast<T>(x);
}
/// A lane where all strides are known to be 1, which spares half of the instructions of an access.
struct lane_contiguous : lane_scalar {};
template <class C, class T>
FLAGGEMS_INLINE C load(global_ptr<const T> p, i64, lane_contiguous lane) {
  return number_cast<C>(p[lane.begin]);
}
/// The indices lane.begin, lane.begin + 1, ... as values of type T.
template <class T>
FLAGGEMS_INLINE T iota(lane_scalar lane) {
  return static_cast<T>(lane.begin);
}
// ---- reduction states of more than one number
/// A value and its index (argmax), or two values that are reduced together.
template <class V, class J>
struct indexed {
  V value;
  J index;
  FLAGGEMS_INLINE friend indexed select(const mask_of<V>& m, const indexed& a, const indexed& b) {
    return {select(m, a.value, b.value), select(m, a.index, b.index)};
  }
};

template <class V>
struct state_traits {
  template <class S>
  FLAGGEMS_INLINE static V splat(const S& s) {
    return V(s);
  }
  static constexpr int lanes = lane_count<V>;
  FLAGGEMS_INLINE static element_of<V> lane(const V& v, int k) { return v[k]; }
};
template <class V, class J>
struct state_traits<indexed<V, J>> {
  template <class S>
  FLAGGEMS_INLINE static indexed<V, J> splat(const S& s) {
    return {V(s.value), J(s.index)};
  }
  static constexpr int lanes = lane_count<V>;
  FLAGGEMS_INLINE static indexed<element_of<V>, element_of<J>> lane(const indexed<V, J>& v, int k) {
    return {v.value[k], v.index[k]};
  }
};

// ---- operations for reductions, generic over scalars and vectors
struct plus {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return wrapping_add(a, b);
  }
};
struct multiplies {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return wrapping_mul(a, b);
  }
};
/// The larger; a NaN wins. `a` is the accumulator, so the dependency chain is short.
struct maximum_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    if constexpr (is_same<element_of<V>, f32> || is_same<element_of<V>, f64>)
      return select(b != b, b, greater_of(b, a));
    else
      return greater_of(b, a);
  }
};
/// The smaller; a NaN wins.
struct minimum_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    if constexpr (is_same<element_of<V>, f32> || is_same<element_of<V>, f64>)
      return select(b != b, b, lesser_of(b, a));
    else
      return lesser_of(b, a);
  }
};
/// The larger; NaN is ignored.
struct greater_number {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
    if constexpr (is_same<V, f32>) return ::fmaxf(a, b);  // one instruction, not two
#endif
    return greater_of(b, a);
  }
};
struct logical_or_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return static_cast<V>(a | b);
  }
};
struct logical_and_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) const {
    return static_cast<V>(a & b);
  }
};

/// The identity of a maximum (minimum): -inf or the least integer.
template <class T>
FLAGGEMS_INLINE constexpr T lowest() {
  if constexpr (is_same<T, f32> || is_same<T, f64>)
    return static_cast<T>(bit_cast<f32>(0xff800000u));
  else if constexpr (is_same<T, bool>)
    return false;
  else if constexpr (is_unsigned_integer<T>)
    return T(0);
  else
    return static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
}
template <class T>
FLAGGEMS_INLINE constexpr T highest() {
  if constexpr (is_same<T, f32> || is_same<T, f64>)
    return static_cast<T>(bit_cast<f32>(0x7f800000u));
  else if constexpr (is_same<T, bool>)
    return true;
  else
    return static_cast<T>(~lowest<T>());
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/lanes.hpp");
