// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// OpenCL devices whose drivers take LLVM's code (cl_khr_spir), as PoCL does, or PTX, as NVIDIA's
// does; the library is opened at first use. clang or NVRTC compiles kernels when they are first
// launched, unless the program has them already. Run on PoCL 3.1 and on an H200 (docs/use.md).
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/vendors/driver/compiler_program.hpp>
#include <flaggems/vendors/driver/packed_launch.hpp>
#include <flaggems/vendors/driver/policies.hpp>
#include <flaggems/vendors/opencl/ptx.hpp>
#include <flaggems/vendors/opencl/queue.hpp>

#include <utility>

namespace flaggems {

namespace detail {

/// How kernels are compiled for OpenCL. The code is for no device in particular: the driver
/// compiles it once more for its own.
struct opencl_api {
  static constexpr const char* name = "opencl";
  static constexpr const char* target = "spir64";
  using compiler = compiler_program<opencl_api>;
  static constexpr const char* compiler_name = "clang for OpenCL";
  static constexpr const char* compiler_variable = "FLAGGEMS_OPENCL_COMPILER";
  // Code is read by the driver's LLVM, which must not be older: Debian 12's PoCL has LLVM 15.
  static constexpr const char* compiler_programs[] = {"clang-15", "clang"};

  /// Without optimisation, which also tells the driver's compiler to leave the code so: PoCL 3.1
  /// compiles what it has optimised wrongly where a branch that all threads take leads to a
  /// barrier.
  static std::vector<std::string> compiler_options(std::string_view of) {
    return {"-x",
            "cl",
            "-cl-std=CLC++2021",
            "-target",
            std::string(of),
            "-O0",
            "-w",
            "-c",
            "-emit-llvm",
            "-o",
            "-",
            "-"};
  }
  /// Typed pointers, clang 15's default, become casts that LLVM does not read.
  static std::vector<const char*> other_options(int major_number) {
    if (major_number < 16) return {"-Xclang", "-opaque-pointers"};
    return {};
  }
  static bool runs(std::string_view device, std::string_view image) noexcept {
    return device == image;
  }
};

}  // namespace detail

/// OpenCL devices. A stream's handle is an opencl_queue, whose member `native` is the
/// cl_command_queue.
struct opencl : detail::simt_policies<32>, detail::packed_launch<opencl, detail::opencl_api> {
  static constexpr const char* name = "opencl";
  static constexpr int torch_device_type = 20;  // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 4;  // kDLOpenCL

  // ---- discovery: more of it in the base
  static device_properties properties(int index) {
    require("properties", index);
    const detail::opencl_device& d = detail::opencl_device::of("properties", index);
    device_properties p;
    p.name = driver().words(d.id, detail::cl::device_name);
    p.arch = d.capability > 0 ? detail::opencl_ptx_api::target_of(d.capability)
                              : detail::text(detail::opencl_api::target);
    p.compute_units = d.compute_units;
    p.warp_size = geometry::warp_size;
    p.max_threads_per_block = d.max_threads;
    p.shared_memory_per_block = d.local_memory;
    p.total_memory = driver().number<i64>(d.id, detail::cl::device_global_mem_size);
    p.clock_khz = i64{1000} * driver().number<u32>(d.id, detail::cl::device_max_clock_frequency);
    return p;
  }

  // ---- streams
  using stream_handle = opencl_queue*;
  static stream_handle create_stream(int /*priority*/) {
    void* const native = device("stream").new_queue("stream");
    auto* const made = new opencl_queue;
    made->native = native;
    return made;
  }
  static void destroy_stream(stream_handle s) noexcept {
    calls().clFlush.call(s->native);  // it may have work, which goes on
    if (s->mark != nullptr) calls().clReleaseEvent.call(s->mark);
    calls().clReleaseCommandQueue.call(s->native);
    delete s;
  }
  static void synchronize(stream_handle s) {
    const u64 given = s->given.load();
    detail::opencl_call("synchronize", calls().clFinish, s->native);
    s->done.store(given);
  }
  /// By its count where that suffices: a mark in an empty queue is not reached at once, so that who
  /// asks again is told of the same one.
  static bool query(stream_handle s) {
    const u64 given = s->given.load();
    if (s->done.load() == given) return true;
    const detail::pool_lock lock(s->mutex);
    if (s->mark == nullptr || s->marked != given) {
      void* const mark = detail::opencl_mark("query", *s);
      if (s->mark != nullptr) calls().clReleaseEvent.call(s->mark);
      s->mark = mark;
      s->marked = given;
    }
    if (!detail::opencl_is_complete("query", s->mark)) return false;
    calls().clReleaseEvent.call(std::exchange(s->mark, nullptr));
    s->done.store(given);
    return true;
  }
  static stream_handle default_stream() {
    return device_count() == 0 ? nullptr : &device("stream").queue;
  }

