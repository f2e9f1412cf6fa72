// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Huawei's Ascend NPUs through ACL (libascendcl.so), opened at first use: memory, streams, events,
// modules, and launches of a module's kernels. Ours have no form for their cores yet, so that a
// launch of an operator does not compile. Checked against ACL's headers; no NPU has run it.
// UNCONFIRMED: the order of a kernel's arguments, which users of the runtime below ACL show; that
// ACL's launch takes them so, and copies them before it returns; that it knows a chip's cores.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/vendors/ascend/driver.hpp>
#include <flaggems/vendors/ascend/kernel.hpp>
#include <flaggems/vendors/driver/vector_core.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace flaggems {

/// Huawei's Ascend NPUs. Streams are aclrtStream, the default one is null.
struct ascend : detail::vector_core_device<ascend, detail::acl> {
  static constexpr const char* name = "ascend";

  // ---- discovery: more of it in the base
  static int current_device() {
    std::int32_t device = 0;
    if (device_count() == 0) return 0;
    if (library().get_device.call(&device) == 0) return device;
    set_device(0);  // a thread has none until it says so
    return 0;
  }
  static void set_device(int index) {
    require(index, "set_device");
    call("set_device", library().set_device, index);
  }
  static device_properties properties(int index) {
    require(index, "properties");
    const device_guard<ascend> guard(index);
    std::size_t unused = 0, total = 0;
    call("properties", library().memory_info, detail::acl::high_bandwidth_memory, &unused, &total);
    device_properties p;
    const char* const chip = library().chip.call();
    p.name = p.arch = chip != nullptr ? chip : name;
    p.compute_units = static_cast<int>(library().cores[index].all);
    p.total_memory = static_cast<i64>(total);
    p.free_memory = static_cast<i64>(unused);
    return p;
  }

  // ---- streams and events: more of them in the base
  static stream_handle create_stream(int /*priority*/) {
    current_device();
    stream_handle s = nullptr;
    call("stream", library().create_stream, &s);
    return s;
  }
  static bool query(stream_handle s) {
    int status = 0;
    call("query", library().query, s, &status);
    return status == 0;
  }
  static stream_handle default_stream() noexcept { return nullptr; }

  static event_handle create_event() {
    current_device();
    void* native = nullptr;
    call("event", library().create_event, &native, detail::acl::event_flags);
    return new detail::recorded_event{native};
  }
  static bool query_event(event_handle e) {
    int status = detail::acl::event_complete;
    if (e->recorded.load()) call("query", library().query_event, e->native, &status);
    return status == detail::acl::event_complete;
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    current_device();
    return allocated("allocate", library().allocate,
                     static_cast<std::size_t>(bytes < 1 ? 1 : bytes),
                     detail::acl::huge_pages_first);
  }
  static void deallocate(void* data, i64, stream_handle) noexcept {
    library().deallocate.call(data);
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind, stream_handle s) {
    const auto n = static_cast<std::size_t>(bytes);
    if (bytes > 0)
      call("copy", library().copy, to, n, from, n,
           kind == copy_kind::host_to_device   ? 1
           : kind == copy_kind::device_to_host ? 2
                                               : 3,
           s);
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    const auto n = static_cast<std::size_t>(bytes);
    if (bytes > 0) call("fill", library().fill, data, n, byte, n, s);
  }
  static void* allocate_pinned(i64 bytes) {
    current_device();
    return allocated("pinned", library().allocate_pinned, static_cast<std::size_t>(bytes));
  }

  // ---- modules
  using module_handle = ascend_module;
  using function_handle = ascend_kernel;
  /// The kernels of a binary, which run on such cores. `image` must live as long as the module:
  /// that ACL copies it nobody says.
  static module_handle load_module(const void* image, i64 bytes,
                                   ascend_cores cores = ascend_cores::mixed) {
    current_device();
    const detail::acl_option kind{detail::acl::of_magic, {static_cast<u32>(cores)}};
    const detail::acl_options options{&kind, 1};
    module_handle module{nullptr, cores};
    call("load_module", library().load_module, image, static_cast<std::size_t>(bytes), &options,
         &module.native);
    return module;
  }
  static void unload_module(module_handle module) noexcept {
    library().unload_module.call(module.native);
  }
  static function_handle find_function(module_handle module, const char* named) {
    function_handle kernel;
    call("find_function", library().find_function, module.native, named, &kernel.native);
    kernel.cores = module.cores;
    kernel.syncs = library().syncs;
    return kernel;
  }

