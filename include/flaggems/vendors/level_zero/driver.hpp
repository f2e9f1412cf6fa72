// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Level Zero's functions and structures, opened at run time, and its GPUs: those of the first
// driver that has any, in one context. Only what version 1.4 of its headers has is called.
#pragma once

#include <flaggems/detail/dynamic_library.hpp>
#include <flaggems/device/pools.hpp>
#include <flaggems/error.hpp>
#include <flaggems/vendors/driver/driver.hpp>

#include <algorithm>

namespace flaggems::detail {

/// The constants and structures of ze_api.h that we use. Each structure begins with its type.
namespace ze {
enum : int {
  success = 0,
  not_ready = 1,
  out_of_host_memory = 0x70000002,
  out_of_device_memory = 0x70000003,
  unsupported_size = 0x78000009
};
enum : u32 { gpus_only = 1, kind_gpu = 1, group_computes = 1, pool_visible_to_host = 1 };
enum : u32 { scope_device = 2, scope_host = 4, access_all = 1 | 2 | 4 };
enum : int { queue_asynchronous = 2, priority_low = 1, priority_high = 2, format_spirv = 0 };

struct device_properties {
  int type = 0x3;
  void* next = nullptr;
  int kind = 0;
  u32 vendor = 0, device = 0, flags = 0, part = 0, clock_mhz = 0;
  u64 most_bytes = 0;
  u32 contexts = 0, priorities = 0, threads_per_unit = 0, lanes = 0;
  u32 units_per_subslice = 0, subslices = 0, slices = 0;
  u64 tick_ns = 0;
  u32 clock_bits = 0, kernel_clock_bits = 0;
  unsigned char uuid[16] = {};
  char name[256] = {};
};
struct compute_properties {
  int type = 0x4;
  void* next = nullptr;
  u32 group_size = 0, group_sizes[3] = {}, group_counts[3] = {}, local_memory = 0;
  u32 subgroup_count = 0, subgroups[8] = {};
};
struct queue_group {
  int type = 0x6;
  void* next = nullptr;
  u32 flags = 0;
  std::size_t pattern_bytes = 0;
  u32 queues = 0;
};
struct memory_properties {
  int type = 0x7;
  void* next = nullptr;
  u32 flags = 0, clock_mhz = 0, bus_bits = 0;
  u64 bytes = 0;
  char name[256] = {};
};
struct context_of {
  int type = 0xd;
  const void* next = nullptr;
  u32 flags = 0;
};
struct queue_of {
  int type = 0xe;
  const void* next = nullptr;
  u32 ordinal = 0, index = 0, flags = 0;
  int mode = queue_asynchronous, priority = 0;
};
struct event_pool_of {
  int type = 0x10;
  const void* next = nullptr;
  u32 flags = pool_visible_to_host, count = 0;
};
struct event_of {
  int type = 0x11;
  const void* next = nullptr;
  u32 index = 0, signal = scope_host, wait = scope_device;
};
struct device_memory_of {
  int type = 0x15;
  const void* next = nullptr;
  u32 flags = 0, ordinal = 0;
};
struct host_memory_of {
  int type = 0x16;
  const void* next = nullptr;
  u32 flags = 0;
};
struct module_of {
  int type = 0x1b;
  const void* next = nullptr;
  int format = format_spirv;
  std::size_t bytes = 0;
  const unsigned char* data = nullptr;
  const char* options = nullptr;
  const void* constants = nullptr;
};
struct kernel_of {
  int type = 0x1d;
  const void* next = nullptr;
  u32 flags = 0;
  const char* name = nullptr;
};
struct kernel_properties {
  int type = 0x1e;
  void* next = nullptr;
  u32 arguments = 0, wanted_group[3] = {}, wanted_subgroups = 0, wanted_subgroup = 0;
  u32 subgroup = 0, subgroups = 0, local_memory = 0, private_memory = 0, spilled = 0;
  unsigned char uuids[32] = {};
};
struct group_count {
  u32 x = 1, y = 1, z = 1;
};
}  // namespace ze

// Every function that we call, and its type; handles are pointers.
#define FLAGGEMS_LEVEL_ZERO_FUNCTIONS(X)                                                           \
  X(zeInit, int(u32 flags))                                                                        \
  X(zeDriverGet, int(u32 * count, void** drivers))                                                 \
  X(zeDeviceGet, int(void* driver, u32* count, void** devices))                                    \
  X(zeDeviceGetProperties, int(void* device, ze::device_properties*))                              \
  X(zeDeviceGetComputeProperties, int(void* device, ze::compute_properties*))                      \
  X(zeDeviceGetCommandQueueGroupProperties, int(void* device, u32* count, ze::queue_group*))       \
  X(zeDeviceGetMemoryProperties, int(void* device, u32* count, ze::memory_properties*))            \
  X(zeContextCreate, int(void* driver, const ze::context_of*, void** context))                     \
  X(zeMemAllocDevice, int(void* context, const ze::device_memory_of*, std::size_t bytes,           \
                          std::size_t alignment, void* device, void** data))                       \
  X(zeMemAllocHost, int(void* context, const ze::host_memory_of*, std::size_t bytes,               \
                        std::size_t alignment, void** data))                                       \
  X(zeMemFree, int(void* context, void* data))                                                     \
  X(zeCommandListCreateImmediate,                                                                  \
    int(void* context, void* device, const ze::queue_of*, void** list))                            \
  X(zeCommandListDestroy, int(void* list))                                                         \
  X(zeCommandListAppendMemoryCopy, int(void* list, void* to, const void* from, std::size_t bytes,  \
                                       void* signals, u32 count, void** waits))                    \
  X(zeCommandListAppendMemoryFill,                                                                 \
    int(void* list, void* to, const void* pattern, std::size_t pattern_bytes, std::size_t bytes,   \
        void* signals, u32 count, void** waits))                                                   \
  X(zeCommandListAppendBarrier, int(void* list, void* signals, u32 count, void** waits))           \
  X(zeCommandListAppendWriteGlobalTimestamp,                                                       \
    int(void* list, u64* to, void* signals, u32 count, void** waits))                              \
  X(zeCommandListAppendLaunchKernel,                                                               \
    int(void* list, void* kernel, const ze::group_count*, void* signals, u32 count, void** waits)) \
  X(zeEventPoolCreate,                                                                             \
    int(void* context, const ze::event_pool_of*, u32 count, void** devices, void** pool))          \
  X(zeEventCreate, int(void* pool, const ze::event_of*, void** event))                             \
  X(zeEventHostReset, int(void* event))                                                            \
  X(zeEventHostSynchronize, int(void* event, u64 timeout))                                         \
  X(zeEventQueryStatus, int(void* event))                                                          \
  X(zeModuleCreate,                                                                                \
    int(void* context, void* device, const ze::module_of*, void** module, void** log))             \
  X(zeModuleDestroy, int(void* module))                                                            \
  X(zeModuleBuildLogGetString, int(void* log, std::size_t* bytes, char* text))                     \
  X(zeModuleBuildLogDestroy, int(void* log))                                                       \
  X(zeKernelCreate, int(void* module, const ze::kernel_of*, void** kernel))                        \
  X(zeKernelDestroy, int(void* kernel))                                                            \
  X(zeKernelGetProperties, int(void* kernel, ze::kernel_properties*))                              \
  X(zeKernelSetGroupSize, int(void* kernel, u32 x, u32 y, u32 z))                                  \
  X(zeKernelSetArgumentValue, int(void* kernel, u32 index, std::size_t bytes, const void*))        \
  X(zeKernelSetIndirectAccess, int(void* kernel, u32 flags))

struct level_zero_functions {
#define FLAGGEMS_DECLARE(name, ...) driver_function<__VA_ARGS__> name{#name};
  FLAGGEMS_LEVEL_ZERO_FUNCTIONS(FLAGGEMS_DECLARE)
#undef FLAGGEMS_DECLARE
  bool bind(dynamic_library& library) noexcept {
    bool found = true;
#define FLAGGEMS_BIND_FUNCTION(name, ...) found = name.bind(library) && found;
    FLAGGEMS_LEVEL_ZERO_FUNCTIONS(FLAGGEMS_BIND_FUNCTION)
#undef FLAGGEMS_BIND_FUNCTION
    return found;
  }
};

[[nodiscard]] FLAGGEMS_COLD inline text level_zero_error_text(int result) {
  constexpr struct {
    int result;
    const char* name;
  } known[] = {
      {0, "ZE_RESULT_SUCCESS"},
      {ze::not_ready, "ZE_RESULT_NOT_READY"},
      {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST"},
      {ze::out_of_host_memory, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"},
      {ze::out_of_device_memory, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"},
      {0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"},
      {0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED"},
      {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"},
      {0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"},
      {0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"},
      {0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"},
      {0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"},
      {0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE"},
      {ze::unsupported_size, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"},
      {0x7800000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"},
      {0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"},
      {0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"},
      {0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"},
      {0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"},
      {0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"},
      {0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN"},
  };
  const char* name = "result";
  for (const auto& one : known)
    if (one.result == result) name = one.name;
  return text(name) + " (" + text(result) + ")";
}

/// The loader, opened at first use, and the GPUs.
class level_zero_driver {
 public:
  static const level_zero_driver& get() noexcept {
    static const level_zero_driver opened;
    return opened;
  }
  [[nodiscard]] const level_zero_functions& functions() const noexcept { return functions_; }
  [[nodiscard]] int device_count() const noexcept { return count_; }
  /// Why there are no devices.
  [[nodiscard]] const text& reason() const noexcept { return reason_; }
  [[nodiscard]] void* at(int index) const noexcept { return devices_[index]; }
  [[nodiscard]] void* context() const noexcept { return context_; }

 private:
  static constexpr const char* libraries[] = {"libze_loader.so.1", "libze_loader.so"};
  static constexpr u32 most_drivers = 16;

  level_zero_driver() noexcept : library_("FLAGGEMS_LEVEL_ZERO_LIBRARY", libraries) {
    const auto& f = functions_;
    if (!library_.is_open() || !functions_.bind(library_)) {
      reason_ = library_.reason();
      functions_ = {};
      return;
    }
    void* drivers[most_drivers] = {};
    u32 found = most_drivers;
    int result = f.zeInit.call(ze::gpus_only);
    if (result != 0)
      reason_ = text("zeInit: ") + level_zero_error_text(result);
    else if ((result = f.zeDriverGet.call(&found, drivers)) != 0)
      reason_ = text("zeDriverGet: ") + level_zero_error_text(result);
    for (u32 k = 0; result == 0 && count_ == 0 && k < (std::min)(found, most_drivers); ++k)
      take(drivers[k]);
    if (count_ == 0 && reason_.empty()) reason_ = text(library_.path()) + " finds no GPU";
  }
  void take(void* driver) noexcept {
    void* ids[max_devices] = {};
    u32 found = max_devices;
    if (functions_.zeDeviceGet.call(driver, &found, ids) != 0) return;
    for (u32 k = 0; k < (std::min)(found, u32{max_devices}); ++k) {
      ze::device_properties p;
      if (functions_.zeDeviceGetProperties.call(ids[k], &p) == 0 &&
          p.kind == static_cast<int>(ze::kind_gpu))
        devices_[count_++] = ids[k];
    }
    const ze::context_of description;
    const int result =
        count_ > 0 ? functions_.zeContextCreate.call(driver, &description, &context_) : 0;
    if (result == 0) return;
    count_ = 0;
    reason_ = text("zeContextCreate: ") + level_zero_error_text(result);
  }

  dynamic_library library_;
  level_zero_functions functions_;
  text reason_;
  int count_ = 0;
  void* devices_[max_devices] = {};
  void* context_ = nullptr;
};

/// Calls a function of Level Zero's in `op`, which raises what it returns.
template <class... Params, class... Args>
void level_zero_call(const char* op, const driver_function<int(Params...)>& function,
                     Args... args) {
  if (const int result = function.call(static_cast<Params>(args)...); result != 0) [[unlikely]]
    raise(errc::driver_error, op, text("success of ") + function.name,
          level_zero_error_text(result));
}

}  // namespace flaggems::detail
