// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// libgxu_runtime.so without a GXU: two devices in the host's memory. It refuses what the documents
// do not allow. A kernel is a function that the program has registered for its image.
#include "gxu_runtime.h"
#include "simulated_gxu.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

enum result {
  ok,
  invalid_value,
  out_of_memory,
  invalid_device,
  invalid_image,
  invalid_handle,
  not_found,
  launch_failed
};

struct loaded {
  std::string image;
  gxu_simulated_entry entry = nullptr;
};
struct chip {
  std::recursive_mutex mutex;
  std::map<const unsigned char*, size_t> memory;
  std::map<std::string, gxu_simulated_entry> entries;
  std::set<loaded*> modules;
};
chip& all() {
  static chip& one = *new chip;
  return one;
}
thread_local int current = 0, last = ok;
int told(int code) { return last = code; }

constexpr int devices = 2;
constexpr size_t capacity = size_t{4} << 30;
constexpr unsigned quantum = 48, most_shared = 48 * 1024;

bool is_memory(const void* p, size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(p);
  auto after = all().memory.upper_bound(first);
  if (after == all().memory.begin()) return false;
  --after;
  return first + bytes <= after->first + after->second;
}

}  // namespace

extern "C" {

void gxu_simulated_register(const char* types, gxu_simulated_entry entry) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  all().entries[types] = entry;
}
int gxuGetDeviceCount(int* count) { return *count = devices, told(ok); }
int gxuGetDevice(int* device) { return *device = current, told(ok); }
int gxuSetDevice(int device) {
  if (device < 0 || device >= devices) return told(invalid_device);
  current = device;
  return told(ok);
}
int gxuGetDeviceCapability(int* first, int* second, int device) {
  if (device < 0 || device >= devices) return told(invalid_device);
  *first = 1;
  *second = 0;
  return told(ok);
}
int gxuMalloc(void** address, size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  if (bytes == 0) return told(invalid_value);
  if (bytes > capacity) return told(out_of_memory);
  *address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*address == nullptr) return told(out_of_memory);
  std::memset(*address, 0xCD, bytes);
  all().memory[static_cast<unsigned char*>(*address)] = bytes;
  return told(ok);
}
int gxuFree(void* address) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  if (all().memory.erase(static_cast<unsigned char*>(address)) == 0) return told(invalid_value);
  std::free(address);
  return told(ok);
}
int gxuMemcpy(void* to, const void* from, size_t bytes, int kind) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  const bool to_device = kind == 1 || kind == 3, from_device = kind == 2 || kind == 3;
  if (kind < 1 || kind > 3 || is_memory(to, bytes) != to_device ||
      is_memory(from, bytes) != from_device)
    return told(invalid_value);
  std::memmove(to, from, bytes);
  return told(ok);
}
int gxuModuleLoad(void** module, const void* image) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  const std::string text = static_cast<const char*>(image);
  if (text.rfind("gxu ", 0) != 0) return told(invalid_image);
  auto* const made = new loaded{text, nullptr};
  all().modules.insert(made);
  *module = made;
  return told(ok);
}
int gxuModuleGetFunction(void** function, void* module, const char* name) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  auto* const from = static_cast<loaded*>(module);
  if (all().modules.count(from) == 0) return told(invalid_handle);
  if (from->image == "gxu library") {
    if (std::strcmp(name, "gxu_relu") != 0) return told(not_found);
  } else {
    const auto found = all().entries.find(from->image.substr(std::strlen("gxu image\n")));
    if (found == all().entries.end() || std::strcmp(name, "flaggems_entry") != 0)
      return told(not_found);
    from->entry = found->second;
  }
  *function = from;
  return told(ok);
}
int gxuModuleUnload(void* module) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  auto* const gone = static_cast<loaded*>(module);
  if (all().modules.erase(gone) == 0) return told(invalid_handle);
  delete gone;
  return told(ok);
}
int gxuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                    void* stream, void** kernelParams, void** extra) {
  const std::lock_guard<std::recursive_mutex> lock(all().mutex);
  auto* const f = static_cast<loaded*>(function);
  if (all().modules.count(f) == 0) return told(invalid_handle);
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || (grid_x > quantum && grid_x % quantum != 0) ||
      block_x == 0 || block_x > 1024 || block_y != 1 || block_z != 1 ||
      shared_bytes > most_shared || stream != nullptr || kernelParams == nullptr ||
      extra != nullptr)
    return told(invalid_value);
  if (f->entry != nullptr)
    return told(f->entry(grid_x, block_x, shared_bytes, kernelParams) == 0 ? ok : launch_failed);
  const auto* from = *static_cast<const float* const*>(kernelParams[0]);
  auto* const to = *static_cast<float* const*>(kernelParams[1]);
  const auto n = *static_cast<const long*>(kernelParams[2]);
  const auto bytes = static_cast<size_t>(n) * sizeof(float);
  if (!is_memory(from, bytes) || !is_memory(to, bytes)) return told(launch_failed);
  for (long k = 0; k < n; ++k) to[k] = from[k] < 0 ? 0 : from[k];
  return told(ok);
}
int gxuGetLastError(void) {
  const int code = last;
  last = ok;
  return code;
}
const char* gxuGetErrorString(int code) {
  constexpr const char* texts[] = {"success",        "invalid value",         "out of memory",
                                   "no such device", "not an image of a GXU", "invalid handle",
                                   "not found",      "launch failed"};
  return code >= 0 && code <= launch_failed ? texts[code] : "unknown";
}

}  // extern "C"
