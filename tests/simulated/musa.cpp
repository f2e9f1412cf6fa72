// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Moore Threads' driver and compiler: no tensor maps, clusters or graphs are asked of it; shared
// memory needs an opt-in.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "MUSA GPU",
                                .image_head = "flaggems simulated image of musa\n",
                                .late_launch = "muLaunchKernel later",
                                .default_shared = 48 * 1024,
                                .most_shared = 128 * 1024,
                                .compiler_option = "-DFLAGGEMS_DIALECT_LANES=32"};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 1: return value = 1024, 0;
    case 10: return value = 32, 0;
    case 16: return value = 2, 0;
    case 75: return value = 3, 0;
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

#define FLAGGEMS_SIMULATED(name) mu##name
#define FLAGGEMS_SIMULATED_COMPILER(name) mtrtc##name
#define FLAGGEMS_SIMULATED_IMAGE(end) mtrtcGetFatBin##end
#include "compiler.hpp"
#include "driver.hpp"
