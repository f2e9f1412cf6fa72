// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A CUDA-like driver, opened at run time: its functions with our names and declarations, bound by
// the vendor's names; a vendor leaves out those that its driver lacks. Handles are pointers, device
// addresses 64-bit numbers, results int, 0 for success.
#pragma once

#include <flaggems/detail/dynamic_library.hpp>
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <unistd.h>

namespace flaggems::detail {

/// A driver function, and the name by which its library exports it.
template <class Type>
struct driver_function;
template <class Result, class... Args>
struct driver_function<Result(Args...)> {
  const char* name = nullptr;        ///< null: the driver has no such function
  const char* other_name = nullptr;  ///< looked for where the library has not `name`
  Result (*call)(Args...) = nullptr;

  [[nodiscard]] constexpr bool exists() const noexcept { return name != nullptr; }
  /// False, with the reason in the library, if it exists and is not found.
  bool bind(dynamic_library& library) noexcept {
    return name == nullptr ||
           (other_name != nullptr && library.has(other_name) && !library.has(name) &&
            library.bind(other_name, call)) ||
           library.bind(name, call);
  }
};

/// A launch attribute, in the drivers' layout.
struct driver_launch_attribute {
  int id, unused;
  int value[16];
};
struct driver_launch {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  const driver_launch_attribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// Every function that driver_device calls, its name here and its type. Those from `error_name_text`
// on stand for others where a driver is a runtime: its devices are numbers, without contexts.
#define FLAGGEMS_DRIVER_FUNCTIONS(X)                                                               \
  X(init, int(unsigned flags))                                                                     \
  X(version, int(int* version))                                                                    \
  X(error_name, int(int result, const char** text))                                                \
  X(error_string, int(int result, const char** text))                                              \
  X(device_count, int(int* count))                                                                 \
  X(device_get, int(int* device, int ordinal))                                                     \
  X(device_name, int(char* text, int bytes, int device))                                           \
  X(device_attribute, int(int* value, int attribute, int device))                                  \
  X(context_retain, int(void** context, int device))                                               \
  X(context_set, int(void* context))                                                               \
  X(context_get, int(void** context))                                                              \
  X(context_device, int(int* device))                                                              \
  X(memory_info, int(std::size_t * unused, std::size_t * total))                                   \
  X(allocate, int(u64 * address, std::size_t bytes))                                               \
  X(deallocate, int(u64 address))                                                                  \
  X(copy_to_device, int(u64 to, const void* from, std::size_t bytes, void* stream))                \
  X(copy_to_host, int(void* to, u64 from, std::size_t bytes, void* stream))                        \
  X(copy_on_device, int(u64 to, u64 from, std::size_t bytes, void* stream))                        \
  X(copy_peer,                                                                                     \
    int(u64 to, void* to_context, u64 from, void* from_context, std::size_t bytes, void* stream))  \
  X(can_access_peer, int(int* can, int device, int peer))                                          \
  X(enable_peer, int(void* context, unsigned flags))                                               \
  X(allocate_pinned, int(void** address, std::size_t bytes, unsigned flags))                       \
  X(deallocate_pinned, int(void* address))                                                         \
  X(fill, int(u64 to, unsigned char byte, std::size_t bytes, void* stream))                        \
  X(create_stream, int(void** stream, unsigned flags, int priority))                               \
  X(destroy_stream, int(void* stream))                                                             \
  X(synchronize, int(void* stream))                                                                \
  X(query, int(void* stream))                                                                      \
  X(wait, int(void* stream, void* event, unsigned flags))                                          \
  X(create_event, int(void** event, unsigned flags))                                               \
  X(destroy_event, int(void* event))                                                               \
  X(record, int(void* event, void* stream))                                                        \
  X(synchronize_event, int(void* event))                                                           \
  X(query_event, int(void* event))                                                                 \
  X(elapsed, int(float* ms, void* from, void* to))                                                 \
  X(begin_capture, int(void* stream, int mode))                                                    \
  X(end_capture, int(void* stream, void** graph))                                                  \
  X(is_capturing, int(void* stream, int* status))                                                  \
  X(capture_info, int(void* stream, int* status, u64* id, void** graph, void* const** nodes,       \
                      std::size_t* count))                                                         \
  X(create_user_object,                                                                            \
    int(void** object, void* data, void (*end)(void*), unsigned references, unsigned flags))       \
  X(release_user_object, int(void* object, unsigned references))                                   \
  X(retain_user_object, int(void* graph, void* object, unsigned references, unsigned flags))       \
  X(exchange_capture_mode, int(int* mode))                                                         \
  X(instantiate, int(void** executable, void* graph, unsigned long long flags))                    \
  X(destroy_graph, int(void* graph))                                                               \
  X(launch_graph, int(void* executable, void* stream))                                             \
  X(destroy_executable, int(void* executable))                                                     \
  X(load_module, int(void** module, const void* image))                                            \
  X(unload_module, int(void* module))                                                              \
  X(find_function, int(void** function, void* module, const char* name))                           \
  X(function_attribute, int(int* value, int attribute, void* function))                            \
  X(set_function_attribute, int(void* function, int attribute, int value))                         \
  X(occupancy, int(int* blocks, void* function, int threads, std::size_t shared_bytes))            \
  X(launch, int(const driver_launch* how, void* function, void** arguments, void** extra))         \
  X(error_name_text, const char*(int result))                                                      \
  X(error_string_text, const char*(int result))                                                    \
  X(set_device, int(int device))                                                                   \
  X(get_device, int(int* device))                                                                  \
  X(device_capability, int(int* first, int* second, int device))                                   \
  X(device_structure, int(void* structure, int device))                                            \
  X(create_plain_stream, int(void** stream, unsigned flags))                                       \
  X(copy_any, int(void* to, const void* from, std::size_t bytes, int kind, void* stream))          \
  X(copy_now, int(void* to, const void* from, std::size_t bytes, int kind))                        \
  X(copy_from_device,                                                                              \
    int(void* to, int device, const void* from, int from_device, std::size_t bytes, void* stream)) \
  X(enable_peer_device, int(int peer, unsigned flags))                                             \
  X(fill_int, int(void* to, int byte, std::size_t bytes, void* stream))                            \
  X(launch_grid, int(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,            \
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,  \
                     void* stream, void** arguments, void** extra))

struct driver_functions {
#define FLAGGEMS_DECLARE(member, ...) driver_function<__VA_ARGS__> member;
  FLAGGEMS_DRIVER_FUNCTIONS(FLAGGEMS_DECLARE)
#undef FLAGGEMS_DECLARE
  /// Of newer drivers; null in older ones.
  driver_function<int(void* map, int type, unsigned rank, void* address, const u64* sizes,
                      const u64* strides, const unsigned* box, const unsigned* steps,
                      int interleave, int swizzle, int l2_promotion, int fill)>
      encode_tensor_map;

