// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A caching, stream-ordered memory pool for each device type and device.
//
// A block that is freed may be given out again at once in the order of the same stream. For another
// stream it waits until its own is idle, or, when the device's memory is exhausted, makes the other
// stream wait by an event. So no host synchronisation happens on the way.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/pool_mutex.hpp>
#include <flaggems/device/stream.hpp>

#include <exception>
#include <new>
#include <utility>

namespace flaggems {

/// A quantity with its history, as in torch.cuda.memory_stats.
struct memory_stat {
  i64 current = 0;    ///< now
  i64 peak = 0;       ///< the most since the start or reset_peak_memory_stats
  i64 allocated = 0;  ///< the sum of all increases
  i64 freed = 0;      ///< the sum of all decreases

  void increase(i64 n) noexcept {
    current += n;
    allocated += n;
    if (current > peak) peak = current;
  }
  void decrease(i64 n) noexcept {
    current -= n;
    freed += n;
  }
};

/// What the pool of a device holds, under PyTorch's names.
struct memory_statistics {
  memory_stat allocation;       ///< blocks in use
  memory_stat allocated_bytes;  ///< bytes of blocks in use
  memory_stat requested_bytes;  ///< the same before rounding
  memory_stat segment;          ///< blocks taken from the device
  memory_stat reserved_bytes;   ///< bytes taken from the device
  i64 num_alloc_retries = 0;    ///< how often the cache was emptied because memory was exhausted
  i64 num_ooms = 0;             ///< how often that did not help
  i64 num_device_alloc = 0;     ///< calls of the device's allocate that gave memory
  i64 num_device_free = 0;      ///< calls of the device's deallocate
  i64 lost_bytes = 0;  ///< of blocks never used again: their stream failed when it was destroyed

  /// Bytes taken from the device that no tensor uses.
  [[nodiscard]] i64 cached_bytes() const noexcept {
    return reserved_bytes.current - allocated_bytes.current;
  }
};

namespace detail {

// ---- size classes: eight steps an octave, so that rounding wastes at most an eighth
template <i64 Alignment>
struct size_classes {
  static constexpr int steps = 8;
  static constexpr int count = 60 * steps;  // some beyond `largest`
  /// The largest request; above it sizes overflow.
  static constexpr i64 largest = i64{1} << 56;

  /// The class of the smallest blocks that hold `bytes`, 1 <= bytes <= largest.
  static constexpr int index_of(i64 bytes) noexcept {
    const u64 units = static_cast<u64>((bytes + Alignment - 1) / Alignment);
    if (units <= steps) return static_cast<int>(units - 1);
    const int octave = 63 - __builtin_clzll(units - 1);  // units - 1 in [2^octave, 2^(octave+1))
    const int shift = octave - 3;
    return (octave - 2) * steps + static_cast<int>(((units - 1) >> shift) & (steps - 1));
  }
  /// The bytes of the blocks of a class.
  static constexpr i64 size_of(int index) noexcept {
    if (index < steps) return (index + 1) * Alignment;
    const int shift = index / steps - 1;
    return static_cast<i64>((static_cast<u64>(steps + index % steps + 1)) << shift) * Alignment;
  }
};

template <class Device>
struct pool_block_record {
  void* data = nullptr;
  i64 requested = 0;
  int size_class = 0;
  bool any_stream = false;  // no stream has work on it
  bool is_lost = false;     // its stream failed and is gone: whether it is in use, nobody knows
  typename Device::stream_handle stream{};
  pool_block_record* next = nullptr;      // in a list of free blocks, or of those in use
  pool_block_record* previous = nullptr;  // of those in use
  struct user {
    stream_ref<Device> stream;  // perhaps of another device
    user* next;
  };
  user* users = nullptr;  // other streams that had work on it, from record_stream
};

}  // namespace detail

/// The alignment of the blocks of a device's pool, in bytes.
template <class Device>
inline constexpr i64 pool_alignment = Device::capabilities::host_accessible ? 64 : 256;

/// The pool of one device. Thread safe. Reached through `pool<Device>()`.
template <class Device>
class memory_pool {
  using record = detail::pool_block_record<Device>;
  using classes = detail::size_classes<pool_alignment<Device>>;
  using native_stream = typename Device::stream_handle;

 public:
  explicit memory_pool(int device_index) noexcept : device_index_(device_index) {}
  memory_pool(const memory_pool&) = delete;
  memory_pool& operator=(const memory_pool&) = delete;
  /// Gives all cached blocks back; none may be in use.
  ~memory_pool() {
    detail::succeeds([this] { empty_cache(); });
  }

