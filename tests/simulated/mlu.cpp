// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Cambricon's CNDrv: devices are numbers of their own, each thread sets a context, what a module's
// calls make comes last, no queue is null, a free waits for nothing, and a launch has a multiple of
// its task's cores. Eight clusters of four.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "MLU",
                                .image_head = "flaggems simulated image of mlu\n",
                                .late_launch = "cnInvokeKernel later",
                                .default_shared = 1,
                                .most_shared = 1};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 0x205: return value = 8, 0;
    case 0x206: return value = 4, 0;
    case 0x20a: return value = 592, 0;
    case 0x302: return value = 384 * 1024, 0;
    case 0x404: return value = 4096, 0;
    default: return 1;
  }
}

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) driver##name
#include "driver.hpp"

namespace {

// CNDrv's numbers.
int told(int code) {
  switch (code) {
    case ok: return 0;
    case not_ready: return 1;
    case not_initialized: return 100002;
    case invalid_device: return 100005;
    case invalid_value: return 100006;
    case invalid_handle: return 100014;
    case out_of_memory: return 100100;
    case launch_failed: return 100200;
    case invalid_context: return 100201;
    case invalid_image: return 100300;
    case not_found: return 100301;
    default: return code > 1000 ? code : 200000;  // a fault of its own
  }
}
constexpr u64 first_device = 0x5000;
int ordinal_of(u64 device) { return static_cast<int>(device - first_device); }
int of_queue(const void* queue, int (*call)(void*), void* handle) {
  return queue == nullptr ? told(invalid_handle) : told(call(handle));
}
constexpr unsigned cores = 32;

}  // namespace

