// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory from a device's pool, and the pool's statistics.
#pragma once

#include <flaggems/device/pools.hpp>

#include <utility>

namespace flaggems {

/// Memory from the pool, freed when this and all that share it have ended. Move only.
template <class Device>
class pool_block {
 public:
  pool_block() = default;
  /// `bytes` in the order of `stream`; 0 bytes give a null pointer. Raises out_of_memory in the
  /// name of `op`. (Out of line: tensors of all types share it.)
  FLAGGEMS_NOINLINE pool_block(i64 bytes, const stream_ref<Device>& stream,
                               const char* op = "allocate") {
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
    if (record_ == nullptr) return;
    // A sole owner, the common case, cannot gain another.
    if (record_->sharers.load(detail::memory_order::acquire) == 0 ||
        record_->sharers.fetch_sub(1) == 0)
      pool_->deallocate(record_);
  }
  /// Another owner of the same memory.
  [[nodiscard]] pool_block share() const noexcept {
    pool_block other;
    if (record_ != nullptr) record_->sharers.fetch_add(1, detail::memory_order::relaxed);
    other.pool_ = pool_;
    other.record_ = record_;
    return other;
  }

  [[nodiscard]] void* data() const noexcept { return record_ ? record_->data : nullptr; }
  /// The device of the memory; 0 if empty.
  [[nodiscard]] int device_index() const noexcept { return record_ ? pool_->device_index() : 0; }
  /// The stream in whose order the memory is used; the device's default stream if empty.
  [[nodiscard]] stream_ref<Device> stream() const {
    return record_ != nullptr ? pool_->stream_of(*record_) : stream_ref<Device>();
  }
  /// The requested bytes.
  [[nodiscard]] i64 bytes() const noexcept { return record_ ? record_->requested : 0; }
  /// Delays reuse of the memory, once freed, until the work that `stream` has queued by then is
  /// done.
  void record_stream(const stream_ref<Device>& stream) {
    if (record_ != nullptr) pool_->record_stream(record_, stream);
  }

 private:
  memory_pool<Device>* pool_ = nullptr;
  detail::pool_block_record<Device>* record_ = nullptr;
};

/// Memory from the pool of the stream's device, in stream order. Raises out_of_memory.
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
/// Resets the peaks of the statistics to the current values.
template <class Device>
void reset_peak_memory_stats(int device_index = Device::current_device()) {
  pool<Device>(device_index).reset_peak_stats();
}
/// Returns the pool's unused memory to the device. Raises what the device raises.
template <class Device>
void empty_cache(int device_index = Device::current_device()) {
  pool<Device>(device_index).empty_cache();
}

}  // namespace flaggems
