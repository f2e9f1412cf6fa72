// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// When results are written past the caches. A plain store reads the line it writes to; one that
// streams does not, but leaves nothing in a cache for whoever reads next. Measured on 64 MiB of f32
// (Zen 3, 32 MiB of last cache; GB/s plain and streamed): copy 17.8 and 25.1 with one thread, 22.0
// and 26.7 with two, add 19.7 and 26.4, 20.6 and 27.9. In place, where the line was read anyway,
// streaming loses: 30.4 and 24.0.
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/cpu.hpp>
#include <flaggems/tensor/view.hpp>

namespace flaggems::detail {

/// Work from which on results of the host are streamed; 0 until it is asked for.
inline atomic<i64> stream_threshold{0};

FLAGGEMS_COLD inline i64 first_stream_threshold() {
  const cache_sizes& sizes = caches();
  // What moves through the last cache as a whole leaves nothing of use in it.
  i64 bytes = sizes.l3 > 0 ? sizes.l3 : 8 * sizes.l2;
  stream_threshold.store(bytes, memory_order::relaxed);
  return bytes;
}

/// Whether a launch on `Device` that moves so many bytes, and not in place, streams its results.
template <class Device>
bool is_streamed([[maybe_unused]] i64 bytes) {
  if constexpr (host_accessible<Device>) {
    const i64 known = stream_threshold.load(memory_order::relaxed);
    return bytes > (known != 0 ? known : first_stream_threshold());
  } else {
    return false;
  }
}

}  // namespace flaggems::detail
