// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A driver with CUDA's functions, in a vendor's file that says before it: FLAGGEMS_SIMULATED(Name),
// the function's name; `rules`; attribute_of_vendor. Device memory is host memory that only this
// library can touch, work is queued and runs as late as the rules allow, and kernels run on the
// SIMT emulator through functions that the test program registers. It refuses what the real driver
// refuses as far as the library asks it: handles that are none, memory that is not the device's,
// limits of a launch, calls that a capture forbids, calls without a context.
#pragma once

#include "machine.hpp"

namespace flaggems_simulated {

inline const char* name_of_result(int code) {
  const char* const name = name_of(code);
  return name != nullptr ? name + rules.skipped_of_names : nullptr;
}

// A free that waits for nothing: work that uses the memory later is wrong.
inline int free_at_once(u64 address) {
  const auto found = sim().allocations.find(address);
  if (found == sim().allocations.end()) return invalid_value;
  madvise(reinterpret_cast<void*>(address), (found->second + 4095) / 4096 * 4096, MADV_DONTNEED);
  sim().allocations.erase(found);
  return ok;
}

// A launch in a line of blocks and threads, in `cluster` blocks each.
inline int launch(function* f, const unsigned (&grid)[3], const unsigned (&block)[3], size shared,
                  void* stream_handle, void** arguments, void** extra, unsigned cluster) {
  const auto is_line = [](const unsigned(&sizes)[3], u64 most) {
    return sizes[0] > 0 && sizes[0] <= most && sizes[1] == 1 && sizes[2] == 1;
  };
  if (!is_line(grid, rules.most_blocks) || !is_line(block, rules.most_threads) ||
      u64{grid[0]} * block[0] > rules.most_grid_threads || shared > f->shared ||
      arguments == nullptr || extra != nullptr)
    return invalid_value;
  if (grid[0] > rules.grid_quantum && grid[0] % rules.grid_quantum != 0) return invalid_value;
  stream* const s = stream_of(stream_handle);
  if (s != nullptr && s->device != current_device()) return invalid_handle;
  if (cluster > 1) ++sim().calls["launches of clusters"];
  int later = ok;
  takes_fault(rules.late_launch, later);
  // The arguments of kernel/block/simt/entry.hpp, copied now: the pack, the workspace, a block's
  // slice of it.
  const size pack_bytes = size(f->entry(-1, 0, 0, 0, nullptr));
  const auto* pack = static_cast<const unsigned char*>(arguments[0]);
  const u64 workspace = *static_cast<const u64*>(arguments[1]);
  const long slice = *static_cast<const long*>(arguments[2]);
  if (slice > 0 && !is_device_memory(workspace, static_cast<size>(slice) * grid[0]))
    return invalid_value;
  const long scratch =
      slice > 0 ? slice
                : static_cast<long>(shared) - exchange_bytes - (cluster > 1 ? mailbox_bytes : 0);
  const unsigned blocks = grid[0], threads = block[0];
  return enqueue(s, [=, copied = std::vector<unsigned char>(pack, pack + pack_bytes)]() mutable {
    if (later != ok) return later;
    void* own[] = {copied.data()};
    return f->entry(static_cast<long>(blocks / cluster), static_cast<int>(cluster),
                    static_cast<int>(threads), scratch, own);
  });
}

}  // namespace flaggems_simulated

using namespace flaggems_simulated;

