// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Order-preserving maps of numbers to unsigned integers of the same size, so that sorting and
// selecting compare integers only. As in PyTorch, NaN of either sign is the largest, and -0 equals
// +0.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

namespace flaggems::kernels {

/// The unsigned integer of T's size.
template <class T>
using bits_type = uint_of_size<static_cast<int>(sizeof(T))>;

/// The bits of a number; those of a bool are 0 or 1.
template <class T>
FLAGGEMS_INLINE constexpr bits_type<T> to_bits(T x) {
  if constexpr (is_same<T, bool>)
    return static_cast<u8>(x ? 1 : 0);
  else
    return bit_cast<bits_type<T>>(x);
}
/// The number with these bits.
template <class T>
FLAGGEMS_INLINE constexpr T from_bits(bits_type<T> bits) {
  if constexpr (is_same<T, bool>)
    return bits != 0;
  else
    return bit_cast<T>(bits);
}

/// The bits of +infinity in a floating-point format that has it.
template <class T>
FLAGGEMS_INLINE constexpr bits_type<T> infinity_bits() {
  if constexpr (is_same<T, f32>)
    return 0x7f800000U;
  else if constexpr (is_same<T, f64>)
    return u64(0x7ff) << 52;
  else
    return static_cast<bits_type<T>>(T::format::limit);
}

/// The bits of a number in the upper end of a word, mapped so that they are ordered as the numbers.
template <class T, class Word>
FLAGGEMS_INLINE constexpr Word order_bits(Word bits) {
  constexpr int below = 8 * static_cast<int>(sizeof(Word) - sizeof(T));
  constexpr Word sign = static_cast<Word>(Word(1) << (sizeof(Word) * 8 - 1));
  if constexpr (is_floating<T>) {
    // From -infinity and 0 on, as two's complement, which has one zero. NaN is ordered after
    // infinity, whatever its sign.
    constexpr Word infinity = static_cast<Word>(static_cast<Word>(infinity_bits<T>()) << below);
    constexpr Word nan = static_cast<Word>(2 * infinity + (Word(1) << below));
    const Word number = static_cast<Word>(bits & sign ? sign - bits : bits);
    const Word ordered = static_cast<Word>(number + infinity);
    return ordered < nan ? ordered : nan;
  } else {
    return is_signed_integer<T> ? static_cast<Word>(bits ^ sign) : bits;
  }
}

/// An integer that is smaller for a smaller number; reversed if `descending`.
template <class T>
FLAGGEMS_INLINE constexpr bits_type<T> order_key(T x, bool descending) {
  using U = bits_type<T>;
  const U key = order_bits<T, U>(to_bits(x));
  return descending ? static_cast<U>(~key) : key;
}

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/order/keys.hpp");
