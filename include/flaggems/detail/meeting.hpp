// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Barriers between the workers of a launch on the host. Each worker has a thread of its own
// (thread_pool::run), so all arrive.
#pragma once

#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::detail {

/// Counts arrivals. 128 bytes: adjacent cache lines are prefetched in pairs.
struct alignas(128) meeting_point {
  atomic<i64> arrivals{0};
};

/// Thrown by a worker at a barrier that another worker will not reach, as that has thrown.
struct abandoned_meeting {};

/// Barriers, as many as workers. The caller provides the memory, zeroed.
struct meeting {
  meeting_point* points = nullptr;
  i64 count = 0;

  /// Returns once `arrivals` workers have called this for the point since the launch began: 6 for
  /// the second time of three workers. Earlier writes of all are visible. Throws abandoned_meeting
  /// if one will not arrive.
  void wait(i64 point, i64 arrivals) const {
    atomic<i64>& word = points[point].arrivals;
    i64 seen = word.fetch_add(1) + 1;
    const auto is_met = [&] {
      seen = word.load(memory_order::acquire);
      return seen >= arrivals;
    };
    // With more threads than processors: yield to the others.
    if (seen < arrivals && !spin_until(host_thread_pool().patience(), is_met))
      while (!yield_until(yield_ns, is_met)) continue;
#if FLAGGEMS_EXCEPTIONS
    if (seen >= abandoned) [[unlikely]]
      throw abandoned_meeting{};
#endif
  }

  /// Releases all waiting workers, for good.
  void abandon() const noexcept {
    for (i64 p = 0; p < count; ++p) points[p].arrivals.fetch_add(abandoned);
  }

 private:
  static constexpr long long yield_ns = 1000000;
  // More than any count of arrivals, and no overflow if all workers abandon it.
  static constexpr i64 abandoned = i64{1} << 48;
};

}  // namespace flaggems::detail
