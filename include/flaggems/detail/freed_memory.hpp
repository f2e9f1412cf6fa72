// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Exposes uses of a pool's memory that is freed, or behind a block: the address sanitizer has them
// poisoned; in other debug builds freed memory is filled, and what lies behind is compared.
#pragma once

#include <flaggems/config.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if FLAGGEMS_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace flaggems::detail {

inline constexpr unsigned char byte_of_freed = 0xFF;  // NaN or -1
inline constexpr unsigned char byte_behind_used = 0xFD;

/// Call before the first `bytes` of a block of `size` are used. Returns from which byte on
/// mark_freed() is to check it: other files of the program may be compiled without such checks.
inline i64 mark_used([[maybe_unused]] void* data, [[maybe_unused]] i64 bytes, i64 size) noexcept {
#if FLAGGEMS_ASAN
  __asan_unpoison_memory_region(data, static_cast<std::size_t>(bytes));
  __asan_poison_memory_region(static_cast<char*>(data) + bytes,
                              static_cast<std::size_t>(size - bytes));
#elif FLAGGEMS_FILL_FREED
  std::memset(static_cast<char*>(data) + bytes, byte_behind_used,
              static_cast<std::size_t>(size - bytes));
  return bytes;
#endif
  return size;
}

/// Call when such a block is freed. Ends the program if a byte from `checked` on was written.
inline void mark_freed([[maybe_unused]] void* data, [[maybe_unused]] i64 checked,
                       [[maybe_unused]] i64 size) noexcept {
#if FLAGGEMS_ASAN
  __asan_poison_memory_region(data, static_cast<std::size_t>(size));
#elif FLAGGEMS_FILL_FREED
  const auto* const all = static_cast<const unsigned char*>(data);
  for (i64 i = checked; i < size; ++i) {
    if (all[i] == byte_behind_used) continue;
    std::fprintf(stderr, "flaggems: byte %lld of a block of %lld bytes was written\n",
                 static_cast<long long>(i), static_cast<long long>(checked));
    std::abort();
  }
  std::memset(data, byte_of_freed, static_cast<std::size_t>(size));
#endif
}

}  // namespace flaggems::detail
