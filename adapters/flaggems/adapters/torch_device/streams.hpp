// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Devices, streams and events of a device type, as PyTorch's PrivateUse1 asks for them. Part of
// torch_device.hpp.
#pragma once

#include <flaggems/adapters/torch.hpp>
#include <flaggems/device/pools.hpp>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <mutex>
#include <optional>
#include <type_traits>

namespace flaggems::detail {

/// PyTorch's streams of a device type: number 0 is a device's default stream; the others are made
/// when they are first asked for, handed out in turn, and live as long as the program.
template <class Device>
class torch_streams {
 public:
  static constexpr int per_device = 32;

  /// The number of the calling thread's current stream of a device.
  [[nodiscard]] static c10::StreamId& current(int device_index) {
    thread_local std::array<c10::StreamId, max_devices> numbers{};
    return numbers[static_cast<std::size_t>(checked(device_index))];
  }
  [[nodiscard]] static stream_ref<Device> get(c10::StreamId number, int device_index) {
    if (number == 0) {
      const on_device<Device> scope(device_index);
      return {Device::default_stream(), device_index};
    }
    const std::lock_guard lock(mutex());
    const auto& all = made(device_index);
    check(number > 0 && number <= per_device && all[static_cast<std::size_t>(number) - 1],
          errc::invalid_argument, "torch_streams", "a stream of this device");
    return *all[static_cast<std::size_t>(number) - 1];
  }
  [[nodiscard]] static c10::StreamId next(int device_index) {
    const std::lock_guard lock(mutex());
    static std::array<int, max_devices> turns{};
    const auto turn = static_cast<std::size_t>(
        turns[static_cast<std::size_t>(checked(device_index))]++ % per_device);
    auto& one = made(device_index)[turn];
    if (!one) one.emplace(device_index);
    return static_cast<c10::StreamId>(turn) + 1;
  }
  /// Waits for what all streams of a device have queued.
  static void synchronize(int device_index) {
    get(0, device_index).synchronize();
    const std::lock_guard lock(mutex());
    for (const auto& one : made(device_index))
      if (one) one->synchronize();
  }

 private:
  using streams_of_device = std::array<std::optional<stream<Device>>, per_device>;
  static int checked(int device_index) {
    if (device_index < 0 || device_index >= max_devices) [[unlikely]]
      raise_no_device<Device>("torch_streams", device_index);
    return device_index;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static streams_of_device& made(int device_index) {
    // Never destroyed: at exit the driver may be gone.
    static auto* const all = new std::array<streams_of_device, max_devices>;
    return (*all)[static_cast<std::size_t>(checked(device_index))];
  }
};

/// What torch_device<Device> is of a device type that is PyTorch's PrivateUse1 itself.
template <class Device>
struct torch_private_device {
  static constexpr c10::DeviceType type = c10::DeviceType::PrivateUse1;
  static constexpr c10::DispatchKey key = c10::DispatchKey::PrivateUse1;
  static int current_device() { return Device::current_device(); }
  static typename Device::stream_handle current_stream(int device_index) {
    const auto number = torch_streams<Device>::current(device_index);
    return torch_streams<Device>::get(number, device_index).handle();
  }
};

/// PyTorch's device of an index; of the current one if that is -1.
template <class Device>
c10::Device torch_device_of(int index) {
  const int i = index < 0 ? Device::current_device() : index;
  return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(i)};
}

template <class Device>
class torch_guard final : public c10::impl::DeviceGuardImplInterface {
  using streams = torch_streams<Device>;
  static stream_ref<Device> stream_of(const c10::Stream& s) {
    return streams::get(s.id(), s.device_index());
  }
  static c10::Stream torch_stream_of(c10::StreamId number, c10::Device d) {
    return c10::Stream(c10::Stream::UNSAFE, torch_device_of<Device>(d.index()), number);
  }
  static event<Device>& event_of(void* e) { return *static_cast<event<Device>*>(e); }

 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device d) const override {
    const c10::Device before = getDevice();
    if (before != d) setDevice(d);
    return before;
  }
  c10::Device getDevice() const override { return torch_device_of<Device>(-1); }
  void setDevice(c10::Device d) const override {
    if (d.index() >= 0) Device::set_device(d.index());
  }
  void uncheckedSetDevice(c10::Device d) const noexcept override {
    succeeds([&] { setDevice(d); });
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(Device::device_count());
  }

  c10::Stream getStream(c10::Device d) const override {
    return torch_stream_of(streams::current(torch_device_of<Device>(d.index()).index()), d);
  }
  c10::Stream getDefaultStream(c10::Device d) const override { return torch_stream_of(0, d); }
  c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override {
    return torch_stream_of(streams::next(torch_device_of<Device>(d.index()).index()), d);
  }
  c10::Stream getNewStream(c10::Device d, int) const override {
    return getStreamFromGlobalPool(d, false);
  }
  c10::Stream exchangeStream(c10::Stream s) const override {
    const c10::Stream before = getStream(s.device());
    streams::current(s.device_index()) = s.id();
    return before;
  }
  void* getStreamNativeHandle(const c10::Stream s) const override {
    const auto handle = stream_of(s).handle();
    if constexpr (std::is_pointer_v<std::remove_const_t<decltype(handle)>>)
      return const_cast<void*>(static_cast<const void*>(handle));
    else
      raise(errc::not_supported, "native_handle", "a device type whose streams are pointers",
            Device::name);
  }
  bool queryStream(const c10::Stream& s) const override { return stream_of(s).query(); }
  void synchronizeStream(const c10::Stream& s) const override { stream_of(s).synchronize(); }
  void synchronizeDevice(const c10::DeviceIndex d) const override {
    streams::synchronize(torch_device_of<Device>(d).index());
  }

  void record(void** e, const c10::Stream& s, const c10::DeviceIndex,
              const c10::EventFlag) const override {
    if (*e == nullptr) *e = new event<Device>(s.device_index());
    event_of(*e).record(stream_of(s));
  }
  void block(void* e, const c10::Stream& s) const override {
    if (e != nullptr) stream_of(s).wait(event_of(e));
  }
  bool queryEvent(void* e) const override { return e == nullptr || event_of(e).query(); }
  void synchronizeEvent(void* e) const override {
    if (e != nullptr) event_of(e).synchronize();
  }
  double elapsedTime(void* from, void* to, const c10::DeviceIndex) const override {
    check(from != nullptr && to != nullptr, errc::invalid_argument, "elapsed_time",
          "events that were recorded");
    return elapsed_ms(event_of(from), event_of(to));
  }
  void destroyEvent(void* e, const c10::DeviceIndex) const noexcept override {
    delete static_cast<event<Device>*>(e);
  }

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& s) const override {
    c10::getDeviceAllocator(type())->recordStream(data, s);
  }
};

}  // namespace flaggems::detail
