// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver without a GPU, a shared library with the real one's symbols: device memory is host
// memory that only this library can touch, work is queued and runs as late as the rules allow, and
// kernels run on the SIMT emulator through functions that the test program registers. It refuses
// what the real driver refuses as far as the library asks it: handles that are none, memory that
// is not the device's, limits of a launch, calls that a capture forbids, calls without a context.
#include "machine.hpp"

using namespace flaggems_simulated;

extern "C" {

// ---- what tests say

void flaggems_sim_register(const char* types, flaggems_sim_entry entry) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  sim().entries[types] = entry;
}
void flaggems_sim_fail(const char* name, int nth, int result) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  sim().sticky = ok;
  if (nth <= 0)
    sim().faults.clear();
  else
    sim().faults[name] = {nth, result};
}
void flaggems_sim_capacity(long bytes) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  sim().capacity = static_cast<size>(bytes);
}
void flaggems_sim_shut(bool shut) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  memory_access::protect(shut ? PROT_NONE : PROT_READ | PROT_WRITE);
}
long flaggems_sim_live(const char* what) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  const std::string asked = what;
  const machine& m = sim();
  long bytes = 0;
  for (const auto& [address, n] : m.allocations) bytes += static_cast<long>(n);
  return asked == "bytes"         ? bytes
         : asked == "allocations" ? static_cast<long>(m.allocations.size())
         : asked == "pinned"      ? static_cast<long>(m.pinned.size())
         : asked == "streams"     ? static_cast<long>(m.streams.size())
         : asked == "events"      ? static_cast<long>(m.events.size())
         : asked == "modules"     ? static_cast<long>(m.modules.size())
         : asked == "graphs"      ? static_cast<long>(m.graphs.size())
         : asked == "objects"     ? user_object::count
                                  : -1;
}
int flaggems_sim_finish() {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  for (stream* s : sim().streams) drain(*s);
  for (stream& s : sim().default_streams) drain(s);
  return sim().sticky;
}
long flaggems_sim_calls(const char* name) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  return sim().calls[name];
}

// ---- the driver

int cuInit(unsigned flags) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (flags != 0) return invalid_value;
  machine& m = sim();
  if (m.process == 0) {
    void* const p = mmap(nullptr, arena_bytes + huge_page, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return out_of_memory;
    m.arena = static_cast<unsigned char*>(p) + huge_page - reinterpret_cast<u64>(p) % huge_page;
    madvise(m.arena, arena_bytes, MADV_HUGEPAGE);  // where the system has any
    m.process = getpid();
    for (int k = 0; k < devices; ++k) m.default_streams[k].device = k;
  }
  return enter(__func__, false);
}
int cuDriverGetVersion(int* version) {
  ENTER_ALWAYS(false);
  return *version = 13000, ok;
}
int cuGetErrorName(int code, const char** text) {
  *text = name_of(code);
  return *text != nullptr ? ok : invalid_value;
}
int cuGetErrorString(int code, const char** text) {
  if (cuGetErrorName(code, text) != ok) return invalid_value;
  *text = "simulated";
  return ok;
}
int cuDeviceGetCount(int* count) {
  ENTER_ALWAYS(false);
  *count = devices;
  return ok;
}
int cuDeviceGet(int* device, int ordinal) {
  ENTER_ALWAYS(false);
  if (ordinal < 0 || ordinal >= devices) return invalid_device;
  *device = ordinal;
  return ok;
}
int cuDeviceGetName(char* text, int bytes, int device) {
  ENTER_ALWAYS(false);
  std::snprintf(text, static_cast<size>(bytes), "simulated GPU %d", device);
  return ok;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER_ALWAYS(false);
  if (device < 0 || device >= devices) return invalid_device;
  switch (attribute) {
    case 1: return *value = 1024, ok;
    case 10: return *value = 32, ok;
    case 13: return *value = 1980000, ok;
    case 16: return *value = 2, ok;
    case 36: return *value = 3201000, ok;
    case 37: return *value = 6144, ok;
    case 38: return *value = 1 << 20, ok;
    case 75: return *value = 9, ok;
    case 76: return *value = 0, ok;
    case 120:
    case 127: return *value = 1, ok;
    case 97: return *value = static_cast<int>(most_shared), ok;
    default: return invalid_value;
  }
}
int cuDeviceTotalMem_v2(size* bytes, int device) {
  ENTER_ALWAYS(false);
  if (device < 0 || device >= devices) return invalid_device;
  *bytes = sim().capacity;
  return ok;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  ENTER_ALWAYS(false);
  if (device < 0 || device >= devices) return invalid_device;
  *context = &sim().contexts[device];
  return ok;
}
int cuCtxSetCurrent(void* context) {
  ENTER_ALWAYS(false);
  if (context != nullptr && context != &sim().contexts[0] && context != &sim().contexts[1])
    return invalid_context;
  current_context = static_cast<int*>(context);
  return ok;
}
int cuCtxGetCurrent(void** context) {
  ENTER_ALWAYS(false);
  *context = current_context;
  return ok;
}
int cuCtxGetDevice(int* device) {
  ENTER_ALWAYS();
  *device = *current_context;
  return ok;
}
int cuMemGetInfo_v2(size* unused, size* total) {
  ENTER();
  *total = sim().capacity;
  *unused = *total - std::min(*total, bytes_on(current_device()));
  return ok;
}

