// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What OpenCL and Level Zero share: a current device of each thread, which their drivers do not
// keep, and launches of kernels whose arguments are one pack of words, as those are that clang
// compiles as OpenCL's language (kernel/block/simt/entry.hpp).
#pragma once

#include <flaggems/device/memory_pool.hpp>
#include <flaggems/vendors/driver/precompiled.hpp>
#include <flaggems/vendors/driver/runtime_compiler.hpp>

namespace flaggems::detail {

/// A kernel's instance on one device.
struct packed_kernel {
  atomic<void*> native{nullptr};
  pool_mutex arguments;  // a kernel has one set of them, which a launch takes
  u64 known_memory = 0;  // OpenCL: what its driver was told of
  int max_threads = 0;
};

/// What a device allows a launch.
struct packed_limits {
  int compute_units = 1, max_threads = 1;
  i64 local_memory = 0, max_grid = 0;
  int slot_bytes = 16;  // a work-item's, for shuffles: opencl_machine::slot_bytes
};

/// A launch in work-items and bytes; `workspace` is null where scratch is in local memory.
struct packed_shape {
  i64 grid;
  int threads;
  i64 shared;
  void* workspace;
  i64 slice;
};

/// For `Device` to derive from, over the compiler of `Api`. The device has, for this class:
/// `driver()`, with `device_count()` and `reason()`, `limits(op, index)`, `make_kernel(op, index,
/// image, max_threads)`, `placed(op, index, stream, words, bytes)`, whose member `data()` is where
/// a kernel reads them, and `enqueue`.
template <class Device, class Api>
struct packed_launch {
  static int device_count() noexcept { return Device::driver().device_count(); }
  static text unavailable_reason() {
    return device_count() > 0 ? text() : Device::driver().reason();
  }
  static int current_device() noexcept { return current(); }
  static void set_device(int index) {
    require("set_device", index);
    current() = index;
  }

  template <class Kernel, class Stream, class... Args>
  static void launch(Stream s, const launch_config& config, const Args&... args) {
    launch_on<Kernel>(Device::current_device(), s, config, args...);
  }
  template <class Kernel, class Stream, class... Args>
  static void launch_on(int index, Stream s, const launch_config& config, const Args&... args) {
    packed_kernel& kernel = loaded<Kernel, Args...>(index, config.op);
    union {  // whole words
      kernels::argument_pack<Args...> pack;
      u64 words[(sizeof(kernels::argument_pack<Args...>) + 7) / 8];
    } bytes = {kernels::pack_of(args...)};
    start(kernel, index, s, config, &bytes, sizeof(bytes));
  }
  template <class Kernel, class... Args>
  static int most_threads_on(int index, const launch_config& config, const Args&...) {
    return loaded<Kernel, Args...>(index, config.op).max_threads;
  }

 protected:
  static void require(const char* op, int index) {
    if (index < 0 || index >= device_count()) [[unlikely]]
      raise_no_device<Device>(op, index);
  }
  /// A kernel's image for a device: the program's, else one that is made in `compiled`. A device
  /// type whose devices take other code than `Api`'s has a function of this name.
  static std::string_view find_image(const char* op, int /*index*/, const kernel_instance& instance,
                                     std::string& compiled) {
    return image_for<Api>(op, instance, Api::target, compiled);
  }
  template <class Compiled>
  static std::string_view image_for(const char* op, const kernel_instance& instance,
                                    std::string_view target, std::string& compiled) {
    const std::string_view image = precompiled_image_of<Compiled>(instance, target);
    if (!image.empty()) return image;
    return compiled = runtime_compiler<Compiled>::get().image_of(op, instance, target);
  }

 private:
  static int& current() noexcept {
    thread_local int index = 0;
    return index;
  }
  template <class Kernel, class... Args>
  FLAGGEMS_HOST_INLINE static packed_kernel& loaded(int index, const char* op) {
    static packed_kernel kernels[max_devices];
    packed_kernel& kernel = kernels[index];
    if (kernel.native.load(memory_order::acquire) == nullptr) [[unlikely]] {
      constexpr const kernel_instance& instance = instance_of<Kernel, Args...>;
      instance_observer<Api>::template on_first_launch<Kernel, Args...>(instance);
      load(kernel, op, instance, index);
    }
    return kernel;
  }
  FLAGGEMS_COLD static void load(packed_kernel& kernel, const char* op,
                                 const kernel_instance& instance, int index) {
    static pool_mutex one_at_a_time;
    const packed_limits limits = Device::limits(op, index);
    const pool_lock lock(one_at_a_time);
    if (kernel.native.load() != nullptr) return;  // another thread was faster
    std::string compiled;
    const std::string_view image = Device::find_image(op, index, instance, compiled);
    int most = limits.max_threads;
    void* const native = Device::make_kernel(op, index, image, most);
    constexpr int warp_size = Device::geometry::warp_size;
    kernel.max_threads = (std::min)(most, limits.max_threads) / warp_size * warp_size;
    if (kernel.max_threads == 0)
      raise(errc::not_supported, op, "a device whose groups have the work-items of a warp",
            text(most) + " work-items a group");
    kernel.native.store(native, memory_order::release);
  }

  template <class Stream>
  static void start(packed_kernel& kernel, int index, Stream s, const launch_config& config,
                    const void* words, std::size_t bytes) {
    const packed_limits limits = Device::limits(config.op, index);
    constexpr int warp_size = Device::geometry::warp_size;
    const int of_block = kernels::round_up((std::max)(config.threads, 1), warp_size);
    if (of_block > kernel.max_threads) [[unlikely]]
      raise(errc::not_supported, config.op, text("blocks of ") + text(of_block) + " threads",
            "at most " + text(kernel.max_threads) + " of this kernel here");
    // A block in a cluster's place has as many threads as it may.
    const int threads = (std::min)(of_block * config.cluster, kernel.max_threads);
    const i64 fixed = kernels::exchange_bytes + i64{limits.slot_bytes} * threads;
    i64 grid = (std::min)(config.tiles, config.blocks_per_unit > 0
                                            ? i64{limits.compute_units} * config.blocks_per_unit
                                            : limits.max_grid);
    if (bytes > static_cast<std::size_t>(kernels::most_argument_bytes)) [[unlikely]] {
      const auto there = Device::placed(config.op, index, s, words, bytes);
      const auto address = reinterpret_cast<u64>(there.data());
      return start(kernel, index, s, config, &address, sizeof(address));
    }
    if (fixed + config.scratch <= limits.local_memory) [[likely]]
      return Device::enqueue(kernel, index, s, config,
                             {grid, threads, fixed + config.scratch, nullptr, 0}, words, bytes);
    const i64 slice = kernels::round_up(config.scratch, i64{256});
    grid = (std::min)(grid, workspace_blocks * limits.compute_units);
    const pool_block<Device> memory = pool_allocate(slice * grid, stream_ref<Device>(s, index));
    Device::enqueue(kernel, index, s, config, {grid, threads, fixed, memory.data(), slice}, words,
                    bytes);
  }
  static constexpr i64 workspace_blocks = 2;  // a unit, where scratch is in a workspace
};

}  // namespace flaggems::detail
