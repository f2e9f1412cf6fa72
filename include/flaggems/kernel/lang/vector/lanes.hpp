// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's lanes: vectors of consecutive elements. The end of a range has its own type, so the
// main loop needs no masks.
#pragma once

#include <flaggems/kernel/lang/gather.hpp>
#include <flaggems/kernel/lang/lanes.hpp>
#include <flaggems/kernel/lang/vector/complex.hpp>
#include <flaggems/kernel/lang/vector/instructions.hpp>
#include <flaggems/kernel/lang/vector/small_float.hpp>

namespace flaggems::kernels {

/// `Isa::lanes` consecutive elements from `begin`.
template <class Isa>
struct lane_vector {
  template <class T>
  using value = typename simd_type<T, Isa>::type;
  i64 begin;
  FLAGGEMS_HOST_INLINE simd_mask<Isa> mask() const { return simd_mask<Isa>(true); }
};

/// The last `count` < `Isa::lanes` elements of a range. Inactive lanes load zero and are not
/// stored.
template <class Isa>
struct lane_tail {
  template <class T>
  using value = typename simd_type<T, Isa>::type;
  i64 begin;
  int count;
  FLAGGEMS_HOST_INLINE simd_mask<Isa> mask() const {
    simd<i32, Isa> k;
    for (int lane = 0; lane < Isa::lanes; ++lane) k.v[lane] = lane;  // a constant
    return k < simd<i32, Isa>(count);
  }
};

// ---- contiguous access
template <class T, class Isa>
struct unaligned_vector {
  typedef T type __attribute__((vector_size(sizeof(T) * static_cast<unsigned>(Isa::lanes)),
                                aligned(1), may_alias));
};
// Accessed through this type, not memcpy, which g++ would split for the enclosing function's level.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void read_vector(simd<T, Isa>& to, const void* from) {
  to.v = *static_cast<const typename unaligned_vector<T, Isa>::type*>(from);
}
/// Whether a masked access (and, if `Writes`, a masked store) is one instruction; else it is a call
/// of memcpy. AVX2's masked store is excluded, as it is slower on Zen.
template <class T, class Isa, bool Writes = false>
inline constexpr bool has_masked_access = FLAGGEMS_GCC_X86_ASM &&
                                          (Isa::bytes == 64 ? sizeof(T) == 4 || sizeof(T) == 2
                                                            : is_same<Isa, isa_avx2> &&
                                                                  sizeof(T) == 4 && !Writes);
/// Reads the first `count` elements; the others become zero.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void read_vector(simd<T, Isa>& to, const void* from, int count) {
  if constexpr (has_masked_access<T, Isa>) {
#if FLAGGEMS_X86_ASM
    const auto& memory = *static_cast<const typename unaligned_vector<T, Isa>::type*>(from);
    if constexpr (Isa::bytes == 64) {
      const u32 mask = (1u << count) - 1;
      with_level<Isa>(
          [](auto& r, const auto& p, const u32& m) FLAGGEMS_LAMBDA {
            if constexpr (sizeof(T) == 4)
              asm("vmovdqu32 %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(p), "Yk"(m));
            else
              asm("vmovdqu16 %1, %0%{%2%}%{z%}" : "=v"(r) : "m"(p), "Yk"(m));
          },
          to.v, memory, mask);
    } else {
      const simd_mask<Isa> mask = lane_tail<Isa>{0, count}.mask();
      with_level<Isa>(
          [](auto& r, const auto& p, const auto& m) FLAGGEMS_LAMBDA {
            asm("vmaskmovps %1, %2, %0" : "=x"(r) : "m"(p), "x"(m));
          },
          to.v, memory, mask.v);
    }
#endif
  } else {
    to = simd<T, Isa>(T(0));
    __builtin_memcpy(&to.v, from, static_cast<unsigned>(count) * sizeof(T));
  }
}
/// Writes the first `count` elements.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void write_vector(void* to, const simd<T, Isa>& from, int count) {
  auto& memory = *static_cast<typename unaligned_vector<T, Isa>::type*>(to);
  if (count == Isa::lanes) {
    memory = from.v;
  } else if constexpr (has_masked_access<T, Isa, true>) {
#if FLAGGEMS_X86_ASM
    const u32 mask = (1u << count) - 1;
    with_level<Isa>(
        [](auto& p, const auto& x, const u32& m) FLAGGEMS_LAMBDA {
          if constexpr (sizeof(T) == 4)
            asm("vmovdqu32 %1, %0%{%2%}" : "+m"(p) : "v"(x), "Yk"(m));
          else
            asm("vmovdqu16 %1, %0%{%2%}" : "+m"(p) : "v"(x), "Yk"(m));
        },
        memory, from.v, mask);
#endif
  } else {
    __builtin_memcpy(to, &from.v, static_cast<unsigned>(count) * sizeof(T));
  }
}