int cuMemAlloc_v2(u64* address, size bytes) {
  ENTER();
  if (is_unsafe()) return capture_unsupported;
  if (bytes == 0) return invalid_value;
  // Never the same addresses again: what touches memory that was given back is found out.
  const size room = (bytes + 4095) / 4096 * 4096 + 4096;
  machine& m = sim();
  if (bytes_on(current_device()) + bytes > m.capacity || m.unused_from + room > arena_bytes)
    return out_of_memory;
  unsigned char* const p = m.arena + m.unused_from;
  m.unused_from += room;
  {
    const memory_access memory;
    mprotect(p, room, PROT_READ | PROT_WRITE);
    if (bytes <= (size{1} << 26)) std::memset(p, 0xCD, bytes);
  }
  *address = reinterpret_cast<u64>(p);
  m.allocations[*address] = bytes;
  m.device_of[*address] = current_device();
  return ok;
}
int cuMemFree_v2(u64 address) {
  ENTER_ALWAYS();
  machine& m = sim();
  const auto found = m.allocations.find(address);
  if (found == m.allocations.end()) return invalid_value;
  if (is_unsafe()) return capture_unsupported;
  for (stream* s : m.streams) drain(*s);  // as the real one: it waits for the device
  for (stream& s : m.default_streams) drain(s);
  madvise(reinterpret_cast<void*>(address), (found->second + 4095) / 4096 * 4096, MADV_DONTNEED);
  m.allocations.erase(found);
  return m.sticky;
}
int cuMemHostAlloc(void** address, size bytes, unsigned flags) {
  ENTER();
  if (is_unsafe()) return capture_unsupported;
  if (bytes == 0 || flags != 1) return invalid_value;
  if (bytes > (size{8} << 30)) return out_of_memory;
  *address = ::operator new(bytes);
  sim().pinned[*address] = bytes;
  return ok;
}
int cuMemFreeHost(void* address) {
  ENTER_ALWAYS();
  if (is_unsafe()) return capture_unsupported;
  if (sim().pinned.erase(address) == 0) return invalid_value;
  ::operator delete(address);
  return ok;
}

