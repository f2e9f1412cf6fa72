// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Cambricon's MLUs through CNDrv (libcndrv.so), opened at first use: memory, queues, notifiers,
// modules, and launches of a module's kernels by task type. Ours have no form for their cores yet,
// so that a launch of an operator does not compile. No MLU has run it. UNCONFIRMED: that copies
// take memory of the host that CNDrv did not allocate, that a notifier may be placed again or
// destroyed while a queue waits for it, as CUDA's events may.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/vendors/driver/vector_core.hpp>
#include <flaggems/vendors/mlu/driver.hpp>

namespace flaggems {

/// How many cores do a job of a launch together: those of a block, or of so many clusters of four.
enum class mlu_task : int {
  block = 1,
  union1 = 4,
  union2 = 8,
  union4 = 16,
  union8 = 32,
  union16 = 64
};

/// Cambricon's MLUs. Streams are CNqueue.
struct mlu : detail::vector_core_device<mlu, detail::cndrv> {
  static constexpr const char* name = "mlu";

  // ---- discovery: more of it in the base
  static int current_device() {
    void* context = nullptr;
    if (device_count() == 0) return 0;
    call("current_device", library().context_get, &context);
    if (context == nullptr) {  // a thread has none until it sets one
      set_device(0);
      return 0;
    }
    u64 device = 0;
    call("current_device", library().context_device, &device);
    for (int k = 0; k < device_count(); ++k)
      if (library().handles[k] == device) return k;
    raise(errc::device_unavailable, "current_device", "a context of a device that there is",
          "another");
  }
  static void set_device(int index) {
    require(index, "set_device");
    call("set_device", library().context_set, context_of(index));
  }
  static device_properties properties(int index) {
    const char* const op = "properties";
    require(index, op);
    const u64 device = library().handles[index];
    const auto attribute = [&](int which) {
      int value = 0;
      call(op, library().device_attribute, &value, which, device);
      return value;
    };
    char words[256] = {};
    call(op, library().device_name, &words[0], sizeof(words), device);
    const device_guard<mlu> guard(index);
    u64 unused = 0, total = 0;
    call(op, library().memory_info, &unused, &total);
    device_properties p;
    p.name = static_cast<const char*>(words);
    p.arch = detail::text("mtp_") + detail::text(attribute(detail::cndrv::architecture));
    p.compute_units = library().cores[index];
    p.shared_memory_per_block = attribute(detail::cndrv::core_memory);
    p.memory_bus_bits = attribute(detail::cndrv::memory_bits);
    p.total_memory = static_cast<i64>(total);
    p.free_memory = static_cast<i64>(unused);
    return p;
  }

  // ---- streams and events: more of them in the base
  static stream_handle create_stream(int /*priority*/) {
    current_device();
    stream_handle queue = nullptr;
    call("stream", library().create_stream, &queue, 0U);
    return queue;
  }
  static bool query(stream_handle s) { return is_done("query", library().query, s); }
  /// One of ours a device: which queue a null handle is nobody says.
  static stream_handle default_stream() {
    static detail::atomic<void*> queues[detail::max_devices];
    if (device_count() == 0) return nullptr;
    detail::atomic<void*>& queue = queues[current_device()];
    if (void* const there = queue.load()) return there;
    void *const made = create_stream(0), *expected = nullptr;
    if (queue.compare_exchange_strong(expected, made)) return made;
    destroy_stream(made);  // another thread was faster
    return expected;
  }

