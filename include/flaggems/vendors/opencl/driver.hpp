// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's functions, opened at run time, and its devices that kernels run on: those that take
// LLVM's code (cl_khr_spir), and NVIDIA's, which take PTX.
#pragma once

#include <flaggems/detail/dynamic_library.hpp>
#include <flaggems/detail/pool_mutex.hpp>
#include <flaggems/device/pools.hpp>
#include <flaggems/error.hpp>
#include <flaggems/vendors/driver/driver.hpp>

#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace flaggems::detail {

/// The constants of CL/cl.h that we use, by its names without CL_.
namespace cl {
enum : int { success = 0, complete = 0, mem_object_allocation_failure = -4 };
enum : int { out_of_resources = -5, out_of_host_memory = -6 };
enum : u64 { device_type_all = 0xffffffff, mem_read_write = 1, queue_profiling_enable = 2 };
enum : u64 { device_svm_coarse_grain_buffer = 1, device_svm_fine_grain_system = 4 };
enum : u32 {
  device_max_compute_units = 0x1002,
  device_max_work_group_size = 0x1004,
  device_max_clock_frequency = 0x100c,
  device_max_mem_alloc_size = 0x1010,
  device_global_mem_size = 0x101f,
  device_local_mem_size = 0x1023,
  device_name = 0x102b,
  device_extensions = 0x1030,
  device_svm_capabilities = 0x1053,
  queue_properties = 0x1093,
  program_build_log = 0x1183,
  kernel_work_group_size = 0x11b0,
  kernel_exec_info_svm_ptrs = 0x11b6,
  event_command_execution_status = 0x11d3,
  profiling_command_end = 0x1283,
  device_compute_capability_major_nv = 0x4000,
  device_compute_capability_minor_nv = 0x4001
};
}  // namespace cl

// Every function that we call, and its type; handles are pointers.
#define FLAGGEMS_OPENCL_FUNCTIONS(X)                                                               \
  X(clGetPlatformIDs, int(u32 room, void** platforms, u32* count))                                 \
  X(clGetDeviceIDs, int(void* platform, u64 type, u32 room, void** devices, u32* count))           \
  X(clGetDeviceInfo, int(void* device, u32 what, std::size_t room, void* to, std::size_t* bytes))  \
  X(clCreateContext,                                                                               \
    void*(const std::intptr_t* properties, u32 count, void* const* devices,                        \
          void (*notify)(const char*, const void*, std::size_t, void*), void* data, int* result))  \
  X(clCreateCommandQueueWithProperties,                                                            \
    void*(void* context, void* device, const u64* properties, int* result))                        \
  X(clReleaseCommandQueue, int(void* queue))                                                       \
  X(clCreateBuffer, void*(void* context, u64 flags, std::size_t bytes, void* host, int* result))   \
  X(clReleaseMemObject, int(void* buffer))                                                         \
  X(clEnqueueReadBuffer, int(void* queue, void* buffer, u32 blocking, std::size_t at,              \
                             std::size_t bytes, void* to, u32, void* const*, void**))              \
  X(clEnqueueWriteBuffer, int(void* queue, void* buffer, u32 blocking, std::size_t at,             \
                              std::size_t bytes, const void* from, u32, void* const*, void**))     \
  X(clEnqueueCopyBuffer, int(void* queue, void* from, void* to, std::size_t from_at,               \
                             std::size_t to_at, std::size_t bytes, u32, void* const*, void**))     \
  X(clEnqueueFillBuffer,                                                                           \
    int(void* queue, void* buffer, const void* pattern, std::size_t pattern_bytes, std::size_t at, \
        std::size_t bytes, u32, void* const*, void**))                                             \
  X(clSVMAlloc, void*(void* context, u64 flags, std::size_t bytes, u32 alignment))                 \
  X(clSVMFree, void(void* context, void* data))                                                    \
  X(clEnqueueSVMFree, int(void* queue, u32 count, void** data,                                     \
                          void (*)(void*, u32, void**, void*), void*, u32, void* const*, void**))  \
  X(clEnqueueSVMMemcpy, int(void* queue, u32 blocking, void* to, const void* from,                 \
                            std::size_t bytes, u32, void* const*, void**))                         \
  X(clEnqueueSVMMemFill,                                                                           \
    int(void* queue, void* to, const void* pattern, std::size_t pattern_bytes, std::size_t bytes,  \
        u32, void* const*, void**))                                                                \
  X(clFlush, int(void* queue))                                                                     \
  X(clFinish, int(void* queue))                                                                    \
  X(clWaitForEvents, int(u32 count, void* const* events))                                          \
  X(clGetEventInfo, int(void* event, u32 what, std::size_t room, void* to, std::size_t* bytes))    \
  X(clGetEventProfilingInfo,                                                                       \
    int(void* event, u32 what, std::size_t room, void* to, std::size_t* bytes))                    \
  X(clRetainEvent, int(void* event))                                                               \
  X(clReleaseEvent, int(void* event))                                                              \
  X(clEnqueueMarkerWithWaitList, int(void* queue, u32 count, void* const* events, void** event))   \
  X(clEnqueueBarrierWithWaitList, int(void* queue, u32 count, void* const* events, void** event))  \
  X(clCreateProgramWithSource,                                                                     \
    void*(void* context, u32 count, const char** lines, const std::size_t* sizes, int* result))    \
  X(clCreateProgramWithBinary,                                                                     \
    void*(void* context, u32 count, void* const* devices, const std::size_t* sizes,                \
          const unsigned char** images, int* status, int* result))                                 \
  X(clBuildProgram, int(void* program, u32 count, void* const* devices, const char* options,       \
                        void (*)(void*, void*), void*))                                            \
  X(clGetProgramBuildInfo,                                                                         \
    int(void* program, void* device, u32 what, std::size_t room, void* to, std::size_t* bytes))    \
  X(clReleaseProgram, int(void* program))                                                          \
  X(clCreateKernel, void*(void* program, const char* name, int* result))                           \
  X(clReleaseKernel, int(void* kernel))                                                            \
  X(clSetKernelArg, int(void* kernel, u32 index, std::size_t bytes, const void* value))            \
  X(clSetKernelExecInfo, int(void* kernel, u32 what, std::size_t bytes, const void* value))        \
  X(clGetKernelWorkGroupInfo,                                                                      \
    int(void* kernel, void* device, u32 what, std::size_t room, void* to, std::size_t* bytes))     \
  X(clEnqueueNDRangeKernel,                                                                        \
    int(void* queue, void* kernel, u32 rank, const std::size_t* first, const std::size_t* global,  \
        const std::size_t* local, u32, void* const*, void**))

