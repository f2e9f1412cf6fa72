// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// When the host uses non-temporal stores. A plain store first reads the cache line; a non-temporal
// one does not, but leaves nothing in the cache for a later reader. In place, where the line is
// read anyway, it gains nothing. Measurements: docs/notes/pointwise.md.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/cpu.hpp>
#include <flaggems/device/execution.hpp>

namespace flaggems::detail {

/// The bytes from which results of the host are streamed; 0 until computed.
inline atomic<i64> stream_threshold{0};

FLAGGEMS_COLD_ONCE i64 first_stream_threshold() {
  const cache_sizes& sizes = caches();
  // Results larger than the last-level cache do not stay in it; a very large one is shared.
  constexpr i64 most = i64{64} << 20;
  const i64 bytes = sizes.l3 <= 0 ? 8 * sizes.l2 : sizes.l3 < most ? sizes.l3 : most;
  stream_threshold.store(bytes, memory_order::relaxed);
  return bytes;
}

/// Whether a launch on `Device` that moves so many bytes, not in place, uses non-temporal stores.
template <class Device>
bool is_streamed([[maybe_unused]] i64 bytes) {
  if constexpr (has_vectors<Device>) {
    const i64 known = stream_threshold.load(memory_order::relaxed);
    return bytes >= (known != 0 ? known : first_stream_threshold());
  } else {
    return false;
  }
}

}  // namespace flaggems::detail
