// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A driver of CUDA's kind without a function that every device type needs, or with short warps.
//
// clang-format off
//
// expect: -DWITHOUT=create_plain_stream: flaggems: Api::functions lacks `create_stream` or `create_plain_stream`
// expect: -DWITHOUT=copy_any: flaggems: Api::functions lacks `copy_any`, `copy_now`, or `copy_to_device`, `copy_to_host` and `copy_on_device`
// expect: -DLANES=16: flaggems: Api::warp_size is below 32, and kernels have no form for such warps
// clang-format on
#include <flaggems/vendors/maca.hpp>

#ifndef WITHOUT
#define WITHOUT error_name
#endif
#ifndef LANES
#define LANES 64
#endif

struct chip_api : flaggems::detail::maca_api {
  static constexpr int warp_size = LANES;
  static constexpr flaggems::detail::driver_functions functions = [] {
    flaggems::detail::driver_functions f = maca_api::functions;
    f.WITHOUT.name = nullptr;
    return f;
  }();
};
struct chip : flaggems::driver_device<chip_api>, flaggems::detail::simt_policies<64> {};

int main() { return chip::device_count(); }
