// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The state of the simulated driver, and the way into each of its functions.
#pragma once

#include "simulation.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
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
  peer_already_enabled = 704,
  launch_failed = 719,
  not_permitted = 800,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  capture_wrong_thread = 908
};

inline const char* name_of(int code) {
  return code == ok                    ? "CUDA_SUCCESS"
         : code == invalid_value       ? "CUDA_ERROR_INVALID_VALUE"
         : code == out_of_memory       ? "CUDA_ERROR_OUT_OF_MEMORY"
         : code == not_initialized     ? "CUDA_ERROR_NOT_INITIALIZED"
         : code == invalid_device      ? "CUDA_ERROR_INVALID_DEVICE"
         : code == invalid_image       ? "CUDA_ERROR_INVALID_IMAGE"
         : code == invalid_context     ? "CUDA_ERROR_INVALID_CONTEXT"
         : code == invalid_handle      ? "CUDA_ERROR_INVALID_HANDLE"
         : code == not_found           ? "CUDA_ERROR_NOT_FOUND"
         : code == not_ready           ? "CUDA_ERROR_NOT_READY"
         : code == launch_failed       ? "CUDA_ERROR_LAUNCH_FAILED"
         : code == capture_unsupported ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
         : code == capture_invalidated ? "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
         : code == capture_unjoined    ? "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"
         : code == capture_isolation   ? "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"
         : code == capture_implicit    ? "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
         : code == captured_event      ? "CUDA_ERROR_CAPTURED_EVENT"
         : code == not_permitted       ? "CUDA_ERROR_NOT_PERMITTED"
                                       : nullptr;
}

constexpr int devices = 2;
constexpr long exchange_bytes =
    1024;  // of shared memory, before the scratch (kernel/block/simt/machine.hpp)
constexpr long mailbox_bytes = 272;          // and behind it, in a cluster
constexpr size arena_bytes = size{1} << 36;  // of addresses
constexpr size huge_page = size{1} << 21;

using work = std::function<int()>;

// What graphs refer to, until the last of them, and of their launches, has ended. Nothing of the
// driver may be called then.
struct user_object {
  user_object(void* given, void (*f)(void*)) : data(given), end(f) { ++count; }
  ~user_object() {
    is_ending = true;
    end(data);
    is_ending = false;
    --count;
  }
  user_object(const user_object&) = delete;
  user_object& operator=(const user_object&) = delete;
  void* data;
  void (*end)(void*);
  static inline long count = 0;
  static inline thread_local bool is_ending = false;
};
struct graph {
  std::vector<work> nodes;
  std::vector<std::shared_ptr<user_object>> objects;
};
struct stream;
enum capture_mode : int { of_all_threads, of_thread, relaxed };
struct capture {
  graph nodes;
  stream* origin = nullptr;
  capture_mode mode = of_all_threads;
  pthread_t thread = pthread_self();
  bool is_broken = false;
  u64 id = 0;
};
struct stream {
  int device = 0;
  bool is_blocking = false;  // waits for the default stream, and that for it
  std::deque<work> queue;
  std::shared_ptr<capture> captured;        // while it is
  size captured_work = 0, joined_work = 0;  // pieces of it, and those that the origin waits for
};
struct mark {
  stream* in = nullptr;  // where it stands, while that is to come
  u64 time = 0;
  std::weak_ptr<capture> captured;  // in which it is
  bool was_captured = false;
  size captured_work = 0;  // of its stream, up to it
};
struct event {
  std::shared_ptr<mark> last;  // none before the first record
  [[nodiscard]] bool is_done() const { return last == nullptr || last->in == nullptr; }
};
struct function {
  flaggems_sim_entry entry;
  size shared;
};
// CUlaunchConfig and CUlaunchAttribute
struct launch_attribute {
  int id, unused, value[16];
};
struct launch_config {
  unsigned grid[3], block[3], shared;
  void* stream;
  const launch_attribute* attributes;
  unsigned attribute_count;
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
  std::map<u64, int> device_of;   // an allocation's
  size capacity = size{8} << 30;  // of each device
  bool can_reach[devices][devices] = {};
  std::map<void*, size> pinned;
  std::set<stream*> streams;
  std::set<event*> events;
  std::vector<std::unique_ptr<stream>> ended_streams;  // so that no handle is given again: what
  std::vector<std::unique_ptr<event>> ended_events;    // uses one that is gone is found out
  std::set<module*> modules;
  std::set<graph*> graphs;
  std::map<void*, std::pair<std::shared_ptr<user_object>, unsigned>>
      objects;  // callers' references
  u64 captures = 0;
  std::map<std::string, flaggems_sim_entry> entries;
  std::map<std::string, std::pair<int, int>> faults;  // how many calls from now, what
  std::map<std::string, long> calls;
  stream default_streams[devices];
  int contexts[devices] = {0, 1};
  int sticky = ok;  // what a kernel that failed leaves for every later call
  u64 clock = 0;
};
inline machine& sim() {
  static machine& all = *new machine;  // programs leave kernels loaded when they end
  return all;
}
inline thread_local int* current_context = nullptr;
inline thread_local int thread_mode = of_all_threads;

