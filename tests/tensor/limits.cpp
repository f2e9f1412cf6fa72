// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/tensor/dtype.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using namespace flaggems;

/// torch.finfo: max, smallest_normal, eps; then what the standard derives from the format.
struct facts {
  double max, min, epsilon, denorm_min;
  int digits, digits10, max_digits10, min_exponent, min_exponent10, max_exponent, max_exponent10;
  bool has_infinity;
};

template <class T>
void expect_limits(const facts& f) {
  using limits = std::numeric_limits<T>;
  const auto value = [](T x) { return static_cast<double>(static_cast<float>(x)); };
  static_assert(limits::is_specialized && limits::is_signed && !limits::is_integer &&
                !limits::is_exact && limits::is_bounded && !limits::is_modulo &&
                limits::radix == 2 && limits::has_quiet_NaN &&
                limits::round_style == std::round_to_nearest);
  static_assert(std::numeric_limits<const T>::is_specialized);
  EXPECT_EQ(value(limits::max()), f.max);
  EXPECT_EQ(value(limits::lowest()), -f.max);
  EXPECT_EQ(value(limits::min()), f.min);
  EXPECT_EQ(value(limits::epsilon()), f.epsilon);
  EXPECT_EQ(value(limits::denorm_min()), f.denorm_min);
  EXPECT_EQ(value(limits::round_error()), 0.5);
  EXPECT_EQ(limits::digits, f.digits);
  EXPECT_EQ(limits::digits10, f.digits10);
  EXPECT_EQ(limits::max_digits10, f.max_digits10);
  EXPECT_EQ(limits::min_exponent, f.min_exponent);
  EXPECT_EQ(limits::min_exponent10, f.min_exponent10);
  EXPECT_EQ(limits::max_exponent, f.max_exponent);
  EXPECT_EQ(limits::max_exponent10, f.max_exponent10);
  EXPECT_EQ(limits::has_infinity, f.has_infinity);
  EXPECT_EQ(limits::has_signaling_NaN, f.has_infinity);
  EXPECT_EQ(std::isinf(value(limits::infinity())), f.has_infinity);
  EXPECT_TRUE(std::isnan(value(limits::quiet_NaN())));
  EXPECT_EQ(std::isnan(value(limits::signaling_NaN())), f.has_infinity);
}

TEST(limits, are_those_of_the_formats) {
  expect_limits<f16>({65504.0, 0x1p-14, 0x1p-10, 0x1p-24, 11, 3, 5, -13, -4, 16, 4, true});
  expect_limits<bf16>({0x1.fep127, 0x1p-126, 0x1p-7, 0x1p-133, 8, 2, 4, -125, -37, 128, 38, true});
  expect_limits<f8e4m3>({448.0, 0x1p-6, 0x1p-3, 0x1p-9, 4, 0, 3, -5, -1, 9, 2, false});
  expect_limits<f8e5m2>({57344.0, 0x1p-14, 0x1p-2, 0x1p-16, 3, 0, 2, -13, -4, 16, 4, true});
}

}  // namespace
