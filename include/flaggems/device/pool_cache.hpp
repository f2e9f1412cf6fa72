// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A caching, stream-ordered memory pool for each device type and device.
//
// A freed block is immediately reusable in the order of its stream. For another stream it must be
// idle, or, when the device's memory is exhausted, that stream waits for an event. The host never
// waits.
//
// Memory allocated in the order of a stream that is being captured into a graph, by this library or
// others, belongs to the graph: it is reused there in stream order, and elsewhere once the graph
// has ended.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/freed_memory.hpp>
#include <flaggems/detail/pool_mutex.hpp>
#include <flaggems/device/pool_record.hpp>
#include <flaggems/device/stream.hpp>

#include <exception>
#include <new>
#include <utility>

namespace flaggems {

/// The alignment of the blocks of a device's pool, in bytes.
template <class Device>
inline constexpr i64 pool_alignment = Device::capabilities::host_accessible ? 64 : 256;

/// The pool of one device. Thread-safe. Obtained from `pool<Device>()`.
template <class Device>
class memory_pool {
  using record = detail::pool_block_record<Device>;
  using reservation = detail::pool_reservation<Device>;
  using classes = detail::size_classes<pool_alignment<Device>>;
  using native_stream = typename Device::stream_handle;
  // Accesses to freed memory are errors at once: sanitizers watch it.
  static constexpr bool is_watched =
      Device::capabilities::host_accessible && detail::is_synchronous<Device>;

 public:
  explicit memory_pool(int device_index) noexcept : device_index_(device_index) {}
  memory_pool(const memory_pool&) = delete;
  memory_pool& operator=(const memory_pool&) = delete;
  /// Returns all cached blocks; none may be in use.
  ~memory_pool() {
    detail::succeeds([this] { empty_cache(); });
  }

  /// A block of at least `bytes` > 0 for work in the order of `stream`. Raises out_of_memory, after
  /// a retry with the cache emptied, and invalid_argument for a negative size, both in the name of
  /// `op`; also the device's errors of earlier work on freed blocks.
  [[nodiscard]] record* allocate(i64 bytes, native_stream stream, const char* op = "allocate") {
    if (bytes < 0 || bytes > classes::largest) [[unlikely]]
      raise_size(bytes, op);
    const int index = classes::index_of(bytes);
    record* block = nullptr;
    reservation* owner = nullptr;
    {
      detail::pool_lock lock(mutex_);
      if (any_has_ended_.load(detail::memory_order::relaxed)) [[unlikely]]
        end_captures_of_others();
      owner = capture_of(stream);
      // Prefers a larger cached block to a new one: gradually growing sizes would leave one of
      // each.
      for (int larger = 0; larger <= 2 && block == nullptr; ++larger)
        block = owner == nullptr ? take_cached(index + larger, stream, false)
                                 : take_reserved(*owner, index + larger, stream);
      if (block != nullptr) use(block, bytes, stream, owner);
    }
    if (block == nullptr) block = allocate_slowly(index, bytes, stream, op, owner);
    return block;
  }

  /// Frees a block: it can be reused by work queued in its stream after this. If the device fails,
  /// the block waits for its users when it is reused or returned.
  void deallocate(record* block) noexcept {
    block->sharers.store(0, detail::memory_order::relaxed);
    const i64 size = classes::size_of(block->size_class);
    if constexpr (is_watched) detail::mark_freed(block->data, block->checked, size);
    detail::pool_lock lock(mutex_);
    reservation* const owner = owner_of_freed(*block);
    if (block->users != nullptr && owner == nullptr)
      detail::succeeds([&] { wait_for_users(block); });
    unlink(block);
    stats_.allocation.decrease(1);
    stats_.allocated_bytes.decrease(size);
    stats_.requested_bytes.decrease(block->requested);
    if (owner != nullptr)
      block->next = std::exchange(owner->unused, block);
    else
      keep(block);
  }

  /// Declares that `stream`, other than the block's own, uses the block: once freed, it is not
  /// reused before that work is done. As torch.Tensor.record_stream.
  void record_stream(record* block, const stream_ref<Device>& stream) {
    if constexpr (detail::is_synchronous<Device>) return;
    detail::pool_lock lock(mutex_);
    if (!(on(block->stream) == stream) || block->any_stream) block->add_user(stream);
  }