  // ---- events
  using event_handle = opencl_event*;
  static event_handle create_event() { return new opencl_event; }
  static void destroy_event(event_handle e) noexcept {
    if (e->mark != nullptr) calls().clReleaseEvent.call(e->mark);
    delete e;
  }
  static void record(event_handle e, stream_handle s) {
    void* mark = detail::opencl_mark("record", *s);
    {
      const detail::pool_lock lock(e->mutex);
      std::swap(e->mark, mark);
    }
    if (mark != nullptr) calls().clReleaseEvent.call(mark);
  }
  static void wait(stream_handle s, event_handle e) {
    const detail::opencl_held_mark mark(*e);
    if (mark.get() == nullptr) return;
    detail::opencl_call("wait", calls().clEnqueueBarrierWithWaitList, s->native, 1U, &mark.get(),
                        nullptr);
    submit(s);
  }
  static void synchronize_event(event_handle e) {
    const detail::opencl_held_mark mark(*e);
    if (mark.get() != nullptr)
      detail::opencl_call("synchronize", calls().clWaitForEvents, 1U, &mark.get());
  }
  static bool query_event(event_handle e) {
    const detail::opencl_held_mark mark(*e);
    return mark.get() == nullptr || detail::opencl_is_complete("query", mark.get());
  }
  static double elapsed_ms(event_handle from, event_handle to) {
    u64 times[2] = {};
    int k = 0;
    for (opencl_event* const e : {from, to}) {
      const detail::opencl_held_mark mark(*e);
      check(mark.get() != nullptr, errc::invalid_argument, "elapsed_ms", "two recorded events");
      detail::opencl_call("elapsed_ms", calls().clWaitForEvents, 1U, &mark.get());
      detail::opencl_call("elapsed_ms", calls().clGetEventProfilingInfo, mark.get(),
                          detail::cl::profiling_command_end, sizeof(u64), times + k++, nullptr);
    }
    return static_cast<double>(static_cast<i64>(times[1] - times[0])) * 1e-6;
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    return device("allocate").memory.allocate(static_cast<u64>(bytes < 1 ? 1 : bytes));
  }
  static void deallocate(void* data, i64, stream_handle s) noexcept {
    detail::opencl_device& d = device("deallocate");
    d.memory.deallocate(data, s != nullptr ? s->native : d.queue.native);
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind, stream_handle s) {
    if (bytes <= 0) return;
    device("copy").memory.copy(to, from, static_cast<std::size_t>(bytes), kind, s->native);
    submit(s);
  }
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes <= 0) return;
    const auto pattern = static_cast<unsigned char>(byte);
    device("fill").memory.fill(data, &pattern, 1, static_cast<std::size_t>(bytes), s->native);
    submit(s);
  }

  // ---- modules: programs, and their kernels
  using module_handle = void*;
  using function_handle = void*;
  static module_handle load_module(const void* image, i64 bytes) {
    const detail::opencl_device& d = device("load_module");
    const auto size = static_cast<std::size_t>(bytes);
    const auto* data = static_cast<const unsigned char*>(image);
    int status = 0;
    void* const program = detail::opencl_make("load_module", calls().clCreateProgramWithBinary,
                                              d.context, 1U, &d.id, &size, &data, &status);
    const char* const options = d.capability > 0 ? "" : "-x spir -spir-std=1.2";
    const int result = calls().clBuildProgram.call(program, 1, &d.id, options, nullptr, nullptr);
    if (result == 0) return program;
    char log[256] = {};
    calls().clGetProgramBuildInfo.call(program, d.id, detail::cl::program_build_log,
                                       sizeof(log) - 1, log, nullptr);
    calls().clReleaseProgram.call(program);
    raise(errc::driver_error, "load_module", "success of clBuildProgram",
          detail::opencl_error_text(result) + ": " + static_cast<const char*>(log));
  }
  static void unload_module(module_handle m) noexcept { calls().clReleaseProgram.call(m); }
  static function_handle find_function(module_handle m, const char* entry) {
    return detail::opencl_make("find_function", calls().clCreateKernel, m, entry);
  }

  // ---- errors; launches are of the base
  static detail::text error_text(int code) { return detail::opencl_error_text(code); }

  // ---- policies
  struct geometry : simt_policies::geometry {
    static constexpr int preferred_warps = 4;
  };
  struct argument_abi {
    static constexpr argument_kind kind = argument_kind::packed_buffer;
    static constexpr int alignment = 8;
  };

 private:
  static const detail::opencl_driver& driver() noexcept { return detail::opencl_driver::get(); }
  static const detail::opencl_functions& calls() noexcept { return driver().functions(); }
  static detail::opencl_device& device(const char* op) {
    require(op, current_device());
    return detail::opencl_device::of(op, current_device());
  }
  // Begins what was queued, which others may wait for.
  static void submit(stream_handle s) {
    calls().clFlush.call(s->native);
    s->given.fetch_add(1, detail::memory_order::relaxed);
  }

  // ---- for packed_launch
  friend detail::packed_launch<opencl, detail::opencl_api>;
  static detail::packed_limits limits(const char* op, int index) {
    require(op, index);
    const detail::opencl_device& d = detail::opencl_device::of(op, index);
    detail::packed_limits most = {d.compute_units, d.max_threads, d.local_memory,
                                  geometry::max_grid};
    if (d.capability > 0) most.slot_bytes = 0;  // its warps have shuffles
    return most;
  }
  static std::string_view find_image(const char* op, int index,
                                     const detail::kernel_instance& instance,
                                     std::string& compiled) {
    const int capability = detail::opencl_device::of(op, index).capability;
    if (capability == 0)
      return image_for<detail::opencl_api>(op, instance, detail::opencl_api::target, compiled);
    const detail::text target = detail::opencl_ptx_api::target_of(capability);
    return image_for<detail::opencl_ptx_api>(op, instance, target.view(), compiled);
  }
  static void* make_kernel(const char* op, int index, std::string_view image, int& most) {
    const detail::opencl_device& d = detail::opencl_device::of(op, index);
    void* const program = load_module(image.data(), static_cast<i64>(image.size()));
    void* const native = find_function(program, detail::entry_name);  // it keeps the program
    calls().clReleaseProgram.call(program);
    if (d.capability > 0) {  // NVIDIA's driver answers 256 of all kernels, and runs more
      const int bound = detail::opencl_ptx_api::threads_of(image);
      if (bound > 0) most = (std::min)(most, bound);
      return native;
    }
    std::size_t allowed = 0;
    detail::opencl_call(op, calls().clGetKernelWorkGroupInfo, native, d.id,
                        detail::cl::kernel_work_group_size, sizeof(allowed), &allowed, nullptr);
    most = static_cast<int>((std::min)(allowed, static_cast<std::size_t>(most)));
    return native;
  }
  static pool_block<opencl> placed(const char* op, int index, stream_handle s, const void* words,
                                   std::size_t bytes) {
    pool_block<opencl> there = pool_allocate(static_cast<i64>(bytes), stream_ref<opencl>(s, index));
    detail::opencl_device::of(op, index).memory.write(there.data(), words, bytes, s->native);
    return there;
  }
  static void enqueue(detail::packed_kernel& kernel, int index, stream_handle s,
                      const launch_config& config, const detail::packed_shape& how,
                      const void* words, std::size_t bytes) {
    detail::opencl_device& d = detail::opencl_device::of(config.op, index);
    void* const native = kernel.native.load(detail::memory_order::relaxed);
    const auto workspace = reinterpret_cast<u64>(how.workspace);
    const struct {
      std::size_t bytes;
      const void* value;
    } arguments[] = {{bytes, words},
                     {static_cast<std::size_t>(how.shared), nullptr},
                     {sizeof(void*), &d.memory.arena()},
                     {sizeof(workspace), &workspace},
                     {sizeof(how.slice), &how.slice}};
    const std::size_t local = static_cast<std::size_t>(how.threads),
                      global = static_cast<std::size_t>(how.grid) * local;
    const detail::pool_lock lock(kernel.arguments);
    d.memory.list_for(config.op, native, kernel.known_memory);
    u32 k = 0;
    for (const auto& one : arguments)
      detail::opencl_call(config.op, calls().clSetKernelArg, native, k++, one.bytes, one.value);
    detail::opencl_call(config.op, calls().clEnqueueNDRangeKernel, s->native, native, 1U, nullptr,
                        &global, &local, 0U, nullptr, nullptr);
    submit(s);
  }
};

template <>
inline constexpr bool host_accessible<opencl> = false;

static_assert(check_device<opencl>());

}  // namespace flaggems