/// Whether T has non-temporal stores of full vectors, at addresses aligned to 64 bytes.
template <class T, class Isa>
inline constexpr bool can_stream = FLAGGEMS_X86_ASM != 0 && sizeof(T) * Isa::lanes >= 16 &&
                                   sizeof(T) * Isa::lanes <= Isa::bytes;
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void stream_vector(void* to, const simd<T, Isa>& from) {
  using vector = typename simd<T, Isa>::vector;
#if FLAGGEMS_COMPILER_CLANG
  __builtin_nontemporal_store(from.v, static_cast<vector*>(to));
#elif FLAGGEMS_X86_ASM
  with_level<Isa>(
      [](vector& p, const vector& x) FLAGGEMS_LAMBDA {
        if constexpr (is_same<Isa, isa_baseline>)
          asm volatile("movntps %1, %0" : "=m"(p) : "x"(x));
        else
          asm volatile("vmovntps %1, %0" : "=m"(p) : "v"(x));
      },
      *static_cast<vector*>(to), from.v);
#else
  *static_cast<vector*>(to) = from.v;
#endif
}

/// As many complex numbers at p as there are lanes. (Given that number as a count, the forms below
/// have g++ -O0 warn of the branch for parts.)
template <class T, class Isa>
FLAGGEMS_HOST_INLINE complex<simd<T, Isa>> read_complex(const complex<T>* p) {
  simd<T, Isa> low, high;
  read_vector(low, p);
  read_vector(high, p + Isa::lanes / 2);
  return parts_of(low, high, make_int_sequence<Isa::lanes>{});
}
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void write_complex(complex<T>* p, const complex<simd<T, Isa>>& z) {
  constexpr int between = Isa::lanes / 2;
  constexpr make_int_sequence<Isa::lanes> all{};
  write_vector(p, alternated<0>(z, all), Isa::lanes);
  write_vector(p + between, alternated<between>(z, all), Isa::lanes);
}
/// `count` complex numbers at p.
template <class T, class Isa>
FLAGGEMS_HOST_INLINE complex<simd<T, Isa>> read_complex(const complex<T>* p, int count) {
  simd<T, Isa> low, high(T(0));
  const int parts = 2 * count;
  if (parts < Isa::lanes) {
    read_vector(low, p, parts);
  } else {
    read_vector(low, p);
    read_vector(high, p + Isa::lanes / 2, parts - Isa::lanes);
  }
  return parts_of(low, high, make_int_sequence<Isa::lanes>{});
}
template <class T, class Isa>
FLAGGEMS_HOST_INLINE void write_complex(complex<T>* p, const complex<simd<T, Isa>>& z, int count) {
  constexpr int between = Isa::lanes / 2;
  constexpr make_int_sequence<Isa::lanes> all{};
  write_vector(p, alternated<0>(z, all), min_of(2 * count, Isa::lanes));
  if (count > between)
    write_vector(p + between, alternated<between>(z, all), 2 * (count - between));
}

template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load_lanes(const T* p, int count) {
  if constexpr (is_complex<T>)
    return convert<C>(read_complex<real_of<T>, Isa>(p, count));
  else {
    using storage =
        typename conditional<is_small_float<T> || is_same<T, bool>,
                             type_identity<uint_of_size<sizeof(T)>>, type_identity<T>>::type;
    simd<storage, Isa> raw;
    if (count == Isa::lanes) {
      read_vector(raw, p);
    } else {
      read_vector(raw, p, count);
    }
    if constexpr (is_small_float<T>)
      return convert<C>(decode_small<typename T::format, Isa>(raw));
    else if constexpr (is_same<T, bool>)
      return convert<C>(raw != simd<storage, Isa>(storage(0)));
    else
      return convert<C>(raw);
  }
}

/// x as f32 before it is rounded to fewer bits. Wider types go through round_to_odd, so that the
/// result is rounded once.
template <class V, class Isa = typename V::isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> narrowed(const V& x) {
  using T = element_of<V>;
  if constexpr (is_same<T, f64>) {
    using U = simd<u32, Isa>;
    const simd<f32, Isa> f = convert<f32>(x);
    const V back = convert<f64>(f);
    const U bits = bit_cast<U>(f);
    const U odd = select(abs(back) > abs(x), U(bits - U(1u)), U(bits + U(1u)));
    const simd_mask<Isa> inexact = (back != x) & (x == x);
    return bit_cast<simd<f32, Isa>>(select(inexact & ((bits & U(1u)) == U(0u)), odd, bits));
  } else if constexpr (is_integer<T> && sizeof(T) >= 4) {
    return narrowed(convert<f64>(x));
  } else {
    return convert<f32>(x);
  }
}
/// x rounded to the values of T.
template <class T, class V, class Isa = typename V::isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> rounded_to(const V& x) {
  return decode_small<typename T::format, Isa>(encode_small<typename T::format, Isa>(narrowed(x)));
}

