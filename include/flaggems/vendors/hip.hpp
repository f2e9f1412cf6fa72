// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// AMD's GPUs through HIP's runtime, with HIPRTC as the compiler; both are opened at first use.
// Checked against HIP 5.2's headers, and kernels by its HIPRTC; no GPU has run them.
#pragma once

#include <flaggems/vendors/driver/dialect.hpp>
#include <flaggems/vendors/hip/policies.hpp>
#include <flaggems/vendors/hip/tuning.hpp>

// The runtime's own types, so that handles are those of <hip/hip_runtime_api.h>.
struct ihipStream_t;
struct ihipEvent_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;

namespace flaggems {

struct hip;
struct hip32;

namespace detail {

template <class Device, int WarpSize>
struct hip_dialect : dialect_api {
  using device_type = Device;
  using stream = ihipStream_t*;
  using event = ihipEvent_t*;
  using module = ihipModule_t*;
  using function = ihipModuleSymbol_t*;

  static constexpr int warp_size = WarpSize;
  static constexpr driver_functions functions = [] {
    driver_functions f;
    FLAGGEMS_RUNTIME_NAMES(f, "hip")
    f.init.name = "hipInit";
    f.device_structure.name = "hipGetDevicePropertiesR0600";  // since HIP 6
    f.device_structure.other_name = "hipGetDeviceProperties";
    f.copy_to_device.name = "hipMemcpyHtoDAsync";
    f.copy_to_host.name = "hipMemcpyDtoHAsync";
    f.copy_on_device.name = "hipMemcpyDtoDAsync";
    f.copy_from_device.name = "hipMemcpyPeerAsync";
    f.can_access_peer.name = "hipDeviceCanAccessPeer";
    f.enable_peer_device.name = "hipDeviceEnablePeerAccess";
    f.allocate_pinned.name = "hipHostMalloc";
    f.deallocate_pinned.name = "hipHostFree";
    f.fill.name = "hipMemsetD8Async";
    f.create_stream.name = "hipStreamCreateWithPriority";
    f.occupancy.name = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
    return f;
  }();
  static constexpr driver_numbers numbers = [] {
    driver_numbers n = numbers_of_runtime();
    n.compute_units = 63;
    n.warp_size = 87;
    n.max_threads_per_block = 56;
    n.shared_memory = 74;
    n.l2_cache = 19;
    n.clock_khz = 5;
    n.memory_clock_khz = 60;
    n.memory_bus_bits = 59;
    return n;
  }();

  /// "gfx942"
  static text target(std::string_view structure) { return name_within(structure, "gfx"); }

  static constexpr const char* compiler_symbols[] = FLAGGEMS_COMPILER_NAMES("hiprtc", "Code");
  static std::vector<std::string> compiler_options(std::string_view target) {
    return {"-std=c++17", "-O3", "--offload-arch=" + std::string(target)};
  }
};

template <class Device, int WarpSize>
struct amd_api : hip_dialect<Device, WarpSize> {
  static constexpr const char* name = "hip";
  static constexpr const char* library_variable = "FLAGGEMS_HIP_LIBRARY";
  static constexpr const char* libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                              "libamdhip64.so.5", "libamdhip64.so"};
  static constexpr const char* compiler_name = "HIPRTC";
  static constexpr const char* compiler_variable = "FLAGGEMS_HIPRTC_LIBRARY";
  // Debian's HIP 5.2 exports it from the runtime.
  static constexpr const char* compiler_libraries[] = {
      "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so", "libamdhip64.so.5", "libamdhip64.so"};
};

}  // namespace detail

/// AMD's GPUs with waves of 64 lanes: gfx9, as CDNA is. Streams are hipStream_t.
struct hip : driver_device<detail::amd_api<hip, 64>>,
             detail::amd_policies<matrix_instructions::mfma, 64> {
  static constexpr const char* name = "hip";
  /// Whether a device is CDNA 2 or 3. Raises device_unavailable.
  static bool has_matrix_units(int device) { return detail::has_matrix_units_of<hip>(device); }
};
/// AMD's GPUs with waves of 32 lanes: gfx10 to gfx12, as RDNA is.
struct hip32 : driver_device<detail::amd_api<hip32, 32>>,
               detail::amd_policies<matrix_instructions::wmma, 32> {
  static constexpr const char* name = "hip32";
  /// Whether a device is RDNA 3. Raises device_unavailable.
  static bool has_matrix_units(int device) { return detail::has_matrix_units_of<hip32>(device); }
};
template <>
inline constexpr bool host_accessible<hip> = false;
template <>
inline constexpr bool host_accessible<hip32> = false;

static_assert(check_device<hip>() && check_device<hip32>());

}  // namespace flaggems
