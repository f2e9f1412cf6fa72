// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Our declarations of OpenCL against Khronos' headers. Compiled only.
#include <flaggems/vendors/opencl.hpp>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include "same_call.hpp"

namespace {

namespace cl = flaggems::detail::cl;
using flaggems::detail::opencl_functions;
using flaggems_test::same_call;

// Of all: names are checked where they are bound, as each member has its function's.
#define FLAGGEMS_SAME(name, ...) \
  static_assert(same_call<decltype(opencl_functions::name.call), decltype(name)>::value);
FLAGGEMS_OPENCL_FUNCTIONS(FLAGGEMS_SAME)
#undef FLAGGEMS_SAME

#define FLAGGEMS_SAME(ours, theirs) static_assert(static_cast<long long>(cl::ours) == (theirs))
FLAGGEMS_SAME(success, CL_SUCCESS);
FLAGGEMS_SAME(complete, CL_COMPLETE);
FLAGGEMS_SAME(mem_object_allocation_failure, CL_MEM_OBJECT_ALLOCATION_FAILURE);
FLAGGEMS_SAME(out_of_resources, CL_OUT_OF_RESOURCES);
FLAGGEMS_SAME(out_of_host_memory, CL_OUT_OF_HOST_MEMORY);
FLAGGEMS_SAME(device_type_all, CL_DEVICE_TYPE_ALL);
FLAGGEMS_SAME(mem_read_write, CL_MEM_READ_WRITE);
FLAGGEMS_SAME(queue_profiling_enable, CL_QUEUE_PROFILING_ENABLE);
FLAGGEMS_SAME(device_svm_coarse_grain_buffer, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
FLAGGEMS_SAME(device_svm_fine_grain_system, CL_DEVICE_SVM_FINE_GRAIN_SYSTEM);
FLAGGEMS_SAME(device_max_compute_units, CL_DEVICE_MAX_COMPUTE_UNITS);
FLAGGEMS_SAME(device_max_work_group_size, CL_DEVICE_MAX_WORK_GROUP_SIZE);
FLAGGEMS_SAME(device_max_clock_frequency, CL_DEVICE_MAX_CLOCK_FREQUENCY);
FLAGGEMS_SAME(device_max_mem_alloc_size, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
FLAGGEMS_SAME(device_global_mem_size, CL_DEVICE_GLOBAL_MEM_SIZE);
FLAGGEMS_SAME(device_local_mem_size, CL_DEVICE_LOCAL_MEM_SIZE);
FLAGGEMS_SAME(device_name, CL_DEVICE_NAME);
FLAGGEMS_SAME(device_extensions, CL_DEVICE_EXTENSIONS);
FLAGGEMS_SAME(device_svm_capabilities, CL_DEVICE_SVM_CAPABILITIES);
FLAGGEMS_SAME(queue_properties, CL_QUEUE_PROPERTIES);
FLAGGEMS_SAME(program_build_log, CL_PROGRAM_BUILD_LOG);
FLAGGEMS_SAME(kernel_work_group_size, CL_KERNEL_WORK_GROUP_SIZE);
FLAGGEMS_SAME(kernel_exec_info_svm_ptrs, CL_KERNEL_EXEC_INFO_SVM_PTRS);
FLAGGEMS_SAME(event_command_execution_status, CL_EVENT_COMMAND_EXECUTION_STATUS);
FLAGGEMS_SAME(profiling_command_end, CL_PROFILING_COMMAND_END);
#undef FLAGGEMS_SAME

// In the error's text.
static_assert(CL_DEVICE_NOT_FOUND == -1 && CL_DEVICE_NOT_AVAILABLE == -2 &&
              CL_COMPILER_NOT_AVAILABLE == -3 && CL_PROFILING_INFO_NOT_AVAILABLE == -7 &&
              CL_MEM_COPY_OVERLAP == -8 && CL_BUILD_PROGRAM_FAILURE == -11);
static_assert(CL_INVALID_VALUE == -30 && CL_INVALID_DEVICE == -33 && CL_INVALID_CONTEXT == -34 &&
              CL_INVALID_COMMAND_QUEUE == -36 && CL_INVALID_MEM_OBJECT == -38 &&
              CL_INVALID_BINARY == -42 && CL_INVALID_BUILD_OPTIONS == -43 &&
              CL_INVALID_PROGRAM_EXECUTABLE == -45 && CL_INVALID_KERNEL_NAME == -46 &&
              CL_INVALID_ARG_INDEX == -49 && CL_INVALID_ARG_SIZE == -51 &&
              CL_INVALID_KERNEL_ARGS == -52 && CL_INVALID_WORK_GROUP_SIZE == -54 &&
              CL_INVALID_EVENT == -58 && CL_INVALID_OPERATION == -59);

}  // namespace
