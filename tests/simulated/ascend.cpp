// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Huawei's ACL: a thread has no device until it sets one, copies and fills say how much room there
// is, a null stream is the device's, an event before its first record is not complete, and a launch
// takes one buffer: system words, arguments, the grid. The images say first which cores they are
// for and how many system words their kernels take: "vector 3 name". 20 cores of three parts: one
// for products, two for vectors; the second device does not know the number of the first.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "NPU",
                                .image_head = "flaggems simulated image of ascend\n",
                                .late_launch = "aclrtLaunchKernelWithHostArgs later",
                                .default_shared = 1,
                                .most_shared = 1};

static int attribute_of_vendor(int, int&) { return 1; }

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) driver##name
#include "driver.hpp"

namespace {

// ACL's numbers.
int told(int code) {
  switch (code) {
    case ok: return 0;
    case invalid_value:
    case invalid_device: return 107000;
    case out_of_memory: return 207001;
    case not_initialized: return 100001;
    case invalid_context: return 107002;
    case invalid_handle: return 107003;
    default: return 500003;
  }
}
u64 number(const void* p) { return reinterpret_cast<u64>(p); }
bool is_initialized = false;

constexpr struct {
  const char* named;
  unsigned magic, count;
} cores[] = {{"mixed", 0x43554245, 20}, {"vector", 0x41415246, 40}, {"cube", 0x41494343, 20}};
// aclrtBinaryLoadOption, a list of them
struct option {
  int which;
  unsigned value[4];
};
struct option_list {
  const option* first;
  size count;
};
const module* module_of(const void* kernel) {
  for (const module* m : sim().modules)
    if (kernel != nullptr && m->entry.get() == kernel) return m;
  return nullptr;
}
// What an address for locks or for a workspace is: none, or words of the device.
bool is_workspace(u64 address) {
  return address == 0 || (address % 8 == 0 && is_device_memory(address, 8));
}
u64 sync_address() { return 0x0FF75000 + static_cast<u64>(current_device()) * 0x1000; }

}  // namespace

