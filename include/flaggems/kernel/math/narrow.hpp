// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Functions of f32 whose results are rounded to 16 bits, with relative errors of 2^-14. With 16-bit
// operands SIMT devices would be bound by the instructions of the exact ones instead of memory
// bandwidth. A logarithm's instruction errs by 2^-22 where it vanishes, so that functions that
// vanish with it have a polynomial there. Inputs are f32 too: inside a formula they are no results
// of 16 bits.
#pragma once

#include <flaggems/kernel/math/math.hpp>
#include <flaggems/kernel/math/remainder.hpp>

namespace flaggems::kernels {

/// x, or -0 for a negative x, as the minimum of the bits: one instruction that orders zeros.
FLAGGEMS_INLINE f32 positive_part(f32 x) {
  return bit_cast<f32>(min_of(bit_cast<u32>(x), 0x80000000u));
}

// ---- exponentials
/// e^x, as the square of a power that is normal where e^x is not.
FLAGGEMS_INLINE f32 exp_narrow(f32 x) {
  const f32 root = near_exp2(x * 0.72134752f);
  return root * root;
}
FLAGGEMS_INLINE f32 expm1_narrow(f32 x) {
  const f32 near_zero = x * horner(x, 1.0f, 0.5f, 0.166666667f, 0.0416666667f);
  return abs(x) < 0.0625f ? near_zero : exp_narrow(x) - 1.0f;
}
/// x / (1 + e^-x), with e^-|x| as a square too.
FLAGGEMS_INLINE f32 silu_narrow(f32 x) {
  const f32 a = gate_magnitude(x);
  const f32 root = near_exp2(a * -0.72134752f);
  return fma(-root * near_quotient(a, fma(root, root, 1.0f)), root, positive_part(x));
}
FLAGGEMS_INLINE f32 tanh_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 near_zero = x * fma(x * x, -0.333333333f, 1.0f);
  const f32 power = near_exp2(lesser_of(20.0f, a) * 2.88539008f);
  const f32 result = fma(near_quotient(1.0f, power + 1.0f), -2.0f, 1.0f);
  return a < 0.0625f ? near_zero : a == a ? copysign(result, x) : x;
}
FLAGGEMS_INLINE f32 sinh_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 root = near_exp2(a * 0.72134752f), inverse = near_quotient(1.0f, root);
  const f32 result = fma(0.5f * root, root, -0.5f * inverse * inverse);
  return a < 0.0625f ? x * fma(x * x, 0.166666667f, 1.0f) : copysign(result, x);
}
FLAGGEMS_INLINE f32 cosh_narrow(f32 x) {
  const f32 root = near_exp2(abs(x) * 0.72134752f), inverse = near_quotient(1.0f, root);
  return fma(0.5f * root, root, 0.5f * inverse * inverse);
}

// ---- logarithms
/// log(1 + x) for |x| < 1/16.
FLAGGEMS_INLINE f32 log1p_near_zero(f32 x) {
  return x * horner(x, 1.0f, -0.5f, 0.333333333f, -0.25f);
}
FLAGGEMS_INLINE f32 log2_narrow(f32 x) {
  const bool tiny = x < 0x1p-126f;
  const f32 log2_of_x = near_log2(tiny ? x * 0x1p24f : x) - (tiny ? 24.0f : 0.0f);
  return abs(x - 1.0f) < 0.0625f ? 1.44269504f * log1p_near_zero(x - 1.0f) : log2_of_x;
}
FLAGGEMS_INLINE f32 log_narrow(f32 x) { return 0.693147181f * log2_narrow(x); }
FLAGGEMS_INLINE f32 log10_narrow(f32 x) { return 0.301029996f * log2_narrow(x); }
FLAGGEMS_INLINE f32 log1p_narrow(f32 x) {
  return abs(x) < 0.0625f ? log1p_near_zero(x) : 0.693147181f * near_log2(1.0f + x);
}
/// log(1 + e^d) for d <= 0.
FLAGGEMS_INLINE f32 log1p_of_exp_narrow(f32 d) { return log1p_narrow(exp_narrow(d)); }
FLAGGEMS_INLINE f32 log1p_of_exp2_narrow(f32 d) {
  const f32 root = near_exp2(0.5f * d);
  return 1.44269504f * log1p_narrow(root * root);
}
/// log(1 + e^x).
FLAGGEMS_INLINE f32 softplus_narrow(f32 x) {
  return positive_part(x) + log1p_of_exp_narrow(-abs(x));
}
FLAGGEMS_INLINE f32 log_sigmoid_narrow(f32 x) {
  return lesser_of(0.0f, x) - log1p_of_exp_narrow(-abs(x));
}

