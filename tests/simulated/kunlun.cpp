// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kunlunxin's XRE: no modules, no fill, no question whether work is done, results below 0, a free
// that waits for nothing, and launches in three steps: arguments at offsets, the grid behind them,
// then clusters and cores, then the kernel, whose code is in memory of the host.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "XPU",
                                .image_head = "flaggems simulated image of kunlun\n",
                                .late_launch = "xpu_launch_async later",
                                .default_shared = 1,
                                .most_shared = 1};

static int attribute_of_vendor(int, int&) { return 1; }

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) driver##name
#include "driver.hpp"

namespace {

// XRE's numbers.
int told(int code) {
  switch (code) {
    case ok: return 0;
    case invalid_device: return -701;
    case not_initialized: return -702;
    case out_of_memory: return -705;
    case invalid_value:
    case invalid_handle: return -707;
    case not_found: return 708;
    case launch_failed: return 714;
    default: return 800;
  }
}
u64 number(const void* p) { return reinterpret_cast<u64>(p); }
// Every call initialises the runtime, and has a device.
void on_device() {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (sim().process == 0) driverInit(0);
  if (current_context == nullptr) current_context = &sim().contexts[0];
}

struct kernel {
  unsigned short type, place;
  u64 code;
  unsigned bytes, first, words;
  u64 sum;
  const char* name;
  void* of_runtime;
  u64 print_offset;
};

// The launch that is being put together, one at a time.
struct launch_of {
  std::vector<unsigned char> arguments;
  int clusters = 0, cores = 0;
  stream* in = nullptr;
  pthread_t thread{};
} next_launch;
bool is_own_launch() {
  const bool is_begun = !next_launch.arguments.empty() || next_launch.clusters > 0;
  return !is_begun || pthread_equal(next_launch.thread, pthread_self()) != 0;
}

}  // namespace

#define ON_DEVICE(...) \
  on_device();         \
  return told(__VA_ARGS__)

extern "C" {

int xpu_device_count(int* count) { ON_DEVICE(driverDeviceGetCount(count)); }
int xpu_set_device(int device) {
  on_device();
  void* context = nullptr;
  const int result = driverDevicePrimaryCtxRetain(&context, device);
  return told(result == ok ? driverCtxSetCurrent(context) : result);
}
int xpu_current_device(int* device) { ON_DEVICE(driverCtxGetDevice(device)); }
int xpu_device_get_attr(u64* value, int attribute, int device) {
  on_device();
  if (device < 0 || device >= devices) return told(invalid_device);
  switch (attribute) {
    case 4: return *value = 300, 0;
    case 5: return *value = sim().capacity, 0;
    case 7: return *value = 12, 0;
    default: return told(invalid_value);
  }
}
int xpu_malloc(void** address, u64 bytes, int kind) {
  ON_DEVICE(kind != 0 ? int{invalid_value}
                      : driverMemAlloc_v2(reinterpret_cast<u64*>(address), bytes));
}
int xpu_free(void* address) {
  on_device();
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  return told(free_at_once(number(address)));
}
int xpu_host_alloc(void** address, u64 bytes, unsigned flags) {
  ON_DEVICE(flags != 0 ? int{invalid_value} : driverMemHostAlloc(address, bytes, 1));
}
int xpu_host_free(void* address) { ON_DEVICE(driverMemFreeHost(address)); }
int xpu_memcpy_async(void* to, const void* from, u64 bytes, int kind, void* s) {
  on_device();
  switch (kind) {
    case 0: return told(driverMemcpyDtoHAsync_v2(to, number(from), bytes, s));
    case 1: return told(driverMemcpyHtoDAsync_v2(number(to), from, bytes, s));
    case 2: return told(driverMemcpyDtoDAsync_v2(number(to), number(from), bytes, s));
    default: return told(invalid_value);
  }
}
int xpu_stream_create(void** s) { ON_DEVICE(driverStreamCreateWithPriority(s, 1, 0)); }
int xpu_stream_destroy(void* s) { ON_DEVICE(driverStreamDestroy_v2(s)); }
int xpu_wait(void* s) { ON_DEVICE(driverStreamSynchronize(s)); }
int xpu_stream_wait_event(void* s, void* e) { ON_DEVICE(driverStreamWaitEvent(s, e, 0)); }
int xpu_event_create(void** e) { ON_DEVICE(driverEventCreate(e, 0)); }
int xpu_event_destroy(void* e) { ON_DEVICE(driverEventDestroy_v2(e)); }
int xpu_event_record(void* e, void* s) { ON_DEVICE(driverEventRecord(e, s)); }
int xpu_event_wait(void* e) { ON_DEVICE(driverEventSynchronize(e)); }

int xpu_launch_argument_set(const void* value, size bytes, size at) {
  on_device();
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__); refused != ok) return told(refused);
  launch_of& l = next_launch;
  // After the configuration it would hang.
  if (!is_own_launch() || l.clusters > 0 || (bytes != 4 && bytes != 8) || at % bytes != 0 ||
      at < l.arguments.size() || at >= l.arguments.size() + bytes)
    return told(invalid_value);
  l.thread = pthread_self();
  l.arguments.resize(at + bytes);
  std::memcpy(l.arguments.data() + at, value, bytes);
  return 0;
}
int xpu_launch_config(int clusters, int cores, void* handle) {
  on_device();
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__); refused != ok) return told(refused);
  launch_of& l = next_launch;
  stream* const s = stream_of(handle);
  if (!is_own_launch() || l.arguments.size() < 12 || clusters < 1 || clusters > 12 || cores < 1 ||
      cores > 64 || s == nullptr || s->device != current_device())
    return told(invalid_value);
  l.clusters = clusters;
  l.cores = cores;
  l.in = s;
  return 0;
}
// An entry says with -1 tasks how many bytes its arguments have, without the grid; it gets the
// clusters, the cores and the grid.
int xpu_launch_async(void* handle) {
  on_device();
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__); refused != ok) return told(refused);
  const launch_of l = next_launch;
  if (!is_own_launch() || l.clusters == 0) return told(invalid_value);
  next_launch = {};
  const auto* const k = static_cast<const kernel*>(handle);
  if (k == nullptr || k->type != 0 || k->place != 0 || k->first != 0 || k->words != 0 ||
      k->name == nullptr || k->of_runtime != nullptr ||
      is_in_arena(reinterpret_cast<void*>(k->code)))
    return told(invalid_value);
  const std::string code(reinterpret_cast<const char*>(k->code), k->bytes);
  unsigned sum = 0;
  for (const char c : code) sum += static_cast<unsigned>(static_cast<signed char>(c));
  const std::string head = rules.image_head;
  if (sum != k->sum || code.rfind(head, 0) != 0) return told(not_found);
  const auto entry = sim().entries.find(code.substr(head.size()));
  if (entry == sim().entries.end()) return told(not_found);
  const auto bytes = static_cast<size>(entry->second(-1, 0, 0, 0, nullptr));
  if (l.arguments.size() != (bytes + 3) / 4 * 4 + 12) return told(invalid_value);
  int grid[3];
  std::memcpy(grid, l.arguments.data() + l.arguments.size() - 12, 12);
  if (grid[0] < l.clusters || grid[1] != 1 || grid[2] != 1) return told(invalid_value);
  int later = ok;
  takes_fault(rules.late_launch, later);
  return told(enqueue(l.in, [=, run = entry->second, copied = l.arguments]() mutable {
    if (later != ok) return later;
    void* own[] = {copied.data()};
    return run(l.clusters, l.cores, 1, grid[0], own);
  }));
}

}  // extern "C"
