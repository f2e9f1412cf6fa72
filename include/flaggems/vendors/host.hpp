// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The host as a device: its processors and memory. Streams are synchronous: work is done when the
// call that queues it returns.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/cpu.hpp>
#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/device/check_device.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/launch/host_launch.hpp>

#include <unistd.h>
#include <cstdlib>
#include <cstring>

namespace flaggems {

struct host {
  // ---- identity
  static constexpr const char* name = "host";
  static constexpr int torch_device_type = 0;   // c10::DeviceType::CPU
  static constexpr int dlpack_device_type = 1;  // kDLCPU

  // ---- policies
  struct geometry {
    static constexpr int warp_size = 1;
    static constexpr int preferred_warps = 1;
    static constexpr i64 max_grid = detail::max_pool_threads;
    static constexpr int grid_quantum = 1;
    static constexpr bool cap_grid_to_units = true;
  };
  struct argument_abi {
    static constexpr argument_kind kind = argument_kind::direct;
    static constexpr int alignment = 1;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::linked};
  };
  struct capabilities {
    static constexpr execution model = execution::vector_workers;
    static constexpr bool matrix_units = false;
    static constexpr bool async_copy = false;
    static constexpr bool clusters = false;
    static constexpr bool fp64 = true;
    static constexpr bool fp8 = false;
    static constexpr bool host_accessible = true;
    static constexpr bool synchronous_streams = true;
  };

  using thread_pool_device = host;  // see device/execution.hpp

  // ---- discovery
  static int device_count() noexcept { return 1; }
  static const char* unavailable_reason() noexcept { return ""; }
  static constexpr int current_device() noexcept { return 0; }
  /// Raises device_unavailable unless `index` is 0.
  static void set_device(int index) {
    if (index != 0) [[unlikely]]
      detail::raise_no_device<host>("set_device", index);
  }
  FLAGGEMS_ONCE static device_properties properties(int index) {
    set_device(index);
    device_properties p;
    p.name = detail::processor_name();
    p.arch = to_string(isa());
    p.compute_units = detail::usable_processors();
    p.l2_cache = caches().l2;
    p.shared_memory_per_block = caches().l2;
    const long page = sysconf(_SC_PAGESIZE);
    p.total_memory = static_cast<i64>(sysconf(_SC_PHYS_PAGES)) * page;
#ifdef _SC_AVPHYS_PAGES
    p.free_memory = static_cast<i64>(sysconf(_SC_AVPHYS_PAGES)) * page;
#endif
    return p;
  }

  /// Threads of a launch, including the caller. Raises invalid_argument unless n is in [1, 1024].
  static void set_num_threads(int n) { detail::host_thread_pool().set_num_threads(n); }
  [[nodiscard]] static int num_threads() { return detail::host_thread_pool().num_threads(); }

  // ---- streams: identity only
  struct stream_handle {
    int id = 0;
    friend bool operator==(stream_handle a, stream_handle b) { return a.id == b.id; }
  };
  static stream_handle create_stream(int /*priority*/) noexcept {
    static detail::atomic<int> last{0};
    return {last.fetch_add(1, detail::memory_order::relaxed) + 1};
  }
  static void destroy_stream(stream_handle) noexcept {}
  static void synchronize(stream_handle) noexcept {}
  static bool query(stream_handle) noexcept { return true; }
  static stream_handle default_stream() noexcept { return {}; }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) noexcept {
    return detail::host_memory(bytes, 64);
  }
  static void deallocate(void* data, i64 /*bytes*/, stream_handle) noexcept { std::free(data); }
  static void copy(void* to, const void* from, i64 bytes, copy_kind, stream_handle) noexcept {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle) noexcept {
    if (bytes > 0) std::memset(data, byte, static_cast<std::size_t>(bytes));
  }

  // ---- events: the time of recording; 0 before
  using event_handle = detail::atomic<long long>*;
  static event_handle create_event() { return new detail::atomic<long long>(0); }
  static void destroy_event(event_handle e) noexcept { delete e; }
  static void record(event_handle e, stream_handle) noexcept {
    e->store(detail::monotonic_ns(), detail::memory_order::relaxed);
  }
  static void wait(stream_handle, event_handle) noexcept {}
  static void synchronize_event(event_handle) noexcept {}
  static bool query_event(event_handle) noexcept { return true; }
  /// Raises invalid_argument unless both were recorded.
  static double elapsed_ms(event_handle a, event_handle b) {
    const long long from = a->load(detail::memory_order::relaxed);
    const long long to = b->load(detail::memory_order::relaxed);
    check(from != 0 && to != 0, errc::invalid_argument, "elapsed_ms", "two recorded events",
          "one that was not recorded");
    return static_cast<double>(to - from) * 1e-6;
  }

  // ---- errors, launch
  static const char* error_text(int code) { return std::strerror(code); }

  template <class Kernel, class... Args>
  static void launch(stream_handle, const launch_config& config, const Args&... args) {
    detail::host_launch<Kernel>(config, args...);
  }
};

static_assert(check_device<host>());

}  // namespace flaggems
