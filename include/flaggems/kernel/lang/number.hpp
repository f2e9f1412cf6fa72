// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The 16- and 8-bit floating-point storage types. They convert to and from f32, rounding to
// nearest, ties to even; all arithmetic happens in f32.
#pragma once

#include <flaggems/kernel/lang/complex.hpp>

namespace flaggems {
namespace kernels {

/// A small float format: `Mantissa` explicit bits, exponent `Bias`. Formats without infinities use
/// only the all-ones pattern as NaN (the "fn" formats of OCP 8-bit floating point).
template <class Storage, int Mantissa, int Bias, bool HasInfinity>
struct small_float_format {
  using storage = Storage;
  static constexpr int mantissa = Mantissa;
  static constexpr int bits = static_cast<int>(sizeof(Storage)) * 8;
  static constexpr int shift = 23 - Mantissa;     // from an f32's mantissa to this one's
  static constexpr u32 sign = 1u << (bits - 1);   // the sign bit
  static constexpr u32 rest = sign - 1u;          // exponent and mantissa
  static constexpr u32 rebias = u32(127 - Bias);  // f32 exponent minus this format's
  static constexpr u32 least_normal = 1u << Mantissa;
  // The first pattern that is not finite.
  static constexpr u32 limit = HasInfinity ? rest - ((1u << Mantissa) - 1u) : rest;
  static constexpr u32 quiet_nan = HasInfinity ? limit | (1u << (Mantissa - 1)) : rest;
  static constexpr bool has_infinity = HasInfinity;
};

using f16_format = small_float_format<u16, 10, 15, true>;
using bf16_format = small_float_format<u16, 7, 127, true>;
using f8e4m3_format = small_float_format<u8, 3, 7, false>;
using f8e5m2_format = small_float_format<u8, 2, 15, true>;

/// The f32 that equals a small float given by its bits; exact. `U` is u32 or a vector of u32, `F`
/// the f32 (vector) of the same width. Signalling NaNs become quiet as in hardware, except those of
/// bf16: as in PyTorch they stay until arithmetic or a conversion, since testing every load is
/// expensive.
template <class Format, class F, class U>
FLAGGEMS_INLINE constexpr U decode_bits(const U& h) {
  constexpr u32 rebias = Format::rebias << 23;
  constexpr u32 subnormal = (Format::rebias + 1u) << 23;
  if constexpr (Format::rebias == 0) {  // bf16: the upper half of an f32
    return h << Format::shift;
  } else {
    const U em = h & Format::rest;
    const U sign = (h & Format::sign) << (32 - Format::bits);
    U r = (em << Format::shift) + rebias;
    // A subnormal is m * 2^e; written under a normal exponent, one exact subtraction gives it.
    const U subnormal_value = bit_cast<U>(F(bit_cast<F>(U((em << Format::shift) + subnormal)) -
                                            bit_cast<F>(U((em & 0u) | subnormal))));
    r = select(em < Format::least_normal, subnormal_value, r);
    if constexpr (Format::has_infinity) {
      r = select(em >= Format::limit, U((em << Format::shift) | 0x7f800000u), r);
      r = select(em > Format::limit, U(r | 0x00400000u), r);
    } else {
      r = select(em == Format::limit, U((em & 0u) | 0x7fc00000u), r);
    }
    return sign | r;
  }
}

/// The small float nearest to an f32 given by its bits, ties to even. Overflow gives infinity, or
/// NaN in a format without infinities, as in PyTorch.
template <class Format, class F, class U>
FLAGGEMS_INLINE constexpr U encode_bits(const U& x) {
  constexpr u32 below_half = (1u << (Format::shift - 1)) - 1u;
  if constexpr (Format::rebias == 0) {  // bf16; the same bits as the AVX-512-BF16 instruction
    const U rounded = x + below_half + ((x >> Format::shift) & 1u);
    const F f = bit_cast<F>(x);
    return select(f != f, U(x | 0x00400000u), rounded) >> Format::shift;
  } else {
    const U a = x & 0x7fffffffu;
    const U sign = (x >> (32 - Format::bits)) & Format::sign;
    constexpr u32 rebias = Format::rebias << Format::mantissa;
    const U odd = (a >> Format::shift) & 1u;
    U r = ((a + below_half + odd) >> Format::shift) - rebias;
    // Adding a power of two whose unit in the last place is the smallest subnormal rounds to it.
    constexpr u32 magic = (Format::rebias + 1u + static_cast<u32>(Format::shift)) << 23;
    constexpr u32 least_normal = (Format::rebias + 1u) << 23;
    const U subnormal_value =
        bit_cast<U>(F(bit_cast<F>(a) + bit_cast<F>(U((a & 0u) | magic)))) - magic;
    r = select(a < least_normal, subnormal_value, r);
    constexpr u32 limit = (Format::rebias << 23) + (Format::limit << Format::shift);
    r = select(a >= limit, U((a & 0u) | Format::limit), r);
    r = select(a > 0x7f800000u, U((a & 0u) | Format::quiet_nan), r);
    return sign | r;
  }
}

#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
// One instruction each instead of 6 (bf16) or 20 (f16). NaN becomes a quiet one.
#if FLAGGEMS_CUDA_ROUNDS_BF16
FLAGGEMS_INLINE u16 encode_at_once(f32 x, bf16_format) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
#endif
FLAGGEMS_INLINE u16 encode_at_once(f32 x, f16_format) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
FLAGGEMS_INLINE f32 decode_at_once(u16 x, f16_format) {
  f32 r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}
#endif

/// The bits of the small float nearest to `x`, by a hardware conversion.
template <class Format>
FLAGGEMS_INLINE constexpr typename Format::storage encode(f32 x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr ((is_same<Format, bf16_format> && FLAGGEMS_CUDA_ROUNDS_BF16) ||
                is_same<Format, f16_format>)
    if (!__builtin_is_constant_evaluated()) return encode_at_once(x, Format{});
#endif
  return static_cast<typename Format::storage>(encode_bits<Format, f32>(bit_cast<u32>(x)));
}
/// The value of a small float's bits, by a hardware conversion.
template <class Format>
FLAGGEMS_INLINE constexpr f32 decode(typename Format::storage bits) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<Format, f16_format>)
    if (!__builtin_is_constant_evaluated()) return decode_at_once(bits, Format{});
#endif
  return bit_cast<f32>(decode_bits<Format, f32>(static_cast<u32>(bits)));
}