  /// Queues a kernel of a module for a grid of `tiles`, for implementations of your own, in as many
  /// blocks as there are tiles and at most one a core: a kernel must stride over the tiles, as
  /// Triton's do only with --enable-auto-blockify-loop. Workspace and locks are from the pool, in
  /// the order of the stream, which is waited for if `initial_lock` is not one byte repeated. Each
  /// argument has 4 or 8 bytes. Raises invalid_argument, not_supported if the device counts no such
  /// cores, out_of_memory.
  template <class... Args>
  static void invoke(stream_handle s, const ascend_kernel& kernel, i64 tiles, const Args&... args) {
    const int device = current_device();
    require(device, "invoke");
    const i64 blocks = blocks_for(kernel, tiles, device);
    const stream_ref<ascend> in(s, device);
    const pool_block<ascend> workspace = pool_allocate(kernel.workspace * blocks, in);
    const pool_block<ascend> locks = locks_of(kernel, in);
    detail::ascend_arguments<Args...> packed(tiles, args...);
    void* sync = nullptr;
    if (kernel.syncs) call("invoke", library().sync_address, &sync);
    packed.set_system(sync, locks.data(), workspace.data());
    call("invoke", library().launch, kernel.native, blocks, s, nullptr, packed.data(kernel.syncs),
         packed.bytes(kernel.syncs), nullptr, 0);
  }

  /// With ACL's words for the thread's last error: results have none of their own.
  static detail::text error_text(int code) {
    const char* const words = device_count() > 0 ? library().message.call() : nullptr;
    return detail::text("ACL result ") + detail::text(code) +
           (words != nullptr ? detail::text(": ") + words : detail::text());
  }

  // ---- policies
  struct argument_abi {  // three system words, arguments, the grid
    static constexpr argument_kind kind = argument_kind::system_in_front;
    static constexpr int alignment = 8;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::bundle};
  };

 private:
  static constexpr i64 max_tiles = 0x7fffffff, most_needed = i64{1} << 40;

  static i64 blocks_for(const ascend_kernel& kernel, i64 tiles, int device) {
    const auto is_possible = [](i64 needed) { return needed >= 0 && needed <= most_needed; };
    check(kernel.native != nullptr && is_possible(kernel.workspace) && is_possible(kernel.locks),
          errc::invalid_argument, "invoke",
          "a kernel of a module, with 0 to 2^40 bytes of workspace and locks");
    check(tiles > 0 && tiles <= max_tiles, errc::invalid_argument, "invoke",
          "from 1 to 2^31 - 1 tiles");
    const auto& counted = library().cores[device];
    const i64 cores = kernel.cores == ascend_cores::vector ? counted.vector
                      : kernel.cores == ascend_cores::cube ? counted.cube
                                                           : counted.all;
    check(cores > 0, errc::not_supported, "invoke", "a device that has the kernel's cores");
    return (std::min)(tiles, cores);
  }
  static pool_block<ascend> locks_of(const ascend_kernel& kernel, const stream_ref<ascend>& in) {
    pool_block<ascend> locks = pool_allocate(kernel.locks * i64{sizeof(i64)}, in);
    const int byte = static_cast<unsigned char>(kernel.initial_lock);
    if (kernel.initial_lock == static_cast<i64>(u64{0x0101010101010101} * static_cast<u64>(byte))) {
      fill(locks.data(), byte, locks.bytes(), in.handle());
    } else if (kernel.locks > 0) {
      const std::vector<i64> words(static_cast<std::size_t>(kernel.locks), kernel.initial_lock);
      copy(locks.data(), words.data(), locks.bytes(), copy_kind::host_to_device, in.handle());
      synchronize(in.handle());  // the source goes
    }
    return locks;
  }
};

template <>
inline constexpr bool host_accessible<ascend> = false;

static_assert(check_device<ascend>());

}  // namespace flaggems