/// x as elements of T, in T's storage type.
template <class T, class V, class Isa = typename V::isa>
FLAGGEMS_HOST_INLINE auto stored_as(const V& x) {
  if constexpr (is_small_float<T>)
    return encode_small<typename T::format, Isa>(narrowed(x));
  else if constexpr (is_same<T, bool>)
    return select(convert<bool>(x), simd<u8, Isa>(u8(1)), simd<u8, Isa>(u8(0)));
  else
    return convert<T>(x);
}
template <class T, class V>
FLAGGEMS_HOST_INLINE void store_lanes(T* p, const V& x, int count) {
  if constexpr (is_complex<T>)
    write_complex(p, convert<T>(x), count);
  else
    write_vector(p, stored_as<T>(x), count);
}
/// Stores a full vector; with non-temporal stores if `streamed`, where p is aligned to 64 bytes.
template <class T, class V>
FLAGGEMS_HOST_INLINE void store_whole(T* p, const V& x, bool streamed) {
  if constexpr (is_complex<T>) {
    write_complex(p, convert<T>(x));
  } else if constexpr (is_complex<element_of<V>>) {
    store_whole(p, convert<compute_type<T>>(x), streamed);
  } else {
    using Isa = typename V::isa;
    const auto raw = stored_as<T>(x);
    if constexpr (can_stream<T, Isa>) {
      if (streamed) return stream_vector(p, raw);
    }
    write_vector(p, raw, Isa::lanes);
  }
}