  /// A block of at least `bytes` > 0 for work in the order of `stream`. Raises out_of_memory, after
  /// one more attempt with the cache emptied, and invalid_argument for a negative size, both in the
  /// name of `op`; and what the device raises, also for work on blocks that were freed before.
  [[nodiscard]] record* allocate(i64 bytes, native_stream stream, const char* op = "allocate") {
    if (bytes < 0 || bytes > classes::largest) [[unlikely]]
      raise_size(bytes, op);
    const int index = classes::index_of(bytes);
    record* block = nullptr;
    {
      detail::pool_lock lock(mutex_);
      block = take_cached(index, stream, false);
      // A block somewhat too large rather than one more: sizes that grow step by step would leave
      // one of each.
      for (int larger = 1; larger <= 2 && block == nullptr; ++larger)
        block = take_cached(index + larger, stream, false);
      if (block != nullptr) use(block, bytes, stream);
    }
    if (block == nullptr) block = allocate_slowly(index, bytes, stream, op);
    return block;
  }

  /// Takes a block back: its memory may be used again for work queued in its stream after this. If
  /// the device fails, the block waits for its users when it is used again or given back.
  void deallocate(record* block) noexcept {
    detail::pool_lock lock(mutex_);
    if (block->users != nullptr) detail::succeeds([&] { wait_for_users(block); });
    unlink(block);
    const i64 size = classes::size_of(block->size_class);
    stats_.allocation.decrease(1);
    stats_.allocated_bytes.decrease(size);
    stats_.requested_bytes.decrease(block->requested);
    block->is_lost ? forget(block) : cache(block);
  }

  /// Tells that `stream`, other than the block's own, has work on the block: once freed, it is not
  /// used again before that is done. As torch.Tensor.record_stream.
  void record_stream(record* block, const stream_ref<Device>& stream) {
    if constexpr (detail::is_synchronous<Device>) return;
    detail::pool_lock lock(mutex_);
    if (on(block->stream) == stream && !block->any_stream) return;
    for (auto* u = block->users; u != nullptr; u = u->next)
      if (u->stream == stream) return;
    block->users = new typename record::user{stream, block->users};
  }

  /// To be called before a stream of any device is destroyed (`flaggems::stream` does): waits for
  /// it. Then its blocks belong to no stream or, if that fails, are never used again (lost_bytes).
  void release_stream(const stream_ref<Device>& stream) noexcept {
    if constexpr (detail::is_synchronous<Device>) return;
    detail::pool_lock lock(mutex_);
    bool has_waited = false, is_idle = false;
    const auto wait = [&] {
      if (!std::exchange(has_waited, true))
        is_idle = detail::succeeds([&] { stream.synchronize(); });
      return is_idle;
    };
    const auto release = [&](record* b) {
      for (typename record::user** link = &b->users; *link != nullptr;) {
        if ((*link)->stream == stream) {
          if (!wait()) b->is_lost = true;
          delete std::exchange(*link, (*link)->next);
        } else {
          link = &(*link)->next;
        }
      }
      if (b->any_stream || !(on(b->stream) == stream)) return;
      if (!wait()) b->is_lost = true;
      b->any_stream = true;
    };
    for (record* b = in_use_; b != nullptr; b = b->next) release(b);
    for (record*& list : free_)
      for (record** link = &list; *link != nullptr;) {
        release(*link);
        if ((*link)->is_lost)
          forget(std::exchange(*link, (*link)->next));
        else
          link = &(*link)->next;
      }
  }

  /// Gives all cached blocks back to the device, once the work on them is done, and returns when it
  /// has them. Raises what the device raises; the blocks that it failed for stay in the cache.
  void empty_cache() {
    record* all = nullptr;
    {
      detail::pool_lock lock(mutex_);
      all = detach_cache();
    }
    if (all != nullptr) give_back(all);
  }

  [[nodiscard]] memory_statistics stats() const {
    detail::pool_lock lock(mutex_);
    return stats_;
  }
  /// Makes every peak what is current.
  void reset_peak_stats() {
    detail::pool_lock lock(mutex_);
    for (memory_stat* s : {&stats_.allocation, &stats_.allocated_bytes, &stats_.requested_bytes,
                           &stats_.segment, &stats_.reserved_bytes})
      s->peak = s->current;
  }
  /// Around a fork(), so that the child does not get the lock of a thread that it has not. For the
  /// library's own use.
  void before_fork() noexcept {
    mutex_.lock();
    is_forking_ = true;
  }
  void after_fork() noexcept {
    if (std::exchange(is_forking_, false)) mutex_.unlock();
  }
  [[nodiscard]] int device_index() const noexcept { return device_index_; }
  /// The bytes of a block for a request of `bytes` > 0.
  [[nodiscard]] static constexpr i64 rounded_size(i64 bytes) noexcept {
    return classes::size_of(classes::index_of(bytes));
  }

