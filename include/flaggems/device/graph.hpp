// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Graphs: work that is captured once and launched as a whole, at the cost of one launch.
#pragma once

#include <flaggems/device/memory_pool.hpp>
#include <flaggems/device/stream.hpp>

#include <utility>

namespace flaggems {

template <class Device>
class graph;

namespace detail {
/// The work that `f()` queues in `stream`, as a graph.
template <class Device, class F>
graph<Device> captured(const stream_ref<Device>& stream, F&& f);

// So that a device type without graphs gives one error, not ten.
template <class Device>
struct graph_handle_of {
  using type = int;
  static constexpr bool exists = false;
};
template <device_graphs Device>
struct graph_handle_of<Device> {
  using type = typename Device::graph_handle;
  static constexpr bool exists = true;
};
}  // namespace detail

/// Captured work. Each launch repeats it with the same arguments and addresses: copy new input into
/// the tensors that it reads; results are in those that it writes. Memory allocated during capture
/// belongs to the graph until that ends, also that of tensors destroyed earlier; tensors allocated
/// before must outlive the graph.
template <class Device>
class graph {
  static_assert(
      detail::graph_handle_of<Device>::exists,
      "flaggems: a device type without graphs captures nothing: ask device_graphs<Device> before");

 public:
  using device_type = Device;
  using native_handle_type = typename detail::graph_handle_of<Device>::type;

  /// No graph: as one that was moved from, it can be assigned to and destroyed.
  graph() = default;
  graph(graph&& other) noexcept { swap(other); }
  graph& operator=(graph&& other) noexcept {
    graph(std::move(other)).swap(*this);
    return *this;
  }
  /// Does not wait; queued launches still run.
  ~graph() {
    if (pool_ == nullptr) return;
    if (has_handle_)
      detail::succeeds([this] {
        const detail::on_device<Device> scope(pool_->device_index());
        Device::destroy_graph(handle_);
      });
    pool_->release(memory_);
  }

  /// Whether there is something to launch.
  explicit operator bool() const noexcept { return has_handle_; }
  /// Raises invalid_argument if there is no graph.
  [[nodiscard]] native_handle_type handle() const {
    if (!has_handle_) [[unlikely]]
      raise(errc::invalid_argument, "graph", "one that was captured",
            "none, or one that was moved from");
    return handle_;
  }
  /// The device of the stream that was captured; 0 if there is no graph.
  [[nodiscard]] int device_index() const noexcept {
    return pool_ != nullptr ? pool_->device_index() : 0;
  }

  /// Queues the work in `stream`, after earlier launches of this graph in any stream. Not
  /// thread-safe. Raises device_mismatch for a stream of another device, invalid_argument if there
  /// is no graph, and driver_error.
  void launch(const stream_ref<Device>& stream) {
    const auto captured = handle();
    detail::require_device<Device>("graph", device_index(), stream.device_index());
    const detail::on_device<Device> scope(stream.device_index());
    Device::launch_graph(captured, stream.handle());
    pool_->set_launched(memory_, stream.handle());
  }

 private:
  template <class D, class F>
  friend graph<D> detail::captured(const stream_ref<D>& stream, F&& f);

  void swap(graph& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(memory_, other.memory_);
    std::swap(handle_, other.handle_);
    std::swap(has_handle_, other.has_handle_);
  }

  memory_pool<Device>* pool_ = nullptr;
  detail::pool_reservation<Device>* memory_ = nullptr;
  native_handle_type handle_{};
  bool has_handle_ = false;
};

namespace detail {
/// A capture, ended by its destructor.
template <class Device>
class capture_scope {
 public:
  explicit capture_scope(typename Device::stream_handle stream) : stream_(stream) {
    Device::begin_capture(stream);
  }
  ~capture_scope() {
    if (is_open_) Device::abandon_capture(stream_);
  }
  capture_scope(const capture_scope&) = delete;
  capture_scope& operator=(const capture_scope&) = delete;
  auto end() {
    is_open_ = false;
    return Device::end_capture(stream_);
  }

 private:
  typename Device::stream_handle stream_;
  bool is_open_ = true;
};

template <class Device, class F>
graph<Device> captured(const stream_ref<Device>& stream, F&& f) {
  const on_device<Device> scope(stream.device_index());
  graph<Device> result;
  auto& memory = pool<Device>(stream.device_index());
  result.memory_ = memory.begin_capture(stream.handle());
  result.pool_ = &memory;
  {
    capture_scope<Device> capture(stream.handle());
    std::forward<F>(f)();
    result.handle_ = capture.end();
    result.has_handle_ = true;
  }
  memory.end_capture(result.memory_);
  return result;
}
}  // namespace detail

/// Calls `f()` once and makes a graph of the work that it queues in `stream`, which does not run
/// now. Other streams of `f` take part if they wait for an event of `stream` and `stream` finally
/// waits for them. First waits for the work queued in `stream`.
///
/// What cannot be captured raises driver_error and leaves nothing behind: waiting for a stream or
/// an event (so `to_host`, `from_host` and `from_values`), and the default stream. Allocation and
/// first launches of kernels are allowed. Device types without graphs do not compile: use `if
/// constexpr (device_graphs<Device>)`.
template <stream_like S, class F>
[[nodiscard]] graph<device_of<S>> capture(const S& stream, F&& f) {
  if constexpr (device_graphs<device_of<S>>)
    return detail::captured(ref(stream), std::forward<F>(f));
  else
    return {};
}

/// Warms up `f()`: loads every kernel that it launches in `stream`, compiling those missing from
/// the disk cache, and reserves its memory in the pool, so that its first run is not slower. `f` is
/// called once under the rules of `capture`; its work does not run. Does nothing for device types
/// whose kernels are all linked, or without graphs.
template <stream_like S, class F>
void warm_up(const S& stream, F&& f) {
  if constexpr (detail::needs_modules<device_of<S>> && device_graphs<device_of<S>>)
    static_cast<void>(detail::captured(ref(stream), std::forward<F>(f)));
}

}  // namespace flaggems
