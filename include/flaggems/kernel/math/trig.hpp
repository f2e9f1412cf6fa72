// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// sin, cos, tan, and sinc. |x| up to about 1e5 is reduced by multiples of pi / 2 held in pieces
// whose products with the multiple are exact (Cody and Waite); anything beyond, lane by lane, in
// integers with the binary digits of 2 / pi that matter (Payne and Hanek).
#pragma once

#include <flaggems/kernel/math/basic.hpp>

namespace flaggems::kernels {

/// Word i of the binary fraction of 2 / pi, after two words of zeros.
FLAGGEMS_INLINE u32 two_over_pi_word(int i) {
  FLAGGEMS_TABLE u32 words[] = {
      0u,          0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
      0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu,
      0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u,
      0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu,
      0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u,
      0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u};
  return words[i];
}

/// `reduce_quadrant` for one finite |x| >= 2^16, with 94 (f32) or 190 (f64) bits of the fraction.
template <class T>
FLAGGEMS_INLINE T reduce_huge(T x, identity<T>& r_low,
                              typename float_format<T>::bits& quadrant_bits) {
  using format = float_format<T>;
  using bits = typename format::bits;
  constexpr int n = is_same<T, f32> ? 3 : 6;  // 32-bit words of the product modulo 4
  const bits raw = bit_cast<bits>(x);
  const u64 m = (raw & ((bits(1) << format::mantissa) - 1)) | (bits(1) << format::mantissa);
  const int exponent = static_cast<int>((raw >> format::mantissa) & (2 * format::bias + 1)) -
                       format::bias - format::mantissa;
  // x = +-m 2^exponent. The fraction bits of 2 / pi before number exponent - 1 give multiples of 4.
  const int at = exponent - 2 + 64;
  u32 window[6];
  for (int i = 0; i < n; ++i) {
    const u64 pair = (u64(two_over_pi_word(at / 32 + i)) << 32) | two_over_pi_word(at / 32 + i + 1);
    window[i] = static_cast<u32>(pair >> (32 - at % 32));
  }
  // product = m * window modulo 2^(32 n), the most significant word first
  u32 product[6];
  u64 carry = 0;
  for (int i = n - 1; i >= 0; --i) {
    carry += (m & 0xffffffffu) * window[i];
    product[i] = static_cast<u32>(carry);
    carry >>= 32;
  }
  if (n == 6) {
    carry = 0;
    for (int i = n - 2; i >= 0; --i) {
      carry += (m >> 32) * window[i + 1] + product[i];
      product[i] = static_cast<u32>(carry);
      carry >>= 32;
    }
  }
  u32 quadrant = (product[0] + 0x20000000u) >> 30;
  // The fraction of a quadrant in [-1/2, 1/2), as a two's complement number of 128 bits.
  const u64 top = (u64(product[0]) << 32) | product[1];
  const u64 next = n == 6 ? (u64(product[2]) << 32) | product[3] : u64(product[2]) << 32;
  const u64 after = n == 6 ? u64(product[4]) << 32 : 0;
  // Halved, so that the rounded upper part is an i64 again.
  const i64 upper = static_cast<i64>((top << 2) | (next >> 62)) >> 1;
  const u64 lower = (next << 1) | (after >> 63);
  // As a sum: to floating point, and what that rounded away. 2^-63 per unit of `upper`.
  T high = static_cast<T>(upper);
  T low =
      static_cast<T>(upper - static_cast<i64>(high)) + static_cast<T>(lower) * power_of_two<T>(-64);
  const T scale = power_of_two<T>(-63);
  const T sum = high + low;
  low = (low - (sum - high)) * scale;
  high = sum * scale;
  // Times pi / 2.
  const T high_upper = upper_half(high);
  const T high_lower = high - high_upper;
  T c_high, c_low, c;
  if constexpr (is_same<T, f32>) {
    c_high = 1.5703125f;
    c_low = 0.00048382679489661923132f;
    c = 1.57079632679489661923f;
  } else {
    c_high = 1.5707963109016418457;
    c_low = 1.5893254773528196692e-8;
    c = 1.57079632679489661923;
  }
  const T first = high_upper * c_high;  // exact
  const T second = high_upper * c_low + (high_lower * c + low * c);
  T r = first + second;
  r_low = second - (r - first);
  if ((raw >> (format::mantissa + (is_same<T, f32> ? 8 : 11))) != 0) {  // negative
    quadrant = 0u - quadrant;
    r = -r;
    r_low = -r_low;
  }
  quadrant_bits = static_cast<bits>(quadrant);
  return r;
}

/// x - q pi / 2 = r + r_low for an integer |q| < 2^17 of a rest up to 1, with fused sums: returns
/// r.
template <class V>
FLAGGEMS_INLINE V rest_of_quadrants_fused(FLAGGEMS_VALUE(V) x, FLAGGEMS_VALUE(V) q,
                                          identity<V>& r_low) {
  constexpr f32 high = 1.57079637f, middle = -4.37113883e-8f, low = -1.71512451e-15f;
  const V first = fused(q, V(-high), x);  // exact
  const V product = q * V(middle), r = first - product;
  r_low = ((first - r) - product) + fused(q, V(-low), fused(q, V(-middle), product));
  return r;
}
/// x = quadrant * pi / 2 + r + r_low, |r| <= about pi / 4: returns r. Of the quadrant only the two
/// low bits count.
template <class V>
FLAGGEMS_INLINE V reduce_quadrant(FLAGGEMS_VALUE(V) x, identity<V>& r_low, bits_of<V>& quadrant) {
  using T = element_of<V>;
  const V shift(rounding_shift<V>());
  const V shifted = fma(x, V(T(0.63661977236758134308)), shift);
  const V q = shifted - shift;
  V r, third, fourth, last;
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  constexpr bool is_fused = is_same<V, f32>;
#else
  constexpr bool is_fused = fuses_at_once<V>;
#endif
  if constexpr (is_fused) {
    r = rest_of_quadrants_fused<V>(x, q, r_low);
  } else if constexpr (is_f32_value<V>) {
    r = fma(q, V(-1.5703125f), x);
    r = fma(q, V(-0.000457763671875f), r);
    r = fma(q, V(-0.0000259876251220703125f), r);  // exact up to here
    third = q * V(7.5437128543853759765625e-8f);
    fourth = q * V(6.002665031701326370239258e-11f);
    last = q * V(7.4435474804866231236e-13f);
  } else {
    r = fma(q, V(-1.57079632673412561417e+00), x);
    third = q * V(6.07710050630396597660e-11);
    fourth = q * V(2.02226624871116645580e-21);
    last = q * V(8.47842766036889956997e-32);
  }
  if constexpr (!is_fused) {
    const V r1 = r - third;
    const V error1 = (r - r1) - third;
    r = r1 - fourth;
    const V error2 = (r1 - r) - fourth;
    r_low = (error1 + error2) - last;
  }
  quadrant = bit_cast<bits_of<V>>(shifted);
  constexpr T limit = is_f32_value<V> ? T(1e5f) : T(1e6f);
  if (any_above(abs(x), V(limit))) {
    // Infinities and NaN stay on the path above, which makes NaN of them.
    if constexpr (is_simd<V>) {
      V head = r, tail = r_low;
      bits_of<V> turns = quadrant;
      for (int i = 0; i < V::lanes; ++i) {
        const T lane = x[i];
        if (abs(lane) > limit && abs(lane) < infinity_of<T>()) {
          T lane_tail;
          typename float_format<T>::bits lane_turns;
          head.v[i] = reduce_huge(lane, lane_tail, lane_turns);
          tail.v[i] = lane_tail;
          turns.v[i] = lane_turns;
        }
      }
      r = head;
      r_low = tail;
      quadrant = turns;
    } else {
      if (abs(x) < infinity_of<V>()) r = reduce_huge(x, r_low, quadrant);
    }
  }
  return r;
}

/// sin(r + r_low) for |r| <= pi / 4.
template <class V>
FLAGGEMS_INLINE V sin_of_remainder(FLAGGEMS_VALUE(V) r, FLAGGEMS_VALUE(V) r_low) {
  const V z = r * r;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, -1.666666664e-01f, 8.333328890e-03f, -1.983917609e-04f, 2.716810113e-06f);
  else
    tail = horner(z, -0.166666666666666666, 0.00833333333333332001, -0.000198412698412519218,
                  2.75573192125550971e-6, -2.50521044853131698e-8, 1.60583123432570565e-10,
                  -7.57601065792036337e-13);
  return r + fma(V(r * z), tail, r_low);
}
/// cos(r + r_low) for |r| <= pi / 4.
template <class V>
FLAGGEMS_INLINE V cos_of_remainder(FLAGGEMS_VALUE(V) r, FLAGGEMS_VALUE(V) r_low) {
  using T = element_of<V>;
  const V z = r * r;
  V tail;
  if constexpr (is_f32_value<V>)
    tail = horner(z, 4.166666662e-02f, -1.388888311e-03f, 2.479935088e-05f, -2.719634426e-07f);
  else
    tail = horner(z, 0.0416666666666666666, -0.00138888888888888703, 0.000024801587301568093,
                  -2.75573192139224664e-7, 2.08767540408892163e-9, -1.14702566074263438e-11,
                  4.7364674628258846e-14);
  const V one(T(1));
  const V half_square = V(T(0.5f)) * z;
  const V first = one - half_square;
  return first + (((one - first) - half_square) + fma(V(z * z), tail, V(-(r * r_low))));
}
/// The same with an error of 0.8 ulp in f32, by fewer instructions.
template <class V>
FLAGGEMS_INLINE V brief_cos_of_remainder(FLAGGEMS_VALUE(V) r, FLAGGEMS_VALUE(V) r_low) {
  if constexpr (!is_f32_value<V>) return cos_of_remainder(r, r_low);
  const V z = r * r;
  const V bend =
      horner(z, -0.5f, 4.166666662e-02f, -1.388888311e-03f, 2.479935088e-05f, -2.719634426e-07f);
  return V(element_of<V>(1)) + fma(z, bend, V(-(r * r_low)));
}

