// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Our declarations of Level Zero against Intel's headers. Compiled only.
#include <flaggems/vendors/level_zero.hpp>

#include <level_zero/ze_api.h>

#include "same_call.hpp"

#include <cstddef>

namespace {

namespace fd = flaggems::detail;
namespace ze = fd::ze;
using flaggems_test::same_call;

// Of all: names are checked where they are bound, as each member has its function's.
#define FLAGGEMS_SAME(name, ...) \
  static_assert(same_call<decltype(fd::level_zero_functions::name.call), decltype(name)>::value);
FLAGGEMS_LEVEL_ZERO_FUNCTIONS(FLAGGEMS_SAME)
#undef FLAGGEMS_SAME

// Each structure begins with its type, and with the next one.
template <class Ours, class Theirs>
constexpr bool same_structure(ze_structure_type_t type) {
  return sizeof(Ours) == sizeof(Theirs) && Ours{}.type == static_cast<int>(type) &&
         offsetof(Ours, next) == offsetof(Theirs, pNext);
}
#define FLAGGEMS_SAME(ours, theirs, type) \
  static_assert(same_structure<ze::ours, theirs>(ZE_STRUCTURE_TYPE_##type))
FLAGGEMS_SAME(device_properties, ze_device_properties_t, DEVICE_PROPERTIES);
FLAGGEMS_SAME(compute_properties, ze_device_compute_properties_t, DEVICE_COMPUTE_PROPERTIES);
FLAGGEMS_SAME(queue_group, ze_command_queue_group_properties_t, COMMAND_QUEUE_GROUP_PROPERTIES);
FLAGGEMS_SAME(memory_properties, ze_device_memory_properties_t, DEVICE_MEMORY_PROPERTIES);
FLAGGEMS_SAME(context_of, ze_context_desc_t, CONTEXT_DESC);
FLAGGEMS_SAME(queue_of, ze_command_queue_desc_t, COMMAND_QUEUE_DESC);
FLAGGEMS_SAME(event_pool_of, ze_event_pool_desc_t, EVENT_POOL_DESC);
FLAGGEMS_SAME(event_of, ze_event_desc_t, EVENT_DESC);
FLAGGEMS_SAME(device_memory_of, ze_device_mem_alloc_desc_t, DEVICE_MEM_ALLOC_DESC);
FLAGGEMS_SAME(host_memory_of, ze_host_mem_alloc_desc_t, HOST_MEM_ALLOC_DESC);
FLAGGEMS_SAME(module_of, ze_module_desc_t, MODULE_DESC);
FLAGGEMS_SAME(kernel_of, ze_kernel_desc_t, KERNEL_DESC);
FLAGGEMS_SAME(kernel_properties, ze_kernel_properties_t, KERNEL_PROPERTIES);
#undef FLAGGEMS_SAME
static_assert(sizeof(ze::group_count) == sizeof(ze_group_count_t));

#define FLAGGEMS_SAME(ours, member, theirs, their_member)                      \
  static_assert(offsetof(ze::ours, member) == offsetof(theirs, their_member)); \
  static_assert(sizeof(ze::ours::member) == sizeof(static_cast<theirs*>(nullptr)->their_member))
FLAGGEMS_SAME(device_properties, kind, ze_device_properties_t, type);
FLAGGEMS_SAME(device_properties, clock_mhz, ze_device_properties_t, coreClockRate);
FLAGGEMS_SAME(device_properties, subslices, ze_device_properties_t, numSubslicesPerSlice);
FLAGGEMS_SAME(device_properties, slices, ze_device_properties_t, numSlices);
FLAGGEMS_SAME(device_properties, tick_ns, ze_device_properties_t, timerResolution);
FLAGGEMS_SAME(device_properties, clock_bits, ze_device_properties_t, timestampValidBits);
FLAGGEMS_SAME(device_properties, name, ze_device_properties_t, name);
FLAGGEMS_SAME(compute_properties, group_size, ze_device_compute_properties_t, maxTotalGroupSize);
FLAGGEMS_SAME(compute_properties, group_counts[0], ze_device_compute_properties_t, maxGroupCountX);
FLAGGEMS_SAME(compute_properties, group_sizes[0], ze_device_compute_properties_t, maxGroupSizeX);
FLAGGEMS_SAME(compute_properties, local_memory, ze_device_compute_properties_t,
              maxSharedLocalMemory);
FLAGGEMS_SAME(queue_group, flags, ze_command_queue_group_properties_t, flags);
FLAGGEMS_SAME(memory_properties, bytes, ze_device_memory_properties_t, totalSize);
FLAGGEMS_SAME(queue_of, ordinal, ze_command_queue_desc_t, ordinal);
FLAGGEMS_SAME(queue_of, mode, ze_command_queue_desc_t, mode);
FLAGGEMS_SAME(queue_of, priority, ze_command_queue_desc_t, priority);
FLAGGEMS_SAME(event_pool_of, flags, ze_event_pool_desc_t, flags);
FLAGGEMS_SAME(event_pool_of, count, ze_event_pool_desc_t, count);
FLAGGEMS_SAME(event_of, index, ze_event_desc_t, index);
FLAGGEMS_SAME(event_of, signal, ze_event_desc_t, signal);
FLAGGEMS_SAME(event_of, wait, ze_event_desc_t, wait);
FLAGGEMS_SAME(module_of, format, ze_module_desc_t, format);
FLAGGEMS_SAME(module_of, bytes, ze_module_desc_t, inputSize);
FLAGGEMS_SAME(module_of, data, ze_module_desc_t, pInputModule);
FLAGGEMS_SAME(module_of, options, ze_module_desc_t, pBuildFlags);
FLAGGEMS_SAME(kernel_of, name, ze_kernel_desc_t, pKernelName);
FLAGGEMS_SAME(kernel_properties, subgroup, ze_kernel_properties_t, maxSubgroupSize);
FLAGGEMS_SAME(kernel_properties, subgroups, ze_kernel_properties_t, maxNumSubgroups);
#undef FLAGGEMS_SAME

#define FLAGGEMS_SAME(ours, theirs) static_assert(static_cast<long long>(ze::ours) == (theirs))
FLAGGEMS_SAME(success, ZE_RESULT_SUCCESS);
FLAGGEMS_SAME(not_ready, ZE_RESULT_NOT_READY);
FLAGGEMS_SAME(out_of_host_memory, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
FLAGGEMS_SAME(out_of_device_memory, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
FLAGGEMS_SAME(unsupported_size, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
FLAGGEMS_SAME(gpus_only, ZE_INIT_FLAG_GPU_ONLY);
FLAGGEMS_SAME(kind_gpu, ZE_DEVICE_TYPE_GPU);
FLAGGEMS_SAME(group_computes, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
FLAGGEMS_SAME(pool_visible_to_host, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
FLAGGEMS_SAME(scope_device, ZE_EVENT_SCOPE_FLAG_DEVICE);
FLAGGEMS_SAME(scope_host, ZE_EVENT_SCOPE_FLAG_HOST);
FLAGGEMS_SAME(access_all, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                              ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                              ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED);
FLAGGEMS_SAME(queue_asynchronous, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
FLAGGEMS_SAME(priority_low, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW);
FLAGGEMS_SAME(priority_high, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
FLAGGEMS_SAME(format_spirv, ZE_MODULE_FORMAT_IL_SPIRV);
#undef FLAGGEMS_SAME

// In the error's text.
static_assert(ZE_RESULT_ERROR_DEVICE_LOST == 0x70000001 &&
              ZE_RESULT_ERROR_MODULE_BUILD_FAILURE == 0x70000004 &&
              ZE_RESULT_ERROR_UNINITIALIZED == 0x78000001 &&
              ZE_RESULT_ERROR_UNSUPPORTED_FEATURE == 0x78000003 &&
              ZE_RESULT_ERROR_INVALID_ARGUMENT == 0x78000004 &&
              ZE_RESULT_ERROR_INVALID_NULL_HANDLE == 0x78000005 &&
              ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE == 0x78000006 &&
              ZE_RESULT_ERROR_INVALID_NULL_POINTER == 0x78000007 &&
              ZE_RESULT_ERROR_INVALID_SIZE == 0x78000008 &&
              ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT == 0x7800000b &&
              ZE_RESULT_ERROR_INVALID_NATIVE_BINARY == 0x7800000f &&
              ZE_RESULT_ERROR_INVALID_KERNEL_NAME == 0x78000011 &&
              ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION == 0x78000013 &&
              ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX == 0x78000015 &&
              ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE == 0x78000016 &&
              ZE_RESULT_ERROR_UNKNOWN == 0x7ffffffe);

}  // namespace
