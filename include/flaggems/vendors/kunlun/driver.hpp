// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kunlunxin's runtime XRE, opened at run time. There is no package with its header: names, types
// and numbers are as its header has them, but for xpu_memcpy_async, which a user of it shows.
#pragma once

#include <flaggems/device/pools.hpp>
#include <flaggems/vendors/driver/driver.hpp>

#include <algorithm>

namespace flaggems::detail {

/// XRE's functions, and why there are no devices.
struct xre {
  template <class Type>
  using function = driver_function<Type>;
  function<int(int* count)> device_count{"xpu_device_count"};
  function<int(int device)> set_device{"xpu_set_device"};
  function<int(int* device)> get_device{"xpu_current_device"};
  function<int(u64* value, int attribute, int device)> device_attribute{"xpu_device_get_attr"};
  function<int(void** address, u64 bytes, int kind)> allocate{"xpu_malloc"};
  function<int(void* address)> deallocate{"xpu_free"};
  function<int(void** address, u64 bytes, unsigned flags)> allocate_pinned{"xpu_host_alloc"};
  function<int(void* address)> deallocate_pinned{"xpu_host_free"};
  function<int(void* to, const void* from, u64 bytes, int kind, void* stream)> copy{
      "xpu_memcpy_async"};
  function<int(void** stream)> create_stream{"xpu_stream_create"};
  function<int(void* stream)> destroy_stream{"xpu_stream_destroy"};
  function<int(void* stream)> synchronize{"xpu_wait"};
  function<int(void* stream, void* event)> wait{"xpu_stream_wait_event"};
  function<int(void** event)> create_event{"xpu_event_create"};
  function<int(void* event)> destroy_event{"xpu_event_destroy"};
  function<int(void* event, void* stream)> record{"xpu_event_record"};
  function<int(void* event)> synchronize_event{"xpu_event_wait"};
  function<int(int clusters, int cores, void* stream)> configure{"xpu_launch_config"};
  function<int(const void* value, std::size_t bytes, std::size_t at)> set_argument{
      "xpu_launch_argument_set"};
  function<int(void* kernel)> launch{"xpu_launch_async"};

  static constexpr int memory_exhausted = 705;  // or the same below 0, as all results
  static constexpr bool no_memory(int result) noexcept {
    return result == memory_exhausted || result == -memory_exhausted;
  }
  static constexpr int main_memory = 0;
  static constexpr int to_host = 0, to_device = 1, on_device = 2;  // kinds of copies: not CUDA's
  static constexpr int model = 4, main_capacity = 5, cluster_count = 7;  // attributes
  static constexpr const char* variable = "FLAGGEMS_KUNLUN_LIBRARY";
  static constexpr const char* libraries[] = {"libxpurt.so", "/usr/local/xpu/so/libxpurt.so"};

  static const xre& get() noexcept {
    static const xre opened;
    return opened;
  }
  int devices = 0;
  text reason;
  int clusters[max_devices] = {};

 private:
  xre() noexcept : library_(variable, libraries) {
    const auto bind = [this](auto&... f) { return (f.bind(library_) && ...); };
    if (!bind(device_count, set_device, get_device, device_attribute, allocate, deallocate,
              allocate_pinned, deallocate_pinned, copy, create_stream, destroy_stream, synchronize,
              wait, create_event, destroy_event, record, synchronize_event, configure, set_argument,
              launch)) {
      reason = library_.reason();
      return;
    }
    int count = 0;
    int result = device_count.call(&count);
    count = (std::min)(count, max_devices);
    for (int k = 0; result == 0 && k < count; ++k) {
      u64 found = 0;
      result = device_attribute.call(&found, cluster_count, k);
      clusters[k] = static_cast<int>(found);
    }
    devices = result == 0 ? count : 0;
    if (devices == 0)
      reason = text("the driver ") + library_.path() + " finds none, with result " + text(result);
  }
  dynamic_library library_;
};

}  // namespace flaggems::detail