FLAGGEMS_INLINE f32 asinh_narrow(f32 x) {
  const f32 a = abs(x);
  const bool distant = a > 8192.0f;  // where the root is a
  const f32 sum = distant ? a : a + near_root(fma(a, a, 1.0f));
  const f32 result = 0.693147181f * (near_log2(sum) + (distant ? 1.0f : 0.0f));
  return a < 0.0625f ? x * fma(x * x, -0.166666667f, 1.0f) : copysign(result, x);
}
FLAGGEMS_INLINE f32 acosh_narrow(f32 x) {
  const f32 t = x - 1.0f;
  const bool distant = x > 8192.0f;
  const f32 sum = distant ? x : x + near_root(t * (t + 2.0f));
  const f32 result = 0.693147181f * (near_log2(sum) + (distant ? 1.0f : 0.0f));
  return x < 1.0f ? nan_of<f32>() : result;
}
FLAGGEMS_INLINE f32 atanh_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 result = 0.34657359f * (near_log2(1.0f + a) - near_log2(1.0f - a));
  return a < 0.0625f ? x * fma(x * x, 0.333333333f, 1.0f) : copysign(result, x);
}

// ---- error functions
/// Phi(-t) e^(t^2 / 2), of u = 1 / (1 + 0.33 t).
FLAGGEMS_INLINE f32 normal_tail_narrow(f32 u) {
  return u * horner(u, 0.131648087f, 0.131630383f, 0.119338045f, 0.0708915407f, 0.10727807f,
                    -0.0607972009f);
}
/// x / 2 (1 + erf(x / sqrt(2))).
FLAGGEMS_INLINE f32 gelu_none_narrow(f32 x) {
  const f32 a = gate_magnitude(x);
  const f32 u = near_quotient(1.0f, fma(a, 0.33f, 1.0f));
  const f32 power = near_exp2(a * a * -0.72134752f);
  return fma(-a * power, normal_tail_narrow(u), positive_part(x));
}
/// 1 - erf(a) for a >= 0.
FLAGGEMS_INLINE f32 erfc_of_positive(f32 a) {
  const f32 u = near_quotient(1.0f, fma(a, 0.466690476f, 1.0f));
  const f32 root = near_exp2(a * a * -0.72134752f);
  return (root + root) * normal_tail_narrow(u) * root;
}
FLAGGEMS_INLINE f32 erfc_narrow(f32 x) {
  const f32 tail = erfc_of_positive(abs(x));
  return x < 0.0f ? 2.0f - tail : tail;
}
FLAGGEMS_INLINE f32 erf_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 near_zero =
      x * horner(a * a, 1.12837791f, -0.376064152f, 0.112341739f, -0.0254478045f, 0.00349406735f);
  return a < 1.0f ? near_zero : copysign(1.0f - erfc_of_positive(a), x);
}
FLAGGEMS_INLINE f32 erfinv_narrow(f32 x) {
  const f32 a = abs(x), w = -0.693147181f * near_log2((1.0f - a) * (1.0f + a));
  const f32 s = near_root(w);
  const f32 low = horner(w, 0.886257648f, 0.231530935f, 0.0127156246f, -0.00332863489f,
                         0.000236560401f, -4.41091106e-06f);
  const f32 high =
      horner(s, 0.419932753f, 0.353691876f, 0.263712764f, -0.0475333035f, 0.00323334918f);
  return x * (w < 6.0f ? low : a == 1.0f ? infinity_of<f32>() : high);
}
/// The derivative of x Phi(x). At -a it is e^(-a^2 / 2) (zero - a) q, where `zero` has two parts
/// and q is a polynomial in u = 1 / (1 + 0.4 a); at a it is 1 less that.
FLAGGEMS_INLINE f32 gelu_slope_narrow(f32 x) {
  const f32 a = abs(x);
  const f32 u = near_quotient(1.0f, fma(a, 0.4f, 1.0f));
  const f32 root = near_exp2(a * a * -0.36067376f);
  const f32 q = horner(u, 0.398618609f, 0.124661818f, 0.0675016716f, 0.115045235f, -0.0407402404f);
  const f32 below = root * ((0.751791537f - a) - 1.21144499e-08f) * q * root;
  return x < 0.0f ? below : 1.0f - below;
}
/// The derivative of x s, s = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
FLAGGEMS_INLINE f32 gelu_tanh_slope_narrow(f32 x) {
  const f32 z = x * x;
  const f32 power = near_exp2(x * fma(z, -0.102943240f, -2.30220818f));
  const f32 s = near_quotient(1.0f, power + 1.0f);
  const f32 slope = fma(z, 0.214064449f, 1.59576912f);  // of 2 u
  return fma(x * s * (1.0f - s), slope, s);
}