/// sin(x + turns * pi / 2).
template <class V>
FLAGGEMS_INLINE V sin_shifted(FLAGGEMS_VALUE(V) x, int turns) {
  using format = float_format<element_of<V>>;
  using bits = typename format::bits;
  using U = bits_of<V>;
  V r_low;
  U quadrant;
  const V r = reduce_quadrant(x, r_low, quadrant);
  quadrant = quadrant + U(static_cast<bits>(turns));
  const V s = sin_of_remainder(r, r_low);
  const V c = brief_cos_of_remainder(r, r_low);
  const V y = select(mask_of<V>((quadrant & U(bits(1))) == U(bits(0))), s, c);
  const U sign = (quadrant & U(bits(2))) << (static_cast<int>(sizeof(bits)) * 8 - 2);
  return bit_cast<V>(U(bit_cast<U>(y) ^ sign));
}

/// Sine, for every x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V sin(FLAGGEMS_VALUE(V) x) {
  using bits = typename float_format<element_of<V>>::bits;
  using U = bits_of<V>;
  const V y = sin_shifted<V>(abs(x), 0);  // of |x|, as the rest of -0 is 0
  const U sign = bit_cast<U>(x) & U(static_cast<bits>(~(~bits(0) >> 1)));
  return bit_cast<V>(U(bit_cast<U>(y) ^ sign));
}
/// Cosine, for every x.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V cos(FLAGGEMS_VALUE(V) x) {
  return sin_shifted(x, 1);
}

