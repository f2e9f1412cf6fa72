// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A runtime in the place of a driver, in a vendor's file that says before it, besides what
// driver.hpp asks for, FLAGGEMS_SIMULATED_RUNTIME(Name): devices are numbers, each thread is on
// device 0 until it says otherwise, and errors have texts. It forwards to the driver, whose names
// faults have.
#pragma once

#define FLAGGEMS_SIMULATED(name) driver##name
#include "driver.hpp"

namespace flaggems_simulated {

// Every call of the runtime initialises it, and has a device.
inline void on_device() {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (sim().process == 0) driverInit(0);
  if (current_context == nullptr) current_context = &sim().contexts[0];
}
inline u64 number(const void* p) { return reinterpret_cast<u64>(p); }

}  // namespace flaggems_simulated

#define FLAGGEMS_FORWARDED(name, parameters, ...)   \
  int FLAGGEMS_SIMULATED_RUNTIME(name) parameters { \
    on_device();                                    \
    return driver##__VA_ARGS__;                     \
  }

extern "C" {

FLAGGEMS_FORWARDED(GetDeviceCount, (int* count), DeviceGetCount(count))
FLAGGEMS_FORWARDED(DeviceGet, (int* device, int ordinal), DeviceGet(device, ordinal))
FLAGGEMS_FORWARDED(DeviceGetName, (char* text, int bytes, int device),
                   DeviceGetName(text, bytes, device))
FLAGGEMS_FORWARDED(DeviceGetAttribute, (int* value, int attribute, int device),
                   DeviceGetAttribute(value, attribute, device))
FLAGGEMS_FORWARDED(GetDevice, (int* device), CtxGetDevice(device))
int FLAGGEMS_SIMULATED_RUNTIME(SetDevice)(int device) {
  on_device();
  void* context = nullptr;
  const int result = driverDevicePrimaryCtxRetain(&context, device);
  return result == ok ? driverCtxSetCurrent(context) : result;
}
FLAGGEMS_FORWARDED(MemGetInfo, (size * unused, size* total), MemGetInfo_v2(unused, total))
FLAGGEMS_FORWARDED(Malloc, (void** address, size bytes),
                   MemAlloc_v2(reinterpret_cast<u64*>(address), bytes))
FLAGGEMS_FORWARDED(Free, (void* address), MemFree_v2(number(address)))
FLAGGEMS_FORWARDED(StreamDestroy, (void* stream), StreamDestroy_v2(stream))
FLAGGEMS_FORWARDED(StreamSynchronize, (void* stream), StreamSynchronize(stream))
FLAGGEMS_FORWARDED(StreamQuery, (void* stream), StreamQuery(stream))
FLAGGEMS_FORWARDED(StreamWaitEvent, (void* stream, void* event, unsigned flags),
                   StreamWaitEvent(stream, event, flags))
FLAGGEMS_FORWARDED(EventCreateWithFlags, (void** event, unsigned flags), EventCreate(event, flags))
FLAGGEMS_FORWARDED(EventDestroy, (void* event), EventDestroy_v2(event))
FLAGGEMS_FORWARDED(EventRecord, (void* event, void* stream), EventRecord(event, stream))
FLAGGEMS_FORWARDED(EventSynchronize, (void* event), EventSynchronize(event))
FLAGGEMS_FORWARDED(EventQuery, (void* event), EventQuery(event))
FLAGGEMS_FORWARDED(EventElapsedTime, (float* ms, void* from, void* to),
                   EventElapsedTime(ms, from, to))
FLAGGEMS_FORWARDED(ModuleLoadData, (void** module, const void* image),
                   ModuleLoadData(module, image))
FLAGGEMS_FORWARDED(ModuleUnload, (void* module), ModuleUnload(module))
FLAGGEMS_FORWARDED(ModuleGetFunction, (void** function, void* module, const char* name),
                   ModuleGetFunction(function, module, name))
FLAGGEMS_FORWARDED(FuncGetAttribute, (int* value, int attribute, void* function),
                   FuncGetAttribute(value, attribute, function))
FLAGGEMS_FORWARDED(ModuleLaunchKernel,
                   (void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                    void* stream, void** arguments, void** extra),
                   LaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                                stream, arguments, extra))
const char* FLAGGEMS_SIMULATED_RUNTIME(GetErrorName)(int code) { return name_of_result(code); }
const char* FLAGGEMS_SIMULATED_RUNTIME(GetErrorString)(int) { return "simulated"; }

}  // extern "C"
