// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The SIMT emulator as a device type: `simt32`, `simt64` and `simt1` run the SIMT form of each
// kernel thread by thread on the host, and check it. Slow; for tests.
#pragma once

#include <flaggems/detail/simt_emulator.hpp>
#include <flaggems/device/check_device.hpp>
#include <flaggems/error.hpp>
#include <flaggems/tensor/view.hpp>
#include <flaggems/vendors/driver/policies.hpp>
#include <flaggems/vendors/driver/synchronous.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

namespace flaggems {

/// An emulated SIMT device with warps of `WarpSize` (1, 32 or 64) lanes. Threads of warps of 1 lane
/// exchange values through memory, at barriers of the block.
///
/// Launches are synchronous and raise an `error` that names operator, kernel and line for: threads
/// of a block at barriers of different places in the source, or in different tiles or steps of a
/// loop of the block's, even where both meet as many; a shuffle by part of a warp; a race of two
/// threads on an element of block-local memory; reads of block-local memory that the block has not
/// written; a race of two blocks of a cluster, or access to another block's memory before it may
/// have begun or after it has ended; indices outside a scratch array; more scratch than
/// `launch_config::scratch`; reduced states of more than 16 bytes; boxes and products of warp
/// groups that are not waited for. Memory is initialised with 0xCD, to expose elements that kernels
/// miss. Races in global memory are not found: kernels access it by plain pointers.
template <int WarpSize>
struct simt : synchronous_streams, detail::simt_policies<WarpSize> {
  static_assert(WarpSize == 1 || WarpSize == 32 || WarpSize == 64,
                "flaggems: simt has warps of 1, 32 or 64 lanes");

  // ---- identity
  static constexpr const char* name = WarpSize == 1    ? "simt1"
                                      : WarpSize == 32 ? "simt32"
                                                       : "simt64";
  static constexpr int torch_device_type = 20;   // c10::DeviceType::PrivateUse1
  static constexpr int dlpack_device_type = 12;  // kDLExtDev

  // ---- discovery
  static int device_count() { return 1; }
  static std::string unavailable_reason() { return {}; }
  static constexpr int current_device() { return 0; }
  static void set_device(int device) {
    if (device != 0) [[unlikely]]
      raise(errc::device_unavailable, name, "device 0", std::to_string(device));
  }
  static device_properties properties(int device) {
    set_device(device);
    device_properties p;
    p.name = "SIMT emulator with " + std::to_string(WarpSize) + " lanes a warp";
    p.arch = name;
    p.compute_units = 1;
    p.warp_size = WarpSize;
    p.max_threads_per_block = detail::simt_thread_group::max_threads;
    p.shared_memory_per_block = 48 * 1024;
    if constexpr (capabilities::clusters) p.max_cluster = detail::simt_thread_group::max_cluster;
    return p;
  }

  // ---- memory
  static void* allocate(i64 bytes, stream_handle) {
    if (bytes > (i64{1} << 47)) return nullptr;  // no address space has it: sanitizers would abort
    const std::size_t n = static_cast<std::size_t>(bytes < 1 ? 1 : bytes);
    void* const p = ::operator new(n, alignment, std::nothrow);
    if (p != nullptr) std::memset(p, 0xCD, n);
    return p;
  }
  static void deallocate(void* p, i64 /*bytes*/, stream_handle) noexcept {
    ::operator delete(p, alignment);
  }
  static void copy(void* to, const void* from, i64 bytes, copy_kind, stream_handle) {
    if (bytes > 0) std::memmove(to, from, static_cast<std::size_t>(bytes));
  }
  static void fill(void* p, int byte, i64 bytes, stream_handle) {
    if (bytes > 0) std::memset(p, byte, static_cast<std::size_t>(bytes));
  }

  static std::string error_text(int code) {
    return code == 0 ? "no error" : "error " + std::to_string(code);
  }

  // ---- launch
  /// The most blocks per launch. Initially 3, so that kernels that confuse the grid with the number
  /// of tiles fail. Returns the previous value.
  static i64 set_max_grid(i64 blocks) {
    check(blocks > 0, errc::invalid_argument, name, "a grid of at least one block");
    return max_grid_slot().exchange(blocks);
  }

  template <class Kernel, class... Args>
  static void launch(stream_handle, const launch_config& config, const Args&... args) {
    const int cluster = capabilities::clusters ? config.cluster : 1;
    const int wanted =
        (std::max)(config.threads, 1) * (capabilities::clusters ? 1 : config.cluster);
    const int threads = (std::min)(kernels::round_up(wanted, kernels::block_warp(WarpSize)),
                                   detail::simt_thread_group::max_threads);
    kernels::run_emulated_clusters<WarpSize, Kernel, capabilities::clusters>(
        config.op, (std::min)(config.tiles, max_grid_slot().load()), cluster, threads,
        config.scratch, args...);
  }

  // ---- policies
  struct argument_abi : detail::simt_policies<WarpSize>::argument_abi {
    static constexpr argument_kind kind = argument_kind::direct;
  };
  struct images {
    static constexpr image_provider providers[] = {image_provider::linked};
  };
  struct capabilities : detail::simt_policies<WarpSize>::capabilities {
    static constexpr bool matrix_units = WarpSize > 1;
    static constexpr matrix_instructions matrix = WarpSize == 32   ? matrix_instructions::mma
                                                  : WarpSize == 64 ? matrix_instructions::mfma
                                                                   : matrix_instructions::none;
    static constexpr bool async_copy = WarpSize == 32;
    static constexpr bool clusters = WarpSize == 32;  // so that tests cover both
  };

 private:
  static constexpr std::align_val_t alignment{256};
  static std::atomic<i64>& max_grid_slot() {
    static std::atomic<i64> slot{3};
    return slot;
  }
};

// It is host memory, but tests must copy, as users of a real device do.
template <int WarpSize>
inline constexpr bool host_accessible<simt<WarpSize>> = false;

using simt1 = simt<1>;
using simt32 = simt<32>;
using simt64 = simt<64>;

static_assert(check_device<simt1>() && check_device<simt32>() && check_device<simt64>());

}  // namespace flaggems
