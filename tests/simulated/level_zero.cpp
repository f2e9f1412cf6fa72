// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Level Zero: handles instead of a current device, structures that begin with their type, lists for
// one thread at a time whose commands run in any order between barriers (here: backwards), events
// that are reset when nothing refers to them, kernels with one set of arguments, memory that may go
// while work uses it. Of two drivers the first has no GPU, of two groups of queues the first copies
// only.
#include "rules.hpp"

#include <flaggems/vendors/level_zero/driver.hpp>

namespace flaggems_simulated {

constexpr vendor_rules rules = {.what = "GPU",
                                .image_head = "flaggems simulated image of level_zero\n",
                                .late_launch = "zeCommandListAppendLaunchKernel later",
                                .default_shared = 64 * 1024,
                                .most_shared = 64 * 1024,
                                .most_blocks = 65535};

static int attribute_of_vendor(int, int&) { return 1; }

}  // namespace flaggems_simulated

#define FLAGGEMS_SIMULATED(name) driver##name
#include "driver.hpp"

namespace {

namespace ze = flaggems::detail::ze;

enum refusal : int {
  device_lost = 0x70000001,
  no_code = 0x70000004,
  invalid = 0x78000004,
  null_handle = 0x78000005,
  in_use = 0x78000006,
  bad_size = 0x78000008,
  bad_alignment = 0x7800000a,
  bad_event = 0x7800000b,
  no_kernel = 0x78000011,
  bad_group = 0x78000013,
  bad_index = 0x78000015,
  bad_argument = 0x78000016
};
int told(int code) {
  switch (code) {
    case ok: return 0;
    case invalid_value:
    case invalid_device: return invalid;
    case out_of_memory: return ze::out_of_device_memory;
    case not_initialized: return 0x78000001;
    case invalid_handle: return null_handle;
    case invalid_image: return no_code;
    case not_found: return no_kernel;
    case launch_failed: return device_lost;
    default: return code;  // a fault of its own
  }
}
u64 number(const void* p) { return reinterpret_cast<u64>(p); }

int drivers[2], gpus[devices], other_device, context_tag;
bool has_context = false;

struct sim_list {
  stream* in = nullptr;
  bool computes = false;
  std::vector<work> group;  // since the last barrier
  std::atomic<int> users{0};
};
struct sim_pool {
  unsigned count = 0;
  std::set<unsigned> used;
};
struct sim_event {
  std::shared_ptr<mark> last;  // appended, not reached
  sim_list* list = nullptr;
  bool is_signalled = false;
  std::shared_ptr<int> token = std::make_shared<int>(0);  // shared by the work that refers to it
};
struct sim_module {
  void* native = nullptr;
  int kernels = 0;
};
struct sim_kernel {
  sim_module* of = nullptr;
  function* code = nullptr;
  unsigned threads = 0, access = 0;
  bool is_set[5] = {};
  size local = 0;
  std::vector<unsigned char> values[5];
  std::atomic<int> users{0};
};
// No handle is freed, so that those that are gone are found out.
std::set<const void*> lists, pools, events_of_pools, modules, kernels, logs;

/// A handle that one thread may use at a time.
class alone {
 public:
  explicit alone(std::atomic<int>& users) : users_(users), is_(users.fetch_add(1) == 0) {}
  ~alone() { users_.fetch_sub(1); }
  alone(const alone&) = delete;
  alone& operator=(const alone&) = delete;
  [[nodiscard]] bool is() const { return is_; }

 private:
  std::atomic<int>& users_;
  bool is_;
};

int index_of(const void* device) {
  for (int k = 0; k < devices; ++k)
    if (device == &gpus[k]) return k;
  return -1;
}
bool is_readable(const void* p, size bytes) {
  return is_in_arena(p) ? is_device_memory(number(p), bytes) : p != nullptr;
}
void flush(sim_list& l) {
  if (l.group.empty()) return;
  enqueue(l.in, [group = std::move(l.group)]() mutable {
    int failed = ok;
    for (auto one = group.rbegin(); failed == ok && one != group.rend(); ++one) failed = (*one)();
    return failed;
  });
  l.group.clear();
}
int append(sim_list& l, work todo, sim_event* signals, unsigned waits) {
  if (waits != 0) return invalid;  // none of ours does
  if (signals == nullptr) return l.group.push_back(std::move(todo)), 0;
  if (signals->is_signalled || signals->last != nullptr) return bad_event;
  const auto made = std::make_shared<mark>();
  made->in = l.in;
  signals->last = made;
  signals->list = &l;
  l.group.push_back([=, token = signals->token] {
    if (const int failed = todo(); failed != ok) return failed;
    made->in = nullptr;
    signals->is_signalled = true;
    signals->last = nullptr;
    return int{ok};
  });
  return 0;
}
void use(int device) { current_context = &sim().contexts[device]; }

}  // namespace

