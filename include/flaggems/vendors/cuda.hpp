// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's GPUs through the CUDA driver API, with NVRTC as the compiler. Neither is needed to build
// or start: both are opened at first use. FLAGGEMS_CUDA_LIBRARY and FLAGGEMS_NVRTC_LIBRARY override
// the names below.
#pragma once

#include <flaggems/vendors/cuda/nvrtc.hpp>
#include <flaggems/vendors/cuda/tuning.hpp>
#include <flaggems/vendors/driver/dialect.hpp>

// The driver's own types, so that handles are those of <cuda.h> and the runtime API.
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraphExec_st;

namespace flaggems {

struct cuda;

namespace detail {

struct cuda_api : dialect_api, nvrtc_compiler {
  using device_type = cuda;
  using stream = CUstream_st*;
  using event = CUevent_st*;
  using module = CUmod_st*;
  using function = CUfunc_st*;
  using graph = CUgraphExec_st*;

  static constexpr const char* name = "cuda";
  static constexpr int warp_size = 32;
  static constexpr const char* library_variable = "FLAGGEMS_CUDA_LIBRARY";
  static constexpr const char* libraries[] = {"libcuda.so.1", "libcuda.so"};

  static constexpr driver_functions functions = [] {
    driver_functions f;
    FLAGGEMS_DRIVER_NAMES(f, "cu")
    f.launch_grid = {};
    f.begin_capture.name = "cuStreamBeginCapture_v2";
    f.end_capture.name = "cuStreamEndCapture";
    f.is_capturing.name = "cuStreamIsCapturing";
    f.capture_info.name = "cuStreamGetCaptureInfo_v2";
    f.create_user_object.name = "cuUserObjectCreate";
    f.release_user_object.name = "cuUserObjectRelease";
    f.retain_user_object.name = "cuGraphRetainUserObject";
    f.exchange_capture_mode.name = "cuThreadExchangeStreamCaptureMode";
    f.instantiate.name = "cuGraphInstantiateWithFlags";
    f.destroy_graph.name = "cuGraphDestroy";
    f.launch_graph.name = "cuGraphLaunch";
    f.destroy_executable.name = "cuGraphExecDestroy";
    f.launch.name = "cuLaunchKernelEx";
    f.encode_tensor_map.name = "cuTensorMapEncodeTiled";
    return f;
  }();
  static constexpr driver_numbers numbers = cuda_numbers;

  /// "sm_90a": with architecture-specific instructions, since the code is for this machine.
  static text target(int capability_major, int capability_minor) {
    return text("sm_") + text(10 * capability_major + capability_minor) +
           (capability_major >= 9 ? "a" : "");
  }

  /// Whether a device runs code compiled for another target: later devices of a generation run that
  /// of earlier ones, unless it is architecture-specific.
  static bool runs(std::string_view device, std::string_view image) noexcept {
    const auto number = [](std::string_view name) {
      int n = 0;
      for (const char c : name.substr(3)) n = c >= '0' && c <= '9' ? 10 * n + (c - '0') : 1 << 20;
      return n;
    };
    device.remove_suffix(device.back() == 'a' ? 1 : 0);
    const int of_device = number(device), of_image = number(image);
    return of_device / 10 == of_image / 10 && of_device >= of_image;
  }

  static constexpr const char* compiler_name = "NVRTC";
  static constexpr const char* compiler_symbols[] = FLAGGEMS_COMPILER_NAMES("nvrtc", "CUBIN");
  static std::vector<std::string> compiler_options(std::string_view target) {
    return options_for(std::string(target));
  }
  using nvrtc_compiler::other_options;
};

}  // namespace detail

/// NVIDIA's GPUs. Streams are CUstream (cudaStream_t); contexts are the primary ones, so it works
/// together with the CUDA runtime and PyTorch.
struct cuda : driver_device<detail::cuda_api>, detail::simt_policies<32> {
  static constexpr const char* name = "cuda";
  static constexpr int torch_device_type = 1;   // c10::DeviceType::CUDA
  static constexpr int dlpack_device_type = 2;  // kDLCUDA

  struct images {
    static constexpr image_provider providers[] = {
        image_provider::linked, image_provider::precompiled, image_provider::runtime_compiled};
  };
  struct capabilities {
    static constexpr execution model = execution::simt;
    static constexpr bool matrix_units = true;
    static constexpr bool async_copy = true;
    static constexpr bool clusters = true;
    static constexpr bool fp64 = true;
    static constexpr bool fp8 = true;
    static constexpr bool host_accessible = false;
  };

  /// The compute units of a device with warp groups (wgmma), 0 of others. Raises
  /// device_unavailable.
  static int warp_group_units(int device) {
    static detail::atomic<int> known[detail::max_devices];  // one more than that
    if (device < 0 || device >= detail::max_devices) return 0;
    int units = known[device].load();
    if (units == 0) [[unlikely]] {
      const device_properties p = properties(device);
      units = (p.arch.view() == "sm_90a" ? p.compute_units : 0) + 1;
      known[device].store(units);
    }
    return units - 1;
  }
};

template <>
inline constexpr bool host_accessible<cuda> = false;

static_assert(check_device<cuda>());

}  // namespace flaggems
