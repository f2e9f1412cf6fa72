// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::opencl over a simulated driver of NVIDIA's manner: included before anything else
// (-include). Images are PTX of the simulated compiler's.
#pragma once

#include "device.hpp"

#include <flaggems/vendors/opencl.hpp>

namespace flaggems_test {

struct opencl_simulation : flaggems::detail::opencl_api {
  static constexpr const char* library_variable = "FLAGGEMS_OPENCL_LIBRARY";
  static constexpr int warp_size = flaggems::opencl::geometry::warp_size;
};

}  // namespace flaggems_test

template <>
struct flaggems::detail::instance_observer<flaggems::detail::opencl_api>
    : flaggems_test::simulated_launches<flaggems_test::opencl_simulation> {};
