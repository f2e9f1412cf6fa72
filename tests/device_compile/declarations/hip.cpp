// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Our declarations of HIP and HIPRTC against AMD's headers. Compiled only.
#include <flaggems/vendors/hip.hpp>

#define __HIP_PLATFORM_AMD__  // NOLINT(bugprone-reserved-identifier)
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include "same_call.hpp"

#include <string_view>
#include <type_traits>

namespace {

using flaggems::detail::compiler_functions;
using flaggems::detail::driver_functions;
using flaggems_test::same_call;
using api = flaggems::detail::amd_api<flaggems::hip, 64>;

#define FLAGGEMS_SAME_AS(member, symbol, ...)                            \
  static_assert(std::string_view(api::functions.member.name) == symbol); \
  static_assert(same_call<decltype(driver_functions::member.call), __VA_ARGS__>::value)
#define FLAGGEMS_SAME(member, symbol) FLAGGEMS_SAME_AS(member, #symbol, decltype(symbol))
FLAGGEMS_SAME(init, hipInit);
FLAGGEMS_SAME(error_name_text, hipGetErrorName);
FLAGGEMS_SAME(error_string_text, hipGetErrorString);
FLAGGEMS_SAME(device_count, hipGetDeviceCount);
FLAGGEMS_SAME(device_get, hipDeviceGet);
FLAGGEMS_SAME(device_name, hipDeviceGetName);
FLAGGEMS_SAME(device_attribute, hipDeviceGetAttribute);
FLAGGEMS_SAME(set_device, hipSetDevice);
FLAGGEMS_SAME(get_device, hipGetDevice);
FLAGGEMS_SAME(memory_info, hipMemGetInfo);
FLAGGEMS_SAME(deallocate, hipFree);
FLAGGEMS_SAME(copy_to_device, hipMemcpyHtoDAsync);
FLAGGEMS_SAME(copy_to_host, hipMemcpyDtoHAsync);
FLAGGEMS_SAME(copy_on_device, hipMemcpyDtoDAsync);
FLAGGEMS_SAME(copy_from_device, hipMemcpyPeerAsync);
FLAGGEMS_SAME(can_access_peer, hipDeviceCanAccessPeer);
FLAGGEMS_SAME(enable_peer_device, hipDeviceEnablePeerAccess);
FLAGGEMS_SAME(deallocate_pinned, hipHostFree);
FLAGGEMS_SAME(fill, hipMemsetD8Async);
FLAGGEMS_SAME(create_stream, hipStreamCreateWithPriority);
FLAGGEMS_SAME(destroy_stream, hipStreamDestroy);
FLAGGEMS_SAME(synchronize, hipStreamSynchronize);
FLAGGEMS_SAME(query, hipStreamQuery);
FLAGGEMS_SAME(wait, hipStreamWaitEvent);
FLAGGEMS_SAME(create_event, hipEventCreateWithFlags);
FLAGGEMS_SAME(destroy_event, hipEventDestroy);
FLAGGEMS_SAME(record, hipEventRecord);
FLAGGEMS_SAME(synchronize_event, hipEventSynchronize);
FLAGGEMS_SAME(query_event, hipEventQuery);
FLAGGEMS_SAME(elapsed, hipEventElapsedTime);
FLAGGEMS_SAME(load_module, hipModuleLoadData);
FLAGGEMS_SAME(unload_module, hipModuleUnload);
FLAGGEMS_SAME(find_function, hipModuleGetFunction);
FLAGGEMS_SAME(function_attribute, hipFuncGetAttribute);
FLAGGEMS_SAME(launch_grid, hipModuleLaunchKernel);
// Which have overloads in C++.
FLAGGEMS_SAME_AS(allocate, "hipMalloc", hipError_t(void**, std::size_t));
static_assert(std::is_same_v<decltype(static_cast<hipError_t (*)(void**, std::size_t)>(&hipMalloc)),
                             hipError_t (*)(void**, std::size_t)>);
FLAGGEMS_SAME_AS(allocate_pinned, "hipHostMalloc", hipError_t(void**, std::size_t, unsigned));
static_assert(std::is_same_v<
              decltype(static_cast<hipError_t (*)(void**, std::size_t, unsigned)>(&hipHostMalloc)),
              hipError_t (*)(void**, std::size_t, unsigned)>);
FLAGGEMS_SAME_AS(occupancy, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",
                 decltype(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor));
static_assert(std::string_view(api::functions.device_structure.other_name) ==
              "hipGetDeviceProperties");
static_assert(
    same_call<decltype(driver_functions::device_structure.call), hipError_t(void*, int)>::value &&
    std::is_same_v<decltype(&hipGetDeviceProperties), hipError_t (*)(hipDeviceProp_t*, int)>);
static_assert(sizeof(hipDeviceProp_t) <= 8192);  // what driver_device has for it
#undef FLAGGEMS_SAME
#undef FLAGGEMS_SAME_AS

#define FLAGGEMS_SAME(member, symbol, k)                                \
  static_assert(std::string_view(api::compiler_symbols[k]) == #symbol); \
  static_assert(same_call<decltype(compiler_functions::member), decltype(symbol)>::value)
FLAGGEMS_SAME(version, hiprtcVersion, 0);
FLAGGEMS_SAME(error_string, hiprtcGetErrorString, 1);
FLAGGEMS_SAME(create, hiprtcCreateProgram, 2);
FLAGGEMS_SAME(destroy, hiprtcDestroyProgram, 3);
FLAGGEMS_SAME(compile, hiprtcCompileProgram, 4);
FLAGGEMS_SAME(log_size, hiprtcGetProgramLogSize, 5);
FLAGGEMS_SAME(log, hiprtcGetProgramLog, 6);
FLAGGEMS_SAME(image_size, hiprtcGetCodeSize, 7);
FLAGGEMS_SAME(image, hiprtcGetCode, 8);
#undef FLAGGEMS_SAME

constexpr flaggems::detail::driver_numbers numbers = api::numbers;
static_assert(numbers.out_of_memory == hipErrorOutOfMemory);
static_assert(numbers.not_ready == hipErrorNotReady);
static_assert(numbers.not_initialized == hipErrorNotInitialized);
static_assert(numbers.peer_already_enabled == hipErrorPeerAccessAlreadyEnabled);
static_assert(numbers.compute_units == hipDeviceAttributeMultiprocessorCount);
static_assert(numbers.warp_size == hipDeviceAttributeWarpSize);
static_assert(numbers.max_threads_per_block == hipDeviceAttributeMaxThreadsPerBlock);
static_assert(numbers.shared_memory == hipDeviceAttributeMaxSharedMemoryPerBlock);
static_assert(numbers.l2_cache == hipDeviceAttributeL2CacheSize);
static_assert(numbers.clock_khz == hipDeviceAttributeClockRate);
static_assert(numbers.memory_clock_khz == hipDeviceAttributeMemoryClockRate);
static_assert(numbers.memory_bus_bits == hipDeviceAttributeMemoryBusWidth);
static_assert(numbers.function_max_threads == HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(numbers.independent_stream == hipStreamNonBlocking);
static_assert(numbers.portable_memory == hipHostMallocPortable);
static_assert(std::is_same_v<flaggems::hip::stream_handle, hipStream_t>);
static_assert(std::is_same_v<flaggems::hip::event_handle, hipEvent_t>);
static_assert(std::is_same_v<flaggems::hip::module_handle, hipModule_t>);
static_assert(std::is_same_v<flaggems::hip::function_handle, hipFunction_t>);

}  // namespace
