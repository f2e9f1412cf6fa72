// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Enflame's GCUs through the TOPS runtime (libtopsrt.so, header of 2025). No runtime compiler is
// known: kernels are images in the program. Whether libgcu_runtime.so has these names under another
// prefix is UNCONFIRMED; it is not bound.
#pragma once

#include <flaggems/launch/tuning.hpp>
#include <flaggems/vendors/driver/dialect.hpp>

namespace flaggems {

struct gcu;

namespace detail {

struct gcu_api : dialect_api {
  using device_type = gcu;

  static constexpr const char* name = "gcu";
  // The runtime has no attribute for it, and its chips no warps: our blocks have one, of 32
  // threads, so that generations with fewer threads a block (gcu300, gcu400) refuse the launch.
  static constexpr int warp_size = 32;
  static constexpr const char* library_variable = "FLAGGEMS_GCU_LIBRARY";
  static constexpr const char* libraries[] = {"libtopsrt.so", "/opt/tops/lib/libtopsrt.so"};
  static constexpr driver_functions functions = [] {
    driver_functions f;
    FLAGGEMS_RUNTIME_NAMES(f, "tops")
    f.init.name = "topsInit";
    f.device_structure.name = "topsGetDeviceProperties";
    f.copy_to_device.name = "topsMemcpyHtoDAsync";
    f.copy_to_host.name = "topsMemcpyDtoHAsync";
    f.copy_on_device.name = "topsMemcpyDtoDAsync";
    f.allocate_pinned.name = "topsHostMalloc";
    f.deallocate_pinned.name = "topsHostFree";
    f.fill.name = "topsMemsetD8Async";
    f.create_plain_stream.name = "topsStreamCreateWithFlags";
    return f;
  }();
  static constexpr driver_numbers numbers = [] {
    driver_numbers n = numbers_of_runtime();
    n.clock_khz = 0;
    n.max_threads_per_block = 9;
    n.compute_units = 10;
    n.shared_memory = 11;
    return n;
  }();

  /// "gcu400", of "dtu-enflame-tops--gcu400"
  static text target(std::string_view structure) { return name_within(structure, "gcu"); }
};

}  // namespace detail

/// Enflame's GCUs. Streams are topsStream_t.
struct gcu : driver_device<detail::gcu_api>, detail::simt_policies<32> {
  static constexpr const char* name = "gcu";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  struct geometry {
    static constexpr int warp_size = 32;
    static constexpr int preferred_warps = 1;
    static constexpr i64 max_grid = 65535;
    static constexpr int grid_quantum = 48;  // at most, or a multiple of it (UNCONFIRMED)
    static constexpr bool cap_grid_to_units = false;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::precompiled};
  };
  struct capabilities : simt_policies::capabilities {
    static constexpr bool fp64 = false;
  };
};

template <>
inline constexpr bool host_accessible<gcu> = false;

static_assert(check_device<gcu>());

/// Blocks of one warp, where a kernel works with any number of threads.
template <>
struct tuning<families::pointwise, gcu> : default_tuning<families::pointwise, gcu> {
  static constexpr int threads_of_few = gcu::geometry::preferred_warps * gcu::geometry::warp_size;
  static constexpr int threads = threads_of_few;
  static constexpr int threads_of_many = threads_of_few;
};

}  // namespace flaggems
