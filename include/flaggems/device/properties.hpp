// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a device type says about its devices and about how they differ from others.
#pragma once

#include <flaggems/detail/text.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems {

/// What one device is; a number that the device does not tell is 0.
struct device_properties {
  fixed_text name;                  ///< as the vendor calls it
  fixed_text arch;                  ///< the target's name: "sm_90", "gfx90a", "avx512_bf16"
  int compute_units = 0;            ///< multiprocessors; on the host, processors usable
  int warp_size = 1;                ///< threads that run in lock step
  int max_threads_per_block = 1;    ///< the most threads a block may have
  i64 shared_memory_per_block = 0;  ///< bytes
  int max_cluster = 1;              ///< the most blocks of a launch_config::cluster; a part of a
                                    ///< GPU may lack room for so many with much scratch
  i64 l2_cache = 0;      ///< bytes of the last cache level private to a compute unit or SIMT device
  i64 total_memory = 0;  ///< bytes
  i64 free_memory = 0;   ///< bytes, when asked
  i64 clock_khz = 0;     ///< of the compute units, at most
  i64 memory_clock_khz = 0;  ///< of the memory, at most
  int memory_bus_bits = 0;   ///< the width of the memory's bus
};

/// Where an image of a kernel comes from. A device type lists what it has, in the order in which
/// it is tried.
enum class image_provider {
  linked,            ///< compiled with the program
  precompiled,       ///< machine code for some targets, linked into the program
  runtime_compiled,  ///< compiled from the text inside the program when first used
  bundle             ///< a file made ahead of time, as Triton's compilers make them
};

/// How the arguments of a kernel reach the driver.
enum class argument_kind {
  direct,          ///< a C++ call: the host
  pointer_array,   ///< an array with a pointer to each argument
  packed_buffer,   ///< one buffer with all arguments
  system_in_front  ///< one buffer, with words of the system in front of the arguments
};

/// Between which memories a copy goes.
enum class copy_kind { host_to_device, device_to_host, device_to_device };

}  // namespace flaggems
