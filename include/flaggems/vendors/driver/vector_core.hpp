// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What chips of cores with local memory share, whose runtimes are no dialects of CUDA: events that
// know whether they were recorded, checked calls, and the launch that has no form of kernels yet.
#pragma once

#include <flaggems/detail/dynamic_library.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/error.hpp>
#include <flaggems/vendors/driver/driver.hpp>

namespace flaggems::detail {

/// An event, which these runtimes do not tell from one that is not done before its first record.
struct recorded_event {
  void* native = nullptr;
  atomic<bool> recorded{false};
};

/// For `Device` to derive from, over the opened `Library`: `get()`, `devices`, `reason`, and
/// `no_memory(result)`, whether memory is exhausted.
template <class Device, class Library>
struct vector_core_device {
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  static int device_count() noexcept { return Library::get().devices; }
  static text unavailable_reason() { return Library::get().reason; }

  template <class Kernel, class Stream, class... Args>
  static void launch(Stream, const launch_config&, const Args&...) {
    static_assert(sizeof(Kernel) == 0,
                  "flaggems: kernels have no form for execution::vector_core yet");
  }

  struct geometry {
    static constexpr int warp_size = 1;
    static constexpr int preferred_warps = 1;
    static constexpr i64 max_grid = 65535;
    static constexpr int grid_quantum = 1;
    static constexpr bool cap_grid_to_units = true;  // its cores
  };
  struct capabilities {
    static constexpr execution model = execution::vector_core;
    static constexpr bool matrix_units = true;
    static constexpr bool async_copy = true;
    static constexpr bool clusters = false;
    static constexpr bool fp64 = false;
    static constexpr bool fp8 = false;
    static constexpr bool host_accessible = false;
  };

 protected:
  static const Library& library() noexcept { return Library::get(); }
  static void require(int index, const char* op) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      raise_no_device<Device>(op, index);
  }
  template <class... Params, class... Args>
  static int result_of(const driver_function<int(Params...)>& function, Args... args) {
    if (function.call == nullptr) [[unlikely]]
      raise_no_device<Device>(Device::name, 0);
    return function.call(static_cast<Params>(args)...);
  }
  template <class F>
  [[noreturn]] FLAGGEMS_COLD static void raise_result(const char* op, const F& function,
                                                      int result) {
    raise(errc::driver_error, op, text("success of ") + function.name, Device::error_text(result));
  }
  template <class F, class... Args>
  static void call(const char* op, const F& function, Args... args) {
    if (const int result = result_of(function, args...); result != 0) [[unlikely]]
      raise_result(op, function, result);
  }
  /// Memory by `function(&address, args...)`; null where it is exhausted.
  template <class Address = void*, class F, class... Args>
  static void* allocated(const char* op, const F& function, Args... args) {
    Address address{};
    const int result = result_of(function, &address, args...);
    if (result != 0 && Library::no_memory(result)) return nullptr;
    if (result != 0) [[unlikely]]
      raise_result(op, function, result);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it may be a number
    return reinterpret_cast<void*>(address);
  }
  static void require_recorded(const recorded_event* from, const recorded_event* to) {
    check(from->recorded.load() && to->recorded.load(), errc::invalid_argument, "elapsed_ms",
          "two recorded events");
  }
};

}  // namespace flaggems::detail
