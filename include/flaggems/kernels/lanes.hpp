// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Lanes: which elements a step of a loop is about. A kernel receives a lane index from
// `block.for_each_lane` or `block.reduce` and hands it to `load` and `store`; on a chip it stands
// for one element a thread, on the host for a vector of them. The end of a range has its own type,
// so the main loop has no masks.
#pragma once

#include <flaggems/kernels/simd.hpp>

namespace flaggems::kernels {

/// One element: what a thread of a chip works on.
struct lane_scalar {
  template <class T>
  using value = T;
  i64 begin;
  FLAGGEMS_INLINE bool mask() const { return true; }
};

/// `Isa::lanes` consecutive elements from `begin`.
template <class Isa>
struct lane_vector {
  template <class T>
  using value = typename simd_type<T, Isa>::type;
  i64 begin;
  FLAGGEMS_INLINE simd_mask<Isa> mask() const { return simd_mask<Isa>(true); }
};

/// The last `count` < `Isa::lanes` elements of a range. The other lanes load as zero and are not
/// stored.
template <class Isa>
struct lane_tail {
  template <class T>
  using value = typename simd_type<T, Isa>::type;
  i64 begin;
  int count;
  FLAGGEMS_INLINE simd_mask<Isa> mask() const {
    simd_mask<Isa> m(false);
    for (int k = 0; k < Isa::lanes; ++k) m.v[k] = k < count ? -1 : 0;
    return m;
  }
};

/// The value of a lane whose elements are T.
template <class Lane, class T>
using lane_value = typename Lane::template value<T>;

/// An integral constant, so that unrolled indices are types.
template <int K>
struct int_constant {
  static constexpr int value = K;
  FLAGGEMS_INLINE constexpr operator int() const { return K; }
};

template <int... K>
struct int_sequence {};
template <int N, int... K>
struct make_int_sequence_type : make_int_sequence_type<N - 1, N - 1, K...> {};
template <int... K>
struct make_int_sequence_type<0, K...> {
  using type = int_sequence<K...>;
};

template <class F, int... K>
FLAGGEMS_INLINE void static_for_each(int_sequence<K...>, const F& f) {
  (f(int_constant<K>{}), ...);
}
/// Calls f(int_constant<0>), ..., f(int_constant<N - 1>): a loop that is surely unrolled, so that
/// small arrays indexed by it stay in registers.
template <int N, class F>
FLAGGEMS_INLINE void static_for(const F& f) {
  static_for_each(typename make_int_sequence_type<N>::type{}, f);
}

// ---- contiguous access
template <class C, class T, class Isa>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load_lanes(const T* p, int count) {
  using storage =
      typename conditional<is_small_float<T> || is_same<T, bool>,
                           type_identity<uint_of_size<sizeof(T)>>, type_identity<T>>::type;
  simd<storage, Isa> raw;
  if (count == Isa::lanes) {
    __builtin_memcpy(&raw.v, p, sizeof(raw.v));
  } else {
    raw = simd<storage, Isa>(storage(0));
    __builtin_memcpy(&raw.v, p, static_cast<unsigned>(count) * sizeof(T));
  }
  if constexpr (is_small_float<T>)
    return convert<C>(decode_small<typename T::format, Isa>(raw));
  else if constexpr (is_same<T, bool>)
    return convert<C>(raw != simd<storage, Isa>(storage(0)));
  else
    return convert<C>(raw);
}

template <class T, class V>
FLAGGEMS_INLINE void store_lanes(T* p, const V& x, int count) {
  using isa = typename V::isa;
  if constexpr (is_small_float<T>) {
    const auto raw = encode_small<typename T::format, isa>(convert<f32>(x));
    __builtin_memcpy(p, &raw.v, static_cast<unsigned>(count) * sizeof(T));
  } else if constexpr (is_same<T, bool>) {
    const simd<u8, isa> raw = select(convert<bool>(x), simd<u8, isa>(u8(1)), simd<u8, isa>(u8(0)));
    __builtin_memcpy(p, &raw.v, static_cast<unsigned>(count));
  } else {
    const auto raw = convert<T>(x);
    __builtin_memcpy(p, &raw.v, static_cast<unsigned>(count) * sizeof(T));
  }
}

/// The elements p[lane] as values of type C.
template <class C, class T>
FLAGGEMS_INLINE C load(global_ptr<const T> p, lane_scalar lane) {
  return number_cast<C>(p[lane.begin]);
}
template <class C, class T, class Isa>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load(const T* p, lane_vector<Isa> lane) {
  return load_lanes<C, T, Isa>(p + lane.begin, Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load(const T* p, lane_tail<Isa> lane) {
  return load_lanes<C, T, Isa>(p + lane.begin, lane.count);
}

/// p[lane] = x, converted to T.
template <class T, class V>
FLAGGEMS_INLINE void store(global_ptr<T> p, lane_scalar lane, const V& x) {
  p[lane.begin] = number_cast<T>(x);
}
template <class T, class V, class Isa>
FLAGGEMS_INLINE void store(T* p, lane_vector<Isa> lane, const V& x) {
  store_lanes(p + lane.begin, x, Isa::lanes);
}
template <class T, class V, class Isa>
FLAGGEMS_INLINE void store(T* p, lane_tail<Isa> lane, const V& x) {
  store_lanes(p + lane.begin, x, lane.count);
}

// ---- access with a stride in elements: 1 is contiguous, 0 broadcasts, anything else gathers
template <class C, class T>
FLAGGEMS_INLINE C load(global_ptr<const T> p, i64 stride, lane_scalar lane) {
  return number_cast<C>(p[lane.begin * stride]);
}
template <class C, class T, class Isa>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load_strided(const T* p, i64 stride, int count) {
  using V = typename simd_type<C, Isa>::type;
  if (stride == 1) return load_lanes<C, T, Isa>(p, count);
  if (stride == 0) return V(number_cast<C>(*p));
  T gathered[Isa::lanes] = {};
  for (int k = 0; k < count; ++k) gathered[k] = p[k * stride];
  return load_lanes<C, T, Isa>(gathered, Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load(const T* p, i64 stride,
                                                      lane_vector<Isa> lane) {
  return load_strided<C, T, Isa>(p + lane.begin * stride, stride, Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_INLINE typename simd_type<C, Isa>::type load(const T* p, i64 stride, lane_tail<Isa> lane) {
  return load_strided<C, T, Isa>(p + lane.begin * stride, stride, lane.count);
}

template <class T, class V>
FLAGGEMS_INLINE void store(global_ptr<T> p, i64 stride, lane_scalar lane, const V& x) {
  p[lane.begin * stride] = number_cast<T>(x);
}
template <class T, class V>
FLAGGEMS_INLINE void store_strided(T* p, i64 stride, const V& x, int count) {
  if (stride == 1) return store_lanes(p, x, count);
  T scattered[V::lanes];
  store_lanes(scattered, x, V::lanes);
  for (int k = 0; k < count; ++k) p[k * stride] = scattered[k];
}
template <class T, class V, class Isa>
FLAGGEMS_INLINE void store(T* p, i64 stride, lane_vector<Isa> lane, const V& x) {
  store_strided(p + lane.begin * stride, stride, x, Isa::lanes);
}
template <class T, class V, class Isa>
FLAGGEMS_INLINE void store(T* p, i64 stride, lane_tail<Isa> lane, const V& x) {
  store_strided(p + lane.begin * stride, stride, x, lane.count);
}

/// The indices lane.begin, lane.begin + 1, ... as values of type T.
template <class T>
FLAGGEMS_INLINE T iota(lane_scalar lane) {
  return static_cast<T>(lane.begin);
}
template <class T, class Lane>
FLAGGEMS_INLINE lane_value<Lane, T> iota(Lane lane) {
  lane_value<Lane, T> r(static_cast<T>(lane.begin));
  for (int k = 0; k < lane_value<Lane, T>::lanes; ++k) r.v[k] = static_cast<T>(lane.begin + k);
  return r;
}

// ---- states of a reduction that are more than one number
/// A value and the index it came from (argmax and its like).
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
  static constexpr int lanes = V::lanes;
  FLAGGEMS_INLINE static element_of<V> lane(const V& v, int k) { return v[k]; }
};
template <class V, class J>
struct state_traits<indexed<V, J>> {
  template <class S>
  FLAGGEMS_INLINE static indexed<V, J> splat(const S& s) {
    return {V(s.value), J(s.index)};
  }
  static constexpr int lanes = V::lanes;
  FLAGGEMS_INLINE static indexed<element_of<V>, element_of<J>> lane(const indexed<V, J>& v, int k) {
    return {v.value[k], v.index[k]};
  }
};

/// The lanes of a reduction's state folded into one by a tree in a fixed order.
template <class S, class V, class Op>
FLAGGEMS_INLINE S fold_lanes(const V& v, Op op) {
  constexpr int n = state_traits<V>::lanes;
  S lane[n];
  for (int k = 0; k < n; ++k) lane[k] = state_traits<V>::lane(v, k);
  for (int step = n / 2; step > 0; step /= 2)
    for (int k = 0; k < step; ++k) lane[k] = op(lane[k], lane[k + step]);
  return lane[0];
}

// ---- operations for reductions, generic over scalars and vectors
struct plus {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& a, const V& b) const {
    return static_cast<V>(a + b);
  }
};
struct multiplies {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& a, const V& b) const {
    return static_cast<V>(a * b);
  }
};
/// The larger; a NaN wins.
struct maximum_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& a, const V& b) const {
    return select((a > b) | (a != a), a, b);
  }
};
/// The smaller; a NaN wins.
struct minimum_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& a, const V& b) const {
    return select((a < b) | (a != a), a, b);
  }
};
struct logical_or_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& a, const V& b) const {
    return static_cast<V>(a | b);
  }
};
struct logical_and_of {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& a, const V& b) const {
    return static_cast<V>(a & b);
  }
};

/// The value that every other one beats in a maximum (minimum): -inf or the least integer.
template <class T>
FLAGGEMS_INLINE constexpr T lowest() {
  if constexpr (is_same<T, f32> || is_same<T, f64>)
    return static_cast<T>(-__builtin_huge_valf());
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
    return static_cast<T>(__builtin_huge_valf());
  else if constexpr (is_same<T, bool>)
    return true;
  else
    return static_cast<T>(~lowest<T>());
}

}  // namespace flaggems::kernels
