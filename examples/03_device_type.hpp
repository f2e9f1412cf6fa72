// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// docs/device-guide.md: a device type for an invented accelerator: its memory is that of the host,
// behind a wall; its blocks run one after another, each of 64 threads in warps of 32.
#pragma once

// [includes]
#include <flaggems/device/check_device.hpp>  // what a device type must have, and its types
#include <flaggems/device/stream.hpp>
#include <flaggems/launch/implementation.hpp>  // for operators of your own
#include <flaggems/vendors/simt.hpp>           // kernels::run_emulated
// [/includes]
#include <flaggems/ops/pointwise.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

using flaggems::i64;

// [identity]
struct toy {
  static constexpr const char* name = "toy";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev
  // [/identity]

  // [discovery]
  static int device_count() { return 1; }
  static std::string unavailable_reason() { return {}; }  // of an empty count: "no libtoy.so"
  static constexpr int current_device() { return 0; }     // the only one
  static void set_device(int index) {
    flaggems::check(index == 0, flaggems::errc::device_unavailable, "toy", "device 0");
  }
  static flaggems::device_properties properties(int index) {
    set_device(index);
    flaggems::device_properties p;
    p.name = "Toy One";
    p.arch = "toy1";
    p.compute_units = units;
    p.warp_size = geometry::warp_size;
    p.max_threads_per_block = 1024;
    p.shared_memory_per_block = 64 * 1024;
    return p;
  }
  // [/discovery]

  // [streams]
  using stream_handle = int;
  static stream_handle create_stream(int /*priority*/) { return ++last_stream; }
  static void destroy_stream(stream_handle) noexcept {}
  static void synchronize(stream_handle) {}
  static bool query(stream_handle) { return true; }
  static stream_handle default_stream() { return 0; }
  // [/streams]

  // [memory]
  static void* allocate(i64 bytes, stream_handle) {
    return std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256));
  }
  static void deallocate(void* data, i64 /*bytes*/, stream_handle) noexcept { std::free(data); }
  static void copy(void* to, const void* from, i64 bytes, flaggems::copy_kind, stream_handle) {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle) {
    std::memset(data, byte, static_cast<std::size_t>(bytes));
  }
  // [/memory]

  // [events]
  using clock = std::chrono::steady_clock;
  struct moment {
    clock::time_point at;
    bool recorded = false;
  };
  using event_handle = moment*;
  static event_handle create_event() { return new moment; }
  static void destroy_event(event_handle e) noexcept { delete e; }
  static void record(event_handle e, stream_handle) { *e = {clock::now(), true}; }
  static void wait(stream_handle, event_handle) {}
  static void synchronize_event(event_handle) {}
  static bool query_event(event_handle) { return true; }
  static double elapsed_ms(event_handle a, event_handle b) {
    flaggems::check(a->recorded && b->recorded, flaggems::errc::invalid_argument, "toy",
                    "two recorded events");
    return std::chrono::duration<double, std::milli>(b->at - a->at).count();
  }
  static std::string error_text(int code) { return "toy error " + std::to_string(code); }
  // [/events]

  // [policies]
  struct geometry {
    static constexpr int warp_size = 32;
    static constexpr int preferred_warps = 2;
    static constexpr i64 max_grid = 65535;
    static constexpr int grid_quantum = 1;
    static constexpr bool cap_grid_to_units = true;
  };
  struct argument_abi {
    static constexpr flaggems::argument_kind kind = flaggems::argument_kind::direct;
    static constexpr int alignment = 1;
  };
  struct images {
    static constexpr flaggems::image_provider providers[] = {flaggems::image_provider::linked};
  };
  struct capabilities {
    static constexpr bool matrix_units = false;
    static constexpr bool async_copy = false;
    static constexpr bool clusters = false;
    static constexpr bool fp64 = true;
    static constexpr bool fp8 = false;
    static constexpr bool host_accessible = false;     // the wall: views of it are not indexed
    static constexpr bool synchronous_streams = true;  // optional: a call returns when work is done
  };
  // [/policies]

  // [launch]
  template <class Kernel, class... Args>
  static void launch(stream_handle, const flaggems::launch_config& config, const Args&... args) {
    i64 grid = config.tiles;
    if (geometry::cap_grid_to_units && grid > units) grid = units;
    if (grid > geometry::max_grid) grid = geometry::max_grid;
    const int whole = flaggems::kernels::block_warp(geometry::warp_size);  // threads of a warp
    const int threads = std::min(flaggems::kernels::round_up(config.threads, whole), 1024);
    flaggems::kernels::run_emulated<geometry::warp_size, Kernel>(config.op, grid, threads,
                                                                 config.scratch, args...);
  }

 private:
  static constexpr int units = 8;
  static inline std::atomic<int> last_stream = 0;  // threads may create streams at a time
};
// [/launch]

// [check]
template <>
inline constexpr bool flaggems::host_accessible<toy> = false;

static_assert(flaggems::check_device<toy>());
// [/check]

// [library]
/// What the maker of the device has in a library: float only, contiguous only.
inline void toy_library_relu(int /*stream*/, const float* x, float* out, i64 n) {
  for (i64 i = 0; i < n; ++i) out[i] = x[i] > 0 ? x[i] : 0.0f;
}
// [/library]

// [implementation]
template <>
struct flaggems::implementation<flaggems::operators::relu, toy> {
  template <class X, class Out>
  requires std::is_same_v<typename X::value_type, float> &&
      std::is_same_v<typename Out::value_type, float>
  static const char* run(stream_ref<toy> stream, const X& x, const Out& out) {
    if (!x.is_contiguous() || !out.is_contiguous() || x.shape_of() != out.shape_of())
      return "the library takes contiguous tensors of one size";
    toy_library_relu(stream.handle(), x.data(), out.data(), out.numel());
    return nullptr;  // done
  }
};
// [/implementation]