extern "C" {

int FLAGGEMS_SIMULATED(Init)(unsigned flags) {
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
int FLAGGEMS_SIMULATED(DriverGetVersion)(int* version) {
  ENTER_ALWAYS(false);
  return *version = 13000, ok;
}
int FLAGGEMS_SIMULATED(GetErrorName)(int code, const char** text) {
  *text = name_of_result(code);
  return *text != nullptr ? ok : invalid_value;
}
int FLAGGEMS_SIMULATED(GetErrorString)(int code, const char** text) {
  if (FLAGGEMS_SIMULATED(GetErrorName)(code, text) != ok) return invalid_value;
  *text = "simulated";
  return ok;
}
int FLAGGEMS_SIMULATED(DeviceGetCount)(int* count) {
  ENTER_ALWAYS(false);
  *count = devices;
  return ok;
}
int FLAGGEMS_SIMULATED(DeviceGet)(int* device, int ordinal) {
  ENTER_ALWAYS(false);
  if (ordinal < 0 || ordinal >= devices) return invalid_device;
  *device = ordinal;
  return ok;
}
int FLAGGEMS_SIMULATED(DeviceGetName)(char* text, int bytes, int device) {
  ENTER_ALWAYS(false);
  std::snprintf(text, static_cast<size>(bytes), "simulated %s %d", rules.what, device);
  return ok;
}
int FLAGGEMS_SIMULATED(DeviceGetAttribute)(int* value, int attribute, int device) {
  ENTER_ALWAYS(false);
  if (device < 0 || device >= devices) return invalid_device;
  return attribute_of_vendor(attribute, *value);
}
int FLAGGEMS_SIMULATED(DevicePrimaryCtxRetain)(void** context, int device) {
  ENTER_ALWAYS(false);
  if (device < 0 || device >= devices) return invalid_device;
  *context = &sim().contexts[device];
  return ok;
}
int FLAGGEMS_SIMULATED(CtxSetCurrent)(void* context) {
  ENTER_ALWAYS(false);
  if (context != nullptr && context != &sim().contexts[0] && context != &sim().contexts[1])
    return invalid_context;
  current_context = static_cast<int*>(context);
  return ok;
}
int FLAGGEMS_SIMULATED(CtxGetCurrent)(void** context) {
  ENTER_ALWAYS(false);
  *context = current_context;
  return ok;
}
int FLAGGEMS_SIMULATED(CtxGetDevice)(int* device) {
  ENTER_ALWAYS();
  *device = *current_context;
  return ok;
}
int FLAGGEMS_SIMULATED(MemGetInfo_v2)(size* unused, size* total) {
  ENTER();
  *total = sim().capacity;
  *unused = *total - std::min(*total, bytes_on(current_device()));
  return ok;
}

int FLAGGEMS_SIMULATED(MemAlloc_v2)(u64* address, size bytes) {
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
int FLAGGEMS_SIMULATED(MemFree_v2)(u64 address) {
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
int FLAGGEMS_SIMULATED(MemHostAlloc)(void** address, size bytes, unsigned flags) {
  ENTER();
  if (is_unsafe()) return capture_unsupported;
  if (bytes == 0 || flags != 1) return invalid_value;
  if (bytes > (size{8} << 30)) return out_of_memory;
  *address = ::operator new(bytes);
  sim().pinned[*address] = bytes;
  return ok;
}
int FLAGGEMS_SIMULATED(MemFreeHost)(void* address) {
  ENTER_ALWAYS();
  if (is_unsafe()) return capture_unsupported;
  if (sim().pinned.erase(address) == 0) return invalid_value;
  ::operator delete(address);
  return ok;
}

int FLAGGEMS_SIMULATED(MemcpyHtoDAsync_v2)(u64 to, const void* from, size bytes, void* handle) {
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
int FLAGGEMS_SIMULATED(MemcpyDtoHAsync_v2)(void* to, u64 from, size bytes, void* handle) {
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
int FLAGGEMS_SIMULATED(MemcpyDtoDAsync_v2)(u64 to, u64 from, size bytes, void* handle) {
  ENTER();
  if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) return invalid_value;
  return enqueue(stream_of(handle), [=] {
    return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), ok;
  });
}
int FLAGGEMS_SIMULATED(MemcpyPeerAsync)(u64 to, void* to_context, u64 from, void* from_context,
                                        size bytes, void* handle) {
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
int FLAGGEMS_SIMULATED(DeviceCanAccessPeer)(int* can, int device, int peer) {
  ENTER(false);
  if (device < 0 || device >= devices || peer < 0 || peer >= devices) return invalid_device;
  *can = device != peer;
  return ok;
}
int FLAGGEMS_SIMULATED(CtxEnablePeerAccess)(void* context, unsigned flags) {
  ENTER();
  if (flags != 0 || (context != &sim().contexts[0] && context != &sim().contexts[1]))
    return invalid_context;
  bool& reaches = sim().can_reach[current_device()][*static_cast<int*>(context)];
  if (reaches) return peer_already_enabled;
  reaches = true;
  return ok;
}
int FLAGGEMS_SIMULATED(MemsetD8Async)(u64 to, unsigned char byte, size count, void* handle) {
  ENTER();
  if (!is_device_memory(to, count)) return invalid_value;
  return enqueue(stream_of(handle),
                 [=] { return std::memset(reinterpret_cast<void*>(to), byte, count), ok; });
}

int FLAGGEMS_SIMULATED(StreamCreateWithPriority)(void** handle, unsigned flags, int) {
  ENTER();
  if (flags > 1) return invalid_value;
  auto* const s = new stream;
  s->device = current_device();
  s->is_blocking = flags == 0;
  sim().streams.insert(s);
  *handle = s;
  return ok;
}
int FLAGGEMS_SIMULATED(StreamDestroy_v2)(void* handle) {
  ENTER_ALWAYS();
  stream* const s = stream_of(handle);
  if (s == nullptr || handle == nullptr) return invalid_handle;
  if (s->captured != nullptr) s->captured->is_broken = true;
  drain(*s);
  sim().streams.erase(s);
  sim().ended_streams.emplace_back(s);
  return ok;
}
int FLAGGEMS_SIMULATED(StreamSynchronize)(void* handle) {
  ENTER();
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (const int refused = refuse_captured(*s); refused != ok) return refused;
  if (is_unsafe()) return capture_unsupported;
  return drain(*s);
}
int FLAGGEMS_SIMULATED(StreamQuery)(void* handle) {
  ENTER();
  stream* const s = stream_of(handle);
  if (s == nullptr) return invalid_handle;
  if (const int refused = refuse_captured(*s); refused != ok) return refused;
  if (is_unsafe()) return capture_unsupported;
  if (s->queue.empty()) return ok;
  run_first(*s);  // time passes
  return sim().sticky != ok ? sim().sticky : int{not_ready};
}

int FLAGGEMS_SIMULATED(EventCreate)(void** handle, unsigned flags) {
  ENTER();
  if (flags > 7) return invalid_value;
  auto* const e = new event;
  sim().events.insert(e);
  *handle = e;
  return ok;
}
int FLAGGEMS_SIMULATED(EventDestroy_v2)(void* handle) {
  ENTER_ALWAYS();
  auto* const e = static_cast<event*>(handle);
  if (sim().events.erase(e) == 0) return invalid_handle;
  sim().ended_events.emplace_back(e);
  return ok;
}
int FLAGGEMS_SIMULATED(EventRecord)(void* handle, void* stream_handle) {
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
int FLAGGEMS_SIMULATED(StreamWaitEvent)(void* stream_handle, void* handle, unsigned flags) {
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
int FLAGGEMS_SIMULATED(EventSynchronize)(void* handle) {
  ENTER();
  auto* const e = static_cast<event*>(handle);
  if (sim().events.count(e) == 0) return invalid_handle;
  if (e->last != nullptr && e->last->was_captured) return captured_event;
  if (is_unsafe()) return capture_unsupported;
  if (!e->is_done()) run_up_to(*e->last);
  return sim().sticky;
}
int FLAGGEMS_SIMULATED(EventQuery)(void* handle) {
  ENTER();
  auto* const e = static_cast<event*>(handle);
  if (sim().events.count(e) == 0) return invalid_handle;
  if (e->last != nullptr && e->last->was_captured) return captured_event;
  if (is_unsafe()) return capture_unsupported;
  if (e->is_done()) return ok;
  run_first(*e->last->in);  // time passes
  return sim().sticky != ok ? sim().sticky : int{not_ready};
}
int FLAGGEMS_SIMULATED(EventElapsedTime)(float* ms, void* from, void* to) {
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

int FLAGGEMS_SIMULATED(ModuleLoadData)(void** handle, const void* image) {
  ENTER();
  if (is_unsafe()) return capture_unsupported;
  const std::string text = static_cast<const char*>(image);
  const std::string head = rules.image_head;
  if (text.rfind(head, 0) != 0) return invalid_image;
  auto* const m = new module{text.substr(head.size()), nullptr};
  sim().modules.insert(m);
  *handle = m;
  return ok;
}
int FLAGGEMS_SIMULATED(ModuleUnload)(void* handle) {
  ENTER_ALWAYS();
  auto* const m = static_cast<module*>(handle);
  if (sim().modules.erase(m) == 0) return invalid_handle;
  delete m;
  return ok;
}
int FLAGGEMS_SIMULATED(ModuleGetFunction)(void** handle, void* module_handle, const char* name) {
  ENTER();
  auto* const m = static_cast<module*>(module_handle);
  if (sim().modules.count(m) == 0) return invalid_handle;
  if (std::strcmp(name, "flaggems_entry") != 0) return not_found;
  const auto entry = sim().entries.find(m->types);
  if (entry == sim().entries.end()) {
    std::fprintf(stderr, "simulated driver: nobody registered %s\n", m->types.c_str());
    return not_found;
  }
  m->entry = std::make_unique<function>(function{entry->second, rules.default_shared});
  *handle = m->entry.get();
  return ok;
}
int FLAGGEMS_SIMULATED(FuncGetAttribute)(int* value, int attribute, void*) {
  ENTER();
  if (attribute != 0 && attribute != 5) return invalid_value;
  *value = static_cast<int>(rules.most_threads);
  if (attribute == 0) takes_fault("a function's threads", *value);
  if (attribute == 5 && !takes_fault("a function's target", *value)) *value = 90;
  return ok;
}
int FLAGGEMS_SIMULATED(FuncSetAttribute)(void* handle, int attribute, int value) {
  ENTER();
  if (attribute != 8 || value < 0 || static_cast<size>(value) > rules.most_shared)
    return invalid_value;
  static_cast<function*>(handle)->shared = static_cast<size>(value);
  return ok;
}
int FLAGGEMS_SIMULATED(OccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, void* handle,
                                                                  int threads, size shared) {
  ENTER();
  if (handle == nullptr) return invalid_handle;
  if (threads <= 0 || threads > static_cast<int>(rules.most_threads) ||
      shared > static_cast<function*>(handle)->shared)
    return invalid_value;
  // By threads and shared memory; the emulator has no registers.
  *blocks =
      std::min(2048 / threads, static_cast<int>((rules.most_shared + 1024) / (shared + 1024)));
  return ok;
}
int FLAGGEMS_SIMULATED(LaunchKernel)(void* handle, unsigned grid_x, unsigned grid_y,
                                     unsigned grid_z, unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared, void* stream_handle,
                                     void** arguments, void** extra) {
  ENTER();
  auto* const f = static_cast<function*>(handle);
  if (f == nullptr) return invalid_handle;
  return launch(f, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream_handle,
                arguments, extra, 1);
}

}  // extern "C"
