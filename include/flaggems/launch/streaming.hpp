// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// When results are written past the caches. A plain store reads the line it writes to; one that
// streams does not, but leaves nothing in a cache for whoever reads next. In place, where the line
// was read anyway, streaming gains nothing (Zen 3: 30 GB/s plain, 24 streamed). Measured in GB/s,
// plain and streamed, on f32:
//
//                             copy, 1 thread   add, 1 thread    copy, 16 threads  add, 16 threads
//   Zen 3, 32 MiB L3: 4 MiB   42.9    39.3     36.0    38.8
//                     64 MiB  17.8    25.1     19.7    26.4
//   Xeon, 300 MiB L3 shared:
//                     4 MiB   25.8    19.9     26.2    33.9     141     169       610     437
//                     16 MiB  23.8    21.2     23.0    30.3     229     186       362     452
//                     32 MiB  20.4    24.6     21.1    25.9     175     180       257     310
//                     64 MiB  12.9    20.2     14.0    20.7     162     186       218     258
//                     256 MiB 12.7    20.0     14.0    21.1     105     158       124     160
#pragma once

#include <flaggems/detail/atomic.hpp>
#include <flaggems/detail/cpu.hpp>
#include <flaggems/device/execution.hpp>

namespace flaggems::detail {

/// Work from which on results of the host are streamed; 0 until it is asked for.
inline atomic<i64> stream_threshold{0};

FLAGGEMS_COLD inline i64 first_stream_threshold() {
  const cache_sizes& sizes = caches();
  // What is larger than the last cache leaves nothing of use in it; of a very large one, others
  // have their part.
  constexpr i64 most = i64{64} << 20;
  const i64 bytes = sizes.l3 <= 0 ? 8 * sizes.l2 : sizes.l3 < most ? sizes.l3 : most;
  stream_threshold.store(bytes, memory_order::relaxed);
  return bytes;
}

/// Whether a launch on `Device` that moves so many bytes, and not in place, streams its results.
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