  static event_handle create_event() {
    current_device();
    void* native = nullptr;
    call("event", library().create_event, &native, 0U);
    return new detail::recorded_event{native};
  }
  static bool query_event(event_handle e) {
    return !e->recorded.load() || is_done("query", library().query_event, e->native);
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    current_device();
    return allocated<u64>("allocate", library().allocate, (std::max)(bytes, i64{1}));
  }
  /// Waits for the stream: that the driver does so nobody says.
  static void deallocate(void* data, i64, stream_handle s) noexcept {
    library().synchronize.call(s);
    library().deallocate.call(address_of(data));
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind, stream_handle s) {
    if (bytes <= 0) return;
    switch (kind) {
      case copy_kind::host_to_device:
        return call("copy", library().copy_to_device, address_of(to), from, bytes, s);
      case copy_kind::device_to_host:
        return call("copy", library().copy_to_host, to, address_of(from), bytes, s);
      case copy_kind::device_to_device:
        return call("copy", library().copy_on_device, address_of(to), address_of(from), bytes, s);
    }
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes > 0) call("fill", library().fill, address_of(data), byte, bytes, s);
  }
  static void* allocate_pinned(i64 bytes) {
    current_device();
    return allocated("pinned", library().allocate_pinned, bytes);
  }

  // ---- modules: fat binaries of BANG C
  using module_handle = void*;
  using function_handle = void*;
  static module_handle load_module(const void* image, i64 /*bytes*/) {
    current_device();
    module_handle module = nullptr;
    call("load_module", library().load_module, image, &module);
    return module;
  }
  static void unload_module(module_handle module) noexcept { library().unload_module.call(module); }
  static function_handle find_function(module_handle module, const char* named) {
    function_handle kernel = nullptr;
    call("find_function", library().find_kernel, module, named, &kernel);
    return kernel;
  }

  /// How many cores of `cores` a launch of `tiles` takes: a multiple of its task's, at least one
  /// such. Kernels stride over the tiles.
  [[nodiscard]] static constexpr i64 cores_for(i64 tiles, mlu_task task, i64 cores) noexcept {
    const i64 of_job = static_cast<int>(task);
    const i64 wanted = (tiles + of_job - 1) / of_job * of_job;
    return (std::max)((std::min)(wanted, cores / of_job * of_job), of_job);
  }
  /// Queues a kernel of a module for `tiles`, for implementations of your own. Raises
  /// invalid_argument if the current device has fewer cores than the task takes.
  template <class... Args>
  static void invoke(stream_handle s, function_handle kernel, i64 tiles, mlu_task task,
                     const Args&... args) {
    const int cores = library().cores[current_device()];
    check(tiles > 0 && static_cast<int>(task) <= cores, errc::invalid_argument, "invoke",
          "tiles, and a task of no more cores than the device has");
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): the driver reads them
    void* arguments[] = {const_cast<void*>(static_cast<const void*>(&args))..., nullptr};
    call("invoke", library().invoke, kernel, cores_for(tiles, task, cores), 1U, 1U,
         static_cast<int>(task), 0U, s, &arguments[0], nullptr);
  }

  /// The driver's name of a result, its number and words.
  static detail::text error_text(int code) {
    const char *named = nullptr, *words = nullptr;
    if (device_count() > 0) {
      library().error_name.call(code, &named);
      library().error_string.call(code, &words);
    }
    return detail::text(named != nullptr ? named : "CNDrv result") + " (" + detail::text(code) +
           ")" + (words != nullptr ? detail::text(": ") + words : detail::text());
  }

  // ---- policies: more of them in the base
  struct argument_abi {
    static constexpr argument_kind kind = argument_kind::pointer_array;
    static constexpr int alignment = 1;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::bundle};
  };

 private:
  static u64 address_of(const void* data) noexcept { return reinterpret_cast<u64>(data); }
  template <class F>
  static bool is_done(const char* op, const F& function, void* handle) {
    const int result = result_of(function, handle);
    if (result != 0 && result != detail::cndrv::not_ready) [[unlikely]]
      raise_result(op, function, result);
    return result == 0;
  }
  // The one that all users of a device share, kept.
  static void* context_of(int index) {
    static detail::atomic<void*> contexts[detail::max_devices];
    if (void* const there = contexts[index].load()) return there;
    void* made = nullptr;
    call("context", library().context_retain, &made, library().handles[index]);
    contexts[index].store(made);
    return made;
  }
};

template <>
inline constexpr bool host_accessible<mlu> = false;

static_assert(check_device<mlu>());

}  // namespace flaggems
