// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The number of threads of the host's pool.
#pragma once

#include <flaggems/error.hpp>

#include <sched.h>
#include <unistd.h>
#include <climits>
#include <cstdio>
#include <cstdlib>

namespace flaggems::detail {

/// The processors that the control group (version 2 or 1) of this directory may use, rounded up; a
/// large number without limit.
[[nodiscard]] FLAGGEMS_COLD_ONCE long quota_of(const char* directory) noexcept {
  const auto read = [&](const char* name, long* first, long* second) {
    char path[256];
    const int length = std::snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (length < 0 || length >= static_cast<int>(sizeof(path))) return 0;
    std::FILE* const file = std::fopen(path, "r");
    if (file == nullptr) return 0;
    const int found = std::fscanf(file, "%ld %ld", first, second);
    std::fclose(file);
    return found;
  };
  long quota = 0, period = 0, unused = 0;
  const bool limited =
      read("cpu.max", &quota, &period) == 2 || (read("cpu.cfs_quota_us", &quota, &unused) == 1 &&
                                                read("cpu.cfs_period_us", &period, &unused) == 1);
  return limited && quota > 0 && period > 0 ? (quota + period - 1) / period : LONG_MAX;
}

/// The container's processors. More threads would spin on time that the others need.
[[nodiscard]] inline long container_processors() noexcept {
  const long new_limit = quota_of("/sys/fs/cgroup"), old_limit = quota_of("/sys/fs/cgroup/cpu");
  return new_limit < old_limit ? new_limit : old_limit;
}

/// Processors that this process may use, by affinity and by its container.
[[nodiscard]] FLAGGEMS_COLD_ONCE int usable_processors() noexcept {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) n = CPU_COUNT(&set);
#endif
  const long limit = container_processors();
  if (limit < n) n = limit;
  return n > 0 ? static_cast<int>(n) : 1;
}

/// The most threads a pool may have.
inline constexpr int max_pool_threads = 1024;

/// FLAGGEMS_NUM_THREADS if set, else the usable processors. Raises invalid_argument if it is not a
/// number in [1, 1024].
[[nodiscard]] FLAGGEMS_COLD_ONCE int default_num_threads() {
  if (const char* said = std::getenv("FLAGGEMS_NUM_THREADS"); said != nullptr && *said != '\0') {
    char* end = nullptr;
    const long n = std::strtol(said, &end, 10);
    if (*said < '0' || *said > '9' || *end != '\0' || n < 1 || n > max_pool_threads)
      raise(errc::invalid_argument, "FLAGGEMS_NUM_THREADS", "a number of threads in [1, 1024]",
            said);
    return static_cast<int>(n);
  }
  const int n = usable_processors();
  return n < max_pool_threads ? n : max_pool_threads;
}

}  // namespace flaggems::detail