int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size bytes, void* handle) {
  ENTER();
  if (!is_device_memory(to, bytes) || is_in_arena(from)) return invalid_value;
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (is_pinned(from, bytes) || s->captured != nullptr)  // read when it is its turn
    return enqueue(s, [=] { return std::memcpy(reinterpret_cast<void*>(to), from, bytes), ok; });
  const auto* first = static_cast<const unsigned char*>(from);
  return enqueue(s, [=, staged = std::vector<unsigned char>(first, first + bytes)] {
    return std::memcpy(reinterpret_cast<void*>(to), staged.data(), bytes), ok;
  });
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size bytes, void* handle) {
  ENTER();
  if (!is_device_memory(from, bytes) || is_in_arena(to)) return invalid_value;
  stream* const s = stream_of(handle);
  const auto copy = [=] { return std::memcpy(to, reinterpret_cast<void*>(from), bytes), ok; };
  if (s == nullptr) return invalid_handle;
  if (const int refused = enqueue(s, copy);
      refused != ok || is_pinned(to, bytes) || s->captured != nullptr)
    return refused;
  return drain(*s);  // pageable memory is copied when the call returns
}
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size bytes, void* handle) {
  ENTER();
  if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) return invalid_value;
  return enqueue(stream_of(handle), [=] {
    return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), ok;
  });
}
int cuMemcpyPeerAsync(u64 to, void* to_context, u64 from, void* from_context, size bytes,
                      void* handle) {
  ENTER();
  if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) return invalid_value;
  const auto is_in = [](u64 address, const void* context) {
    return &sim().contexts[std::prev(sim().device_of.upper_bound(address))->second] == context;
  };
  if (!is_in(to, to_context) || !is_in(from, from_context)) return invalid_context;
  return enqueue(stream_of(handle), [=] {
    return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), ok;
  });
}
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  ENTER(false);
  if (device < 0 || device >= devices || peer < 0 || peer >= devices) return invalid_device;
  *can = device != peer;
  return ok;
}
int cuCtxEnablePeerAccess(void* context, unsigned flags) {
  ENTER();
  if (flags != 0 || (context != &sim().contexts[0] && context != &sim().contexts[1]))
    return invalid_context;
  bool& reaches = sim().can_reach[current_device()][*static_cast<int*>(context)];
  if (reaches) return peer_already_enabled;
  reaches = true;
  return ok;
}
int cuMemsetD8Async(u64 to, unsigned char byte, size count, void* handle) {
  ENTER();
  if (!is_device_memory(to, count)) return invalid_value;
  return enqueue(stream_of(handle),
                 [=] { return std::memset(reinterpret_cast<void*>(to), byte, count), ok; });
}

int cuStreamCreateWithPriority(void** handle, unsigned flags, int) {
  ENTER();
  if (flags > 1) return invalid_value;
  auto* const s = new stream;
  s->device = current_device();
  s->is_blocking = flags == 0;
  sim().streams.insert(s);
  *handle = s;
  return ok;
}
int cuStreamDestroy_v2(void* handle) {
  ENTER_ALWAYS();
  stream* const s = stream_of(handle);
  if (s == nullptr || handle == nullptr) return invalid_handle;
  if (s->captured != nullptr) s->captured->is_broken = true;
  drain(*s);
  sim().streams.erase(s);
  sim().ended_streams.emplace_back(s);
  return ok;
}
int cuStreamSynchronize(void* handle) {
  ENTER();
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (const int refused = refuse_captured(*s); refused != ok) return refused;
  if (is_unsafe()) return capture_unsupported;
  return drain(*s);
}
int cuStreamQuery(void* handle) {
  ENTER();
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (const int refused = refuse_captured(*s); refused != ok) return refused;
  if (is_unsafe()) return capture_unsupported;
  if (s->queue.empty()) return ok;
  run_first(*s);  // time passes
  return sim().sticky != ok ? sim().sticky : int{not_ready};
}

