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
  // bf16, both operands along the sum; TFLOP/s of 8192^3, terms from 8192^2 x 512.
  static constexpr warp_group_numbers warp_group_tiles[] = {
      {128, 256, 4, 2, false, 785, 150}, {128, 192, 4, 2, true, 784, 116},
      {128, 128, 6, 1, true, 748, 67},   {128, 192, 4, 2, false, 730, 120},
      {128, 176, 4, 2, false, 720, 120}, {128, 144, 4, 1, false, 690, 100},
      {64, 128, 8, 1, true, 560, 67},    {64, 64, 8, 1, true, 400, 67}};
};

}  // namespace flaggems
