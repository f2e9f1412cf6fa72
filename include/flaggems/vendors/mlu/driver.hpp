// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Cambricon's CNDrv, opened at run time. There is no package with its header: names, types and
// numbers are as its version 2.15 has them.
#pragma once

#include <flaggems/device/pools.hpp>
#include <flaggems/vendors/driver/driver.hpp>

#include <algorithm>

namespace flaggems::detail {

/// CNDrv's functions, and why there are no devices. A device is a number that is not its ordinal.
struct cndrv {
  template <class Type>
  using function = driver_function<Type>;
  function<int(unsigned flags)> init{"cnInit"};
  function<int(int result, const char** text)> error_name{"cnGetErrorName"};
  function<int(int result, const char** text)> error_string{"cnGetErrorString"};
  function<int(int* count)> device_count{"cnDeviceGetCount"};
  function<int(u64* device, int ordinal)> device_get{"cnDeviceGet"};
  function<int(char* text, unsigned bytes, u64 device)> device_name{"cnDeviceGetName"};
  function<int(int* value, int attribute, u64 device)> device_attribute{"cnDeviceGetAttribute"};
  function<int(void** context, u64 device)> context_retain{"cnSharedContextAcquire"};
  function<int(void* context)> context_set{"cnCtxSetCurrent"};
  function<int(void** context)> context_get{"cnCtxGetCurrent"};
  function<int(u64* device)> context_device{"cnCtxGetDevice"};
  function<int(u64* unused, u64* total)> memory_info{"cnMemGetInfo"};
  function<int(u64* address, u64 bytes)> allocate{"cnMalloc"};
  function<int(u64 address)> deallocate{"cnFree"};
  function<int(void** address, u64 bytes)> allocate_pinned{"cnMallocHost"};
  function<int(void* address)> deallocate_pinned{"cnFreeHost"};
  function<int(u64 to, const void* from, u64 bytes, void* queue)> copy_to_device{
      "cnMemcpyHtoDAsync_V2"};
  function<int(void* to, u64 from, u64 bytes, void* queue)> copy_to_host{"cnMemcpyDtoHAsync_V2"};
  function<int(u64 to, u64 from, u64 bytes, void* queue)> copy_on_device{"cnMemcpyDtoDAsync"};
  function<int(u64 to, unsigned char byte, u64 count, void* queue)> fill{"cnMemsetD8Async"};
  function<int(void** queue, unsigned flags)> create_stream{"cnCreateQueue"};
  function<int(void* queue)> destroy_stream{"cnDestroyQueue"};
  function<int(void* queue)> synchronize{"cnQueueSync"};
  function<int(void* queue)> query{"cnQueryQueue"};
  function<int(void* queue, void* notifier)> wait{"cnQueueWaitNotifier"};
  function<int(void** notifier, unsigned flags)> create_event{"cnCreateNotifier"};
  function<int(void* notifier)> destroy_event{"cnDestroyNotifier"};
  function<int(void* notifier, void* queue)> record{"cnPlaceNotifier"};
  function<int(void* notifier)> synchronize_event{"cnWaitNotifier"};
  function<int(void* notifier)> query_event{"cnQueryNotifier"};
  function<int(float* ms, void* from, void* to)> elapsed{"cnNotifierElapsedTime"};
  function<int(const void* image, void** module)> load_module{"cnModuleLoadFatBinary"};
  function<int(void* module)> unload_module{"cnModuleUnload"};
  function<int(void* module, const char* name, void** kernel)> find_kernel{"cnModuleGetKernel"};
  function<int(void* kernel, unsigned x, unsigned y, unsigned z, int task, unsigned reserved,
               void* queue, void** arguments, void** extra)>
      invoke{"cnInvokeKernel"};

  static constexpr int not_ready = 1, memory_exhausted = 100100;
  static constexpr bool no_memory(int result) noexcept { return result == memory_exhausted; }
  // attributes of devices
  static constexpr int clusters = 0x205, cores_of_cluster = 0x206, architecture = 0x20a,
                       core_memory = 0x302, memory_bits = 0x404;
  static constexpr const char* variable = "FLAGGEMS_MLU_LIBRARY";
  static constexpr const char* libraries[] = {"libcndrv.so",
                                              "/usr/local/neuware/lib64/libcndrv.so"};

  static const cndrv& get() noexcept {
    static const cndrv opened;
    return opened;
  }
  int devices = 0;
  text reason;
  u64 handles[max_devices] = {};
  int cores[max_devices] = {};  // of all clusters

 private:
  cndrv() noexcept : library_(variable, libraries) {
    const auto bind = [this](auto&... f) { return (f.bind(library_) && ...); };
    if (!bind(init, error_name, error_string, device_count, device_get, device_name,
              device_attribute, context_retain, context_set, context_get, context_device,
              memory_info, allocate, deallocate, allocate_pinned, deallocate_pinned, copy_to_device,
              copy_to_host, copy_on_device, fill, create_stream, destroy_stream, synchronize, query,
              wait, create_event, destroy_event, record, synchronize_event, query_event, elapsed,
              load_module, unload_module, find_kernel, invoke)) {
      reason = library_.reason();
      return;
    }
    int count = 0, result = init.call(0);
    if (result == 0) result = device_count.call(&count);
    count = (std::min)(count, max_devices);
    for (int k = 0; result == 0 && k < count; ++k) {
      int of_each = 0;
      result = device_get.call(&handles[k], k);
      if (result == 0) result = device_attribute.call(&cores[k], clusters, handles[k]);
      if (result == 0) result = device_attribute.call(&of_each, cores_of_cluster, handles[k]);
      cores[k] *= of_each;
    }
    devices = result == 0 ? count : 0;
    if (devices == 0)
      reason = text("the driver ") + library_.path() + " finds none, with result " + text(result);
  }
  dynamic_library library_;
};

}  // namespace flaggems::detail
