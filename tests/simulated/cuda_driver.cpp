// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver and compiler: a GPU with clusters, a copy engine and programmatic dependent
// launch.
#include "rules.hpp"

namespace flaggems_simulated {

constexpr vendor_rules rules = {
    .what = "GPU",
    .image_head = "flaggems simulated image\n",
    .late_launch = "cuLaunchKernelEx later",
    .default_shared = 48 * 1024,
    .most_shared = 227 * 1024,
    .skipped_of_names = 0,
    .compiler_option = "--gpu-architecture=",
    .compiler_results = {"NVRTC_SUCCESS", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR"}};

static int attribute_of_vendor(int attribute, int& value) {
  switch (attribute) {
    case 1: return value = 1024, 0;
    case 10: return value = 32, 0;
    case 13: return value = 1980000, 0;
    case 16: return value = 2, 0;
    case 36: return value = 3201000, 0;
    case 37: return value = 6144, 0;
    case 38: return value = 1 << 20, 0;
    case 75: return value = 9, 0;
    case 76: return value = 0, 0;
    case 120:
    case 127: return value = 1, 0;
    case 97: return value = static_cast<int>(rules.most_shared), 0;
    default: return 1;
  }
}

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) cu##name
#define FLAGGEMS_SIMULATED_COMPILER(name) nvrtc##name
#define FLAGGEMS_SIMULATED_IMAGE(end) nvrtcGetCUBIN##end
#include "compiler.hpp"
#include "driver.hpp"

extern "C" {

int cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* address, const u64* sizes,
                           const u64* strides, const unsigned* box, const unsigned* steps,
                           int interleave, int swizzle, int l2_promotion, int fill) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (const int refused = enter(__func__, false); refused != ok) return refused;
  constexpr unsigned bytes_of[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  if (reinterpret_cast<u64>(map) % 64 != 0 || type < 0 || type > 9 || rank < 1 || rank > 5 ||
      address == nullptr || reinterpret_cast<u64>(address) % 16 != 0 || interleave != 0 ||
      swizzle < 0 || swizzle > 3 || l2_promotion < 0 || l2_promotion > 3 || fill != 0)
    return invalid_value;
  const unsigned row = box[0] * bytes_of[type];
  if (row % 16 != 0 || (swizzle > 0 && row > (16U << swizzle))) return invalid_value;
  for (unsigned d = 0; d < rank; ++d)
    if (sizes[d] == 0 || sizes[d] > u64{1} << 32 || box[d] == 0 || box[d] > 256 || steps[d] != 1 ||
        (d > 0 && (strides[d - 1] % 16 != 0 || strides[d - 1] >= u64{1} << 40)))
      return invalid_value;
  std::memset(map, 0xEE, 128);
  return ok;
}
int cuLaunchKernelEx(const launch_config* how, void* handle, void** arguments, void** extra) {
  ENTER();
  auto* const f = static_cast<function*>(handle);
  if (f == nullptr) return invalid_handle;
  if (how == nullptr) return invalid_value;
  unsigned cluster = 1;
  for (unsigned k = 0; k < how->attribute_count; ++k) {
    const auto& [id, unused, value] = how->attributes[k];
    if (id == 4 && value[0] > 0 && value[0] <= 8 &&
        how->grid[0] % static_cast<unsigned>(value[0]) == 0 && value[1] == 1 && value[2] == 1)
      cluster = static_cast<unsigned>(value[0]);
    else if (id != 6 || value[0] != 1)  // its work is in order
      return invalid_value;
  }
  return launch(f, how->grid, how->block, how->shared, how->stream, arguments, extra, cluster);
}

}  // extern "C"
