// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Values: the operands of a kernel's formulas. A value is a number on a SIMT device and a `simd`
// vector on the host; these traits let one source serve both.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

namespace flaggems::kernels {

/// Whether a value has several lanes.
template <class V>
inline constexpr bool is_simd = false;
/// The elements of a value: 1, or the lanes of a vector.
template <class V>
inline constexpr int lane_count = 1;

template <class V>
struct value_traits {
  using element = V;
  template <class U>
  using rebind = U;
};

template <class V>
inline constexpr int lane_count<complex<V>> = lane_count<V>;
template <class V>
struct value_traits<complex<V>> {
  using element = complex<typename value_traits<V>::element>;
  template <class U>
  using rebind = typename value_traits<V>::template rebind<U>;
};

/// The element type of a value: T of T, and of simd<T, Isa>.
template <class V>
using element_of = typename value_traits<V>::element;
/// The value of the same width whose elements are U: U, or simd<U, Isa> (simd_mask for bool).
template <class V, class U>
using rebind = typename value_traits<V>::template rebind<U>;
/// What a comparison of two V gives: bool or simd_mask<Isa>.
template <class V>
using mask_of = rebind<V, bool>;

template <class T, bool IsInteger = is_signed_integer<T>>
struct modular_of {
  using type = T;
};
template <class T>
struct modular_of<T, true> {
  using type = uint_of_size<sizeof(T)>;
};
/// The type in which arithmetic on T wraps: unsigned for integers, T itself otherwise.
template <class T>
using modular_type = typename modular_of<T>::type;

/// a + b, a - b, a * b; integers wrap. (Vectors wrap by themselves.)
template <class V>
FLAGGEMS_INLINE V wrapping_add(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  if constexpr (is_integer<V>)
    return static_cast<V>(static_cast<modular_type<V>>(a) + static_cast<modular_type<V>>(b));
  else
    return V(a + b);
}
template <class V>
FLAGGEMS_INLINE V wrapping_sub(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  if constexpr (is_integer<V>)
    return static_cast<V>(static_cast<modular_type<V>>(a) - static_cast<modular_type<V>>(b));
  else
    return V(a - b);
}
template <class V>
FLAGGEMS_INLINE V wrapping_mul(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  if constexpr (is_integer<V>)  // 1u: 16-bit factors would be promoted to int, which overflows
    return static_cast<V>(1u * static_cast<modular_type<V>>(a) * static_cast<modular_type<V>>(b));
  else
    return V(a * b);
}

/// -a; integers wrap.
template <class V>
FLAGGEMS_INLINE V negative(FLAGGEMS_VALUE(V) a) {
  if constexpr (is_integer<V>)
    return wrapping_sub(V(0), a);
  else
    return V(-a);
}

/// `template <class V, if_value<V> = 0>`: restricts V to numbers and vectors. Functions named like
/// an operator on tensors need it, as views of small floats find this namespace by ADL.
template <class V>
using if_value = conditional<is_simd<V> || is_builtin_number<V>, int, void>;

/// a > b ? a : b and a < b ? a : b; gives b where they are equal or one is NaN.
template <class V, conditional<!is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE V greater_of(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  return a > b ? a : b;
}
template <class V, conditional<!is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE V lesser_of(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) {
  return a < b ? a : b;
}

/// Whether `scale_lanes(x, n)` computes x 2^n for integers n, with one rounding, by one
/// instruction.
template <class V>
inline constexpr bool scales_at_once = false;
/// Whether `exponent_lanes(x)` and `significand_lanes(x)` split numbers by one instruction each:
/// the significand is in [3/4, 3/2), NaN of x < 0 and 1 of 0 and infinity, whose exponents are
/// infinite.
template <class V>
inline constexpr bool splits_at_once = false;
/// Whether `is_any_above(x, limit)` compares lanes without a vector of truth values.
template <class V>
inline constexpr bool tests_at_once = false;
/// Whether `fused(a, b, c)` rounds a * b + c once, by one instruction.
template <class V>
inline constexpr bool fuses_at_once = false;

/// Each element as a To, by number_cast. For scalars and vectors.
template <class To, class V>
FLAGGEMS_INLINE rebind<V, To> convert(FLAGGEMS_VALUE(V) x) {
  static_assert(!is_simd<V>);
  return number_cast<To>(x);
}
template <class To, class V>
FLAGGEMS_INLINE rebind<V, To> convert(FLAGGEMS_VALUE(complex<V>) x) {
  if constexpr (is_complex<To>)
    return {convert<real_of<To>>(x.re), convert<real_of<To>>(x.im)};
  else if constexpr (is_same<To, bool>)
    return mask_of<V>(convert<bool>(x.re) | convert<bool>(x.im));
  else
    return convert<To>(x.re);
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/lang/value.hpp");
