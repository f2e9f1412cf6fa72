// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// flaggems::level_zero over its simulated driver: included before anything else (-include). Images
// are in the program, as that driver reads no SPIR-V.
#pragma once

#include "device.hpp"

#include <flaggems/vendors/level_zero.hpp>

namespace flaggems_test {

struct level_zero_simulation : flaggems::detail::level_zero_api {
  static constexpr const char* library_variable = "FLAGGEMS_LEVEL_ZERO_LIBRARY";
  static constexpr int warp_size = flaggems::level_zero::geometry::warp_size;
};

}  // namespace flaggems_test

namespace flaggems::detail {

template <>
struct instance_observer<level_zero_api>
    : flaggems_test::simulated_launches<flaggems_test::level_zero_simulation> {};

template <>
inline std::string_view precompiled_image_of<level_zero_api>(const kernel_instance& instance,
                                                             std::string_view) noexcept {
  static std::string image;  // locked by what loads it
  image = "flaggems simulated image of level_zero\n" + std::string(instance.types());
  return image;
}

}  // namespace flaggems::detail