 private:
  // A cached block on which `stream` may queue work; `steal`: even one with unfinished work of
  // another stream, for which `stream` then waits.
  record* take_cached(int index, native_stream stream, bool steal) {
    record** link = &free_[index];
    if constexpr (!detail::is_synchronous<Device>) {
      record** found = nullptr;
      native_stream busy{};
      bool has_busy = false;
      for (record** l = link; *l != nullptr; l = &(*l)->next) {
        record& b = **l;
        if (b.any_stream || b.stream == stream) {
          found = l;
          if (!b.any_stream) break;
        } else if (found == nullptr && !(has_busy && b.stream == busy)) {
          if (on(b.stream).query()) {
            b.any_stream = true;
            found = l;
          } else {
            busy = b.stream;
            has_busy = true;
            if (steal) {
              wait_for(on(b.stream), stream);
              found = l;
            }
          }
        }
      }
      if (found == nullptr) return nullptr;
      link = found;
      if ((*link)->users != nullptr) wait_for_users(*link);
    }
    record* block = *link;
    if (block != nullptr) *link = block->next;
    return block;
  }

  void use(record* block, i64 bytes, native_stream stream) noexcept {
    block->requested = bytes;
    block->stream = stream;
    block->any_stream = false;
    block->previous = nullptr;
    block->next = in_use_;
    if (in_use_ != nullptr) in_use_->previous = block;
    in_use_ = block;
    stats_.allocation.increase(1);
    stats_.allocated_bytes.increase(classes::size_of(block->size_class));
    stats_.requested_bytes.increase(bytes);
  }
  void cache(record* block) noexcept {
    block->next = free_[block->size_class];
    free_[block->size_class] = block;
  }
  // The memory stays taken, but is the pool's no more.
  void forget(record* block) noexcept {
    stats_.segment.decrease(1);
    stats_.reserved_bytes.decrease(classes::size_of(block->size_class));
    stats_.lost_bytes += classes::size_of(block->size_class);
    while (block->users != nullptr) delete std::exchange(block->users, block->users->next);
    delete block;
  }
  void unlink(record* block) noexcept {
    (block->previous != nullptr ? block->previous->next : in_use_) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
  }

  FLAGGEMS_COLD record* allocate_slowly(int index, i64 bytes, native_stream stream,
                                        const char* op) {
    const i64 size = classes::size_of(index);
    void* data = take_from_device(size, stream);
    if (data == nullptr) {
      {
        detail::pool_lock lock(mutex_);
        if (record* block = take_cached(index, stream, true)) {
          use(block, bytes, stream);
          return block;
        }
        stats_.num_alloc_retries += 1;
      }
      empty_cache();
      data = take_from_device(size, stream);
    }
    if (data == nullptr) raise_exhausted(bytes, size, op);
    record* block = new record;
    block->data = data;
    block->size_class = index;
    detail::pool_lock lock(mutex_);
    stats_.num_device_alloc += 1;
    stats_.segment.increase(1);
    stats_.reserved_bytes.increase(size);
    use(block, bytes, stream);
    return block;
  }
  void* take_from_device(i64 size, native_stream stream) {
    device_guard<Device> guard(device_index_);
    return Device::allocate(size, stream);
  }

