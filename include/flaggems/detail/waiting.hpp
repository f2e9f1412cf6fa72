// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How host threads wait: by spinning, yielding, or sleeping on a futex.
#pragma once

#include <flaggems/config.hpp>
#include <flaggems/detail/atomic.hpp>

#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <climits>

#if __has_include(<linux/futex.h>) && __has_include(<sys/syscall.h>)
#include <linux/futex.h>
#include <sys/syscall.h>
#define FLAGGEMS_HAS_FUTEX 1
#else
#define FLAGGEMS_HAS_FUTEX 0
#endif

namespace flaggems::detail {

inline void cpu_pause() noexcept {
#if FLAGGEMS_ARCH_X86
  __builtin_ia32_pause();
#elif FLAGGEMS_ARCH_ARM64
  __asm__ __volatile__("isb" ::: "memory");
#endif
}

/// Nanoseconds of a monotonic clock.
[[nodiscard]] inline long long monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<long long>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

/// Sleeps while `word` is `value`, until woken; may return early.
inline void futex_wait(atomic<unsigned>& word, unsigned value) noexcept {
#if FLAGGEMS_HAS_FUTEX
  static_assert(sizeof(word) == sizeof(unsigned));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#else
  if (word.load() == value) sched_yield();
#endif
}
inline void futex_wake(atomic<unsigned>& word) noexcept {
#if FLAGGEMS_HAS_FUTEX
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#else
  static_cast<void>(word);
#endif
}

/// Spins until `done()` or for `ns` nanoseconds; returns whether it is done.
template <class Done>
bool spin_until(long long ns, const Done& done) noexcept {
  // The clock costs as much as several pauses, so it is read rarely.
  long long end = 0;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      cpu_pause();
    }
    const long long now = monotonic_ns();
    if (end == 0)
      end = now + ns;
    else if (now >= end)
      return false;
  }
}

/// The same, yielding to other threads.
template <class Done>
bool yield_until(long long ns, const Done& done) noexcept {
  const long long end = monotonic_ns() + ns;
  do {
    sched_yield();
    if (done()) return true;
  } while (monotonic_ns() < end);
  return false;
}

}  // namespace flaggems::detail
