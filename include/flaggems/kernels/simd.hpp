// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's fragments: `simd<T, Isa>` is as many lanes of T as the level has lanes of f32,
// whatever the size of T, so that values of different types always line up. It is built on the
// vector extensions of g++ and clang: the code is legal at every level, and becomes AVX2 or AVX-512
// when it is inlined into an entry function that carries the target attribute. Instructions without
// an operator (square root, f16 conversion) are single asm statements.
#pragma once

#include <flaggems/kernels/number.hpp>

namespace flaggems::kernels {

// ---- levels
/// SSE2 on x86-64, NEON on AArch64.
struct isa_baseline {
  static constexpr int bytes = 16;
  static constexpr int lanes = 4;
};
/// AVX2, FMA and F16C.
struct isa_avx2 {
  static constexpr int bytes = 32;
  static constexpr int lanes = 8;
};
/// AVX-512 F, BW, DQ and VL.
struct isa_avx512 {
  static constexpr int bytes = 64;
  static constexpr int lanes = 16;
};

template <class T, class Isa>
struct simd_vector {
  // A helper struct: g++ 12 does not take a dependent width in a plain typedef.
  typedef T type __attribute__((vector_size(sizeof(T) * static_cast<unsigned>(Isa::lanes))));
};

/// One truth value a lane.
template <class Isa>
struct simd_mask {
  using isa = Isa;
  using value_type = bool;
  using vector = typename simd_vector<i32, Isa>::type;
  static constexpr int lanes = Isa::lanes;
  vector v;  // 0 or -1 a lane

  simd_mask() = default;
  FLAGGEMS_INLINE explicit simd_mask(const vector& x) : v(x) {}
  FLAGGEMS_INLINE simd_mask(bool x) : v(vector{} - static_cast<i32>(x)) {}
  FLAGGEMS_INLINE bool operator[](int i) const { return v[i] != 0; }

  FLAGGEMS_INLINE friend simd_mask operator&(const simd_mask& a, const simd_mask& b) {
    return simd_mask(a.v & b.v);
  }
  FLAGGEMS_INLINE friend simd_mask operator|(const simd_mask& a, const simd_mask& b) {
    return simd_mask(a.v | b.v);
  }
  FLAGGEMS_INLINE friend simd_mask operator^(const simd_mask& a, const simd_mask& b) {
    return simd_mask(a.v ^ b.v);
  }
  FLAGGEMS_INLINE friend simd_mask operator==(const simd_mask& a, const simd_mask& b) {
    return simd_mask(~(a.v ^ b.v));
  }
  FLAGGEMS_INLINE friend simd_mask operator!=(const simd_mask& a, const simd_mask& b) {
    return a ^ b;
  }
  FLAGGEMS_INLINE friend simd_mask operator!(const simd_mask& a) { return simd_mask(~a.v); }
  FLAGGEMS_INLINE friend simd_mask select(const simd_mask& m, const simd_mask& a,
                                          const simd_mask& b) {
    return simd_mask((m.v & a.v) | (~m.v & b.v));
  }
};

/// `Isa::lanes` values of type T; arithmetic, comparison and bit operations lane by lane.
template <class T, class Isa>
struct simd {
  using isa = Isa;
  using value_type = T;
  using vector = typename simd_vector<T, Isa>::type;
  using mask = simd_mask<Isa>;
  static constexpr int lanes = Isa::lanes;
  vector v;

  simd() = default;
  FLAGGEMS_INLINE explicit simd(const vector& x) : v(x) {}
  FLAGGEMS_INLINE simd(T x) : v(x - vector{}) {}
  FLAGGEMS_INLINE T operator[](int i) const { return v[i]; }