// ---- angles
/// asin(t) for t = |x| < 1/2, and for t = sqrt((1 - |x|) / 2) elsewhere, which is half of
/// acos(|x|).
FLAGGEMS_INLINE f32 arc_of_near(f32 a) {
  const f32 z = a < 0.5f ? a * a : (1.0f - a) * 0.5f;
  const f32 t = a < 0.5f ? a : near_root(z);
  return t * horner(z, 0.99999851f, 0.166852191f, 0.0714840367f, 0.065067485f);
}
FLAGGEMS_INLINE f32 asin_narrow(f32 x) {
  const f32 a = abs(x), arc = arc_of_near(a);
  return copysign(a < 0.5f ? arc : fma(arc, -2.0f, 1.57079633f), x);
}
FLAGGEMS_INLINE f32 acos_narrow(f32 x) {
  const f32 a = abs(x), arc = arc_of_near(a);
  if (a < 0.5f) return 1.57079633f - copysign(arc, x);
  return x < 0.0f ? fma(arc, -2.0f, 3.14159265f) : arc + arc;
}
/// atan(t) for 0 <= t <= 1.
FLAGGEMS_INLINE f32 atan_of_fraction(f32 t) {
  return t * horner(t * t, 0.999995649f, -0.33299458f, 0.195635796f, -0.121238716f, 0.057476908f,
                    -0.0134803075f);
}
FLAGGEMS_INLINE f32 atan_narrow(f32 x) {
  const f32 a = abs(x);
  const bool steep = a > 1.0f;
  const f32 arc = atan_of_fraction(steep ? near_quotient(1.0f, a) : a);
  return copysign(steep ? 1.57079633f - arc : arc, x);
}
FLAGGEMS_INLINE f32 atan2_narrow(f32 y, f32 x) {
  const f32 a = abs(y), b = abs(x);
  const f32 greater = greater_of(a, b), lesser = lesser_of(a, b);
  // The reciprocal of what is very large or very small is no normal number.
  const f32 scale = greater > 0x1p100f ? 0x1p-40f : greater < 0x1p-80f ? 0x1p40f : 1.0f;
  const f32 quotient = near_quotient(lesser * scale, greater * scale);
  const f32 t = atan_of_fraction(a == b ? (a > 0.0f ? 1.0f : 0.0f) : quotient);
  const f32 turned = a > b ? 1.57079633f - t : t;
  const f32 r = bit_cast<u32>(x) >> 31 != 0 ? 3.14159265f - turned : turned;
  return x != x || y != y ? nan_of<f32>() : copysign(r, y);
}
/// Tangent, as a quotient of polynomials of the rest of quarter turns.
FLAGGEMS_INLINE f32 tan_narrow(f32 x) {
  const f32 shift = rounding_shift<f32>();
  const f32 shifted = fma(x, 0.636619772f, shift), turns = shifted - shift;
  u32 quadrant = bit_cast<u32>(shifted);
  // The first three products are exact.
  f32 r = fma(turns, -1.5703125f, x);
  r = fma(turns, -0.000457763671875f, r);
  r = fma(turns, -0.0000259876251220703125f, r);
  r = fma(turns, -7.54978995e-8f, r);
  if (abs(x) > 1e5f && abs(x) < infinity_of<f32>()) {
    f32 rest;
    r = reduce_huge(x, rest, quadrant);
  }
  const f32 z = r * r;
  const f32 sine = r * fma(z, -0.0685151666f, 1.00000584f), cosine = fma(z, -0.401696980f, 1.0f);
  const bool odd = (quadrant & 1) != 0;
  return near_quotient(odd ? -cosine : sine, odd ? sine : cosine);
}
/// sin(pi x) / (pi x), of the rest of half turns, which is exact.
FLAGGEMS_INLINE f32 sinc_narrow(f32 x) {
  const f32 shift = rounding_shift<f32>(), shifted = x + shift;
  const f32 r = abs(x) < 0x1p22f ? x - (shifted - shift) : x - x;
  const f32 sine = r * horner(r * r, 3.14158964f, -5.16736794f, 2.54360485f, -0.558396041f);
  const f32 turned = bit_cast<f32>(bit_cast<u32>(sine) ^ (bit_cast<u32>(shifted) << 31));
  return abs(x) < 0x1p-14f ? 1.0f : near_quotient(turned, 3.14159265f * x);
}

