// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, and the current device.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/device/concept.hpp>
#include <flaggems/error.hpp>

#include <type_traits>
#include <utility>

namespace flaggems {

template <class Device>
class event;
template <class Device>
class stream_ref;

namespace detail {
/// The pools' hook, once there are any, before a stream of their blocks is destroyed.
template <class Device>
inline atomic<void (*)(const stream_ref<Device>&)> before_stream_ends{nullptr};

template <class Device>
FLAGGEMS_COLD inline void raise_no_device(const char* op, int index) {
  const auto reason = Device::unavailable_reason();
  const int count = Device::device_count();
  if (count > 0)
    raise(errc::device_unavailable, op,
          text("a ") + Device::name + " device in [0, " + text(count - 1) + "]", text(index));
  raise(errc::device_unavailable, op, text("a ") + Device::name + " device",
        std::string_view(reason).empty() ? "none" : std::string_view(reason));
}
/// Whether f() returns instead of raising: for destructors.
template <class F>
bool succeeds(F&& f) noexcept {
#if FLAGGEMS_EXCEPTIONS
  try {
    f();
  } catch (...) {
    return false;
  }
#else
  f();
#endif
  return true;
}

[[noreturn]] FLAGGEMS_COLD_ONCE void raise_moved(const char* op) {
  raise(errc::invalid_argument, op, "one that was not moved from", "one that was");
}

/// Whether a device type has a single device: its current_device() is a constant.
template <class Device>
concept has_one_device = requires {
  typename std::integral_constant<int, Device::current_device()>;
};

/// Makes the device of a stream or event current for the calling thread during a call of the device
/// type, and restores the previous one.
template <class Device>
class on_device {
 public:
  explicit on_device(int index) {
    if constexpr (!has_one_device<Device>) {
      const int now = Device::current_device();
      if (now != index) [[unlikely]] {
        Device::set_device(index);
        before_ = now;
      }
    }
  }
  ~on_device() {
    if constexpr (!has_one_device<Device>)
      if (before_ >= 0) [[unlikely]]
        succeeds([this] { Device::set_device(before_); });
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;

 private:
  int before_ = -1;
};

/// Raises device_mismatch unless device `index` is that of the stream or event it is used with.
template <class Device>
void require_device(const char* op, int index, int used_with) {
  if constexpr (!has_one_device<Device>)
    if (index != used_with) [[unlikely]]
      raise(errc::device_mismatch, op, text(Device::name) + ":" + text(index),
            text(Device::name) + ":" + text(used_with));
}
}  // namespace detail

/// Makes a device current for the calling thread; the destructor restores the previous one.
template <class Device>
class device_guard {
 public:
  /// Raises device_unavailable if there is no device `index`.
  explicit device_guard(int index) : scope_(checked(index)) {}

 private:
  static int checked(int index) {
    if (index < 0 || index >= Device::device_count()) [[unlikely]]
      detail::raise_no_device<Device>("device_guard", index);
    return index;
  }
  detail::on_device<Device> scope_;
};

/// A non-owning stream: a native handle and its device's index.
template <class Device>
class stream_ref {
 public:
  using device_type = Device;
  using native_handle_type = typename Device::stream_handle;

  /// The default stream of the current device.
  stream_ref() : stream_ref(Device::default_stream()) {}
  /// A native handle on the current device.
  explicit stream_ref(native_handle_type handle) : stream_ref(handle, Device::current_device()) {}
  /// A native handle on device `device_index`. Neither is checked here; allocation checks the
  /// device (device_unavailable).
  stream_ref(native_handle_type handle, int device_index) noexcept
      : handle_(handle), device_index_(device_index) {}

  [[nodiscard]] native_handle_type handle() const noexcept { return handle_; }
  [[nodiscard]] int device_index() const noexcept { return device_index_; }

  /// Waits until all work queued so far is done.
  void synchronize() const {
    const detail::on_device<Device> scope(device_index_);
    Device::synchronize(handle_);
  }
  /// Whether all work queued so far is done.
  [[nodiscard]] bool query() const {
    const detail::on_device<Device> scope(device_index_);
    return Device::query(handle_);
  }
  /// Later work in this stream waits for the event `e` of any device. The host does not wait.
  void wait(const event<Device>& e) const {
    const auto mark = e.handle();
    const detail::on_device<Device> scope(device_index_);
    Device::wait(handle_, mark);
  }

  friend bool operator==(const stream_ref& a, const stream_ref& b) noexcept {
    return a.device_index_ == b.device_index_ && a.handle_ == b.handle_;
  }

 private:
  native_handle_type handle_;
  int device_index_;
};

/// An owned stream. Pool memory allocated in its order outlives it; if its work fails on
/// destruction, the error is dropped and the memory not reused. A moved-from stream can be assigned
/// to or destroyed; other uses raise invalid_argument.
template <class Device>
class stream {
 public:
  using device_type = Device;
  using native_handle_type = typename Device::stream_handle;

  /// On the current device. Raises device_unavailable if there is none.
  stream() : stream((require_device(), Device::current_device())) {}
  /// On device `device_index`; a lower `priority` is more urgent, 0 is ordinary, as in CUDA. Raises
  /// device_unavailable.
  explicit stream(int device_index, int priority = 0)
      : stream(device_guard<Device>(device_index), device_index, priority) {}

