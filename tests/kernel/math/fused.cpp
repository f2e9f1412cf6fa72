// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of f32 with fused sums, which SIMT devices take: here with exact quotients, roots
// and powers in place of their instructions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <flaggems/kernel/family/pointwise/tables/activation_backward.hpp>
#include <flaggems/kernel/math/erf_inverse.hpp>
#include <flaggems/kernel/math/hyperbolic.hpp>

namespace {

using flaggems::f32;
namespace kernels = flaggems::kernels;

/// The error of `got` in units of the last place of the result that is nearest to `want`.
double ulp_error(f32 got, double want) {
  const f32 nearest = static_cast<f32>(want);
  if (got == nearest || (std::isnan(got) && std::isnan(want))) return 0;
  if (std::isnan(got) || std::isnan(want) || std::isinf(got) || std::isinf(nearest)) return 1e9;
  const int exponent = std::fabs(nearest) < 0x1p-126f ? -126 : std::ilogb(nearest);
  return std::fabs(double{got} - want) / std::ldexp(1.0, exponent - 23);
}

/// Every `step`-th number from `first` to `last`, and those of the other sign.
template <class F, class Reference>
void check(const char* name, double limit, f32 first, f32 last, std::uint32_t step, F f,
           Reference reference) {
  const auto begin = kernels::bit_cast<std::uint32_t>(first);
  const auto end = kernels::bit_cast<std::uint32_t>(last);
  double worst = 0;
  f32 at = 0;
  for (std::uint32_t bits = begin; bits <= end; bits += step)
    for (const f32 x : {kernels::bit_cast<f32>(bits), -kernels::bit_cast<f32>(bits)}) {
      const double error = ulp_error(f(x), reference(double{x}));
      if (error > worst) worst = error, at = x;
    }
  EXPECT_LE(worst, limit) << name << '(' << at << ')';
  EXPECT_GT(worst, 0.3) << name;  // it has been compared with something else than itself
}
template <class F>
void check_limits(F f, f32 at_one, f32 beyond) {
  const f32 infinity = std::numeric_limits<f32>::infinity();
  EXPECT_TRUE(std::isnan(f(std::numeric_limits<f32>::quiet_NaN())));
  EXPECT_EQ(ulp_error(f(1.0f), double{at_one}), 0);
  EXPECT_EQ(ulp_error(f(infinity), double{beyond}), 0);
  EXPECT_EQ(std::signbit(f(-0.0f)), true);
  EXPECT_EQ(f(-0.0f), 0.0f);
}

// (Functions that are always inline have no address.)
constexpr auto atanh = [](f32 x) { return kernels::atanh_fused(x); };
constexpr auto erfc = [](f32 x) { return kernels::erfc_fused(x); };
constexpr auto erfinv = [](f32 x) { return kernels::erfinv_fused(x); };
constexpr auto gelu_slope = [](f32 x) { return kernels::gelu_slope_fused(x); };

const f32 none = std::numeric_limits<f32>::quiet_NaN();
const f32 infinity = std::numeric_limits<f32>::infinity();

TEST(math_fused, logarithm) {
  const auto log = [](f32 x) {
    f32 k;
    const f32 f = kernels::split_normal<f32>(std::fabs(x), k);
    return kernels::log_of_split_fused(f, k);
  };
  const auto want = [](double x) { return std::log(std::fabs(x)); };
  check("log", 1, 0x1p-126f, 0x1.fffffep127f, 20011, log, want);
  check("log", 1, 0.5f, 2.0f, 101, log, want);
}
TEST(math_fused, atanh) {
  check("atanh", 1.5, 0x1p-126f, 0.99999994f, 4001, atanh, [](double x) { return std::atanh(x); });
  check("atanh", 1.5, 0.05f, 0.99999994f, 301, atanh, [](double x) { return std::atanh(x); });
  check_limits(atanh, infinity, none);
}
TEST(math_fused, error_functions) {
  check("erfc", 1.5, 0x1p-30f, 0.46874997f, 1009, erfc, [](double x) { return std::erfc(x); });
  check("erfc", 4, 0.46875f, 10.5f, 211, erfc, [](double x) { return std::erfc(x); });
  EXPECT_EQ(erfc(infinity), 0);
  EXPECT_EQ(erfc(-infinity), 2);
  EXPECT_TRUE(std::isnan(erfc(none)));
  check("erfinv", 2, 0x1p-126f, 0.99999994f, 40009, erfinv,
        [](double x) { return kernels::erfinv(x); });
  check("erfinv", 2, 0.01f, 0.99999994f, 2003, erfinv, [](double x) { return kernels::erfinv(x); });
  check_limits(erfinv, infinity, none);
}
/// Where the slope vanishes, too; e^(-x^2 / 2) has the error of its exponent.
TEST(math_fused, gelu_slope) {
  const auto want = [](double x) {
    return std::erfc(x * -0.70710678118654752440) / 2 +
           x * 0.39894228040143267794 * std::exp(x * x / -2);
  };
  const auto of_negative = [&](double x) { return want(-std::fabs(x)); };
  check("gelu_slope", 5, 0x1p-30f, 0.7f, 1009, gelu_slope, want);
  check("gelu_slope", 5, 0.8f, 1.5f, 1009, gelu_slope, want);
  check(
      "gelu_slope", 16, 0.7f, 4.0f, 101, [](f32 x) { return gelu_slope(-std::fabs(x)); },
      of_negative);
  EXPECT_EQ(gelu_slope(20.0f), 1);
  EXPECT_EQ(gelu_slope(-20.0f), 0);
  EXPECT_TRUE(std::isnan(gelu_slope(none)));
}
TEST(math_fused, tangent) {
  const auto tan = [](f32 x) {
    const f32 shift = kernels::rounding_shift<f32>();
    const f32 shifted = kernels::fused(x, 0.63661977236758134308f, shift);
    f32 r_low;
    const f32 r = kernels::rest_of_quadrants_fused(x, shifted - shift, r_low);
    return kernels::tan_of_remainder(r, r_low,
                                     (kernels::bit_cast<std::uint32_t>(shifted) & 1) != 0);
  };
  const auto want = [](double x) { return std::tan(x); };
  check("tan", 2.5, 0x1p-12f, 1e5f, 1009, tan, want);
  check("tan", 2.5, 0.5f, 30.0f, 211, tan, want);
}

}  // namespace