/// `x` as f32, rounded to odd: inexact results get an odd last bit. Converting f64 through it to a
/// smaller type therefore rounds once.
FLAGGEMS_INLINE constexpr f32 round_to_odd(f64 x) {
  const f32 f = static_cast<f32>(x);
  const f64 back = static_cast<f64>(f);
  u32 bits = bit_cast<u32>(f);
  // NaN stays. An infinity from overflow steps back to the largest f32, which overflows in every
  // smaller type too.
  if (back != x && x == x && (bits & 1u) == 0u) {
    const bool too_large = x < 0 ? back < x : back > x;
    bits = too_large ? bits - 1u : bits + 1u;
  }
  return bit_cast<f32>(bits);
}

template <class T>
inline constexpr bool is_builtin_number =
    is_integer<T> || is_same<T, bool> || is_same<T, f32> || is_same<T, f64> ||
    is_same<T, long long> || is_same<T, unsigned long long>;

/// The storage type of a small float. Widening to f32 is implicit and exact; narrowing, also from
/// f64, is explicit and correctly rounded.
template <class Format>
struct small_float {
  using format = Format;
  typename Format::storage bits;

  small_float() = default;
  FLAGGEMS_INLINE explicit constexpr small_float(f32 x) : bits(encode<Format>(x)) {}
  FLAGGEMS_INLINE explicit constexpr small_float(f64 x) : small_float(round_to_odd(x)) {}
  template <class T, conditional<is_integer<T> || is_same<T, bool>, int, void> = 0>
  FLAGGEMS_INLINE explicit constexpr small_float(T x) : small_float(static_cast<f64>(x)) {}