  stream(stream&& other) noexcept : ref_(other.ref_), owns_(std::exchange(other.owns_, false)) {}
  stream& operator=(stream&& other) noexcept {
    if (this != &other) {
      release();
      ref_ = other.ref_;
      owns_ = std::exchange(other.owns_, false);
    }
    return *this;
  }
  ~stream() { release(); }

  operator stream_ref<Device>() const { return own(); }
  [[nodiscard]] native_handle_type handle() const { return own().handle(); }
  [[nodiscard]] int device_index() const { return own().device_index(); }
  /// As those of stream_ref.
  void synchronize() const { own().synchronize(); }
  [[nodiscard]] bool query() const { return own().query(); }
  void wait(const event<Device>& e) const { own().wait(e); }

 private:
  stream(const device_guard<Device>&, int device_index, int priority)
      : ref_(Device::create_stream(priority), device_index) {}
  static void require_device() {
    if (Device::device_count() <= 0) [[unlikely]]
      detail::raise_no_device<Device>("stream", 0);
  }
  [[nodiscard]] const stream_ref<Device>& own() const {
    if (!owns_) [[unlikely]]
      detail::raise_moved("stream");
    return ref_;
  }
  void release() noexcept {
    if (!std::exchange(owns_, false)) return;
    if (auto* const tell = detail::before_stream_ends<Device>.load(detail::memory_order::acquire))
      tell(ref_);
    detail::succeeds([this] {
      const detail::on_device<Device> scope(ref_.device_index());
      Device::destroy_stream(ref_.handle());
    });
  }

  stream_ref<Device> ref_;
  bool owns_ = true;
};

/// An event: a point in a stream that streams of any device and the host can wait for, and measure
/// time with. A moved-from event can be assigned to or destroyed; other uses raise
/// invalid_argument.
template <class Device>
class event {
 public:
  using device_type = Device;
  using native_handle_type = typename Device::event_handle;

  /// Not recorded yet; on the current device.
  event() : event(Device::current_device()) {}
  /// Not recorded yet; on device `device_index`. Raises device_unavailable.
  explicit event(int device_index) : event(device_guard<Device>(device_index), device_index) {}
  event(event&& other) noexcept
      : handle_(std::exchange(other.handle_, native_handle_type{})),
        device_index_(other.device_index_),
        owns_(std::exchange(other.owns_, false)) {}
  event& operator=(event&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(device_index_, other.device_index_);
    std::swap(owns_, other.owns_);
    return *this;
  }
  ~event() {
    if (!owns_) return;
    detail::succeeds([this] {
      const detail::on_device<Device> scope(device_index_);
      Device::destroy_event(handle_);
    });
  }

  [[nodiscard]] native_handle_type handle() const {
    if (!owns_) [[unlikely]]
      detail::raise_moved("event");
    return handle_;
  }
  [[nodiscard]] int device_index() const noexcept { return device_index_; }
  /// Records all work queued in `stream` so far, replacing an earlier record. Raises
  /// device_mismatch for a stream of another device.
  void record(const stream_ref<Device>& stream) {
    const auto mark = handle();
    detail::require_device<Device>("event", device_index_, stream.device_index());
    const detail::on_device<Device> scope(device_index_);
    Device::record(mark, stream.handle());
  }
  /// Waits until the recorded work is done; returns at once if nothing was recorded.
  void synchronize() const {
    const auto mark = handle();
    const detail::on_device<Device> scope(device_index_);
    Device::synchronize_event(mark);
  }
  /// Whether the recorded work is done; true if nothing was recorded.
  [[nodiscard]] bool query() const {
    const auto mark = handle();
    const detail::on_device<Device> scope(device_index_);
    return Device::query_event(mark);
  }

 private:
  event(const device_guard<Device>&, int device_index)
      : handle_(Device::create_event()), device_index_(device_index) {}

  native_handle_type handle_;
  int device_index_;
  bool owns_ = true;
};

/// Milliseconds of device time from event a to event b, both completed. Raises device_mismatch for
/// events of two devices.
template <class Device>
[[nodiscard]] double elapsed_ms(const event<Device>& a, const event<Device>& b) {
  const auto from = a.handle(), to = b.handle();
  detail::require_device<Device>("elapsed_ms", a.device_index(), b.device_index());
  const detail::on_device<Device> scope(a.device_index());
  return static_cast<double>(Device::elapsed_ms(from, to));
}

/// The stream_ref of a stream: what operators pass on.
template <class Device>
[[nodiscard]] stream_ref<Device> ref(const stream<Device>& s) {
  return s;
}
template <class Device>
[[nodiscard]] stream_ref<Device> ref(const stream_ref<Device>& s) noexcept {
  return s;
}

/// The device type of a stream.
template <class S>
using device_of = typename std::remove_cvref_t<S>::device_type;

/// `stream<D>`, `stream_ref<D>`, and types with a `device_type` for which `ref` gives a stream_ref.
template <class S>
concept stream_like = requires(const std::remove_cvref_t<S>& s) {
  { ref(s) } -> std::same_as<stream_ref<device_of<S>>>;
};

/// Waits until all work queued in `s` so far is done.
template <stream_like S>
void synchronize(const S& s) {
  ref(s).synchronize();
}

}  // namespace flaggems
