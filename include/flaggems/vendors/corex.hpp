// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Iluvatar's GPUs through CoreX, whose driver has the names of CUDA's, also the library's. That its
// numbers are CUDA's is UNCONFIRMED; so is a runtime compiler, which would be named like NVRTC.
#pragma once

#include <flaggems/vendors/driver/dialect.hpp>

struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;

namespace flaggems {

struct corex;

namespace detail {

struct corex_api : dialect_api {
  using device_type = corex;
  using stream = CUstream_st*;
  using event = CUevent_st*;
  using module = CUmod_st*;
  using function = CUfunc_st*;

  static constexpr const char* name = "corex";
  static constexpr int warp_size = 64;  // by which it is told from NVIDIA's driver
  static constexpr const char* library_variable = "FLAGGEMS_COREX_LIBRARY";
  static constexpr const char* libraries[] = {"/usr/local/corex/lib64/libcuda.so.1", "libcuda.so.1",
                                              "libcuda.so"};
  static constexpr driver_functions functions = [] {
    driver_functions f;
    FLAGGEMS_DRIVER_NAMES(f, "cu")  // its cuLaunchKernelEx takes another structure
    return f;
  }();
  static constexpr driver_numbers numbers = cuda_numbers;

  /// "ivcore11"
  static text target(int capability_major, int capability_minor) {
    const int capability = 10 * capability_major + capability_minor;
    return text("ivcore") + text(capability >= 80 ? 20 : capability - 60);
  }

  static constexpr const char* compiler_name = "NVRTC of CoreX";
  static constexpr const char* compiler_variable = "FLAGGEMS_COREX_NVRTC_LIBRARY";
  static constexpr const char* compiler_libraries[] = {"/usr/local/corex/lib64/libnvrtc.so"};
  static constexpr const char* compiler_symbols[] = FLAGGEMS_COMPILER_NAMES("nvrtc", "CUBIN");
  static std::vector<std::string> compiler_options(std::string_view target) {
    return {"-std=c++17", language(warp_size), "--cuda-gpu-arch=" + std::string(target)};
  }
};

}  // namespace detail

/// Iluvatar's GPUs. Streams are CUstream (cudaStream_t) of CoreX; contexts are the primary ones.
struct corex : driver_device<detail::corex_api>, detail::simt_policies<64> {
  static constexpr const char* name = "corex";
  static constexpr int torch_device_type = 1;   // c10::DeviceType::CUDA
  static constexpr int dlpack_device_type = 2;  // kDLCUDA

  struct capabilities : simt_policies::capabilities {
    static constexpr bool fp64 = false;
  };
};

template <>
inline constexpr bool host_accessible<corex> = false;

static_assert(check_device<corex>());

}  // namespace flaggems
