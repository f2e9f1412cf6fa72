// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Tiles of products and attention on AMD's matrix units. NOT MEASURED on hardware, nor their
// percentages: they are the largest that the compiler (clang 19, -O3) keeps in registers, but for
// up to 76 bytes where an operand is transposed and 236 of attention on RDNA 3, and that fit in 64
// KiB of LDS.
#pragma once

#include <flaggems/launch/tuning.hpp>

#include <concepts>

namespace flaggems {

struct hip;
struct hip32;

template <std::same_as<hip> Device>
struct tuning<families::gemm, Device> : default_tuning<families::gemm, Device> {
  static constexpr gemm_tile tiles[] = {{256, 128, 32, 2, 4, 2, 1, 100},
                                        {128, 128, 32, 2, 2, 2, 1, 90},
                                        {64, 64, 32, 2, 2, 2, 2, 60}};
};

template <std::same_as<hip32> Device>
struct tuning<families::gemm, Device> : default_tuning<families::gemm, Device> {
  static constexpr gemm_tile tiles[] = {{128, 128, 32, 2, 4, 4, 1, 100},
                                        {64, 64, 32, 2, 2, 2, 2, 70}};
};

template <std::same_as<hip> Device>
struct tuning<families::attention, Device> : default_tuning<families::attention, Device> {
  static constexpr int prefill_keys(int blocks) { return blocks <= 1 ? 64 : 32; }
};

template <std::same_as<hip32> Device>
struct tuning<families::attention, Device> : default_tuning<families::attention, Device> {
  static constexpr int prefill_keys(int) { return 32; }
};

}  // namespace flaggems
