// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems: host only
#pragma once

#include <flaggems/kernel/lang/vector/isa.hpp>

namespace flaggems::kernels {

/// A square of elements whose side is the number of elements in 16 bytes. Steps are in bytes.
template <class T>
struct square {
  static constexpr int side = 16 / static_cast<int>(sizeof(T));
  typedef T vector __attribute__((vector_size(16)));
  typedef T loose __attribute__((vector_size(16), aligned(1), may_alias));
  using lanes = make_int_sequence<side>;

  template <int... K>
  FLAGGEMS_HOST_INLINE static vector low(const vector& a, const vector& b, int_sequence<K...>) {
    return FLAGGEMS_SHUFFLE(a, b, (K / 2 + K % 2 * side)...);
  }
  template <int... K>
  FLAGGEMS_HOST_INLINE static vector high(const vector& a, const vector& b, int_sequence<K...>) {
    return FLAGGEMS_SHUFFLE(a, b, (side / 2 + K / 2 + K % 2 * side)...);
  }
  /// The even (odd) elements of a and b.
  template <int... K>
  FLAGGEMS_HOST_INLINE static vector even(const vector& a, const vector& b, int_sequence<K...>) {
    return FLAGGEMS_SHUFFLE(a, b, (2 * K)...);
  }
  /// The elements of a, the last one first.
  template <int... K>
  FLAGGEMS_HOST_INLINE static vector reversed(const vector& a, int_sequence<K...>) {
    return FLAGGEMS_SHUFFLE(a, a, (static_cast<int>(sizeof...(K)) - 1 - K)...);
  }
  FLAGGEMS_HOST_INLINE static vector read(const unsigned char* from) {
    return *reinterpret_cast<const loose*>(from);
  }
  FLAGGEMS_HOST_INLINE static void write(unsigned char* to, const vector& x) {
    *reinterpret_cast<loose*>(to) = x;
  }

  /// Element k of row i of `to` = element i of row k of `from`.
  FLAGGEMS_HOST_INLINE static void transpose(unsigned char* to, i64 to_step,
                                             const unsigned char* from, i64 from_step) {
    vector v[side], next[side];
    constexpr int steps = side == 2 ? 1 : side == 4 ? 2 : side == 8 ? 3 : 4;
#pragma GCC unroll 16
    for (int k = 0; k < side; ++k, from += from_step) v[k] = read(from);
      // Each step interleaves the first half of the rows with the second.
#pragma GCC unroll 4
    for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 8
      for (int k = 0; k < side / 2; ++k) {
        next[2 * k] = low(v[k], v[k + side / 2], lanes{});
        next[2 * k + 1] = high(v[k], v[k + side / 2], lanes{});
      }
#pragma GCC unroll 16
      for (int k = 0; k < side; ++k) v[k] = next[k];
    }
#pragma GCC unroll 16
    for (int k = 0; k < side; ++k, to += to_step) write(to, v[k]);
  }
};

}  // namespace flaggems::kernels