int cuEventCreate(void** handle, unsigned flags) {
  ENTER();
  if (flags > 7) return invalid_value;
  auto* const e = new event;
  sim().events.insert(e);
  *handle = e;
  return ok;
}
int cuEventDestroy_v2(void* handle) {
  ENTER_ALWAYS();
  auto* const e = static_cast<event*>(handle);
  if (sim().events.erase(e) == 0) return invalid_handle;
  sim().ended_events.emplace_back(e);
  return ok;
}
int cuEventRecord(void* handle, void* stream_handle) {
  ENTER();
  auto* const e = static_cast<event*>(handle);
  stream* const s = stream_of(stream_handle);
  if (sim().events.count(e) == 0 || s == nullptr) return invalid_handle;
  const auto made = std::make_shared<mark>();
  made->in = s;
  e->last = made;
  if (s->captured != nullptr) {
    if (s->captured->is_broken) return capture_invalidated;
    made->captured = s->captured;
    made->was_captured = true;
    made->captured_work = s->captured_work;
    return ok;
  }
  return enqueue(s, [=] {
    made->in = nullptr;
    made->time = ++sim().clock;
    return ok;
  });
}
int cuStreamWaitEvent(void* stream_handle, void* handle, unsigned flags) {
  ENTER();
  auto* const e = static_cast<event*>(handle);
  stream* const s = stream_of(stream_handle);
  if (sim().events.count(e) == 0 || s == nullptr) return invalid_handle;
  if (flags != 0) return invalid_value;
  if (e->last != nullptr && e->last->was_captured) {
    const std::shared_ptr<capture> c = e->last->captured.lock();
    if (c == nullptr || (s->captured != nullptr && s->captured != c)) return capture_isolation;
    if (s->captured == nullptr) {  // it joins the capture
      s->captured = c;
      s->captured_work = s->joined_work = 0;
    }
    e->last->in->joined_work = std::max(e->last->in->joined_work, e->last->captured_work);
    return ok;
  }
  if (s->captured != nullptr && e->last != nullptr)
    return s->captured->is_broken = true, capture_isolation;
  if (e->is_done() || e->last->in == s) return ok;
  // The mark as it is now: what stands in the other stream up to it runs first.
  return enqueue(s, [waited_for = e->last] { return run_up_to(*waited_for), ok; });
}
int cuEventSynchronize(void* handle) {
  ENTER();
  auto* const e = static_cast<event*>(handle);
  if (sim().events.count(e) == 0) return invalid_handle;
  if (e->last != nullptr && e->last->was_captured) return captured_event;
  if (is_unsafe()) return capture_unsupported;
  if (!e->is_done()) run_up_to(*e->last);
  return sim().sticky;
}
int cuEventQuery(void* handle) {
  ENTER();
  auto* const e = static_cast<event*>(handle);
  if (sim().events.count(e) == 0) return invalid_handle;
  if (e->last != nullptr && e->last->was_captured) return captured_event;
  if (is_unsafe()) return capture_unsupported;
  if (e->is_done()) return ok;
  run_first(*e->last->in);  // time passes
  return sim().sticky != ok ? sim().sticky : int{not_ready};
}
int cuEventElapsedTime(float* ms, void* from, void* to) {
  ENTER();
  auto* const a = static_cast<event*>(from);
  auto* const b = static_cast<event*>(to);
  if (sim().events.count(a) == 0 || sim().events.count(b) == 0 || a->last == nullptr ||
      b->last == nullptr)
    return invalid_handle;
  if (!a->is_done() || !b->is_done()) return not_ready;
  *ms =
      static_cast<float>(static_cast<double>(b->last->time) - static_cast<double>(a->last->time)) *
      1e-3F;
  return ok;
}

