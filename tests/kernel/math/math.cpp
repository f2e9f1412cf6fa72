// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions: the error of each at every level of this machine over a sample of the
// inputs (tools/math_accuracy.cpp covers all of them), special values, and the exact small
// functions.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <type_traits>

#include <support/math_functions.hpp>

namespace {

using namespace math_test;
using limits32 = std::numeric_limits<f32>;

f32 from_bits(std::uint32_t bits) {
  f32 x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

template <class T>
void add_specials(std::vector<T>& x) {
  using limits = std::numeric_limits<T>;
  // Zeros, the edges of the formats, the edges of the functions' ranges and their neighbours.
  for (T v : {T(0),
              limits::denorm_min(),
              limits::min(),
              limits::max(),
              limits::infinity(),
              limits::quiet_NaN(),
              T(1),
              T(0.5),
              T(2),
              T(0.625),
              T(0.70710678),
              T(1.41421356),
              T(0.34657359),
              T(0.69314718),
              T(1.5707963267948966),
              T(3.141592653589793),
              T(1e5),
              T(1e6),
              T(9.01),
              T(16.6),
              T(17.3),
              T(87.33655),
              T(88.72284),
              T(89),
              T(103.97208),
              T(104),
              T(105),
              T(126),
              T(127),
              T(128),
              T(149),
              T(150),
              T(709.78),
              T(745.13),
              T(8388608),
              T(16777216),
              T(4503599627370496.)}) {
    const T zero(0);
    for (T w : {v, std::nextafter(v, zero), std::nextafter(v, limits::infinity())}) {
      x.push_back(w);
      x.push_back(-w);
    }
  }
}

template <class T>
std::vector<T> sample() {
  std::vector<T> x;
  add_specials(x);
  if constexpr (std::is_same_v<T, f32>) {
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 4099 * 8)
      x.push_back(from_bits(static_cast<std::uint32_t>(bits)));
    for (f32 v = -30; v < 30; v += 0.00137f) x.push_back(v);
  } else {
    std::mt19937_64 random(1);
    for (int i = 0; i < 40000; ++i) {
      const std::uint64_t bits = random();
      T v;
      std::memcpy(&v, &bits, sizeof(v));
      x.push_back(i % 2 ? v
                        : std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)),
                                     i / 2 % 30 - 79));
    }
  }
  while (x.size() % 16) x.push_back(T(1));
  return x;
}

template <class F, class T, class R, class Reference>
void check(const char* name, double bound, const std::vector<T>& x, const std::vector<T>& y,
           Reference reference) {
  const int n = static_cast<int>(x.size());
  std::vector<R> want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) want[i] = reference(R(x[i]), R(y[i]));
  for (const auto& level : levels<F, T>()) {
    std::vector<T> got(x.size());
    level.run(x.data(), y.data(), got.data(), n);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulp_error<T, R>(got[i], want[i]);
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_LE(worst, bound) << name << " at level " << level.name << ", input " << std::hexfloat
                            << x[at] << " " << y[at] << ", got " << got[at] << ", expected "
                            << static_cast<T>(want[at]);
  }
}

template <class T>
class math : public testing::Test {};
using types = testing::Types<f32, f64>;
TYPED_TEST_SUITE(math, types);

#define MATH_TEST(name, reference, bound32, bound64)                             \
  TYPED_TEST(math, name) {                                                       \
    using T = TypeParam;                                                         \
    using R = std::conditional_t<std::is_same_v<T, f32>, f64, long double>;      \
    static const std::vector<T> x = sample<T>();                                 \
    check<name##_functor, T, R>(#name, sizeof(T) == 4 ? bound32 : bound64, x, x, \
                                [](R a, R) { return reference(a); });            \
  }
MATH_TEST_FUNCTIONS(MATH_TEST)

TYPED_TEST(math, pow) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  std::vector<T> special, x, y;
  const T odd = std::ldexp(T(1), limits::digits) - 1;  // the greatest odd integer
  for (T v : {T(0), T(1), T(2), T(3), T(0.5), T(1.5), T(10), T(1) / 3, T(1e6), odd, odd + 1,
              odd / 2, std::nextafter(T(1), T(2)), std::nextafter(T(1), T(0)), limits::min(),
              limits::denorm_min(), limits::max(), limits::infinity(), limits::quiet_NaN()}) {
    special.push_back(v);
    special.push_back(-v);
  }
  for (T a : special)
    for (T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  std::mt19937_64 random(2);
  const auto uniform = [&] {
    return static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-63;
  };
  for (int i = 0; i < 100000; ++i) {
    const double scales[] = {limits::max_exponent, 2, 0.01, 1e-4};
    T base = static_cast<T>(std::exp2(uniform() * scales[i % 4]));
    const double log = std::log2(static_cast<double>(base));
    const double target = uniform() * 1.05 * (limits::max_exponent + limits::digits);
    T power = static_cast<T>(log != 0 ? target / log : target);
    if (i % 7 == 0) power = std::nearbyint(power);
    x.push_back(i % 11 ? base : -base);
    y.push_back(power);
  }
  while (x.size() % 16) {
    x.push_back(T(1));
    y.push_back(T(1));
  }
  check<pow_functor, T, long double>("pow", 2, x, y,
                                     [](long double a, long double b) { return std::pow(a, b); });
}

