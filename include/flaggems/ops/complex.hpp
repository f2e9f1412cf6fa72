// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Complex numbers from parts and parts of complex numbers: views, which share the memory, and
// polar and complex_of, which compute. Arithmetic is that of ops/pointwise.hpp and
// ops/arithmetic.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/tables/complex.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/trigonometric.hpp>
#include <flaggems/ops/views.hpp>
#include <flaggems/tensor/complex_views.hpp>

#include <type_traits>

namespace flaggems {

namespace operators {
FLAGGEMS_COMPLEX_TABLE(FLAGGEMS_NAME)
}  // namespace operators

namespace detail {

FLAGGEMS_COMPLEX(gives_complex, polar_fn)
FLAGGEMS_COMPLEX(gives_complex, complex_of_fn)

/// Operands that are parts.
struct parts : numeric {
  template <class P>
  struct checked {
    static_assert(std::is_same_v<P, f32> || std::is_same_v<P, f64>,
                  "flaggems: the parts of complex numbers are of f32 or f64");
    using type = std::conditional_t<std::is_same_v<P, f64>, f64, f32>;
  };
  template <class P>
  using result = typename checked<P>::type;
  template <class P>
  using operand = result<P>;
};

template <class X>
constexpr void check_complex() {
  static_assert(kernels::is_complex<value_t<X>>, "flaggems: expected a complex tensor");
}

}  // namespace detail

/// A complex tensor as a real one with a new last dimension of size 2: the real and the imaginary
/// part. Raises not_supported for a tensor of the highest rank.
/// aten::view_as_real(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto view_as_real(X&& x) {
  detail::check_complex<X>();
  return detail::parts_of("view_as_real", as_view(x));
}

/// A tensor of f32 or f64, whose last dimension has size 2 and stride 1, as a complex one without
/// that dimension. Raises shape_mismatch for another size, and invalid_argument for other strides,
/// odd ones in other dimensions, or a first element that is not aligned to a complex number.
/// aten::view_as_complex(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto view_as_complex(X&& x) {
  static_assert(std::is_same_v<detail::parts::result<value_t<X>>, value_t<X>>);
  return detail::complex_of_parts(as_view(x));
}

/// The real parts of a complex tensor, as a view of it; a real tensor itself.
/// aten::real(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto real(X&& x) {
  if constexpr (kernels::is_complex<value_t<X>>)
    return detail::part_of(as_view(x), 0);
  else
    return as_view(x).view();
}
/// The imaginary parts of a complex tensor, as a view of it. aten::imag(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto imag(X&& x) {
  detail::check_complex<X>();
  return detail::part_of(as_view(x), 1);
}

/// x: our views have neither a conjugate nor a negative bit.
/// aten::resolve_conj(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto resolve_conj(X&& x) {
  return as_view(x).view();
}
/// As resolve_conj. aten::resolve_neg(Tensor(a) self)
template <tensor_like X>
requires(!detail::is_owning_temporary<X&&>) [[nodiscard]] auto resolve_neg(X&& x) {
  return as_view(x).view();
}

FLAGGEMS_COMPLEX_TABLE(FLAGGEMS_PAIR)

/// The conjugate as conj_physical gives it: an expression, which reads x where it is evaluated.
/// aten::conj(Tensor(a) self)
FLAGGEMS_ALSO(conj, conj_physical)
/// aten::_conj_copy(Tensor self)
FLAGGEMS_ALSO(conj_copy, conj_physical)

}  // namespace flaggems
