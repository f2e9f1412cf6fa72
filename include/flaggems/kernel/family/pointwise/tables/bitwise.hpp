// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators on the bits of integers: the table of ops/bitwise.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>

namespace flaggems::kernels {

/// ~a; of bool, not a.
template <class V>
FLAGGEMS_INLINE V inverted(FLAGGEMS_VALUE(V) a) {
  if constexpr (is_same<element_of<V>, bool>)
    return !a;
  else
    return V(~a);
}
/// a << n and a >> n, of 0 <= n < bits, lane by lane.
template <class V, conditional<!is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE V shifted_left(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) n) {
  return static_cast<V>(static_cast<modular_type<V>>(a) << n);
}
template <class V, conditional<!is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE V shifted_right(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) n) {
  return static_cast<V>(a >> n);
}
template <class V, conditional<is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE V shifted_left(const V& a, const V& n) {
  return V(a.v << n.v);
}
template <class V, conditional<is_simd<V>, int, void> = 0>
FLAGGEMS_INLINE V shifted_right(const V& a, const V& n) {
  return V(a.v >> n.v);
}

/// a 2^n modulo 2^bits; 0 for a shift that is negative or not less than the bits, as in PyTorch.
template <class V>
FLAGGEMS_INLINE V shift_left(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) n) {
  using T = element_of<V>;
  const V zero(T(0));
  const mask_of<V> inside = (n >= zero) & (n < V(static_cast<T>(sizeof(T) * 8)));
  return select(inside, shifted_left(a, select(inside, n, zero)), zero);
}
/// floor(a / 2^n); every bit the sign for a shift that is negative or not less than the bits.
template <class V>
FLAGGEMS_INLINE V shift_right(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) n) {
  using T = element_of<V>;
  const V zero(T(0)), last(static_cast<T>(sizeof(T) * 8 - 1));
  const mask_of<V> inside = (n >= zero) & (n <= last);
  const V r = shifted_right(a, select(inside, n, last));
  return is_signed_integer<T> ? r : select(inside, r, zero);
}

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_BITWISE_TABLE(UNARY, BINARY)              \
  UNARY(bitwise_not,           bits,  inverted(a))         \
  BINARY(bitwise_and,          bits,  V(a & b))            \
  BINARY(bitwise_or,           bits,  V(a | b))            \
  BINARY(bitwise_xor,          bits,  V(a ^ b))            \
  BINARY(bitwise_left_shift,   whole_number, shift_left(a, b))    \
  BINARY(bitwise_right_shift,  whole_number, shift_right(a, b))
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_BITWISE_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/bitwise.hpp");