#define ZE_ENTER_ALWAYS()                                        \
  const delays around;                                           \
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex); \
  if (const int refused = enter(__func__, false); refused != ok) return told(refused)
#define ZE_ENTER()   \
  ZE_ENTER_ALWAYS(); \
  if (sim().sticky != ok) return told(sim().sticky)
// Of a list or a kernel.
#define ZE_ENTER_ALONE(all, Type, handle)                           \
  auto* const own = static_cast<Type*>(handle);                     \
  if (own == nullptr) return null_handle;                           \
  const alone turn(own->users);                                     \
  ZE_ENTER();                                                       \
  if (all.count(own) == 0) return null_handle;                      \
  if (!turn.is()) {                                                 \
    std::fprintf(stderr, "%s: by two threads at once\n", __func__); \
    return invalid;                                                 \
  }

extern "C" {

int zeInit(unsigned flags) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  return flags > 3 ? int{invalid} : told(driverInit(0));
}
int zeDriverGet(unsigned* count, void** found) {
  ZE_ENTER_ALWAYS();
  for (unsigned k = 0; k < 2 && k < *count; ++k) found[k] = &drivers[k];
  *count = 2;
  return 0;
}
int zeDeviceGet(void* driver, unsigned* count, void** found) {
  ZE_ENTER_ALWAYS();
  if (driver != &drivers[0] && driver != &drivers[1]) return null_handle;
  const unsigned there = driver == &drivers[0] ? 1 : devices;
  for (unsigned k = 0; k < there && k < *count; ++k)
    found[k] = driver == &drivers[0] ? &other_device : &gpus[k];
  *count = there;
  return 0;
}
int zeDeviceGetProperties(void* device, ze::device_properties* p) {
  ZE_ENTER_ALWAYS();
  if (device != &other_device && index_of(device) < 0) return null_handle;
  if (p->type != 3) return invalid;
  p->kind = device == &other_device ? 5 : 1;  // a VPU
  p->clock_mhz = 1500;
  p->most_bytes = u64{4} << 30;
  p->subslices = 1;
  p->slices = 2;
  p->tick_ns = 80;
  p->clock_bits = 32;
  std::snprintf(p->name, sizeof(p->name), "simulated %s %d", rules.what, index_of(device));
  return 0;
}
int zeDeviceGetComputeProperties(void* device, ze::compute_properties* p) {
  ZE_ENTER_ALWAYS();
  if (index_of(device) < 0) return null_handle;
  if (p->type != 4) return invalid;
  p->group_size = rules.most_threads;
  for (unsigned& n : p->group_sizes) n = rules.most_threads;
  for (unsigned& n : p->group_counts) n = static_cast<unsigned>(rules.most_blocks);
  p->local_memory = static_cast<unsigned>(rules.most_shared);
  return 0;
}
int zeDeviceGetCommandQueueGroupProperties(void* device, unsigned* count, ze::queue_group* groups) {
  ZE_ENTER_ALWAYS();
  if (index_of(device) < 0) return null_handle;
  for (unsigned k = 0; k < 2 && k < *count; ++k) {
    if (groups[k].type != 6) return invalid;
    groups[k].flags = k == 0 ? 2 : 3;
    groups[k].pattern_bytes = 16;
    groups[k].queues = 1;
  }
  *count = 2;
  return 0;
}
int zeDeviceGetMemoryProperties(void* device, unsigned* count, ze::memory_properties* p) {
  ZE_ENTER_ALWAYS();
  if (index_of(device) < 0) return null_handle;
  if (*count > 0 && p->type != 7) return invalid;
  if (*count > 0) p->bytes = sim().capacity;
  *count = 1;
  return 0;
}
int zeContextCreate(void* driver, const ze::context_of* what, void** context) {
  ZE_ENTER_ALWAYS();
  if (driver != &drivers[1] || what->type != 0xd || what->flags != 0) return invalid;
  has_context = true;
  *context = &context_tag;
  return 0;
}

