// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The elementary functions as the accuracy test and tools/math_accuracy.cpp see them: entry
// functions at every instruction set level, references in a wider type, and the error in units in
// the last place.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <flaggems/kernel/lang/vector/instructions.hpp>
#include <flaggems/kernel/math/arc.hpp>
#include <flaggems/kernel/math/erf_inverse.hpp>
#include <flaggems/kernel/math/hyperbolic.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace math_test {

using flaggems::f32;
using flaggems::f64;
namespace kernels = flaggems::kernels;

// ---- references that <cmath> lacks; R is f64 (for f32) or long double (for f64)
/// `x` moved to where R's exponential is still finite, which is beyond T's limits: the C library is
/// slow where it has to report overflow. Not for the values that turn into NaN.
template <class R>
R within_range(R x) {
  constexpr R limit = sizeof(R) == sizeof(f64) ? R(600) : R(11000);
  return x < -limit ? -limit : x > limit ? limit : x;
}
template <class R>
R exp(R x) {
  return std::exp(within_range(x));
}
template <class R>
R exp2(R x) {
  return std::exp2(within_range(x));
}
template <class R>
R expm1(R x) {
  return std::expm1(within_range(x));
}
template <class R>
R sigmoid(R x) {
  const R e = math_test::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
template <class R>
R silu(R x) {
  return x < 0 && std::isfinite(x) ? x * sigmoid(x) : x / (1 + std::exp(-x));
}
template <class R>
R gelu(R x) {
  return x * (std::erfc(-x * R(0.707106781186547524400844362104849L)) / 2);
}
template <class R>
R gelu_tanh(R x) {
  if (std::isinf(x)) return x > 0 ? x : std::numeric_limits<R>::quiet_NaN();
  return x * sigmoid(R(1.59576912160573071175978423973752L) * (x + R(0.044715L) * x * x * x));
}
template <class R>
R softplus(R x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
/// sin(pi x) / (pi x), by a reduction of x that is exact.
template <class R>
R sinc(R x) {
  constexpr R pi = R(3.14159265358979323846264338327950288L);
  if (x == 0) return 1;
  const R turned = x - 2 * std::nearbyint(x / 2), whole = std::nearbyint(2 * turned);
  const R y = pi * (turned - whole / 2);
  const int quadrant = std::isfinite(x) ? static_cast<int>(whole) & 3 : 0;
  const R sine = quadrant % 2 == 0 ? std::sin(y) : std::cos(y);
  return (quadrant > 1 ? -sine : sine) / (pi * x);
}
/// By steps of Newton's method on erf or erfc.
template <class R>
R erfinv(R x) {
  const R a = std::fabs(x);
  if (!(a < 1) || x == 0)
    return a == 1 ? x * std::numeric_limits<R>::infinity() : x == 0 ? x : x / 0 * 0;
  R y = std::sqrt(-std::log1p(-a * a));  // too great
  for (int k = 0; k < 100; ++k) {
    const R error = a < R(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const R d = error * R(0.886226925452758013649083741670572591L) * std::exp(y * y);
    const R next = y - d / (1 + y * d);
    if (std::fabs(next - y) <= std::fabs(y) * std::numeric_limits<R>::epsilon())
      return std::copysign(next, x);
    y = next;
  }
  return std::copysign(y, x);
}
template <class R>
R rsqrt(R x) {
  return 1 / std::sqrt(x);
}

// name, reference, greatest error allowed in f32 and in f64 (ulp)
#define MATH_TEST_FUNCTIONS(X)                  \
  X(exp, math_test::exp, 2, 2)                  \
  X(exp2, math_test::exp2, 2, 2)                \
  X(expm1, math_test::expm1, 2, 2)              \
  X(log, std::log, 2, 2)                        \
  X(log1p, std::log1p, 2, 2)                    \
  X(log2, std::log2, 2, 2)                      \
  X(log10, std::log10, 2, 2)                    \
  X(tanh, std::tanh, 2, 2)                      \
  X(erf, std::erf, 2, 2)                        \
  X(sigmoid, math_test::sigmoid, 2, 2)          \
  X(sin, std::sin, 2, 2)                        \
  X(cos, std::cos, 2, 2)                        \
  X(tan, std::tan, 2.5, 2.5)                    \
  X(sinc, math_test::sinc, 4, 4)                \
  X(asin, std::asin, 2, 2)                      \
  X(acos, std::acos, 2, 2)                      \
  X(atan, std::atan, 2, 2)                      \
  X(sinh, std::sinh, 2, 2)                      \
  X(cosh, std::cosh, 2, 2)                      \
  X(asinh, std::asinh, 2, 3)                    \
  X(acosh, std::acosh, 2.5, 3)                  \
  X(atanh, std::atanh, 2, 2)                    \
  X(erfc, std::erfc, 6, 6)                      \
  X(erfinv, math_test::erfinv, 2.5, 4)          \
  X(rsqrt, math_test::rsqrt, 2, 2)              \
  X(silu, math_test::silu, 2, 2)                \
  X(gelu, math_test::gelu, 6, 7)                \
  X(gelu_tanh, math_test::gelu_tanh, 256, 2048) \
  X(softplus, math_test::softplus, 2, 2)        \
  X(sqrt, std::sqrt, 0.5, 0.5)                  \
  X(floor, std::floor, 0, 0)                    \
  X(ceil, std::ceil, 0, 0)                      \
  X(trunc, std::trunc, 0, 0)                    \
  X(round, std::nearbyint, 0, 0)

// ---- entry functions: n is a multiple of 16
template <class Isa, class T, class F>
FLAGGEMS_INLINE void apply(const T* x, const T* y, T* out, int n, F f) {
  using V = kernels::simd<T, Isa>;
  typedef typename V::vector memory __attribute__((aligned(4), may_alias));
  for (int i = 0; i < n; i += V::lanes) {
    V a, b;  // assigned: a constructor's reference parameter would assume the vector's alignment
    a.v = *reinterpret_cast<const memory*>(x + i);
    b.v = *reinterpret_cast<const memory*>(y + i);
    *reinterpret_cast<memory*>(out + i) = f(a, b).v;
  }
}
template <class F, class T>
void entry_scalar(const T* x, const T* y, T* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = F()(x[i], y[i]);
}
template <class F, class T>
void entry_baseline(const T* x, const T* y, T* out, int n) {
  apply<kernels::isa_baseline>(x, y, out, n, F());
}
#if FLAGGEMS_ARCH_X86
template <class F, class T>
FLAGGEMS_TARGET_AVX2 void entry_avx2(const T* x, const T* y, T* out, int n) {
  apply<kernels::isa_avx2>(x, y, out, n, F());
}
template <class F, class T>
FLAGGEMS_TARGET_AVX512 void entry_avx512(const T* x, const T* y, T* out, int n) {
  apply<kernels::isa_avx512>(x, y, out, n, F());
}
#endif

template <class T>
using entry = void (*)(const T*, const T*, T*, int);
template <class T>
struct level {
  const char* name;
  entry<T> run;
};

/// The levels this machine has.
template <class F, class T>
std::vector<level<T>> levels() {
  std::vector<level<T>> all{{"scalar", entry_scalar<F, T>}, {"baseline", entry_baseline<F, T>}};
#if FLAGGEMS_ARCH_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back({"avx2", entry_avx2<F, T>});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    all.push_back({"avx512", entry_avx512<F, T>});
#endif
  return all;
}

#define MATH_TEST_FUNCTOR(name, reference, bound32, bound64)   \
  struct name##_functor {                                      \
    template <class V>                                         \
    FLAGGEMS_INLINE V operator()(const V& x, const V&) const { \
      return kernels::name(x);                                 \
    }                                                          \
  };
MATH_TEST_FUNCTIONS(MATH_TEST_FUNCTOR)
#undef MATH_TEST_FUNCTOR
struct pow_functor {
  template <class V>
  FLAGGEMS_INLINE V operator()(const V& x, const V& y) const {
    return kernels::pow(x, y);
  }
};

/// The distance of `got` from `want` in units in the last place of a T at `want`. 1e30 where a NaN,
/// an infinity or the sign of a zero is wrong.
template <class T, class R>
double ulp_error(T got, R want) {
  constexpr double wrong = 1e30;
  constexpr R greatest = std::numeric_limits<T>::max();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : wrong;
  if (std::isinf(want) && std::isinf(got))
    return std::signbit(got) == std::signbit(want) ? 0 : wrong;
  if (got == 0 && std::signbit(got) != std::signbit(want)) return wrong;
  const R a = std::fabs(want);
  int exponent = 0;
  std::frexp(std::min(a, greatest), &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const R unit = std::ldexp(R(1), exponent - std::numeric_limits<T>::digits);
  if (std::isinf(got) || std::isinf(want)) {
    // Beyond the greatest number the units go on.
    if (std::signbit(got) != std::signbit(want)) return wrong;
    const R other = std::isinf(got) ? a : std::fabs(R(got));
    return std::isinf(other) ? wrong
                             : static_cast<double>(std::max(R(0), greatest + unit - other) / unit);
  }
  return static_cast<double>(std::fabs(R(got) - want) / unit);
}

}  // namespace math_test
