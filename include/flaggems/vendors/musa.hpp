// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Moore Threads' GPUs through the MUSA driver, which is CUDA's with other names, and MTRTC. Numbers
// that are not known to be CUDA's, and all of the compiler's options, are UNCONFIRMED.
#pragma once

#include <flaggems/vendors/driver/dialect.hpp>

// The driver's own types, by CUDA's names.
struct MUstream_st;
struct MUevent_st;
struct MUmod_st;
struct MUfunc_st;

namespace flaggems {

struct musa;

namespace detail {

struct musa_api : dialect_api {
  using device_type = musa;
  using stream = MUstream_st*;
  using event = MUevent_st*;
  using module = MUmod_st*;
  using function = MUfunc_st*;

  static constexpr const char* name = "musa";
  static constexpr int warp_size = 32;
  static constexpr const char* library_variable = "FLAGGEMS_MUSA_LIBRARY";
  static constexpr const char* libraries[] = {"libmusa.so.1", "libmusa.so",
                                              "/usr/local/musa/lib/libmusa.so"};
  static constexpr driver_functions functions = [] {
    driver_functions f;
    FLAGGEMS_DRIVER_NAMES(f, "mu")
    // Some drivers may not have the names with _v2 (UNCONFIRMED which).
    f.memory_info.other_name = "muMemGetInfo";
    f.allocate.other_name = "muMemAlloc";
    f.deallocate.other_name = "muMemFree";
    f.copy_to_device.other_name = "muMemcpyHtoDAsync";
    f.copy_to_host.other_name = "muMemcpyDtoHAsync";
    f.copy_on_device.other_name = "muMemcpyDtoDAsync";
    f.destroy_stream.other_name = "muStreamDestroy";
    f.destroy_event.other_name = "muEventDestroy";
    return f;
  }();
  // Results and capability are known to be CUDA's, the runtime's numbers of attributes as well; the
  // driver's WARP_SIZE, MULTIPROCESSOR_COUNT and function attributes are UNCONFIRMED.
  static constexpr driver_numbers numbers = cuda_numbers;

  /// "mp_31"
  static text target(int capability_major, int capability_minor) {
    return text("mp_") + text(10 * capability_major + capability_minor);
  }

  static constexpr const char* compiler_name = "MTRTC";
  static constexpr const char* compiler_variable = "FLAGGEMS_MTRTC_LIBRARY";
  static constexpr const char* compiler_libraries[] = {"libmtrtc.so.5", "libmtrtc.so",
                                                       "/usr/local/musa/lib/libmtrtc.so"};
  static constexpr const char* compiler_symbols[] = FLAGGEMS_COMPILER_NAMES("mtrtc", "FatBin");
  static std::vector<std::string> compiler_options(std::string_view target) {
    return {"-std=c++17", language(warp_size), "--offload-arch=" + std::string(target)};
  }
};

}  // namespace detail

/// Moore Threads' GPUs with warps of 32 lanes: capability 3 and later. Streams are MUstream
/// (musaStream_t); contexts are the primary ones.
struct musa : driver_device<detail::musa_api>, detail::simt_policies<32> {
  static constexpr const char* name = "musa";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  struct capabilities : simt_policies::capabilities {
    static constexpr bool fp64 = false;
  };
};

template <>
inline constexpr bool host_accessible<musa> = false;

static_assert(check_device<musa>());

}  // namespace flaggems
