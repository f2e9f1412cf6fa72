// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The objects of the simulated OpenCL driver (opencl.cpp), its rules and the way into its
// functions.
#pragma once

#include "rules.hpp"

#include <flaggems/vendors/opencl/driver.hpp>

namespace flaggems_simulated {

constexpr vendor_rules rules = {
    .what = "NVIDIA GPU",
    .image_head = "// flaggems simulated PTX of ",
    .late_launch = "clEnqueueNDRangeKernel later",
    .default_shared = 48 * 1024,
    .most_shared = 48 * 1024,
    .skipped_of_names = 0,
    .compiler_option = "-DFLAGGEMS_LAUNCHED_BY_OPENCL=1",
    .image_tail =
        "\n.version 9.0\n.target sm_90\n.address_size 64\n\n"
        ".visible .entry flaggems_entry(\n"
        "\t.param .align 8 .b8 flaggems_entry_param_0[8],\n"
        "\t.param .u64 flaggems_entry_param_1,\n"
        "\t.param .u64 flaggems_entry_param_2,\n"
        "\t.param .u64 flaggems_entry_param_3,\n"
        "\t.param .u64 flaggems_entry_param_4\n)\n.maxntid 1024, 1, 1\n{\n\tret;\n}\n",
    .compiler_results = {"NVRTC_SUCCESS", "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR"}};

static int attribute_of_vendor(int, int&) { return 1; }

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) driver##name
#define FLAGGEMS_SIMULATED_COMPILER(name) nvrtc##name
#define FLAGGEMS_SIMULATED_IMAGE(end) nvrtcGetPTX##end
#include "compiler.hpp"
#include "driver.hpp"

