// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A device type with exactly the required members, over host memory, and a state of it that tests
// look at and change: two devices, streams that tests make busy, memory of a size they choose.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/kernel/block/vector/block.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// The required members of a device type whose only image provider is `linked`.
#define SUPPORT_FOR_EACH_DEVICE_MEMBER(f)                                                        \
  f(name) f(torch_device_type) f(dlpack_device_type) f(device_count) f(unavailable_reason)       \
      f(current_device) f(set_device) f(properties) f(stream_handle) f(create_stream)            \
          f(destroy_stream) f(synchronize) f(query) f(default_stream) f(allocate) f(deallocate)  \
              f(copy) f(fill) f(event_handle) f(create_event) f(destroy_event) f(record) f(wait) \
                  f(synchronize_event) f(query_event) f(elapsed_ms) f(error_text) f(launch)      \
                      f(geometry) f(argument_abi) f(images) f(capabilities)
/// How many they are.
inline constexpr int support_device_member_count = 32;

namespace support {

using flaggems::i64;

/// What happened to the mock device, and what shall happen.
struct mock_state {
  std::recursive_mutex mutex;
  i64 capacity = i64{1} << 40;                // bytes of each device
  std::map<void*, std::pair<i64, int>> live;  // blocks: bytes and device
  std::set<int> streams{0};                   // that exist
  std::map<int, int> stream_device;           // of those created; 0 is every device's default
  std::map<int, int> event_device;
  std::set<int> busy;                        // with unfinished work
  std::set<int> failing;                     // whose next synchronize, or record, raises
  std::function<void()> meanwhile;           // called by the next synchronize
  bool tells_memory = true;                  // in properties
  bool frees_late = false;                   // deallocate takes effect at the next synchronize
  std::vector<std::pair<int, void*>> freed;  // then: (stream, block)
  std::set<int> events;                      // that exist
  std::map<int, double> event_time;          // of those recorded
  std::vector<std::pair<int, int>> waits;    // (stream that waits, stream that it waits for)
  std::map<int, int> event_stream;
  std::vector<std::string> mistakes;  // what no driver would accept
  int count = 2, last_handle = 0, synchronized = 0;
  double clock = 0;

  i64 used(int device) const {
    i64 bytes = 0;
    for (const auto& [data, block] : live)
      if (block.second == device) bytes += block.first;
    return bytes;
  }
  /// One that exists, on the device that is current.
  void expect_stream(int s, const char* who);
  void fail(int s) {
    if (failing.erase(s) != 0)
      flaggems::raise(flaggems::errc::driver_error, "mock", "work that succeeds", "mock error 700");
  }
  void free_block(void* data) {
    live.erase(data);
    std::free(data);
  }
  /// `anywhere`: of whichever device.
  void expect_event(int e, const char* who, bool anywhere = false);
};

inline mock_state& mock() {
  static mock_state state;
  return state;
}

inline int& mock_current_device() {
  static thread_local int index = 0;
  return index;
}

inline void mock_state::expect_stream(int s, const char* who) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  if (streams.count(s) == 0) mistakes.push_back(std::string(who) + ": no such stream");
  if (s != 0 && stream_device[s] != mock_current_device())
    mistakes.push_back(std::string(who) + ": the stream's device is not current");
}
inline void mock_state::expect_event(int e, const char* who, bool anywhere) {
  std::lock_guard<std::recursive_mutex> guard(mutex);
  if (events.count(e) == 0) mistakes.push_back(std::string(who) + ": no such event");
  if (!anywhere && event_device[e] != mock_current_device())
    mistakes.push_back(std::string(who) + ": the event's device is not current");
}

struct mock_device {
  static constexpr const char* name = "mock";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  struct geometry {
    static constexpr int warp_size = 1;  // a block is one thread, as on the host
    static constexpr int preferred_warps = 1;
    static constexpr i64 max_grid = 65535;
    static constexpr int grid_quantum = 1;
    static constexpr bool cap_grid_to_units = false;
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
                          fp8 = false, host_accessible = true;
  };

  using stream_handle = int;
  using event_handle = int;
  using lock = std::lock_guard<std::recursive_mutex>;

  static int& current() { return mock_current_device(); }
  static int device_count() { return mock().count; }
  static std::string unavailable_reason() {
    return mock().count > 0 ? "" : "the mock device is switched off";
  }
  static int current_device() { return current(); }
  static void set_device(int index) { current() = index; }
  static flaggems::device_properties properties(int index) {
    lock guard(mock().mutex);
    flaggems::device_properties p;
    p.name = "Mock " + std::to_string(index);
    p.arch = "mock1";
    p.compute_units = 4;
    p.warp_size = geometry::warp_size;
    p.max_threads_per_block = 1024;
    if (!mock().tells_memory) return p;
    p.total_memory = mock().capacity;
    p.free_memory = mock().capacity - mock().used(index);
    return p;
  }