/// tan(r + r_low), or with `odd` -1 / tan(r + r_low), for |r| <= pi / 4, with fused sums: a sum of
/// two numbers whose inverse an instruction begins.
FLAGGEMS_INLINE f32 tan_of_remainder(f32 r, f32 r_low, bool odd) {
  const f32 z = r * r;
  const f32 tail =
      fused_horner(z, 3.333334989e-01f, 1.333265842e-01f, 5.406049224e-02f, 2.127911934e-02f,
                   1.084400327e-02f, 7.886241699e-05f, 4.381678986e-03f);
  const f32 rest = fused(r * z, tail, fused(r_low, z, r_low)), high = r + rest;
  const f32 low = rest - (high - r), inverse = near_quotient(1.0f, high);
  const f32 missing = fused(-low, inverse, fused(-high, inverse, 1.0f));
  return odd ? -fused(missing, inverse, inverse) : high;
}

/// Tangent, for every x, with an error of 2.5 ulp.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V tan(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  using bits = typename float_format<T>::bits;
  using U = bits_of<V>;
  V r_low;
  U quadrant;
  const V r = reduce_quadrant(x, r_low, quadrant);
  const mask_of<V> odd = (quadrant & U(bits(1))) == U(bits(1));
  const V tiny(power_of_two<V>(-float_format<T>::mantissa / 2 - 2));
#if FLAGGEMS_LANGUAGE_CUDA && FLAGGEMS_DEVICE_CODE
  if constexpr (is_same<V, f32>) {
    const f32 y = tan_of_remainder(r, r_low, odd);
    return select(abs(x) < tiny, x, y);
  }
#endif
  const V s = sin_of_remainder(r, r_low), c = cos_of_remainder(r, r_low);
  const V y = select(odd, V(-c), s) / select(odd, s, c);
  return select(mask_of<V>(abs(x) < tiny), x, y);
}

/// sin(pi x) / (pi x) with an error of 4 ulp, 1 at 0 and 0 at other integers.
template <class V, if_math<V> = 0>
FLAGGEMS_INLINE V sinc(FLAGGEMS_VALUE(V) x) {
  using T = element_of<V>;
  // x = an even number + turned. The sines of pi turned and of pi r are the same; all is exact.
  const V turned = x - V(T(2)) * round(V(x * V(T(0.5f)))), one(T(1));
  const V r =
      select(mask_of<V>(abs(turned) > V(T(0.5f))), V(-(turned - copysign(one, turned))), turned);
  const V z = r * r;
  V tail;  // of sin(pi r) / (pi r)
  if constexpr (is_f32_value<V>)
    tail = horner(z, -1.644934063e+00f, 8.117422086e-01f, -1.907479629e-01f, 2.611754633e-02f,
                  -2.237149616e-03f);
  else
    tail = horner(z, -1.64493406684822644, 0.811742425283353613, -0.190751824122082576,
                  0.0261478478176114557, -0.00234608103480480577, 0.000148428787108781699,
                  -6.97584038839376642e-6, 2.53008807477631926e-7, -7.09211952370817887e-9);
  const V tiny(power_of_two<V>(-float_format<T>::mantissa / 2 - 3));
  return select(mask_of<V>(abs(x) < tiny), one, V(near_quotient(r, x) * fma(z, tail, one)));
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/trig.hpp");
