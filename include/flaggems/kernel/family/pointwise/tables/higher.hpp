// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Higher functions: gamma and zeta functions, Bessel and Airy functions, orthogonal polynomials:
// the table of ops/higher.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>
#include <flaggems/kernel/math/special/bessel.hpp>
#include <flaggems/kernel/math/special/incomplete_gamma.hpp>
#include <flaggems/kernel/math/special/polynomials.hpp>
#include <flaggems/kernel/math/special/waves.hpp>

namespace flaggems::kernels {

#define FLAGGEMS_BY_LANE(name, ...)             \
  template <class V>                            \
  FLAGGEMS_INLINE V name(FLAGGEMS_VALUE(V) a) { \
    return lane_by_lane<__VA_ARGS__>(a);        \
  }
#define FLAGGEMS_BY_PAIR(name, ...)                                  \
  template <class V>                                                 \
  FLAGGEMS_INLINE V name(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b) { \
    return lane_pairs<__VA_ARGS__>(a, b);                            \
  }
FLAGGEMS_BY_LANE(lgamma, lgamma_at)
FLAGGEMS_BY_LANE(digamma, digamma_at)
FLAGGEMS_BY_LANE(erfcx, erfcx_at)
FLAGGEMS_BY_LANE(modified_bessel_i0, bessel_i0_at<false>)
FLAGGEMS_BY_LANE(scaled_modified_bessel_i0, bessel_i0_at<true>)
FLAGGEMS_BY_LANE(modified_bessel_i1, bessel_i1_at<false>)
FLAGGEMS_BY_LANE(scaled_modified_bessel_i1, bessel_i1_at<true>)
FLAGGEMS_BY_LANE(modified_bessel_k0, bessel_k0_at<false>)
FLAGGEMS_BY_LANE(scaled_modified_bessel_k0, bessel_k0_at<true>)
FLAGGEMS_BY_LANE(modified_bessel_k1, bessel_k1_at<false>)
FLAGGEMS_BY_LANE(scaled_modified_bessel_k1, bessel_k1_at<true>)
FLAGGEMS_BY_LANE(bessel_j0, bessel_j0_at)
FLAGGEMS_BY_LANE(bessel_j1, bessel_j1_at)
FLAGGEMS_BY_LANE(bessel_y0, bessel_y0_at)
FLAGGEMS_BY_LANE(bessel_y1, bessel_y1_at)
FLAGGEMS_BY_LANE(airy_ai, airy_ai_at)
FLAGGEMS_BY_PAIR(lower_incomplete_gamma, incomplete_gamma_at<false>)
FLAGGEMS_BY_PAIR(upper_incomplete_gamma, incomplete_gamma_at<true>)
FLAGGEMS_BY_PAIR(hurwitz_zeta, zeta_at)
FLAGGEMS_BY_PAIR(chebyshev_t, by_recurrence<chebyshev<chebyshev_kind::t, false>>)
FLAGGEMS_BY_PAIR(chebyshev_u, by_recurrence<chebyshev<chebyshev_kind::u, false>>)
FLAGGEMS_BY_PAIR(chebyshev_v, by_recurrence<chebyshev<chebyshev_kind::v, false>>)
FLAGGEMS_BY_PAIR(chebyshev_w, by_recurrence<chebyshev<chebyshev_kind::w, false>>)
FLAGGEMS_BY_PAIR(shifted_chebyshev_t, by_recurrence<chebyshev<chebyshev_kind::t, true>>)
FLAGGEMS_BY_PAIR(shifted_chebyshev_u, by_recurrence<chebyshev<chebyshev_kind::u, true>>)
FLAGGEMS_BY_PAIR(shifted_chebyshev_v, by_recurrence<chebyshev<chebyshev_kind::v, true>>)
FLAGGEMS_BY_PAIR(shifted_chebyshev_w, by_recurrence<chebyshev<chebyshev_kind::w, true>>)
FLAGGEMS_BY_PAIR(hermite_h, by_recurrence<hermite<false>>)
FLAGGEMS_BY_PAIR(hermite_he, by_recurrence<hermite<true>>)
FLAGGEMS_BY_PAIR(laguerre_l, by_recurrence<laguerre>)
FLAGGEMS_BY_PAIR(legendre_p, by_recurrence<legendre>)
#undef FLAGGEMS_BY_LANE
#undef FLAGGEMS_BY_PAIR

/// The derivative n of digamma, for n >= 0.
template <class C>
struct polygamma_fn {
  C n;
  template <class To>
  FLAGGEMS_HD polygamma_fn<To> in() const {
    return {number_cast<To>(n)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    return lane_by_lane<polygamma_at>(a, element_of<V>(n));
  }
};
/// The logarithm of the gamma function of dimension p.
template <class C>
struct mvlgamma_fn {
  C p;
  template <class To>
  FLAGGEMS_HD mvlgamma_fn<To> in() const {
    return {number_cast<To>(p)};
  }
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) a) const {
    return lane_by_lane<mvlgamma_at>(a, element_of<V>(p));
  }
};

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_HIGHER_TABLE(UNARY, PREDICATE, PAIR, BINARY)                           \
  UNARY(lgamma, to_float, lgamma(a))                                                    \
  UNARY(digamma, to_float, digamma(a))                                                  \
  UNARY(i0, to_float, modified_bessel_i0(a))                                            \
  PREDICATE(special_i0e, to_float, scaled_modified_bessel_i0(a))                        \
  PREDICATE(special_i1, to_float, modified_bessel_i1(a))                                \
  PREDICATE(special_i1e, to_float, scaled_modified_bessel_i1(a))                        \
  PREDICATE(special_bessel_j0, to_float, bessel_j0(a))                                  \
  PREDICATE(special_bessel_j1, to_float, bessel_j1(a))                                  \
  PREDICATE(special_bessel_y0, to_float, bessel_y0(a))                                  \
  PREDICATE(special_bessel_y1, to_float, bessel_y1(a))                                  \
  PREDICATE(special_modified_bessel_k0, to_float, modified_bessel_k0(a))                \
  PREDICATE(special_modified_bessel_k1, to_float, modified_bessel_k1(a))                \
  PREDICATE(special_scaled_modified_bessel_k0, to_float, scaled_modified_bessel_k0(a))  \
  PREDICATE(special_scaled_modified_bessel_k1, to_float, scaled_modified_bessel_k1(a))  \
  PREDICATE(special_airy_ai, to_float, airy_ai(a))                                      \
  PREDICATE(special_erfcx, to_float, erfcx(a))                                          \
  PAIR(igamma, to_float, lower_incomplete_gamma(a, b))                                  \
  PAIR(igammac, to_float, upper_incomplete_gamma(a, b))                                 \
  BINARY(special_zeta, to_float, hurwitz_zeta(a, b))                                    \
  BINARY(special_chebyshev_polynomial_t, to_float, chebyshev_t(a, b))                   \
  BINARY(special_chebyshev_polynomial_u, to_float, chebyshev_u(a, b))                   \
  BINARY(special_chebyshev_polynomial_v, to_float, chebyshev_v(a, b))                   \
  BINARY(special_chebyshev_polynomial_w, to_float, chebyshev_w(a, b))                   \
  BINARY(special_shifted_chebyshev_polynomial_t, to_float, shifted_chebyshev_t(a, b))   \
  BINARY(special_shifted_chebyshev_polynomial_u, to_float, shifted_chebyshev_u(a, b))   \
  BINARY(special_shifted_chebyshev_polynomial_v, to_float, shifted_chebyshev_v(a, b))   \
  BINARY(special_shifted_chebyshev_polynomial_w, to_float, shifted_chebyshev_w(a, b))   \
  BINARY(special_hermite_polynomial_h, to_float, hermite_h(a, b))                       \
  BINARY(special_hermite_polynomial_he, to_float, hermite_he(a, b))                     \
  BINARY(special_laguerre_polynomial_l, to_float, laguerre_l(a, b))                     \
  BINARY(special_legendre_polynomial_p, to_float, legendre_p(a, b))

#define FLAGGEMS_HIGHER_ALIASES(ALSO, ALSO2)   \
  ALSO(special_gammaln, lgamma)                \
  ALSO(special_digamma, digamma)               \
  ALSO(special_psi, digamma)                   \
  ALSO(special_i0, i0)                         \
  ALSO(special_modified_bessel_i0, i0)         \
  ALSO(special_modified_bessel_i1, special_i1) \
  ALSO2(special_gammainc, igamma)              \
  ALSO2(special_gammaincc, igammac)
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_HIGHER_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR,
                      FLAGGEMS_BINARY_FUNCTOR)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/higher.hpp");
