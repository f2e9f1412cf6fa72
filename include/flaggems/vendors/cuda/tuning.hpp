// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What was measured on an NVIDIA H100 and H200 (132 units, 4.2 TB/s of copies; bench/gpu,
// bench/results) and is no default for others. What is derived from flaggems::cuda has it, too.
#pragma once

#include <flaggems/launch/tuning.hpp>

#include <type_traits>

namespace flaggems {

struct cuda;

namespace detail {
template <class Device>
concept cuda_like = std::is_same_v<Device, cuda> || std::is_base_of_v<cuda, Device>;
}

template <detail::cuda_like Device>
struct tuning<families::any, Device> : default_tuning<families::any, Device> {
  static constexpr i64 units = 132;
};

template <detail::cuda_like Device>
struct tuning<families::pointwise, Device> : default_tuning<families::pointwise, Device> {
  // 512 MiB of f32: gelu in 260 us, by 256 threads 262. (Of fewer steps it is the other way: blocks
  // so few that the next launch is let in early; 1 MiB copied in 1.78 us by 256, 2.20 by 128.)
  static constexpr int threads_of_many = 128;
};

template <detail::cuda_like Device>
struct tuning<families::gemm, Device> : default_tuning<families::gemm, Device> {
  static constexpr gemm_tile tiles[] = {{128, 256, 64, 3, 2, 4, 1, 100},
                                        {128, 256, 32, 4, 2, 4, 1, 93},
                                        {128, 128, 32, 4, 2, 2, 2, 90},
                                        {64, 64, 32, 4, 2, 2, 3, 60}};
  // Fitted to times of 33 shapes, bf16 along the sum on both sides, 512^3 to 4096 x 512 x 32768:
  // the tile that they choose is within 0.2 % of the best one of these on average.
  static constexpr warp_group_numbers warp_group_tiles[] = {
      {128, 256, 4, 2, false, 844, 197}, {128, 192, 4, 2, true, 846, 101, true},
      {128, 128, 6, 1, true, 798, 130},  {128, 176, 4, 2, false, 813, 241},
      {128, 144, 4, 1, false, 805, 223}, {64, 128, 8, 2, true, 613, 250},
      {64, 64, 8, 1, true, 397, 80},     {128, 64, 8, 1, false, 606, 70}};
  static constexpr warp_group_costs warp_group_other_costs = {0.00095, 8100, 0.0113, 256};
  /// Rows of a cluster's blocks that pass over all columns together: 8192^3 in 797 TFLOP/s, by half
  /// as many 787, by twice as many 789.
  static constexpr int warp_group_rows = 1024;
};

}  // namespace flaggems
