// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// AMD's runtime and compiler, for waves of FLAGGEMS_SIMULATED_LANES lanes. Shared memory needs no
// opt-in; a launch has less than 2^32 threads.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "HIP GPU",
                                .image_head = "flaggems simulated image of hip\n",
                                .late_launch = "driverLaunchKernel later",
                                .default_shared = 64 * 1024,
                                .most_shared = 64 * 1024,
                                .most_grid_threads = 0xffffffff,
                                .compiler_option = "--offload-arch=gfx"};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 56: return value = 1024, 0;
    case 63: return value = 2, 0;
    case 74: return value = static_cast<int>(rules.most_shared), 0;
    case 87: return value = FLAGGEMS_SIMULATED_LANES, 0;
    case 5: return value = 1, 0;
    case 19: return value = 1, 0;
    case 59: return value = 1, 0;
    case 60: return value = 1, 0;
    default: return 1;
  }
}

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED_RUNTIME(name) hip##name
#define FLAGGEMS_SIMULATED_COMPILER(name) hiprtc##name
#define FLAGGEMS_SIMULATED_IMAGE(end) hiprtcGetCode##end
#include "compiler.hpp"
#include "runtime.hpp"

extern "C" {

FLAGGEMS_FORWARDED(Init, (unsigned flags), Init(flags))
FLAGGEMS_FORWARDED(MemcpyHtoDAsync, (void* to, void* from, size bytes, void* stream),
                   MemcpyHtoDAsync_v2(number(to), from, bytes, stream))
FLAGGEMS_FORWARDED(MemcpyDtoHAsync, (void* to, void* from, size bytes, void* stream),
                   MemcpyDtoHAsync_v2(to, number(from), bytes, stream))
FLAGGEMS_FORWARDED(MemcpyDtoDAsync, (void* to, void* from, size bytes, void* stream),
                   MemcpyDtoDAsync_v2(number(to), number(from), bytes, stream))
FLAGGEMS_FORWARDED(MemsetD8Async, (void* to, unsigned char byte, size bytes, void* stream),
                   MemsetD8Async(number(to), byte, bytes, stream))
FLAGGEMS_FORWARDED(HostMalloc, (void** address, size bytes, unsigned flags),
                   MemHostAlloc(address, bytes, flags))
FLAGGEMS_FORWARDED(HostFree, (void* address), MemFreeHost(address))
FLAGGEMS_FORWARDED(StreamCreateWithPriority, (void** stream, unsigned flags, int priority),
                   StreamCreateWithPriority(stream, flags, priority))
FLAGGEMS_FORWARDED(DeviceCanAccessPeer, (int* can, int device, int peer),
                   DeviceCanAccessPeer(can, device, peer))
FLAGGEMS_FORWARDED(ModuleOccupancyMaxActiveBlocksPerMultiprocessor,
                   (int* blocks, void* function, int threads, size shared),
                   OccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared))
int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  on_device();
  if (peer < 0 || peer >= devices) return invalid_device;
  return driverCtxEnablePeerAccess(&sim().contexts[peer], flags);
}
int hipMemcpyPeerAsync(void* to, int device, const void* from, int from_device, size bytes,
                       void* stream) {
  on_device();
  if (device < 0 || device >= devices || from_device < 0 || from_device >= devices)
    return invalid_device;
  return driverMemcpyPeerAsync(number(to), &sim().contexts[device], number(from),
                               &sim().contexts[from_device], bytes, stream);
}
// As HIP 5 has it, and laid out as no release has it.
int hipGetDeviceProperties(void* structure, int device) {
  on_device();
  if (device < 0 || device >= devices) return invalid_device;
  std::memset(structure, 0, 1400);
  std::strcpy(static_cast<char*>(structure), "AMD gfx GPU");
  std::strcpy(static_cast<char*>(structure) + 777,
              FLAGGEMS_SIMULATED_LANES == 64 ? "gfx90a:sramecc+:xnack-" : "gfx1100");
  return ok;
}

}  // extern "C"