  FLAGGEMS_INLINE constexpr operator f32() const { return decode<Format>(bits); }
  /// The value whose bits are `b`.
  FLAGGEMS_INLINE static constexpr small_float from_bits(typename Format::storage b) {
    small_float r{};
    r.bits = b;
    return r;
  }
};

template <class T>
inline constexpr bool is_small_float = false;
template <class Format>
inline constexpr bool is_small_float<small_float<Format>> = true;

}  // namespace kernels

/// IEEE 754 binary16.
using f16 = kernels::small_float<kernels::f16_format>;
/// bfloat16: the upper half of an f32.
using bf16 = kernels::small_float<kernels::bf16_format>;
/// OCP E4M3: no infinities, largest value 448.
using f8e4m3 = kernels::small_float<kernels::f8e4m3_format>;
/// OCP E5M2: largest finite value 57344.
using f8e5m2 = kernels::small_float<kernels::f8e5m2_format>;

namespace kernels {

template <class T>
inline constexpr bool is_floating = is_same<T, f32> || is_same<T, f64> || is_small_float<T>;
/// Whether a number to compute with is NaN; no integer is.
template <class T>
FLAGGEMS_INLINE constexpr bool is_nan(T x) {
  if constexpr (is_floating<T>)
    return x != x;
  else
    return false;
}

/// The compute type of T: f32 for the small floats, else T itself.
template <class T>
using compute_type = conditional<is_small_float<T>, f32, T>;

/// The limits for converting a float F to an integer T: x is in range if least - 1 < x < end.
template <class T, class F>
struct integer_range {
  static constexpr bool is_signed = T(-1) < T(0);
  static constexpr int digits = static_cast<int>(sizeof(T)) * 8 - (is_signed ? 1 : 0);
  static constexpr T highest = static_cast<T>(~u64(0) >> (64 - digits));
  static constexpr T lowest = is_signed ? static_cast<T>(~highest) : T(0);
  static constexpr F end = static_cast<F>(u64(1) << (digits - 1)) * F(2);
  static constexpr F least = is_signed ? -end : F(0);
};

/// x truncated to an integer T. Out of range values saturate and NaN becomes 0: C++ leaves both
/// undefined, and machines differ.
template <class T, class F>
FLAGGEMS_INLINE constexpr T truncate_to(F x) {
  using range = integer_range<T, F>;
  if (x >= range::end) return range::highest;
  if (x > range::least) return static_cast<T>(x);
  return x == x ? range::lowest : T(0);
}

/// `x` as a To: C++'s conversion, but with one rounding for small floats and `truncate_to` from
/// floats to integers. Conversion to bool gives true for all but zero, NaN included. A complex
/// number becomes its real part.
template <class To, class From>
FLAGGEMS_INLINE constexpr To number_cast(From x) {
  if constexpr (is_same<To, From>)
    return x;
  else if constexpr (is_complex<From> && is_complex<To>)
    return {number_cast<real_of<To>>(x.re), number_cast<real_of<To>>(x.im)};
  else if constexpr (is_complex<From> && is_same<To, bool>)
    return x.re != 0 || x.im != 0;
  else if constexpr (is_complex<From>)
    return number_cast<To>(x.re);
  else if constexpr (is_complex<To>)
    return {number_cast<real_of<To>>(x), real_of<To>(0)};
  else if constexpr (is_same<To, bool>)
    return static_cast<compute_type<From>>(x) != compute_type<From>(0);
  else if constexpr (is_small_float<From>)
    return number_cast<To>(static_cast<f32>(x));
  else if constexpr ((is_same<From, f32> || is_same<From, f64>)&&!is_floating<To>)
    return truncate_to<To>(x);
  else
    return static_cast<To>(x);
}

}  // namespace kernels
}  // namespace flaggems

FLAGGEMS_TEXT("flaggems/kernel/lang/number.hpp");