struct opencl_functions {
#define FLAGGEMS_DECLARE(name, ...) driver_function<__VA_ARGS__> name{#name};
  FLAGGEMS_OPENCL_FUNCTIONS(FLAGGEMS_DECLARE)
#undef FLAGGEMS_DECLARE
  bool bind(dynamic_library& library) noexcept {
    bool found = true;
#define FLAGGEMS_BIND_FUNCTION(name, ...) found = name.bind(library) && found;
    FLAGGEMS_OPENCL_FUNCTIONS(FLAGGEMS_BIND_FUNCTION)
#undef FLAGGEMS_BIND_FUNCTION
    return found;
  }
};

[[nodiscard]] FLAGGEMS_COLD inline text opencl_error_text(int result) {
  constexpr struct {
    int result;
    const char* name;
  } known[] = {
      {0, "CL_SUCCESS"},
      {-1, "CL_DEVICE_NOT_FOUND"},
      {-2, "CL_DEVICE_NOT_AVAILABLE"},
      {-3, "CL_COMPILER_NOT_AVAILABLE"},
      {cl::mem_object_allocation_failure, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {cl::out_of_resources, "CL_OUT_OF_RESOURCES"},
      {cl::out_of_host_memory, "CL_OUT_OF_HOST_MEMORY"},
      {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
      {-8, "CL_MEM_COPY_OVERLAP"},
      {-11, "CL_BUILD_PROGRAM_FAILURE"},
      {-30, "CL_INVALID_VALUE"},
      {-33, "CL_INVALID_DEVICE"},
      {-34, "CL_INVALID_CONTEXT"},
      {-36, "CL_INVALID_COMMAND_QUEUE"},
      {-38, "CL_INVALID_MEM_OBJECT"},
      {-42, "CL_INVALID_BINARY"},
      {-43, "CL_INVALID_BUILD_OPTIONS"},
      {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
      {-46, "CL_INVALID_KERNEL_NAME"},
      {-49, "CL_INVALID_ARG_INDEX"},
      {-51, "CL_INVALID_ARG_SIZE"},
      {-52, "CL_INVALID_KERNEL_ARGS"},
      {-54, "CL_INVALID_WORK_GROUP_SIZE"},
      {-58, "CL_INVALID_EVENT"},
      {-59, "CL_INVALID_OPERATION"},
      {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
  };
  const char* name = "result";
  for (const auto& one : known)
    if (one.result == result) name = one.name;
  return text(name) + " (" + text(result) + ")";
}

/// Threads that are made meanwhile have stacks of at least so many bytes. PoCL's keep the variables
/// of all work-items there: a group of 1024 needs more than the default.
class larger_stacks {
 public:
  explicit larger_stacks(std::size_t bytes) noexcept {
    if (pthread_getattr_default_np(&attributes_) != 0) return;
    is_set_ = true;
    pthread_attr_getstacksize(&attributes_, &before_);
    set((std::max)(before_, bytes));
  }
  ~larger_stacks() {
    if (!is_set_) return;
    set(before_);
    pthread_attr_destroy(&attributes_);
  }
  larger_stacks(const larger_stacks&) = delete;
  larger_stacks& operator=(const larger_stacks&) = delete;

 private:
  void set(std::size_t bytes) noexcept {
    pthread_attr_setstacksize(&attributes_, bytes);
    pthread_setattr_default_np(&attributes_);
  }
  pthread_attr_t attributes_{};
  std::size_t before_ = 0;
  bool is_set_ = false;
};

/// OpenCL's loader, opened at first use, and the devices of all platforms that we can use.
class opencl_driver {
 public:
  struct device {
    void* id = nullptr;
    u64 memory_kinds = 0;  // of shared virtual memory
    int capability = 0;    // of NVIDIA's, which take PTX: 90; 0 of those that take LLVM's code
  };

  static const opencl_driver& get() noexcept {
    static const opencl_driver opened;
    return opened;
  }
  [[nodiscard]] const opencl_functions& functions() const noexcept { return functions_; }
  [[nodiscard]] int device_count() const noexcept { return count_; }
  /// Why there are no devices.
  [[nodiscard]] const text& reason() const noexcept { return reason_; }
  [[nodiscard]] const device& at(int index) const noexcept { return devices_[index]; }

  /// 0 where the driver does not know `what`.
  template <class T>
  [[nodiscard]] T number(void* id, u32 what) const noexcept {
    T value{};
    functions_.clGetDeviceInfo.call(id, what, sizeof(value), &value, nullptr);
    return value;
  }
  [[nodiscard]] std::string words(void* id, u32 what) const {
    std::size_t bytes = 0;
    functions_.clGetDeviceInfo.call(id, what, 0, nullptr, &bytes);
    std::string value(bytes, '\0');
    if (bytes > 0) functions_.clGetDeviceInfo.call(id, what, bytes, value.data(), nullptr);
    return value.substr(0, value.find('\0'));
  }

 private:
  static constexpr const char* libraries[] = {"libOpenCL.so.1", "libOpenCL.so"};
  static constexpr u32 most_platforms = 16;
  static constexpr std::size_t stack_bytes = std::size_t{256} << 20U;

  opencl_driver() noexcept : library_("FLAGGEMS_OPENCL_LIBRARY", libraries) {
    if (!library_.is_open() || !functions_.bind(library_)) {
      reason_ = library_.reason();
      functions_ = {};
      return;
    }
    const larger_stacks of_workers(stack_bytes);
    void* platforms[most_platforms] = {};
    u32 found = 0;
    if (functions_.clGetPlatformIDs.call(most_platforms, platforms, &found) != 0) found = 0;
    for (u32 p = 0; p < found && p < most_platforms; ++p) {
      void* ids[max_devices] = {};
      u32 of_platform = 0;
      if (functions_.clGetDeviceIDs.call(platforms[p], cl::device_type_all, max_devices, ids,
                                         &of_platform) == 0)
        for (u32 k = 0; k < of_platform && k < max_devices; ++k) add(ids[k]);
    }
    if (count_ == 0 && reason_.empty()) reason_ = text(library_.path()) + " finds none";
  }
  void add(void* id) {
    const std::string extensions = words(id, cl::device_extensions);
    const auto has = [&](const char* name) { return extensions.find(name) != extensions.npos; };
    int capability = 0;
    if (!has("cl_khr_spir") && has("cl_nv_device_attribute_query"))
      capability = number<int>(id, cl::device_compute_capability_major_nv) * 10 +
                   number<int>(id, cl::device_compute_capability_minor_nv);
    if (!has("cl_khr_spir") && capability == 0)
      reason_ = text(words(id, cl::device_name)) +
                " takes neither LLVM's code (cl_khr_spir) nor PTX (cl_nv_device_attribute_query)";
    else if (count_ < max_devices)
      devices_[count_++] = {id, number<u64>(id, cl::device_svm_capabilities), capability};
  }

  dynamic_library library_;
  opencl_functions functions_;
  text reason_;
  int count_ = 0;
  device devices_[max_devices];
};

/// Calls a function of OpenCL's in `op`, which raises what it returns.
template <class... Params, class... Args>
void opencl_call(const char* op, const driver_function<int(Params...)>& function, Args... args) {
  if (const int result = function.call(static_cast<Params>(args)...); result != 0) [[unlikely]]
    raise(errc::driver_error, op, text("success of ") + function.name, opencl_error_text(result));
}
/// The same of those that make an object.
template <class... Params, class... Args>
[[nodiscard]] void* opencl_make(const char* op, const driver_function<void*(Params...)>& function,
                                Args... args) {
  int result = 0;
  void* const made = function.call(args..., &result);
  if (made == nullptr) [[unlikely]]
    raise(errc::driver_error, op, text("success of ") + function.name, opencl_error_text(result));
  return made;
}

}  // namespace flaggems::detail
