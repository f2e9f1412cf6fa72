// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the workers of a launch of the host wait for each other: each of them has a thread of its
// own (thread_pool::run), so all of them come.
#pragma once

#include <flaggems/detail/thread_pool.hpp>
#include <flaggems/kernels/prelude.hpp>

namespace flaggems::detail {

/// Counts who has come. A cache line of its own, with the one that is fetched along.
struct alignas(128) meeting_point {
  atomic<i64> arrivals{0};
};

/// Points where workers meet, as many as workers. The memory is the caller's and begins as zeros.
struct meeting {
  meeting_point* points = nullptr;

  /// Returns once `arrivals` workers have called this for the point, counted from the launch on:
  /// for the second time of three workers, 6. What they wrote before is seen after.
  void wait(i64 point, i64 arrivals) const noexcept {
    atomic<i64>& word = points[point].arrivals;
    if (word.fetch_add(1) + 1 >= arrivals) return;
    const auto is_met = [&] { return word.load(memory_order::acquire) >= arrivals; };
    // Then with more threads than processors: others must have this one.
    if (spin_until(host_thread_pool().patience(), is_met)) return;
    while (!yield_until(yield_ns, is_met)) continue;
  }

 private:
  static constexpr long long yield_ns = 1000000;
};

}  // namespace flaggems::detail
