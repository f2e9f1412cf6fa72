// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Resources of a launch on the host: workers, and scratch memory cached per thread.
#pragma once

#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <cstdlib>
#include <new>

namespace flaggems::detail {

/// At least `bytes` of memory aligned to 64, a multiple of `unit`; null on exhaustion. Freed by
/// std::free. Requests beyond any address space fail early: sanitizers would abort.
[[nodiscard]] inline void* host_memory(i64 bytes, i64 unit) noexcept {
  if (bytes > (i64{1} << 47)) return nullptr;
  return std::aligned_alloc(64, static_cast<std::size_t>((bytes + unit - 1) / unit * unit));
}

/// Scratch memory that a thread caches between launches. Nested launches, by functors, use arenas
/// further down the chain.
struct scratch_arena {
  unsigned char* data = nullptr;
  i64 size = 0;
  scratch_arena* inner = nullptr;

  scratch_arena() = default;
  scratch_arena(const scratch_arena&) = delete;
  scratch_arena& operator=(const scratch_arena&) = delete;
  ~scratch_arena() {
    std::free(data);
    delete inner;
  }

  /// At least `bytes`; null on exhaustion.
  unsigned char* reserve(i64 bytes) noexcept {
    if (size < bytes) {
      std::free(data);
      size = 0;
      data = static_cast<unsigned char*>(host_memory(bytes, 4096));
      if (data != nullptr) size = (bytes + 4095) / 4096 * 4096;
    }
    return data;
  }
};

/// The number of active launches that use this thread's scratch.
inline int& launch_depth() noexcept {
  static thread_local int depth = 0;
  return depth;
}
/// Scope of a launch that uses this thread's scratch, which nested launches must not.
struct inside_launch {
  inside_launch() noexcept { ++launch_depth(); }
  inside_launch(const inside_launch&) = delete;
  inside_launch& operator=(const inside_launch&) = delete;
  ~inside_launch() { --launch_depth(); }
};

/// Block-local memory of the calling thread: at least `bytes`, aligned to 64. It grows and is
/// cached, so only the largest launch so far allocates. Null on exhaustion.
inline unsigned char* thread_scratch(i64 bytes) noexcept {
  static thread_local scratch_arena outermost;
  scratch_arena* mine = &outermost;
  for (int depth = launch_depth(); depth > 0; --depth) {
    if (mine->inner == nullptr) mine->inner = new (std::nothrow) scratch_arena;
    mine = mine->inner;
    if (mine == nullptr) return nullptr;
  }
  return mine->reserve(bytes);
}

/// Below this work (bytes moved plus operations) a second thread costs more than it saves.
inline constexpr i64 host_serial_threshold = 64 * 1024;

/// The threads of the pool, which starts with the first call. Not inline, so that kernels do not
/// compile its start.
[[nodiscard]] FLAGGEMS_NOINLINE_ONCE i64 host_threads() { return host_thread_pool().num_threads(); }

/// The most workers of a launch with so much work in so many tiles.
[[nodiscard]] inline i64 host_workers(i64 work, i64 tiles) {
  const i64 workers = work < host_serial_threshold ? 1 : host_threads();
  return workers < tiles ? workers : tiles;
}

}  // namespace flaggems::detail
