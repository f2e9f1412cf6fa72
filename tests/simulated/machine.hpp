// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The state of the simulated driver, and the way into each of its functions.
#pragma once

#include "simulation.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace flaggems_simulated {

using u64 = std::uint64_t;
using size = std::size_t;

enum result : int {
  ok = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  launch_failed = 719,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_wrong_thread = 908
};

constexpr int devices = 2;
constexpr size default_shared = 48 * 1024, most_shared = 227 * 1024;
constexpr long exchange_bytes = 512;  // of shared memory, before the scratch (kernels/machine.hpp)
constexpr size arena_bytes = size{1} << 36;  // of addresses

using work = std::function<int()>;

struct graph {
  std::vector<work> nodes;
};
struct stream {
  int device = 0;
  std::deque<work> queue;
  std::unique_ptr<graph> captured;  // while it captures
  bool capture_broken = false;
};
struct mark {
  stream* in;  // where it stands, while that is to come
  u64 time = 0;
};
struct event {
  std::shared_ptr<mark> last;  // none before the first record
  [[nodiscard]] bool is_done() const { return last == nullptr || last->in == nullptr; }
};
struct function {
  flaggems_sim_entry entry;
  size shared = default_shared;
};
struct module {
  std::string types;
  std::unique_ptr<function> entry;
};

struct machine {
  std::recursive_mutex mutex;
  pid_t process = 0;
  unsigned char* arena = nullptr;
  size unused_from = 0;
  std::map<u64, size> allocations;
  std::map<void*, size> pinned;
  std::set<stream*> streams;
  std::set<event*> events;
  std::set<module*> modules;
  std::set<graph*> graphs;
  std::map<std::string, flaggems_sim_entry> entries;
  std::map<std::string, std::pair<int, int>> faults;  // how many calls from now, what
  std::map<std::string, long> calls;
  stream default_streams[devices];
  int contexts[devices] = {0, 1};
  int sticky = ok;  // what a kernel that failed leaves for every later call
  u64 clock = 0;
};
inline machine& sim() {
  static machine all;
  return all;
}
inline thread_local int* current_context = nullptr;

inline int current_device() { return current_context == nullptr ? 0 : *current_context; }

// ---- memory

// The bytes from `address` are one allocation's.
inline bool is_device_memory(u64 address, size bytes) {
  auto& all = sim().allocations;
  auto after = all.upper_bound(address);
  if (after == all.begin()) return false;
  --after;
  return address + bytes <= after->first + after->second;
}
inline bool is_in_arena(const void* p) {
  const auto* byte = static_cast<const unsigned char*>(p);
  return sim().arena != nullptr && byte >= sim().arena && byte < sim().arena + arena_bytes;
}
inline bool is_pinned(const void* p, size bytes) {
  for (const auto& [base, n] : sim().pinned) {
    const auto* first = static_cast<const unsigned char*>(base);
    const auto* byte = static_cast<const unsigned char*>(p);
    if (byte >= first && byte + bytes <= first + n) return true;
  }
  return false;
}
/// While one is alive, device memory may be touched.
struct memory_access {
  memory_access() { set(PROT_READ | PROT_WRITE); }
  ~memory_access() { set(PROT_NONE); }
  memory_access(const memory_access&) = delete;
  memory_access& operator=(const memory_access&) = delete;
  static void set(int protection) {
    static int depth = 0;
    if (protection != PROT_NONE ? depth++ == 0 : --depth == 0)
      if (sim().unused_from > 0) mprotect(sim().arena, sim().unused_from, protection);
  }
};

// ---- streams

inline stream* stream_of(void* handle) {
  if (handle == nullptr) return &sim().default_streams[current_device()];
  auto* s = static_cast<stream*>(handle);
  return sim().streams.count(s) != 0 ? s : nullptr;
}
// One piece of work, in the order of its stream.
inline void run_first(stream& s) {
  work first = std::move(s.queue.front());
  s.queue.pop_front();
  const memory_access memory;
  if (const int failed = sim().sticky == ok ? first() : int{ok}; failed != ok)
    sim().sticky = failed;
}
inline int drain(stream& s) {
  while (!s.queue.empty()) run_first(s);
  return sim().sticky;
}
inline void run_up_to(const mark& m) {
  while (m.in != nullptr && !m.in->queue.empty()) run_first(*m.in);
}
inline int enqueue(stream* s, work todo) {
  if (s == nullptr) return invalid_handle;
  if (s->capture_broken) return capture_invalidated;
  if (s->captured != nullptr)
    s->captured->nodes.push_back(std::move(todo));
  else
    s->queue.push_back(std::move(todo));
  return ok;
}
// What a capture in the calling thread's mode forbids: it breaks the capture.
inline bool is_capturing() {
  bool any = false;
  for (stream* s : sim().streams)
    if (s->captured != nullptr) any = s->capture_broken = true;
  return any;
}

// ---- the way into every function: counts, injected faults, sticky errors, a context

inline int enter(const char* name, bool needs_context = true) {
  machine& m = sim();
  ++m.calls[name];
  if (m.process == 0 || m.process != getpid()) return not_initialized;
  const auto fault = m.faults.find(name);
  if (fault != m.faults.end() && --fault->second.first == 0) {
    const int result = fault->second.second;
    m.faults.erase(fault);
    return result;
  }
  if (m.sticky != ok) return m.sticky;
  if (needs_context && current_context == nullptr) return invalid_context;
  return ok;
}
#define ENTER(...)                                               \
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex); \
  if (const int refused = enter(__func__ __VA_OPT__(, ) __VA_ARGS__); refused != ok) return refused

}  // namespace flaggems_simulated
