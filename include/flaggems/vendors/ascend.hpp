// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Huawei's Ascend NPUs through ACL (libascendcl.so), opened at first use: memory, streams, events
// and modules. Kernels have no form for their cores yet, so that a launch does not compile. Checked
// against ACL's headers; no NPU has run it.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/vendors/driver/vector_core.hpp>

#include <cstdint>

namespace flaggems {

namespace detail {

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
  function<int(const void* data, std::size_t bytes, const void* options, void** module)>
      load_module{"aclrtBinaryLoadFromData"};
  function<int(void* module)> unload_module{"aclrtBinaryUnLoad"};
  function<int(void* module, const char* name, void** function)> find_function{
      "aclrtBinaryGetFunction"};

  static constexpr int repeated_init = 100002;  // as PyTorch may have done before
  static constexpr int bad_allocation = 200000, memory_exhausted = 207001;
  static constexpr int high_bandwidth_memory = 1, huge_pages_first = 0;
  static constexpr std::uint32_t event_flags = 1 | 2 | 8;  // to wait for, to query, with a time
  static constexpr int event_complete = 1;                 // a stream's status is 0 when complete
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
  int devices = 0;
  text reason;

 private:
  acl() noexcept : library_(variable, libraries) {
    const auto bind = [this](auto&... f) { return (f.bind(library_) && ...); };
    if (!bind(init, message, chip, device_count, set_device, get_device, memory_info, allocate,
              deallocate, allocate_pinned, deallocate_pinned, copy, fill, create_stream,
              destroy_stream, synchronize, query, wait, create_event, destroy_event, record,
              synchronize_event, query_event, elapsed, load_module, unload_module, find_function)) {
      reason = library_.reason();
      return;
    }
    std::uint32_t count = 0;
    int result = init.call(nullptr);
    if (result == 0 || result == repeated_init) result = device_count.call(&count);
    devices = result == 0 ? kernels::min_of(static_cast<int>(count), max_devices) : 0;
    if (devices == 0)
      reason = text("the driver ") + library_.path() + " finds none, with result " + text(result);
  }
  dynamic_library library_;
};

}  // namespace detail

/// Huawei's Ascend NPUs. Streams are aclrtStream, the default one is null.
struct ascend : detail::vector_core_device<ascend, detail::acl> {
  static constexpr const char* name = "ascend";

  // ---- discovery: more of it in the base
  static int current_device() {
    std::int32_t device = 0;
    if (device_count() == 0) return 0;
    if (library().get_device.call(&device) == 0) return device;
    set_device(0);  // a thread has none until it says so
    return 0;
  }
  static void set_device(int index) {
    require(index, "set_device");
    call("set_device", library().set_device, index);
  }
  static device_properties properties(int index) {
    require(index, "properties");
    const device_guard<ascend> guard(index);
    std::size_t unused = 0, total = 0;
    call("properties", library().memory_info, detail::acl::high_bandwidth_memory, &unused, &total);
    device_properties p;
    const char* const chip = library().chip.call();
    p.name = p.arch = chip != nullptr ? chip : name;
    p.total_memory = static_cast<i64>(total);
    p.free_memory = static_cast<i64>(unused);
    return p;
  }

  // ---- streams and events: more of them in the base
  static stream_handle create_stream(int /*priority*/) {
    current_device();
    stream_handle s = nullptr;
    call("stream", library().create_stream, &s);
    return s;
  }
  static bool query(stream_handle s) {
    int status = 0;
    call("query", library().query, s, &status);
    return status == 0;
  }
  static stream_handle default_stream() noexcept { return nullptr; }

  static event_handle create_event() {
    current_device();
    void* native = nullptr;
    call("event", library().create_event, &native, detail::acl::event_flags);
    return new detail::recorded_event{native};
  }
  static bool query_event(event_handle e) {
    int status = detail::acl::event_complete;
    if (e->recorded.load()) call("query", library().query_event, e->native, &status);
    return status == detail::acl::event_complete;
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    current_device();
    return allocated("allocate", library().allocate,
                     static_cast<std::size_t>(bytes < 1 ? 1 : bytes),
                     detail::acl::huge_pages_first);
  }
  static void deallocate(void* data, i64, stream_handle) noexcept {
    library().deallocate.call(data);
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind, stream_handle s) {
    const auto n = static_cast<std::size_t>(bytes);
    if (bytes > 0)
      call("copy", library().copy, to, n, from, n,
           kind == copy_kind::host_to_device   ? 1
           : kind == copy_kind::device_to_host ? 2
                                               : 3,
           s);
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    const auto n = static_cast<std::size_t>(bytes);
    if (bytes > 0) call("fill", library().fill, data, n, byte, n, s);
  }
  static void* allocate_pinned(i64 bytes) {
    current_device();
    return allocated("pinned", library().allocate_pinned, static_cast<std::size_t>(bytes));
  }

  // ---- modules
  using module_handle = void*;
  using function_handle = void*;
  static module_handle load_module(const void* image, i64 bytes) {
    current_device();
    module_handle module = nullptr;
    call("load_module", library().load_module, image, static_cast<std::size_t>(bytes), nullptr,
         &module);
    return module;
  }
  static void unload_module(module_handle module) noexcept { library().unload_module.call(module); }
  static function_handle find_function(module_handle module, const char* named) {
    function_handle function = nullptr;
    call("find_function", library().find_function, module, named, &function);
    return function;
  }

  /// With ACL's words for the thread's last error: results have none of their own.
  static detail::text error_text(int code) {
    const char* const words = device_count() > 0 ? library().message.call() : nullptr;
    return detail::text("ACL result ") + detail::text(code) +
           (words != nullptr ? detail::text(": ") + words : detail::text());
  }

  // ---- policies
  struct argument_abi {  // three system words, arguments, the grid
    static constexpr argument_kind kind = argument_kind::system_in_front;
    static constexpr int alignment = 8;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::bundle};
  };
};

template <>
inline constexpr bool host_accessible<ascend> = false;

static_assert(check_device<ascend>());

}  // namespace flaggems
