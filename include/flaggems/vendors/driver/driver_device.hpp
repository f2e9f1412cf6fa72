// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The common part of device types with a CUDA-like driver. A vendor derives from
// driver_device<Api>; its Api has the names of libraries and functions, and the constants.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/device/check_device.hpp>
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/kernel/block/simt/tensor_map.hpp>
#include <flaggems/vendors/driver/driver.hpp>
#include <flaggems/vendors/driver/linked.hpp>
#include <flaggems/vendors/driver/precompiled.hpp>
#include <flaggems/vendors/driver/runtime_compiler.hpp>

namespace flaggems {

namespace detail {

/// A kernel's instance on one device; zero until loaded.
struct loaded_kernel {
  atomic<void*> function{nullptr};
  int max_threads = 0;    // per block, by its registers: whole warps
  int compute_units = 0;  // of the device
  int max_cluster = 1;    // maximum of launch_config::cluster
  bool overlaps = false;  // uses programmatic dependent launch
  i64 max_shared = 0;     // maximal dynamic shared memory, in bytes
};

/// Called with every instance before a device type of `Api` first loads it. For simulated drivers.
template <class Api>
struct instance_observer {
  template <class Kernel, class... Args>
  static void on_first_launch(const kernel_instance&) {}
};

// Locked while a kernel is compiled and loaded.
inline pool_mutex loading;

}  // namespace detail

template <class Api>
struct driver_device {
  // ---- discovery
  static int device_count() noexcept { return driver().device_count(); }
  static detail::text unavailable_reason() { return driver().reason(); }
  /// The calling thread's: 0 until set, as in the vendor's runtime.
  static int current_device() {
    if (device_count() == 0) return 0;
    thread_local bool has_context = false;
    if (!has_context) [[unlikely]]
      has_context = adopt_context();
    int device = 0;
    const int result = functions().context_device.call(&device);
    if (result != 0 && result != Api::numbers.invalid_context) [[unlikely]]
      driver().raise_result("current_device", functions().context_device.name, result);
    return device;
  }
  /// Makes a device's primary context current for the calling thread: the one that the vendor's
  /// runtime, and so PyTorch, uses. It is retained until the program ends. Raises
  /// device_unavailable.
  static void set_device(int index) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      detail::raise_no_device<typename Api::device_type>("set_device", index);
    call("set_device", functions().context_set, context_of(index));
  }
  static device_properties properties(int index) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      detail::raise_no_device<typename Api::device_type>("properties", index);
    const detail::driver_numbers& n = Api::numbers;
    const char* const op = "properties";
    int device = 0;
    call(op, functions().device_get, &device, index);
    const auto attribute = [&](int which) {
      int value = 0;
      call(op, functions().device_attribute, &value, which, device);
      return value;
    };
    char name[256] = {};
    call(op, functions().device_name, name, int{sizeof(name)}, device);
    std::size_t total = 0;
    call(op, functions().device_memory, &total, device);
    device_properties p;
    p.name = name;
    p.arch = Api::target(attribute(n.capability_major), attribute(n.capability_minor));
    p.compute_units = attribute(n.compute_units);
    p.warp_size = attribute(n.warp_size);
    p.max_threads_per_block = attribute(n.max_threads_per_block);
    p.shared_memory_per_block = attribute(n.shared_memory);
    p.max_cluster = attribute(n.has_clusters) != 0 ? n.most_cluster : 1;
    p.l2_cache = attribute(n.l2_cache);
    p.clock_khz = attribute(n.clock_khz);
    p.memory_clock_khz = attribute(n.memory_clock_khz);
    p.memory_bus_bits = attribute(n.memory_bus_bits);
    p.total_memory = static_cast<i64>(total);
    const device_guard<typename Api::device_type> guard(index);
    std::size_t unused = 0;
    call(op, functions().memory_info, &unused, &total);
    p.free_memory = static_cast<i64>(unused);
    return p;
  }

  // ---- streams
  using stream_handle = typename Api::stream;
  static stream_handle create_stream(int priority) {
    void* stream = nullptr;
    call("stream", functions().create_stream, &stream, Api::numbers.independent_stream, priority);
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

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    const relaxed_capture_scope scope;
    u64 address = 0;
    const int result =
        result_of(functions().allocate, &address, static_cast<std::size_t>(bytes < 1 ? 1 : bytes));
    if (result == Api::numbers.out_of_memory) return nullptr;
    if (result != 0) [[unlikely]]
      driver().raise_result("allocate", functions().allocate.name, result);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): driver addresses are numbers
    return reinterpret_cast<void*>(address);
  }
  static void deallocate(void* data, i64, stream_handle) noexcept {
    const relaxed_capture_scope scope;
    functions().deallocate.call(address_of(data));
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind, stream_handle s) {
    if (bytes <= 0) return;
    const auto n = static_cast<std::size_t>(bytes);
    switch (kind) {
      case copy_kind::host_to_device:
        return call("copy", functions().copy_to_device, address_of(to), from, n, s);
      case copy_kind::device_to_host:
        return call("copy", functions().copy_to_host, to, address_of(from), n, s);
      case copy_kind::device_to_device:
        return call("copy", functions().copy_on_device, address_of(to), address_of(from), n, s);
    }
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes > 0)
      call("fill", functions().fill, address_of(data), static_cast<unsigned char>(byte),
           static_cast<std::size_t>(bytes), s);
  }

  /// From the device `from_device` to the current one; `s` is a stream of the latter.
  static void copy_from_peer(void* to, const void* from, i64 bytes, int from_device,
                             stream_handle s) {
    static detail::atomic<bool> is_enabled[detail::max_devices][detail::max_devices];
    const int here = current_device();
    if (!is_enabled[here][from_device].load(detail::memory_order::acquire)) [[unlikely]] {
      enable_peer(here, from_device);
      is_enabled[here][from_device].store(true, detail::memory_order::release);
    }
    call("copy", functions().copy_peer, address_of(to), context_of(here), address_of(from),
         context_of(from_device), static_cast<std::size_t>(bytes), s);
  }
  static void* allocate_pinned(i64 bytes) {
    current_device();  // ensures a context
    const relaxed_capture_scope scope;
    void* address = nullptr;
    const int result = result_of(functions().allocate_pinned, &address,
                                 static_cast<std::size_t>(bytes), Api::numbers.portable_memory);
    if (result == Api::numbers.out_of_memory) return nullptr;
    if (result != 0) [[unlikely]]
      driver().raise_result("pinned", functions().allocate_pinned.name, result);
    return address;
  }
  static void deallocate_pinned(void* data) noexcept {
    const relaxed_capture_scope scope;
    functions().deallocate_pinned.call(data);
  }

  // ---- graphs
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

  // ---- modules
  using module_handle = typename Api::module;
  using function_handle = typename Api::function;
  static module_handle load_module(const void* image, i64 /*bytes*/) {
    void* module = nullptr;
    call("load_module", functions().load_module, &module, image);
    return static_cast<module_handle>(module);
  }
  static void unload_module(module_handle m) noexcept { functions().unload_module.call(m); }
  static function_handle find_function(module_handle m, const char* name) {
    void* function = nullptr;
    call("find_function", functions().find_function, &function, m, name);
    return static_cast<function_handle>(function);
  }

  // ---- tensor maps
  /// Encodes a map for a device's copy engine, if it has one. The map has been checked.
  static void encode_tensor_map(kernels::tensor_map& map, int index) {
    const char* const op = "tensor_map_of";
    int device = 0, can = 0;
    call(op, functions().device_get, &device, index);
    call(op, functions().device_attribute, &can, Api::numbers.has_tensor_maps, device);
    if (can == 0) return;
    const auto& encode = functions().encode_tensor_map;
    if (encode.call == nullptr)
      raise(errc::not_supported, op, detail::text("a driver with ") + encode.name, "an older one");
    constexpr unsigned steps[] = {1, 1, 1, 1, 1};
    // Unsigned integers of 1, 2, 4 or 8 bytes stand for all types of that size.
    const int type = map.element == 8 ? 4 : static_cast<int>(map.element / 2);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    void* const address = reinterpret_cast<void*>(map.address);
    call(op, encode, map.encoded, type, static_cast<unsigned>(map.rank), address, map.sizes,
         map.strides + 1, map.box, steps, 0, __builtin_ctz(map.swizzle), Api::numbers.l2_promotion,
         0);
  }

  // ---- errors, launch
  static detail::text error_text(int code) { return driver().error_text(code); }

  template <class Kernel, class... Args>
  static void launch(stream_handle stream, const launch_config& config, const Args&... args) {
    launch_on<Kernel>(current_device(), stream, config, args...);
  }
  /// The same for callers that know the current device, to save a driver call.
  template <class Kernel, class... Args>
  static void launch_on(int device, stream_handle stream, const launch_config& config,
                        const Args&... args) {
    const detail::loaded_kernel& kernel = loaded<Kernel, Args...>(device, config.op);
    kernels::argument_pack<Args...> pack = kernels::pack_of(args...);
    launch_packed(kernel, stream, config, device, &pack);
  }
  /// How many blocks of such a launch are resident on the current device, `device`.
  template <class Kernel, class... Args>
  static i64 resident_blocks_on(int device, const launch_config& config, const Args&...) {
    const detail::loaded_kernel& kernel = loaded<Kernel, Args...>(device, config.op);
    const i64 shared = kernels::exchange_bytes + config.scratch;
    const bool fits = shared <= kernel.max_shared;
    const i64 room = blocks_per_unit(kernel, config, fits ? shared : kernels::exchange_bytes);
    const i64 most = !fits                        ? workspace_blocks
                     : config.blocks_per_unit > 0 ? config.blocks_per_unit
                                                  : room;
    return kernel.compute_units * (std::min)(room, most);
  }
  template <class Kernel, class... Args>
  static int most_cluster_on(int device, const launch_config& config, const Args&...) {
    return loaded<Kernel, Args...>(device, config.op).max_cluster;
  }
  template <class Kernel, class... Args>
  static int most_threads_on(int device, const launch_config& config, const Args&...) {
    return loaded<Kernel, Args...>(device, config.op).max_threads;
  }

 private:
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

  // The capture of a stream, and its graph; id 0 if there is none.
  static int capture_of(stream_handle s, u64& id, void*& graph) {
    int status = 0;
    const int result =
        result_of(functions().capture_info, s, &status, &id, &graph, nullptr, nullptr);
    id = result == 0 && status == Api::numbers.is_active ? id + 1 : 0;
    return result != 0 || status == 0 || id != 0 ? result : Api::numbers.capture_invalidated;
  }

  static const detail::driver<Api>& driver() noexcept { return detail::driver<Api>::get(); }
  static const detail::driver_functions& functions() noexcept { return driver().functions(); }
  static u64 address_of(const void* p) noexcept { return reinterpret_cast<u64>(p); }

  static void* context_of(int index) {
    static detail::atomic<void*> contexts[detail::max_devices];
    void* context = contexts[index].load(detail::memory_order::acquire);
    if (context == nullptr) {
      int device = 0;
      call("set_device", functions().device_get, &device, index);
      call("set_device", functions().context_retain, &context, device);
      contexts[index].store(context, detail::memory_order::release);
    }
    return context;
  }
  // Enables peer access to the other device's memory, where supported: otherwise copies go through
  // the host.
  FLAGGEMS_COLD static void enable_peer(int here, int there) {
    const relaxed_capture_scope scope;
    int device = 0, peer = 0, can = 0;
    call("copy", functions().device_get, &device, here);
    call("copy", functions().device_get, &peer, there);
    call("copy", functions().can_access_peer, &can, device, peer);
    if (can == 0) return;
    const int result = result_of(functions().enable_peer, context_of(there), 0U);
    if (result != 0 && result != Api::numbers.peer_already_enabled) [[unlikely]]
      driver().raise_result("copy", functions().enable_peer.name, result);
  }

  // Threads that set no device use the first. False without its context: the first call that needs
  // it reports why.
  static bool adopt_context() noexcept {
    void* context = nullptr;
    if (functions().context_get.call(&context) != 0) return false;
    return context != nullptr || detail::succeeds([] { set_device(0); });
  }
  // The thread's context may have been replaced.
  template <class... Params, class... Args>
  static int result_of(const detail::driver_function<int(Params...)>& function, Args... args) {
    if (function.call == nullptr) [[unlikely]]
      detail::raise_no_device<typename Api::device_type>(Api::name, 0);
    const int result = function.call(static_cast<Params>(args)...);
    if (result != Api::numbers.invalid_context) [[likely]]
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

  struct owned_module {
    ~owned_module() {
      if (module != module_handle{}) unload_module(module);
    }
    module_handle module{};
  };
  // By the providers in order.
  static void* find_image(const char* op, const detail::kernel_instance& instance,
                          std::string_view target, owned_module& code) {
    using compiler = detail::runtime_compiler<Api>;
    if (const detail::linked_kernel* linked = detail::linked_kernel::of(instance)) {
      void* function = nullptr;
      const int result = linked->find(&function);
      if (result == 0) return function;
      if (!compiler::has_names(instance))
        raise(errc::driver_error, op,
              detail::text("code for ") + target + " of what nvcc compiled with the program",
              error_text(result));
    }
    std::string compiled;
    std::string_view image = detail::precompiled_image_of<Api>(instance, target);
    if (image.empty()) image = compiled = compiler::get().image_of(op, instance, target);
    code.module = load_module(image.data(), static_cast<i64>(image.size()));
    return find_function(code.module, detail::entry_name);
  }

  template <class Kernel, class... Args>
  FLAGGEMS_HOST_INLINE static const detail::loaded_kernel& loaded(int device, const char* op) {
    static detail::loaded_kernel kernels[detail::max_devices];
    detail::loaded_kernel& kernel = kernels[device];
    if (kernel.function.load(detail::memory_order::acquire) == nullptr) [[unlikely]] {
      constexpr const detail::kernel_instance& instance = detail::instance_of<Kernel, Args...>;
      detail::instance_observer<Api>::template on_first_launch<Kernel, Args...>(instance);
      detail::register_linked<Kernel, Args...>();
      load(kernel, op, instance, device);
    }
    return kernel;
  }
  FLAGGEMS_COLD static void load(detail::loaded_kernel& kernel, const char* op,
                                 const detail::kernel_instance& instance, int device) {
    if (device_count() == 0) detail::raise_no_device<typename Api::device_type>(op, 0);
    const detail::pool_lock lock(detail::loading);
    const relaxed_capture_scope scope;
    if (kernel.function.load() != nullptr) return;        // another thread was faster
    static device_properties known[detail::max_devices];  // querying takes longer than loading
    device_properties& p = known[device];
    if (p.compute_units == 0) p = properties(device);
    owned_module code;
    void* const function = find_image(op, instance, p.arch.view(), code);
    call(op, functions().function_attribute, &kernel.max_threads, Api::numbers.function_max_threads,
         function);
    kernel.max_threads -= kernel.max_threads % Api::warp_size;
    // Shared memory beyond the default limit needs an opt-in.
    kernel.max_shared = p.shared_memory_per_block;
    call(op, functions().set_function_attribute, function, Api::numbers.function_max_shared,
         static_cast<int>(kernel.max_shared));
    kernel.compute_units = p.compute_units;
    int target = 0, version = 0;
    call(op, functions().function_attribute, &target, Api::numbers.function_target, function);
    call(op, functions().version, &version);
    kernel.max_cluster = target >= Api::numbers.cluster_target ? p.max_cluster : 1;
    kernel.overlaps =
        target >= Api::numbers.overlapping_target && version >= Api::numbers.overlapping_version;
    code.module = {};  // it stays loaded until the program ends
    kernel.function.store(function, detail::memory_order::release);
  }

  static void launch_packed(const detail::loaded_kernel& kernel, stream_handle stream,
                            const launch_config& config, int device, void* pack) {
    if (config.cluster != 1) return launch_clusters(kernel, stream, config, device, pack);
    const i64 shared = kernels::exchange_bytes + config.scratch;
    if (shared > kernel.max_shared) [[unlikely]]
      return launch_in_workspace(kernel, stream, config, device, pack);
    const i64 most_blocks = config.blocks_per_unit > 0
                                ? i64{kernel.compute_units} * config.blocks_per_unit
                                : i64{Api::device_type::geometry::max_grid};
    start(kernel, stream, config, (std::min)(config.tiles, most_blocks), shared, pack, nullptr, 0);
  }
  static void launch_clusters(const detail::loaded_kernel& kernel, stream_handle stream,
                              launch_config config, int device, void* pack) {
    const int blocks = (std::min)(config.cluster, kernel.max_cluster);
    const i64 shared =
        kernels::exchange_bytes + kernels::round_up(config.scratch, 16) + kernels::mailbox_bytes;
    if (blocks <= 1 || shared > kernel.max_shared) {
      config.threads *= config.cluster;
      config.cluster = 1;
      return launch_packed(kernel, stream, config, device, pack);
    }
    config.threads *= config.cluster / blocks;
    config.cluster = blocks;
    const i64 most = config.blocks_per_unit > 0 ? i64{kernel.compute_units} * config.blocks_per_unit
                                                : i64{Api::device_type::geometry::max_grid};
    start(kernel, stream, config,
          (std::min)(config.tiles, (std::max)(most / blocks, i64{1})) * blocks, shared, pack,
          nullptr, 0);
  }
  /// Blocks per SM with scratch in a workspace: two hide each other's latency.
  static constexpr i64 workspace_blocks = 2;
  /// Scratch beyond shared memory is in global memory, a slice per block.
  FLAGGEMS_COLD static void launch_in_workspace(const detail::loaded_kernel& kernel,
                                                stream_handle stream, const launch_config& config,
                                                int device, void* pack) {
    const i64 slice = kernels::round_up(config.scratch, 256);
    // Only for blocks that are resident at once: more slices would be unused.
    const i64 at_once = blocks_per_unit(kernel, config, kernels::exchange_bytes);
    const i64 grid =
        (std::min)(config.tiles, i64{kernel.compute_units} * (std::min)(at_once, workspace_blocks));
    const pool_block<typename Api::device_type> memory =
        pool_allocate(slice * grid, stream_ref<typename Api::device_type>(stream, device));
    start(kernel, stream, config, grid, kernels::exchange_bytes, pack,
          static_cast<unsigned char*>(memory.data()), slice);
  }
  static unsigned threads_of(const detail::loaded_kernel& kernel, const launch_config& config) {
    const int wanted = kernels::round_up((std::max)(config.threads, 1), Api::warp_size);
    return static_cast<unsigned>((std::min)(wanted, kernel.max_threads));
  }
  static i64 blocks_per_unit(const detail::loaded_kernel& kernel, const launch_config& config,
                             i64 shared) {
    int blocks = 0;
    call(config.op, functions().occupancy, &blocks, kernel.function.load(),
         static_cast<int>(threads_of(kernel, config)), static_cast<std::size_t>(shared));
    return (std::max)(blocks, 1);
  }
  static void start(const detail::loaded_kernel& kernel, stream_handle stream,
                    const launch_config& config, i64 grid, i64 shared, void* pack,
                    unsigned char* workspace, i64 slice) {
    void* arguments[] = {pack, &workspace, &slice};
    static constexpr detail::driver_launch_attribute overlaps{Api::numbers.launch_overlaps, 0, {1}};
    detail::driver_launch_attribute both[2];
    detail::driver_launch how;
    how.grid[0] = static_cast<unsigned>(grid);
    how.block[0] = threads_of(kernel, config);
    how.shared_bytes = static_cast<unsigned>(shared);
    how.stream = stream;
    how.attributes = &overlaps;
    how.attribute_count = kernel.overlaps ? 1 : 0;
    if (config.cluster > 1) {
      both[0] = {Api::numbers.launch_cluster, 0, {config.cluster, 1, 1}};
      both[1] = overlaps;
      how.attributes = both;
      ++how.attribute_count;
    }
    call(config.op, functions().launch, &how, kernel.function.load(detail::memory_order::relaxed),
         static_cast<void**>(arguments), nullptr);
  }
};

}  // namespace flaggems
