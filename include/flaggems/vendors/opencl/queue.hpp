// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// An OpenCL device with its context and memory, its queues and their marks.
#pragma once

#include <flaggems/vendors/opencl/memory.hpp>
#include <flaggems/vendors/opencl/ptx.hpp>

namespace flaggems {

/// An in-order queue of an OpenCL device: what a stream's handle points to.
struct opencl_queue {
  void* native = nullptr;                 ///< a cl_command_queue
  detail::atomic<u64> given{0}, done{0};  ///< commands that were queued; that are known to be done
  detail::pool_mutex mutex;
  void* mark = nullptr;  ///< behind the first `marked` commands, where somebody asked for those
  u64 marked = 0;
};

/// An event: the mark of its last record, a cl_event.
struct opencl_event {
  detail::pool_mutex mutex;
  void* mark = nullptr;
};

namespace detail {

/// A device's context, default queue and memory, made at first use.
struct opencl_device {
  void* context = nullptr;
  void* id = nullptr;
  int compute_units = 1, max_threads = 1;
  int capability = 0;  // of a device that takes PTX, else 0
  i64 local_memory = 0;
  opencl_queue queue;
  opencl_memory memory;

  /// Most work-items a group: a block has at most 32 warps.
  static constexpr int most_threads = 1024;

  static opencl_device& of(const char* op, int index) {
    static atomic<void*> opened[max_devices];
    if (void* const d = opened[index].load(memory_order::acquire)) [[likely]]
      return *static_cast<opencl_device*>(d);
    static pool_mutex opening;
    const pool_lock lock(opening);
    if (void* const d = opened[index].load()) return *static_cast<opencl_device*>(d);
    auto* const made = new opencl_device(op, index);  // outlives all streams and tensors
    opened[index].store(made);
    return *made;
  }
  [[nodiscard]] void* new_queue(const char* op) const {
    static constexpr u64 properties[] = {cl::queue_properties, cl::queue_profiling_enable, 0};
    return opencl_make(op, calls().clCreateCommandQueueWithProperties, context, id, properties);
  }
  static const opencl_functions& calls() noexcept { return opencl_driver::get().functions(); }

 private:
  opencl_device(const char* op, int index) : id(opencl_driver::get().at(index).id) {
    const opencl_driver& driver = opencl_driver::get();
    context = opencl_make(op, calls().clCreateContext, nullptr, 1U, &id, nullptr, nullptr);
    compute_units = driver.number<int>(id, cl::device_max_compute_units);
    max_threads = static_cast<int>((std::min)(
        driver.number<std::size_t>(id, cl::device_max_work_group_size), std::size_t{most_threads}));
    capability = driver.at(index).capability;
    local_memory = driver.number<i64>(id, cl::device_local_mem_size);
    if (capability > 0) local_memory -= opencl_ptx_api::bytes_of_driver;
    queue.native = new_queue(op);
    memory.open(op, context, driver.at(index), queue.native);
  }
};

/// A mark behind all that `queue` was given, begun at once.
[[nodiscard]] inline void* opencl_mark(const char* op, const opencl_queue& queue) {
  void* mark = nullptr;
  const opencl_functions& calls = opencl_device::calls();
  opencl_call(op, calls.clEnqueueMarkerWithWaitList, queue.native, 0U, nullptr, &mark);
  calls.clFlush.call(queue.native);
  return mark;
}
[[nodiscard]] inline bool opencl_is_complete(const char* op, void* mark) {
  int status = 0;
  opencl_call(op, opencl_device::calls().clGetEventInfo, mark, cl::event_command_execution_status,
              sizeof(status), &status, nullptr);
  if (status < 0)
    raise(errc::driver_error, op, "success of the commands before", opencl_error_text(status));
  return status == cl::complete;
}

/// The mark that an event has, kept while another thread may replace it.
class opencl_held_mark {
 public:
  explicit opencl_held_mark(opencl_event& event) {
    const pool_lock lock(event.mutex);
    mark_ = event.mark;
    if (mark_ != nullptr) opencl_device::calls().clRetainEvent.call(mark_);
  }
  ~opencl_held_mark() {
    if (mark_ != nullptr) opencl_device::calls().clReleaseEvent.call(mark_);
  }
  opencl_held_mark(const opencl_held_mark&) = delete;
  opencl_held_mark& operator=(const opencl_held_mark&) = delete;
  [[nodiscard]] void* const& get() const noexcept { return mark_; }

 private:
  void* mark_ = nullptr;
};

}  // namespace detail
}  // namespace flaggems
