// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The small floating-point types against tables made with double arithmetic alone: every pattern
// decoded; every value, every midpoint of neighbours and what lies next to them encoded.
#include <flaggems/kernel/lang/number.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

using namespace flaggems;

/// What a format is, said once more and independently of the header.
struct description {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
};
template <class T>
constexpr description describe = {};
template <>
constexpr description describe<f16> = {5, 10, true};
template <>
constexpr description describe<bf16> = {8, 7, true};
template <>
constexpr description describe<f8e4m3> = {4, 3, false};
template <>
constexpr description describe<f8e5m2> = {5, 2, true};

/// The value of a pattern without its sign, where all-ones exponents are exponents like others.
double magnitude(u32 pattern, description d) {
  const int bias = (1 << (d.exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(pattern >> d.mantissa_bits);
  const u32 mantissa = pattern & ((1u << d.mantissa_bits) - 1u);
  return exponent == 0
             ? std::ldexp(mantissa, 1 - bias - d.mantissa_bits)
             : std::ldexp(mantissa + (1u << d.mantissa_bits), exponent - bias - d.mantissa_bits);
}

template <class T>
class small_float : public ::testing::Test {
 protected:
  static constexpr description format = describe<T>;
  static constexpr u32 sign = 1u << (format.exponent_bits + format.mantissa_bits);
  // The first pattern that is no finite number.
  static constexpr u32 limit =
      format.has_infinity ? ((1u << format.exponent_bits) - 1u) << format.mantissa_bits : sign - 1u;

  /// The pattern nearest to |x|, ties to the even one; `limit` is the value it would have if the
  /// format went on.
  static u32 nearest(double x) {
    x = std::fabs(x);
    static const std::vector<double> values = [] {
      std::vector<double> v;
      for (u32 p = 0; p <= limit; ++p) v.push_back(magnitude(p, format));
      return v;
    }();
    u32 lo = 0, hi = limit;
    if (x >= values[limit]) return limit;
    while (hi - lo > 1) {
      const u32 middle = (lo + hi) / 2;
      (values[middle] <= x ? lo : hi) = middle;
    }
    const double tie = values[lo] / 2 + values[hi] / 2;  // exact: a bit more than the format has
    return x < tie || (x == tie && lo % 2 == 0) ? lo : hi;
  }

  static void expect_encoded(double x) {
    const u32 expected = nearest(x) | (std::signbit(x) ? sign : 0u);
    if (T(x).bits != expected) {
      ADD_FAILURE() << std::hexfloat << "f64 " << x << " became " << T(x).bits << ", not "
                    << expected;
    }
    const float single = static_cast<float>(x);
    const u32 from_single = nearest(static_cast<double>(single)) | (std::signbit(x) ? sign : 0u);
    if (T(single).bits != from_single) {
      ADD_FAILURE() << std::hexfloat << "f32 " << single << " became " << T(single).bits << ", not "
                    << from_single;
    }
  }
};

using formats = ::testing::Types<f16, bf16, f8e4m3, f8e5m2>;
TYPED_TEST_SUITE(small_float, formats);

TYPED_TEST(small_float, every_pattern_decodes) {
  using fixture = small_float<TypeParam>;
  for (u32 p = 0; p < 2 * fixture::sign; ++p) {
    const u32 rest = p & (fixture::sign - 1u);
    const float x = TypeParam::from_bits(static_cast<decltype(TypeParam{}.bits)>(p));
    ASSERT_EQ(std::signbit(x), p >= fixture::sign) << p;
    if (rest < fixture::limit)
      ASSERT_EQ(std::fabs(static_cast<double>(x)), magnitude(rest, fixture::format)) << p;
    else if (rest == fixture::limit && fixture::format.has_infinity)
      ASSERT_TRUE(std::isinf(x)) << p;
    else
      ASSERT_TRUE(std::isnan(x)) << p;
  }
}

TYPED_TEST(small_float, every_pattern_survives_a_round_trip) {
  using fixture = small_float<TypeParam>;
  for (u32 p = 0; p < 2 * fixture::sign; ++p) {
    const TypeParam x = TypeParam::from_bits(static_cast<decltype(x.bits)>(p));
    const float f = x;
    const TypeParam back(f), from_double(static_cast<double>(f));
    ASSERT_EQ(back.bits, from_double.bits) << p;
    if (std::isnan(f))
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << p;
    else
      ASSERT_EQ(u32{back.bits}, p);
  }
}

TYPED_TEST(small_float, values_midpoints_and_their_neighbours_encode) {
  using fixture = small_float<TypeParam>;
  const double inf = std::numeric_limits<double>::infinity();
  for (u32 p = 0; p < fixture::limit; ++p) {
    const double value = magnitude(p, fixture::format), next = magnitude(p + 1, fixture::format);
    for (const double x : {value, value / 2 + next / 2})
      // The neighbours in f64 of a midpoint become the midpoint in f32: rounded twice, they go
      // wrong.
      for (const double y : {x, std::nextafter(x, -inf), std::nextafter(x, inf),
                             static_cast<double>(std::nextafter(static_cast<float>(x), -1e38f)),
                             static_cast<double>(std::nextafter(static_cast<float>(x), 1e38f))}) {
        this->expect_encoded(y);
        this->expect_encoded(-y);
        if (::testing::Test::HasFailure()) return;
      }
  }
}

TYPED_TEST(small_float, random_numbers_encode) {
  std::mt19937_64 random(1);
  for (int i = 0; i < (1 << 20); ++i) {
    const u64 bits = random();
    double wide = 0;
    std::memcpy(&wide, &bits, sizeof wide);
    float narrow = 0;
    const u32 half = static_cast<u32>(bits);
    std::memcpy(&narrow, &half, sizeof narrow);
    if (!std::isnan(wide)) this->expect_encoded(wide);
    if (!std::isnan(narrow)) this->expect_encoded(static_cast<double>(narrow));
    // Around 1, where the small formats have their values.
    this->expect_encoded(
        std::ldexp(static_cast<double>(bits >> 11), -53 - static_cast<int>(i % 32)));
    if (::testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(small_float, special_values) {
  using fixture = small_float<TypeParam>;
  const auto is_nan = [](TypeParam x) { return std::isnan(static_cast<float>(x)); };
  EXPECT_TRUE(is_nan(TypeParam(std::nanf(""))));
  EXPECT_TRUE(is_nan(TypeParam(std::nan(""))));
  EXPECT_TRUE(is_nan(TypeParam(-std::nanf(""))));
  for (const double x : {1e300, 3.5e38, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(u32{TypeParam(x).bits}, fixture::limit);
    EXPECT_EQ(u32{TypeParam(-x).bits}, fixture::limit | fixture::sign);
  }
  for (const double x : {5e-324, 1e-300, 1e-46}) {
    EXPECT_EQ(u32{TypeParam(x).bits}, 0u);
    EXPECT_EQ(u32{TypeParam(-x).bits}, fixture::sign);
  }
}

TYPED_TEST(small_float, integers_round_once) {
  for (i64 x = -70000; x <= 70000; ++x) {
    const u32 expected = this->nearest(static_cast<double>(x)) | (x < 0 ? this->sign : 0u);
    ASSERT_EQ(u32{TypeParam(x).bits}, expected) << x;
    ASSERT_EQ(u32{TypeParam(static_cast<i32>(x)).bits}, expected) << x;
  }
  EXPECT_EQ(static_cast<float>(TypeParam(true)), 1.0f);
}

// In constant expressions too.
static_assert(f16(1.0f).bits == 0x3c00 && f16(65504.0f).bits == 0x7bff &&
              f16(65520.0f).bits == 0x7c00);
static_assert(bf16(1.0f).bits == 0x3f80 && bf16(-2.0).bits == 0xc000);
static_assert(f8e4m3(448.0f).bits == 0x7e && f8e4m3(464.0f).bits == 0x7e &&
              f8e4m3(465.0f).bits == 0x7f);
static_assert(f8e5m2(57344.0f).bits == 0x7b && f8e5m2(61440.0f).bits == 0x7c);
static_assert(static_cast<f32>(f16::from_bits(1)) == 0x1p-24f);

TEST(number, casts) {
  using kernels::number_cast;
  EXPECT_EQ(number_cast<i32>(f16(-3.7f)), -3);
  EXPECT_EQ(number_cast<bf16>(1.00390625).bits, 0x3f80);          // a tie, to even
  EXPECT_EQ(number_cast<bf16>(1.00390625 + 1e-12).bits, 0x3f81);  // lost if rounded to f32 first
  EXPECT_EQ(number_cast<f32>(f8e4m3(0.5f)), 0.5f);
  EXPECT_TRUE(number_cast<bool>(f16(1e-7)));
  EXPECT_FALSE(number_cast<bool>(f16(-0.0f)));
  EXPECT_TRUE(number_cast<bool>(0.25));
  EXPECT_TRUE(number_cast<bool>(std::nan("")));
  EXPECT_EQ(number_cast<f16>(u64{65519}).bits, 0x7bff);
  EXPECT_EQ(number_cast<f16>(u64{65520}).bits, 0x7c00);
  // What no integer holds: the nearest one, and 0 for NaN.
  static_assert(number_cast<i8>(-1000.0f) == -128 && number_cast<u8>(-1.0f) == 0 &&
                number_cast<i32>(2147483648.0f) == 2147483647 && number_cast<u64>(1e300) == ~0ull);
  EXPECT_EQ(number_cast<i64>(bf16(std::nanf(""))), 0);
  EXPECT_EQ(number_cast<i16>(f16(65504.0f)), 32767);
  EXPECT_EQ(kernels::round_to_odd(1.0 + 0x1p-50), std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(kernels::round_to_odd(1.0), 1.0f);
}

}  // namespace
