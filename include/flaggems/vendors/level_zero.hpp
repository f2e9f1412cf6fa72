// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Intel's GPUs through Level Zero (libze_loader.so.1), opened at first use. Kernels are SPIR-V:
// clang compiles them as OpenCL's language when they are first launched, and llvm-spirv translates,
// unless the program has them already. Checked against Intel's headers, run on a simulated driver;
// no GPU of Intel's has run it. UNCONFIRMED: copies from and to memory of the host that Level Zero
// did not allocate, of which its specification says nothing.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/vendors/driver/packed_launch.hpp>
#include <flaggems/vendors/driver/policies.hpp>
#include <flaggems/vendors/level_zero/module.hpp>

namespace flaggems {

/// Intel's GPUs. A stream's handle is a level_zero_queue, whose member `native` is the immediate
/// command list.
struct level_zero : detail::simt_policies<32>,
                    detail::packed_launch<level_zero, detail::level_zero_api> {
  static constexpr const char* name = "level_zero";
  static constexpr int torch_device_type = 12;   // c10::DeviceType::XPU
  static constexpr int dlpack_device_type = 14;  // kDLOneAPI

  // ---- discovery: more of it in the base
  static device_properties properties(int index) {
    const char* const op = "properties";
    require(op, index);
    const detail::level_zero_device& d = detail::level_zero_device::of(op, index);
    const detail::ze::device_properties told = d.properties(op);
    detail::ze::memory_properties memories[most_memories];
    u32 found = most_memories;
    detail::level_zero_call(op, calls().zeDeviceGetMemoryProperties, d.id, &found, &memories[0]);
    device_properties p;
    p.name = static_cast<const char*>(told.name);
    p.arch = detail::level_zero_api::target;
    p.compute_units = d.compute_units;
    p.warp_size = geometry::warp_size;
    p.max_threads_per_block = d.max_threads;
    p.shared_memory_per_block = d.local_memory;
    for (u32 k = 0; k < (std::min)(found, most_memories); ++k)
      p.total_memory += static_cast<i64>(memories[k].bytes);
    p.clock_khz = i64{1000} * told.clock_mhz;
    return p;
  }

  // ---- streams
  using stream_handle = level_zero_queue*;
  static stream_handle create_stream(int priority) {
    void* const list = device("stream").new_list("stream", priority);
    auto* const made = new level_zero_queue;
    made->native = list;
    return made;
  }
  static void destroy_stream(stream_handle s) noexcept {
    try {
      s->synchronize("stream");  // a list must have no work when it goes
    } catch (const error&) {     // the device is lost
    }
    s->end();
    calls().zeCommandListDestroy.call(s->native);
    delete s;
  }
  static void synchronize(stream_handle s) { s->synchronize("synchronize"); }
  static bool query(stream_handle s) { return s->is_done("query"); }
  static stream_handle default_stream() {
    return device_count() == 0 ? nullptr : &device("stream").queue;
  }

  // ---- events
  using event_handle = level_zero_event*;
  static event_handle create_event() { return new level_zero_event; }
  static void destroy_event(event_handle e) noexcept {
    detail::level_zero_marks::get().drop(e->mark);
    delete e;
  }
  static void record(event_handle e, stream_handle s) {
    detail::level_zero_mark* mark = s->mark("record");
    {
      const detail::pool_lock lock(e->mutex);
      std::swap(e->mark, mark);
    }
    detail::level_zero_marks::get().drop(mark);
  }
  static void wait(stream_handle s, event_handle e) {
    const detail::level_zero_held_mark mark(mark_of(e));
    if (mark.get() != nullptr) s->await("wait", mark.get());
  }
  static void synchronize_event(event_handle e) {
    const detail::level_zero_held_mark mark(mark_of(e));
    if (mark.get() != nullptr) mark.get()->await("synchronize");
  }
  static bool query_event(event_handle e) {
    const detail::level_zero_held_mark mark(mark_of(e));
    return mark.get() == nullptr || mark.get()->is_reached("query");
  }
  static double elapsed_ms(event_handle from, event_handle to) {
    u64 times[2] = {};
    int k = 0;
    for (level_zero_event* const e : {from, to}) {
      const detail::level_zero_held_mark mark(mark_of(e));
      check(mark.get() != nullptr, errc::invalid_argument, "elapsed_ms", "two recorded events");
      mark.get()->await("elapsed_ms");
      times[k++] = *mark.get()->time;
    }
    // The clock has fewer bits than the number: it begins again at 0.
    const detail::level_zero_device& d = device("elapsed_ms");
    const u32 unused = 64 - (std::min)((std::max)(d.clock_bits, 1U), 64U);
    const i64 ticks = static_cast<i64>((times[1] - times[0]) << unused) >> unused;
    return static_cast<double>(ticks) * static_cast<double>(d.tick_ns) * 1e-6;
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    const detail::ze::device_memory_of description;
    const auto& function = calls().zeMemAllocDevice;
    void* data = nullptr;
    const int result = function.call(driver().context(), &description,
                                     static_cast<std::size_t>((std::max)(bytes, i64{1})),
                                     pool_alignment<level_zero>, device("allocate").id, &data);
    if (result == detail::ze::out_of_device_memory || result == detail::ze::out_of_host_memory ||
        result == detail::ze::unsupported_size)
      return nullptr;
    if (result != 0) [[unlikely]]
      raise(errc::driver_error, "allocate", detail::text("success of ") + function.name,
            error_text(result));
    return data;
  }
  /// Waits for the stream, as the driver does not.
  static void deallocate(void* data, i64, stream_handle s) noexcept {
    try {
      (s != nullptr ? s : default_stream())->synchronize("deallocate");
    } catch (const error&) {  // the device is lost
    }
    calls().zeMemFree.call(driver().context(), data);
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind, stream_handle s) {
    if (bytes > 0)
      s->append("copy", calls().zeCommandListAppendMemoryCopy, to, from,
                static_cast<std::size_t>(bytes), nullptr, 0U, nullptr);
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes > 0)
      s->append("fill", calls().zeCommandListAppendMemoryFill, data,
                &detail::level_zero_bytes[static_cast<unsigned char>(byte)], 1U,
                static_cast<std::size_t>(bytes), nullptr, 0U, nullptr);
  }
  static void* allocate_pinned(i64 bytes) {
    device("pinned");
    return detail::level_zero_host_memory("pinned", static_cast<std::size_t>(bytes));
  }
  static void deallocate_pinned(void* data) noexcept {
    calls().zeMemFree.call(driver().context(), data);
  }

