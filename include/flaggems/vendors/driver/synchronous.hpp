// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of a device whose calls return when their work is done.
#pragma once

#include <flaggems/error.hpp>
#include <flaggems/kernel/lang/prelude.hpp>

#include <atomic>
#include <chrono>

namespace flaggems {

namespace detail {
struct timestamp {
  std::chrono::steady_clock::time_point time{};
  bool recorded = false;
};
}  // namespace detail

/// What a device type has of streams and events if its driver has none: a stream is a number, an
/// event the host's time. To derive from, which says as much as `synchronous_streams` of the
/// capabilities.
struct synchronous_streams {
  static constexpr bool calls_return_when_done = true;
  using stream_handle = i64;
  static stream_handle create_stream(int /*priority*/) {
    static std::atomic<i64> last{0};
    return ++last;
  }
  static void destroy_stream(stream_handle) noexcept {}
  static void synchronize(stream_handle) {}
  static bool query(stream_handle) { return true; }
  static stream_handle default_stream() { return 0; }

  using event_handle = detail::timestamp*;
  static event_handle create_event() { return new detail::timestamp; }
  static void destroy_event(event_handle event) noexcept { delete event; }
  static void record(event_handle event, stream_handle) {
    *event = {std::chrono::steady_clock::now(), true};
  }
  static void wait(stream_handle, event_handle) {}
  static void synchronize_event(event_handle) {}
  static bool query_event(event_handle) { return true; }
  static double elapsed_ms(event_handle from, event_handle to) {
    check(from->recorded && to->recorded, errc::invalid_argument, "elapsed_ms",
          "two recorded events");
    return std::chrono::duration<double, std::milli>(to->time - from->time).count();
  }
};

}  // namespace flaggems
