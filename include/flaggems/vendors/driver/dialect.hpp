// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What vendors share whose driver or runtime is CUDA's under other names: the names, the numbers,
// the language of kernels, the policies.
#pragma once

#include <flaggems/vendors/driver/driver_device.hpp>
#include <flaggems/vendors/driver/policies.hpp>

// The names of a driver that has CUDA's functions with another prefix, in the driver_functions `f`.
#define FLAGGEMS_DRIVER_NAMES(f, prefix)                                   \
  (f).init.name = prefix "Init";                                           \
  (f).device_count.name = prefix "DeviceGetCount";                         \
  (f).version.name = prefix "DriverGetVersion";                            \
  (f).error_name.name = prefix "GetErrorName";                             \
  (f).error_string.name = prefix "GetErrorString";                         \
  (f).device_get.name = prefix "DeviceGet";                                \
  (f).device_name.name = prefix "DeviceGetName";                           \
  (f).device_attribute.name = prefix "DeviceGetAttribute";                 \
  (f).context_retain.name = prefix "DevicePrimaryCtxRetain";               \
  (f).context_set.name = prefix "CtxSetCurrent";                           \
  (f).context_get.name = prefix "CtxGetCurrent";                           \
  (f).context_device.name = prefix "CtxGetDevice";                         \
  (f).memory_info.name = prefix "MemGetInfo_v2";                           \
  (f).allocate.name = prefix "MemAlloc_v2";                                \
  (f).deallocate.name = prefix "MemFree_v2";                               \
  (f).copy_to_device.name = prefix "MemcpyHtoDAsync_v2";                   \
  (f).copy_to_host.name = prefix "MemcpyDtoHAsync_v2";                     \
  (f).copy_on_device.name = prefix "MemcpyDtoDAsync_v2";                   \
  (f).copy_peer.name = prefix "MemcpyPeerAsync";                           \
  (f).can_access_peer.name = prefix "DeviceCanAccessPeer";                 \
  (f).enable_peer.name = prefix "CtxEnablePeerAccess";                     \
  (f).allocate_pinned.name = prefix "MemHostAlloc";                        \
  (f).deallocate_pinned.name = prefix "MemFreeHost";                       \
  (f).fill.name = prefix "MemsetD8Async";                                  \
  (f).create_stream.name = prefix "StreamCreateWithPriority";              \
  (f).destroy_stream.name = prefix "StreamDestroy_v2";                     \
  (f).synchronize.name = prefix "StreamSynchronize";                       \
  (f).query.name = prefix "StreamQuery";                                   \
  (f).wait.name = prefix "StreamWaitEvent";                                \
  (f).create_event.name = prefix "EventCreate";                            \
  (f).destroy_event.name = prefix "EventDestroy_v2";                       \
  (f).record.name = prefix "EventRecord";                                  \
  (f).synchronize_event.name = prefix "EventSynchronize";                  \
  (f).query_event.name = prefix "EventQuery";                              \
  (f).elapsed.name = prefix "EventElapsedTime";                            \
  (f).load_module.name = prefix "ModuleLoadData";                          \
  (f).unload_module.name = prefix "ModuleUnload";                          \
  (f).find_function.name = prefix "ModuleGetFunction";                     \
  (f).function_attribute.name = prefix "FuncGetAttribute";                 \
  (f).set_function_attribute.name = prefix "FuncSetAttribute";             \
  (f).occupancy.name = prefix "OccupancyMaxActiveBlocksPerMultiprocessor"; \
  (f).launch_grid.name = prefix "LaunchKernel";

// The same of a runtime: devices are numbers, errors have texts.
#define FLAGGEMS_RUNTIME_NAMES(f, prefix)                  \
  (f).device_count.name = prefix "GetDeviceCount";         \
  (f).error_name_text.name = prefix "GetErrorName";        \
  (f).error_string_text.name = prefix "GetErrorString";    \
  (f).device_get.name = prefix "DeviceGet";                \
  (f).device_name.name = prefix "DeviceGetName";           \
  (f).device_attribute.name = prefix "DeviceGetAttribute"; \
  (f).set_device.name = prefix "SetDevice";                \
  (f).get_device.name = prefix "GetDevice";                \
  (f).memory_info.name = prefix "MemGetInfo";              \
  (f).allocate.name = prefix "Malloc";                     \
  (f).deallocate.name = prefix "Free";                     \
  (f).destroy_stream.name = prefix "StreamDestroy";        \
  (f).synchronize.name = prefix "StreamSynchronize";       \
  (f).query.name = prefix "StreamQuery";                   \
  (f).wait.name = prefix "StreamWaitEvent";                \
  (f).create_event.name = prefix "EventCreateWithFlags";   \
  (f).destroy_event.name = prefix "EventDestroy";          \
  (f).record.name = prefix "EventRecord";                  \
  (f).synchronize_event.name = prefix "EventSynchronize";  \
  (f).query_event.name = prefix "EventQuery";              \
  (f).elapsed.name = prefix "EventElapsedTime";            \
  (f).load_module.name = prefix "ModuleLoadData";          \
  (f).unload_module.name = prefix "ModuleUnload";          \
  (f).find_function.name = prefix "ModuleGetFunction";     \
  (f).function_attribute.name = prefix "FuncGetAttribute"; \
  (f).launch_grid.name = prefix "ModuleLaunchKernel";

