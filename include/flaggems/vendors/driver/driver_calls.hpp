// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls of a CUDA-like driver: with the thread's device or context current, results checked. And
// its graphs, where it has any.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/vendors/driver/driver.hpp>
#include <flaggems/vendors/driver/synchronous.hpp>

#include <type_traits>

namespace flaggems::detail {

/// Calls, and the device that they are for.
template <class Api>
struct driver_calls {
  static int device_count() noexcept { return driver().device_count(); }
  /// The calling thread's: 0 until set, as in the vendor's runtime.
  static int current_device() {
    if (device_count() == 0) return 0;
    int device = 0;
    if constexpr (has_contexts) {
      thread_local bool has_context = false;
      if (!has_context) [[unlikely]]
        has_context = adopt_context();
      const int result = functions().context_device.call(&device);
      if (result != 0 && result != Api::numbers.invalid_context) [[unlikely]]
        driver().raise_result("current_device", functions().context_device.name, result);
    } else {
      call("current_device", functions().get_device, &device);
    }
    return device;
  }
  /// Makes a device's primary context current for the calling thread: the one that the vendor's
  /// runtime, and so PyTorch, uses. It is retained until the program ends. Raises
  /// device_unavailable.
  static void set_device(int index) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      raise_no_device<typename Api::device_type>("set_device", index);
    if constexpr (has_contexts)
      call("set_device", functions().context_set, context_of(index));
    else
      call("set_device", functions().set_device, index);
  }

 protected:
  [[noreturn]] FLAGGEMS_COLD static void raise_no_function(const char* function) {
    if (device_count() == 0) raise_no_device<typename Api::device_type>(Api::name, 0);
    raise(errc::not_supported, Api::name, "a function that Api::functions names",
          function != nullptr ? function : "none for this call");
  }

  // What the driver has.
  static constexpr driver_functions names = Api::functions;
  static constexpr bool has_contexts = names.context_retain.exists();
  static constexpr bool has_attributes = names.launch.exists();  // of launches

  // During its lifetime the thread may allocate, free, load code, and wait for streams that are not
  // being captured, while others are, by this library or by PyTorch in another thread.
  class relaxed_capture_scope {
   public:
    relaxed_capture_scope() noexcept : is_set_(exchange()) {}
    ~relaxed_capture_scope() {
      if (is_set_) exchange();
    }
    relaxed_capture_scope(const relaxed_capture_scope&) = delete;
    relaxed_capture_scope& operator=(const relaxed_capture_scope&) = delete;

   private:
    bool exchange() noexcept {
      const auto swap = functions().exchange_capture_mode.call;
      return swap != nullptr && swap(&mode_) == 0;
    }
    int mode_ = Api::numbers.capture_relaxed;
    bool is_set_;
  };

  static const detail::driver<Api>& driver() noexcept { return detail::driver<Api>::get(); }
  static const driver_functions& functions() noexcept { return driver().functions(); }
  static u64 address_of(const void* p) noexcept { return reinterpret_cast<u64>(p); }

  // The driver's number of a device.
  static int number_of(const char* op, int index) {
    int device = index;
    if constexpr (names.device_get.exists()) call(op, functions().device_get, &device, index);
    return device;
  }
  static void* context_of(int index) {
    static atomic<void*> contexts[max_devices];
    void* context = contexts[index].load(memory_order::acquire);
    if (context == nullptr) {
      call("set_device", functions().context_retain, &context, number_of("set_device", index));
      contexts[index].store(context, memory_order::release);
    }
    return context;
  }
  // Enables peer access to the other device's memory, where supported: otherwise copies go through
  // the host.
  FLAGGEMS_COLD static void enable_peer(int here, int there) {
    const relaxed_capture_scope scope;
    int can = 0;
    call("copy", functions().can_access_peer, &can, number_of("copy", here),
         number_of("copy", there));
    if (can == 0) return;
    const auto enable = [](const auto& function, auto peer) {
      const int result = result_of(function, peer, 0U);
      if (result != 0 && result != Api::numbers.peer_already_enabled) [[unlikely]]
        driver().raise_result("copy", function.name, result);
    };
    if constexpr (has_contexts)
      enable(functions().enable_peer, context_of(there));
    else
      enable(functions().enable_peer_device, there);
  }

  // Threads that set no device use the first. False without its context: the first call that needs
  // it reports why.
  static bool adopt_context() noexcept {
    void* context = nullptr;
    if (functions().context_get.call(&context) != 0) return false;
    return context != nullptr || succeeds([] { set_device(0); });
  }
  // The thread's context may have been replaced.
  template <class... Params, class... Args>
  static int result_of(const driver_function<int(Params...)>& function, Args... args) {
    if (function.call == nullptr) [[unlikely]]
      raise_no_function(function.name);
    const int result = function.call(static_cast<Params>(args)...);
    if (!has_contexts || result != Api::numbers.invalid_context) [[likely]]
      return result;
    set_device(0);
    return function.call(static_cast<Params>(args)...);
  }
  template <class F, class... Args>
  static void call(const char* op, const F& function, Args... args) {
    const int result = result_of(function, args...);
    if (result != 0) [[unlikely]]
      driver().raise_result(op, function.name, result);
  }
  template <class F, class Handle>
  static bool is_done(const char* op, const F& function, Handle handle) {
    const int result = result_of(function, handle);
    if (result != 0 && result != Api::numbers.not_ready) [[unlikely]]
      driver().raise_result(op, function.name, result);
    return result == 0;
  }
};

