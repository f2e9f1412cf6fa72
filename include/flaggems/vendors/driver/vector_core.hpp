// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What chips of cores with local memory share, whose runtimes are no dialects of CUDA: streams,
// events that know whether they were recorded, checked calls, and the launch that has no form of
// kernels yet.
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

/// For `Device` to derive from, over the opened `Library`: `get()`, `devices`, `reason`,
/// `no_memory(result)`, whether memory is exhausted, and the functions that are called below.
template <class Device, class Library>
struct vector_core_device {
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  static int device_count() noexcept { return Library::get().devices; }
  static text unavailable_reason() { return Library::get().reason; }

  using stream_handle = void*;
  static void destroy_stream(stream_handle s) noexcept {
    library().synchronize.call(s);  // it may have work, which destroying would drop
    library().destroy_stream.call(s);
  }
  static void synchronize(stream_handle s) { call("synchronize", library().synchronize, s); }

  using event_handle = recorded_event*;
  static void destroy_event(event_handle e) noexcept {
    library().destroy_event.call(e->native);
    delete e;
  }
  static void record(event_handle e, stream_handle s) {
    call("record", library().record, e->native, s);
    e->recorded.store(true);
  }
  static void wait(stream_handle s, event_handle e) {
    if (e->recorded.load()) call("wait", library().wait, s, e->native);
  }
  static void synchronize_event(event_handle e) {
    if (e->recorded.load()) call("synchronize", library().synchronize_event, e->native);
  }
  static double elapsed_ms(event_handle from, event_handle to) {
    require_recorded(from, to);
    float ms = 0;
    call("elapsed_ms", library().elapsed, &ms, from->native, to->native);
    return static_cast<double>(ms);
  }

  static void deallocate_pinned(void* data) noexcept { library().deallocate_pinned.call(data); }

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