// ---- remainders, exact for operands of 16 bits
/// a - n b for an integer n, of a and b that are not negative. Where it is below b it is exact,
/// whatever the error of n: a multiple of b's last place, or a itself, or near b / 2. Elsewhere n
/// is large, or b no number that has an inverse.
FLAGGEMS_INLINE f32 rest_of_some(f32 a, f32 b) {
  const f32 shift = rounding_shift<f32>();
  const f32 n = fused(a, near_quotient(1.0f, b), shift) - shift;
  return fused(-n, b, a);
}
// Attempts clear `succeeds` where they fail.
FLAGGEMS_INLINE f32 fmod_attempt(f32 a, f32 b, bool& succeeds) {
  const f32 m = abs(b), r = rest_of_some(abs(a), m);
  succeeds = succeeds & (abs(r) < m);
  return copysign(r < 0.0f ? r + m : r, a);
}
FLAGGEMS_INLINE f32 remainder_attempt(f32 a, f32 b, bool& succeeds) {
  const f32 m = abs(b), r = rest_of_some(abs(a), m);
  succeeds = succeeds & (abs(r) < m);
  // With other signs, what is missing from a multiple of b.
  const u32 other_sign = (bit_cast<u32>(a) ^ bit_cast<u32>(b)) & 0x80000000u;
  const f32 turned = bit_cast<f32>(bit_cast<u32>(r) ^ other_sign);
  return copysign(turned < 0.0f ? turned + m : turned, r == 0.0f ? a : b);
}
FLAGGEMS_INLINE f32 fmod_narrow(f32 a, f32 b) {
  bool succeeds = true;
  const f32 r = fmod_attempt(a, b, succeeds);
  return succeeds ? r : fmod(a, b);
}
FLAGGEMS_INLINE f32 remainder_narrow(f32 a, f32 b) {
  bool succeeds = true;
  const f32 r = remainder_attempt(a, b, succeeds);
  return succeeds ? r : remainder(a, b);
}

/// sqrt(a^2 + b^2) without overflow in between; infinite if one is, whatever the other.
FLAGGEMS_INLINE f32 hypot_narrow(f32 a, f32 b) {
  const f32 x = abs(a), y = abs(b), greater = maximum(x, y);
  const bool large = greater > 0x1p60f, tiny = greater < 0x1p-50f;
  const f32 scale = large ? 0x1p-70f : tiny ? 0x1p70f : 1.0f;
  const f32 back = large ? 0x1p70f : tiny ? 0x1p-70f : 1.0f;
  const f32 p = x * scale, q = y * scale;
  const f32 r = near_root(fma(p, p, q * q)) * back;
  return x == infinity_of<f32>() || y == infinity_of<f32>() ? infinity_of<f32>() : r;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/math/narrow.hpp");