/// Streams and events.
template <class Api>
struct driver_streams : driver_calls<Api> {
  using stream_handle = typename Api::stream;
  static stream_handle create_stream([[maybe_unused]] int priority) {
    void* stream = nullptr;
    if constexpr (names.create_stream.exists())
      call("stream", functions().create_stream, &stream, Api::numbers.independent_stream, priority);
    else
      call("stream", functions().create_plain_stream, &stream, Api::numbers.independent_stream);
    return static_cast<stream_handle>(stream);
  }
  static void destroy_stream(stream_handle s) noexcept { functions().destroy_stream.call(s); }
  static void synchronize(stream_handle s) {
    const relaxed_capture_scope scope;
    call("synchronize", functions().synchronize, s);
  }
  static bool query(stream_handle s) {
    const relaxed_capture_scope scope;
    return is_done("query", functions().query, s);
  }
  static stream_handle default_stream() noexcept { return nullptr; }

  // ---- events
  using event_handle = typename Api::event;
  static event_handle create_event() {
    void* event = nullptr;
    call("event", functions().create_event, &event, 0U);
    return static_cast<event_handle>(event);
  }
  static void destroy_event(event_handle e) noexcept { functions().destroy_event.call(e); }
  static void record(event_handle e, stream_handle s) { call("record", functions().record, e, s); }
  static void wait(stream_handle s, event_handle e) { call("wait", functions().wait, s, e, 0U); }
  static void synchronize_event(event_handle e) {
    const relaxed_capture_scope scope;
    call("synchronize", functions().synchronize_event, e);
  }
  static bool query_event(event_handle e) {
    const relaxed_capture_scope scope;
    return is_done("query", functions().query_event, e);
  }
  static double elapsed_ms(event_handle from, event_handle to) {
    float ms = 0;
    call("elapsed_ms", functions().elapsed, &ms, from, to);
    return static_cast<double>(ms);
  }

 protected:
  using calls = driver_calls<Api>;
  using calls::call;
  using calls::functions;
  using calls::is_done;
  using calls::names;
  using relaxed_capture_scope = typename calls::relaxed_capture_scope;
};

/// The graphs of a device type (`device_graphs`).
template <class Api>
struct driver_graphs : driver_streams<Api> {
  using stream_handle = typename Api::stream;
  using graph_handle = typename Api::graph;
  static void begin_capture(stream_handle s) {
    call("capture", functions().begin_capture, s, Api::numbers.capture_of_thread);
  }
  static graph_handle end_capture(stream_handle s) {
    void *graph = nullptr, *executable = nullptr;
    call("capture", functions().end_capture, s, &graph);
    const int result = result_of(functions().instantiate, &executable, graph, 0ULL);
    functions().destroy_graph.call(graph);
    if (result != 0) [[unlikely]]
      driver().raise_result("capture", functions().instantiate.name, result);
    return static_cast<graph_handle>(executable);
  }
  static void abandon_capture(stream_handle s) noexcept {
    void* graph = nullptr;
    functions().end_capture.call(s, &graph);
    if (graph != nullptr) functions().destroy_graph.call(graph);
  }
  static bool is_capturing(stream_handle s) {
    int status = 0;
    call("capture", functions().is_capturing, s, &status);
    return status != 0;
  }
  static u64 capture_id(stream_handle s) {
    u64 id = 0;
    void* graph = nullptr;
    if (const int result = capture_of(s, id, graph); result != 0) [[unlikely]]
      driver().raise_result("capture", functions().capture_info.name, result);
    return id;
  }
  /// By a driver's user object, which the graph and its executables reference.
  static void at_graph_end(stream_handle s, void (*f)(void*), void* data) {
    const relaxed_capture_scope scope;
    u64 id = 0;
    void *graph = nullptr, *object = nullptr;
    const char* name = functions().capture_info.name;
    int result = capture_of(s, id, graph);
    if (result == 0) {
      name = functions().create_user_object.name;
      result = result_of(functions().create_user_object, &object, data, f, 1U,
                         Api::numbers.unsynchronized_object);
    }
    if (object != nullptr) {
      name = functions().retain_user_object.name;
      result = result_of(functions().retain_user_object, graph, object, 1U, 0U);
      // only the graph's reference remains, if any
      functions().release_user_object.call(object, 1U);
    } else {
      f(data);
    }
    if (result != 0) [[unlikely]]
      driver().raise_result("capture", name, result);
  }
  static void launch_graph(graph_handle g, stream_handle s) {
    call("graph", functions().launch_graph, g, s);
  }
  static void destroy_graph(graph_handle g) noexcept { functions().destroy_executable.call(g); }

 protected:
  using calls = driver_calls<Api>;
  using calls::call;
  using calls::driver;
  using calls::functions;
  using calls::result_of;
  using relaxed_capture_scope = typename calls::relaxed_capture_scope;

  // The capture of a stream, and its graph; id 0 if there is none.
  static int capture_of(stream_handle s, u64& id, void*& graph) {
    int status = 0;
    const int result =
        result_of(functions().capture_info, s, &status, &id, &graph, nullptr, nullptr);
    id = result == 0 && status == Api::numbers.is_active ? id + 1 : 0;
    return result != 0 || status == 0 || id != 0 ? result : Api::numbers.capture_invalidated;
  }
};

/// Those of a driver without any: its calls return when their work is done.
template <class Api>
struct driver_without_streams : driver_calls<Api>, synchronous_streams {};

/// What a device type with a driver of `Api` has before memory and launches.
template <class Api>
using driver_base =
    std::conditional_t<Api::functions.begin_capture.exists(), driver_graphs<Api>,
                       std::conditional_t<Api::functions.synchronize.exists(), driver_streams<Api>,
                                          driver_without_streams<Api>>>;

}  // namespace flaggems::detail
