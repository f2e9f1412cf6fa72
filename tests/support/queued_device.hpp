// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type that works later, as chips do: each stream is a thread with a queue, and every call
// with a stream returns before its work is done. Two devices in the host's memory, blocks by the
// SIMT emulator.
#pragma once

#include <flaggems/detail/simt_emulator.hpp>
#include <flaggems/device/check_device.hpp>
#include <flaggems/device/stream.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace support {

using flaggems::i64;

/// The tasks of a stream, done one after another by a thread, each a little late.
class work_queue {
 public:
  explicit work_queue(int device) : device_(device), thread_([this] { work(); }) {}
  ~work_queue() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();  // what is queued is still done
  }
  [[nodiscard]] int device() const { return device_; }
  void push(std::function<void()> task) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }
  /// Raises what a task raised, once.
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  bool is_idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return tasks_.empty();
  }

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const auto task = tasks_.front();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      std::exception_ptr failure;
      try {
        task();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      tasks_.pop_front();
      changed_.notify_all();
    }
  }

  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

/// What an event marks: shared by the event, the stream that reaches it and those that wait for it,
/// so that the event may be recorded anew or destroyed meanwhile.
struct queued_mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::chrono::steady_clock::time_point time;

  void reach() {
    const std::lock_guard<std::mutex> lock(mutex);
    time = std::chrono::steady_clock::now();
    is_done = true;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return is_done; });
  }
  bool query() {
    const std::lock_guard<std::mutex> lock(mutex);
    return is_done;
  }
};

class queued_event {
 public:
  void set(std::shared_ptr<queued_mark> mark) {
    const std::lock_guard<std::mutex> lock(mutex_);
    mark_ = std::move(mark);
  }
  /// Null if it was never recorded.
  std::shared_ptr<queued_mark> last() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return mark_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<queued_mark> mark_;
};

/// What may be wrong with a queued device: tests/device/conformance.cpp must find it.
enum class defect { none, wait_is_empty, shared_current_device };

template <defect Defect = defect::none>
struct queued {
  static constexpr const char* name = "queued";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  static constexpr int count = 2;
  static int& current() {
    static thread_local int per_thread = 0;
    static int shared = 0;
    return Defect == defect::shared_current_device ? shared : per_thread;
  }
  static int device_count() { return count; }
  static std::string unavailable_reason() { return {}; }
  static int current_device() { return current(); }
  static void set_device(int index) {
    flaggems::check(index >= 0 && index < count, flaggems::errc::device_unavailable, name,
                    "device 0 or 1");
    current() = index;
  }
  static flaggems::device_properties properties(int) {
    flaggems::device_properties p;
    p.name = "Queued";
    p.arch = "queued1";
    p.compute_units = 4;
    p.warp_size = geometry::warp_size;
    p.max_threads_per_block = 1024;
    return p;
  }

  using stream_handle = work_queue*;  // null: the default stream of the current device
  static stream_handle create_stream(int) { return new work_queue(current()); }
  static void destroy_stream(stream_handle s) noexcept { delete s; }
  static void synchronize(stream_handle s) { queue(s).wait(); }
  static bool query(stream_handle s) { return queue(s).is_idle(); }
  static stream_handle default_stream() { return nullptr; }

  static void* allocate(i64 bytes, stream_handle) {
    if (bytes > i64{1} << 40) return nullptr;
    return std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256));
  }
  static void deallocate(void* data, i64, stream_handle s) noexcept {
    queue(s).push([data] { std::free(data); });
  }
  static void copy(void* to, const void* from, i64 bytes, flaggems::copy_kind, stream_handle s) {
    if (bytes <= 0) return;
    queue(s).push([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  static void copy_from_peer(void* to, const void* from, i64 bytes, int, stream_handle s) {
    copy(to, from, bytes, flaggems::copy_kind::device_to_device, s);
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes <= 0) return;
    queue(s).push([=] { std::memset(data, byte, static_cast<std::size_t>(bytes)); });
  }

  using event_handle = queued_event*;
  static event_handle create_event() { return new queued_event; }
  static void destroy_event(event_handle e) noexcept { delete e; }
  static void record(event_handle e, stream_handle s) {
    const auto mark = std::make_shared<queued_mark>();
    e->set(mark);
    queue(s).push([mark] { mark->reach(); });
  }
  static void wait(stream_handle s, event_handle e) {
    if constexpr (Defect != defect::wait_is_empty)
      if (const auto mark = e->last()) queue(s).push([mark] { mark->wait(); });
  }
  static void synchronize_event(event_handle e) {
    if (const auto mark = e->last()) mark->wait();
  }
  static bool query_event(event_handle e) {
    const auto mark = e->last();
    return !mark || mark->query();
  }
  static double elapsed_ms(event_handle a, event_handle b) {
    const auto from = a->last(), to = b->last();
    flaggems::check(from && to && from->query() && to->query(), flaggems::errc::invalid_argument,
                    name, "two recorded events that are done");
    return std::chrono::duration<double, std::milli>(to->time - from->time).count();
  }
  static std::string error_text(int code) { return "queued error " + std::to_string(code); }

  struct geometry {
    static constexpr int warp_size = 32;
    static constexpr int preferred_warps = 2;
    static constexpr i64 max_grid = 65535;
    static constexpr int grid_quantum = 1;
    static constexpr bool cap_grid_to_units = true;
  };
  struct argument_abi {
    static constexpr flaggems::argument_kind kind = flaggems::argument_kind::direct;
    static constexpr int alignment = 1;
  };
  struct images {
    static constexpr flaggems::image_provider providers[] = {flaggems::image_provider::linked};
  };
  struct capabilities {
    static constexpr bool matrix_units = false, async_copy = false, clusters = false, fp64 = true,
                          fp8 = false, host_accessible = false;
  };

  /// The configuration and the arguments live only as long as the call: both are copied.
  template <class Kernel, class... Args>
  static void launch(stream_handle s, const flaggems::launch_config& config, const Args&... args) {
    queue(s).push([config, args...] {
      flaggems::kernels::run_emulated<geometry::warp_size, Kernel>(
          config.op, (std::min)(config.tiles, i64{4}),
          (std::min)(flaggems::kernels::round_up(config.threads, geometry::warp_size), 1024),
          config.scratch, args...);
    });
  }

 private:
  static work_queue& queue(stream_handle s) {
    static work_queue* const defaults[count] = {new work_queue(0), new work_queue(1)};
    if (s == nullptr) return *defaults[current()];
    flaggems::check(s->device() == current(), flaggems::errc::driver_error, name,
                    "a stream of the current device");
    return *s;
  }
};

}  // namespace support

template <support::defect Defect>
inline constexpr bool flaggems::host_accessible<support::queued<Defect>> = false;

namespace support {
using queued_device = queued<>;
static_assert(flaggems::check_device<queued_device>());
}  // namespace support