  // ---- modules and their kernels
  using module_handle = detail::level_zero_module*;
  using function_handle = void*;
  static module_handle load_module(const void* image, i64 bytes) {
    return new detail::level_zero_module(device("load_module").id, image, bytes);
  }
  static void unload_module(module_handle m) noexcept { delete m; }
  static function_handle find_function(module_handle m, const char* entry) {
    return m->kernel("find_function", entry);
  }

  // ---- errors; launches are of the base
  static detail::text error_text(int code) { return detail::level_zero_error_text(code); }

  // ---- policies
  struct geometry : simt_policies::geometry {
    static constexpr int preferred_warps = 4;
  };
  struct argument_abi {
    static constexpr argument_kind kind = argument_kind::packed_buffer;
    static constexpr int alignment = 8;
  };

 private:
  static constexpr u32 most_memories = 8;
  static const detail::level_zero_driver& driver() noexcept {
    return detail::level_zero_driver::get();
  }
  static const detail::level_zero_functions& calls() noexcept { return driver().functions(); }
  static detail::level_zero_device& device(const char* op) {
    require(op, current_device());
    return detail::level_zero_device::of(op, current_device());
  }
  static detail::level_zero_mark* mark_of(event_handle e) noexcept {
    const detail::pool_lock lock(e->mutex);
    if (e->mark != nullptr) e->mark->users.fetch_add(1);
    return e->mark;
  }

  // ---- for packed_launch
  friend detail::packed_launch<level_zero, detail::level_zero_api>;
  static detail::packed_limits limits(const char* op, int index) {
    require(op, index);
    const detail::level_zero_device& d = detail::level_zero_device::of(op, index);
    return {d.compute_units, (std::min)(d.max_threads, most_threads), d.local_memory, d.max_grid};
  }
  static void* make_kernel(const char* op, int index, std::string_view image, int& most) {
    const device_guard<level_zero> guard(index);
    static auto* const all = new std::vector<module_handle>;  // kept, as their kernels are
    all->push_back(load_module(image.data(), static_cast<i64>(image.size())));
    void* const kernel = find_function(all->back(), detail::entry_name);
    detail::ze::kernel_properties p;
    detail::level_zero_call(op, calls().zeKernelGetProperties, kernel, &p);
    if (p.subgroup * p.subgroups > 0)
      most = static_cast<int>((std::min)(u32(most), p.subgroup * p.subgroups));
    return kernel;
  }
  static detail::level_zero_words placed(const char* op, int, stream_handle s, const void* words,
                                         std::size_t bytes) {
    return {op, *s, words, bytes};
  }
  static void enqueue(detail::packed_kernel& kernel, int, stream_handle s,
                      const launch_config& config, const detail::packed_shape& how,
                      const void* words, std::size_t bytes) {
    void* const native = kernel.native.load(detail::memory_order::relaxed);
    const auto workspace = reinterpret_cast<u64>(how.workspace);
    const struct {
      std::size_t bytes;
      const void* value;
    } arguments[] = {{bytes, words},
                     {static_cast<std::size_t>(how.shared), nullptr},
                     {sizeof(void*), nullptr},  // no arena: addresses are as the host has them
                     {sizeof(workspace), &workspace},
                     {sizeof(how.slice), &how.slice}};
    const detail::ze::group_count groups{static_cast<u32>(how.grid)};
    const detail::pool_lock lock(kernel.arguments);
    detail::level_zero_call(config.op, calls().zeKernelSetGroupSize, native, how.threads, 1U, 1U);
    u32 k = 0;
    for (const auto& one : arguments)
      detail::level_zero_call(config.op, calls().zeKernelSetArgumentValue, native, k++, one.bytes,
                              one.value);
    s->append(config.op, calls().zeCommandListAppendLaunchKernel, native, &groups, nullptr, 0U,
              nullptr);
  }
  static constexpr int most_threads = 1024;  // a block has at most 32 warps
};

template <>
inline constexpr bool host_accessible<level_zero> = false;

static_assert(check_device<level_zero>());

}  // namespace flaggems
