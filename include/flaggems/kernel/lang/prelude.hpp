// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Replaces the standard library in device code: integer types, type traits, pointers with an
// address space. C++17, no std header, no exceptions, no virtual functions, no static storage.
#pragma once

#include <flaggems/config.hpp>

namespace flaggems {

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
#if defined(__INT64_TYPE__)
using i64 = __INT64_TYPE__;
using u64 = __UINT64_TYPE__;
#else
using i64 = long;
using u64 = unsigned long;
#endif
using f32 = float;
using f64 = double;

static_assert(sizeof(i16) == 2 && sizeof(i32) == 4 && sizeof(i64) == 8);

/// The most dimensions a view or a kernel's iteration space may have.
inline constexpr int max_rank = 8;

namespace kernels {

/// Where an operation of a block's is called (FLAGGEMS_CALLER_LINE), for machines that report
/// errors.
#if FLAGGEMS_DEVICE_CODE || FLAGGEMS_LANGUAGE_CUDA
using source_line = int;
#else
struct source_line {
  int number;
  const char* file;

  constexpr source_line(int n = 0, const char* of = "") : number(n), file(of) {}
  constexpr operator int() const { return number; }
  friend constexpr bool operator==(const source_line& a, const source_line& b) {
    return a.number == b.number && (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
  }
};
#endif

// ---- type traits without compiler builtins, which differ between the runtime compilers
template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

template <bool C, class A, class B>
struct conditional_type {
  using type = A;
};
template <class A, class B>
struct conditional_type<false, A, B> {
  using type = B;
};
template <bool C, class A, class B>
using conditional = typename conditional_type<C, A, B>::type;

template <class T>
struct remove_const_type {
  using type = T;
};
template <class T>
struct remove_const_type<const T> {
  using type = T;
};
template <class T>
using remove_const = typename remove_const_type<T>::type;

template <class T>
struct type_identity {
  using type = T;
};
/// A parameter of this type is a non-deduced context.
template <class T>
using identity = typename type_identity<T>::type;

template <class T>
inline constexpr bool is_signed_integer =
    is_same<T, i8> || is_same<T, i16> || is_same<T, i32> || is_same<T, i64>;
template <class T>
inline constexpr bool is_unsigned_integer =
    is_same<T, u8> || is_same<T, u16> || is_same<T, u32> || is_same<T, u64>;
template <class T>
inline constexpr bool is_integer = is_signed_integer<T> || is_unsigned_integer<T>;

/// A value of type T, for use in decltype only.
template <class T>
FLAGGEMS_HD T declval_of();

// ---- lists of integers
template <int... K>
struct int_sequence {};
template <int Count, int... K>
struct make_int_sequence_type : make_int_sequence_type<Count - 1, Count - 1, K...> {};
template <int... K>
struct make_int_sequence_type<0, K...> {
  using type = int_sequence<K...>;
};

template <int Count>
using make_int_sequence = typename make_int_sequence_type<Count>::type;

// ---- integers of a given size
template <int Bytes>
struct int_of_size_type;
template <>
struct int_of_size_type<1> {
  using s = i8;
  using u = u8;
};
template <>
struct int_of_size_type<2> {
  using s = i16;
  using u = u16;
};
template <>
struct int_of_size_type<4> {
  using s = i32;
  using u = u32;
};
template <>
struct int_of_size_type<8> {
  using s = i64;
  using u = u64;
};
template <int Bytes>
using int_of_size = typename int_of_size_type<Bytes>::s;
template <int Bytes>
using uint_of_size = typename int_of_size_type<Bytes>::u;

// ---- pointers with an address space where the language has them
template <class T>
using global_ptr = FLAGGEMS_GLOBAL T*;
template <class T>
using shared_ptr = FLAGGEMS_SHARED T*;

// ---- bits
/// The value of type To with the bits of `from`. sizeof(To) == sizeof(From).
template <class To, class From>
FLAGGEMS_INLINE constexpr To bit_cast(FLAGGEMS_VALUE(From) from) {
  return __builtin_bit_cast(To, from);
}

/// `m ? a : b`; the scalar form of what `simd` does lane by lane.
template <class T>
FLAGGEMS_INLINE constexpr T select(bool m, T a, identity<T> b) {
  return m ? a : b;
}

template <class T>
FLAGGEMS_INLINE constexpr T min_of(T a, T b) {
  return b < a ? b : a;
}
template <class T>
FLAGGEMS_INLINE constexpr T max_of(T a, T b) {
  return a < b ? b : a;
}
/// ceil(a / b) for a >= 0, b > 0; without overflow.
template <class T>
FLAGGEMS_INLINE constexpr T ceil_div(T a, identity<T> b) {
  return static_cast<T>(a > 0 ? (a - 1) / b + 1 : 0);
}
/// `a` rounded up to a multiple of b.
template <class T>
FLAGGEMS_INLINE constexpr T round_up(T a, identity<T> b) {
  return static_cast<T>(ceil_div(a, b) * b);
}

}  // namespace kernels
}  // namespace flaggems

FLAGGEMS_TEXT("flaggems/kernel/lang/prelude.hpp");