int zeMemAllocDevice(void* context, const ze::device_memory_of* what, size bytes, size alignment,
                     void* device, void** data) {
  ZE_ENTER();
  if (!has_context || context != &context_tag || index_of(device) < 0) return null_handle;
  if (what->type != 0x15 || bytes == 0) return invalid;
  if (bytes > (size{4} << 30)) return ze::unsupported_size;
  if (alignment > 4096 || (alignment & (alignment - 1)) != 0) return bad_alignment;
  use(index_of(device));
  return told(driverMemAlloc_v2(reinterpret_cast<u64*>(data), bytes));
}
int zeMemAllocHost(void* context, const ze::host_memory_of* what, size bytes, size alignment,
                   void** data) {
  ZE_ENTER();
  if (!has_context || context != &context_tag) return null_handle;
  if (what->type != 0x16 || bytes == 0) return invalid;
  if (alignment > 4096 || (alignment & (alignment - 1)) != 0) return bad_alignment;
  use(0);
  const int result = driverMemHostAlloc(data, bytes, 1);
  return result == out_of_memory ? int{ze::out_of_host_memory} : told(result);
}
int zeMemFree(void* context, void* data) {
  ZE_ENTER_ALWAYS();
  if (context != &context_tag) return null_handle;
  use(0);
  if (!is_in_arena(data)) return told(driverMemFreeHost(data));
  return told(free_at_once(number(data)));
}

int zeCommandListCreateImmediate(void* context, void* device, const ze::queue_of* what,
                                 void** list) {
  ZE_ENTER();
  if (context != &context_tag || index_of(device) < 0) return null_handle;
  if (what->type != 0xe || what->ordinal > 1 || what->index > 0 || what->flags > 1 ||
      what->mode != 2 || what->priority < 0 || what->priority > 2)
    return invalid;
  use(index_of(device));
  void* in = nullptr;
  if (const int result = driverStreamCreateWithPriority(&in, 1, 0); result != ok)
    return told(result);
  auto* const made = new sim_list;
  made->in = static_cast<stream*>(in);
  made->computes = what->ordinal == 1;
  lists.insert(made);
  *list = made;
  return 0;
}
int zeCommandListDestroy(void* list) {
  ZE_ENTER_ALWAYS();
  auto* const own = static_cast<sim_list*>(list);
  if (lists.count(own) == 0) return null_handle;
  if (sim().sticky == ok && (!own->group.empty() || !own->in->queue.empty())) {
    std::fprintf(stderr, "%s: with work\n", __func__);
    return in_use;
  }
  lists.erase(own);
  own->group.clear();
  use(own->in->device);
  return told(driverStreamDestroy_v2(own->in));
}
int zeCommandListAppendMemoryCopy(void* list, void* to, const void* from, size bytes, void* signals,
                                  unsigned count, void**) {
  ZE_ENTER_ALONE(lists, sim_list, list);
  if (to == nullptr || from == nullptr || bytes == 0) return invalid;
  if (!is_readable(to, bytes) || !is_readable(from, bytes)) return invalid;
  // What is read and written is so when the copy runs, also memory of the host.
  return append(
      *own,
      [=] {
        if (!is_readable(to, bytes) || !is_readable(from, bytes)) return int{launch_failed};
        return std::memmove(to, from, bytes), int{ok};
      },
      static_cast<sim_event*>(signals), count);
}
int zeCommandListAppendMemoryFill(void* list, void* to, const void* pattern, size pattern_bytes,
                                  size bytes, void* signals, unsigned count, void**) {
  ZE_ENTER_ALONE(lists, sim_list, list);
  if (pattern_bytes != 1 || bytes == 0) return bad_size;  // all that ours asks for
  if (!is_device_memory(number(to), bytes)) return invalid;
  const auto* const byte = static_cast<const unsigned char*>(pattern);
  return append(
      *own,
      [=] {
        if (!is_device_memory(number(to), bytes)) return int{launch_failed};
        return std::memset(to, *byte, bytes), int{ok};
      },
      static_cast<sim_event*>(signals), count);
}
int zeCommandListAppendBarrier(void* list, void* signals, unsigned count, void** waits) {
  ZE_ENTER_ALONE(lists, sim_list, list);
  if (signals != nullptr || (count > 0 && waits == nullptr)) return invalid;
  flush(*own);
  for (unsigned k = 0; k < count; ++k) {
    auto* const e = static_cast<sim_event*>(waits[k]);
    if (events_of_pools.count(e) == 0) return bad_event;
    if (e->is_signalled) continue;
    if (e->last == nullptr) return bad_event;  // it would wait for ever
    flush(*e->list);
    if (e->last->in != own->in)
      enqueue(own->in, [last = e->last, token = e->token] { return run_up_to(*last), int{ok}; });
  }
  return 0;
}
int zeCommandListAppendWriteGlobalTimestamp(void* list, u64* to, void* signals, unsigned count,
                                            void**) {
  ZE_ENTER_ALONE(lists, sim_list, list);
  if (number(to) % 8 != 0 || !is_pinned(to, 8)) return invalid;
  if (signals != nullptr && events_of_pools.count(signals) == 0) return bad_event;
  return append(
      *own,
      [=] {  // soon at its end, and again at 0
        *to = (0xfffffff0U + ++sim().clock) & 0xffffffffU;
        return int{ok};
      },
      static_cast<sim_event*>(signals), count);
}