  /// Binds all; false, with the reason in the library, if one is missing.
  bool bind(dynamic_library& library) noexcept {
    bool found = true;
#define FLAGGEMS_BIND_FUNCTION(member, ...) found = member.bind(library) && found;
    FLAGGEMS_DRIVER_FUNCTIONS(FLAGGEMS_BIND_FUNCTION)
#undef FLAGGEMS_BIND_FUNCTION
    encode_tensor_map.bind(library);
    return found;
  }
};
#undef FLAGGEMS_DRIVER_FUNCTIONS

/// True if Api::functions has what every device type with driver_device needs; otherwise it does
/// not compile, and the message names what is missing.
template <class Api>
consteval bool check_driver() {
  constexpr driver_functions f = Api::functions;
  static_assert(f.device_count.exists(), "flaggems: Api::functions lacks `device_count`");
  static_assert(f.context_set.exists() || f.set_device.exists(),
                "flaggems: Api::functions lacks `set_device`, or `context_set` and its kin");
  static_assert(f.allocate.exists() && f.deallocate.exists(),
                "flaggems: Api::functions lacks `allocate` or `deallocate`");
  static_assert(
      f.copy_any.exists() || f.copy_now.exists() ||
          (f.copy_to_device.exists() && f.copy_to_host.exists() && f.copy_on_device.exists()),
      "flaggems: Api::functions lacks `copy_any`, `copy_now`, or `copy_to_device`, "
      "`copy_to_host` and `copy_on_device`");
  static_assert(f.load_module.exists() && f.find_function.exists(),
                "flaggems: Api::functions lacks `load_module` or `find_function`");
  static_assert(f.launch.exists() || f.launch_grid.exists(),
                "flaggems: Api::functions lacks `launch_grid` or `launch`");
  if constexpr (f.synchronize.exists()) {  // else calls return when their work is done
    static_assert(f.create_stream.exists() || f.create_plain_stream.exists(),
                  "flaggems: Api::functions lacks `create_stream` or `create_plain_stream`");
    static_assert(f.destroy_stream.exists() && f.query.exists() && f.wait.exists(),
                  "flaggems: Api::functions lacks `destroy_stream`, `query` or `wait`");
    static_assert(f.create_event.exists() && f.destroy_event.exists() && f.record.exists() &&
                      f.synchronize_event.exists() && f.query_event.exists() && f.elapsed.exists(),
                  "flaggems: Api::functions lacks a function of events");
  }
  return true;
}

/// The constants of a driver that driver_device needs; an attribute of devices that it lacks is -1.
struct driver_numbers {
  // results
  int out_of_memory, not_ready, invalid_context, not_initialized, peer_already_enabled;
  // attributes of devices
  int compute_units, warp_size, max_threads_per_block, shared_memory, l2_cache, clock_khz,
      memory_clock_khz, memory_bus_bits, capability_major, capability_minor;
  // attributes of functions
  int function_max_threads, function_max_shared, function_target;
  // attributes of devices and launches: the blocks per cluster, the portable maximum, and the first
  // target with clusters
  int has_clusters, launch_cluster, most_cluster, cluster_target;
  // the attribute of devices with tensor maps; L2 promotion to at least 128 bytes
  int has_tensor_maps, l2_promotion;
  // programmatic dependent launch: the attribute of a launch, the first target whose kernels wait
  // themselves (kernel/block/simt/entry.hpp), the first driver whose graphs support it
  int launch_overlaps, overlapping_target, overlapping_version;
  // flags of streams that do not synchronise with the default stream
  unsigned independent_stream;
  // flags of pinned memory that is portable between devices
  unsigned portable_memory;
  // capture modes: restricted to the thread, and relaxed
  int capture_of_thread, capture_relaxed;
  // the range of results that say what cannot be captured
  int first_capture_error, last_capture_error;
  // whether a capture is active, and the result of its functions once it is invalid
  int is_active, capture_invalidated;
  // flags of user objects that are released asynchronously
  unsigned unsynchronized_object;
};

/// What devices have where no attribute tells it.
struct driver_limits {
  int compute_units = 0, max_threads_per_block = 0;
  i64 shared_memory = 0;  ///< bytes a block
};

/// The driver of `Api`, opened at first use.
template <class Api>
class driver {
 public:
  static const driver& get() noexcept {
    static const driver opened;
    return opened;
  }