extern "C" {

int cnInit(unsigned flags) { return told(driverInit(flags)); }
int cnGetErrorName(int, const char** text) { return *text = "CN_RESULT", 0; }
int cnGetErrorString(int, const char** text) { return *text = "simulated", 0; }
int cnDeviceGetCount(int* count) { return told(driverDeviceGetCount(count)); }
int cnDeviceGet(u64* device, int ordinal) {
  int found = 0;
  const int result = driverDeviceGet(&found, ordinal);
  *device = first_device + static_cast<u64>(found);
  return told(result);
}
int cnDeviceGetName(char* text, unsigned bytes, u64 device) {
  return told(driverDeviceGetName(text, static_cast<int>(bytes), ordinal_of(device)));
}
int cnDeviceGetAttribute(int* value, int attribute, u64 device) {
  return told(driverDeviceGetAttribute(value, attribute, ordinal_of(device)));
}
int cnSharedContextAcquire(void** context, u64 device) {
  return told(driverDevicePrimaryCtxRetain(context, ordinal_of(device)));
}
int cnCtxSetCurrent(void* context) { return told(driverCtxSetCurrent(context)); }
int cnCtxGetCurrent(void** context) { return told(driverCtxGetCurrent(context)); }
int cnCtxGetDevice(u64* device) {
  int found = 0;
  const int result = driverCtxGetDevice(&found);
  *device = first_device + static_cast<u64>(found);
  return told(result);
}
int cnMemGetInfo(u64* unused, u64* total) {
  size left = 0, all = 0;
  const int result = driverMemGetInfo_v2(&left, &all);
  *unused = left;
  *total = all;
  return told(result);
}
int cnMalloc(u64* address, u64 bytes) { return told(driverMemAlloc_v2(address, bytes)); }
int cnFree(u64 address) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  return told(free_at_once(address));
}
int cnMallocHost(void** address, u64 bytes) { return told(driverMemHostAlloc(address, bytes, 1)); }
int cnFreeHost(void* address) { return told(driverMemFreeHost(address)); }
int cnMemcpyHtoDAsync_V2(u64 to, const void* from, u64 bytes, void* queue) {
  if (queue == nullptr) return told(invalid_handle);
  return told(driverMemcpyHtoDAsync_v2(to, from, bytes, queue));
}
int cnMemcpyDtoHAsync_V2(void* to, u64 from, u64 bytes, void* queue) {
  if (queue == nullptr) return told(invalid_handle);
  return told(driverMemcpyDtoHAsync_v2(to, from, bytes, queue));
}
int cnMemcpyDtoDAsync(u64 to, u64 from, u64 bytes, void* queue) {
  if (queue == nullptr) return told(invalid_handle);
  return told(driverMemcpyDtoDAsync_v2(to, from, bytes, queue));
}
int cnMemsetD8Async(u64 to, unsigned char byte, u64 count, void* queue) {
  if (queue == nullptr) return told(invalid_handle);
  return told(driverMemsetD8Async(to, byte, count, queue));
}
int cnCreateQueue(void** queue, unsigned flags) {
  return flags != 0 ? told(invalid_value) : told(driverStreamCreateWithPriority(queue, 1, 0));
}
int cnDestroyQueue(void* queue) { return of_queue(queue, driverStreamDestroy_v2, queue); }
int cnQueueSync(void* queue) { return of_queue(queue, driverStreamSynchronize, queue); }
int cnQueryQueue(void* queue) { return of_queue(queue, driverStreamQuery, queue); }
int cnQueueWaitNotifier(void* queue, void* notifier) {
  if (queue == nullptr) return told(invalid_handle);
  return told(driverStreamWaitEvent(queue, notifier, 0));
}
int cnCreateNotifier(void** notifier, unsigned flags) {
  return flags != 0 ? told(invalid_value) : told(driverEventCreate(notifier, 0));
}
int cnDestroyNotifier(void* notifier) { return told(driverEventDestroy_v2(notifier)); }
int cnPlaceNotifier(void* notifier, void* queue) {
  return queue == nullptr ? told(invalid_handle) : told(driverEventRecord(notifier, queue));
}
int cnWaitNotifier(void* notifier) { return told(driverEventSynchronize(notifier)); }
int cnQueryNotifier(void* notifier) { return told(driverEventQuery(notifier)); }
int cnNotifierElapsedTime(float* ms, void* from, void* to) {
  return told(driverEventElapsedTime(ms, from, to));
}
int cnModuleLoadFatBinary(const void* image, void** module) {
  return told(driverModuleLoadData(module, image));
}
int cnModuleUnload(void* module) { return told(driverModuleUnload(module)); }
int cnModuleGetKernel(void* module, const char* name, void** kernel) {
  return told(driverModuleGetFunction(kernel, module, name));
}
// An entry says with -1 tasks how many arguments it has, of eight bytes each.
int cnInvokeKernel(void* kernel, unsigned x, unsigned y, unsigned z, int task, unsigned reserved,
                   void* queue, void** arguments, void** extra) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__); refused != ok) return told(refused);
  const auto of_job = static_cast<unsigned>(task);
  const bool is_task = of_job == 1 || (of_job >= 4 && of_job <= 64 && (of_job & (of_job - 1)) == 0);
  if (!is_task || of_job > cores || x == 0 || x % of_job != 0 || y != 1 || z != 1 ||
      reserved != 0 || extra != nullptr)
    return told(invalid_value);
  auto* const f = static_cast<function*>(kernel);
  stream* const s = stream_of(queue);
  if (f == nullptr || queue == nullptr || s == nullptr || s->device != current_device())
    return told(invalid_handle);
  int later = ok;
  takes_fault(rules.late_launch, later);
  std::vector<u64> copied(static_cast<size>(f->entry(-1, 0, 0, 0, nullptr)));
  for (size k = 0; k < copied.size(); ++k) std::memcpy(&copied[k], arguments[k], 8);
  return told(enqueue(s, [=]() mutable {
    if (later != ok) return later;
    std::vector<void*> own;
    for (u64& value : copied) own.push_back(&value);
    return f->entry(static_cast<long>(x), task, 1, 0, own.data());
  }));
}

}  // extern "C"
