// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions whose results are rounded to 16 bits, for all numbers of those types: they are few.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <flaggems/kernel/family/pointwise/tables/activation.hpp>
#include <flaggems/kernel/family/pointwise/tables/activation_backward.hpp>
#include <flaggems/kernel/family/pointwise/tables/arithmetic.hpp>
#include <flaggems/kernel/family/pointwise/tables/special.hpp>
#include <flaggems/kernel/family/pointwise/tables/trigonometric.hpp>

namespace {

using flaggems::bf16;
using flaggems::f16;
using flaggems::f32;
using flaggems::f64;
namespace kernels = flaggems::kernels;

/// The distance of numbers of T at x.
template <class T>
double spacing(double x) {
  constexpr bool is_f16 = std::is_same_v<T, f16>;
  const int least = is_f16 ? -24 : -133, digits = is_f16 ? 10 : 7;
  int e = least;
  if (x != 0 && std::isfinite(x)) e = std::ilogb(x) - digits;
  return std::ldexp(1.0, e < least ? least : e);
}

/// Whether `got`, which a store rounds to T, is within an eighth of T's spacing of `want`. What a
/// bf16 is below the normal range of f32 may be 0.
template <class T>
bool agree(f32 got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (static_cast<f32>(T(got)) == static_cast<f32>(T(want))) return true;
  if (std::fabs(want) < 0x1p-126) return std::fabs(got) <= 0x1p-126;
  return std::fabs(got - want) <= spacing<T>(want) / 8;
}

template <class T, class F, class Reference>
void check(const char* name, F f, Reference reference) {
  int wrong = 0;
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const f32 x = T::from_bits(static_cast<std::uint16_t>(i));
    const f32 got = f(x);
    const double want = reference(static_cast<double>(x));
    const bool same_sign = std::isnan(want) || std::signbit(got) == std::signbit(want);
    if (agree<T>(got, want) && (x != 0 || same_sign)) continue;
    ADD_FAILURE() << name << '(' << x << ") = " << got << ", want " << want;
    if (++wrong == 8) return;
  }
}
template <class T, class F, class Reference>
void check_pairs(const char* name, double limit, F f, Reference reference) {
  int wrong = 0;
  for (std::uint32_t i = 0; i < 65536; i += 127)
    for (std::uint32_t j = 0; j < 65536; j += 131) {
      const f32 a = T::from_bits(static_cast<std::uint16_t>(i));
      const f32 b = T::from_bits(static_cast<std::uint16_t>(j));
      const f32 got = f(a, b);
      const double want = reference(double{a}, double{b});
      if (agree<T>(got, want) || std::fabs(got - want) <= limit) continue;
      ADD_FAILURE() << name << '(' << a << ", " << b << ") = " << got << ", want " << want;
      if (++wrong == 8) return;
    }
}

double gelu_slope(double x) {
  return 0.5 * std::erfc(x * -0.70710678118654752) +
         x * 0.39894228040143267794 * std::exp(-0.5 * x * x);
}
double gelu_tanh_slope(double x) {
  // As ATen in f32, where x^2 overflows, and tanh is -1.
  if (x * x > std::numeric_limits<f32>::max()) return std::numeric_limits<double>::quiet_NaN();
  if (x < -10) return 0;
  const double k = 1.5957691216057307, s = 1 / (1 + std::exp(-k * x * (1 + 0.044715 * x * x)));
  return s * (1 + x * (1 - s) * k * (1 + 3 * 0.044715 * x * x));
}
double sinc(double x) {
  if (x == 0) return 1;
  // Twice the fraction of half of it, exact, so that the sine of a multiple of pi is 0.
  return std::isfinite(x) && std::nearbyint(x) == x
             ? std::copysign(0.0, 1.0)
             : std::sin(3.141592653589793 * x) / (3.141592653589793 * x);
}
double log1p_of_exp(double d) { return std::log1p(std::exp(d)); }
double logaddexp(double a, double b) {
  if (a == b && std::isinf(a)) return a;
  return std::fmax(a, b) + log1p_of_exp(-std::fabs(a - b));
}

template <class T>
class math_narrow : public testing::Test {};
using small_floats = testing::Types<bf16, f16>;
TYPED_TEST_SUITE(math_narrow, small_floats);

