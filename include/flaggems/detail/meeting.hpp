// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the workers of a launch of the host wait for each other: each of them has a thread of its
// own (thread_pool::run), so all of them come.
#pragma once

#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

namespace flaggems::detail {

/// Counts who has come. A cache line of its own, with the one that is fetched along.
struct alignas(128) meeting_point {
  atomic<i64> arrivals{0};
};

/// Ends the part of a worker that waited for one which will not come, since its own part has
/// thrown.
struct abandoned_meeting {};

/// Points where workers meet, as many as workers. The memory is the caller's and begins as zeros.
struct meeting {
  meeting_point* points = nullptr;
  i64 count = 0;

  /// Returns once `arrivals` workers have called this for the point, counted from the launch on:
  /// for the second time of three workers, 6. What they wrote before is seen after. Throws
  /// abandoned_meeting if one of them will not.
  void wait(i64 point, i64 arrivals) const {
    atomic<i64>& word = points[point].arrivals;
    i64 seen = word.fetch_add(1) + 1;
    const auto is_met = [&] {
      seen = word.load(memory_order::acquire);
      return seen >= arrivals;
    };
    // Then with more threads than processors: others must have this one.
    if (seen < arrivals && !spin_until(host_thread_pool().patience(), is_met))
      while (!yield_until(yield_ns, is_met)) continue;
#if FLAGGEMS_EXCEPTIONS
    if (seen >= abandoned) [[unlikely]]
      throw abandoned_meeting{};
#endif
  }

  /// Nobody waits here any longer.
  void abandon() const noexcept {
    for (i64 p = 0; p < count; ++p) points[p].arrivals.fetch_add(abandoned);
  }

 private:
  static constexpr long long yield_ns = 1000000;
  // More than any who come, and less than overflows if all workers abandon it.
  static constexpr i64 abandoned = i64{1} << 48;
};

}  // namespace flaggems::detail
