// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers. The parts are numbers in memory and on SIMT devices, and vectors on the host, so
// that formulas have one text.
#pragma once

#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::kernels {

/// How a complex number of T is aligned: to its size, as PyTorch's and CUDA's are.
template <class T>
inline constexpr int complex_alignment = alignof(T);
template <>
inline constexpr int complex_alignment<f32> = 8;
template <>
inline constexpr int complex_alignment<f64> = 16;

/// A complex number: real and imaginary part, in memory as in C, C++ and PyTorch. It converts from
/// and to std::complex. Products are those of the formula, without the cases of infinities that C
/// has, as PyTorch's are.
template <class T>
struct alignas(complex_alignment<T>) complex {
  T re, im;

  complex() = default;
  FLAGGEMS_INLINE constexpr complex(FLAGGEMS_VALUE(T) real, FLAGGEMS_VALUE(T) imag)
      : re(real), im(imag) {}
  /// A number in each lane.
  template <class U>
  FLAGGEMS_INLINE explicit constexpr complex(complex<U> z) : re(z.re), im(z.im) {}
  /// From std::complex.
  template <class Z, class Part = decltype(declval_of<Z>().real())>
  FLAGGEMS_INLINE constexpr complex(const Z& z) : re(z.real()), im(z.imag()) {}
  template <class Z, class Part = decltype(Z(T(), T()).real())>
  FLAGGEMS_INLINE constexpr operator Z() const {
    return Z(re, im);
  }

  FLAGGEMS_INLINE friend constexpr complex operator+(FLAGGEMS_VALUE(complex) a,
                                                     FLAGGEMS_VALUE(complex) b) {
    return {T(a.re + b.re), T(a.im + b.im)};
  }
  FLAGGEMS_INLINE friend constexpr complex operator-(FLAGGEMS_VALUE(complex) a,
                                                     FLAGGEMS_VALUE(complex) b) {
    return {T(a.re - b.re), T(a.im - b.im)};
  }
  FLAGGEMS_INLINE friend constexpr complex operator-(FLAGGEMS_VALUE(complex) a) {
    return {T(-a.re), T(-a.im)};
  }
  FLAGGEMS_INLINE friend constexpr complex operator*(FLAGGEMS_VALUE(complex) a,
                                                     FLAGGEMS_VALUE(complex) b) {
    return {T(a.re * b.re - a.im * b.im), T(a.re * b.im + a.im * b.re)};
  }
  FLAGGEMS_INLINE friend constexpr auto operator==(FLAGGEMS_VALUE(complex) a,
                                                   FLAGGEMS_VALUE(complex) b) {
    using mask = decltype(a.re == b.re);
    return mask((a.re == b.re) & (a.im == b.im));
  }
  FLAGGEMS_INLINE friend constexpr auto operator!=(FLAGGEMS_VALUE(complex) a,
                                                   FLAGGEMS_VALUE(complex) b) {
    using mask = decltype(a.re != b.re);
    return mask((a.re != b.re) | (a.im != b.im));
  }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<complex<T>> = true;

template <class T>
struct real_part_type {
  using type = T;
};
template <class T>
struct real_part_type<complex<T>> {
  using type = T;
};
/// The type of a complex number's parts; T itself otherwise.
template <class T>
using real_of = typename real_part_type<T>::type;

}  // namespace flaggems::kernels

namespace flaggems {

using kernels::complex;
using c64 = complex<f32>;
using c128 = complex<f64>;

}  // namespace flaggems

FLAGGEMS_TEXT("flaggems/kernel/lang/complex.hpp");