#define CHECK_NARROW(name, reference) \
  check<TypeParam>(                   \
      #name, [](f32 x) { return kernels::name##_narrow(x); }, reference)

TYPED_TEST(math_narrow, exponentials) {
  CHECK_NARROW(exp, [](double x) { return std::exp(x); });
  CHECK_NARROW(expm1, [](double x) { return std::expm1(x); });
  CHECK_NARROW(tanh, [](double x) { return std::tanh(x); });
  CHECK_NARROW(sinh, [](double x) { return std::sinh(x); });
  CHECK_NARROW(cosh, [](double x) { return std::cosh(x); });
}
TYPED_TEST(math_narrow, logarithms) {
  CHECK_NARROW(log, [](double x) { return std::log(x); });
  CHECK_NARROW(log2, [](double x) { return std::log2(x); });
  CHECK_NARROW(log10, [](double x) { return std::log10(x); });
  CHECK_NARROW(log1p, [](double x) { return std::log1p(x); });
  CHECK_NARROW(asinh, [](double x) { return std::asinh(x); });
  CHECK_NARROW(acosh, [](double x) { return std::acosh(x); });
  CHECK_NARROW(atanh, [](double x) { return std::atanh(x); });
  CHECK_NARROW(softplus, [](double x) { return x > 0 ? x + log1p_of_exp(-x) : log1p_of_exp(x); });
  CHECK_NARROW(log_sigmoid,
               [](double x) { return x < 0 ? x - log1p_of_exp(x) : -log1p_of_exp(-x); });
}
TYPED_TEST(math_narrow, error_functions) {
  CHECK_NARROW(erf, [](double x) { return std::erf(x); });
  CHECK_NARROW(erfc, [](double x) { return std::erfc(x); });
  CHECK_NARROW(erfinv, [](double x) { return kernels::erfinv(x); });
  CHECK_NARROW(gelu_slope, gelu_slope);
  CHECK_NARROW(gelu_tanh_slope, gelu_tanh_slope);
  CHECK_NARROW(gelu_none, [](double x) { return 0.5 * x * std::erfc(x * -0.70710678118654752); });
}
TYPED_TEST(math_narrow, angles) {
  CHECK_NARROW(asin, [](double x) { return std::asin(x); });
  CHECK_NARROW(acos, [](double x) { return std::acos(x); });
  CHECK_NARROW(atan, [](double x) { return std::atan(x); });
  CHECK_NARROW(tan, [](double x) { return std::tan(x); });
  check<TypeParam>(
      "sinc", [](f32 x) { return kernels::sinc_narrow(x) + 0.0f; }, sinc);
}
TYPED_TEST(math_narrow, pairs) {
  check_pairs<TypeParam>(
      "atan2", 0, [](f32 a, f32 b) { return kernels::atan2_narrow(a, b); },
      [](double y, double x) { return std::atan2(y, x); });
  check_pairs<TypeParam>(
      "hypot", 0, [](f32 a, f32 b) { return kernels::hypot_narrow(a, b); },
      [](double a, double b) { return std::hypot(a, b); });
  // The sum cancels where the result vanishes.
  check_pairs<TypeParam>(
      "logaddexp", 1e-6, [](f32 a, f32 b) { return kernels::logaddexp_narrow(a, b); }, logaddexp);
  check_pairs<TypeParam>(
      "logaddexp2", 1e-6, [](f32 a, f32 b) { return kernels::logaddexp2_narrow(a, b); },
      [](double a, double b) {
        return logaddexp(a * std::log(2.0), b * std::log(2.0)) / std::log(2.0);
      });
}
/// The floor's remainder, with the sign of b; zeros with that of a.
f32 remainder_of(f32 a, f32 b) {
  const f32 r = std::fmod(a, b);
  return r != 0 && b != 0 && (r < 0) != (b < 0) ? static_cast<f32>(double{r} + double{b}) : r;
}
// Remainders are exact, in one step or in several. An attempt succeeds with ordinary numbers.
TYPED_TEST(math_narrow, remainders) {
  const auto differ = [](f32 got, f32 want) {
    return std::isnan(want) ? !std::isnan(got)
                            : got != want || std::signbit(got) != std::signbit(want);
  };
  int ordinary = 0, attempted = 0;
  for (std::uint32_t i = 0; i < 65536; i += 61)
    for (std::uint32_t j = 0; j < 65536; j += 67) {
      const f32 a = TypeParam::from_bits(static_cast<std::uint16_t>(i));
      const f32 b = TypeParam::from_bits(static_cast<std::uint16_t>(j));
      const f32 rest = std::fmod(a, b), above = remainder_of(a, b);
      if (differ(kernels::fmod(a, b), rest) || differ(kernels::fmod_narrow(a, b), rest) ||
          differ(kernels::remainder_narrow(a, b), above)) {
        ADD_FAILURE() << "fmod and remainder of " << a << " and " << b << " = "
                      << kernels::fmod(a, b) << " and " << kernels::fmod_narrow(a, b) << ", "
                      << kernels::remainder_narrow(a, b) << "; want " << rest << ", " << above;
        return;
      }
      bool succeeds = true, of_floor = true;
      const f32 got = kernels::fmod_attempt(a, b, succeeds);
      const f32 floored = kernels::remainder_attempt(a, b, of_floor);
      const bool is_ordinary = std::fabs(a) < 1e4f && std::fabs(b) > 1e-2f && std::fabs(b) < 1e4f;
      ordinary += is_ordinary, attempted += is_ordinary && succeeds && of_floor;
      EXPECT_FALSE(succeeds && differ(got, rest));
      EXPECT_FALSE(of_floor && differ(floored, above));
    }
  EXPECT_EQ(attempted, ordinary);
  EXPECT_GT(ordinary, 10000);
}
// The bound can fail.
TEST(math_narrow_bound, is_an_eighth_of_the_spacing) {
  EXPECT_TRUE(agree<bf16>(1.0009f, 1.0));
  EXPECT_FALSE(agree<bf16>(1.004f, 1.0));
  EXPECT_FALSE(agree<f16>(1.0009f, 1.0));
  EXPECT_FALSE(agree<f16>(std::numeric_limits<f32>::quiet_NaN(), 1.0));
  EXPECT_FALSE(agree<bf16>(std::numeric_limits<f32>::infinity(), 1.0));
}

}  // namespace
