// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Kunlunxin's XPUs through XRE (libxpurt.so), opened at first use: memory, streams, events, and
// launches of code by clusters and cores. Kernels of ours have no form for their cores yet, so that
// a launch of an operator does not compile. No XPU has run it. UNCONFIRMED: that arguments are set
// before the launch is configured (sources differ), that events behave as CUDA's, that the
// capacity of memory is in bytes.
#pragma once

#include <flaggems/detail/pool_mutex.hpp>
#include <flaggems/device/check_device.hpp>
#include <flaggems/vendors/driver/vector_core.hpp>
#include <flaggems/vendors/kunlun/driver.hpp>

#include <cstddef>
#include <string>

namespace flaggems {

/// Code of XTDK's compiler, as XRE launches it: there are no modules. It must live as long as
/// launches of it, and so must its code and its name.
struct kunlun_kernel {
  u32 kind = 0;   ///< for clusters, with its code in memory of the host
  u64 code = 0;   ///< its address
  u32 bytes = 0;  ///< of the code
  u32 first = 0, words = 0;
  u64 sum = 0;  ///< of the code's bytes, with signs, in 32 bits
  const char* name = nullptr;
  void* of_runtime = nullptr;
  u64 print_offset = 0;  ///< as the compiler says

  kunlun_kernel(const void* given, i64 size, const char* named, u64 prints_at = 0) noexcept
      : code(reinterpret_cast<u64>(given)),
        bytes(static_cast<u32>(size)),
        name(named),
        print_offset(prints_at) {
    u32 all = 0;
    for (i64 k = 0; k < size; ++k)
      all += static_cast<u32>(static_cast<int>(static_cast<const signed char*>(given)[k]));
    sum = all;
  }
};
static_assert(sizeof(kunlun_kernel) == 64 && offsetof(kunlun_kernel, code) == 8 &&
              offsetof(kunlun_kernel, sum) == 32 && offsetof(kunlun_kernel, name) == 40 &&
              offsetof(kunlun_kernel, print_offset) == 56);

/// Kunlunxin's XPUs. Streams are XPUStream, the default one is null. XRE cannot be asked whether
/// work is done, so that `query` and `query_event` wait for it, and tells no times.
struct kunlun : detail::vector_core_device<kunlun, detail::xre> {
  static constexpr const char* name = "kunlun";
  static constexpr int torch_device_type = 1;  // c10::DeviceType::CUDA, by Kunlunxin's PyTorch

  // ---- discovery: more of it in the base
  static int current_device() {
    int device = 0;
    if (device_count() > 0) call("current_device", library().get_device, &device);
    return device;
  }
  static void set_device(int index) {
    require(index, "set_device");
    call("set_device", library().set_device, index);
  }
  static device_properties properties(int index) {
    require(index, "properties");
    const auto attribute = [&](int which) {
      u64 value = 0;
      call("properties", library().device_attribute, &value, which, index);
      return static_cast<i64>(value);
    };
    const i64 model = attribute(detail::xre::model);
    device_properties p;
    p.arch = model < 2 ? "xpu1" : model < 300 ? "xpu2" : model < 600 ? "xpu3" : "xpu";
    p.name = detail::text("Kunlun XPU, model ") + detail::text(model);
    p.compute_units = library().clusters[index];
    p.total_memory = attribute(detail::xre::main_capacity);
    return p;
  }

  // ---- streams and events: more of them in the base
  static stream_handle create_stream(int /*priority*/) {
    stream_handle s = nullptr;
    call("stream", library().create_stream, &s);
    return s;
  }
  static bool query(stream_handle s) {
    call("query", library().synchronize, s);
    return true;
  }
  static stream_handle default_stream() noexcept { return nullptr; }

