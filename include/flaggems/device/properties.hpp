// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Properties of a device, and the enumerations of a device type's policies.
#pragma once

#include <flaggems/detail/text.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems {

/// The properties of one device; 0 where the device does not report a number.
struct device_properties {
  fixed_text name;                  ///< the vendor's name
  fixed_text arch;                  ///< the target's name: "sm_90", "gfx90a", "avx512_bf16"
  int compute_units = 0;            ///< SMs or compute units; on the host, usable processors
  int warp_size = 1;                ///< threads that execute in lock step
  int max_threads_per_block = 1;    ///< the most threads a block may have
  i64 shared_memory_per_block = 0;  ///< bytes
  int max_cluster = 1;              ///< maximum of launch_config::cluster; with much scratch a
                                    ///< part of a GPU may support fewer
  i64 l2_cache = 0;      ///< bytes of the last cache level private to a compute unit or SIMT device
  i64 total_memory = 0;  ///< bytes
  i64 free_memory = 0;   ///< bytes, at the time of the query
  i64 clock_khz = 0;     ///< of the compute units, maximum
  i64 memory_clock_khz = 0;  ///< of the memory, maximum
  int memory_bus_bits = 0;   ///< the width of the memory's bus
};

/// Where a kernel's image comes from. A device type lists its providers in the order of use.
enum class image_provider {
  linked,            ///< compiled with the program
  precompiled,       ///< machine code for some targets, linked into the program
  runtime_compiled,  ///< compiled at first use from source in the program
  bundle             ///< a precompiled file, as Triton's compilers produce
};

/// How a kernel's arguments are passed to the driver.
enum class argument_kind {
  direct,          ///< a C++ call: the host
  pointer_array,   ///< an array with a pointer to each argument
  packed_buffer,   ///< one buffer with all arguments
  system_in_front  ///< one buffer that starts with words of the system
};

/// The direction of a copy.
enum class copy_kind { host_to_device, device_to_host, device_to_device };

}  // namespace flaggems