int zeEventPoolCreate(void* context, const ze::event_pool_of* what, unsigned count, void** given,
                      void** pool) {
  ZE_ENTER();
  if (context != &context_tag) return null_handle;
  if (what->type != 0x10 || what->flags > 7 || what->count == 0) return invalid;
  if (count != 0 || given != nullptr) return bad_size;  // for all devices
  auto* const made = new sim_pool;
  made->count = what->count;
  pools.insert(made);
  *pool = made;
  return 0;
}
int zeEventCreate(void* pool, const ze::event_of* what, void** event) {
  ZE_ENTER();
  auto* const of = static_cast<sim_pool*>(pool);
  if (pools.count(of) == 0) return null_handle;
  if (what->type != 0x11 || what->index >= of->count || !of->used.insert(what->index).second)
    return invalid;
  if ((what->signal & 4) == 0) return invalid;  // the host could not wait for it
  auto* const made = new sim_event;
  events_of_pools.insert(made);
  *event = made;
  return 0;
}
int zeEventHostReset(void* event) {
  ZE_ENTER();
  auto* const e = static_cast<sim_event*>(event);
  if (events_of_pools.count(e) == 0) return null_handle;
  if (e->token.use_count() > 1) {
    std::fprintf(stderr, "%s: a list refers to it\n", __func__);
    return in_use;
  }
  e->is_signalled = false;
  e->last = nullptr;
  return 0;
}
int zeEventHostSynchronize(void* event, u64 timeout) {
  ZE_ENTER();
  auto* const e = static_cast<sim_event*>(event);
  if (events_of_pools.count(e) == 0) return null_handle;
  if (e->is_signalled) return 0;
  if (e->last == nullptr || timeout != ~u64{0}) return bad_event;
  flush(*e->list);
  const std::shared_ptr<mark> last = e->last;
  run_up_to(*last);
  return sim().sticky != ok ? told(sim().sticky) : e->is_signalled ? 0 : int{bad_event};
}
int zeEventQueryStatus(void* event) {
  ZE_ENTER();
  auto* const e = static_cast<sim_event*>(event);
  if (events_of_pools.count(e) == 0) return null_handle;
  if (e->is_signalled) return 0;
  if (e->last == nullptr) return ze::not_ready;
  flush(*e->list);
  stream* const in = e->last->in;
  if (!in->queue.empty()) run_first(*in);  // time passes
  return sim().sticky != ok ? told(sim().sticky) : int{ze::not_ready};
}

