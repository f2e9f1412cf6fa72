// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a simulated vendor's chips allow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flaggems_simulated {

struct vendor_rules {
  const char* what;         ///< "GPU", of a device's name
  const char* image_head;   ///< how images begin that its compiler makes, and no other's
  const char* late_launch;  ///< the name of the fault of a launch that fails when it runs
  std::size_t default_shared, most_shared;  ///< bytes a block, without and with an opt-in
  int skipped_of_names = 5;                 ///< letters of "CUDA_ERROR_...", for other vendors
  unsigned most_threads = 1024;             ///< a block
  std::uint64_t most_blocks = 0x7fffffff, most_grid_threads = ~std::uint64_t{0};
  unsigned grid_quantum = 1;         ///< of which larger grids are multiples
  const char* compiler_option = "";  ///< how an option begins without which nothing is compiled
  const char* image_tail = "";       ///< what its compiler puts behind an instance's types
  const char* compiler_results[3] = {"SUCCESS", "ERROR_COMPILATION", "ERROR"};
};

}  // namespace flaggems_simulated