  // All cached blocks, as one list.
  record* detach_cache() noexcept {
    record* all = nullptr;
    for (record*& list : free_) {
      while (list != nullptr) {
        record* b = std::exchange(list, list->next);
        b->next = all;
        all = b;
      }
    }
    return all;
  }
  void give_back(record* list) {
    record *given = nullptr, *kept = nullptr;
    const auto move = [](record*& from, record*& to) {
      record* b = std::exchange(from, from->next);
      b->next = to;
      to = b;
    };
    std::exception_ptr failure;
    attempt(failure, [&] {
      device_guard<Device> guard(device_index_);
      last_waited done;
      while (list != nullptr) {
        record* b = list;
        if (attempt(failure, [&] { wait_for_all(b, done); })) {
          if (b->any_stream) b->stream = Device::default_stream();
          Device::deallocate(b->data, classes::size_of(b->size_class), b->stream);
          move(list, given);
        } else {
          move(list, kept);
        }
      }
      // A driver that frees in stream order has the memory only then.
      done = {};
      if constexpr (!detail::is_synchronous<Device>)
        for (record* b = given; b != nullptr; b = b->next)
          attempt(failure, [&] { done.wait_for(b->stream); });
    });
    {
      detail::pool_lock lock(mutex_);
      for (record** rest : {&list, &kept})
        while (*rest != nullptr) cache(std::exchange(*rest, (*rest)->next));
      for (record* b = given; b != nullptr; b = b->next) {
        stats_.num_device_free += 1;
        stats_.segment.decrease(1);
        stats_.reserved_bytes.decrease(classes::size_of(b->size_class));
      }
    }
    while (given != nullptr) delete std::exchange(given, given->next);
#if FLAGGEMS_EXCEPTIONS
    if (failure) std::rethrow_exception(failure);
#endif
  }
  // Whether f() returns rather than raises; the first failure is kept.
  template <class F>
  static bool attempt([[maybe_unused]] std::exception_ptr& first, F&& f) {
#if FLAGGEMS_EXCEPTIONS
    try {
      f();
    } catch (...) {
      if (!first) first = std::current_exception();
      return false;
    }
#else
    f();
#endif
    return true;
  }

  // Spares waiting for a stream again and again.
  struct last_waited {
    native_stream stream{};
    bool is_set = false;
    void wait_for(native_stream next) {
      if (is_set && stream == next) return;
      Device::synchronize(next);
      stream = next;
      is_set = true;
    }
  };
  static void wait_for_all(record* block, last_waited& done) {
    if constexpr (detail::is_synchronous<Device>) return;
    for (; block->users != nullptr; delete std::exchange(block->users, block->users->next))
      block->users->stream.synchronize();
    if (!block->any_stream) done.wait_for(block->stream);
  }

  stream_ref<Device> on(native_stream stream) const noexcept { return {stream, device_index_}; }
  // `later` waits for what is queued in `earlier` now.
  void wait_for(const stream_ref<Device>& earlier, native_stream later) {
    event<Device> mark(earlier.device_index());
    mark.record(earlier);
    on(later).wait(mark);
  }
  void wait_for_users(record* block) {
    for (; block->users != nullptr; delete std::exchange(block->users, block->users->next)) {
      if (block->any_stream)
        block->users->stream.synchronize();
      else
        wait_for(block->users->stream, block->stream);
    }
  }

  [[noreturn]] FLAGGEMS_COLD void raise_size(i64 bytes, const char* op) {
    if (bytes < 0)
      raise(errc::invalid_argument, op, "a size that is not negative", detail::text(bytes));
    raise_exhausted(bytes, bytes, op);
  }
  [[noreturn]] FLAGGEMS_COLD void raise_exhausted(i64 bytes, i64 size, const char* op) {
    memory_statistics s;
    {
      detail::pool_lock lock(mutex_);
      stats_.num_ooms += 1;
      s = stats_;
    }
    const device_properties p = Device::properties(device_index_);
    auto free = detail::text("");
    if (p.free_memory > 0)  // else the device does not tell
      free = detail::text(p.free_memory) + " of " + detail::text(p.total_memory) + " bytes free, ";
    raise(errc::out_of_memory, op,
          detail::text(bytes) + " bytes (a block of " + detail::text(size) + ") on " +
              detail::text(Device::name) + ":" + detail::text(device_index_),
          free + detail::text(s.allocated_bytes.current) + " in use and " +
              detail::text(s.cached_bytes()) + " cached by the pool");
  }

