// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Exposes uses of a pool's freed memory: poisons it under the address sanitizer; in other debug
// builds fills it with 0xFF, which is NaN or -1.
#pragma once

#include <flaggems/config.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <cstring>

#if FLAGGEMS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace flaggems::detail {

/// Call when a block of `size` bytes is freed.
inline void mark_freed([[maybe_unused]] void* data, [[maybe_unused]] i64 size) noexcept {
#if FLAGGEMS_ASAN
  __asan_poison_memory_region(data, static_cast<std::size_t>(size));
#elif FLAGGEMS_FILL_FREED
  std::memset(data, 0xFF, static_cast<std::size_t>(size));
#endif
}

/// Call before the first `bytes` of a block of `size` are used.
inline void mark_used([[maybe_unused]] void* data, [[maybe_unused]] i64 bytes,
                      [[maybe_unused]] i64 size) noexcept {
#if FLAGGEMS_ASAN
  __asan_unpoison_memory_region(data, static_cast<std::size_t>(bytes));
  __asan_poison_memory_region(static_cast<char*>(data) + bytes,
                              static_cast<std::size_t>(size - bytes));
#endif
}

}  // namespace flaggems::detail