  FLAGGEMS_INLINE friend simd operator+(const simd& a, const simd& b) { return simd(a.v + b.v); }
  FLAGGEMS_INLINE friend simd operator-(const simd& a, const simd& b) { return simd(a.v - b.v); }
  FLAGGEMS_INLINE friend simd operator*(const simd& a, const simd& b) { return simd(a.v * b.v); }
  FLAGGEMS_INLINE friend simd operator/(const simd& a, const simd& b) { return simd(a.v / b.v); }
  FLAGGEMS_INLINE friend simd operator%(const simd& a, const simd& b) { return simd(a.v % b.v); }
  FLAGGEMS_INLINE friend simd operator&(const simd& a, const simd& b) { return simd(a.v & b.v); }
  FLAGGEMS_INLINE friend simd operator|(const simd& a, const simd& b) { return simd(a.v | b.v); }
  FLAGGEMS_INLINE friend simd operator^(const simd& a, const simd& b) { return simd(a.v ^ b.v); }
  FLAGGEMS_INLINE friend simd operator<<(const simd& a, int n) { return simd(a.v << n); }
  FLAGGEMS_INLINE friend simd operator>>(const simd& a, int n) { return simd(a.v >> n); }
  FLAGGEMS_INLINE friend simd operator-(const simd& a) { return simd(-a.v); }
  FLAGGEMS_INLINE friend simd operator~(const simd& a) { return simd(~a.v); }
  FLAGGEMS_INLINE simd& operator+=(const simd& b) { return *this = *this + b; }
  FLAGGEMS_INLINE simd& operator-=(const simd& b) { return *this = *this - b; }
  FLAGGEMS_INLINE simd& operator*=(const simd& b) { return *this = *this * b; }

  FLAGGEMS_INLINE friend mask operator<(const simd& a, const simd& b) { return to_mask(a.v < b.v); }
  FLAGGEMS_INLINE friend mask operator<=(const simd& a, const simd& b) {
    return to_mask(a.v <= b.v);
  }
  FLAGGEMS_INLINE friend mask operator>(const simd& a, const simd& b) { return to_mask(a.v > b.v); }
  FLAGGEMS_INLINE friend mask operator>=(const simd& a, const simd& b) {
    return to_mask(a.v >= b.v);
  }
  FLAGGEMS_INLINE friend mask operator==(const simd& a, const simd& b) {
    return to_mask(a.v == b.v);
  }
  FLAGGEMS_INLINE friend mask operator!=(const simd& a, const simd& b) {
    return to_mask(a.v != b.v);
  }

  /// Lane by lane `m ? a : b`.
  FLAGGEMS_INLINE friend simd select(const mask& m, const simd& a, const simd& b) {
    using wide = typename simd_vector<int_of_size<sizeof(T)>, Isa>::type;
    if constexpr (sizeof(T) == sizeof(i32))
      return simd(m.v ? a.v : b.v);
    else
      return simd(__builtin_convertvector(m.v, wide) ? a.v : b.v);
  }

