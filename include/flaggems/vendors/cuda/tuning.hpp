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
  // H200, bf16 beside cuBLAS, terms of a sum 512, 2048, 4096: the first 0.50, 0.55, 0.58, the third
  // 0.56, 0.55, 0.56. The second has room from sm_80 on. H100, 1024^3: the fifth 10.4 us, the last
  // 11.1, the third 13.8.
  static constexpr gemm_tile tiles[] = {
      {128, 256, 64, 4, 2, 4, 1, 100, 162}, {128, 256, 64, 3, 2, 4, 1, 98, 162},
      {128, 128, 64, 3, 2, 2, 2, 94, 95},   {128, 256, 32, 4, 2, 4, 1, 85, 162},
      {128, 64, 64, 4, 2, 2, 2, 68, 60},    {64, 64, 32, 4, 2, 2, 3, 55, 60}};
  // H200, 1024^3, 4096^3 and 4096 x 2112 x 7168: 0.75, 0.99, 0.86 and 0.98, 0.99, 1.02 of cuBLAS.
  static constexpr gemm_tile f64_tiles[] = {
      {128, 128, 64, 4, 2, 4, 1, 100}, {128, 64, 64, 4, 4, 2, 1, 98}, {64, 64, 64, 3, 2, 2, 3, 85}};
  // H200, 4096^3: the first two and the last 0.99, 0.89 and 0.62 of cuBLAS; 64 filters of 3 x 3:
  // the last two 234 and 269 us.
  static constexpr gemm_fma_numbers fma_tiles[] = {
      {2, 4, 4, 2, 100}, {2, 2, 3, 3, 88}, {1, 4, 3, 3, 72}, {1, 2, 4, 4, 63}};
  // Fitted to times of 33 shapes, bf16 along the sum on both sides, 512^3 to 4096 x 512 x 32768:
  // the tile that they choose is within 0.2 % of the best one of these on average. The last two for
  // windows of images: of twelve convolutions the best tile or within 5 % of its time. The last
  // one: 512 x 4096 x 4096 with gelu 26.6 us, by turns 27.6; in 8 bits 14.8, 16.1.
  static constexpr warp_group_numbers warp_group_tiles[] = {
      {128, 256, 4, 2, false, 844, 197},
      {128, 192, 4, 2, true, 846, 101, true},
      {128, 128, 6, 1, true, 798, 130},
      {128, 176, 4, 2, false, 813, 241},
      {128, 144, 4, 1, false, 805, 223},
      {64, 128, 8, 2, true, 613, 250},
      {64, 64, 8, 1, true, 397, 80},
      {128, 64, 8, 1, false, 606, 70},
      {64, 128, 6, 1, true, 613, 130},
      {128, 192, 4, 1, true, 830, 101, true},
      {128, 128, 6, 1, false, 798, 105, false, true}};
  // Each step by itself. Not of turns: nothing would use the unit while a group adds.
  static constexpr warp_group_numbers warp_group_step_tiles[] = {{128, 128, 6, 2, false, 798, 130},
                                                                 {128, 176, 4, 1, false, 813, 241},
                                                                 {128, 144, 4, 1, false, 805, 223},
                                                                 {128, 64, 8, 1, false, 606, 70}};
  /// The same with scales of 128 lines, all of a tile.
  static constexpr warp_group_numbers warp_group_block_tiles[] = {{128, 128, 6, 2, false, 798, 130},
                                                                  {128, 64, 8, 1, false, 606, 70}};
  /// Groups of rows: of 16 bits, of few columns, of each step by itself, and that with scales of
  /// blocks. Clusters share rows, where columns are so many tiles times a number. H200, 256 rows of
  /// 32 groups: the first 452 us, in clusters of 2 464; the third 303, without 309.
  static constexpr warp_group_numbers grouped_warp_tile = {128, 256, 4, 1, false, 0, 0},
                                      grouped_warp_few_columns_tile = {128, 128, 6, 1, false, 0, 0},
                                      grouped_warp_step_tile = {128, 128, 6, 2, false, 0, 0},
                                      grouped_warp_block_tile = {128, 128, 6, 2, false, 0, 0};
  /// For more rows than these of a group. H200, 16 rows: 233 us, by mma.sync 281; copied lines, 256
  /// tokens by 8 of 32 experts: 809 us, by mma.sync 1,174.
  static constexpr i64 grouped_warp_rows = 8, gathered_warp_rows = 16;
  static constexpr warp_group_costs warp_group_other_costs = {0.00095, 8100, 0.0113, 256};
  /// Rows of a cluster's blocks that pass over all columns together: 8192^3 in 797 TFLOP/s, by half
  /// as many 787, by twice as many 789.
  static constexpr int warp_group_rows = 1024;
};

template <detail::cuda_like Device>
struct tuning<families::attention, Device> : default_tuning<families::attention, Device> {
  // TFLOP/s of the full square, 16,384 positions in heads of 128 of 512, 1024, .. 16,384 positions:
  // 128 keys of two groups 524, 605, 676, 715, 707, 671, of three groups 80 keys 467, 565, 668,
  // 706, 726, 737. Of 64: three groups 386, 418, 489, 504, 513, 498, two 363, 416, 440, 460, 467,
  // 456, and without streaming three 360, 398, 468, 511, 527, 507. With fewer than 100 tiles of
  // rows, the first tile with fewer rows is tried (9 heads of 2048 causal rows: 39 us to 27), then
  // smaller ones of mma.sync (8 x 1024 rows: 42 us, by these 61).
  static constexpr attention_warp_numbers warp_group_tiles[] = {
      {64, 128, 2, 3, true, false, i64{1} << 40, 1, 100},
      {64, 128, 3, 2, true, false, 1, 2048, 100},
      {64, 128, 3, 2, false, false, 4096, 8192, 100},
      {96, 128, 2, 2, true, false, 1, 1, 1},
      {128, 128, 2, 2, true, false, 1, 1, 1},
      {192, 80, 2, 2, true, false, 1, 1, 1},
      {256, 64, 2, 2, false, false, 1, 1, 1},
      {64, 128, 2, 2, true, true, 1, 1, 100},
      {128, 128, 2, 2, false, true, 1, 1, 1},
      {256, 64, 2, 2, false, true, 1, 1, 1}};
  static constexpr attention_gradient_numbers warp_group_gradient_tiles[] = {
      {64, 2, 64, 4, 64, 4}, {128, 2, 64, 3, 64, 3}};
};

}  // namespace flaggems
