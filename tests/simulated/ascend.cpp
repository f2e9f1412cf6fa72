// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Huawei's ACL: a thread has no device until it sets one, copies and fills say how much room there
// is, a null stream is the device's, and an event before its first record is not complete. It
// launches nothing.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "NPU",
                                .image_head = "flaggems simulated image of ascend\n",
                                .late_launch = "none",
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
int aclrtBinaryLoadFromData(const void* data, size, const void* options, void** module) {
  return options != nullptr ? 107000 : told(driverModuleLoadData(module, data));
}
int aclrtBinaryUnLoad(void* module) { return told(driverModuleUnload(module)); }
int aclrtBinaryGetFunction(void* module, const char* name, void** function) {
  return told(driverModuleGetFunction(function, module, name));
}

}  // extern "C"
