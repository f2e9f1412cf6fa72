// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// AMD's GPUs through HIP's runtime, with HIPRTC as the compiler; both are opened at first use.
// Checked against HIP 5.2's headers, and kernels by its HIPRTC; no GPU has run them.
#pragma once

#include <flaggems/vendors/driver/dialect.hpp>
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

template <int WarpSize>
struct hip_policies : simt_policies<WarpSize> {
  static constexpr int torch_device_type = 1;  // c10::DeviceType::CUDA, as PyTorch for ROCm has it
  static constexpr int dlpack_device_type = 10;  // kDLROCM
  struct geometry : simt_policies<WarpSize>::geometry {
    static constexpr i64 max_grid = (i64{1} << 22) - 1;  // blocks of 1024 threads: below 2^32
  };
};

/// The policies of a device type some of whose devices have matrix units.
template <matrix_instructions Matrix, int WarpSize>
struct amd_policies : hip_policies<WarpSize> {
  struct capabilities : hip_policies<WarpSize>::capabilities {
    static constexpr bool matrix_units = true;
    static constexpr matrix_instructions matrix = Matrix;
  };
};

/// Whether a device has the units whose instructions FLAGGEMS_HIP_MFMA (_WMMA) stands for, asked
/// for once. (gfx908 lacks those of bf16 and f64, gfx12 holds words otherwise.)
template <class Device>
bool has_matrix_units_of(int device) {
  static atomic<int> known[max_devices];  // one more than whether
  if (device < 0 || device >= max_devices) return false;
  int answer = known[device].load();
  if (answer == 0) [[unlikely]] {
    const device_properties p = Device::properties(device);
    const std::string_view arch = p.arch.view();
    const auto is = [&](std::string_view name) { return arch.substr(0, name.size()) == name; };
    const bool has = matrix_instructions_of<Device> == matrix_instructions::wmma
                         ? is("gfx11")
                         : is("gfx90a") || is("gfx94") || is("gfx950");
    answer = has ? 2 : 1;
    known[device].store(answer);
  }
  return answer == 2;
}

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
