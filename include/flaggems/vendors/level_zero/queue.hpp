// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A Level Zero device, its queues and their marks. Commands of a list run in any order but for
// barriers, so that one follows each command. An event is signalled once and may go when no list
// refers to it any more, so that every record takes a mark of its own, which its users count.
#pragma once

#include <flaggems/detail/pool_mutex.hpp>
#include <flaggems/vendors/level_zero/driver.hpp>

#include <deque>
#include <vector>

namespace flaggems {

namespace detail {

[[nodiscard]] inline const level_zero_functions& level_zero_calls() noexcept {
  return level_zero_driver::get().functions();
}
/// Memory of the host that devices read and write, too. Null where it is exhausted.
[[nodiscard]] inline void* level_zero_host_memory(const char* op, std::size_t bytes) {
  const ze::host_memory_of description;
  void* data = nullptr;
  const auto& allocate = level_zero_calls().zeMemAllocHost;
  const int result =
      allocate.call(level_zero_driver::get().context(), &description, bytes, 64, &data);
  if (result == ze::out_of_host_memory || result == ze::unsupported_size) return nullptr;
  if (result != 0) [[unlikely]]
    raise(errc::driver_error, op, text("success of ") + allocate.name,
          level_zero_error_text(result));
  return data;
}

/// A moment in a queue: an event, and where the device writes the time.
struct level_zero_mark {
  void* event = nullptr;
  u64* time = nullptr;
  atomic<int> users{0};

  [[nodiscard]] bool is_reached(const char* op) const {
    const auto& query = level_zero_calls().zeEventQueryStatus;
    const int result = query.call(event);
    if (result != 0 && result != ze::not_ready) [[unlikely]]
      raise(errc::driver_error, op, text("success of ") + query.name,
            level_zero_error_text(result));
    return result == 0;
  }
  void await(const char* op) const {
    level_zero_call(op, level_zero_calls().zeEventHostSynchronize, event, ~u64{0});
  }
};

/// The marks that nobody uses. They are made by the dozen and never given back.
class level_zero_marks {
 public:
  static level_zero_marks& get() {
    static auto* const all = new level_zero_marks;  // outlives all streams and events
    return *all;
  }
  /// One with one user, not reached.
  [[nodiscard]] level_zero_mark* take(const char* op) {
    level_zero_mark* mark = nullptr;
    {
      const pool_lock lock(mutex_);
      if (unused_.empty()) add(op);
      mark = unused_.back();
      unused_.pop_back();
    }
    level_zero_call(op, level_zero_calls().zeEventHostReset, mark->event);
    mark->users.store(1);
    return mark;
  }
  /// By one of its users.
  void drop(level_zero_mark* mark) {
    if (mark == nullptr || mark->users.fetch_sub(1) != 1) return;
    const pool_lock lock(mutex_);
    unused_.push_back(mark);
  }

 private:
  static constexpr u32 count = 64;  // a pool
  void add(const char* op) {
    const auto& f = level_zero_calls();
    ze::event_pool_of of_pool;
    of_pool.count = count;
    void* pool = nullptr;
    level_zero_call(op, f.zeEventPoolCreate, level_zero_driver::get().context(), &of_pool, 0U,
                    nullptr, &pool);
    auto* const times = static_cast<u64*>(level_zero_host_memory(op, count * sizeof(u64)));
    check(times != nullptr, errc::out_of_memory, op, "memory of the host for events");
    for (u32 k = 0; k < count; ++k) {
      ze::event_of of_event;
      of_event.index = k;
      auto* const mark = new level_zero_mark;
      mark->time = times + k;
      unused_.push_back(mark);
      level_zero_call(op, f.zeEventCreate, pool, &of_event, &mark->event);
    }
  }
  pool_mutex mutex_;
  std::vector<level_zero_mark*> unused_;
};

/// A user of a mark.
class level_zero_held_mark {
 public:
  explicit level_zero_held_mark(level_zero_mark* counted) noexcept : mark_(counted) {}
  ~level_zero_held_mark() { level_zero_marks::get().drop(mark_); }
  level_zero_held_mark(const level_zero_held_mark&) = delete;
  level_zero_held_mark& operator=(const level_zero_held_mark&) = delete;
  [[nodiscard]] level_zero_mark* get() const noexcept { return mark_; }

 private:
  level_zero_mark* mark_;
};

}  // namespace detail

/// A queue of a Level Zero device: what a stream's handle points to.
class level_zero_queue {
 public:
  void* native = nullptr;  ///< a ze_command_list_handle_t, immediate

  /// Appends one command, `function(native, args...)`, behind all others.
  template <class F, class... Args>
  void append(const char* op, const F& function, Args... args) {
    const detail::pool_lock lock(mutex_);
    if (!kept_.empty() && given_ - marked_ >= most_unmarked) [[unlikely]]
      detail::level_zero_marks::get().drop(append_mark(op));
    detail::level_zero_call(op, function, native, args...);
    end_command(op);
    ++given_;
  }
  /// A mark behind all that was appended, for the caller to drop.
  [[nodiscard]] detail::level_zero_mark* mark(const char* op) {
    const detail::pool_lock lock(mutex_);
    return append_mark(op);
  }
  /// What is appended from now on runs behind the mark, of any queue.
  void await(const char* op, detail::level_zero_mark* other) {
    const detail::pool_lock lock(mutex_);
    other->users.fetch_add(1);
    kept_.push_back({other, nullptr, false});
    detail::level_zero_call(op, calls().zeCommandListAppendBarrier, native, nullptr, 1U,
                            &other->event);
    ++given_;
  }
  /// Memory of the host that is freed when what was appended so far is done.
  void keep(void* data) {
    const detail::pool_lock lock(mutex_);
    kept_.push_back({nullptr, data, false});
  }
  void synchronize(const char* op) {
    const detail::level_zero_held_mark end(mark(op));
    end.get()->await(op);
    const detail::pool_lock lock(mutex_);
    forget_done(op);
  }
  /// By the last mark where that is behind all: a new one is not reached at once.
  [[nodiscard]] bool is_done(const char* op) {
    const detail::pool_lock lock(mutex_);
    if (done_ == given_) return true;
    if (marked_ != given_) detail::level_zero_marks::get().drop(append_mark(op));
    forget_done(op);
    return done_ == given_;
  }
  /// Forgets all that it kept: its commands are done, or the device is lost.
  void end() noexcept {
    for (const kept& one : kept_) release(one);
    kept_.clear();
  }