int cuModuleLoadData(void** handle, const void* image) {
  ENTER();
  if (is_unsafe()) return capture_unsupported;
  const std::string text = static_cast<const char*>(image);
  const std::string head = "flaggems simulated image\n";
  if (text.rfind(head, 0) != 0) return invalid_image;
  auto* const m = new module{text.substr(head.size()), nullptr};
  sim().modules.insert(m);
  *handle = m;
  return ok;
}
int cuModuleUnload(void* handle) {
  ENTER_ALWAYS();
  auto* const m = static_cast<module*>(handle);
  if (sim().modules.erase(m) == 0) return invalid_handle;
  delete m;
  return ok;
}
int cuModuleGetFunction(void** handle, void* module_handle, const char* name) {
  ENTER();
  auto* const m = static_cast<module*>(module_handle);
  if (sim().modules.count(m) == 0) return invalid_handle;
  if (std::strcmp(name, "flaggems_entry") != 0) return not_found;
  const auto entry = sim().entries.find(m->types);
  if (entry == sim().entries.end()) {
    std::fprintf(stderr, "simulated driver: nobody registered %s\n", m->types.c_str());
    return not_found;
  }
  m->entry = std::make_unique<function>(function{entry->second});
  *handle = m->entry.get();
  return ok;
}
int cuFuncGetAttribute(int* value, int attribute, void*) {
  ENTER();
  if (attribute != 0 && attribute != 5) return invalid_value;
  *value = 1024;
  if (attribute == 0) takes_fault("a function's threads", *value);
  if (attribute == 5 && !takes_fault("a function's target", *value)) *value = 90;
  return ok;
}
int cuFuncSetAttribute(void* handle, int attribute, int value) {
  ENTER();
  if (attribute != 8 || value < 0 || static_cast<size>(value) > most_shared) return invalid_value;
  static_cast<function*>(handle)->shared = static_cast<size>(value);
  return ok;
}
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
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* handle, int threads,
                                                size shared) {
  ENTER();
  if (handle == nullptr) return invalid_handle;
  if (threads <= 0 || threads > 1024 || shared > static_cast<function*>(handle)->shared)
    return invalid_value;
  // By threads and shared memory; the emulator has no registers.
  *blocks = std::min(2048 / threads, static_cast<int>((most_shared + 1024) / (shared + 1024)));
  return ok;
}
int cuLaunchKernelEx(const launch_config* how, void* handle, void** arguments, void** extra) {
  ENTER();
  auto* const f = static_cast<function*>(handle);
  if (f == nullptr) return invalid_handle;
  if (how == nullptr) return invalid_value;
  const unsigned grid_x = how->grid[0], block_x = how->block[0], shared = how->shared;
  const auto is_line = [](const unsigned(&sizes)[3], unsigned most) {
    return sizes[0] > 0 && sizes[0] <= most && sizes[1] == 1 && sizes[2] == 1;
  };
  if (!is_line(how->grid, 0x7fffffff) || !is_line(how->block, 1024) || shared > f->shared ||
      arguments == nullptr || extra != nullptr)
    return invalid_value;
  unsigned cluster = 1;
  for (unsigned k = 0; k < how->attribute_count; ++k) {
    const auto& [id, unused, value] = how->attributes[k];
    if (id == 4 && value[0] > 0 && value[0] <= 8 && grid_x % static_cast<unsigned>(value[0]) == 0 &&
        value[1] == 1 && value[2] == 1)
      cluster = static_cast<unsigned>(value[0]);
    else if (id != 6 || value[0] != 1)  // its work is in order
      return invalid_value;
  }
  stream* const s = stream_of(how->stream);
  if (s != nullptr && s->device != current_device()) return invalid_handle;
  if (cluster > 1) ++sim().calls["launches of clusters"];
  int later = ok;
  takes_fault("cuLaunchKernelEx later", later);
  // The arguments of kernel/block/simt/entry.hpp, copied now: the pack, the workspace, a block's
  // slice of it.
  const size pack_bytes = size(f->entry(-1, 0, 0, 0, nullptr));
  const auto* pack = static_cast<const unsigned char*>(arguments[0]);
  const u64 workspace = *static_cast<const u64*>(arguments[1]);
  const long slice = *static_cast<const long*>(arguments[2]);
  if (slice > 0 && !is_device_memory(workspace, static_cast<size>(slice) * grid_x))
    return invalid_value;
  const long scratch =
      slice > 0 ? slice
                : static_cast<long>(shared) - exchange_bytes - (cluster > 1 ? mailbox_bytes : 0);
  return enqueue(s, [=, copied = std::vector<unsigned char>(pack, pack + pack_bytes)]() mutable {
    if (later != ok) return later;
    void* own[] = {copied.data()};
    return f->entry(static_cast<long>(grid_x / cluster), static_cast<int>(cluster),
                    static_cast<int>(block_x), scratch, own);
  });
}

}  // extern "C"
