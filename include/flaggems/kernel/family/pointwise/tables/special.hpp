// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Error functions, and logarithms of sums and products: the table of ops/special.hpp.
#pragma once

#include <flaggems/kernel/family/pointwise/functors.hpp>
#include <flaggems/kernel/math/erf_inverse.hpp>

namespace flaggems::kernels {

/// max(a, b) + f(-|a - b|); equal infinities are the result.
template <class V, class F>
FLAGGEMS_INLINE V log_of_sum(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b, F f) {
  const V m = maximum(a, b), d = V(-abs(V(a - b)));
  const mask_of<V> equal = (a == b) & isinf(a);
  return select(equal, a, V(m + f(d)));
}
struct log1p_of_exp {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) d) const {
    return log1p_of_fraction<V>(exp(d));
  }
};
struct log1p_of_exp2 {
  template <class V>
  FLAGGEMS_INLINE V operator()(FLAGGEMS_VALUE(V) d) const {
    return log1p_of_fraction<V>(exp2(d)) * V(element_of<V>(1.4426950408889634074));
  }
};
/// a l, but 0 where a is, and NaN where b is.
template <class V>
FLAGGEMS_INLINE V product_with_log(FLAGGEMS_VALUE(V) a, FLAGGEMS_VALUE(V) b, FLAGGEMS_VALUE(V) l) {
  const V zero(element_of<V>(0));
  return select(mask_of<V>(b != b), b, select(mask_of<V>(a == zero), zero, V(a * l)));
}

}  // namespace flaggems::kernels

// clang-format off
#define FLAGGEMS_SPECIAL_TABLE(UNARY, BINARY)                         \
  UNARY(log10,       to_float, log10(a))                              \
  UNARY(erfc,        to_float, erfc(a))                               \
  UNARY(erfinv,      to_float, erfinv(a))                             \
  BINARY(logaddexp,  floating, log_of_sum(a, b, log1p_of_exp{}))      \
  BINARY(logaddexp2, floating, log_of_sum(a, b, log1p_of_exp2{}))     \
  BINARY(xlogy,      to_float, product_with_log(a, b, log(b)))        \
  BINARY(xlog1py,    to_float, product_with_log(a, b, log1p(b)))

// (special_round, which takes decimals, is in ops/rounding.hpp.)
#define FLAGGEMS_SPECIAL_ALIASES(ALSO, ALSO2) \
  ALSO(special_erf,     erf)                  \
  ALSO(special_exp2,    exp2)                 \
  ALSO(special_expm1,   expm1)                \
  ALSO(special_expit,   sigmoid)              \
  ALSO(special_log1p,   log1p)                \
  ALSO(special_erfc,    erfc)                 \
  ALSO(special_erfinv,  erfinv)               \
  ALSO2(special_xlogy,   xlogy)               \
  ALSO2(special_xlog1py, xlog1py)
// clang-format on

namespace flaggems::kernels {
FLAGGEMS_SPECIAL_TABLE(FLAGGEMS_UNARY_FUNCTOR, FLAGGEMS_BINARY_FUNCTOR)

FLAGGEMS_INLINE f32 logaddexp_narrow(f32 a, f32 b) {
  return log_of_sum(a, b, [](f32 d) FLAGGEMS_LAMBDA { return log1p_of_exp_narrow(d); });
}
FLAGGEMS_INLINE f32 logaddexp2_narrow(f32 a, f32 b) {
  return log_of_sum(a, b, [](f32 d) FLAGGEMS_LAMBDA { return log1p_of_exp2_narrow(d); });
}
FLAGGEMS_UNARY_NARROW(log10)
FLAGGEMS_UNARY_NARROW(erfc)
FLAGGEMS_UNARY_NARROW(erfinv)
FLAGGEMS_BINARY_NARROW(logaddexp)
FLAGGEMS_BINARY_NARROW(logaddexp2)
}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/pointwise/tables/special.hpp");
