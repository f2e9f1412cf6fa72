// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// std::numeric_limits of f16, bf16, f8e4m3 and f8e5m2.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

#include <limits>

/// As for f32; the members follow from the format.
template <class Format>
class std::numeric_limits<flaggems::kernels::small_float<Format>> {
  using T = flaggems::kernels::small_float<Format>;
  using storage = typename Format::storage;
  static constexpr int bias = 127 - static_cast<int>(Format::rebias);
  static constexpr T of(flaggems::u32 bits) noexcept {
    return T::from_bits(static_cast<storage>(bits));
  }
  /// n * log10(2), rounded towards 0.
  static constexpr int decimal(int n) noexcept { return n * 30103 / 100000; }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = Format::has_infinity;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = Format::has_infinity;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // since C++23, and still a member
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
#pragma GCC diagnostic pop
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559 = Format::bits == 16 && Format::mantissa == 10;  // binary16
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int digits = Format::mantissa + 1;
  static constexpr int digits10 = decimal(digits - 1);
  static constexpr int max_digits10 = decimal(digits) + 2;
  static constexpr int radix = 2;
  static constexpr int min_exponent = 2 - bias;
  static constexpr int min_exponent10 = decimal(min_exponent - 1);
  static constexpr int max_exponent = bias + (Format::has_infinity ? 1 : 2);
  static constexpr int max_exponent10 = decimal(max_exponent);
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;

  static constexpr T(min)() noexcept { return of(Format::least_normal); }
  static constexpr T lowest() noexcept { return of(Format::sign | (Format::limit - 1)); }
  static constexpr T(max)() noexcept { return of(Format::limit - 1); }
  static constexpr T epsilon() noexcept {
    return T(1.0F / static_cast<float>(1 << Format::mantissa));
  }
  static constexpr T round_error() noexcept { return T(0.5F); }
  /// 0 without infinities, as the standard says.
  static constexpr T infinity() noexcept { return of(has_infinity ? Format::limit : 0); }
  static constexpr T quiet_NaN() noexcept { return of(Format::quiet_nan); }
  static constexpr T signaling_NaN() noexcept {
    return of(has_signaling_NaN ? Format::limit | 1 : 0);
  }
  static constexpr T denorm_min() noexcept { return of(1); }
};