  mutable detail::pool_mutex mutex_;
  int device_index_;
  bool is_forking_ = false;
  record* in_use_ = nullptr;
  record* free_[classes::count] = {};
  memory_statistics stats_;
};

namespace detail {

/// The most devices of one type.
inline constexpr int max_devices = 64;

template <class Device>
atomic<memory_pool<Device>*>* pool_slots() noexcept {
  static atomic<memory_pool<Device>*> slots[max_devices] = {};
  return slots;
}
template <class Device, class F>
void for_each_pool(F&& f) noexcept {
  for (int i = 0; i < max_devices; ++i)
    if (auto* p = pool_slots<Device>()[i].load(memory_order::acquire)) f(*p);
}
template <class Device>
void guard_pools_at_fork() noexcept {
  using pool_type = memory_pool<Device>;
  const auto before = [] { for_each_pool<Device>([](pool_type& p) { p.before_fork(); }); };
  const auto after = [] { for_each_pool<Device>([](pool_type& p) { p.after_fork(); }); };
  // A pool that is made while the process forks is not locked, and after_fork knows.
  static const int registered = pthread_atfork(before, after, after);
  static_cast<void>(registered);
}
template <class Device>
FLAGGEMS_COLD memory_pool<Device>& make_pool(int device_index) {
  if (device_index < 0 || device_index >= max_devices || device_index >= Device::device_count())
    raise_no_device<Device>("pool", device_index);
  // Never destroyed: tensors of static storage duration may outlive any order of destruction, and
  // at exit a driver may be gone already.
  guard_pools_at_fork<Device>();
  auto* made = new memory_pool<Device>(device_index);
  memory_pool<Device>* there = nullptr;
  if (pool_slots<Device>()[device_index].compare_exchange_strong(there, made)) return *made;
  delete made;
  return *there;
}

template <class Device>
void release_stream(const stream_ref<Device>& stream) noexcept {
  if constexpr (!is_synchronous<Device>)
    for_each_pool<Device>([&](memory_pool<Device>& p) { p.release_stream(stream); });
}

}  // namespace detail

/// The pool of a device. Raises device_unavailable if there is no such device.
template <class Device>
[[nodiscard]] memory_pool<Device>& pool(int device_index) {
  if (device_index >= 0 && device_index < detail::max_devices) [[likely]]
    if (auto* p = detail::pool_slots<Device>()[device_index].load(detail::memory_order::acquire))
        [[likely]]
      return *p;
  return detail::make_pool<Device>(device_index);
}
/// The pool of the current device.
template <class Device>
[[nodiscard]] memory_pool<Device>& pool() {
  return pool<Device>(Device::current_device());
}

/// Memory from the pool, given back when this ends. Move only.
template <class Device>
class pool_block {
 public:
  pool_block() = default;
  /// `bytes` in the order of `stream`; 0 bytes are a null pointer. Raises out_of_memory in
  /// the name of `op`.
  pool_block(i64 bytes, const stream_ref<Device>& stream, const char* op = "allocate") {
    if (bytes == 0) return;
    pool_ = &pool<Device>(stream.device_index());
    record_ = pool_->allocate(bytes, stream.handle(), op);
  }
  pool_block(pool_block&& other) noexcept
      : pool_(other.pool_), record_(std::exchange(other.record_, nullptr)) {}
  pool_block& operator=(pool_block&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(record_, other.record_);
    return *this;
  }
  ~pool_block() {
    if (record_ != nullptr) pool_->deallocate(record_);
  }

  [[nodiscard]] void* data() const noexcept { return record_ ? record_->data : nullptr; }
  /// The device of the memory; 0 if there is none.
  [[nodiscard]] int device_index() const noexcept { return record_ ? pool_->device_index() : 0; }
  /// The bytes asked for.
  [[nodiscard]] i64 bytes() const noexcept { return record_ ? record_->requested : 0; }
  /// Keeps the memory from being used again before the work queued in `stream`, by the time this
  /// ends, is done.
  void record_stream(const stream_ref<Device>& stream) {
    if (record_ != nullptr) pool_->record_stream(record_, stream);
  }

 private:
  memory_pool<Device>* pool_ = nullptr;
  detail::pool_block_record<Device>* record_ = nullptr;
};

/// Memory from the pool of the stream's device, in the order of the stream. Raises out_of_memory.
template <class Device>
[[nodiscard]] pool_block<Device> pool_allocate(i64 bytes, const stream_ref<Device>& stream) {
  return pool_block<Device>(bytes, stream);
}
template <class Device>
[[nodiscard]] pool_block<Device> pool_allocate(i64 bytes, const stream<Device>& stream) {
  return pool_block<Device>(bytes, stream);
}

/// The statistics of a device's pool.
template <class Device>
[[nodiscard]] memory_statistics memory_stats(int device_index = Device::current_device()) {
  return pool<Device>(device_index).stats();
}
/// Makes the peaks of the statistics what is current.
template <class Device>
void reset_peak_memory_stats(int device_index = Device::current_device()) {
  pool<Device>(device_index).reset_peak_stats();
}
/// Gives the memory that the pool holds and no tensor uses back to the device. Raises what the
/// device raises.
template <class Device>
void empty_cache(int device_index = Device::current_device()) {
  pool<Device>(device_index).empty_cache();
}

}  // namespace flaggems
