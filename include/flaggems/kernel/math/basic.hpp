// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The basis of the elementary functions: the layout of f32 and f64, polynomials, and small
// functions (rounding, classification, minimum and maximum). Every function serves f32, f64 and
// vectors of them; none branches on a value.
#pragma once

#include <flaggems/kernel/lang/value.hpp>

namespace flaggems::kernels {

// ---- the layout of a floating-point type
template <class T>
struct float_format;
template <>
struct float_format<f32> {
  using bits = u32;
  static constexpr int mantissa = 23;
  static constexpr int bias = 127;
};
template <>
struct float_format<f64> {
  using bits = u64;
  static constexpr int mantissa = 52;
  static constexpr int bias = 1023;
};

template <class V>
inline constexpr bool is_f32_value = is_same<element_of<V>, f32>;
template <class V>
inline constexpr bool is_f64_value = is_same<element_of<V>, f64>;
/// f32, f64, and vectors of them.
template <class V>
inline constexpr bool is_math_value = is_f32_value<V> || is_f64_value<V>;
/// `template <class V, if_math<V> = 0>`: for those values only.
template <class V>
using if_math = conditional<is_math_value<V>, int, void>;
template <class V>
inline constexpr bool is_integer_value = is_integer<element_of<V>>;

/// The unsigned integers of the bits of V.
template <class V>
using bits_of = rebind<V, typename float_format<element_of<V>>::bits>;

/// 2^e as an element of V; e within the normal range.
template <class V>
FLAGGEMS_INLINE constexpr element_of<V> power_of_two(int e) {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  return bit_cast<element_of<V>>(
      static_cast<bits>(static_cast<bits>(e + format::bias) << format::mantissa));
}
/// The bits of 1.
template <class V>
FLAGGEMS_INLINE constexpr typename float_format<element_of<V>>::bits one_bits() {
  using format = float_format<element_of<V>>;
  return static_cast<typename format::bits>(format::bias) << format::mantissa;
}
template <class V>
FLAGGEMS_INLINE constexpr element_of<V> infinity_of() {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  return bit_cast<element_of<V>>(static_cast<bits>(bits(2 * format::bias + 1) << format::mantissa));
}
/// The greatest finite number.
template <class V>
FLAGGEMS_INLINE constexpr element_of<V> greatest_of() {
  using bits = typename float_format<element_of<V>>::bits;
  return bit_cast<element_of<V>>(static_cast<bits>(bit_cast<bits>(infinity_of<V>()) - 1));
}
template <class V>
FLAGGEMS_INLINE constexpr element_of<V> nan_of() {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  return bit_cast<element_of<V>>(
      static_cast<bits>((bits(4 * format::bias + 3)) << (format::mantissa - 1)));
}
/// Added to a small number and subtracted again, it rounds to an integer; the sum's low bits are
/// that integer in two's complement.
template <class V>
FLAGGEMS_INLINE constexpr element_of<V> rounding_shift() {
  return element_of<V>(1.5f) * power_of_two<V>(float_format<element_of<V>>::mantissa);
}

// ---- operations that the vectors have and the scalars lack
#if FLAGGEMS_LANGUAGE_CUDA
FLAGGEMS_INLINE f32 sqrt(f32 x) { return ::sqrtf(x); }
FLAGGEMS_INLINE f64 sqrt(f64 x) { return ::sqrt(x); }
FLAGGEMS_INLINE f32 fma(f32 a, f32 b, f32 c) { return ::fmaf(a, b, c); }
FLAGGEMS_INLINE f64 fma(f64 a, f64 b, f64 c) { return ::fma(a, b, c); }
#elif FLAGGEMS_LANGUAGE_OPENCL
FLAGGEMS_INLINE f32 sqrt(f32 x) { return ::sqrt(x); }
FLAGGEMS_INLINE f64 sqrt(f64 x) { return ::sqrt(x); }
FLAGGEMS_INLINE f32 fma(f32 a, f32 b, f32 c) { return ::fma(a, b, c); }
FLAGGEMS_INLINE f64 fma(f64 a, f64 b, f64 c) { return ::fma(a, b, c); }
#else
/// Correctly rounded square root.
FLAGGEMS_INLINE f32 sqrt(f32 x) { return __builtin_sqrtf(x); }
FLAGGEMS_INLINE f64 sqrt(f64 x) { return __builtin_sqrt(x); }
#if FLAGGEMS_DEVICE_CODE
FLAGGEMS_INLINE f32 fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
FLAGGEMS_INLINE f64 fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#else
/// a * b + c; one rounding where the level has FMA and the compiler contracts, two elsewhere.
FLAGGEMS_INLINE f32 fma(f32 a, f32 b, f32 c) { return a * b + c; }
FLAGGEMS_INLINE f64 fma(f64 a, f64 b, f64 c) { return a * b + c; }
#endif
#endif

/// a * b + c, rounded once everywhere. On the host this calls the C library, so no kernel of the
/// host uses it.
FLAGGEMS_INLINE f32 fused(f32 a, f32 b, f32 c) {
#if FLAGGEMS_DEVICE_CODE
  return fma(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
/// horner with such sums.
FLAGGEMS_INLINE f32 fused_horner(f32, f32 c) { return c; }
template <class... C>
FLAGGEMS_INLINE f32 fused_horner(f32 x, f32 c, f32 next, C... rest) {
  return fused(x, fused_horner(x, next, rest...), c);
}

/// Keeps a device compiler from computing both sides of a uniform branch.
FLAGGEMS_INLINE void stay_in_branch() {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  asm volatile("");
#endif
}

/// a / b with an error of 2 ulp, where 1 / b is a normal number, or so small that the result is 0:
/// by a SIMT device's instruction.
template <class V>
FLAGGEMS_INLINE V near_quotient(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {
    f32 inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    return a * inverse;
  }
#endif
  return V(a / b);
}

/// 1 / sqrt(x) with an error of 2 ulp: by a SIMT device's instruction.
template <class V>
FLAGGEMS_INLINE V near_inverse_root(FLAGGEMS_VALUE(V) x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {
    f32 r;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
  }
#endif
  return V(V(element_of<V>(1)) / sqrt(x));
}

/// sqrt(x) with an error of 2 ulp, where x is 0 or not below the normal range: by a SIMT device's
/// instruction.
template <class V>
FLAGGEMS_INLINE V near_root(FLAGGEMS_VALUE(V) x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {
    f32 r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
  }
#endif
  return sqrt(x);
}

// The same corrected once, for an error of 1 ulp: fewer instructions than for all numbers.

/// a / b, where a, b and the result are 0 or within 2^-100 and 2^100, but not b.
template <class V>
FLAGGEMS_INLINE V moderate_quotient(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {
    const f32 inverse = near_quotient(1.0f, b), q = a * inverse;
    return fma(fma(-b, q, a), inverse, q);
  }
#endif
  return V(a / b);
}
/// sqrt(x), where x is 0 or within 2^-70 and 2^100; NaN for x < 0.
template <class V>
FLAGGEMS_INLINE V moderate_root(FLAGGEMS_VALUE(V) x) {
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {
    const f32 inverse = near_inverse_root(x + 0x1p-100f), r = x * inverse;
    return fma(fma(-r, r, x), 0.5f * inverse, r);
  }
#endif
  return sqrt(x);
}

#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
// From the bits they would be one instruction, which as |x| is part of others, and two.
FLAGGEMS_INLINE f32 abs(f32 x) { return ::fabsf(x); }
FLAGGEMS_INLINE f32 copysign(f32 magnitude, f32 sign) { return ::copysignf(magnitude, sign); }
#else
FLAGGEMS_INLINE constexpr f32 abs(f32 x) { return bit_cast<f32>(bit_cast<u32>(x) & 0x7fffffffu); }
FLAGGEMS_INLINE constexpr f32 copysign(f32 magnitude, f32 sign) {
  return bit_cast<f32>((bit_cast<u32>(magnitude) & 0x7fffffffu) |
                       (bit_cast<u32>(sign) & 0x80000000u));
}
#endif
FLAGGEMS_INLINE constexpr f64 abs(f64 x) {
  return bit_cast<f64>(bit_cast<u64>(x) & (~u64(0) >> 1));
}
/// |x| of an integer; the least value stays itself.
template <class T, conditional<is_integer<T> || is_same<T, bool>, int, void> = 0>
FLAGGEMS_INLINE constexpr T abs(T x) {
  if constexpr (is_signed_integer<T>) {
    using U = uint_of_size<sizeof(T)>;
    return x < 0 ? static_cast<T>(static_cast<U>(U(0) - static_cast<U>(x))) : x;
  } else {
    return x;
  }
}
FLAGGEMS_INLINE constexpr f64 copysign(f64 magnitude, f64 sign) {
  return bit_cast<f64>((bit_cast<u64>(magnitude) & (~u64(0) >> 1)) |
                       (bit_cast<u64>(sign) & ~(~u64(0) >> 1)));
}

// ---- polynomials
template <class V>
FLAGGEMS_INLINE V horner(FLAGGEMS_VALUE(V), identity<element_of<V>> c) {
  return V(c);
}
/// c + x (next + x (...)), the coefficient of x^0 first.
template <class V, class... C>
FLAGGEMS_INLINE V horner(FLAGGEMS_VALUE(V) x, identity<element_of<V>> c, element_of<V> next,
                         C... rest) {
  return fma(x, horner(x, next, rest...), V(c));
}

/// `x` with the lower half of its significand cleared: the product of two such numbers is exact, so
/// that double-width arithmetic on them is right whether or not the compiler contracts to FMA.
template <class V>
FLAGGEMS_INLINE V upper_half(FLAGGEMS_VALUE(V) x) {
  using format = float_format<element_of<V>>;
  constexpr int dropped = (format::mantissa + 2) / 2;
  using bits = typename format::bits;
  return bit_cast<V>(bits_of<V>(bit_cast<bits_of<V>>(x) & bits_of<V>(~bits(0) << dropped)));
}

/// Is any lane true?
FLAGGEMS_INLINE constexpr bool any_lane(bool m) { return m; }
/// Is any lane of x above its limit?
template <class V>
FLAGGEMS_INLINE bool any_above(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) limit) {
  if constexpr (tests_at_once<V>)
    return is_any_above(x, limit);
  else
    return any_lane(mask_of<V>(x > limit));
}
// ---- classification
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE mask_of<V> isnan(FLAGGEMS_VALUE(V) x) {
  return x != x;
}
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE mask_of<V> isinf(FLAGGEMS_VALUE(V) x) {
  return abs(x) == V(infinity_of<V>());
}
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE mask_of<V> isfinite(FLAGGEMS_VALUE(V) x) {
  return abs(x) < V(infinity_of<V>());
}

// ---- order
/// The greater of both; NaN if either is (as torch.maximum). Of two zeros, the second one.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V maximum(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  if constexpr (is_same<element_of<V>, bool>)
    return V(a | b);
  else if constexpr (is_math_value<V>)
    return select(mask_of<V>(a != a), a, greater_of(a, b));  // b NaN: not greater, so b is taken
  else
    return select(mask_of<V>(a > b), a, b);
}
/// The lesser of both; NaN if either is (as torch.minimum). Of two zeros, the second one.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V minimum(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  if constexpr (is_same<element_of<V>, bool>)
    return V(a & b);
  else if constexpr (is_math_value<V>)
    return select(mask_of<V>(a != a), a, lesser_of(a, b));
  else
    return select(mask_of<V>(a < b), a, b);
}
/// 0 if x < 0, else x.
template <class V, if_value<V> = 0>
FLAGGEMS_INLINE V relu(FLAGGEMS_VALUE(V) x) {
  if constexpr (is_same<element_of<V>, bool>)
    return x;
  else
    return greater_of(V(element_of<V>(0)), x);
}
/// `x` clamped to [low, high]; NaN stays NaN.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V keep_within(FLAGGEMS_VALUE(V) x, identity<element_of<V>> low,
                              identity<element_of<V>> high) {
  return lesser_of(V(high), greater_of(V(low), x));
}

