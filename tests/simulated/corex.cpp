// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Iluvatar's driver, which has the names of NVIDIA's, and warps of 64 lanes.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "CoreX GPU",
                                .image_head = "flaggems simulated image of corex\n",
                                .late_launch = "cuLaunchKernel later",
                                .default_shared = 48 * 1024,
                                .most_shared = 64 * 1024,
                                .compiler_option = "-DFLAGGEMS_DIALECT_LANES=64"};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 1: return value = 1024, 0;
    case 10: return value = 64, 0;
    case 16: return value = 2, 0;
    case 75: return value = 7, 0;
    case 76: return value = 1, 0;
    case 97: return value = static_cast<int>(rules.most_shared), 0;
    case 13:
    case 36:
    case 37:
    case 38: return value = 1, 0;
    default: return 1;
  }
}

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) cu##name
#define FLAGGEMS_SIMULATED_COMPILER(name) nvrtc##name
#define FLAGGEMS_SIMULATED_IMAGE(end) nvrtcGetCUBIN##end
#include "compiler.hpp"
#include "driver.hpp"
