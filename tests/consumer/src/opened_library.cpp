// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A shared library that uses this one, with threads and memory from the pools.
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/vendors/host.hpp>

#define SHOWN extern "C" __attribute__((visibility("default")))

/// Whether a sum that two threads make is right.
SHOWN bool adds() {
  const flaggems::stream<flaggems::host> s;
  flaggems::host::set_num_threads(2);
  const auto x = flaggems::ones(s, {100, 1000});
  const auto y = flaggems::add(s, x, x);
  bool is_right = true;
  for (flaggems::i64 i = 0; i < y.numel(); ++i) is_right = is_right && y.data()[i] == 2.0F;
  return is_right;
}

/// Blocks that the pool has from the system.
SHOWN long long pooled_blocks() {
  return flaggems::memory_stats<flaggems::host>().num_device_alloc;
}