  static void* allocate(i64 bytes, stream_handle s) {
    lock guard(mock().mutex);
    mock().expect_stream(s, "allocate");
    if (bytes > mock().capacity - mock().used(current())) return nullptr;
    void* data = std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256));
    mock().live[data] = {bytes, current()};
    return data;
  }
  static void deallocate(void* data, i64 bytes, stream_handle s) noexcept {
    lock guard(mock().mutex);
    mock().expect_stream(s, "deallocate");
    const auto found = mock().live.find(data);
    if (found == mock().live.end() || found->second != std::pair<i64, int>(bytes, current()))
      mock().mistakes.push_back("deallocate: not a block of this device and size");
    if (mock().frees_late)
      mock().freed.emplace_back(s, data);
    else
      mock().free_block(data);
  }
  static void copy(void* to, const void* from, i64 bytes, flaggems::copy_kind, stream_handle s) {
    mock().expect_stream(s, "copy");
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    mock().expect_stream(s, "fill");
    std::memset(data, byte, static_cast<std::size_t>(bytes));
  }

  static stream_handle create_stream(int) {
    lock guard(mock().mutex);
    mock().streams.insert(++mock().last_handle);
    mock().stream_device[mock().last_handle] = current();
    return mock().last_handle;
  }
  static void destroy_stream(stream_handle s) noexcept {
    lock guard(mock().mutex);
    mock().expect_stream(s, "destroy_stream");
    mock().streams.erase(s);
  }
  static void synchronize(stream_handle s) {
    if (const auto f = std::exchange(mock().meanwhile, nullptr)) f();
    lock guard(mock().mutex);
    mock().expect_stream(s, "synchronize");
    mock().fail(s);
    mock().busy.erase(s);
    for (auto& [stream, data] : mock().freed)
      if (stream == s && data != nullptr) mock().free_block(std::exchange(data, nullptr));
    ++mock().synchronized;
  }
  static bool query(stream_handle s) {
    lock guard(mock().mutex);
    mock().expect_stream(s, "query");
    return mock().busy.count(s) == 0;
  }
  static stream_handle default_stream() { return 0; }

  static event_handle create_event() {
    lock guard(mock().mutex);
    mock().events.insert(++mock().last_handle);
    mock().event_device[mock().last_handle] = current();
    return mock().last_handle;
  }
  static void destroy_event(event_handle e) noexcept {
    lock guard(mock().mutex);
    mock().expect_event(e, "destroy_event");
    mock().events.erase(e);
    mock().event_time.erase(e);
    mock().event_stream.erase(e);
  }
  static void record(event_handle e, stream_handle s) {
    lock guard(mock().mutex);
    mock().expect_event(e, "record");
    mock().expect_stream(s, "record");
    mock().fail(s);
    mock().event_time[e] = mock().clock += 1.5;
    mock().event_stream[e] = s;
  }
  static void wait(stream_handle s, event_handle e) {
    lock guard(mock().mutex);
    mock().expect_event(e, "wait", true);
    mock().expect_stream(s, "wait");
    if (mock().event_time.count(e) != 0) mock().waits.emplace_back(s, mock().event_stream[e]);
  }
  static void synchronize_event(event_handle e) {
    lock guard(mock().mutex);
    mock().expect_event(e, "synchronize_event");
    if (mock().event_time.count(e) != 0) mock().busy.erase(mock().event_stream[e]);
  }
  static bool query_event(event_handle e) {
    lock guard(mock().mutex);
    mock().expect_event(e, "query_event");
    return mock().event_time.count(e) == 0 || mock().busy.count(mock().event_stream[e]) == 0;
  }
  static double elapsed_ms(event_handle a, event_handle b) {
    lock guard(mock().mutex);
    mock().expect_event(a, "elapsed_ms");
    mock().expect_event(b, "elapsed_ms");
    if (mock().event_time.count(a) == 0 || mock().event_time.count(b) == 0)
      flaggems::raise(flaggems::errc::driver_error, "mock", "two recorded events",
                      "mock error 600");
    return mock().event_time[b] - mock().event_time[a];
  }
  static std::string error_text(int code) { return "mock error " + std::to_string(code); }

  template <class Kernel, class... Args>
  static void launch(stream_handle s, const flaggems::launch_config& config, const Args&... args) {
    mock().expect_stream(s, "launch");
    // Three blocks at most, so that a kernel that forgets to stride is found.
    const i64 count = (std::min)(config.tiles, i64{3});
    std::vector<unsigned char> scratch(static_cast<std::size_t>(config.scratch) + 64);
    for (i64 index = 0; index < count; ++index) {
      flaggems::kernels::host_block<flaggems::kernels::isa_baseline> block(index, count,
                                                                           scratch.data());
      Kernel::run(block, args...);
    }
  }
};

static_assert(flaggems::check_device<mock_device>());

}  // namespace support