namespace {

namespace cl = flaggems::detail::cl;

constexpr size bytes_of_driver = 16;  // of local memory, before a kernel's

enum refusal : int {
  platform_not_found = -1001,
  build_failure = -11,
  invalid = -30,
  no_device = -33,
  no_context = -34,
  no_queue = -36,
  no_buffer = -38,
  no_binary = -42,
  bad_options = -43,
  no_program = -44,
  not_built = -45,
  no_kernel_name = -46,
  no_kernel = -48,
  bad_index = -49,
  bad_value = -50,
  bad_size = -51,
  not_all_set = -52,
  bad_rank = -53,
  bad_group = -54,
  no_event = -58
};
int told(int code) {
  switch (code) {
    case ok: return 0;
    case invalid_value: return invalid;
    case out_of_memory: return cl::mem_object_allocation_failure;
    case not_initialized: return platform_not_found;
    case invalid_device: return no_device;
    case invalid_handle: return no_queue;
    case invalid_image: return no_binary;
    case not_found: return no_kernel_name;
    case launch_failed: return cl::out_of_resources;
    default: return code;  // a fault of its own
  }
}
u64 number(const void* p) { return reinterpret_cast<u64>(p); }
void* pointer(u64 address) { return reinterpret_cast<void*>(address); }

int platform, gpus[devices];

// No handle is freed, so that those that are gone are found out.
struct handle_of {
  int users = 1;
};
struct sim_context : handle_of {
  int device = 0;
};
struct sim_queue : handle_of {
  stream* in = nullptr;
};
struct sim_buffer : handle_of {
  u64 address = 0;
  size bytes = 0;
};
struct sim_event : handle_of {
  std::shared_ptr<mark> last;
};
struct parameter {
  bool is_local = false, is_buffer = false;
};
struct sim_program : handle_of {
  int device = 0;
  bool is_source = false, is_built = false;
  std::string text, log;
  void* native = nullptr;  // of the core's
};
struct sim_kernel : handle_of {
  int device = 0;
  function* code = nullptr;  // none of the one that tells where a buffer is
  std::vector<parameter> parameters;
  std::vector<bool> is_set;
  std::vector<std::vector<unsigned char>> values;
  size local = 0;
  int most_threads = rules.most_threads;
  std::set<u64> told_of;  // addresses of shared virtual memory
};
template <class T>
std::set<const void*>& all_of() {
  static auto& all = *new std::set<const void*>;
  return all;
}
std::vector<const void*>& gone = *new std::vector<const void*>;
template <class T>
T* as(const void* handle) {
  return all_of<T>().count(handle) != 0 ? static_cast<T*>(const_cast<void*>(handle)) : nullptr;
}
template <class T>
T* made() {
  T* const one = new T;
  all_of<T>().insert(one);
  return one;
}
template <class T>
bool release(T* one) {
  if (--one->users > 0) return false;
  all_of<T>().erase(one);
  gone.push_back(one);
  return true;
}

int device_of(const void* id) {
  for (int k = 0; k < devices; ++k)
    if (id == &gpus[k]) return k;
  return -1;
}
void use(int device) { current_context = &sim().contexts[device]; }
bool is_readable(const void* p, size bytes) {
  return is_in_arena(p) ? is_device_memory(number(p), bytes) : p != nullptr;
}
int tell(const void* from, size bytes, size room, void* to, size* needed) {
  if (needed != nullptr) *needed = bytes;
  if (to == nullptr) return 0;
  if (room < bytes) return invalid;
  return std::memcpy(to, from, bytes), 0;
}
template <class T>
int tell(T value, size room, void* to, size* needed) {
  return tell(&value, sizeof(value), room, to, needed);
}
int tell(const std::string& words, size room, void* to, size* needed) {
  return tell(words.c_str(), words.size() + 1, room, to, needed);
}
void* given(int code, int* result, void* handle = nullptr) {
  if (result != nullptr) *result = code;
  return code == 0 ? handle : nullptr;
}
// Queued, with an event that is complete behind it where one is asked for.
int queued(sim_queue* queue, work todo, void** event) {
  if (event == nullptr) return told(enqueue(queue->in, std::move(todo)));
  auto* const e = made<sim_event>();
  const auto last = std::make_shared<mark>();
  last->in = queue->in;
  e->last = last;
  *event = e;
  return told(enqueue(queue->in, [=, own = std::move(todo)] {
    const int failed = own();
    last->in = nullptr;
    last->time = ++sim().clock;
    return failed;
  }));
}
// What a kernel of PTX takes: its entry's parameters as they are declared.
std::vector<parameter> parameters_of(const std::string& ptx, const std::string& name) {
  std::vector<parameter> found;
  const size entry = ptx.find(".entry " + name + "(");
  if (entry == ptx.npos) return found;
  const size end = ptx.find(")\n", entry);
  for (size at = entry; (at = ptx.find(".param ", at)) < end; ++at) {
    const std::string line = ptx.substr(at, ptx.find('\n', at) - at);
    found.push_back(
        {line.find(" .ptr .shared ") != line.npos, line.find(" .ptr .global ") != line.npos});
  }
  return found;
}
/// While it is alive, the only memory that a kernel reaches is what it may.
class only_these {
 public:
  explicit only_these(const std::set<u64>& reached) {
    for (const auto& [address, bytes] : sim().allocations)
      if (reached.count(address) == 0) shut_.emplace_back(address, (bytes + 4095) / 4096 * 4096);
    set(PROT_NONE);
  }
  ~only_these() { set(PROT_READ | PROT_WRITE); }
  only_these(const only_these&) = delete;
  only_these& operator=(const only_these&) = delete;

 private:
  void set(int protection) const {
    for (const auto& [address, bytes] : shut_) mprotect(pointer(address), bytes, protection);
  }
  std::vector<std::pair<u64, size>> shut_;
};

}  // namespace

#define CL_ENTER_ALWAYS()                                          \
  const delays around;                                             \
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);   \
  if (const int refused = enter(__func__, false); refused != ok) { \
    if (refused == launch_failed) sim().sticky = launch_failed;    \
    return told(refused);                                          \
  }
#define CL_ENTER()   \
  CL_ENTER_ALWAYS(); \
  if (sim().sticky != ok) return told(sim().sticky)
// Of what makes an object.
#define CL_MAKE()                                                \
  const delays around;                                           \
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex); \
  if (const int refused = enter(__func__, false); refused != ok) \
    return given(told(refused), result);                         \
  if (sim().sticky != ok) return given(told(sim().sticky), result)
// Of what is queued, in the order of the queue alone.
#define CL_QUEUE()                                \
  CL_ENTER();                                     \
  auto* const queue = as<sim_queue>(given_queue); \
  if (queue == nullptr) return no_queue;          \
  if (count != 0 || waits != nullptr) return invalid