 private:
  static constexpr u64 most_unmarked = 256;  // commands, while it keeps anything

  // In the order of the queue: its own marks, those that it waits for, and memory.
  struct kept {
    detail::level_zero_mark* mark;
    void* data;
    bool is_own;
    u64 given = 0;
  };
  static const detail::level_zero_functions& calls() noexcept { return detail::level_zero_calls(); }

  void end_command(const char* op) const {
    detail::level_zero_call(op, calls().zeCommandListAppendBarrier, native, nullptr, 0U, nullptr);
  }
  [[nodiscard]] detail::level_zero_mark* append_mark(const char* op) {
    forget_done(op);
    const detail::level_zero_held_mark made(detail::level_zero_marks::get().take(op));
    detail::level_zero_mark* const mark = made.get();
    detail::level_zero_call(op, calls().zeCommandListAppendWriteGlobalTimestamp, native, mark->time,
                            mark->event, 0U, nullptr);
    mark->users.fetch_add(2);  // the caller, and this queue
    kept_.push_back({mark, nullptr, true, given_});
    end_command(op);
    marked_ = given_;
    return mark;
  }
  // Up to the last of its own marks that is reached.
  void forget_done(const char* op) {
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      if (!kept_[k].is_own) continue;
      if (!kept_[k].mark->is_reached(op)) return;
      done_ = kept_[k].given;
      for (std::size_t n = 0; n <= k; ++n) release(kept_[n]);
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(k + 1));
      k = ~std::size_t{0};
    }
  }
  static void release(const kept& one) noexcept {
    detail::level_zero_marks::get().drop(one.mark);
    if (one.data != nullptr)
      calls().zeMemFree.call(detail::level_zero_driver::get().context(), one.data);
  }

  detail::pool_mutex mutex_;  // a list is one thread's at a time
  std::deque<kept> kept_;
  u64 given_ = 0, marked_ = 0, done_ = 0;  // commands; those before the last mark; known as done
};

/// An event: the mark of its last record.
struct level_zero_event {
  detail::pool_mutex mutex;
  detail::level_zero_mark* mark = nullptr;
};

namespace detail {

/// A device with its default queue, opened at first use.
struct level_zero_device {
  void* id = nullptr;
  int compute_units = 1, max_threads = 1;
  i64 local_memory = 0, max_grid = 1;
  u64 tick_ns = 1;
  u32 clock_bits = 64;  // that a time has
  level_zero_queue queue;

  static level_zero_device& of(const char* op, int index) {
    static atomic<void*> opened[max_devices];
    if (void* const d = opened[index].load(memory_order::acquire)) [[likely]]
      return *static_cast<level_zero_device*>(d);
    static pool_mutex opening;
    const pool_lock lock(opening);
    if (void* const d = opened[index].load()) return *static_cast<level_zero_device*>(d);
    auto* const made = new level_zero_device(op, index);  // outlives all streams and tensors
    opened[index].store(made);
    return *made;
  }
  [[nodiscard]] void* new_list(const char* op, int priority) const {
    ze::queue_of description;
    description.ordinal = ordinal_;
    description.priority = priority < 0 ? ze::priority_high : priority > 0 ? ze::priority_low : 0;
    void* list = nullptr;
    level_zero_call(op, level_zero_calls().zeCommandListCreateImmediate,
                    level_zero_driver::get().context(), id, &description, &list);
    return list;
  }
  [[nodiscard]] ze::device_properties properties(const char* op) const {
    ze::device_properties p;
    level_zero_call(op, level_zero_calls().zeDeviceGetProperties, id, &p);
    return p;
  }

 private:
  level_zero_device(const char* op, int index) : id(level_zero_driver::get().at(index)) {
    const auto& f = level_zero_calls();
    const ze::device_properties p = properties(op);
    compute_units = static_cast<int>((std::max)(p.slices * p.subslices, 1U));
    tick_ns = p.tick_ns;
    clock_bits = p.clock_bits;
    ze::compute_properties c;
    level_zero_call(op, f.zeDeviceGetComputeProperties, id, &c);
    max_threads = static_cast<int>((std::min)(c.group_size, c.group_sizes[0]));
    max_grid = (std::min)(i64{c.group_counts[0]}, i64{0x7fffffff});
    local_memory = c.local_memory;
    ze::queue_group groups[most_groups];
    u32 found = most_groups;
    level_zero_call(op, f.zeDeviceGetCommandQueueGroupProperties, id, &found, &groups[0]);
    while (ordinal_ < found && (groups[ordinal_].flags & ze::group_computes) == 0) ++ordinal_;
    check(ordinal_ < found, errc::not_supported, op, "a device with queues that compute");
    queue.native = new_list(op, 0);
  }
  static constexpr u32 most_groups = 16;
  u32 ordinal_ = 0;  // of the queues that compute
};

}  // namespace detail
}  // namespace flaggems
