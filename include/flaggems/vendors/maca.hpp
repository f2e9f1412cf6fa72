// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// MetaX's GPUs through MACA's runtime, which contains the compiler MCRTC. Of its numbers those of
// compute units, waves and capability are known from two sources, the other attributes from one
// (UNCONFIRMED), as are numbers of copies and of function attributes.
#pragma once

#include <flaggems/vendors/driver/dialect.hpp>

namespace flaggems {

struct maca;

namespace detail {

struct maca_api : dialect_api {
  using device_type = maca;

  static constexpr const char* name = "maca";
  static constexpr int warp_size = 64;
  static constexpr const char* library_variable = "FLAGGEMS_MACA_LIBRARY";
  static constexpr const char* libraries[] = {"libmcruntime.so", "/opt/maca/lib/libmcruntime.so"};
  static constexpr driver_functions functions = [] {
    driver_functions f;
    FLAGGEMS_RUNTIME_NAMES(f, "mc")
    f.copy_any.name = "mcMemcpyAsync";
    f.allocate_pinned.name = "mcMallocHost";  // UNCONFIRMED: its third parameter
    f.deallocate_pinned.name = "mcFreeHost";
    f.fill_int.name = "mcMemsetAsync";
    f.create_plain_stream.name = "mcStreamCreateWithFlags";
    return f;
  }();
  static constexpr driver_numbers numbers = [] {
    driver_numbers n = numbers_of_runtime();
    n.compute_units = 16;
    n.warp_size = 10;  // WaveSize
    n.capability_major = 21;
    n.capability_minor = 22;
    n.max_threads_per_block = 0;  // UNCONFIRMED from here
    n.shared_memory = 7;
    n.clock_khz = 13;
    n.memory_clock_khz = 14;
    n.memory_bus_bits = 15;
    n.l2_cache = 18;
    return n;
  }();

  /// "xcore1000"
  static text target(int capability_major, int /*capability_minor*/) {
    return text("xcore") + text(capability_major >= 100 ? 1000 : 100 * capability_major);
  }

  static constexpr const char* compiler_name = "MCRTC";
  static constexpr const char* compiler_variable = "FLAGGEMS_MCRTC_LIBRARY";
  static constexpr const char* compiler_libraries[] = {"libmcruntime.so",
                                                       "/opt/maca/lib/libmcruntime.so"};
  static constexpr const char* compiler_symbols[] = FLAGGEMS_COMPILER_NAMES("mcrtc", "Bitcode");
  static std::vector<std::string> compiler_options(std::string_view /*target*/) {
    return {"-std=c++17", "-x", "maca", language(warp_size)};
  }
};

}  // namespace detail

/// MetaX's GPUs. Streams are mcStream_t.
struct maca : driver_device<detail::maca_api>, detail::simt_policies<64> {
  static constexpr const char* name = "maca";
  static constexpr int torch_device_type = 1;   // c10::DeviceType::CUDA
  static constexpr int dlpack_device_type = 2;  // kDLCUDA
};

template <>
inline constexpr bool host_accessible<maca> = false;

static_assert(check_device<maca>());

}  // namespace flaggems
