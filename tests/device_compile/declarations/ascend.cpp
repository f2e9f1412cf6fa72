// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Our declarations of ACL against Huawei's headers. Compiled only.
#include <flaggems/vendors/ascend.hpp>

#include <acl/acl_rt.h>

#include "same_call.hpp"

#include <cstddef>
#include <string_view>

namespace {

using flaggems::detail::acl;
using flaggems_test::same_call;

// Names are checked where they are bound: each member's is its initialiser.
#define FLAGGEMS_SAME(member, symbol) \
  static_assert(same_call<decltype(acl::member.call), decltype(symbol)>::value)
FLAGGEMS_SAME(init, aclInit);
FLAGGEMS_SAME(message, aclGetRecentErrMsg);
FLAGGEMS_SAME(chip, aclrtGetSocName);
FLAGGEMS_SAME(device_count, aclrtGetDeviceCount);
FLAGGEMS_SAME(set_device, aclrtSetDevice);
FLAGGEMS_SAME(get_device, aclrtGetDevice);
FLAGGEMS_SAME(memory_info, aclrtGetMemInfo);
FLAGGEMS_SAME(allocate, aclrtMalloc);
FLAGGEMS_SAME(deallocate, aclrtFree);
FLAGGEMS_SAME(allocate_pinned, aclrtMallocHost);
FLAGGEMS_SAME(deallocate_pinned, aclrtFreeHost);
FLAGGEMS_SAME(copy, aclrtMemcpyAsync);
FLAGGEMS_SAME(fill, aclrtMemsetAsync);
FLAGGEMS_SAME(create_stream, aclrtCreateStream);
FLAGGEMS_SAME(destroy_stream, aclrtDestroyStream);
FLAGGEMS_SAME(synchronize, aclrtSynchronizeStream);
FLAGGEMS_SAME(query, aclrtStreamQuery);
FLAGGEMS_SAME(wait, aclrtStreamWaitEvent);
FLAGGEMS_SAME(create_event, aclrtCreateEventExWithFlag);
FLAGGEMS_SAME(destroy_event, aclrtDestroyEvent);
FLAGGEMS_SAME(record, aclrtRecordEvent);
FLAGGEMS_SAME(synchronize_event, aclrtSynchronizeEvent);
FLAGGEMS_SAME(query_event, aclrtQueryEventStatus);
FLAGGEMS_SAME(elapsed, aclrtEventElapsedTime);
FLAGGEMS_SAME(load_module, aclrtBinaryLoadFromData);
FLAGGEMS_SAME(unload_module, aclrtBinaryUnLoad);
FLAGGEMS_SAME(find_function, aclrtBinaryGetFunction);
FLAGGEMS_SAME(device_attribute, aclrtGetDeviceInfo);
FLAGGEMS_SAME(sync_address, aclrtGetHardwareSyncAddr);
FLAGGEMS_SAME(launch, aclrtLaunchKernelWithHostArgs);
#undef FLAGGEMS_SAME

static_assert(acl::repeated_init == ACL_ERROR_REPEAT_INITIALIZE);
static_assert(acl::bad_allocation == ACL_ERROR_BAD_ALLOC);
static_assert(acl::memory_exhausted == ACL_ERROR_RT_MEMORY_ALLOCATION);
static_assert(acl::high_bandwidth_memory == ACL_HBM_MEM);
static_assert(acl::huge_pages_first == ACL_MEM_MALLOC_HUGE_FIRST);
static_assert(acl::event_flags ==
              (ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE));
static_assert(acl::event_complete == ACL_EVENT_RECORDED_STATUS_COMPLETE);
static_assert(ACL_STREAM_STATUS_COMPLETE == 0 && ACL_MEMCPY_HOST_TO_DEVICE == 1 &&
              ACL_MEMCPY_DEVICE_TO_HOST == 2 && ACL_MEMCPY_DEVICE_TO_DEVICE == 3);
static_assert(acl::all_cores == ACL_DEV_ATTR_AICORE_CORE_NUM &&
              acl::cube_cores == ACL_DEV_ATTR_CUBE_CORE_NUM &&
              acl::vector_cores == ACL_DEV_ATTR_VECTOR_CORE_NUM);
using flaggems::ascend_cores;
static_assert(static_cast<unsigned>(ascend_cores::mixed) == ACL_RT_BINARY_MAGIC_ELF_AICORE);
static_assert(static_cast<unsigned>(ascend_cores::vector) == ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE);
static_assert(static_cast<unsigned>(ascend_cores::cube) == ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE);
using flaggems::detail::acl_option;
using flaggems::detail::acl_options;
static_assert(acl::of_magic == ACL_RT_BINARY_LOAD_OPT_MAGIC &&
              sizeof(acl_option) == sizeof(aclrtBinaryLoadOption) &&
              offsetof(acl_option, value) == offsetof(aclrtBinaryLoadOption, value) &&
              offsetof(acl_options, count) == offsetof(aclrtBinaryLoadOptions, numOpt));
static_assert(std::is_same_v<decltype(flaggems::ascend_module::native), aclrtBinHandle> &&
              std::is_same_v<decltype(flaggems::ascend_kernel::native), aclrtFuncHandle>);
static_assert(std::is_same_v<flaggems::ascend::stream_handle, aclrtStream>);

}  // namespace