template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load(const T* p, lane_vector<Isa> lane) {
  if constexpr (is_complex<T>)
    return convert<C>(read_complex<real_of<T>, Isa>(p + lane.begin));
  else
    return load_lanes<C, T, Isa>(p + lane.begin, Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load(const T* p, lane_tail<Isa> lane) {
  return load_lanes<C, T, Isa>(p + lane.begin, lane.count);
}

template <class T, class V, class Isa>
FLAGGEMS_HOST_INLINE void store(T* p, lane_vector<Isa> lane, const V& x) {
  if constexpr (is_complex<T>)
    write_complex(p + lane.begin, convert<T>(x));
  else
    store_lanes(p + lane.begin, x, Isa::lanes);
}
template <class T, class V, class Isa>
FLAGGEMS_HOST_INLINE void store(T* p, lane_tail<Isa> lane, const V& x) {
  store_lanes(p + lane.begin, x, lane.count);
}

// ---- access with a stride: 1 is contiguous, 0 broadcasts. Others go element by element in a loop:
// a call would spill the caller's vectors, and unrolling would bloat every kernel.
template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load_strided(const T* p, i64 stride,
                                                                   int count) {
  if (stride == 1 && count == Isa::lanes) return load_lanes<C, T, Isa>(p, Isa::lanes);
  typedef uint_of_size<sizeof(real_of<T>)> word __attribute__((may_alias));
  constexpr int words = is_complex<T> ? 2 : 1;
  word gathered[Isa::lanes * words];
  const word* const from = reinterpret_cast<const word*>(p);
#pragma GCC unroll 1
  for (int k = 0; k < Isa::lanes; ++k)
    for (int part = 0; part < words; ++part)
      gathered[k * words + part] = k < count ? from[k * stride * words + part] : word(0);
  return load_lanes<C, T, Isa>(reinterpret_cast<const T*>(gathered), Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load(const T* p, i64 stride,
                                                           lane_vector<Isa> lane) {
  return load_strided<C, T, Isa>(p + lane.begin * stride, stride, Isa::lanes);
}
template <class C, class T, class Isa>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load(const T* p, i64 stride,
                                                           lane_tail<Isa> lane) {
  return load_strided<C, T, Isa>(p + lane.begin * stride, stride, lane.count);
}

template <class T, class V>
FLAGGEMS_HOST_INLINE void store_strided(T* p, i64 stride, const V& x, int count) {
  constexpr int lanes = lane_count<V>;
  if (stride == 1 && count == lanes) return store_lanes(p, x, lanes);
  typedef uint_of_size<sizeof(real_of<T>)> word __attribute__((may_alias));
  constexpr int words = is_complex<T> ? 2 : 1;
  T scattered[lanes];
  store_lanes(scattered, x, lanes);
  const word* const from = reinterpret_cast<const word*>(scattered);
  word* const to = reinterpret_cast<word*>(p);
#pragma GCC unroll 1
  for (int k = 0; k < count; ++k)
    for (int part = 0; part < words; ++part) to[k * stride * words + part] = from[k * words + part];
}
template <class T, class V, class Isa>
FLAGGEMS_HOST_INLINE void store(T* p, i64 stride, lane_vector<Isa> lane, const V& x) {
  store_strided(p + lane.begin * stride, stride, x, Isa::lanes);
}
template <class T, class V, class Isa>
FLAGGEMS_HOST_INLINE void store(T* p, i64 stride, lane_tail<Isa> lane, const V& x) {
  store_strided(p + lane.begin * stride, stride, x, lane.count);
}

// ---- gather and scatter (lang/gather.hpp)
template <class C, class T, class Isa, class F>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load_at(const T* p, i64 begin, int count,
                                                              const F& offset) {
  T gathered[Isa::lanes] = {};
  for (int k = 0; k < count; ++k) gathered[k] = p[offset(begin + k)];
  return load_lanes<C, T, Isa>(gathered, Isa::lanes);
}
template <class C, class T, class Isa, class F>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load_at(const T* p, lane_vector<Isa> lane,
                                                              const F& offset) {
  return load_at<C, T, Isa>(p, lane.begin, Isa::lanes, offset);
}
template <class C, class T, class Isa, class F>
FLAGGEMS_HOST_INLINE typename simd_type<C, Isa>::type load_at(const T* p, lane_tail<Isa> lane,
                                                              const F& offset) {
  return load_at<C, T, Isa>(p, lane.begin, lane.count, offset);
}

template <class T, class V, class F>
FLAGGEMS_HOST_INLINE void store_at(T* p, i64 begin, int count, const V& x, const F& offset) {
  T scattered[V::lanes];
  store_lanes(scattered, x, V::lanes);
  for (int k = 0; k < count; ++k) p[offset(begin + k)] = scattered[k];
}
template <class T, class V, class Isa, class F>
FLAGGEMS_HOST_INLINE void store_at(T* p, lane_vector<Isa> lane, const V& x, const F& offset) {
  store_at(p, lane.begin, Isa::lanes, x, offset);
}
template <class T, class V, class Isa, class F>
FLAGGEMS_HOST_INLINE void store_at(T* p, lane_tail<Isa> lane, const V& x, const F& offset) {
  store_at(p, lane.begin, lane.count, x, offset);
}

template <class T, class Lane>
FLAGGEMS_HOST_INLINE lane_value<Lane, T> iota(Lane lane) {
  lane_value<Lane, T> r;
  if constexpr (is_integer<T>) {
    for (int k = 0; k < lane_value<Lane, T>::lanes; ++k) r.v[k] = static_cast<T>(k);  // a constant
    return r + lane_value<Lane, T>(static_cast<T>(lane.begin));
  } else {
    for (int k = 0; k < lane_value<Lane, T>::lanes; ++k) r.v[k] = static_cast<T>(lane.begin + k);
    return r;
  }
}

/// Broadcasts x; see the form for lane_scalar.
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> broadcast(lane_vector<Isa>, f16 x) {
  return decode_small<f16_format, Isa>(simd<u16, Isa>(x.bits));
}
template <class Isa>
FLAGGEMS_HOST_INLINE simd<f32, Isa> broadcast(lane_tail<Isa>, f16 x) {
  return decode_small<f16_format, Isa>(simd<u16, Isa>(x.bits));
}

/// Reduces the lanes of a state by a tree in a fixed order: lane k with lane k + n / 2, and so on.
/// The last four lanes are reduced as one vector where they make up one.
template <class S, class V, class Op>
FLAGGEMS_HOST_INLINE S fold_lanes(const V& v, Op op) {
  constexpr int n = state_traits<V>::lanes;
  if constexpr (is_simd<V> && sizeof(V) == sizeof(u32) * n) {
    using quad = rebind<simd<f32, quad_isa<typename V::isa>>, element_of<V>>;
    quad part[n / 4];
    __builtin_memcpy(static_cast<void*>(part), &v.v, sizeof(v.v));
    for (int step = n / 8; step > 0; step /= 2)
      for (int k = 0; k < step; ++k) part[k] = op(part[k], part[k + step]);
    const auto& all = part[0].v;
    const quad pairs = op(part[0], quad(__builtin_shufflevector(all, all, 2, 3, 0, 1)));
    const quad one = op(pairs, quad(__builtin_shufflevector(pairs.v, pairs.v, 1, 0, 3, 2)));
    return static_cast<S>(one[0]);
  } else {
    S lane[n];
    for (int k = 0; k < n; ++k) lane[k] = state_traits<V>::lane(v, k);
    for (int step = n / 2; step > 0; step /= 2)
      for (int k = 0; k < step; ++k) lane[k] = op(lane[k], lane[k + step]);
    return lane[0];
  }
}

}  // namespace flaggems::kernels
