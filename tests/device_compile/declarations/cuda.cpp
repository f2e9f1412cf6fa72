// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Our declarations of the CUDA driver API and of NVRTC against NVIDIA's own headers. Compiled only.
#include <flaggems/vendors/cuda.hpp>

// With what newer headers keep for older programs: drivers before 12.3 have no later function than
// cuStreamGetCaptureInfo_v2.
#define __CUDA_API_VERSION_INTERNAL  // NOLINT(bugprone-reserved-identifier)
#include <cuda.h>
#include <nvrtc.h>

#include "same_call.hpp"

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace {

using flaggems::detail::compiler_functions;
using flaggems::detail::cuda_api;
using flaggems::detail::driver_functions;
using flaggems_test::same_call;

#define FLAGGEMS_SAME(member, symbol)                                          \
  static_assert(std::string_view(cuda_api::functions.member.name) == #symbol); \
  static_assert(same_call<decltype(driver_functions::member.call), decltype(symbol)>::value)
FLAGGEMS_SAME(init, cuInit);
FLAGGEMS_SAME(version, cuDriverGetVersion);
FLAGGEMS_SAME(error_name, cuGetErrorName);
FLAGGEMS_SAME(error_string, cuGetErrorString);
FLAGGEMS_SAME(device_count, cuDeviceGetCount);
FLAGGEMS_SAME(device_get, cuDeviceGet);
FLAGGEMS_SAME(device_name, cuDeviceGetName);
FLAGGEMS_SAME(device_attribute, cuDeviceGetAttribute);
FLAGGEMS_SAME(context_retain, cuDevicePrimaryCtxRetain);
FLAGGEMS_SAME(context_set, cuCtxSetCurrent);
FLAGGEMS_SAME(context_get, cuCtxGetCurrent);
FLAGGEMS_SAME(context_device, cuCtxGetDevice);
FLAGGEMS_SAME(memory_info, cuMemGetInfo_v2);
FLAGGEMS_SAME(allocate, cuMemAlloc_v2);
FLAGGEMS_SAME(deallocate, cuMemFree_v2);
FLAGGEMS_SAME(copy_to_device, cuMemcpyHtoDAsync_v2);
FLAGGEMS_SAME(copy_to_host, cuMemcpyDtoHAsync_v2);
FLAGGEMS_SAME(copy_on_device, cuMemcpyDtoDAsync_v2);
FLAGGEMS_SAME(copy_peer, cuMemcpyPeerAsync);
FLAGGEMS_SAME(can_access_peer, cuDeviceCanAccessPeer);
FLAGGEMS_SAME(enable_peer, cuCtxEnablePeerAccess);
FLAGGEMS_SAME(allocate_pinned, cuMemHostAlloc);
FLAGGEMS_SAME(deallocate_pinned, cuMemFreeHost);
FLAGGEMS_SAME(fill, cuMemsetD8Async);
FLAGGEMS_SAME(create_stream, cuStreamCreateWithPriority);
FLAGGEMS_SAME(destroy_stream, cuStreamDestroy_v2);
FLAGGEMS_SAME(synchronize, cuStreamSynchronize);
FLAGGEMS_SAME(query, cuStreamQuery);
FLAGGEMS_SAME(wait, cuStreamWaitEvent);
FLAGGEMS_SAME(create_event, cuEventCreate);
FLAGGEMS_SAME(destroy_event, cuEventDestroy_v2);
FLAGGEMS_SAME(record, cuEventRecord);
FLAGGEMS_SAME(synchronize_event, cuEventSynchronize);
FLAGGEMS_SAME(query_event, cuEventQuery);
FLAGGEMS_SAME(elapsed, cuEventElapsedTime);
FLAGGEMS_SAME(begin_capture, cuStreamBeginCapture_v2);
FLAGGEMS_SAME(end_capture, cuStreamEndCapture);
FLAGGEMS_SAME(is_capturing, cuStreamIsCapturing);
FLAGGEMS_SAME(capture_info, cuStreamGetCaptureInfo_v2);
FLAGGEMS_SAME(create_user_object, cuUserObjectCreate);
FLAGGEMS_SAME(release_user_object, cuUserObjectRelease);
FLAGGEMS_SAME(retain_user_object, cuGraphRetainUserObject);
FLAGGEMS_SAME(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
FLAGGEMS_SAME(instantiate, cuGraphInstantiateWithFlags);
FLAGGEMS_SAME(destroy_graph, cuGraphDestroy);
FLAGGEMS_SAME(launch_graph, cuGraphLaunch);
FLAGGEMS_SAME(destroy_executable, cuGraphExecDestroy);
FLAGGEMS_SAME(load_module, cuModuleLoadData);
FLAGGEMS_SAME(unload_module, cuModuleUnload);
FLAGGEMS_SAME(find_function, cuModuleGetFunction);
FLAGGEMS_SAME(function_attribute, cuFuncGetAttribute);
FLAGGEMS_SAME(set_function_attribute, cuFuncSetAttribute);
FLAGGEMS_SAME(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor);
FLAGGEMS_SAME(launch, cuLaunchKernelEx);
FLAGGEMS_SAME(encode_tensor_map, cuTensorMapEncodeTiled);
#undef FLAGGEMS_SAME

#define FLAGGEMS_SAME(member, symbol, k)                                     \
  static_assert(std::string_view(cuda_api::compiler_symbols[k]) == #symbol); \
  static_assert(same_call<decltype(compiler_functions::member), decltype(symbol)>::value)
FLAGGEMS_SAME(version, nvrtcVersion, 0);
FLAGGEMS_SAME(error_string, nvrtcGetErrorString, 1);
FLAGGEMS_SAME(create, nvrtcCreateProgram, 2);
FLAGGEMS_SAME(destroy, nvrtcDestroyProgram, 3);
FLAGGEMS_SAME(compile, nvrtcCompileProgram, 4);
FLAGGEMS_SAME(log_size, nvrtcGetProgramLogSize, 5);
FLAGGEMS_SAME(log, nvrtcGetProgramLog, 6);
FLAGGEMS_SAME(image_size, nvrtcGetCUBINSize, 7);
FLAGGEMS_SAME(image, nvrtcGetCUBIN, 8);
#undef FLAGGEMS_SAME

// What the launch is told, member by member.
using flaggems::detail::driver_launch;
using flaggems::detail::driver_launch_attribute;
static_assert(sizeof(driver_launch) == sizeof(CUlaunchConfig));
static_assert(offsetof(driver_launch, grid) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(driver_launch, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(driver_launch, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(driver_launch, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(driver_launch, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(driver_launch, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(driver_launch_attribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(driver_launch_attribute, id) == offsetof(CUlaunchAttribute, id));
static_assert(offsetof(driver_launch_attribute, value) == offsetof(CUlaunchAttribute, value));

constexpr flaggems::detail::driver_numbers numbers = cuda_api::numbers;
static_assert(numbers.function_target == CU_FUNC_ATTRIBUTE_PTX_VERSION);
static_assert(numbers.launch_overlaps == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(numbers.has_tensor_maps == CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED);
static_assert(numbers.l2_promotion == CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
static_assert(sizeof(flaggems::kernels::tensor_map::encoded) == sizeof(CUtensorMap));
static_assert(alignof(flaggems::kernels::tensor_map) == alignof(CUtensorMap) &&
              offsetof(flaggems::kernels::tensor_map, encoded) == 0);
// As driver_device computes them from bytes and pieces.
static_assert(CU_TENSOR_MAP_DATA_TYPE_UINT8 == 1 / 2 && CU_TENSOR_MAP_DATA_TYPE_UINT16 == 2 / 2 &&
              CU_TENSOR_MAP_DATA_TYPE_UINT32 == 4 / 2 && CU_TENSOR_MAP_DATA_TYPE_UINT64 == 4);
static_assert(CU_TENSOR_MAP_SWIZZLE_NONE == 0 && CU_TENSOR_MAP_SWIZZLE_32B == 1 &&
              CU_TENSOR_MAP_SWIZZLE_64B == 2 && CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(CU_TENSOR_MAP_INTERLEAVE_NONE == 0 && CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == 0);
static_assert(numbers.has_clusters == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
static_assert(numbers.launch_cluster == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(offsetof(CUlaunchAttributeValue, clusterDim.x) == 0 &&
              offsetof(CUlaunchAttributeValue, clusterDim.z) == 2 * sizeof(int));
static_assert(numbers.out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(numbers.not_ready == CUDA_ERROR_NOT_READY);
static_assert(numbers.invalid_context == CUDA_ERROR_INVALID_CONTEXT);
static_assert(numbers.not_initialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(numbers.compute_units == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(numbers.warp_size == CU_DEVICE_ATTRIBUTE_WARP_SIZE);
static_assert(numbers.max_threads_per_block == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(numbers.shared_memory == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(numbers.l2_cache == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(numbers.clock_khz == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
static_assert(numbers.memory_clock_khz == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
static_assert(numbers.memory_bus_bits == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
static_assert(numbers.capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(numbers.capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(numbers.function_max_threads == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(numbers.function_max_shared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(numbers.independent_stream == CU_STREAM_NON_BLOCKING);
static_assert(numbers.peer_already_enabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(numbers.portable_memory == CU_MEMHOSTALLOC_PORTABLE);
static_assert(numbers.capture_of_thread == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(numbers.capture_relaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(numbers.first_capture_error == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
static_assert(numbers.last_capture_error == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
static_assert(std::is_same_v<flaggems::cuda::stream_handle, CUstream>);
static_assert(std::is_same_v<flaggems::cuda::event_handle, CUevent>);
static_assert(std::is_same_v<flaggems::cuda::module_handle, CUmodule>);
static_assert(std::is_same_v<flaggems::cuda::function_handle, CUfunction>);
static_assert(std::is_same_v<flaggems::cuda::graph_handle, CUgraphExec>);

}  // namespace
