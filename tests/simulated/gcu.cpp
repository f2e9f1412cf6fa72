// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Enflame's runtime: no compiler, blocks of one warp, and grids of at most 48 blocks or a multiple
// of 48.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "GCU",
                                .image_head = "flaggems simulated image of gcu\n",
                                .late_launch = "driverLaunchKernel later",
                                .default_shared = 64 * 1024,
                                .most_shared = 64 * 1024,
                                .most_blocks = 65535,
                                .grid_quantum = 48};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 0: return value = 1, 0;
    case 9: return value = 1024, 0;
    case 10: return value = 2, 0;
    case 11: return value = static_cast<int>(rules.most_shared), 0;
    default: return 1;
  }
}

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED_RUNTIME(name) tops##name
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
FLAGGEMS_FORWARDED(StreamCreateWithFlags, (void** stream, unsigned flags),
                   StreamCreateWithPriority(stream, flags, 0))
int topsGetDeviceProperties(void* structure, int device) {
  on_device();
  if (device < 0 || device >= devices) return invalid_device;
  std::memset(structure, 0, 792);
  std::strcpy(static_cast<char*>(structure) + 372, "dtu-enflame-tops--gcu400");
  return ok;
}

}  // extern "C"