// ---- integers
template <class V>
void check_integer_pow() {
  using T = kernels::element_of<V>;
  const auto power = [](T a, T b) {
    if constexpr (kernels::is_simd<V>)
      return kernels::pow(V(a), V(b))[V::lanes - 1];
    else
      return kernels::pow(a, b);
  };
  EXPECT_EQ(power(3, 4), 81);
  EXPECT_EQ(power(0, 0), 1);
  EXPECT_EQ(power(-2, 3), -8);
  EXPECT_EQ(power(-1, -3), -1);
  EXPECT_EQ(power(-1, -4), 1);
  EXPECT_EQ(power(1, -5), 1);
  EXPECT_EQ(power(2, -1), 0);
  EXPECT_EQ(power(2, sizeof(T) * 8), 0);
  EXPECT_EQ(power(2, sizeof(T) * 8 - 1), std::numeric_limits<T>::min());
}

TEST(math_integers, pow) {
  check_integer_pow<int>();
  check_integer_pow<flaggems::i64>();
  check_integer_pow<kernels::simd<flaggems::i32, kernels::isa_baseline>>();
  check_integer_pow<kernels::simd<flaggems::i64, kernels::isa_baseline>>();
}

TEST(math_integers, abs_and_order) {
  EXPECT_EQ(kernels::abs(-3), 3);
  EXPECT_EQ(kernels::abs(std::numeric_limits<int>::min()), std::numeric_limits<int>::min());
  EXPECT_EQ(kernels::abs(7u), 7u);
  EXPECT_EQ(kernels::maximum(-3, 2), 2);
  EXPECT_EQ(kernels::minimum(-3, 2), -3);
  EXPECT_EQ(kernels::relu(-3), 0);
  EXPECT_TRUE(kernels::maximum(true, false));
  EXPECT_FALSE(kernels::minimum(true, false));
}

// ---- order and classification, lane by lane as for scalars
template <class V, class F>
void check_each(F f) {
  using T = kernels::element_of<V>;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T inf = std::numeric_limits<T>::infinity();
  for (T a : {T(-1), T(0), T(2), inf, -inf, nan})
    for (T b : {T(-1), T(0), T(2), inf, -inf, nan}) f(a, b);
}
template <class V>
auto lane(const V& v) {
  if constexpr (kernels::is_simd<V>)
    return v[V::lanes - 1];
  else
    return v;
}

template <class V>
void check_order() {
  using T = kernels::element_of<V>;
  check_each<V>([](T a, T b) {
    const T greater = lane(kernels::maximum(V(a), V(b)));
    const T less = lane(kernels::minimum(V(a), V(b)));
    if (std::isnan(a) || std::isnan(b)) {
      EXPECT_TRUE(std::isnan(greater));
      EXPECT_TRUE(std::isnan(less));
    } else {
      EXPECT_EQ(greater, std::max(a, b));
      EXPECT_EQ(less, std::min(a, b));
    }
    EXPECT_EQ(lane(kernels::isnan(V(a))), std::isnan(a));
    EXPECT_EQ(lane(kernels::isinf(V(a))), std::isinf(a));
    EXPECT_EQ(lane(kernels::isfinite(V(a))), std::isfinite(a));
    EXPECT_EQ(std::signbit(lane(kernels::copysign(V(a), V(b)))), std::signbit(b));
    const T positive = lane(kernels::relu(V(a)));
    EXPECT_TRUE(std::isnan(a) ? std::isnan(positive) : positive == std::max(a, T(0)));
  });
}

TEST(math_order, scalars_and_vectors) {
  check_order<f32>();
  check_order<f64>();
  check_order<kernels::simd<f32, kernels::isa_baseline>>();
  check_order<kernels::simd<f64, kernels::isa_baseline>>();
}

// The sample must be able to fail: one unit in the last place more than allowed is seen.
TEST(math_error, is_measured) {
  EXPECT_EQ((ulp_error<f32, f64>(1.f, 1.)), 0);
  EXPECT_EQ((ulp_error<f32, f64>(std::nextafter(1.f, 2.f), 1.)), 1);
  EXPECT_EQ((ulp_error<f32, f64>(limits32::denorm_min(), 0x1p-148)), 1);
  EXPECT_GT((ulp_error<f32, f64>(0.f, -0.)), 1e9);
  EXPECT_GT((ulp_error<f32, f64>(limits32::infinity(), 1e38)), 1e6);
  EXPECT_GT((ulp_error<f32, f64>(limits32::quiet_NaN(), 1.)), 1e9);
  EXPECT_LE((ulp_error<f32, f64>(limits32::infinity(), 1e39)), 0);
}

}  // namespace
