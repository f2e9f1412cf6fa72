// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What a memory pool is made of: where its memory comes from, statistics, size classes, blocks, and
// a graph's reservation.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <pthread.h>

#include <utility>

namespace flaggems {

template <class Device>
class stream_ref;

/// An allocator in the place of the device's own, such as a framework's: memory_pool::set_source.
/// Several threads call it at a time; it does not call the pool.
template <class Device>
class memory_source {
 public:
  virtual ~memory_source() = default;
  /// `bytes` on the stream's device, which is current, for work in the stream's order; aligned to
  /// pool_alignment<Device>; null if there are none left. What it raises, the allocation raises.
  [[nodiscard]] virtual void* allocate(i64 bytes, const stream_ref<Device>& stream) = 0;
  /// Takes memory back. Work queued in the stream may still use it: that of the allocation, or the
  /// device's default stream if that has ended.
  virtual void deallocate(void* data, i64 bytes, const stream_ref<Device>& stream) noexcept = 0;
  /// Whether it keeps freed memory itself and reuses it in stream order: then the pool keeps none.
  [[nodiscard]] virtual bool keeps_freed() const noexcept = 0;
};

/// A quantity's statistics, as in torch.cuda.memory_stats.
struct memory_stat {
  i64 current = 0;    ///< now
  i64 peak = 0;       ///< maximum since the start or reset_peak_memory_stats
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
  i64 num_alloc_retries = 0;    ///< retries after emptying the cache
  i64 num_ooms = 0;             ///< retries that failed
  i64 num_device_alloc = 0;     ///< calls of the device's allocate that gave memory
  i64 num_device_free = 0;      ///< calls of the device's deallocate
  i64 lost_bytes = 0;           ///< blocks never reused: their stream failed when it was destroyed

  /// Bytes allocated from the device that no tensor uses.
  [[nodiscard]] i64 cached_bytes() const noexcept {
    return reserved_bytes.current - allocated_bytes.current;
  }
};

namespace detail {

// ---- size classes: eight per octave, so that rounding wastes at most an eighth
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
struct pool_reservation;

template <class Device>
struct pool_block_record {
  void* data = nullptr;
  i64 requested = 0;
  i64 checked = 0;         // the first byte that must not be written
  atomic<int> sharers{0};  // owners besides the first, see pool_block::share
  int size_class = 0;
  bool any_stream = false;   // idle: usable in any stream
  bool is_lost = false;      // its stream failed and is gone: its state is unknown
  bool is_captured = false;  // all work on it is in its owner, a graph captured elsewhere
  typename Device::stream_handle stream{};
  pool_reservation<Device>* owner = nullptr;  // the graph whose launches use it
  memory_source<Device>* source = nullptr;    // what it came from; null: the device
  pool_block_record* next = nullptr;          // in a list of free or used blocks
  pool_block_record* previous = nullptr;      // of used blocks
  struct user {
    stream_ref<Device> stream;  // possibly of another device
    user* next;
  };
  user* users = nullptr;  // other streams that used it, from record_stream

  void add_user(const stream_ref<Device>& s) {
    for (const user* u = users; u != nullptr; u = u->next)
      if (u->stream == s) return;
    users = new user{s, users};
  }
  void forget_users() noexcept {
    while (users != nullptr) delete std::exchange(users, users->next);
  }
};

/// The blocks of a graph: every launch uses them again, so they serve nothing else until it ends. A
/// graph captured elsewhere signals the pool, from any thread, when it and its launches have ended.
template <class Device>
struct pool_reservation {
  typename Device::stream_handle stream{};  // the captured stream, later that of the last launch
  pthread_t thread = pthread_self();        // the capturing thread
  bool is_capturing = true;
  bool any_stream = true;                       // no launch is pending
  bool is_lost = false;                         // as in a block
  pool_block_record<Device>* unused = nullptr;  // of no tensor; with `any_stream` never reused
  pool_reservation* next = nullptr;

  u64 capture_id = 0;                     // of a capture begun elsewhere
  atomic<bool> has_ended{false};          // its graph has
  atomic<bool>* any_has_ended = nullptr;  // the pool's
  static void end(void* reservation) noexcept {
    auto* const r = static_cast<pool_reservation*>(reservation);
    atomic<bool>* const any = r->any_has_ended;  // then it may be gone
    r->has_ended.store(true);
    any->store(true);
  }
};

/// The pool's memory is exhausted: a block of `size` for a request of `bytes`.
template <class Device>
[[noreturn]] FLAGGEMS_COLD void raise_exhausted(const char* op, int device_index, i64 bytes,
                                                i64 size, const memory_statistics& s) {
  const auto p = Device::properties(device_index);
  auto free = text("");
  if (p.free_memory > 0)  // 0: the device does not report it
    free = text(p.free_memory) + " of " + text(p.total_memory) + " bytes free, ";
  raise(errc::out_of_memory, op,
        text(bytes) + " bytes (a block of " + text(size) + ") on " + text(Device::name) + ":" +
            text(device_index),
        free + text(s.allocated_bytes.current) + " in use and " + text(s.cached_bytes()) +
            " cached by the pool");
}

}  // namespace detail

}  // namespace flaggems