extern "C" {

int aclInit(const char*) {
  if (is_initialized) return 100002;
  is_initialized = true;
  return told(driverInit(0));
}
const char* aclGetRecentErrMsg() { return "simulated"; }
const char* aclrtGetSocName() { return "Ascend910B3"; }
int aclrtGetDeviceCount(unsigned* count) {
  int n = 0;
  const int result = driverDeviceGetCount(&n);
  *count = static_cast<unsigned>(n);
  return told(result);
}
int aclrtSetDevice(int device) {
  void* context = nullptr;
  const int result = driverDevicePrimaryCtxRetain(&context, device);
  return told(result == ok ? driverCtxSetCurrent(context) : result);
}
int aclrtGetDevice(int* device) { return told(driverCtxGetDevice(device)); }
int aclrtGetMemInfo(int which, size* unused, size* total) {
  return which != 1 ? 100000 : told(driverMemGetInfo_v2(unused, total));
}
int aclrtMalloc(void** address, size bytes, int policy) {
  return policy != 0 ? 100000 : told(driverMemAlloc_v2(reinterpret_cast<u64*>(address), bytes));
}
int aclrtFree(void* address) { return told(driverMemFree_v2(number(address))); }
int aclrtMallocHost(void** address, size bytes) {
  return told(driverMemHostAlloc(address, bytes, 1));
}
int aclrtFreeHost(void* address) { return told(driverMemFreeHost(address)); }
int aclrtMemcpyAsync(void* to, size room, const void* from, size bytes, int kind, void* stream) {
  if (room < bytes) return 107000;
  switch (kind) {
    case 1: return told(driverMemcpyHtoDAsync_v2(number(to), from, bytes, stream));
    case 2: return told(driverMemcpyDtoHAsync_v2(to, number(from), bytes, stream));
    case 3: return told(driverMemcpyDtoDAsync_v2(number(to), number(from), bytes, stream));
    default: return 107000;
  }
}
int aclrtMemsetAsync(void* to, size room, int byte, size bytes, void* stream) {
  if (room < bytes) return 107000;
  return told(driverMemsetD8Async(number(to), static_cast<unsigned char>(byte), bytes, stream));
}
int aclrtCreateStream(void** stream) { return told(driverStreamCreateWithPriority(stream, 1, 0)); }
int aclrtDestroyStream(void* stream) { return told(driverStreamDestroy_v2(stream)); }
int aclrtSynchronizeStream(void* stream) { return told(driverStreamSynchronize(stream)); }
int aclrtStreamQuery(void* stream, int* status) {
  const int result = driverStreamQuery(stream);
  *status = result == not_ready ? 1 : 0;
  return result == not_ready ? 0 : told(result);
}
int aclrtStreamWaitEvent(void* stream, void* event) {
  return told(driverStreamWaitEvent(stream, event, 0));
}
int aclrtCreateEventExWithFlag(void** event, unsigned flags) {
  return flags == 0 || flags > 0x7F ? 107000 : told(driverEventCreate(event, 0));
}
int aclrtDestroyEvent(void* event) { return told(driverEventDestroy_v2(event)); }
int aclrtRecordEvent(void* event, void* stream) { return told(driverEventRecord(event, stream)); }
int aclrtSynchronizeEvent(void* event) { return told(driverEventSynchronize(event)); }
int aclrtQueryEventStatus(void* handle, int* status) {
  const int result = driverEventQuery(handle);
  const bool never = result == ok && static_cast<event*>(handle)->last == nullptr;
  *status = result == ok && !never ? 1 : 0;
  return result == not_ready ? 0 : told(result);
}
int aclrtEventElapsedTime(float* ms, void* from, void* to) {
  return told(driverEventElapsedTime(ms, from, to));
}
int aclrtBinaryLoadFromData(const void* data, size, const option_list* options, void** handle) {
  if (options == nullptr || options->count != 1 || options->first->which != 2) return 107000;
  const std::string text = static_cast<const char*>(data), head = rules.image_head;
  for (const auto& kind : cores)
    if (text.rfind(head + kind.named, 0) == 0 && options->first->value[0] != kind.magic)
      return 107000;
  return told(driverModuleLoadData(handle, data));
}
int aclrtBinaryUnLoad(void* module) { return told(driverModuleUnload(module)); }
int aclrtBinaryGetFunction(void* module, const char* name, void** function) {
  return told(driverModuleGetFunction(function, module, name));
}
int aclrtGetDeviceInfo(unsigned device, int attribute, std::int64_t* value) {
  if (device >= static_cast<unsigned>(devices)) return 107000;
  switch (attribute) {
    case 101: return *value = cores[0].count, 0;
    case 102: return device == 1 ? 107000 : (*value = cores[2].count, 0);
    case 201: return *value = cores[1].count, 0;
    default: return 107000;
  }
}
int aclrtGetHardwareSyncAddr(void** address) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__); refused != ok) return told(refused);
  return *address = reinterpret_cast<void*>(sync_address()), 0;
}
// An entry says with -1 blocks how many bytes its arguments have, without system words and grid; it
// gets the blocks, the tiles, the arguments, the locks and the workspace.
int aclrtLaunchKernelWithHostArgs(void* kernel, unsigned blocks, void* handle, const void* settings,
                                  void* arguments, size bytes, const void* placeholders,
                                  size count) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__); refused != ok) return told(refused);
  const module* const m = module_of(kernel);
  stream* const s = stream_of(handle);
  if (m == nullptr || s == nullptr || s->device != current_device()) return told(invalid_handle);
  char kind[16] = {};
  size words = 0;
  if (std::sscanf(m->types.c_str(), "%15s %zu", &kind[0], &words) != 2) return told(invalid_value);
  unsigned most = 0;
  for (const auto& one : cores)
    if (std::strcmp(one.named, &kind[0]) == 0) most = one.count;
  const auto run = m->entry->entry;
  const auto own = static_cast<size>(run(-1, 0, 0, 0, nullptr)), grid_at = words * 8 + own;
  if (blocks == 0 || blocks > most || settings != nullptr || placeholders != nullptr ||
      count != 0 || number(arguments) % 8 != 0 || bytes != (grid_at + 12 + 7) / 8 * 8)
    return told(invalid_value);
  const auto* const first = static_cast<const unsigned char*>(arguments);
  u64 system[3] = {};
  std::memcpy(&system[3 - words], first, words * 8);
  int grid[3];
  std::memcpy(grid, first + grid_at, sizeof(grid));
  if ((words == 3 && system[0] != sync_address()) || !is_workspace(system[1]) ||
      !is_workspace(system[2]) || grid[0] < static_cast<int>(blocks) || grid[1] != 1 ||
      grid[2] != 1)
    return told(invalid_value);
  int later = ok;
  takes_fault(rules.late_launch, later);
  std::vector<unsigned char> copied(first + words * 8, first + grid_at);
  return told(enqueue(s, [=]() mutable {
    if (later != ok) return later;
    void* given[] = {copied.data(), reinterpret_cast<void*>(system[1]),
                     reinterpret_cast<void*>(system[2])};
    return run(blocks, 1, 1, grid[0], &given[0]);
  }));
}

}  // extern "C"