 private:
  template <class M>
  FLAGGEMS_INLINE static mask to_mask(const M& m) {
    if constexpr (sizeof(T) == sizeof(i32))
      return mask(reinterpret_cast<const typename mask::vector&>(m));
    else
      return mask(__builtin_convertvector(m, typename mask::vector));
  }
};

// ---- scalar or vector, seen as one
template <class V>
inline constexpr bool is_simd = false;
template <class T, class Isa>
inline constexpr bool is_simd<simd<T, Isa>> = true;
template <class Isa>
inline constexpr bool is_simd<simd_mask<Isa>> = true;

template <class T, class Isa>
struct simd_type {
  using type = simd<T, Isa>;
};
template <class Isa>
struct simd_type<bool, Isa> {
  using type = simd_mask<Isa>;
};

template <class V>
struct value_traits {
  using element = V;
  template <class U>
  using rebind = U;
};
template <class T, class Isa>
struct value_traits<simd<T, Isa>> {
  using element = T;
  template <class U>
  using rebind = typename simd_type<U, Isa>::type;
};
template <class Isa>
struct value_traits<simd_mask<Isa>> : value_traits<simd<bool, Isa>> {};

/// The element type of a value: T of T, and of simd<T, Isa>.
template <class V>
using element_of = typename value_traits<V>::element;
/// The value of the same width whose elements are U: U, or simd<U, Isa> (simd_mask for bool).
template <class V, class U>
using rebind = typename value_traits<V>::template rebind<U>;
/// What a comparison of two V gives: bool or simd_mask<Isa>.
template <class V>
using mask_of = rebind<V, bool>;

template <class To, class T, class Isa>
FLAGGEMS_INLINE To bit_cast(const simd<T, Isa>& x) {
  using to_vector = typename To::vector;
  static_assert(sizeof(to_vector) == sizeof(x.v));
  return To((to_vector)x.v);
}

/// Each element as a To, as C++ converts numbers; non-zero is true. For scalars and vectors.
template <class To, class V>
FLAGGEMS_INLINE rebind<V, To> convert(const V& x) {
  using from = element_of<V>;
  if constexpr (is_same<To, from>) {
    return x;
  } else if constexpr (!is_simd<V>) {
    return number_cast<To>(x);
  } else if constexpr (is_same<To, bool>) {
    return x != V(from(0));
  } else if constexpr (is_same<from, bool>) {
    using result = rebind<V, To>;
    return select(x, result(To(1)), result(To(0)));
  } else {
    using result = rebind<V, To>;
    return result(__builtin_convertvector(x.v, typename result::vector));
  }
}

// ---- arithmetic that has no operator
/// a * b + c; one rounding where the level has FMA and the compiler contracts.
template <class T, class Isa>
FLAGGEMS_INLINE simd<T, Isa> fma(const simd<T, Isa>& a, const simd<T, Isa>& b,
                                 const simd<T, Isa>& c) {
  return simd<T, Isa>(a.v * b.v + c.v);
}
/// |x|; the sign of a floating-point number is cleared, NaN included.
template <class T, class Isa>
FLAGGEMS_INLINE simd<T, Isa> abs(const simd<T, Isa>& x) {
  using V = simd<T, Isa>;
  if constexpr (is_unsigned_integer<T>) {
    return x;
  } else if constexpr (is_integer<T>) {
    return select(x < V(T(0)), V(T(0)) - x, x);
  } else {
    using U = simd<uint_of_size<sizeof(T)>, Isa>;
    return bit_cast<V>(bit_cast<U>(x) & U(~uint_of_size<sizeof(T)>(0) >> 1));
  }
}
/// `magnitude` with the sign of `sign`.
template <class T, class Isa>
FLAGGEMS_INLINE simd<T, Isa> copysign(const simd<T, Isa>& magnitude, const simd<T, Isa>& sign) {
  using U = simd<uint_of_size<sizeof(T)>, Isa>;
  const U rest(~uint_of_size<sizeof(T)>(0) >> 1);
  return bit_cast<simd<T, Isa>>((bit_cast<U>(magnitude) & rest) | (bit_cast<U>(sign) & ~rest));
}

/// The bytes of a vector that one asm statement works on.
template <class Isa>
inline constexpr int asm_bytes = min_of(Isa::bytes, FLAGGEMS_ASM_OPERAND_BYTES);

/// The result of `f(to_part, from_part)` on each part of a vector: an asm statement whose operands
/// are `asm_bytes` of To and as many lanes of From (padded to 16 bytes).
template <class To, class T, class Isa, class F>
FLAGGEMS_INLINE simd<To, Isa> each_part(const simd<T, Isa>& x, F f) {
  constexpr int wide = static_cast<int>(sizeof(To) > sizeof(T) ? sizeof(To) : sizeof(T));
  constexpr int lanes = min_of(asm_bytes<Isa> / wide, Isa::lanes);
  constexpr int from_bytes = lanes * static_cast<int>(sizeof(T));
  constexpr int to_bytes = lanes * static_cast<int>(sizeof(To));
  typedef T from_part __attribute__((vector_size(max_of(from_bytes, 16))));
  typedef To to_part __attribute__((vector_size(max_of(to_bytes, 16))));
  simd<To, Isa> result;
  for (int i = 0; i < Isa::lanes / lanes; ++i) {
    from_part from{};
    to_part to;
    __builtin_memcpy(&from, reinterpret_cast<const char*>(&x.v) + i * from_bytes, from_bytes);
    f(to, from);
    __builtin_memcpy(reinterpret_cast<char*>(&result.v) + i * to_bytes, &to, to_bytes);
  }
  return result;
}

/// Correctly rounded square root.
template <class T, class Isa>
FLAGGEMS_INLINE simd<T, Isa> sqrt(const simd<T, Isa>& x) {
  static_assert(is_same<T, f32> || is_same<T, f64>);
  return each_part<T>(x, [](auto& to, const auto& from) FLAGGEMS_LAMBDA {
#if FLAGGEMS_ARCH_X86
    if constexpr (is_same<Isa, isa_baseline> && is_same<T, f32>)
      asm("sqrtps %1, %0" : "=x"(to) : "x"(from));
    else if constexpr (is_same<Isa, isa_baseline>)
      asm("sqrtpd %1, %0" : "=x"(to) : "x"(from));
    else if constexpr (is_same<T, f32>)
      asm("vsqrtps %1, %0" : "=v"(to) : "v"(from));
    else
      asm("vsqrtpd %1, %0" : "=v"(to) : "v"(from));
#elif FLAGGEMS_ARCH_ARM64
    if constexpr (is_same<T, f32>)
      asm("fsqrt %0.4s, %1.4s" : "=w"(to) : "w"(from));
    else
      asm("fsqrt %0.2d, %1.2d" : "=w"(to) : "w"(from));
#else
    for (unsigned i = 0; i < sizeof(to) / sizeof(T); ++i)
      to[i] = static_cast<T>(__builtin_sqrt(static_cast<f64>(from[i])));
#endif
  });
}

// ---- f16: hardware conversion where the level has it
template <class Isa>
inline constexpr bool has_f16_conversion = FLAGGEMS_ARCH_X86 != 0 &&
                                           (is_same<Isa, isa_avx2> || is_same<Isa, isa_avx512>);

/// The f32 values of small floats given by their bits. Exact.
template <class Format, class Isa>
FLAGGEMS_INLINE simd<f32, Isa> decode_small(const simd<typename Format::storage, Isa>& bits) {
  if constexpr (is_same<Format, f16_format> && has_f16_conversion<Isa>) {
    return each_part<f32>(bits, [](auto& to, const auto& from) FLAGGEMS_LAMBDA {
#if FLAGGEMS_ARCH_X86
      asm("vcvtph2ps %1, %0" : "=v"(to) : "v"(from));
#endif
    });
  } else {
    using U = simd<u32, Isa>;
    return bit_cast<simd<f32, Isa>>(decode_bits<Format, simd<f32, Isa>>(U(convert<u32>(bits))));
  }
}

/// The bits of the small floats nearest to `x`, ties to even.
template <class Format, class Isa>
FLAGGEMS_INLINE simd<typename Format::storage, Isa> encode_small(const simd<f32, Isa>& x) {
  if constexpr (is_same<Format, f16_format> && has_f16_conversion<Isa>) {
    return each_part<u16>(x, [](auto& to, const auto& from) FLAGGEMS_LAMBDA {
#if FLAGGEMS_ARCH_X86
      asm("vcvtps2ph $0, %1, %0" : "=v"(to) : "v"(from));
#endif
    });
  } else {
    using U = simd<u32, Isa>;
    return convert<typename Format::storage>(
        U(encode_bits<Format, simd<f32, Isa>>(bit_cast<U>(x))));
  }
}

/// The lanes of `x` folded into one by a tree in a fixed order.
template <class V, class Op>
FLAGGEMS_INLINE element_of<V> horizontal(const V& x, Op op) {
  using T = element_of<V>;
  T lane[V::lanes];
  for (int i = 0; i < V::lanes; ++i) lane[i] = x[i];
  for (int step = V::lanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lane[i] = static_cast<T>(op(lane[i], lane[i + step]));
  return lane[0];
}

}  // namespace flaggems::kernels