  static event_handle create_event() {
    void* native = nullptr;
    call("event", library().create_event, &native);
    return new detail::recorded_event{native};
  }
  static bool query_event(event_handle e) {
    synchronize_event(e);
    return true;
  }
  /// Raises not_supported.
  static double elapsed_ms(event_handle from, event_handle to) {
    require_recorded(from, to);
    raise(errc::not_supported, "elapsed_ms", "a driver that tells the times of events",
          "XRE, which does not");
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    return allocated("allocate", library().allocate, (std::max)(bytes, i64{1}),
                     detail::xre::main_memory);
  }
  /// Waits for the stream: that the driver does so nobody says.
  static void deallocate(void* data, i64, stream_handle s) noexcept {
    library().synchronize.call(s);
    library().deallocate.call(data);
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind kind, stream_handle s) {
    if (bytes > 0)
      call("copy", library().copy, to, from, bytes,
           kind == copy_kind::host_to_device   ? detail::xre::to_device
           : kind == copy_kind::device_to_host ? detail::xre::to_host
                                               : detail::xre::on_device,
           s);
  }
  /// By copies, as XRE has no other way: from the host once, then of what is filled already.
  static void fill(void* data, int byte, i64 bytes, stream_handle s) {
    if (bytes <= 0) return;
    const i64 first = (std::min)(bytes, staged_bytes);
    const std::string source(static_cast<std::size_t>(first), static_cast<char>(byte));
    copy(data, source.data(), first, copy_kind::host_to_device, s);
    synchronize(s);  // the source goes
    auto* const there = static_cast<unsigned char*>(data);
    for (i64 done = first; done < bytes;) {
      const i64 more = (std::min)(done, bytes - done);
      copy(there + done, there, more, copy_kind::device_to_device, s);
      done += more;
    }
  }
  static void* allocate_pinned(i64 bytes) {
    return allocated("pinned", library().allocate_pinned, bytes, 0U);
  }

  /// Queues a kernel for a grid of `tiles`, for implementations of your own, on as many clusters as
  /// there are tiles and at most all; kernels stride over the tiles. Each argument has 4 or 8
  /// bytes: those of 8 lie at multiples of 8. The grid is behind them.
  template <class... Args>
  static void invoke(stream_handle s, kunlun_kernel& kernel, i64 tiles, const Args&... args) {
    check(tiles > 0 && tiles <= max_tiles, errc::invalid_argument, "invoke",
          "from 1 to 2^31 - 1 tiles");
    const i64 clusters = (std::min)(tiles, i64{library().clusters[current_device()]});
    const int grid[] = {static_cast<int>(tiles), 1, 1};
    const detail::pool_lock lock(launching());  // what is set is of the process, or of the thread
    std::size_t at = 0;
    (set_argument(args, at), ...);
    for (const int size : grid) set_argument(size, at);
    call("invoke", library().configure, clusters, cores, s);
    call("invoke", library().launch, static_cast<void*>(&kernel));
  }

  static detail::text error_text(int code) {
    const int positive = code < 0 ? -code : code;
    const char* named = "XRE result";
    for (const auto& one : known)
      if (one.result == positive) named = one.name;
    return detail::text(named) + " (" + detail::text(code) + ")";
  }

  // ---- policies: more of them in the base
  struct argument_abi {
    static constexpr argument_kind kind = argument_kind::packed_buffer;
    static constexpr int alignment = 8;
  };
  struct images {  // XTDK's compiler links kernels, and there is no loader
    static constexpr image_provider providers[] = {image_provider::linked};
  };
  struct capabilities : vector_core_device::capabilities {
    static constexpr bool event_times = false;
  };

 private:
  static constexpr int cores = 64;  // a cluster
  static constexpr i64 staged_bytes = i64{1} << 16, max_tiles = 0x7fffffff;
  static constexpr struct {
    int result;
    const char* name;
  } known[] = {{701, "INVALID_DEVICE"}, {702, "UNINIT"},        {703, "NODEV"},
               {705, "NOMEM"},          {707, "INVALID_PARAM"}, {708, "NOXPUFUNC"},
               {714, "KEXCEPTION"},     {715, "TIMEOUT"},       {800, "UNEXPECT"}};

  static detail::pool_mutex& launching() noexcept {
    static detail::pool_mutex mutex;
    return mutex;
  }
  template <class T>
  static void set_argument(const T& value, std::size_t& at) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8,
                  "flaggems: an argument of a kernel of kunlun has 4 or 8 bytes");
    at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    call("invoke", library().set_argument, static_cast<const void*>(&value), sizeof(T), at);
    at += sizeof(T);
  }
};

template <>
inline constexpr bool host_accessible<kunlun> = false;

static_assert(check_device<kunlun>());

}  // namespace flaggems
