// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory pools of the devices of a type, one each.
#pragma once

#include <flaggems/detail/stay_loaded.hpp>
#include <flaggems/device/pool_cache.hpp>

namespace flaggems {

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
  // A pool created during a fork is not locked; after_fork handles it.
  static const int registered = pthread_atfork(before, after, after);
  static_cast<void>(registered);
}
template <class Device>
void release_stream(const stream_ref<Device>& stream) {
  for_each_pool<Device>([&](memory_pool<Device>& p) { p.release_stream(stream); });
}

template <class Device>
FLAGGEMS_COLD memory_pool<Device>& make_pool(int device_index) {
  if (device_index < 0 || device_index >= max_devices || device_index >= Device::device_count())
    raise_no_device<Device>("pool", device_index);
  // Never destroyed: tensors of static storage duration may outlive it, and at exit the driver may
  // already be gone.
  stay_loaded();
  guard_pools_at_fork<Device>();
  if constexpr (!is_synchronous<Device>) before_stream_ends<Device>.store(&release_stream<Device>);
  auto* made = new memory_pool<Device>(device_index);
  memory_pool<Device>* there = nullptr;
  if (pool_slots<Device>()[device_index].compare_exchange_strong(there, made)) return *made;
  delete made;
  return *there;
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

}  // namespace flaggems