inline int current_device() { return current_context == nullptr ? 0 : *current_context; }

// ---- memory

inline size bytes_on(int device) {
  size sum = 0;
  for (const auto& [address, bytes] : sim().allocations)
    if (sim().device_of[address] == device) sum += bytes;
  return sum;
}
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
/// While one is alive, device memory may be touched. It changes with each piece of work and takes
/// time by the page: hence huge ones.
struct memory_access {
  memory_access() { set(PROT_READ | PROT_WRITE); }
  ~memory_access() { set(PROT_NONE); }
  memory_access(const memory_access&) = delete;
  memory_access& operator=(const memory_access&) = delete;
  static void set(int protection) {
    static int depth = 0;
    if (protection != PROT_NONE ? depth++ == 0 : --depth == 0) protect(protection);
  }
  static void protect(int protection) {
    if (const size used = sim().unused_from; used > 0)
      mprotect(sim().arena, (used + huge_page - 1) / huge_page * huge_page, protection);
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
  if (s.queue.empty()) return sim().sticky;
  const memory_access memory;
  while (!s.queue.empty()) run_first(s);
  return sim().sticky;
}
inline void run_up_to(const mark& m) {
  while (m.in != nullptr && !m.in->queue.empty()) run_first(*m.in);
}
inline int enqueue(stream* s, work todo) {
  if (s == nullptr) return invalid_handle;
  if (s->captured != nullptr) {
    if (s->captured->is_broken) return capture_invalidated;
    s->captured->nodes.nodes.push_back(std::move(todo));
    ++s->captured_work;
    return ok;
  }
  const bool is_default = s >= sim().default_streams && s < sim().default_streams + devices;
  if (is_default)
    for (const stream* other : sim().streams)
      if (other->captured != nullptr && other->is_blocking && other->device == s->device)
        return other->captured->is_broken = true, capture_implicit;
  s->queue.push_back(std::move(todo));
  return ok;
}
// Whether captures forbid this thread what is unsafe while they last: it breaks them.
inline bool is_unsafe() {
  bool any = false;
  for (const stream* s : sim().streams)
    if (s->captured != nullptr && thread_mode != relaxed) {
      const bool is_own = pthread_equal(s->captured->thread, pthread_self()) != 0;
      if (is_own ? s->captured->mode != relaxed
                 : s->captured->mode == of_all_threads && thread_mode == of_all_threads)
        any = s->captured->is_broken = true;
    }
  return any;
}
// Also one that is being captured.
inline bool is_graph(const graph* g) {
  bool found = false;
  for (const graph* made : sim().graphs) found = found || made == g;
  for (const stream* s : sim().streams)
    found = found || (s->captured != nullptr && &s->captured->nodes == g);
  return found;
}
// What asks how far a stream is.
inline int refuse_captured(const stream& s) {
  if (s.captured == nullptr) return ok;
  s.captured->is_broken = true;
  return capture_unsupported;
}

// ---- the way into every function: counts, injected faults, sticky errors, a context

// Whether this call of `name` is the one that shall answer `result`.
inline bool takes_fault(const char* name, int& result) {
  const auto fault = sim().faults.find(name);
  if (fault == sim().faults.end() || --fault->second.first != 0) return false;
  result = fault->second.second;
  sim().faults.erase(fault);
  return true;
}
inline int enter(const char* name, bool needs_context = true) {
  machine& m = sim();
  ++m.calls[name];
  if (m.process == 0 || m.process != getpid()) return not_initialized;
  if (user_object::is_ending) return not_permitted;
  for (stream* s : m.streams)  // as early as the real one may
    if (s->captured != nullptr && s->captured->is_broken) s->captured->nodes.objects.clear();
  if (int result = ok; takes_fault(name, result)) return result;
  if (needs_context && current_context == nullptr) return invalid_context;
  return ok;
}
/// Around a call: while threads take turns, some wait before and after, so that they meet in many
/// orders.
class delays {
 public:
  delays() { wait(); }
  ~delays() { wait(); }
  delays(const delays&) = delete;
  delays& operator=(const delays&) = delete;

 private:
  static void wait() {
    static std::atomic<unsigned> threads{0}, last{0};
    static std::atomic<int> left{0};  // since another thread called
    static thread_local const unsigned own = ++threads;
    static thread_local unsigned random = own * 2654435769U;
    if (last.exchange(own) != own) left = 64;
    if (left <= 0 || threads == 1) return;
    --left;
    random = random * 1664525U + 1013904223U;
    const unsigned picked = random >> 16;
    if (picked % 4 == 0) usleep(picked / 4 % 200);
    if (picked % 4 == 1) sched_yield();
  }
};
// What asks about contexts, and what gives something back, works even when a kernel has failed.
#define ENTER_ALWAYS(...)                                        \
  const delays around;                                           \
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex); \
  if (const int refused = enter(__func__ __VA_OPT__(, ) __VA_ARGS__); refused != ok) return refused
#define ENTER(...)           \
  ENTER_ALWAYS(__VA_ARGS__); \
  if (sim().sticky != ok) return sim().sticky

}  // namespace flaggems_simulated
