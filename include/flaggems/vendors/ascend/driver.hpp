// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Huawei's ACL, opened at run time. Names, types and numbers are as its headers have them. Kernels
// are launched by ACL's own functions: those of the runtime below it (rt...) are in no header.
#pragma once

#include <flaggems/device/pools.hpp>
#include <flaggems/vendors/driver/driver.hpp>

#include <cstdint>
#include <string_view>

namespace flaggems::detail {

/// An option with which a binary is loaded, and a list of them.
struct acl_option {
  int which;
  std::uint32_t value[4];
};
struct acl_options {
  const acl_option* first;
  std::size_t count;
};

/// ACL's functions, and why there are no devices.
struct acl {
  template <class Type>
  using function = driver_function<Type>;
  function<int(const char* configuration)> init{"aclInit"};
  function<const char*()> message{"aclGetRecentErrMsg"};
  function<const char*()> chip{"aclrtGetSocName"};
  function<int(std::uint32_t* count)> device_count{"aclrtGetDeviceCount"};
  function<int(std::int32_t device)> set_device{"aclrtSetDevice"};
  function<int(std::int32_t* device)> get_device{"aclrtGetDevice"};
  function<int(int which, std::size_t* unused, std::size_t* total)> memory_info{"aclrtGetMemInfo"};
  function<int(void** address, std::size_t bytes, int policy)> allocate{"aclrtMalloc"};
  function<int(void* address)> deallocate{"aclrtFree"};
  function<int(void** address, std::size_t bytes)> allocate_pinned{"aclrtMallocHost"};
  function<int(void* address)> deallocate_pinned{"aclrtFreeHost"};
  function<int(void* to, std::size_t room, const void* from, std::size_t bytes, int kind,
               void* stream)>
      copy{"aclrtMemcpyAsync"};
  function<int(void* to, std::size_t room, std::int32_t byte, std::size_t bytes, void* stream)>
      fill{"aclrtMemsetAsync"};
  function<int(void** stream)> create_stream{"aclrtCreateStream"};
  function<int(void* stream)> destroy_stream{"aclrtDestroyStream"};
  function<int(void* stream)> synchronize{"aclrtSynchronizeStream"};
  function<int(void* stream, int* status)> query{"aclrtStreamQuery"};
  function<int(void* stream, void* event)> wait{"aclrtStreamWaitEvent"};
  function<int(void** event, std::uint32_t flags)> create_event{"aclrtCreateEventExWithFlag"};
  function<int(void* event)> destroy_event{"aclrtDestroyEvent"};
  function<int(void* event, void* stream)> record{"aclrtRecordEvent"};
  function<int(void* event)> synchronize_event{"aclrtSynchronizeEvent"};
  function<int(void* event, int* status)> query_event{"aclrtQueryEventStatus"};
  function<int(float* ms, void* from, void* to)> elapsed{"aclrtEventElapsedTime"};
  function<int(const void* data, std::size_t bytes, const acl_options* options, void** module)>
      load_module{"aclrtBinaryLoadFromData"};
  function<int(void* module)> unload_module{"aclrtBinaryUnLoad"};
  function<int(void* module, const char* name, void** function)> find_function{
      "aclrtBinaryGetFunction"};
  function<int(std::uint32_t device, int attribute, std::int64_t* value)> device_attribute{
      "aclrtGetDeviceInfo"};
  function<int(void** address)> sync_address{"aclrtGetHardwareSyncAddr"};
  function<int(void* function, std::uint32_t blocks, void* stream, const void* settings,
               void* arguments, std::size_t bytes, const void* placeholders, std::size_t count)>
      launch{"aclrtLaunchKernelWithHostArgs"};

  static constexpr int repeated_init = 100002;  // as PyTorch may have done before
  static constexpr int bad_allocation = 200000, memory_exhausted = 207001;
  static constexpr int high_bandwidth_memory = 1, huge_pages_first = 0;
  static constexpr std::uint32_t event_flags = 1 | 2 | 8;  // to wait for, to query, with a time
  static constexpr int event_complete = 1;                 // a stream's status is 0 when complete
  static constexpr int of_magic = 2;                       // an option of a binary
  static constexpr int all_cores = 101, cube_cores = 102, vector_cores = 201;  // attributes
  static constexpr const char* variable = "FLAGGEMS_ASCEND_LIBRARY";
  static constexpr const char* libraries[] = {
      "libascendcl.so", "/usr/local/Ascend/ascend-toolkit/latest/lib64/libascendcl.so"};

  static const acl& get() noexcept {
    static const acl opened;
    return opened;
  }
  static constexpr bool no_memory(int result) noexcept {
    return result == bad_allocation || result == memory_exhausted;
  }
  /// The address for synchronisation among cores is an argument of kernels on all chips but two.
  static constexpr bool has_sync(std::string_view chip) noexcept {
    return chip != "Ascend910A" && chip != "Ascend310B4";
  }
  int devices = 0;
  text reason;
  struct {
    i64 all, cube, vector;
  } cores[max_devices] = {};  // 0 of those that a device does not count
  bool syncs = true;          // the chip, of which a machine has one kind

 private:
  acl() noexcept : library_(variable, libraries) {
    const auto bind = [this](auto&... f) { return (f.bind(library_) && ...); };
    if (!bind(init, message, chip, device_count, set_device, get_device, memory_info, allocate,
              deallocate, allocate_pinned, deallocate_pinned, copy, fill, create_stream,
              destroy_stream, synchronize, query, wait, create_event, destroy_event, record,
              synchronize_event, query_event, elapsed, load_module, unload_module, find_function,
              device_attribute, sync_address, launch)) {
      reason = library_.reason();
      return;
    }
    std::uint32_t count = 0;
    int result = init.call(nullptr);
    if (result == 0 || result == repeated_init) result = device_count.call(&count);
    devices = result == 0 ? kernels::min_of(static_cast<int>(count), max_devices) : 0;
    const auto counted = [this](int device, int attribute) {
      std::int64_t found = 0;
      return device_attribute.call(static_cast<std::uint32_t>(device), attribute, &found) == 0
                 ? i64{found}
                 : 0;
    };
    for (int k = 0; k < devices; ++k)
      cores[k] = {counted(k, all_cores), counted(k, cube_cores), counted(k, vector_cores)};
    if (const char* const named = devices > 0 ? chip.call() : nullptr) syncs = has_sync(named);
    if (devices == 0)
      reason = text("the driver ") + library_.path() + " finds none, with result " + text(result);
  }
  dynamic_library library_;
};

}  // namespace flaggems::detail
