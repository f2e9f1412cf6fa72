// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The common part of device types with a CUDA-like driver. A vendor derives from
// driver_device<Api>; its Api has the names of libraries and functions, and the constants.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/kernel/block/simt/tensor_map.hpp>
#include <flaggems/vendors/driver/driver_calls.hpp>
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

// Locked while a kernel is compiled and loaded.
inline pool_mutex loading;

}  // namespace detail

template <class Api>
struct driver_device : detail::driver_base<Api> {
  static_assert(detail::check_driver<Api>());
  static_assert(Api::warp_size >= 32,
                "flaggems: Api::warp_size is below 32, and kernels have no form for such warps");

 private:
  using calls = detail::driver_calls<Api>;
  using calls::address_of;
  using calls::call;
  using calls::context_of;
  using calls::driver;
  using calls::enable_peer;
  using calls::functions;
  using calls::has_attributes;
  using calls::has_contexts;
  using calls::names;
  using calls::number_of;
  using calls::result_of;
  using relaxed_capture_scope = typename calls::relaxed_capture_scope;

 public:
  // ---- discovery
  using calls::current_device;
  using calls::device_count;
  static detail::text unavailable_reason() { return driver().reason(); }
  static device_properties properties(int index) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      detail::raise_no_device<typename Api::device_type>("properties", index);
    const detail::driver_numbers& n = Api::numbers;
    const char* const op = "properties";
    const int device = number_of(op, index);
    const auto attribute = [&](int which) {
      int value = 0;
      if (which >= 0) call(op, functions().device_attribute, &value, which, device);
      return value;
    };
    char name[256] = {};
    if constexpr (names.device_name.exists())
      call(op, functions().device_name, name, int{sizeof(name)}, device);
    device_properties p;
    p.name = *name != '\0' ? name : Api::name;
    if constexpr (names.device_structure.exists()) {  // larger than all that are known
      char structure[8192] = {};
      call(op, functions().device_structure, static_cast<void*>(structure), device);
      p.arch = Api::target({structure, sizeof(structure)});
    } else if constexpr (names.device_capability.exists()) {
      int first = 0, second = 0;
      call(op, functions().device_capability, &first, &second, device);
      p.arch = Api::target(first, second);
    } else {
      p.arch = Api::target(attribute(n.capability_major), attribute(n.capability_minor));
    }
    p.warp_size = n.warp_size >= 0 ? attribute(n.warp_size) : Api::warp_size;
    const auto attribute_or = [&](int which, i64 limit) {
      return which >= 0 ? i64{attribute(which)} : limit;
    };
    p.compute_units = static_cast<int>(attribute_or(n.compute_units, Api::limits.compute_units));
    p.max_threads_per_block =
        static_cast<int>(attribute_or(n.max_threads_per_block, Api::limits.max_threads_per_block));
    p.shared_memory_per_block = attribute_or(n.shared_memory, Api::limits.shared_memory);
    if constexpr (has_attributes)
      p.max_cluster = attribute(n.has_clusters) != 0 ? n.most_cluster : 1;
    p.l2_cache = attribute(n.l2_cache);
    p.clock_khz = attribute(n.clock_khz);
    p.memory_clock_khz = attribute(n.memory_clock_khz);
    p.memory_bus_bits = attribute(n.memory_bus_bits);
    const device_guard<typename Api::device_type> guard(index);
    std::size_t unused = 0, total = 0;
    if constexpr (names.memory_info.exists()) call(op, functions().memory_info, &unused, &total);
    p.total_memory = static_cast<i64>(total);
    p.free_memory = static_cast<i64>(unused);
    return p;
  }

  // ---- streams and events: of the base
  using stream_handle = typename detail::driver_base<Api>::stream_handle;

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
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind,
                   [[maybe_unused]] stream_handle s) {
    if (bytes <= 0) return;
    const auto n = static_cast<std::size_t>(bytes);
    // All number the kinds as CUDA does.
    [[maybe_unused]] const int number = kind == copy_kind::host_to_device   ? 1
                                        : kind == copy_kind::device_to_host ? 2
                                                                            : 3;
    if constexpr (names.copy_now.exists())
      call("copy", functions().copy_now, to, from, n, number);
    else if constexpr (names.copy_any.exists())
      call("copy", functions().copy_any, to, from, n, number, s);
    else if (kind == copy_kind::host_to_device)
      call("copy", functions().copy_to_device, address_of(to), from, n, s);
    else if (kind == copy_kind::device_to_host)
      call("copy", functions().copy_to_host, to, address_of(from), n, s);
    else
      call("copy", functions().copy_on_device, address_of(to), address_of(from), n, s);
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes <= 0) return;
    const auto n = static_cast<std::size_t>(bytes);
    if constexpr (names.fill.exists())
      call("fill", functions().fill, address_of(data), static_cast<unsigned char>(byte), n, s);
    else if constexpr (names.fill_int.exists())
      call("fill", functions().fill_int, data, byte, n, s);
    else
      fill_by_copy(data, byte, n, s);
  }

  /// From the device `from_device` to the current one; `s` is a stream of the latter.
  static void copy_from_peer(void* to, const void* from, i64 bytes, int from_device,
                             stream_handle s) requires(Api::functions.copy_peer.exists() ||
                                                       Api::functions.copy_from_device.exists()) {
    static detail::atomic<bool> is_enabled[detail::max_devices][detail::max_devices];
    const int here = current_device();
    if (!is_enabled[here][from_device].load(detail::memory_order::acquire)) [[unlikely]] {
      enable_peer(here, from_device);
      is_enabled[here][from_device].store(true, detail::memory_order::release);
    }
    if constexpr (has_contexts)
      call("copy", functions().copy_peer, address_of(to), context_of(here), address_of(from),
           context_of(from_device), static_cast<std::size_t>(bytes), s);
    else
      call("copy", functions().copy_from_device, to, here, from, from_device,
           static_cast<std::size_t>(bytes), s);
  }
  static void* allocate_pinned(i64 bytes) requires(Api::functions.allocate_pinned.exists()) {
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
  static void deallocate_pinned(void* data) noexcept
      requires(Api::functions.allocate_pinned.exists()) {
    const relaxed_capture_scope scope;
    functions().deallocate_pinned.call(data);
  }

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
    int can = 0;
    if (!names.encode_tensor_map.exists()) return;
    call(op, functions().device_attribute, &can, Api::numbers.has_tensor_maps,
         number_of(op, index));
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
  static constexpr bool provides(image_provider wanted) noexcept {
    for (const image_provider p : Api::device_type::images::providers)
      if (p == wanted) return true;
    return false;
  }
  struct owned_module {
    ~owned_module() {
      if (module != module_handle{}) unload_module(module);
    }
    module_handle module{};
  };
  // Of a driver without a function for it. Its copies may be queued, so the source waits for them.
  static void fill_by_copy(void* data, int byte, std::size_t n, stream_handle s) {
    const std::string source(n, static_cast<char>(byte));
    copy(data, source.data(), static_cast<i64>(n), copy_kind::host_to_device, s);
    driver_device::synchronize(s);
  }
  // By the providers in order.
  static void* find_image(const char* op, const detail::kernel_instance& instance,
                          std::string_view target, owned_module& code) {
    static_assert(
        !provides(image_provider::runtime_compiled) || requires { Api::compiler_variable; },
        "flaggems: Api names no runtime compiler: name one, or let the device type's "
        "`images::providers` be {image_provider::precompiled}");
    using compiler = detail::runtime_compiler<Api>;
    if (const detail::linked_kernel* linked =
            provides(image_provider::linked) ? detail::linked_kernel::of(instance) : nullptr) {
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
    if (image.empty()) {
      if constexpr (provides(image_provider::runtime_compiled))
        image = compiled = compiler::get().image_of(op, instance, target);
      else
        raise(errc::not_supported, op,
              "an image in the program, as the vendor has no runtime compiler", instance.types());
    }
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
      if constexpr (provides(image_provider::linked)) detail::register_linked<Kernel, Args...>();
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
    if (p.warp_size != Api::warp_size)
      raise(errc::not_supported, op,
            detail::text("a device with warps of ") + detail::text(Api::warp_size) + " lanes",
            detail::text(p.name) + " with " + detail::text(p.warp_size));
    owned_module code;
    void* const function = find_image(op, instance, p.arch.view(), code);
    kernel.max_threads = p.max_threads_per_block;
    if constexpr (names.function_attribute.exists()) {
      int most = 0;
      call(op, functions().function_attribute, &most, Api::numbers.function_max_threads, function);
      if (kernel.max_threads <= 0 || most < kernel.max_threads) kernel.max_threads = most;
    }
    kernel.max_threads -= kernel.max_threads % Api::warp_size;
    if (kernel.max_threads == 0)
      raise(errc::not_supported, op, "a device whose blocks have the threads of a warp",
            detail::text(p.max_threads_per_block) + " threads a block");
    kernel.max_shared = p.shared_memory_per_block;
    // Shared memory beyond the default limit needs an opt-in on some.
    if constexpr (names.set_function_attribute.exists())
      call(op, functions().set_function_attribute, function, Api::numbers.function_max_shared,
           static_cast<int>(kernel.max_shared));
    kernel.compute_units = p.compute_units;
    if constexpr (has_attributes) {
      int target = 0, version = 0;
      call(op, functions().function_attribute, &target, Api::numbers.function_target, function);
      call(op, functions().version, &version);
      kernel.max_cluster = target >= Api::numbers.cluster_target ? p.max_cluster : 1;
      kernel.overlaps =
          target >= Api::numbers.overlapping_target && version >= Api::numbers.overlapping_version;
    }
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
    start(kernel, stream, config, legal_grid(kernel, (std::min)(config.tiles, most_blocks)), shared,
          pack, nullptr, 0);
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
  /// A grid of the geometry that has no more blocks: kernels stride over tiles.
  static i64 legal_grid(const detail::loaded_kernel& kernel, i64 wanted) {
    using geometry = typename Api::device_type::geometry;
    i64 grid = (std::min)(wanted, i64{geometry::max_grid});
    if (geometry::cap_grid_to_units) grid = (std::min)(grid, i64{kernel.compute_units});
    if (grid > geometry::grid_quantum) grid -= grid % geometry::grid_quantum;
    return grid;
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
        legal_grid(kernel, (std::min)(config.tiles, i64{kernel.compute_units} *
                                                        (std::min)(at_once, workspace_blocks)));
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
    if constexpr (names.occupancy.exists())  // else one, as is always possible
      call(config.op, functions().occupancy, &blocks, kernel.function.load(),
           static_cast<int>(threads_of(kernel, config)), static_cast<std::size_t>(shared));
    return (std::max)(blocks, 1);
  }
  static void* native([[maybe_unused]] stream_handle stream) noexcept {
    if constexpr (std::is_pointer_v<stream_handle>)
      return stream;
    else
      return nullptr;  // the driver has none
  }
  static void start(const detail::loaded_kernel& kernel, stream_handle stream,
                    const launch_config& config, i64 grid, i64 shared, void* pack,
                    unsigned char* workspace, i64 slice) {
    void* arguments[] = {pack, &workspace, &slice};
    if constexpr (!has_attributes)
      return call(config.op, functions().launch_grid,
                  kernel.function.load(detail::memory_order::relaxed), static_cast<unsigned>(grid),
                  1U, 1U, threads_of(kernel, config), 1U, 1U, static_cast<unsigned>(shared),
                  native(stream), static_cast<void**>(arguments), nullptr);
    static constexpr detail::driver_launch_attribute overlaps{Api::numbers.launch_overlaps, 0, {1}};
    detail::driver_launch_attribute both[2];
    detail::driver_launch how;
    how.grid[0] = static_cast<unsigned>(grid);
    how.block[0] = threads_of(kernel, config);
    how.shared_bytes = static_cast<unsigned>(shared);
    how.stream = native(stream);
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