// The functions of a runtime compiler, and the getter of its images.
#define FLAGGEMS_COMPILER_NAMES(prefix, image)                                                  \
  {                                                                                             \
    prefix "Version", prefix "GetErrorString", prefix "CreateProgram", prefix "DestroyProgram", \
        prefix "CompileProgram", prefix "GetProgramLogSize", prefix "GetProgramLog",            \
        prefix "Get" image "Size", prefix "Get" image                                           \
  }

namespace flaggems::detail {

/// CUDA's numbers.
inline constexpr driver_numbers cuda_numbers = {
    .out_of_memory = 2,
    .not_ready = 600,
    .invalid_context = 201,
    .not_initialized = 3,
    .peer_already_enabled = 704,
    .compute_units = 16,
    .warp_size = 10,
    .max_threads_per_block = 1,
    .shared_memory = 97,  // the opt-in maximum per block
    .l2_cache = 38,
    .clock_khz = 13,
    .memory_clock_khz = 36,
    .memory_bus_bits = 37,
    .capability_major = 75,
    .capability_minor = 76,
    .function_max_threads = 0,
    .function_max_shared = 8,
    .function_target = 5,
    .has_clusters = 120,
    .launch_cluster = 4,
    .most_cluster = 8,
    .cluster_target = 90,
    .has_tensor_maps = 127,
    .l2_promotion = 2,
    .launch_overlaps = 6,
    .overlapping_target = 90,
    .overlapping_version = 12030,
    .independent_stream = 1,
    .portable_memory = 1,
    .capture_of_thread = 1,
    .capture_relaxed = 2,
    .first_capture_error = 900,
    .last_capture_error = 908,
    .is_active = 1,
    .capture_invalidated = 901,
    .unsynchronized_object = 1,
};
/// Those of them that a runtime of CUDA's kind has as well: results and flags, and the attributes
/// of functions. It numbers the attributes of devices itself.
constexpr driver_numbers numbers_of_runtime() {
  driver_numbers n = cuda_numbers;
  n.compute_units = n.warp_size = n.max_threads_per_block = n.shared_memory = n.l2_cache = -1;
  n.clock_khz = n.memory_clock_khz = n.memory_bus_bits = -1;
  n.capability_major = n.capability_minor = n.has_clusters = n.has_tensor_maps = -1;
  return n;
}

/// "gfx90a" of a structure of bytes that has it somewhere: its layout is another one in each
/// release. Empty if nothing in it begins with `prefix` and a digit.
inline text name_within(std::string_view structure, std::string_view prefix) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t at = 0;
  while ((at = structure.find(prefix, at)) != structure.npos) {
    std::size_t end = at + prefix.size();
    if (end < structure.size() && is_digit(structure[end])) {
      while (end < structure.size() &&
             (is_digit(structure[end]) || (structure[end] >= 'a' && structure[end] <= 'z')))
        ++end;
      return text(structure.substr(at, end - at));
    }
    ++at;
  }
  return text();
}

/// The numbers of a driver that tells none.
inline constexpr driver_numbers no_numbers = [] {
  driver_numbers n = numbers_of_runtime();
  n.out_of_memory = n.not_ready = n.invalid_context = n.not_initialized = -1;
  return n;
}();

/// What an Api has if nothing else is known of the vendor.
struct dialect_api {
  /// What devices have and the driver does not tell.
  static constexpr driver_limits limits = {};

  using stream = void*;
  using event = void*;
  using module = void*;
  using function = void*;
  using graph = void*;

  static bool runs(std::string_view /*device*/, std::string_view /*image*/) noexcept {
    return false;  // code of its own target alone
  }
  static std::vector<const char*> other_options(int, int, bool /*kept*/) { return {}; }
  /// Tells the texts of kernels that they are compiled in a dialect of CUDA's language.
  static std::string language(int lanes) {
    return "-DFLAGGEMS_DIALECT_LANES=" + std::to_string(lanes);
  }
};

}  // namespace flaggems::detail