  [[nodiscard]] const driver_functions& functions() const noexcept { return functions_; }
  /// 0 without a driver or devices; `reason` then says why.
  [[nodiscard]] int device_count() const noexcept { return count_; }
  [[nodiscard]] const text& reason() const noexcept { return reason_; }

  /// "CUDA_ERROR_INVALID_VALUE (1): invalid argument"
  [[nodiscard]] text error_text(int result) const {
    const char* const name = name_of(result);
    const char* words = nullptr;
    if (functions_.error_string.call != nullptr)
      functions_.error_string.call(result, &words);
    else if (functions_.error_string_text.call != nullptr)
      words = functions_.error_string_text.call(result);
    return text(name != nullptr ? name : "result") + " (" + text(result) + ")" +
           (words != nullptr ? text(": ") + words : text());
  }
  /// Raises for the result of a driver function in `op`.
  [[noreturn]] FLAGGEMS_COLD void raise_result(const char* op, const char* function,
                                               int result) const {
    text got = error_text(result);
    if (result == Api::numbers.not_initialized && ::getpid() != process_)
      got += "; this process was forked after the driver was opened, which the driver forbids";
    if (result >= Api::numbers.first_capture_error && result <= Api::numbers.last_capture_error)
      got +=
          "; while a graph is captured the host waits for nothing, the default stream takes no "
          "part,"
          " events of before are not waited for, and streams that take part are joined at the end";
    raise(errc::driver_error, op, text("success of ") + function, got);
  }

 private:
  driver() noexcept : library_(Api::library_variable, Api::libraries), process_(::getpid()) {
    functions_ = Api::functions;
    if (!library_.is_open() || !functions_.bind(library_)) {
      reason_ = library_.reason();
      functions_ = {};
      return;
    }
    const auto init = functions_.init.call;  // runtimes initialise themselves
    if (const int result = init != nullptr ? init(0) : 0; result != 0) {
      reason_ = text(functions_.init.name) + ": " + error_text(result) +
                (name_of(result) == nullptr ? "; is it a toolkit's stub of the driver?" : "");
    } else if (const int counted = functions_.device_count.call(&count_); counted != 0) {
      count_ = 0;
      reason_ = text(functions_.device_count.name) + ": " + error_text(counted);
    } else if (count_ <= 0) {
      count_ = 0;
      reason_ = text("the driver ") + library_.path() + " finds none";
    } else if (const int lanes = lanes_of_first(); lanes != Api::warp_size) {
      // Several vendors' libraries have the names of one, and some chips another type's warps.
      count_ = 0;
      reason_ = text("the devices of ") + library_.path() + " have warps of " + text(lanes) +
                " lanes, not " + text(Api::warp_size);
    }
    if (count_ > max_devices) count_ = max_devices;
  }

  [[nodiscard]] const char* name_of(int result) const noexcept {
    const char* name = nullptr;
    if (functions_.error_name.call != nullptr)
      functions_.error_name.call(result, &name);
    else if (functions_.error_name_text.call != nullptr)
      name = functions_.error_name_text.call(result);
    return name;
  }
  [[nodiscard]] int lanes_of_first() const noexcept {
    int device = 0, lanes = Api::warp_size;
    if (Api::numbers.warp_size >= 0 &&
        (functions_.device_get.call == nullptr || functions_.device_get.call(&device, 0) == 0))
      functions_.device_attribute.call(&lanes, Api::numbers.warp_size, device);
    return lanes;
  }

  dynamic_library library_;
  driver_functions functions_;
  text reason_;
  int count_ = 0;
  pid_t process_;
};

}  // namespace flaggems::detail