// ---- rounding to an integer
/// The nearest integer, ties to even.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V round(FLAGGEMS_VALUE(V) x) {
  const V shift(power_of_two<V>(float_format<element_of<V>>::mantissa));
  const V a = abs(x);
  const V r = copysign(V((a + shift) - shift), x);
  return select(mask_of<V>(a < shift), r, x);
}
/// The greatest integer not above x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V floor(FLAGGEMS_VALUE(V) x) {
  const V r = round(x);
  const V one(element_of<V>(1));
  return copysign(select(mask_of<V>(r > x), V(r - one), r), x);
}
/// The least integer not below x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V ceil(FLAGGEMS_VALUE(V) x) {
  const V r = round(x);
  const V one(element_of<V>(1));
  return copysign(select(mask_of<V>(r < x), V(r + one), r), x);
}
/// x without its fraction.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V trunc(FLAGGEMS_VALUE(V) x) {
  return copysign(floor(abs(x)), x);
}

/// sqrt(a^2 + b^2) without overflow in between; infinite if one is, whatever the other.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V hypot(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  using T = element_of<V>;
  constexpr int distant = float_format<T>::bias / 2 - 4;
  const V x = abs(a), y = abs(b);
  const V greater = maximum(x, y), lesser = minimum(x, y), one(T(1));
  const mask_of<V> large = greater > V(power_of_two<V>(distant)),
                   tiny = greater < V(power_of_two<V>(-distant));
  const V scale = select(large, V(power_of_two<V>(-distant - 8)),
                         select(tiny, V(power_of_two<V>(distant + 24)), one));
  const V back = select(large, V(power_of_two<V>(distant + 8)),
                        select(tiny, V(power_of_two<V>(-distant - 24)), one));
  const V p = greater * scale, q = lesser * scale;
  const V r = sqrt(V(p * p + q * q)) * back;
  const V infinity(infinity_of<V>());
  return select(mask_of<V>((x == infinity) | (y == infinity)), infinity, r);
}

/// 1 / x, correctly rounded.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V reciprocal(FLAGGEMS_VALUE(V) x) {
  return V(element_of<V>(1)) / x;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/basic.hpp");