  /// Must be called before a stream of any device is destroyed (`flaggems::stream` does): waits for
  /// it. Its blocks then belong to no stream or, if that fails, are never reused (lost_bytes).
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
      // Captured work runs only with its graph, which knows where it was launched.
      const auto has_work = [&] {
        return b->owner == nullptr ||
               !(b->is_captured || is_captured_for(*b->owner, stream.handle()));
      };
      for (typename record::user** link = &b->users; *link != nullptr;) {
        if ((*link)->stream == stream) {
          if (has_work() && !wait()) b->is_lost = true;
          delete std::exchange(*link, (*link)->next);
        } else {
          link = &(*link)->next;
        }
      }
      if (b->any_stream || !(on(b->stream) == stream)) return;
      if (has_work() && !wait()) b->is_lost = true;
      b->any_stream = true;
    };
    for (record* b = in_use_; b != nullptr; b = b->next) release(b);
    for (reservation* r = reservations_; r != nullptr; r = r->next) {
      for (record* b = r->unused; b != nullptr; b = b->next) release(b);
      if (r->any_stream || !(on(r->stream) == stream)) continue;
      if (!wait()) r->is_lost = true;
      r->any_stream = true;
    }
    for (record*& list : free_)
      for (record** link = &list; *link != nullptr;) {
        release(*link);
        if ((*link)->is_lost)
          forget(std::exchange(*link, (*link)->next));
        else
          link = &(*link)->next;
      }
  }

  /// Returns all cached blocks to the device once the work on them is done. Raises what the device
  /// raises; blocks for which it failed stay cached. Blocks other users of this pool.
  void empty_cache() {
    std::exception_ptr failure;
    {
      // Held throughout: streams that are waited for must not be destroyed concurrently.
      detail::pool_lock lock(mutex_);
      end_captures_of_others();
      attempt(failure, [&] { give_back_cached(failure); });
    }
#if FLAGGEMS_EXCEPTIONS
    if (failure) std::rethrow_exception(failure);
#endif
  }

  /// From now on new memory comes from `source`, which must outlive it; from the device again if
  /// that is null. Empties the cache. What came from another source goes back there once it is
  /// freed, at the latest with the cache. Raises what the device raises.
  void set_source(memory_source<Device>* source) {
    empty_cache();
    source_.store(source);
  }

  /// For `graph`: from now on allocations in the order of `stream` belong to the graph. Waits for
  /// the stream. Raises what the device raises, and invalid_argument if it is already captured.
  [[nodiscard]] reservation* begin_capture(native_stream stream) requires(device_graphs<Device>) {
    if (Device::is_capturing(stream)) [[unlikely]]
      raise(errc::invalid_argument, "capture", "a stream that is not being captured",
            "one that is");
    Device::synchronize(stream);
    auto* const made = new reservation;
    made->stream = stream;
    detail::pool_lock lock(mutex_);
    // During a capture the stream's progress cannot be queried.
    for (record* list : free_)
      for (record* b = list; b != nullptr; b = b->next)
        if (b->stream == stream) b->any_stream = true;
    made->next = std::exchange(reservations_, made);
    captures_ += 1;
    return made;
  }
  /// For `graph`: the capture is over.
  void end_capture(reservation* r) noexcept {
    detail::pool_lock lock(mutex_);
    if (std::exchange(r->is_capturing, false)) captures_ -= 1;
  }
  /// For `graph`: it was launched in `stream`. Launches of one graph are ordered, so waiting for
  /// the last one suffices.
  void set_launched(reservation* r, native_stream stream) noexcept {
    detail::pool_lock lock(mutex_);
    r->stream = stream;
    r->any_stream = false;
  }
  /// For `graph`: it has ended. Its blocks are reusable in the order of its last launch.
  void release(reservation* r) noexcept {
    end_capture(r);
    detail::pool_lock lock(mutex_);
    reservation** link = &reservations_;
    while (*link != r) link = &(*link)->next;
    drop(link);
  }

  [[nodiscard]] memory_statistics stats() const {
    detail::pool_lock lock(mutex_);
    return stats_;
  }
  /// Resets every peak to the current value.
  void reset_peak_stats() {
    detail::pool_lock lock(mutex_);
    for (memory_stat* s : {&stats_.allocation, &stats_.allocated_bytes, &stats_.requested_bytes,
                           &stats_.segment, &stats_.reserved_bytes})
      s->peak = s->current;
  }
  /// Around a fork(), so that the child does not inherit a lock of a thread it lacks. Internal.
  void before_fork() noexcept {
    mutex_.lock();
    is_forking_ = true;
  }
  void after_fork() noexcept {
    if (std::exchange(is_forking_, false)) mutex_.unlock();
  }
  [[nodiscard]] int device_index() const noexcept { return device_index_; }
  /// The stream in whose order a used block was allocated; the default stream if that has ended.
  [[nodiscard]] stream_ref<Device> stream_of(const record& block) const {
    detail::pool_lock lock(mutex_);
    return on(block.any_stream ? Device::default_stream() : block.stream);
  }
  /// The bytes of a block for a request of `bytes` > 0.
  [[nodiscard]] static constexpr i64 rounded_size(i64 bytes) noexcept {
    return classes::size_of(classes::index_of(bytes));
  }

 private:
  // A cached block that `stream` may use; `steal`: even one with unfinished work of another stream,
  // for which `stream` then waits.
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
        } else if (found == nullptr && !(has_busy && b.stream == busy) && !is_captured(b.stream)) {
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

  // A block for captured work: an unused one of the graph, or a cached idle one. Streams cannot be
  // queried or waited for.
  record* take_reserved(reservation& r, int index, native_stream stream) noexcept {
    for (record** l = &r.unused; *l != nullptr; l = &(*l)->next)
      if ((*l)->size_class == index && (*l)->stream == stream && !(*l)->any_stream)
        return std::exchange(*l, (*l)->next);
    for (record** l = &free_[index]; *l != nullptr; l = &(*l)->next)
      if ((*l)->any_stream && (*l)->users == nullptr) return std::exchange(*l, (*l)->next);
    return nullptr;
  }
  // Releases the blocks of a graph that has ended, and forgets it.
  void drop(reservation** link) noexcept {
    reservation* const r = std::exchange(*link, (*link)->next);
    const auto settle = [&](record* b) {
      b->owner = nullptr;
      b->is_lost = b->is_lost || r->is_lost;
      if (b->is_captured) {
        b->any_stream = true;
        b->forget_users();
      }
      if (r->any_stream) return;
      if (b->any_stream) {
        b->stream = r->stream;
        b->any_stream = false;
      } else if (!(b->stream == r->stream)) {
        if (!detail::succeeds([&] { b->add_user(on(r->stream)); })) b->is_lost = true;
      }
    };
    for (record* b = in_use_; b != nullptr; b = b->next)
      if (b->owner == r) settle(b);
    while (r->unused != nullptr) {
      record* b = std::exchange(r->unused, r->unused->next);
      settle(b);
      keep(b);
    }
    delete r;
  }
  void end_captures_of_others() noexcept {
    if (!any_has_ended_.exchange(false)) return;
    for (reservation** link = &reservations_; *link != nullptr;)
      if ((*link)->has_ended.load())
        drop(link);
      else
        link = &(*link)->next;
  }
  // The graph being captured in `stream`, or by this thread in a stream that `stream` joined. A
  // capture begun elsewhere is registered here.
  reservation* capture_of([[maybe_unused]] native_stream stream) {
    if constexpr (device_graphs<Device>) {
      const bool is_captured = Device::is_capturing(stream);
      if (captures_ != 0) [[unlikely]]
        for (reservation* r = reservations_; r != nullptr; r = r->next)
          if (r->is_capturing &&
              (r->stream == stream || (pthread_equal(r->thread, pthread_self()) && is_captured)))
            return r;
      if (is_captured) [[unlikely]]
        return capture_of_others(stream);
    }
    return nullptr;
  }
  FLAGGEMS_COLD reservation* capture_of_others(native_stream stream) {
    const u64 id = Device::capture_id(stream);
    for (reservation* r = reservations_; r != nullptr; r = r->next)
      if (r->capture_id == id) return r;
    auto* const made = new reservation;
    made->is_capturing = false;
    made->any_has_ended = &any_has_ended_;
    made->next = std::exchange(reservations_, made);
    Device::at_graph_end(stream, reservation::end, made);
    made->capture_id = id;
    return made;
  }
  // Whether work queued in `stream` now goes into the graph.
  static bool is_captured_for([[maybe_unused]] const reservation& r,
                              [[maybe_unused]] native_stream stream) noexcept {
    if constexpr (device_graphs<Device>) {
      u64 id = 0;
      if (r.is_capturing) return true;
      if (r.capture_id != 0 && !r.has_ended.load())
        detail::succeeds([&] { id = Device::capture_id(stream); });
      return id != 0 && id == r.capture_id;
    }
    return false;
  }
  static bool is_captured([[maybe_unused]] native_stream stream) {
    if constexpr (device_graphs<Device>)
      return Device::is_capturing(stream);
    else
      return false;
  }
  // The graph that keeps a freed block. A block from before the capture that is freed during it is
  // still read by the graph's launches: it becomes the graph's and is not reused there.
  reservation* owner_of_freed(record& b) noexcept {
    if constexpr (device_graphs<Device>) {
      if (b.owner != nullptr && !b.any_stream && is_captured_for(*b.owner, b.stream)) {
        b.is_captured = !b.owner->is_capturing;
        b.any_stream = b.users != nullptr;
      }
      if (b.owner != nullptr || captures_ == 0) [[likely]]
        return b.owner;
      for (reservation* r = reservations_; r != nullptr; r = r->next) {
        const bool is_in_order = r->stream == b.stream && !b.any_stream;
        if (!r->is_capturing || !(is_in_order || pthread_equal(r->thread, pthread_self())))
          continue;
        if (!is_in_order && !b.any_stream)
          if (!detail::succeeds([&] { b.add_user(on(b.stream)); })) b.is_lost = true;
        b.any_stream = true;
        return b.owner = r;
      }
    }
    return b.owner;
  }

  void use(record* block, i64 bytes, native_stream stream, reservation* owner) noexcept {
    if constexpr (is_watched)
      block->checked = detail::mark_used(block->data, bytes, classes::size_of(block->size_class));
    block->requested = bytes;
    block->owner = owner;
    block->stream = stream;
    block->any_stream = block->is_captured = false;
    block->previous = nullptr;
    block->next = in_use_;
    if (in_use_ != nullptr) in_use_->previous = block;
    in_use_ = block;
    stats_.allocation.increase(1);
    stats_.allocated_bytes.increase(classes::size_of(block->size_class));
    stats_.requested_bytes.increase(bytes);
  }
  // A freed block: for later work, or back to a source that keeps it itself.
  void keep(record* block) noexcept {
    if (block->is_lost) return forget(block);
    if (block->source != nullptr && block->source->keeps_freed() && block->users == nullptr) {
      give_back(*block);
      count_given(block);
      return;
    }
    block->next = free_[block->size_class];
    free_[block->size_class] = block;
  }
  void give_back(record& b) {
    const i64 size = classes::size_of(b.size_class);
    if (b.any_stream) b.stream = Device::default_stream();
    if constexpr (is_watched) detail::mark_used(b.data, size, size);
    if (b.source != nullptr)
      b.source->deallocate(b.data, size, on(b.stream));
    else
      Device::deallocate(b.data, size, b.stream);
  }
  void count_given(record* block) noexcept {
    stats_.num_device_free += 1;
    stats_.segment.decrease(1);
    stats_.reserved_bytes.decrease(classes::size_of(block->size_class));
    delete block;
  }
  // The memory stays allocated but leaves the pool.
  void forget(record* block) noexcept {
    stats_.segment.decrease(1);
    stats_.reserved_bytes.decrease(classes::size_of(block->size_class));
    stats_.lost_bytes += classes::size_of(block->size_class);
    block->forget_users();
    delete block;
  }
  void unlink(record* block) noexcept {
    (block->previous != nullptr ? block->previous->next : in_use_) = block->next;
    if (block->next != nullptr) block->next->previous = block->previous;
  }

  FLAGGEMS_COLD record* allocate_slowly(int index, i64 bytes, native_stream stream, const char* op,
                                        reservation* owner) {
    const i64 size = classes::size_of(index);
    struct prepared {  // first, so that a failure does not lose the memory
      record* block = new record;
      ~prepared() { delete block; }
    } made;
    memory_source<Device>* const source = source_.load(detail::memory_order::acquire);
    void* data = take(source, size, stream);
    if (data == nullptr) {
      {
        detail::pool_lock lock(mutex_);
        if (record* block = owner == nullptr ? take_cached(index, stream, true) : nullptr) {
          use(block, bytes, stream, owner);
          return block;
        }
        stats_.num_alloc_retries += 1;
      }
      empty_cache();
      data = take(source, size, stream);
    }
    if (data == nullptr) raise_exhausted(bytes, size, op);
    record* const block = std::exchange(made.block, nullptr);
    block->data = data;
    block->source = source;
    block->size_class = index;
    detail::pool_lock lock(mutex_);
    stats_.num_device_alloc += 1;
    stats_.segment.increase(1);
    stats_.reserved_bytes.increase(size);
    reservation* still = reservations_;  // a capture broken elsewhere may have ended its graph
    while (still != owner && still != nullptr) still = still->next;
    use(block, bytes, stream, still);
    return block;
  }
  void* take(memory_source<Device>* source, i64 size, native_stream stream) {
    const device_guard<Device> guard(device_index_);
    return source != nullptr ? source->allocate(size, on(stream)) : Device::allocate(size, stream);
  }

  // All cached blocks but those of streams that cannot be waited for now.
  void give_back_cached(std::exception_ptr& failure) {
    bool any = false;
    for (const record* list : free_) any = any || list != nullptr;
    if (!any) return;
    const device_guard<Device> guard(device_index_);
    record* given = nullptr;
    last_waited done;
    for (record*& list : free_)
      for (record** link = &list; *link != nullptr;) {
        record* const b = *link;
        bool is_idle = false;
        attempt(failure, [&] { is_idle = !has_captured_work(*b) && wait_for_all(b, done); });
        if (!is_idle) {
          link = &b->next;
          continue;
        }
        give_back(*b);
        *link = std::exchange(b->next, given);
        given = b;
      }
    // Drivers that free in stream order release the memory only then.
    done = {};
    if constexpr (!detail::is_synchronous<Device>)
      for (record* b = given; b != nullptr; b = b->next)
        attempt(failure, [&] { done.wait_for(b->stream); });
    while (given != nullptr) count_given(std::exchange(given, given->next));
  }
  static bool has_captured_work(const record& b) {
    bool has = !b.any_stream && is_captured(b.stream);
    for (const auto* u = b.users; u != nullptr; u = u->next)
      has = has || is_captured(u->stream.handle());
    return has;
  }
  // Whether f() returns instead of raising; the first failure is stored.
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

  // Avoids waiting for one stream repeatedly.
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
  // True once no work uses the block.
  static bool wait_for_all(record* block, last_waited& done) {
    if constexpr (detail::is_synchronous<Device>) return true;
    for (; block->users != nullptr; delete std::exchange(block->users, block->users->next))
      block->users->stream.synchronize();
    if (!block->any_stream) done.wait_for(block->stream);
    return true;
  }

  stream_ref<Device> on(native_stream stream) const noexcept { return {stream, device_index_}; }
  // `later` waits for the work queued in `earlier` so far.
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
    detail::raise_exhausted<Device>(op, device_index_, bytes, size, s);
  }

  mutable detail::pool_mutex mutex_;
  int device_index_;
  bool is_forking_ = false;
  detail::atomic<memory_source<Device>*> source_{nullptr};  // null: the device
  record* in_use_ = nullptr;
  record* free_[classes::count] = {};
  reservation* reservations_ = nullptr;        // of all graphs
  int captures_ = 0;                           // of them, captures by this library
  detail::atomic<bool> any_has_ended_{false};  // of captures begun elsewhere
  memory_statistics stats_;
};

}  // namespace flaggems