int zeModuleCreate(void* context, void* device, const ze::module_of* what, void** module,
                   void** log) {
  ZE_ENTER();
  if (context != &context_tag || index_of(device) < 0) return null_handle;
  if (what->type != 0x1b || what->format != 0 || what->data == nullptr) return invalid;
  if (what->bytes == 0) return bad_size;
  if (log != nullptr) logs.insert(*log = new char);
  use(index_of(device));
  const std::string image(reinterpret_cast<const char*>(what->data), what->bytes);
  void* native = nullptr;
  if (const int result = driverModuleLoadData(&native, image.c_str()); result != ok)
    return told(result);
  auto* const made = new sim_module;
  made->native = native;
  ::modules.insert(made);
  *module = made;
  return 0;
}
int zeModuleDestroy(void* module) {
  ZE_ENTER_ALWAYS();
  auto* const own = static_cast<sim_module*>(module);
  if (::modules.count(own) == 0) return null_handle;
  if (own->kernels > 0) return in_use;
  ::modules.erase(own);
  use(0);
  return told(driverModuleUnload(own->native));
}
int zeModuleBuildLogGetString(void* log, size* bytes, char* text) {
  ZE_ENTER_ALWAYS();
  if (logs.count(log) == 0) return null_handle;
  std::snprintf(text, *bytes, "simulated: no code of its compiler's");
  return 0;
}
int zeModuleBuildLogDestroy(void* log) {
  ZE_ENTER_ALWAYS();
  return logs.erase(log) == 1 ? 0 : int{null_handle};
}
int zeKernelCreate(void* module, const ze::kernel_of* what, void** kernel) {
  ZE_ENTER();
  auto* const of = static_cast<sim_module*>(module);
  if (::modules.count(of) == 0) return null_handle;
  if (what->type != 0x1d || what->flags != 0) return invalid;
  use(0);
  void* code = nullptr;
  if (const int result = driverModuleGetFunction(&code, of->native, what->name); result != ok)
    return told(result);
  auto* const made = new sim_kernel;
  made->of = of;
  made->code = static_cast<function*>(code);
  ++of->kernels;
  kernels.insert(made);
  *kernel = made;
  return 0;
}
int zeKernelDestroy(void* kernel) {
  ZE_ENTER_ALWAYS();
  auto* const own = static_cast<sim_kernel*>(kernel);
  if (kernels.erase(own) == 0) return null_handle;
  --own->of->kernels;
  return 0;
}
int zeKernelGetProperties(void* kernel, ze::kernel_properties* p) {
  ZE_ENTER_ALONE(kernels, sim_kernel, kernel);
  if (p->type != 0x1e) return invalid;
  int most = static_cast<int>(rules.most_threads);
  takes_fault("a function's threads", most);
  p->arguments = 5;
  p->subgroup = 16;
  p->subgroups = static_cast<unsigned>(most) / 16;
  return 0;
}
int zeKernelSetGroupSize(void* kernel, unsigned x, unsigned y, unsigned z) {
  ZE_ENTER_ALONE(kernels, sim_kernel, kernel);
  if (x == 0 || x > rules.most_threads || y != 1 || z != 1) return bad_group;
  own->threads = x;
  return 0;
}
int zeKernelSetArgumentValue(void* kernel, unsigned index, size bytes, const void* value) {
  ZE_ENTER_ALONE(kernels, sim_kernel, kernel);
  if (index > 4) return bad_index;
  const size pack = (size(own->code->entry(-1, 0, 0, 0, nullptr)) + 7) / 8 * 8;
  const size expected = index == 0 && pack <= 960 ? pack : 8;  // its words, or their address
  if (index == 1 ? value != nullptr || bytes == 0 || bytes > rules.most_shared
                 : bytes != expected || (value == nullptr && index != 2))
    return bad_argument;
  own->is_set[index] = true;
  if (index == 1) own->local = bytes;
  const auto* const first = static_cast<const unsigned char*>(value);
  if (value != nullptr) own->values[index].assign(first, first + bytes);
  return 0;
}
int zeKernelSetIndirectAccess(void* kernel, unsigned flags) {
  ZE_ENTER_ALONE(kernels, sim_kernel, kernel);
  if (flags > 7) return invalid;
  own->access = flags;
  return 0;
}
int zeCommandListAppendLaunchKernel(void* list, void* kernel, const ze::group_count* groups,
                                    void* signals, unsigned count, void**) {
  ZE_ENTER_ALONE(lists, sim_list, list);
  auto* const k = static_cast<sim_kernel*>(kernel);
  if (kernels.count(k) == 0) return null_handle;
  for (const bool is_set : k->is_set)
    if (!is_set) return invalid;
  if (!own->computes || k->threads == 0 || (k->access & 3) != 3) return invalid;
  if (groups->x == 0 || groups->x > rules.most_blocks || groups->y != 1 || groups->z != 1)
    return bad_group;
  int later = ok;
  takes_fault(rules.late_launch, later);
  u64 workspace = 0;
  long slice = 0;
  std::memcpy(&workspace, k->values[3].data(), 8);
  std::memcpy(&slice, k->values[4].data(), 8);
  if (slice > 0 && !is_device_memory(workspace, static_cast<size>(slice) * groups->x))
    return invalid;
  const long fixed = exchange_bytes + 16 * static_cast<long>(k->threads);
  const long scratch = slice > 0 ? slice : static_cast<long>(k->local) - fixed;
  if (static_cast<long>(k->local) < fixed) return invalid;
  const size pack = size(k->code->entry(-1, 0, 0, 0, nullptr));
  const unsigned blocks = groups->x, threads = k->threads;
  const flaggems_sim_entry entry = k->code->entry;
  return append(
      *own,
      [=, copied = k->values[0]]() mutable {
        if (later != ok) return later;
        void* words = copied.data();
        if (copied.size() < pack) {
          std::memcpy(&words, copied.data(), 8);
          if (!is_pinned(words, pack)) return int{launch_failed};
        }
        void* arguments[] = {words};
        return entry(static_cast<long>(blocks), 1, static_cast<int>(threads), scratch, arguments);
      },
      static_cast<sim_event*>(signals), count);
}

}  // extern "C"
