// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type without memory or kernels, as PyTorch's device meta: operators check their
// operands and make results of the right sizes, strides and dtypes, of which nothing is computed.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/error.hpp>
#include <flaggems/tensor/view.hpp>
#include <flaggems/vendors/driver/policies.hpp>

#include <atomic>
#include <bit>
#include <string>

namespace flaggems {

/// Tensors with sizes, strides and a dtype alone. Their addresses are numbers that no memory has,
/// so that views of one tensor overlap and others do not. Launches do nothing; reading an element
/// raises not_supported.
struct meta : detail::simt_policies<32> {
  // ---- identity
  static constexpr const char* name = "meta";
  static constexpr int torch_device_type = 14;   // c10::DeviceType::Meta
  static constexpr int dlpack_device_type = 12;  // kDLExtDev: DLPack has none without memory

  // ---- discovery
  static int device_count() { return 1; }
  static std::string unavailable_reason() { return {}; }
  static constexpr int current_device() { return 0; }
  static void set_device(int device) {
    if (device != 0) [[unlikely]]
      detail::raise_no_device<meta>("set_device", device);
  }
  static device_properties properties(int device) {
    set_device(device);
    device_properties p;
    p.name = "no device: sizes and types alone";
    p.arch = name;
    p.compute_units = 1;
    p.warp_size = geometry::warp_size;
    p.max_threads_per_block = 1024;
    p.shared_memory_per_block = 48 * 1024;
    return p;
  }

  // ---- streams and events: nothing is ever queued
  using stream_handle = i64;
  static stream_handle create_stream(int /*priority*/) { return 1; }
  static void destroy_stream(stream_handle) noexcept {}
  static void synchronize(stream_handle) {}
  static bool query(stream_handle) { return true; }
  static stream_handle default_stream() { return 0; }
  using event_handle = i64;
  static event_handle create_event() { return 1; }
  static void destroy_event(event_handle) noexcept {}
  static void record(event_handle, stream_handle) {}
  static void wait(stream_handle, event_handle) {}
  static void synchronize_event(event_handle) {}
  static bool query_event(event_handle) { return true; }
  static double elapsed_ms(event_handle, event_handle) { return 0; }
  static std::string error_text(int code) { return "error " + std::to_string(code); }

  // ---- memory
  /// Addresses that no other tensor has, until 2^62 bytes have been asked for.
  static void* allocate(i64 bytes, stream_handle) {
    static std::atomic<u64> next{first_address};
    const u64 taken = (static_cast<u64>(bytes) + 511) / 256 * 256;
    u64 at = next.load(std::memory_order_relaxed), after = 0;
    do {
      if (at + taken > last_address) at = first_address;
      after = at + taken;
    } while (!next.compare_exchange_weak(at, after, std::memory_order_relaxed));
    return std::bit_cast<void*>(after - taken);
  }
  static void deallocate(void*, i64 /*bytes*/, stream_handle) noexcept {}
  static void copy(void*, const void*, i64 bytes, copy_kind kind, stream_handle) {
    if (kind == copy_kind::device_to_host && bytes > 0) [[unlikely]]
      raise(errc::not_supported, name, "sizes and types alone to be asked for", "elements");
  }
  static void fill(void*, int, i64 /*bytes*/, stream_handle) {}

  // ---- launch
  template <class Kernel, class... Args>
  static void launch(stream_handle, const launch_config&, const Args&...) {}

  // ---- policies
  struct argument_abi : detail::simt_policies<32>::argument_abi {
    static constexpr argument_kind kind = argument_kind::direct;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::linked};
  };
  struct capabilities : detail::simt_policies<32>::capabilities {
    static constexpr bool fp8 = true;
    static constexpr bool synchronous_streams = true;
  };

 private:
  static constexpr u64 first_address = u64{1} << 40, last_address = u64{1} << 62;
};

template <>
inline constexpr bool host_accessible<meta> = false;

static_assert(check_device<meta>());

}  // namespace flaggems
