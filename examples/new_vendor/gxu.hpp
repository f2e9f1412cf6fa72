// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// GXU, an accelerator that nobody has heard of: all that it takes to have every operator on it.
// docs/device-guide.md goes through this file.
#pragma once

// [includes]
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/pointwise.hpp>  // operators::relu
#include <flaggems/vendors/driver/dialect.hpp>
// [/includes]

// [api]
struct gxu;

/// libgxu_runtime.so, whose thirteen functions load and launch: each returns when its work is done.
struct gxu_api : flaggems::detail::dialect_api {
  using device_type = gxu;
  static constexpr const char* name = "gxu";
  static constexpr int warp_size = 32;
  static constexpr const char* library_variable = "GXU_LIBRARY";
  static constexpr const char* libraries[] = {"libgxu_runtime.so"};
  static constexpr flaggems::detail::driver_functions functions = [] {
    flaggems::detail::driver_functions f;
    f.device_count.name = "gxuGetDeviceCount";
    f.get_device.name = "gxuGetDevice";
    f.set_device.name = "gxuSetDevice";
    f.device_capability.name = "gxuGetDeviceCapability";
    f.allocate.name = "gxuMalloc";
    f.deallocate.name = "gxuFree";
    f.copy_now.name = "gxuMemcpy";
    f.load_module.name = "gxuModuleLoad";
    f.find_function.name = "gxuModuleGetFunction";
    f.unload_module.name = "gxuModuleUnload";
    f.launch_grid.name = "gxuLaunchKernel";
    f.error_string_text.name = "gxuGetErrorString";
    return f;  // gxuGetLastError tells what each function has returned
  }();
  static constexpr flaggems::detail::driver_numbers numbers = [] {
    flaggems::detail::driver_numbers n = flaggems::detail::no_numbers;
    n.out_of_memory = 2;
    return n;
  }();
  // Of the data sheet, as no function tells it.
  static constexpr flaggems::detail::driver_limits limits = {
      .compute_units = 48, .max_threads_per_block = 1024, .shared_memory = 48 * 1024};

  static flaggems::detail::text target(int first, int second) {  // "gxu10"
    return flaggems::detail::text("gxu") + flaggems::detail::text(10 * first + second);
  }
};
// [/api]

// [device]
struct gxu : flaggems::driver_device<gxu_api>, flaggems::detail::simt_policies<32> {
  static constexpr const char* name = "gxu";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  struct geometry : simt_policies::geometry {
    static constexpr int preferred_warps = 1;
    static constexpr int grid_quantum = 48;  // a grid is at most that, or a multiple
  };
  struct images {  // the vendor's compiler makes them; there is none at run time
    static constexpr flaggems::image_provider providers[] = {flaggems::image_provider::precompiled};
  };
};

template <>
inline constexpr bool flaggems::host_accessible<gxu> = false;

static_assert(flaggems::check_device<gxu>());
// [/device]

// [tuning]
template <>
struct flaggems::tuning<flaggems::families::any, gxu>
    : flaggems::default_tuning<flaggems::families::any, gxu> {
  static constexpr i64 units = gxu_api::limits.compute_units;
  static constexpr i64 busy_threads = units * gxu::geometry::warp_size;
};
template <>
struct flaggems::tuning<flaggems::families::pointwise, gxu>
    : flaggems::default_tuning<flaggems::families::pointwise, gxu> {
  static constexpr int threads_of_few = gxu::geometry::warp_size;
  static constexpr int threads = threads_of_few, threads_of_many = threads_of_few;
};
// [/tuning]

// [implementation]
/// The vendor's library has a relu of its own: of floats that lie one behind the other.
template <>
struct flaggems::implementation<flaggems::operators::relu, gxu> {
  template <class X, class Out>
  requires std::is_same_v<typename X::value_type, float> &&
      std::is_same_v<typename Out::value_type, float>
  static const char* run(stream_ref<gxu>, const X& x, const Out& out) {
    if (!x.is_contiguous() || !out.is_contiguous() || x.shape_of() != out.shape_of())
      return "the library takes contiguous tensors of one size";
    static void* const relu = gxu::find_function(gxu::load_module("gxu library", 0), "gxu_relu");
    const float* from = x.data();
    float* to = out.data();
    i64 n = out.numel();
    void* arguments[] = {&from, &to, &n};
    const int result = detail::driver<gxu_api>::get().functions().launch_grid.call(
        relu, 48, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    check(result == 0, errc::driver_error, "relu", "success of gxu_relu");
    return nullptr;
  }
};
// [/implementation]
