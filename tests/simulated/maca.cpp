// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// MetaX's runtime, which contains its compiler. Copies name their direction.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "MACA GPU",
                                .image_head = "flaggems simulated image of maca\n",
                                .late_launch = "driverLaunchKernel later",
                                .default_shared = 64 * 1024,
                                .most_shared = 64 * 1024,
                                .compiler_option = "-DFLAGGEMS_DIALECT_LANES=64"};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 0: return value = 1024, 0;
    case 7: return value = static_cast<int>(rules.most_shared), 0;
    case 10: return value = 64, 0;
    case 16: return value = 2, 0;
    case 21: return value = 10, 0;
    case 22: return value = 0, 0;
    case 13: return value = 1, 0;
    case 14: return value = 1, 0;
    case 15: return value = 1, 0;
    case 18: return value = 1, 0;
    default: return 1;
  }
}

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED_RUNTIME(name) mc##name
#define FLAGGEMS_SIMULATED_COMPILER(name) mcrtc##name
#define FLAGGEMS_SIMULATED_IMAGE(end) mcrtcGetBitcode##end
#include "compiler.hpp"
#include "runtime.hpp"

extern "C" {

int mcMemcpyAsync(void* to, const void* from, size bytes, int kind, void* stream) {
  on_device();
  switch (kind) {
    case 1: return driverMemcpyHtoDAsync_v2(number(to), from, bytes, stream);
    case 2: return driverMemcpyDtoHAsync_v2(to, number(from), bytes, stream);
    case 3: return driverMemcpyDtoDAsync_v2(number(to), number(from), bytes, stream);
    default: return invalid_value;
  }
}
FLAGGEMS_FORWARDED(MemsetAsync, (void* to, int byte, size bytes, void* stream),
                   MemsetD8Async(number(to), static_cast<unsigned char>(byte), bytes, stream))
FLAGGEMS_FORWARDED(MallocHost, (void** address, size bytes, unsigned flags),
                   MemHostAlloc(address, bytes, flags))
FLAGGEMS_FORWARDED(FreeHost, (void* address), MemFreeHost(address))
FLAGGEMS_FORWARDED(StreamCreateWithFlags, (void** stream, unsigned flags),
                   StreamCreateWithPriority(stream, flags, 0))

}  // extern "C"
